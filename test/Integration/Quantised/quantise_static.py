#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Post-training static quantisation of a shared model, against ONNX Runtime.

usage: quantise_static.py MODEL [--calibrate=16] [--samples=64] [--keep=FILE.onnx]
           [--weights=signed|unsigned] [--min-equal=PCT] [--min-agreement=PCT]

Batch norms and additions of constants are folded into the products before them.
Activations become unsigned 8-bit integers between the extremes that ONNX
Runtime shows on the first dev inputs, weights signed ones per output channel
(`--weights=unsigned`: unsigned ones between the extremes of the tensor, with a
zero point), biases 32-bit integers, all in QDQ form. The quantised model then runs on the
emulator and in ONNX Runtime on other dev inputs. Printed: the cycles of one
inference, and, checked against the options, elements of the quantised logits that are equal, and equal best
classes: emulator and ONNX Runtime, and either with the float model.
"""

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

PRODUCTS = ("Conv", "Gemm")


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


class Graph:
    """Nodes and constants of a float model, folded for quantisation."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.inputs = [i for i in graph.input if i.name not in self.constants]
        self.output = graph.output[0]
        self.nodes = list(graph.node)
        self.fold()

    def readers(self, name):
        return [node for node in self.nodes if name in node.input]

    def fold(self):
        for node in list(self.nodes):
            if node.op_type == "Reshape" and node.input[0] in self.constants:
                shape = self.constants[node.input[1]]
                self.constants[node.output[0]] = self.constants[node.input[0]].reshape(shape)
                self.nodes.remove(node)
            elif node.op_type == "MatMul" and node.input[1] in self.constants:
                node.op_type = "Gemm"
        by_output = {node.output[0]: node for node in self.nodes}
        for node in list(self.nodes):
            before = by_output.get(node.input[0])
            if before is None or before.op_type not in PRODUCTS or \
                    len(self.readers(before.output[0])) != 1:
                continue
            if node.op_type == "BatchNormalization":
                gamma, beta, mean, variance = (self.constants[i] for i in node.input[1:])
                factor = gamma / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
                self.absorb(before, node, factor, beta - mean * factor)
            elif node.op_type == "Add" and node.input[1] in self.constants:
                self.absorb(before, node, None, self.constants[node.input[1]].ravel())
            by_output[before.output[0]] = before

    def absorb(self, product, node, factor, term):
        """product * factor + term becomes the product."""
        bias = self.constants[product.input[2]] if len(product.input) > 2 else 0
        if factor is not None:
            w = self.constants[product.input[1]]
            name = product.input[1] + ".folded"
            self.constants[name] = (w * factor.reshape([-1] + [1] * (w.ndim - 1))).astype(np.float32)
            product.input[1] = name
            bias = bias * factor
        del product.input[2:]
        product.input.append(product.output[0] + ".bias")
        self.constants[product.input[2]] = (bias + term).astype(np.float32)
        product.output[0] = node.output[0]
        self.nodes.remove(node)

    def save(self, path, nodes, constants, extra=(), infos=True):
        outputs = [self.output] if infos else []
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in extra]
        graph = helper.make_graph(nodes, "quantised", self.inputs, outputs, [
            numpy_helper.from_array(np.asarray(value), name)
            for name, value in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                                    ir_version=7), path)


def activations(graph):
    """Tensors that are stored quantised: what is computed, after its relu."""
    names = [graph.inputs[0].name]
    for node in graph.nodes:
        readers = graph.readers(node.output[0])
        if node.op_type in ("Softmax", "Reshape", "Flatten"):
            continue
        if len(readers) == 1 and readers[0].op_type == "Relu":
            continue
        names.append(node.output[0])
    return names


def ranges(graph, names, samples):
    """(least, largest) of every tensor over the samples."""
    wanted = [n for n in names if n not in (graph.inputs[0].name, graph.output.name)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "all.onnx")
        graph.save(path, graph.nodes, graph.constants, wanted)
        feed = [{graph.inputs[0].name: sample[None]} for sample in samples]
        results, _ = common.ort.run(path, feed)
    found = {}
    for sample, result in zip(samples, results):
        for name, array in [(graph.inputs[0].name, sample), *result.items()]:
            low, high = found.get(name, (0.0, 0.0))
            found[name] = min(low, float(array.min())), max(high, float(array.max()))
    return found


class Quantiser:
    """Writes the QDQ form of a graph."""

    def __init__(self, graph, found, unsigned):
        self.graph, self.nodes, self.constants = graph, [], {}
        self.unsigned = unsigned
        self.scales, self.renamed = {}, {}
        for name in activations(graph):
            low, high = found[name]
            scale = np.float32(max(high - low, 1e-6) / 255)
            self.scales[name] = scale, np.uint8(np.clip(np.rint(-low / scale), 0, 255))
        self.quantise(graph.inputs[0].name, graph.inputs[0].name)
        for node in graph.nodes:
            self.add(node)

    def parameters(self, name, scale, zero):
        self.constants[name + ".scale"], self.constants[name + ".zero"] = scale, zero
        return [name + ".scale", name + ".zero"]

    def quantise(self, computed, name):
        parameters = self.parameters(name, *self.scales[name])
        q = name + ".q"
        self.nodes.append(helper.make_node("QuantizeLinear", [computed, *parameters], [q], name=q))
        last = name == self.graph.output.name
        self.renamed[name] = name if last else name + ".dq"
        self.nodes.append(helper.make_node(
            "DequantizeLinear", [q, *parameters], [self.renamed[name]], name=name + ".dq"))

    def integers(self, w, axis):
        """(integers, scale, zero point) of weights."""
        if self.unsigned:
            low, high = min(w.min(), 0), max(w.max(), 0)
            scale = np.float32(max(high - low, 1e-8) / 255)
            zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
            return np.clip(np.rint(w / scale) + zero, 0, 255).astype(np.uint8), scale, zero
        rest = tuple(d for d in range(w.ndim) if d != axis)
        along = [1] * w.ndim
        along[axis] = -1
        scale = np.maximum(np.abs(w).max(rest) / 127, 1e-8).astype(np.float32)
        integers = np.clip(np.rint(w / scale.reshape(along)), -127, 127).astype(np.int8)
        return integers, scale, np.zeros(scale.shape, np.int8)

    def weights(self, node):
        """Inputs of a product with integer weights and bias."""
        w = self.graph.constants[node.input[1]]
        axis = 0 if node.op_type == "Conv" or attributes(node).get("transB") else 1
        integers, scale, zero = self.integers(w, axis)
        base = node.output[0]
        self.constants[base + ".w"] = integers
        names = [base + ".w.dq"]
        self.nodes.append(helper.make_node(
            "DequantizeLinear",
            [base + ".w", *self.parameters(base + ".w", scale, zero)],
            names, name=names[0], axis=axis))
        if len(node.input) < 3:
            return names
        source = node.input[0]
        while source not in self.scales:  # behind a flatten
            source = next(n for n in self.graph.nodes if n.output[0] == source).input[0]
        unit = (self.scales[source][0] * scale).astype(np.float32)
        bias = np.rint(self.graph.constants[node.input[2]].astype(np.float64) / unit)
        self.constants[base + ".b"] = np.clip(bias, -2**31, 2**31 - 1).astype(np.int32)
        self.nodes.append(helper.make_node(
            "DequantizeLinear",
            [base + ".b", *self.parameters(base + ".b", unit, np.zeros(unit.shape, np.int32))],
            [base + ".b.dq"], name=base + ".b.dq", axis=0))
        return names + [base + ".b.dq"]

    def add(self, node):
        inputs = [self.renamed.get(name, name) for name in node.input]
        if node.op_type in PRODUCTS:
            inputs = inputs[:1] + self.weights(node)
        for name in inputs:
            if name in self.graph.constants:
                self.constants[name] = self.graph.constants[name]
        result = node.output[0]
        computed = result + ".float" if result in self.scales else result
        self.nodes.append(helper.make_node(node.op_type, inputs, [computed],
                                           name=result, **attributes(node)))
        if result in self.scales:
            self.quantise(computed, result)


def float_products(folder):
    """Products of the plan whose operands are no integers."""
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as stream:
        plan = json.load(stream)
    types = {tensor["name"]: tensor["type"] for tensor in plan["tensors"]}
    return [op["name"] for op in plan["ops"] if op["op"] in ("conv", "matmul")
            and types[op["inputs"]["x"]] not in ("i8", "u8")]


def cycles_of(binary, folder):
    report = os.path.join(folder, "run.json")
    common.run_tool("ashlar-run", binary, "--random-inputs=1", f"--report={report}", "--quiet")
    with open(report, encoding="utf-8") as stream:
        return json.load(stream)["total_cycles"]


def percent(same):
    return 100 * float(np.mean(same))


def best(outputs):
    return outputs.reshape(len(outputs), -1).argmax(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--calibrate", type=int, default=16)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--keep")
    parser.add_argument("--weights", choices=["signed", "unsigned"], default="signed")
    parser.add_argument("--min-equal", type=float, default=0)
    parser.add_argument("--min-agreement", type=float, default=0)
    options = parser.parse_args()
    path = common.model_path(options.model)
    stacked, _ = common.dev_inputs(options.model, options.calibrate + options.samples)
    graph = Graph(path)
    found = ranges(graph, activations(graph), stacked[:options.calibrate])
    quantiser = Quantiser(graph, found, options.weights == "unsigned")
    judged = stacked[options.calibrate:]
    with tempfile.TemporaryDirectory() as folder:
        model = options.keep or os.path.join(folder, "model.onnx")
        graph.save(model, quantiser.nodes, quantiser.constants)
        inputs, outputs = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
        np.savez(inputs, **{graph.inputs[0].name: judged})
        binary = os.path.join(folder, "model.ash")
        common.run_tool("ashlarc", model, "-o", binary, f"--dump-plan={folder}")
        common.run_tool("ashlar-run", binary, f"--inputs={inputs}", f"--outputs={outputs}",
                        "--functional")
        cycles = cycles_of(binary, folder)
        with np.load(outputs) as file:
            ours = file[graph.output.name].reshape(len(judged), -1)
        theirs = common.fp32_outputs(model, judged)[graph.output.name].reshape(ours.shape)
        floats = float_products(folder)
    exact = common.fp32_outputs(path, judged)[graph.output.name].reshape(ours.shape)
    # A softmax may differ in the last places, a quantised output by steps.
    equal = percent(np.isclose(ours, theirs, rtol=1e-5, atol=1e-7))
    agreement = percent(best(ours) == best(theirs))
    print(f"{options.model}: {len(judged)} inputs, {cycles} cycles, {len(floats)} products of floats, "
          f"{equal:.2f} % of the outputs equal to ONNX Runtime, same class {agreement:.1f} %; "
          f"same class as the float model: emulator {percent(best(ours) == best(exact)):.1f} %, "
          f"ONNX Runtime {percent(best(theirs) == best(exact)):.1f} %")
    return int(bool(floats) or equal < options.min_equal or agreement < options.min_agreement)


if __name__ == "__main__":
    sys.exit(main())
