#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The statements about block floating point on programs compiled from ONNX.

usage: claims.py [--only=NN]

Every statement compiles a network (program.py), runs it, some of them several
times with the state of the run before, and compares what the tensor `hidden` is
stored as with what the statement demands, computed here in fractions. Prints
one line for each; exits with 1 if one does not hold. Training is not one of
them: the statements that name it are shown by runs that follow each other.
"""

import argparse
import sys
from fractions import Fraction

import numpy as np

from program import CHANNELS, CLEARED, EXTENT, SHAPE, Program
import common
import scales  # test/reference

STATEMENTS = {}
STATS = "stats(k=4,n=0,at=store,overflow=saturate)"
MACHINES = ["a1", "a1-tiny", "a1-ideal", "fig4-128x64"]


def statement(number, text):
    def keep(function):
        STATEMENTS[number] = (text, function)
        return function
    return keep


def values(seed, most=100, extent=EXTENT):
    """Integers of both signs that W = 8 holds exactly."""
    return np.random.default_rng(seed).integers(
        -most, most + 1, (1, CHANNELS, extent, extent)).astype(np.float64)


def expected(samples, k, width=8, lead="floor"):
    """E that mean and deviation of |samples| demand."""
    magnitudes = [Fraction(abs(float(v))) for v in np.ravel(samples)]
    return scales.spread(len(magnitudes), sum(magnitudes),
                         sum(v * v for v in magnitudes), 16 * k, lead) - (width - 2)


def maximum(samples, width=8):
    return scales.floor_log2(Fraction(float(np.abs(samples).max()))) - (width - 2)


def blocks(x, block=16):
    """The values by blocks: block axis last."""
    return np.moveaxis(np.asarray(x).reshape(SHAPE), 1, -1).reshape(-1, block)


def order(x):
    """Values in the order of samples: the block axis fastest."""
    return np.moveaxis(np.asarray(x), 1, -1).reshape(-1)


@statement(1, "the exponents' sum, mean and deviation give the stored exponent")
def claim01():
    x = values(1)
    for factor in (1, 2):  # the operand's exponent one higher
        with Program(STATS) as program:
            first = program.run(factor * x)
            second = program.run(factor * x)
            wanted = expected(first.values, 4)
            if first.state[0] != wanted or second.exponents() != [wanted]:
                return False
            if not program.instructions("act.drain", cellFromXr=1) or not \
                    program.instructions("xr.select"):
                return False
    return True


@statement(2, "a fixed number of elements is sampled")
def claim02():
    x = values(2, 20)
    inside, outside = x.copy(), x.copy()
    inside[0, 0, 0, 0], outside[0, 0, EXTENT - 1, EXTENT - 1] = 8000, 8000
    states = []
    for data in (x, inside, outside):
        with Program("stats(k=4,n=100,at=store)") as program:
            states.append(program.run(data).state[0])
            if states[-1] != expected(order(data)[:100], 4):
                return False
    return states[0] == states[2] != states[1]


@statement(3, "the mean is a running sum over the count")
def claim03():
    for seed in range(3):
        x = values(seed, 3 + 40 * seed)
        with Program("stats(k=0,n=0,at=store)") as program:
            if program.run(x).state[0] != expected(x, 0):
                return False
    return True


def tiled():
    """A network of several tiles, and data whose tiles differ."""
    x = values(4, 3, 48)
    x[0, :, 40:, :] *= 30
    return x


@statement(4, "the deviation accumulates over the tiles of a tensor")
def claim04():
    x = tiled()
    with Program(STATS, machine="a1-tiny", extent=48) as program:
        run = program.run(x)
        passes = program.instructions("vec.stat")
        cleared = program.instructions("vec.stat", clear=1)
        return run.state[0] == expected(x, 4) and len(passes) > 1 and len(cleared) == 1


@statement(5, "the values are kept first in, first out")
def claim05():
    with Program("predict(k=0,depth=2,at=store)") as program:
        # Falling, because a rise would clear them.
        for top in (64, 32, 16):
            run = program.run(np.clip(values(5), -top, top))
        pairs = run.state[3:].reshape(2, 2)
        kept = sorted(int(m) * 2.0 ** int(e) for m, e in pairs)
    return kept == [16, 32]


@statement(6, "the maximum is preserved")
def claim06():
    with Program("runmax") as program:
        run = program.run(values(6))
    return bool((np.abs(blocks(run.mantissas)).max(axis=1) >= 64).all())


@statement(7, "by the logarithm of the maximum")
def claim07():
    x = values(7)
    with Program("runmax") as program:
        cells = np.moveaxis(program.run(x).cells, 1, -1).ravel()
    tops = np.abs(blocks(x)).max(axis=1)
    return all(int(cell) == int(np.floor(np.log2(top)))
               for cell, top in zip(cells, tops) if top)


@statement(8, "by a floor or a ceiling of it")
def claim08():
    for most, above in ((64, 0), (65, 1), (127, 1)):
        x = np.full(SHAPE, float(most))
        found = []
        for lead in ("floor", "ceil"):
            with Program(f"stats(k=4,n=0,lead={lead},at=store)") as program:
                found.append(int(program.run(x).state[0]))
        if found != [0, above]:
            return False
    return True


@statement(9, "sampled values come from operations on blocks")
def claim09():
    with Program(STATS) as program:
        stat = program.instructions("vec.stat")[0]
        drains = program.instructions("act.drain", cellFromXr=1)
        return all(d.get("dstOffset", "0") == stat.get("offset", "0") for d in drains) and \
            bool(program.instructions("pe.matmul", type="bfp"))


@statement(10, "all elements of a matrix share the exponent")
def claim10():
    x = values(10)
    x[0, :, 0, 0] /= 64
    with Program(STATS) as program:
        own, shared = program.run(x), program.run(x)
    return len(own.exponents()) > 1 and len(shared.exponents()) == 1


@statement(11, "instructions on a medium do it: the file alone, in a process each")
def claim11():
    x = values(11)
    with Program(STATS) as program:
        open(program.path("copy.ash"), "wb").write(open(program.path("m.ash"), "rb").read())
        first = program.run(x)
        return program.run(x, "copy.ash").exponents() == [expected(first.values, 4)]


@statement(12, "the expected value of successive elements sets the stored exponent")
def claim12():
    with Program("stats(k=0,n=0,at=store,overflow=saturate)") as program:
        before = None
        for factor in (1, 8, 64, 2):
            run = program.run(factor * values(12))
            if before is not None and run.exponents() != [before]:
                return False
            before = expected(run.values, 0)
            if run.state[0] != before:
                return False
    return True


@statement(13, "a memory keeps the successive elements")
def claim13():
    with Program("predict(k=3,depth=4,at=store)") as program:
        tops = []
        for top in (40, 60, 50):
            tops.append(top)
            run = program.run(np.clip(values(13), -top, top))
            window = [int(m) * 2.0 ** int(e) for m, e in run.state[3:].reshape(4, 2)]
            if run.state[1] != len(tops) or sorted(window)[-len(tops):] != sorted(tops):
                return False
    return True


@statement(14, "a memory holds the running sum of all of them")
def claim14():
    x = tiled()
    parts = [expected(x[:, :, a:b], 0) for a, b in ((0, 40), (40, 48))]
    with Program("stats(k=0,n=0,at=store)", machine="a1-tiny", extent=48) as program:
        found = program.run(x).state[0]
    # Neither the first tiles nor the last ones alone give it.
    return found == expected(x, 0) and found not in parts


@statement(15, "a sequencer controls the operations")
def claim15():
    with Program(STATS) as program:
        held = "\n".join(line for line in program.text.splitlines()
                         if not line.split() or not line.split()[0].startswith("sem."))
        return program.assemble(program.text, "a.ash") and not program.assemble(held, "b.ash")


@statement(16, "exponent adder, selector and mantissa shifter are chained")
def claim16():
    x = values(16)
    with Program("fixed(e=3,at=store)") as program:
        run = program.run(x)
        drain = program.instructions("act.drain", cellFromXr=1)[0]
    shifted = np.clip(np.rint(x / 8), -127, 127)
    return run.exponents() == [3] and np.array_equal(run.mantissas, shifted) and \
        {"xrA", "dstXr"} <= set(drain)


@statement(17, "on every machine that there is, with equal bits")
def claim17():
    x, found = values(17), set()
    for machine in MACHINES:
        with Program(STATS, machine=machine) as program:
            program.run(x)
            run = program.run(3 * x)
            found.add((run.mantissas.tobytes(), run.cells.tobytes(), run.y.tobytes()))
    return len(found) == 1


@statement(18, "the next maximum is predicted before it is known, and stored under that")
def claim18():
    with Program("predict(k=3,depth=4,at=store,overflow=saturate)") as program:
        state = program.run(values(18)).state
        for factor in (1, 2, 4, 3):
            run = program.run(factor * values(18))
            if run.exponents() != [int(state[0])] or run.scale != state[0]:
                return False
            state = run.state
    return True


@statement(19, "the expected value of the squares takes part")
def claim19():
    narrow, wide = np.full(SHAPE, 40.0), np.full(SHAPE, 40.0)
    wide.ravel()[::2], wide.ravel()[1::2] = 0, 80
    found = {}
    for k in (0, 1):
        for name, x in (("narrow", narrow), ("wide", wide)):
            with Program(f"stats(k={k},n=0,at=store)") as program:
                found[name, k] = int(program.run(x).state[0])
    return found["narrow", 0] == found["wide", 0] == found["narrow", 1] < found["wide", 1]


@statement(20, "a confidence interval bounds what is clipped")
def claim20():
    x = np.rint(np.random.default_rng(20).normal(0, 25, SHAPE))
    clipped = []
    for k in (0, 1, 2, 4):
        with Program(f"stats(k={k},n=0,at=store,overflow=saturate)") as program:
            program.run(x)
            run = program.run(x)
            limit = 127.5 * 2.0 ** run.exponents()[0]
            beyond = int((np.abs(x) >= limit).sum())
            if run.exponents() != [expected(x, k)] or run.node["sat"] != beyond:
                return False
            clipped.append(beyond)
    return clipped == sorted(clipped, reverse=True) and clipped[0] > 20 and clipped[-1] == 0


@statement(21, "an error magnitude decides whether the exponent changes")
def claim21():
    x = values(21)
    with Program("error(t=4,n=0)") as program:
        for factor, moves in ((1, None), (1, False), (0.5, False), (1 / 64, True), (64, True)):
            before = program.run(factor * x) if moves is None else before
            run = program.run(factor * x)
            magnitudes = np.abs(run.values[run.values != 0])
            used = int(before.state[0])
            places = np.floor(np.log2(magnitudes)).astype(int)
            tally = dict(zip(*np.unique(places, return_counts=True)))
            large = scales.loss(tally, used, 8) * 16 > Fraction(float(magnitudes.sum()))
            if (int(run.state[0]) != used) != large or (moves is not None and large != moves):
                return False
            before = run
    return True


@statement(22, "one exponent for all values of the matrix, for readers too")
def claim22():
    with Program("fixed(e=0,at=store)") as program:
        run = program.run(values(22))
    return run.exponents() == [0] and run.scale == 0 and np.array_equal(run.values, values(22))


def step_up(overflow):
    """A run under an exponent predicted from values 32 times smaller."""
    x = values(23)
    with Program(f"predict(k=3,depth=4,at=store,overflow={overflow})") as program:
        program.run(x)
        steady = program.run(x)
        return program.run(32 * x), steady, 32 * x


@statement(23, "overflow is seen and avoided")
def claim23():
    clipped, _, _ = step_up("saturate")
    repaired, _, x = step_up("repair")
    return clipped.node["sat"] > 0 and repaired.node["sat"] == 0 and \
        np.abs(clipped.values - x).max() > 1000 and np.array_equal(repaired.values, x)


@statement(24, "the updated matrix is stored and read again")
def claim24():
    with Program(STATS) as program:
        program.run(values(24))
        run = program.run(0.77 * values(24))
    return np.array_equal(run.y.astype(np.float64), run.values)


@statement(25, "mantissas are in block memory: a byte each")
def claim25():
    with Program(STATS) as program:
        dumps = [line for line in program.text.splitlines()
                 if line.startswith(".dump") and "name=hidden" in line.replace('"', "")]
        return len(dumps) == 1 and "memory=sb" in dumps[0] and "mantissa=8" in dumps[0]


def moved_exponent(program, by):
    """The program with the constant of `hidden` moved."""
    register = program.instructions("act.drain", cellFromXr=1)[0]["dstXr"]
    lines = []
    for line in program.text.splitlines():
        words = line.split()
        if words[:1] == ["xr.set"] and f"xr={register}" in words:
            value = next(int(w[6:]) for w in words if w.startswith("value="))
            line = line.replace(f"value={value}", f"value={value + by}")
        lines.append(line)
    return "\n".join(lines) + "\n"


@statement(26, "the exponent is in a register: another number there is another exponent")
def claim26():
    x = values(26)
    with Program("fixed(e=2,at=store)") as program:
        program.assemble(moved_exponent(program, 1), "moved.ash")
        run = program.run(x, "moved.ash")
    return run.exponents() == [3] and np.array_equal(run.mantissas, np.rint(x / 8))


@statement(27, "mantissas in block memory and exponents elsewhere")
def claim27():
    with Program(STATS) as program:
        program.run(values(27))
        run = program.run(values(27))
        registers = [d["dstXr"] for d in program.instructions("act.drain", cellFromXr=1)]
        kept = program.instructions("dma.copy", srcMem="xr")
    return len(set(registers)) == 1 and bool(kept) and run.state.size == 1 and \
        run.mantissas.size == values(27).size


@statement(28, "leading place of the maximum minus width plus two")
def claim28():
    for width in (4, 8, 12, 16):
        x = values(28, 7)
        with Program("predict(k=3,depth=2,at=store)", width) as program:
            run = program.run(x)
        tops = np.abs(blocks(x)).max(axis=1)
        found = np.moveaxis(run.steps, 1, -1).ravel()
        if any(step != int(np.floor(np.log2(top))) - width + 2
               for step, top in zip(found, tops) if top):
            return False
    return True


@statement(29, "mantissas of 16 bits, exponents within five")
def claim29():
    with Program("stats(k=4,n=0,at=store)", 16) as program:
        for power in (-12, -4, 0, 4):
            x = values(29) * 2.0 ** power
            wanted = expected(program.run(x).values, 4, 16)
            run = program.run(x)
            if run.exponents() != [wanted] or not -31 <= wanted <= 0 or \
                    not np.array_equal(run.values, x):
                return False
    return True


@statement(30, "mantissas are shifted on overflow, which takes the time of a second pass")
def claim30():
    run, steady, x = step_up("repair")
    given = int(steady.exponents()[0])
    tops = np.abs(blocks(x)).max(axis=1)
    own = np.where(tops > 0, np.floor(np.log2(np.maximum(tops, 1))).astype(int) - 6, -999)
    beyond = own > given
    steps = np.moveaxis(run.steps, 1, -1).ravel()
    shifted = np.rint(blocks(x) / 2.0 ** np.maximum(own, given)[:, None])
    return run.node["repaired"] == int(beyond.sum()) > 0 and steady.node["repaired"] == 0 and \
        bool((steps[beyond] == own[beyond]).all()) and \
        np.array_equal(blocks(run.mantissas)[beyond], shifted[beyond]) and \
        run.node["repair_cycles"] > 0 and \
        run.node["busy"]["act"] == steady.node["busy"]["act"] + run.node["repair_cycles"] and \
        run.cycles > steady.cycles


@statement(31, "overflow and underflow clear the rolling values")
def claim31():
    # Values that vanish leave nothing but the empty history.
    for factor, filled in ((32, 1), (1 / 4096, 0)):
        with Program("predict(k=3,depth=4,at=store)") as program:
            for _ in range(3):
                run = program.run(values(31))
            if run.state[1] != 3:
                return False
            if program.run(factor * values(31)).state[1] != filled:
                return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    failed = 0
    for number, (text, holds) in sorted(STATEMENTS.items()):
        if options.only in (None, number):
            result = holds()
            failed += not result
            print(f"claim {number:02}: {text}: {'yes' if result else 'NO'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
