# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs with data-dependent extents, told from those of an open batch."""

import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from ashlar.evaluate.model import varying_outputs


class VaryingTest(unittest.TestCase):
    def varies(self, inputs, outputs):
        def values(prefix, shapes):
            return [helper.make_tensor_value_info(f"{prefix}{k}", TensorProto.FLOAT, shape)
                    for k, shape in enumerate(shapes)]

        nodes = [helper.make_node("Identity", ["x0"], [f"y{k}"]) for k in range(len(outputs))]
        graph = helper.make_graph(nodes, "g", values("x", inputs), values("y", outputs))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.onnx"
            onnx.save(helper.make_model(graph), str(path))
            return varying_outputs(path)

    def test_outputs(self):
        self.assertFalse(self.varies([[1, 3]], [[1, 3]]))
        self.assertFalse(self.varies([["batch", 3]], [["batch", 3]]))
        self.assertFalse(self.varies([[None, 3]], [[None, 3]]))
        self.assertTrue(self.varies([[1, 3]], [[1, 3], ["found", 3]]))
        self.assertTrue(self.varies([["batch", 3]], [["batch", "found"]]))


if __name__ == "__main__":
    unittest.main()
