# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that tests write node by node, and what is expected of them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

USAGE, UNSUPPORTED, MALFORMED = 2, 3, 4
CASES = {}
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8,
         np.dtype(np.bool_): TensorProto.BOOL}


class Model:
    """A graph with its inputs, and what is expected of it."""

    def __init__(self, name):
        self.name = name
        self.np = np.random.default_rng([ord(c) for c in name])
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []
        self.dims = {}  # of inputs whose declared shape is another
        self.options, self.refused, self.exact = [], None, False
        self.external, self.opset, self.ort = False, 17, True
        self.functions = []
        self.planned = True  # whether the machine computes anything

    def input(self, name, shape, dtype=np.float32, dims=None, high=9):
        if np.dtype(dtype).kind == "f":
            array = np.asarray(self.np.normal(0, 1, shape), dtype)
        else:
            array = np.asarray(self.np.integers(0, high + 1, shape)).astype(dtype)
        self.inputs[name] = array
        self.dims[name] = dims or list(shape)
        return name

    def constant(self, array, name=None):
        name = name or f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape, density=1.0, name=None):
        w = self.np.normal(0, 1 / np.sqrt(max(1, int(np.prod(shape[1:])))), shape)
        w *= self.np.random(shape) < density
        return self.constant(w.astype(np.float32), name)

    def node(self, op, inputs, name=None, **attributes):
        name = name or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def output(self, *names):
        self.outputs += names

    def refuse(self, code, *words):
        self.refused = code, words

    def save(self, path):
        describe = lambda name, array, dims: helper.make_tensor_value_info(
            name, TYPES[array.dtype], dims)
        infos = [describe(n, a, self.dims[n]) for n, a in self.inputs.items()]
        known = {i.name: i for i in infos}
        for tensor in self.constants:
            known[tensor.name] = helper.make_tensor_value_info(
                tensor.name, tensor.data_type, tensor.dims)
        outputs = [known.get(n, onnx.ValueInfoProto(name=n)) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "odd", infos, outputs, self.constants)
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(f.domain, 1) for f in self.functions]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8,
                                  functions=self.functions)
        inferred = {i.name: i for i in onnx.shape_inference.infer_shapes(model).graph.value_info}
        for info in model.graph.output:
            if not info.type.HasField("tensor_type"):
                found = inferred.get(info.name)
                elem = found.type.tensor_type.elem_type if found else TensorProto.FLOAT
                info.CopyFrom(helper.make_tensor_value_info(info.name, elem, None))
        if self.external:
            onnx.save(model, path, save_as_external_data=True, location="weights of x.bin",
                      size_threshold=100, all_tensors_to_one_file=True)
        else:
            onnx.save(model, path)


def case(build):
    CASES[build.__name__.replace("_", "-")] = build
    return build
