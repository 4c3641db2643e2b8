# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constraints, the YAML of sweeps, Pareto fronts."""

import random
import tempfile
import unittest
from pathlib import Path

from ashlar.campaign.errors import Failure
from ashlar.sweep.config import read_sweep
from ashlar.sweep.expressions import Constraint
from ashlar.sweep.table import as_csv, pareto

VALUES = {"pe.rows": 64, "pe.columns": 32, "format": "bfp8", "sparse": None, "sparse.tcus": 4,
          "machine": "a1", "dram.model": "banked"}


class Constraints(unittest.TestCase):
    def test_values(self):
        for text, expected in (
                ("pe.rows * pe.columns <= 2048", True), ("pe.rows * pe.columns < 2048", False),
                ("format == 'bfp8' and not pe.rows == 32", True), ("format in ['bfp6', 'bfp7']", False),
                ("16 < pe.columns <= 32", True), ("sparse == None or sparse.tcus > 8", True),
                ("max(pe.rows, pe.columns) % 3 == 1", True), ("-pe.rows < 0", True),
                ("machine != 'a1' or dram.model == 'banked'", True), ("pe.rows // 10 == 6", True)):
            self.assertEqual(Constraint(text).holds(VALUES), expected, text)

    def test_refused(self):
        for text in ("__import__('os').system('true')", "pe.rows.__class__", "[x for x in (1,)]", "rows > 1",
                     "lambda: 1", "pe.rows +", "f'{pe}'", "format < 3", "pe.rows / 0", "pe.rows ** 99",
                     "'a' * 10 == 1", "open('x')", "(" * 300 + "1" + ")" * 300):
            with self.assertRaises(Failure, msg=text) as caught:
                Constraint(text).holds(VALUES)
            self.assertEqual(caught.exception.code, 4)

    def test_nearest_name(self):
        with self.assertRaisesRegex(Failure, "did you mean 'pe.rows'"):
            Constraint("pe.row > 1").holds(VALUES)


class Config(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "s.yaml")
            path.write_text(text)
            return read_sweep(path)

    def test_counts(self):
        sweep = self.read("""
models: [a.onnx, {file: b.onnx, name: other}]
machines:
  - a1
  - {base: a1-edge, set: {pe.rows: 8}, list: [{sb.banks: 2}, {sb.banks: 4}], grid: {dma.queues: [1, 2, 3]}}
options: {grid: {format: [bfp8, bfp16], sparse: [off, auto]}, set: {threads-x: 1}}
run: {random-inputs: [1, 2]}
""")
        self.assertEqual([m.name for m in sweep.models], ["a", "other"])
        self.assertEqual([len(m.variation) for m in sweep.machines], [1, 6])
        self.assertEqual(len(list(sweep.options)), 4)
        self.assertEqual(len(sweep.run), 2)
        every, varied = list(sweep.machines[1].variation)[-1]
        self.assertEqual(every, {"pe.rows": 8, "sb.banks": 4, "dma.queues": 3})
        self.assertEqual(varied, {"sb.banks": 4, "dma.queues": 3})

    def test_refused(self):
        whole = "models: [a.onnx]\nmachines: [a1]\n"
        for text, words in (
                ("machines: [a1]", "models"), (whole + "modles: 1", "did you mean 'models'"),
                ("models: []\nmachines: [a1]", "empty"), ("models: [a.onnx, x/a.onnx]\nmachines: [a1]", "twice"),
                (whole + "options: {grid: {report: [x]}}", "'report' has no place"),
                (whole + "options: {grid: {format: []}}", "empty"), (whole + "options: {grid: {format: x}}", "list"),
                (whole + "options: {list: [{format: a}], grid: {format: [b]}}", "in list and in grid"),
                (whole + "options: {set: {format: {a: 1}}}", "expected a value"),
                (whole + "run: {random-inputs: -1}", "seed"), (whole + "constraints: ['1 +']", "not an expression"),
                (whole + "plots: [{x: cycles}]", "x and y"), ("models: [{name: a}]\nmachines: [a1]", "file"),
                ("models: [a.onnx]\nmachines: [{base: a1, file: b}]", "base and file"),
                ("models: [a.onnx]\nmachines: [{bse: a1}]", "did you mean 'base'"),
                ("models: [a.onnx]\nmachines: [{grid: {a: &x [1,2,3,4,5,6,7,8,9,10], b: *x, c: *x, d: *x, e: *x,"
                 " f: *x, g: *x}}]", "at most 1000000")):
            with self.assertRaisesRegex(Failure, words, msg=text) as caught:
                self.read(text)
            self.assertEqual(caught.exception.code, 4)
            self.assertIn("s.yaml", str(caught.exception))


class Fronts(unittest.TestCase):
    def test_against_the_definition(self):
        draw = random.Random(1)
        for _ in range(200):
            points = [(draw.randrange(6), draw.randrange(6)) for _ in range(draw.randrange(12))]
            expected = [not any((a <= x and b <= y) and (a, b) != (x, y) for a, b in points) for x, y in points]
            self.assertEqual(pareto(points), expected, points)

    def test_cells(self):
        text = as_csv([{"a": None, "b": True, "c": 0.1, "d": "x, y"}])
        self.assertEqual(text, b'a,b,c,d\n,true,0.1,"x, y"\n')


if __name__ == "__main__":
    unittest.main()
