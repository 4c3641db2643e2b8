#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the judge sees what it is for, without compiler and machine.

usage: selftest.py [--count=40]

Takes the expected outputs of drawn networks. Errors as the formats make them (twins
of other seeds, and of single precision) must pass. Exchanged rows, an exponent of
another block, a row that was not written, NaN and another shape must not.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]

from differential import grammar, judge, twins  # noqa: E402

STEP = 2.0 ** -15


def damages(array):
    """(what is done, the damaged array); none where it would change little."""
    flat = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    size = np.abs(array).max()
    rows = len(flat)
    yield "nan", np.where(np.arange(array.size).reshape(array.shape) == array.size // 2,
                          np.float32(np.nan), array)
    yield "shape", array.reshape(-1, 1)[: array.size - 1]
    if rows > 1 and np.abs(flat[0] - flat[-1]).max() > 0.1 * size:
        turned = flat.copy()
        turned[[0, -1]] = turned[[-1, 0]]
        yield "exchanged rows", turned.reshape(array.shape)
    if np.abs(flat[-1]).max() > 0.1 * size:
        doubled, stale = flat.copy(), flat.copy()
        doubled[-1, :16] *= 2
        stale[-1] = 0
        if np.abs(flat[-1, :16]).max() > 0.1 * size:
            yield "another exponent", doubled.reshape(array.shape)
        yield "a row that was not written", stale.reshape(array.shape)


def check(oracle, case):
    """Problems about the judge on one network."""
    drawn = grammar.draw(99, case, None if case % 2 else "reshapes")
    expected = judge.Expected(oracle, drawn.model, drawn.inputs)
    noisy = oracle.run(twins.twin(drawn.model, STEP, 1000),
                       twins.twin_inputs(drawn.inputs, STEP, 1000))
    wrong, seen = [], 0
    for name, array in expected.outputs.items():
        if array.dtype != np.float32 or not array.size or not np.isfinite(array).all() \
                or not np.abs(array).max() or not np.isfinite(noisy[name]).all():
            continue
        for what, got in (("itself", array), ("errors of the format", noisy[name])):
            if expected.problem(name, got, STEP):
                wrong.append(f"case {case}: {what} of {name} is called wrong")
        spread = max(t.max() for t in expected.deviations(STEP, judge.TWINS)[name])
        if name in expected.discrete or spread > 1e-3 * np.abs(array).max():
            continue
        for what, got in damages(array):
            seen += 1
            if not expected.problem(name, got, STEP):
                wrong.append(f"case {case}: {what} in {name} {list(array.shape)} is not seen")
    return wrong, seen


def expect_one(oracle, op, rows):
    """What one operator gives for `rows`."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, rows.shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], op, info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return judge.Expected(oracle, model, {"x": rows})


def check_tails(oracle):
    """The exact value of a sigmoid whose reference is 0 is right, a coarse one is not."""
    rows = np.full((2, 96), -30, np.float32)
    expected, wrong = expect_one(oracle, "Sigmoid", rows), []
    exact = (1 / (1 + np.exp(-rows.astype(np.float64)))).astype(np.float32)
    if expected.problem("y", exact, STEP):
        wrong.append("the exact tail of a sigmoid is called wrong")
    if not expected.problem("y", exact + np.float32(STEP), STEP):
        wrong.append("an error in the tail of a sigmoid is not seen")
    return wrong


def check_ranges(oracle):
    """A step of the range of a softmax is right under constant exponents alone."""
    rows = np.random.default_rng(1).normal(0, 1, (2, 96)).astype(np.float32)
    expected = expect_one(oracle, "Softmax", rows)
    got = expected.outputs["y"] + np.float32(STEP)
    wrong = []
    if expected.problem("y", got, STEP, ranges=True):
        wrong.append("a step of a softmax's range is called wrong")
    if not expected.problem("y", got, STEP):
        wrong.append("an error of a softmax beyond its values is not seen")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    count, wrong, seen = parser.parse_args().count, [], 0
    with tempfile.TemporaryDirectory() as folder:
        oracle = judge.oracle(folder)
        for case in range(count):
            try:
                more, found = check(oracle, case)
            except judge.ort.Refused:
                continue
            wrong += more
            seen += found
        wrong += check_ranges(oracle) + check_tails(oracle)
        oracle.close()
    print("\n".join(wrong + [f"{count} networks, {seen} damages, {len(wrong)} mistakes"]))
    return int(bool(wrong) or not seen)


if __name__ == "__main__":
    sys.exit(main())
