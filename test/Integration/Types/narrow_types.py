#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types below a byte and floats of 8 bits against a direct transcription.

usage: narrow_types.py [NAME...]

Every code of every type goes through a graph input, a cast and a graph output;
numbers between, beyond and halfway between those of a type are cast to it;
constants, QuantizeLinear and DequantizeLinear are blocked. ashlarc --verify
judges each model by the reference of ONNX as well.
"""

import math
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402

FLOAT = 1
# Number of the type, bits of exponent and fraction, exponent of the least
# normal number.
FLOATS = {"float8e4m3fn": (17, 4, 3, -6), "float8e4m3fnuz": (18, 4, 3, -7),
          "float8e5m2": (19, 5, 2, -14), "float8e5m2fnuz": (20, 5, 2, -15),
          "float4e2m1": (23, 2, 1, 0)}
INTEGERS = {"int4": (22, 4, True), "uint4": (21, 4, False),
            "int2": (26, 2, True), "uint2": (25, 2, False)}
SCALE = 24


def value(name, code):
    """What a code of a float type means."""
    _, exponent_bits, fraction, least = FLOATS[name]
    sign = 1 << (exponent_bits + fraction)
    magnitude = code & (sign - 1)
    if name.endswith("uz") and code == sign:
        return math.nan
    if name == "float8e4m3fn" and magnitude == sign - 1:
        return math.nan
    if name == "float8e5m2" and magnitude >= 0x7c:
        return math.nan if magnitude > 0x7c else math.copysign(
            math.inf, -1 if code & sign else 1)
    exponent = magnitude >> fraction
    digits = magnitude & ((1 << fraction) - 1)
    digits += (1 << fraction) if exponent else 0
    number = digits * 2.0 ** (least - fraction + max(exponent - 1, 0))
    return -number if code & sign else number


def table(name):
    bits = 1 + FLOATS[name][1] + FLOATS[name][2]
    return np.array([value(name, code) for code in range(1 << bits)])


def rounded(name, x, saturate):
    """x as the nearest number of the type, ties to an even digit."""
    _, _, fraction, least = FLOATS[name]
    numbers = table(name)
    largest = numbers[np.isfinite(numbers)].max()
    if math.isnan(x):
        return -0.0 if name == "float4e2m1" else x
    result = x
    if math.isfinite(x) and x != 0:
        exponent = max(math.floor(math.log2(abs(x))), least)
        exponent += 2.0 ** (exponent + 1) <= abs(x)
        unit = 2.0 ** (exponent - fraction)
        result = float(np.rint(x / unit)) * unit
    if abs(result) > largest:
        if saturate or name == "float4e2m1":
            result = math.copysign(largest, x)
        else:
            result = math.copysign(math.inf, x) if name == "float8e5m2" \
                else math.nan
    return 0.0 if result == 0 and name.endswith("uz") \
        else math.copysign(result, x)


def model(nodes, inputs, outputs, constants=()):
    def infos(values):
        return [helper.make_tensor_value_info(*v) for v in values]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs),
                              list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    made.ir_version = 12
    return made


def run(made, inputs, verify=True):
    with tempfile.TemporaryDirectory() as folder:
        path, data, finite, outputs = (
            os.path.join(folder, name)
            for name in ("m.onnx", "in.npz", "finite.npz", "out.npz"))
        with open(path, "wb") as stream:
            stream.write(made.SerializeToString())
        np.savez(data, **inputs)
        # --verify takes no others, and computes without overflow.
        np.savez(finite, **{
            name: np.clip(np.nan_to_num(x, posinf=2, neginf=-3), -1e37, 1e37)
            .astype(x.dtype) if x.dtype.kind == "f" else x
            for name, x in inputs.items()})
        if verify:
            common.run_tool("ashlarc", path, "--verify", f"--inputs={finite}",
                            "--format=bfp16")
        binary = os.path.join(folder, "m.ash")
        common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16")
        common.run_tool("ashlar-run", binary, f"--inputs={data}",
                        f"--outputs={outputs}", "--threads=1")
        with np.load(outputs) as found:
            return dict(found)


def expect(what, found, wanted):
    wanted = np.asarray(wanted)
    same = (found == wanted) | ((found != found) & (wanted != wanted))
    if found.shape != wanted.shape or not same.all():
        raise SystemExit(f"{what}: found {found[~same][:8]}, expected "
                         f"{wanted[~same][:8]}")


def cast(source, result, to, **attributes):
    return helper.make_node("Cast", [source], [result], to=to, **attributes)


def check_codes(name):
    numbers = table(name)
    kind, count = FLOATS[name][0], len(numbers)
    made = model([cast("x", "y", FLOAT),
                  helper.make_node("Identity", ["x"], ["z"])],
                 [("x", kind, [count])],
                 [("y", FLOAT, [count]), ("z", kind, [count])])
    codes = np.arange(count, dtype=np.uint8)
    found = run(made, {"x": codes})
    expect(f"values of {name}", found["y"], numbers)
    real = ~np.isnan(numbers)
    expect(f"signs of {name}", np.signbit(found["y"][real]),
           np.signbit(numbers[real]))
    expect(f"codes of {name}", found["z"][real], codes[real])


def check_casts(name):
    numbers = table(name)
    finite = np.unique(numbers[np.isfinite(numbers)])
    source = np.random.default_rng(FLOATS[name][0])
    x = np.concatenate([
        finite, (finite[1:] + finite[:-1]) / 2, finite * 1.3,
        source.normal(0, 1, 300) * np.exp2(source.uniform(-20, 18, 300)),
        [0.0, -0.0, math.nan, math.inf, -math.inf, 1e30, -1e30, 1e-30]
    ]).astype(np.float32)
    for saturate in (0, 1):
        made = model([cast("x", "y", FLOATS[name][0], saturate=saturate),
                      cast("y", "w", FLOAT)],
                     [("x", FLOAT, [len(x)])],
                     [("y", FLOATS[name][0], [len(x)]),
                      ("w", FLOAT, [len(x)])])
        found = run(made, {"x": x}, verify=saturate == 1)
        wanted = [rounded(name, float(v), saturate) for v in x]
        expect(f"cast to {name}, saturate={saturate}", found["w"],
               np.array(wanted, np.float32))
        expect(f"codes of a cast to {name}", numbers[found["y"]], wanted)


def packed(name, values, shape):
    """A constant with several elements in a byte, the first in the low bits."""
    number, bits, _ = INTEGERS[name]
    per_byte = 8 // bits
    codes = [int(v) & ((1 << bits) - 1) for v in values]
    codes += [0] * (-len(codes) % per_byte)
    tensor = onnx.TensorProto(name="q", data_type=number, dims=shape)
    tensor.raw_data = bytes(
        sum(code << (bits * k) for k, code in enumerate(codes[i:i + per_byte]))
        for i in range(0, len(codes), per_byte))
    return tensor


def check_integers(name):
    number, bits, signed = INTEGERS[name]
    low = -(1 << (bits - 1)) if signed else 0
    high = low + (1 << bits) - 1
    x = np.arange(-9, 16).astype(np.float32)
    found = run(model([cast("x", "y", number), cast("y", "w", FLOAT)],
                      [("x", FLOAT, [len(x)])],
                      [("y", number, [len(x)]), ("w", FLOAT, [len(x)])]),
                {"x": x})
    wrapped = (x.astype(int) - low) % (1 << bits) + low
    expect(f"cast to {name}", found["w"], wrapped)
    expect(f"output of {name}", found["y"], wrapped)
    values = np.arange(35) % (1 << bits) + low
    scale = np.array([[1, 2, 3, 4, 5], [.5] * 5, [8] * 5, [1] * 5], np.float32)
    wide = np.repeat(scale, 2, 0)[:7]
    parameters = numpy_helper.from_array(scale, "s")
    found = run(model([helper.make_node("DequantizeLinear", ["q", "s"], ["d"],
                                        axis=0, block_size=2),
                       helper.make_node("Add", ["d", "x"], ["y"])],
                      [("x", FLOAT, [5])], [("y", FLOAT, [7, 5])],
                      [packed(name, values, [7, 5]), parameters]),
                {"x": np.zeros(5, np.float32)})
    expect(f"blocks of {name}", found["y"], values.reshape(7, 5) * wide)
    data = np.random.default_rng(2).normal(0, 6, (7, 5)).astype(np.float32)
    found = run(model([helper.make_node("QuantizeLinear", ["x", "s"], ["y"],
                                        axis=0, block_size=2,
                                        output_dtype=number)],
                      [("x", FLOAT, [7, 5])], [("y", number, [7, 5])],
                      [parameters]), {"x": data})
    expect(f"quantised to {name}", found["y"],
           np.clip(np.rint(data / wide), low, high))


def check_quantised_floats(name):
    number = FLOATS[name][0]
    zero = onnx.TensorProto(name="z", data_type=number, raw_data=b"\0")
    scale = numpy_helper.from_array(np.float32(0.375), "s")
    x = np.random.default_rng(3).normal(0, 3, 200).astype(np.float32)
    found = run(model([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                       helper.make_node("DequantizeLinear", ["q", "s"], ["y"])],
                      [("x", FLOAT, [200])], [("y", FLOAT, [200])],
                      [scale, zero]), {"x": x})
    numbers = [np.float32(rounded(name, float(v), True)) * np.float32(0.375)
               for v in x / np.float32(0.375)]
    expect(f"quantised to {name}", found["y"], np.array(numbers, np.float32))


def check_scales():
    x = np.array([0, 2.0 ** -127, 1, 1.4, 1.5, 1.6, 2, 3, 0.75, 0.8, 1e38, 3e38,
                  math.inf, math.nan], np.float32)
    with np.errstate(divide="ignore"):
        power = np.log2(x.astype(np.float64))
    wanted = {"up": np.ceil(power), "down": np.floor(power),
              "nearest": np.floor(power) + (x >= 1.5 * 2.0 ** np.floor(power))}
    for mode, exponents in wanted.items():
        found = run(model([cast("x", "y", SCALE, round_mode=mode),
                           cast("y", "w", FLOAT)], [("x", FLOAT, [len(x)])],
                          [("y", SCALE, [len(x)]), ("w", FLOAT, [len(x)])]),
                    {"x": x})
        numbers = 2.0 ** np.clip(exponents, -127, 127)
        expect(f"scales, {mode}", found["w"], numbers)
        codes = np.where(np.isnan(exponents), 255,
                         np.clip(exponents, -127, 127) + 127)
        expect(f"codes of scales, {mode}", found["y"], codes)
    found = run(model([cast("x", "y", FLOAT)], [("x", SCALE, [256])],
                      [("y", FLOAT, [256])]),
                {"x": np.arange(256, dtype=np.uint8)})
    expect("values of scales", found["y"],
           np.append(2.0 ** (np.arange(255) - 127.0), math.nan))


def main():
    asked = sys.argv[1:]
    for name in FLOATS:
        if not asked or name in asked:
            check_codes(name)
            check_casts(name)
            check_quantised_floats(name)
    for name in INTEGERS:
        if not asked or name in asked:
            check_integers(name)
    if not asked or "float8e8m0" in asked:
        check_scales()
    print("all values equal")


if __name__ == "__main__":
    main()
