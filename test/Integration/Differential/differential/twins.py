# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a network moves its errors: twins of a model with noise after every node.

A twin adds to each tensor that the machine may encode what encoding may add: a
share `step` of the tensor's largest magnitude, of either sign. Its distance from
the model is the error that the formats excuse. It knows about cancellation, about
quotients of small numbers and, by trying, about decisions that are close.
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# ONNX Runtime draws random numbers up to this operator set; what came later keeps its own.
LAST_RANDOM, NEW = 21, {"RMSNormalization", "Swish"}
MOVES = {"Reshape", "Transpose", "Slice", "Split", "Gather", "GatherND", "GatherElements",
         "Squeeze", "Unsqueeze", "Flatten", "Identity", "Concat", "Expand", "Tile", "DepthToSpace",
         "SpaceToDepth", "Pad"}
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum"}
FIXED = {"ArgMax": TensorProto.INT64, "ArgMin": TensorProto.INT64, "Shape": TensorProto.INT64,
         "Size": TensorProto.INT64, "ConvInteger": TensorProto.INT32,
         "MatMulInteger": TensorProto.INT32, "DequantizeLinear": TensorProto.FLOAT}
STEPS = {"Floor", "Ceil", "Sign", "Round", "Mod", "Cast", "ArgMax", "ArgMin", "ThresholdedRelu",
         "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}
# Values from -1 to 1, and what stays within the range of its operand.
UNIT = {"Sigmoid", "Tanh", "HardSigmoid", "Softsign", "Erf", "Sign", "Softmax"}
# What ONNX Runtime's single precision leaves of them: its Sigmoid is 0 from -18 on.
UNIT_ERROR = 2.0 ** -23
INSIDE = (MOVES - {"Concat", "Pad"}) | {"MaxPool", "AveragePool", "GlobalAveragePool",
                                        "GlobalMaxPool"}
BOOLEANS = {"Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "Not", "And", "Or", "Xor"}


def types_of(graph):
    """Element type of every value, from the operators alone."""
    types = {t.name: t.data_type for t in graph.initializer}
    types.update({i.name: i.type.tensor_type.elem_type for i in graph.input})
    for node in graph.node:
        source = [types.get(name) for name in node.input]
        if node.op_type in BOOLEANS:
            found = [TensorProto.BOOL]
        elif node.op_type in FIXED:
            found = [FIXED[node.op_type]]
        elif node.op_type == "Cast":
            found = [helper.get_attribute_value(a) for a in node.attribute if a.name == "to"]
        elif node.op_type == "QuantizeLinear":
            found = [source[2] if len(source) > 2 else TensorProto.UINT8]
        elif node.op_type in ("QLinearConv", "QLinearMatMul"):
            found = [source[7]]
        elif node.op_type == "DynamicQuantizeLinear":
            found = [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8]
        elif node.op_type == "Constant":
            found = [a.t.data_type for a in node.attribute if a.name == "value"]
        else:
            found = [source[1 if node.op_type == "Where" else 0] if source else None]
        for k, name in enumerate(node.output):
            types[name] = found[min(k, len(found) - 1)] if found else None
    return types


def decisions(graph):
    """Values that an error may move by a whole step: those behind a comparison or a rounding."""
    found = set()
    for node in graph.node:
        if node.op_type in BOOLEANS | STEPS or found & set(node.input):
            found |= set(node.output)
    return found


def bounds_of(graph):
    """The largest magnitude of each value whose operator guarantees one."""
    constants = {t.name: t for t in graph.initializer}
    bounds = {}
    for node in graph.node:
        bound = bounds.get(node.input[0]) if node.input else None
        if node.op_type in UNIT:
            bound = 1.0
        elif node.op_type == "Clip":
            limits = [a.f for a in node.attribute if a.name in ("min", "max")]
            limits += [float(numpy_helper.to_array(constants[name]))
                       for name in node.input[1:3] if name in constants]
            bound = max(map(abs, limits)) if len(limits) == 2 else None
        elif node.op_type not in INSIDE:
            bound = None
        if bound:
            bounds.update((name, bound) for name in node.output)
    return bounds


def noise_nodes(name, clean, seed, k, bound, least):
    """clean + step * max |clean| * (a random number from -1 to 1); with a bound of the
    value it takes the place of the maximum. `least`: of the factor before the random number."""
    part = lambda text: f"twin_{k}_{text}"
    if bound:
        size = [helper.make_node("Constant", [], [part("max")], value=numpy_helper.from_array(
            np.float32(bound)))]
    else:
        size = [helper.make_node("Abs", [clean], [part("abs")]),
                helper.make_node("ReduceMax", [part("abs")], [part("max")], keepdims=1)]
    draw = helper.make_node("RandomUniformLike", [clean], [part("random")], low=-1.0, high=1.0,
                            seed=float(seed * 10007 + k))
    scaled = [helper.make_node("Mul", [part("max"), "twin_step"], [part("size")])]
    if least:
        scaled = [helper.make_node("Mul", [part("max"), "twin_step"], [part("share")]),
                  helper.make_node("Max", [part("share"), "twin_least"], [part("size")])]
    return [*size, *scaled, draw,
            helper.make_node("Mul", [part("random"), part("size")], [part("noise")]),
            helper.make_node("Add", [clean, part("noise")], [name])]


def noisy_constants(graph, step, rng):
    """Factors of products move by what their encoding may move them."""
    factors = {name for node in graph.node if node.op_type in PRODUCTS for name in node.input[1:2]}
    factors |= {node.input[0] for node in graph.node if node.op_type in ("MatMul", "Einsum")}
    for tensor in graph.initializer:
        if tensor.name in factors and tensor.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor)
            size = step * np.abs(array).max(initial=0)
            moved = array + rng.uniform(-size, size, array.shape).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))


def twin(model, step, seed, ranges=False):
    """The model with noise of the relative size `step`; with `ranges`, of that size
    relative to the range that an operator guarantees, where one does."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, types = model.graph, types_of(model.graph)
    bounds = bounds_of(graph) if ranges else {}
    if not any(node.op_type in NEW for node in graph.node):
        model.opset_import[0].version = min(model.opset_import[0].version, LAST_RANDOM)
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node.op_type)
    nodes = []
    for node in graph.node:
        for k, name in enumerate(node.output):
            only_softmax = set(readers.get(name, [""])) <= {"Softmax", "LogSoftmax"}
            if not name or types.get(name) != TensorProto.FLOAT or node.op_type in MOVES \
                    or node.op_type == "DynamicQuantizeLinear" or only_softmax:
                continue
            clean = f"{name}_clean"
            node.output[k] = clean
            nodes.append((node, noise_nodes(name, clean, seed, len(nodes), bounds.get(name),
                                            node.op_type in UNIT)))
    late = {id(node): [] for node, _ in nodes}
    for node, more in nodes:
        late[id(node)] += more
    ordered = [n for node in graph.node for n in [node, *late.get(id(node), [])]]
    ordered = [onnx.NodeProto.FromString(n.SerializeToString()) for n in ordered]
    del graph.node[:]
    graph.node.extend(ordered)
    noisy_constants(graph, step, np.random.default_rng([seed, 1 << 20]))
    for name, value in (("twin_step", step), ("twin_least", UNIT_ERROR)):
        graph.initializer.append(numpy_helper.from_array(np.float32(value), name))
    return model


def twin_inputs(arrays, step, seed):
    """Inputs are encoded too."""
    rng, moved = np.random.default_rng([seed, 1 << 21]), {}
    for name, array in arrays.items():
        if array.dtype == np.float32 and array.size:
            size = step * np.abs(array).max()
            array = array + rng.uniform(-size, size, array.shape).astype(np.float32)
        moved[name] = array
    return moved


def deviations(run, model, arrays, expected, step, seeds, ranges=False):
    """The deviations of each twin, element by element, for each output. `run(model, arrays)`
    gives outputs by name."""
    found = {name: [] for name in expected}
    for seed in seeds:
        outputs = run(twin(model, step, seed, ranges), twin_inputs(arrays, step, seed))
        for name, wanted in expected.items():
            got = outputs[name].astype(np.float64)
            with np.errstate(invalid="ignore"):
                away = np.abs(got - wanted.astype(np.float64))
            found[name].append(np.where(np.isfinite(away), away, math.inf))
    return found
