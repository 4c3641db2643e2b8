# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether outputs are right: against ONNX Runtime, the numeric plan, each other.

Values. The error of an output is its largest deviation over its largest
magnitude. Below EASY steps of the format it is right without further question.
Otherwise twins of the model (twins.py) say how far such steps may move it:
FACTOR times as far is right, more is wrong; they overestimate about twice. Of an
output behind a decision (comparison, rounding) a share of the elements may jump, as
they do in the twins.

Bits. Programs with one numeric plan give the same bits, which are those of the
numpy implementation of the plan (test/reference).
"""

import os
import sys

import numpy as np

import common
import ort

from . import twins

sys.path.insert(0, os.path.join(common.ROOT, "test", "reference"))

import plan as plans  # noqa: E402
import reference  # noqa: E402

EASY = 8
FACTOR = 3
TWINS = 3
MORE_TWINS = 12
LEAST = 2.0 ** -20  # of what single precision may do to itself


class OnnxRuntime:
    """Graphs as they are: the optimiser of ONNX Runtime has been wrong."""

    name = "ONNX Runtime, optimisation disabled"

    def __init__(self, folder):
        self.server, self.folder = ort.Server(), folder

    def run(self, model, arrays):
        path = os.path.join(self.folder, "reference.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return self.server.run(path, [arrays])[0]

    def close(self):
        self.server.close()


class AshlarReference:
    """The project's own interpreter in binary64, where there is no other."""

    name = "ashlar-reference --fp64 (ONNX Runtime is not installed)"

    def __init__(self, folder):
        self.folder = folder

    def run(self, model, arrays):
        path, inputs, outputs = (os.path.join(self.folder, f"reference.{end}")
                                 for end in ("onnx", "in.npz", "out.npz"))
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        np.savez(inputs, **arrays)
        done = common.run_tool("ashlar-reference", path, f"--inputs={inputs}", "--fp64",
                               f"--outputs={outputs}", check=False)
        if done.returncode:
            raise ort.Refused(done.stderr.strip())
        with np.load(outputs) as stored:
            return {name: stored[name] for name in stored}

    def close(self):
        pass


def oracle(folder):
    return OnnxRuntime(folder) if ort.available() else AshlarReference(folder)


class Expected:
    """What the network gives without the machine, and what excuses an error."""

    def __init__(self, oracle, model, inputs):
        self.oracle, self.model, self.inputs = oracle, model, inputs
        self.discrete = twins.decisions(model.graph)
        self.outputs = oracle.run(model, inputs)
        self.excuses = {}

    def deviations(self, step, count, ranges=False):
        key = (step, count, ranges)
        if key not in self.excuses:
            self.excuses[key] = twins.deviations(self.oracle.run, self.model, self.inputs,
                                                 self.outputs, step, range(count), ranges)
        return self.excuses[key]

    def problem(self, name, got, step, ranges=False):
        """What is wrong with an output, or None; `ranges`: exponents cover the ranges that
        operators guarantee. ValueError: nothing can be said."""
        wanted = self.outputs[name]
        if got.shape != wanted.shape:
            return f"{name}: shape {list(got.shape)}, expected {list(wanted.shape)}"
        if not got.size:
            return None
        if not np.isfinite(wanted).all():
            raise ValueError("the expected output is not finite")
        size = float(np.abs(wanted.astype(np.float64)).max())
        with np.errstate(invalid="ignore"):
            away = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
        away = np.where(np.isfinite(away), away, np.inf)
        if away.max() <= EASY * step * size:
            return None
        return self.judge(name, got, away, size, step, ranges)

    def judge(self, name, got, away, size, step, ranges):
        twin = self.deviations(step, TWINS, ranges)[name]
        limit = FACTOR * max(t.max() for t in twin) + LEAST * size
        if away.max() <= limit:
            return None
        if name in self.discrete:
            twin = twin + self.deviations(2 * step, MORE_TWINS, ranges)[name]
            limit = FACTOR * max(t.max() for t in twin) + LEAST * size
            near = EASY * step * size
            shares = [float((t > near).mean()) for t in twin]
            if float((away > near).mean()) <= 4 * max(shares) + 0.02 or away.max() <= limit:
                return None
        if not np.isfinite(limit):
            raise ValueError("a twin is not finite")
        worst = np.unravel_index(int(away.argmax()), away.shape)
        return (f"{name} {list(got.shape)}: {int((away > limit).sum())} of {away.size} elements "
                f"wrong, the worst at {[int(k) for k in worst]}: {got[worst]}, expected "
                f"{self.outputs[name][worst]}; largest magnitude {size:.4g}, allowed {limit:.3g}")


def other_bits(got, wanted):
    """What differs between outputs, in words; empty if no bit does."""
    found = []
    for name, array in wanted.items():
        other = got[name]
        if array.dtype != other.dtype or array.shape != other.shape:
            found.append(f"{name}: {other.dtype} {list(other.shape)}, not {array.dtype} "
                         f"{list(array.shape)}")
        elif array.tobytes() != other.tobytes():
            with np.errstate(invalid="ignore"):
                away = np.abs(other.astype(np.float64) - array.astype(np.float64))
            found.append(f"{name} {list(array.shape)}: {int((away != 0).sum())} elements, by up to "
                         f"{away.max():.3g} of {np.abs(array.astype(np.float64)).max():.3g}")
    return "; ".join(found)


def planned(folder, inputs):
    """The outputs of a dumped plan, by numpy."""
    plan, outputs = plans.Plan(folder), {}
    for tensor, value in reference.run(plan, inputs):
        for output, name in plan.outputs.items():
            if name == tensor["name"]:
                outputs[output] = plans.stored_array(value)
    return outputs
