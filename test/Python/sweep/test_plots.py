# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots: numbers at points, their key, panels that stay readable."""

import re
import unittest

from ashlar.sweep import plots


def row(model, cycles, energy):
    return {"model": model, "cycles": cycles, "energy_uj": energy}


@unittest.skipUnless(plots.available(), "needs matplotlib")
class Plots(unittest.TestCase):
    PLOT = {"x": "cycles", "y": "energy_uj"}

    def texts(self, svg):
        return re.findall(rb"<text[^>]*>([^<]*)</text>", svg)

    def test_same_bytes(self):
        rows, names = [row("a", 10, 3.0), row("a", 20, 1.0)], ["m", "n"]
        self.assertEqual(plots.draw(self.PLOT, rows, names), plots.draw(self.PLOT, rows, names))

    def test_key_names_the_front_alone(self):
        rows = [row("a", 10000, 30.0), row("a", 20000, 10.0), row("a", 30000, 90.0)]
        texts = self.texts(plots.draw(self.PLOT, rows, ["fast", "small", "neither"]))
        self.assertIn(b"1  fast", texts)
        self.assertIn(b"2  small", texts)
        self.assertFalse([text for text in texts if b"neither" in text])
        self.assertIn(b"20,000", texts)

    def test_rows_of_panels(self):
        rows = [row(f"model{n}", 10 + n, 3.0) for n in range(7)]
        width, height = (float(size) for size in re.search(
            rb'width="([0-9.]+)pt" height="([0-9.]+)pt"|$', plots.draw(self.PLOT, rows, ["m"] * 7)).groups())
        self.assertLess(width, 72 * 11)
        self.assertGreater(height, 72 * 8)

    def test_near_points_share_a_text(self):
        front = [plots.Place(100, 5.0, "a"), plots.Place(101, 4.9, "b"), plots.Place(180, 2.0, "c")]
        self.assertEqual(plots._labels(front, {"a": 1, "b": 2, "c": 3}, 100, 5.0),
                         [(front[1], "1, 2"), (front[2], "3")])

    def test_nothing_to_draw(self):
        texts = self.texts(plots.draw(self.PLOT, [row("a", None, None)], ["m"]))
        self.assertEqual(texts, [b"no point has both cycles and energy_uj"])

    def test_equal_and_negative_figures(self):
        plots.draw(self.PLOT, [row("a", 5, 0), row("a", 5, 0)], ["m", "n"])
        plots.draw(self.PLOT, [row("a", -5, -3)], ["m"])


if __name__ == "__main__":
    unittest.main()
