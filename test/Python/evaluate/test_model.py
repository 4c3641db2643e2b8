# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signatures of models with open dimensions; outputs with data-dependent extents, told
from those of an open batch."""

import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from ashlar.campaign.errors import Failure
from ashlar.evaluate.model import read_signature, varying_outputs


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


class SignatureTest(unittest.TestCase):
    def read(self, *options):
        values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("ids", "mask")]
        graph = helper.make_graph([helper.make_node("Add", ["ids", "mask"], ["y"])], "g", values,
                                  [helper.make_tensor_value_info("y", TensorProto.INT64, ["batch", "tokens"])])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.onnx"
            onnx.save(helper.make_model(graph), str(path))
            return read_signature(path, list(options))

    def test_by_input_and_by_name(self):
        for options in (["ids=1x16", "mask=1x16"], ["batch=1,tokens=16"], ["tokens=16"], ["ids=1x16", "tokens=16"]):
            signature = self.read(*options)
            self.assertEqual([value.shape for value in signature.inputs], [[1, 16], [1, 16]], options)
            self.assertEqual(signature.shapes, ["ids=1x16", "mask=1x16"])

    def test_messages(self):
        for options, part in (([], "--input-shape=ids=1x1, or by name --input-shape=batch=1,tokens=1"),
                              (["seq=16"], "their named dimensions are: batch, tokens"),
                              (["tokens=many"], "expected NAME=1x3x224x224, or dimensions by name")):
            with self.assertRaises(Failure) as caught:
                self.read(*options)
            self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
