#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recomputes a numeric plan in numpy and compares every tensor bit for bit.

usage: reference.py PLAN_DIR INPUTS.npz [DUMP_DIR] [--outputs=FILE.npz]
                    [--keep-going=N] [--state-in=FILE] [--state-out=FILE]

PLAN_DIR is what `ashlarc --dump-plan` wrote, DUMP_DIR what `ashlar-run
--dump-tensors` wrote. Prints the first differing elements of up to N tensors
(default 3) and the number of tensors compared; exits with 1 on a difference
or if the dump misses a planned tensor. Each operation takes the reference's
own operands, so the first tensor that differs is where an error starts.
--state-out keeps what scale policies carry to the next run, which is given it
as --state-in (JSON).

Written from docs/Numerics.md and docs/NumericPlan.md; shares no code with the
compiler or the emulator.
"""

import argparse
import os
import sys

import numpy as np

import movement
import plan as plans
import products
import host  # noqa: F401  registers its evaluators
from ops import EVALUATORS
from storage import Value, store


def scalar_result(op, attrs, operands, tensor):
    evaluate = EVALUATORS.get(op["op"])
    if evaluate is None:
        raise SystemExit(f"{op['name']}: the plan has the unknown operation "
                         f"{op['op']}")
    if op["op"] in ("affine", "unary", "requantise"):
        return evaluate(attrs, operands, tensor, op.get("function") or attrs)
    return evaluate(attrs, operands, tensor)


def moved(op, attrs, values, tensor, given):
    shape = tensor["shape"]
    if all(v.type == "bfp" for v in values) and tensor["type"] == "bfp":
        fmt = plans.format_of(tensor)
        encoded = movement.move_encoded(op["op"], attrs,
                                        [v.data for v in values], fmt, shape)
        if encoded is not None:
            return Value("bfp", encoded)
    arrays = [v.numbers() if v.type == "bfp" or v.type != tensor["type"]
              else v.data for v in values]
    return store(movement.move(op["op"], attrs, arrays, shape), tensor, given)


def evaluate(op, values, tensor, given):
    """The value of the operation's result in its storage."""
    attrs = op.get("attrs") or {}
    operands = {role: values[name] for role, name in op["inputs"].items()}
    kind = op["op"]
    if kind in movement.MOVES:
        return moved(op, attrs, plans.ordered(operands), tensor, given)
    if kind == "conv":
        result = products.conv(operands["x"], operands["w"], attrs, operands,
                               op.get("function"))
    elif kind == "matmul":
        result = products.matmul(operands["x"], operands["w"], attrs, operands,
                                 op.get("function"))
    else:
        result = scalar_result(op, attrs, operands, tensor)
    return store(result, tensor, given)


def run(plan, inputs):
    """Yields (tensor entry, Value): constants, inputs, then what operations
    make in the plan's order."""
    values = plan.constants()
    for name, value in list(values.items()):
        yield plan.tensors[name], value
    for name in plan.inputs:
        tensor = plan.tensors[name]
        array = inputs[name].reshape(tensor["shape"])
        values[name] = store(array, tensor)
        yield tensor, values[name]
    for op in plan.ops:
        tensor = plan.tensors[op["output"]]
        try:
            value = evaluate(op, values, tensor, plan.given(tensor))
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise SystemExit(f"{op['name']} ({op['op']}): "
                             f"{type(error).__name__}: {error}") from error
        if list(value.shape) != list(tensor["shape"]):
            raise SystemExit(f"{op['name']}: shape {list(value.shape)}, the "
                             f"plan says {tensor['shape']}")
        values[tensor["name"]] = plan.settle(tensor, value)
        yield tensor, value


def bits(array):
    """The stored bits, so that NaN payloads and -0 count."""
    array = np.asarray(array, order="C")
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "f" \
        else array


def differences(label, found, expected):
    """Text about the first differing elements, empty if there are none."""
    if found.shape != expected.shape:
        return f"{label}: shape {list(found.shape)}, expected {list(expected.shape)}"
    if found.dtype.kind != expected.dtype.kind and "f" in (
            found.dtype.kind + expected.dtype.kind):
        return f"{label}: {found.dtype}, expected {expected.dtype}"
    wrong = np.argwhere(bits(found) != bits(expected))
    if not len(wrong):
        return ""
    lines = [f"{label}: {len(wrong)} of {found.size} differ"]
    for index in wrong[:4]:
        at = tuple(index)
        lines.append(f"  {list(map(int, at))}: found {found[at]!r}, "
                     f"expected {expected[at]!r}")
    return "\n".join(lines)


def compare(tensor, value, dump):
    """Text about differences of one tensor, empty if the bits are equal."""
    name = tensor["name"]
    if value.type != "bfp":
        expected = plans.stored_array(value)
        return differences(name, dump.array(name), expected)
    mantissas, exponents, scale = dump.encoded(name)
    texts = [differences(name + " mantissas", mantissas, value.data.mantissas),
             differences(name + " exponents", exponents.reshape(-1),
                         value.data.exponents.reshape(-1))]
    if scale is not None and scale != value.scale_exponent:
        texts.append(f"{name}: scale exponent {scale}, expected "
                     f"{value.scale_exponent}")
    return "\n".join(t for t in texts if t)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan")
    parser.add_argument("inputs")
    parser.add_argument("dump", nargs="?")
    parser.add_argument("--outputs")
    parser.add_argument("--keep-going", type=int, default=3)
    parser.add_argument("--unstored", action="append", default=[], metavar="NODE",
                        help="a node whose tensors the dump may not have")
    parser.add_argument("--state-in")
    parser.add_argument("--state-out")
    options = parser.parse_args()
    plan = plans.Plan(options.plan)
    if options.state_in:
        plan.load_states(options.state_in)
    dump = plans.Dump(options.dump) if options.dump else None
    with np.load(options.inputs) as stored:
        inputs = dict(stored)
    compared = failed = 0
    missing, outputs = [], {}
    for tensor, value in run(plan, inputs):
        for output, name in plan.outputs.items():
            if name == tensor["name"]:
                outputs[output] = plans.stored_array(value)
        if not dump or tensor["kind"] in ("input", "constant"):
            continue
        if not dump.has(tensor["name"]):
            node = tensor["name"].rsplit(".", 1)[0]
            if node in options.unstored or tensor["name"] in options.unstored:
                print(f"{tensor['name']}: stored nowhere, as expected")
            else:
                missing.append(tensor["name"])
            continue
        compared += 1
        text = compare(tensor, value, dump)
        if text:
            failed += 1
            if failed <= options.keep_going:
                print(text)
    if options.state_out:
        plan.save_states(options.state_out)
    if options.outputs:
        np.savez(options.outputs, **outputs)
    if not dump:
        return 0
    for name in missing:
        print(f"{name}: not in the dump")
    print(f"{compared} tensors compared, {failed} differ, {len(missing)} missing")
    return int(bool(failed or missing or not compared))


if __name__ == "__main__":
    sys.exit(main())
