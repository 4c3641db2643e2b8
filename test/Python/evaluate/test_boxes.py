# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detections and mean average precision, against cases worked out by hand."""

import unittest

import numpy as np

from ashlar.evaluate.boxes import as_truth, average_precision, detect, mean_average_precision, overlap

TASK = {"order": "corners", "background": None, "threshold": 0.1, "overlap": 0.5, "most": 100}


def truth(number, box, crowd=0):
    return [number, *box, crowd]


A, B, C = (0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 0.9, 0.9), (0.0, 0.5, 0.3, 0.9)


class Boxes(unittest.TestCase):
    def test_overlap(self):
        found = overlap(np.array([0, 0, 2, 2.0]), np.array([[1, 1, 3, 3], [0, 0, 2, 2], [5, 5, 6, 6], [1, 1, 1, 1.0]]))
        self.assertTrue(np.allclose(found, [1 / 7, 1, 0, 0]))

    def test_best_of_overlapping(self):
        boxes = np.array([[0, 0, 1, 1], [0, 0, 0.9, 1], [0.8, 0.8, 1, 1], [0, 0, 1, 1.0]])
        found = detect(np.array([[0.6], [0.9], [0.5], [0.05]]), boxes, TASK)
        self.assertEqual([entry[1] for entry in found], [0.9, 0.5])

    def test_background_and_classes(self):
        scores = np.array([[0.9, 0.05, 0.8], [0.1, 0.7, 0.2]])
        found = detect(scores, np.array([A, B]), {**TASK, "background": 0})
        self.assertEqual([(entry[0], entry[1]) for entry in found], [(1, 0.8), (0, 0.7), (1, 0.2)])
        found = detect(scores, np.array([A, B]), {**TASK, "background": 2})
        self.assertEqual([(entry[0], entry[1]) for entry in found], [(0, 0.9), (1, 0.7)])

    def test_orders(self):
        for order, box in (("corners-yx", [0.1, 0.2, 0.3, 0.6]), ("centre", [0.4, 0.2, 0.4, 0.2])):
            found = detect(np.array([[0.9]]), np.array([box]), {**TASK, "order": order})
            self.assertTrue(np.allclose(found[0][2:], [0.2, 0.1, 0.6, 0.3]), order)

    def test_not_finite(self):
        boxes = np.array([A, (np.nan, 0, 1, 1), (0, 0, np.inf, 1), B])
        found = detect(np.array([[0.9], [0.8], [0.8], [np.nan]]), boxes, TASK)
        self.assertEqual([entry[1] for entry in found], [0.9])

    def test_most(self):
        boxes = np.array([[k, k, k + 1, k + 1.0] for k in range(9)])
        found = detect(np.linspace(0.2, 0.9, 9)[:, None], boxes, {**TASK, "most": 2})
        self.assertEqual(len(found), 2)
        self.assertAlmostEqual(found[0][1], 0.9)

    def test_perfect(self):
        wanted = [[truth(0, A), truth(1, B)], [truth(0, C)]]
        found = [[[0, 0.9, *A], [1, 0.8, *B]], [[0, 0.7, *C]]]
        self.assertEqual(mean_average_precision(found, wanted), 1.0)

    def test_by_hand(self):
        # Right, wrong, right: precision 1, 1/2, 2/3 at recall 1/2, 1/2, 1. Of the
        # 101 recalls 51 are at most 1/2.
        value = average_precision([(0.9, 1), (0.8, 0), (0.7, 1)], 2)
        self.assertAlmostEqual(value, (51 * 1 + 50 * 2 / 3) / 101)
        self.assertAlmostEqual(average_precision([(0.9, 1)], 4), 26 / 101)
        self.assertEqual(average_precision([], 3), 0.0)

    def test_second_match_is_wrong(self):
        found = [[[0, 0.9, *A], [0, 0.8, *A]]]
        self.assertEqual(mean_average_precision(found, [[truth(0, A)]]), 1.0)
        found = [[[0, 0.9, *B], [0, 0.8, *A]]]
        self.assertAlmostEqual(mean_average_precision(found, [[truth(0, A)]]), 0.5)

    def test_crowds_do_not_count(self):
        found = [[[0, 0.9, *B], [0, 0.8, *A]]]
        self.assertEqual(mean_average_precision(found, [[truth(0, A), truth(0, B, 1)]]), 1.0)

    def test_thresholds(self):
        wide = (0.0, 0.0, 0.4, 0.31)  # an overlap of 0.775
        value = mean_average_precision([[[0, 0.9, *wide]]], [[truth(0, A)]])
        self.assertAlmostEqual(value, 6 / 10)

    def test_no_truth(self):
        self.assertIsNone(mean_average_precision([[]], [[]]))
        self.assertEqual(as_truth([[0, 0.9, *A], [1, 0.4, *B]]), [[0, *A, 0]])


if __name__ == "__main__":
    unittest.main()
