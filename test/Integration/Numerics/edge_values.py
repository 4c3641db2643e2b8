#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that import writes as formulas, at the edges of their definitions.

usage: edge_values.py [--machine=a1] [--no-machine] [--only=REGEX]

Every model is one node. The expected values are the numpy form of the ONNX
definition, written here without a look at the importer. The interpreter runs
what import made (ashlar-reference), and the machine the compiled program.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F = np.float32
INF, NAN, BIG = F(np.inf), F(np.nan), F(3e38)


def lp(x, p):
    norm = np.linalg.norm(x, ord=p, axis=-1, keepdims=True)
    return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)


def log_sum_exp(x):
    return np.log(np.sum(np.exp(x.astype(np.float64)), -1)).astype(F)


def celu(x, alpha):
    x = x.astype(np.float64)
    return (np.maximum(0, x) +
            np.minimum(0, alpha * (np.exp(x / alpha) - 1))).astype(F)


def clip(x, low, high):
    return np.minimum(high, np.maximum(x, low)).astype(x.dtype)


def dynamic_quantise(x):
    high, low = max(F(0), x.max()), min(F(0), x.min())
    scale = F(1 if high == low else high - low) / F(255)
    zero = np.uint8(np.clip(np.rint((0 - low) / scale), 0, 255))
    return [np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8),
            np.array(scale), np.array(zero)]


def mean_variance(x):
    x = x.astype(np.float64)
    mean = x.mean((0, 2, 3), keepdims=True)
    deviation = np.sqrt(((x - mean)**2).mean((0, 2, 3), keepdims=True))
    return ((x - mean) / (deviation + 1e-9)).astype(F)


def instance(x, epsilon):
    x = x.astype(np.float64)
    mean = x.mean((2, 3), keepdims=True)
    variance = ((x - mean)**2).mean((2, 3), keepdims=True)
    return ((x - mean) / np.sqrt(variance + epsilon)).astype(F)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(F)


def rows(*lists):
    return np.array(lists, F)


ZERO_ROW = rows([0, 0, 0, 0], [3, 4, 0, 0], [-0.0, 0, 0, 0], [1e-3, 0, 0, 2])
INFINITE = rows([-INF, -INF, -INF], [0, -INF, 1], [INF, 0, 1], [88, 89, 90],
                [-1000, -1000, -1000], [1000, 999, -1000])
SOME = rows([-3, -1, -0.5, -0.0, 0, 0.25, 1, 7])
FEW = np.array([-7, -2, 0, 3, 2**31 - 1], np.int32)
LONG = np.array([-2**62, -1, 0, 5, 2**62], np.int64)


def cases():
    """Name, operator, inputs, attributes, constants, expected, operator set."""
    yield "lp-2", "LpNormalization", [ZERO_ROW], {"p": 2}, {}, [lp(ZERO_ROW, 2)]
    yield "lp-1", "LpNormalization", [ZERO_ROW], {"p": 1}, {}, [lp(ZERO_ROW, 1)]
    with np.errstate(all="ignore"):
        yield ("log-sum-exp", "ReduceLogSumExp", [INFINITE[:2]],
               {"axes": [-1], "keepdims": 0}, {}, [log_sum_exp(INFINITE[:2])])
        yield ("log-sum-exp-inf", "ReduceLogSumExp", [INFINITE[2:4]],
               {"axes": [-1], "keepdims": 0}, {},
               [np.array([INF, log_sum_exp(INFINITE[3:4])[0]])])
        large = F(1000) + np.log(F(1) + np.exp(F(-1)))
        yield ("log-sum-exp-large", "ReduceLogSumExp", [INFINITE[4:]],
               {"axes": [-1], "keepdims": 0}, {},
               [np.array([-1000 + np.log(3), large], F)])
    for alpha in (1.0, 0.5, 2.5, -0.5, -2.0):
        yield (f"celu{alpha:+}", "Celu", [SOME], {"alpha": alpha}, {},
               [celu(SOME, alpha)])
        yield (f"celu-scalar{alpha:+}", "Celu", [np.array(-0.75, F)],
               {"alpha": alpha}, {}, [celu(np.array(-0.75), alpha)])
    for name, low, high in (("plain", -1, 1), ("crossed", 2, -1),
                            ("equal", 0.5, 0.5), ("zero", 0, 3.4e38)):
        low, high = np.array(low, F), np.array(high, F)
        yield (f"clip-{name}", "Clip", [SOME], {}, {"lo": low, "hi": high},
               [clip(SOME, low, high)])
        yield (f"clip-{name}-inputs", "Clip", [SOME, low, high], {}, {},
               [clip(SOME, low, high)])
    bounds = np.array(-2, np.int32), np.array(2, np.int32)
    yield ("clip-i32", "Clip", [FEW], {}, {"lo": bounds[0], "hi": bounds[1]},
           [clip(FEW, *bounds)])
    yield ("clip-i32-crossed", "Clip", [FEW], {},
           {"lo": bounds[1], "hi": bounds[0]}, [clip(FEW, *bounds[::-1])])
    limits = np.iinfo(np.int64)
    limits = np.array(limits.min, np.int64), np.array(limits.max, np.int64)
    yield ("clip-i64-limits", "Clip", [LONG], {},
           {"lo": limits[0], "hi": limits[1]}, [LONG])
    for x in (np.zeros((2, 3), F), np.full((2, 3), 5, F),
              np.full((2, 3), -5, F), SOME):
        yield (f"dynamic-{x.flat[0]:g}", "DynamicQuantizeLinear", [x], {}, {},
               dynamic_quantise(x))
    flat = np.full((2, 2, 3, 3), 2.5, F)
    wave = np.arange(36, dtype=F).reshape(2, 2, 3, 3)
    for name, x in (("flat", flat), ("wave", wave)):
        yield (f"mean-variance-{name}", "MeanVarianceNormalization", [x], {},
               {}, [mean_variance(x)])
        one = np.ones(2, F)
        yield (f"instance-{name}", "InstanceNormalization", [x],
               {"epsilon": 1e-5}, {"a": one, "b": 0 * one},
               [instance(x, 1e-5)])
    small = np.array([[[[3]], [[-4]]]], F)
    yield ("instance-one", "InstanceNormalization", [small], {"epsilon": 1e-5},
           {"a": np.ones(2, F), "b": np.ones(2, F)}, [np.ones_like(small)])
    tops = rows([1000, 1000, 999], [-1000, -1001, -1000], [0, 0, 0])
    yield "softmax-large", "Softmax", [tops], {"axis": -1}, {}, [softmax(tops)]
    yield ("log-softmax-large", "LogSoftmax", [tops], {"axis": -1}, {},
           [np.log(softmax(tops))])
    half = rows([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    yield "round-half", "Round", [half], {}, {}, [np.rint(half)]
    a = np.array([-7, 7, -7, 7, 6], np.int32)
    b = np.array([3, -3, -3, 3, 3], np.int32)
    yield "mod-int", "Mod", [a, b], {}, {}, [np.mod(a, b)]
    yield "mod-fmod", "Mod", [a, b], {"fmod": 1}, {}, [np.fmod(a, b)]
    yield ("div-int", "Div", [a, b], {}, {},
           [np.trunc(a / b).astype(np.int32)])
    base = np.array([1, 4, 9, 16], np.int32)
    yield ("pow-int-half", "Pow", [base], {}, {"e": np.array(0.5, F)},
           [np.array([1, 2, 3, 4], np.int32)])
    yield ("reduce-l2-zero", "ReduceL2", [ZERO_ROW],
           {"axes": [-1], "keepdims": 0}, {},
           [np.linalg.norm(ZERO_ROW, axis=-1)])
    yield ("thresholded", "ThresholdedRelu", [SOME], {"alpha": 0.25}, {},
           [np.where(SOME > 0.25, SOME, 0)])


def build(case):
    name, op, inputs, attributes, constants, expected = case
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(len(expected))]
    kind = lambda a: helper.np_dtype_to_tensor_dtype(a.dtype) if hasattr(
        helper, "np_dtype_to_tensor_dtype"
    ) else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[a.dtype]
    info = lambda n, a: helper.make_tensor_value_info(n, kind(a), a.shape)
    graph = helper.make_graph(
        [helper.make_node(op, names + list(constants), outputs, **attributes)],
        "g", [info(n, a) for n, a in zip(names, inputs)],
        [info(n, a) for n, a in zip(outputs, expected)],
        [numpy_helper.from_array(a, n) for n, a in constants.items()])
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model, dict(zip(names, inputs)), dict(zip(outputs, expected))


def compare(found, expected, loose):
    """None, or what differs."""
    for name, want in expected.items():
        got = found[name]
        want = np.asarray(want)
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"{name}: {got.dtype}{got.shape} {want.dtype}{want.shape}"
        if got.dtype != F:
            if not np.array_equal(got, want):
                return f"{name}: {got.tolist()}, expected {want.tolist()}"
        elif not np.allclose(got, want, rtol=loose, atol=loose, equal_nan=True):
            return f"{name}: {got.tolist()}, expected {want.tolist()}"
    return None


def run(command, outputs):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
    with np.load(outputs) as arrays:
        return {name: arrays[name] for name in arrays.files}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--no-machine", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for case in cases():
            if not re.search(options.only, case[0]):
                continue
            model, inputs, expected = build(case)
            onnx.save(model, at("m.onnx"))
            np.savez(at("x.npz"), **inputs)
            arguments = [f"--inputs={at('x.npz')}", f"--outputs={at('y.npz')}"]
            ways = {"reference": [["ashlar-reference", at("m.onnx")]]}
            if not options.no_machine:
                ways["machine"] = [
                    ["ashlarc", at("m.onnx"), "-o", at("m.ash"),
                     f"--machine={options.machine}"],
                    ["ashlar-run", at("m.ash"), "--quiet"]]
            for way, commands in ways.items():
                count += 1
                if way == "machine":
                    done = subprocess.run(commands[0], capture_output=True,
                                          text=True, timeout=120)
                    if done.returncode != 0:
                        print(f"FAILED {case[0]} {way}: exit "
                              f"{done.returncode}: {done.stderr.strip()[-300:]}")
                        failures += 1
                        continue
                found = run(commands[-1] + arguments, at("y.npz"))
                wrong = found if isinstance(found, str) else compare(
                    found, expected, 1e-5)
                if wrong:
                    print(f"FAILED {case[0]} {way}: {wrong}")
                    failures += 1
    print(f"{count} runs, {failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
