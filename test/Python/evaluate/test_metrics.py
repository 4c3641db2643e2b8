# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes, noise and tokens of single samples; formats of the command line."""

import math
import unittest

import numpy as np

from ashlar.campaign.errors import Failure
from ashlar.evaluate.metrics import (best_class, collapse, decibels, edit_distance, noise, rank_of,
                                     token_figures)
from ashlar.evaluate.plan import split_formats

PLAIN = {"collapse": "none", "blank": 0, "ignore": -100}


class Classes(unittest.TestCase):
    def test_rank_against_sorting(self):
        draw = np.random.default_rng(1)
        scores = draw.integers(0, 5, (200, 9)).astype(np.float32)  # many equal ones
        labels = draw.integers(0, 9, 200).tolist()
        order = np.argsort(-scores, axis=1, kind="stable").tolist()
        self.assertEqual(rank_of(scores, labels).tolist(), [o.index(n) for o, n in zip(order, labels)])
        self.assertEqual(best_class(scores).tolist(), [o[0] for o in order])

    def test_nan_is_no_hit(self):
        scores = np.array([[np.nan, 1.0], [np.nan, -1.0]])
        self.assertEqual(best_class(scores).tolist(), [1, 1])
        self.assertEqual(rank_of(scores, [0, 1]).tolist(), [1, 0])


class Noise(unittest.TestCase):
    def test_ratio(self):
        signal, error = noise(np.array([[3.0, 4.0], [1, 0]]), np.array([[3.0, 4.5], [1, 0]]))
        self.assertEqual((signal, error), ([25.0, 1.0], [0.25, 0.0]))
        self.assertAlmostEqual(decibels(25, 0.25), 20)
        self.assertEqual((decibels(1, 0), decibels(0, 1)), (999.0, -999.0))

    def test_infinite(self):
        _, error = noise(np.array([[1.0]]), np.array([[np.inf]]))
        self.assertTrue(math.isfinite(error[0]))
        self.assertLess(decibels(1, error[0]), -3000)
        signal, error = noise(np.array([[np.nan]]), np.array([[1.0]]))
        self.assertEqual((signal[0], decibels(signal[0], error[0])), (0.0, -999.0))


class Tokens(unittest.TestCase):
    def test_edits(self):
        for wanted, found, edits in (("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("ab", "ba", 2),
                                     ("same", "same", 0)):
            self.assertEqual(edit_distance(wanted, found), edits)

    def test_ctc(self):
        task = {"collapse": "ctc", "blank": 0, "ignore": -100}
        self.assertEqual(collapse([0, 1, 1, 0, 1, 2, 2, 0], task), [1, 1, 2])
        self.assertEqual(token_figures([0, 1, 1, 0, 2], [1, 2, -100], task), {"edits": 0, "length": 2})

    def test_positions(self):
        self.assertEqual(token_figures([1, 2, 3, 4], [1, -100, 3, 5], PLAIN),
                         {"right": 2, "counted": 3, "edits": 1, "length": 3})
        self.assertEqual(token_figures([1], [1, 2], PLAIN), {"right": 1, "counted": 2, "edits": 1, "length": 2})
        self.assertEqual(token_figures([1], None, PLAIN), {})


class Formats(unittest.TestCase):
    def test_lists(self):
        for text, expected in (
                ("bfp8", ["bfp8"]), ("bfp8,bfp16,auto", ["bfp8", "bfp16", "auto"]),
                ("w=8,block=16,range=7", ["w=8,block=16,range=7"]),
                ("bfp8,w=5,block=32,w=6,range=3,t.json", ["bfp8", "w=5,block=32", "w=6,range=3", "t.json"]),
                ("w=5,w=6", ["w=5", "w=6"])):
            self.assertEqual(split_formats(text), expected)

    def test_refused(self):
        for text in ("", "bfp8,", "bfp8,bfp8"):
            with self.assertRaises(Failure) as caught:
                split_formats(text)
            self.assertEqual(caught.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
