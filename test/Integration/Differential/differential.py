#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks on random machines against ONNX Runtime and against each other.

usage: differential.py [--count=300] [--seed=1] [--case=K] [--only=GRAMMAR]
                       [--jobs=N] [--keep=DIR [--shrink]] [--seconds=N] [--no-plan]
                       [--verbose]
       differential.py --again=DIR [--model=FILE.onnx --inputs=FILE.npz]

Each case draws a network (differential/grammar.py: views before products and
convolutions, reshapes that re-factor, attention, norms, windows, integer parts), the
options that decide its numbers, and three ways to compile and run it: machines,
options that must not change a bit, threads. It fails if

- an output differs from that of ONNX Runtime by more than the formats excuse
  (differential/judge.py),
- two ways with the same numeric plan give other bits, or other bits than the plan has
  in numpy,
- other threads compile to other bytes, or --verify finds a layer beyond its bound,
- a tool ends otherwise than with exit code 0, 2, 3, 5 or 6, ashlar-run otherwise than
  with 0, or neither ends within 20 s of processor time,
- more than one in a hundred networks is refused by a1 for want of capacity.

Refusals are counted by reason, --verbose shows them in full. --only=views-matmul,
reshapes, starving-convs, wide-convs, heads draws from one grammar; --case=K repeats one
case; --keep=DIR stores the files of failures, with their command lines, and with --shrink the
smallest model that ashlar-reduce finds; --again=DIR judges such a folder again, or
another model in its place. A case depends on seed, grammar and its number alone;
^C ends a run with the summary of what was compared.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing.util
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: F401 (finds tools/scripts)
import ort  # noqa: E402
from differential import case as cases  # noqa: E402
from differential import grammar  # noqa: E402

RUNNER = None


def start(only, with_plan):
    global RUNNER
    RUNNER = cases.Runner(only, with_plan)
    multiprocessing.util.Finalize(None, RUNNER.close, exitpriority=1)


def run(seed, case, keep, shrink):
    result = RUNNER.run(seed, case)
    if result.findings and keep:
        folder = os.path.join(keep, f"{RUNNER.only or 'all'}-{seed}-{case}")
        RUNNER.keep(folder, result)
        if shrink:
            reduce(folder)
    return result


def reduce(folder):
    """small.onnx next to a kept model: the least that ashlar-reduce finds to fail alike."""
    test = (f"{sys.executable} {os.path.abspath(__file__)} --again={folder} "
            "--model={model} --inputs={inputs} >&2")
    common.run_tool("ashlar-reduce", os.path.join(folder, "model.onnx"), "-o",
                    os.path.join(folder, "small.onnx"), f"--test={test}", "--exit=9",
                    "--timeout=300", "--max-trials=200", check=False)


def again(options):
    """Exit code 9 if what is wrong with a kept case is wrong again."""
    start(None, not options.no_plan)
    result, same = RUNNER.again(options.again, options.model, options.inputs)
    for finding in result.findings:
        print(f"FAIL {finding.kind}: {finding.text}\n  {finding.command}")
    return 9 if same else 1 if result.findings else 0


class Summary:
    """What is printed at the end."""

    def __init__(self):
        self.cases = self.judged = self.bits = self.failed = 0
        self.compiled, self.refusals = collections.Counter(), collections.Counter()
        self.unjudged, self.kinds = collections.Counter(), collections.Counter()

    def add(self, result):
        self.cases += 1
        self.judged += result.judged
        self.bits += result.bits
        self.failed += bool(result.findings)
        self.compiled += result.compiled
        self.refusals.update(result.refusals)
        self.unjudged.update(result.unjudged)
        self.kinds.update({f.key for f in result.findings})

    def capacity(self):
        """Networks that do not fit a1."""
        return sum(n for (machine, code, _), n in self.refusals.items()
                   if machine == "a1" and code == 5)

    def failure(self):
        too_small = self.compiled["a1"] >= 100 and self.capacity() > 0.01 * self.compiled["a1"]
        return bool(self.failed) or too_small or not self.judged

    def show(self, seconds):
        for (machine, code, reason), count in sorted(self.refusals.items(), key=lambda i: -i[1]):
            print(f"refused {count:4} {machine:12} exit {code}  {reason}")
        for reason, count in self.unjudged.most_common():
            print(f"unjudged {count:3}  {reason}")
        for key, count in self.kinds.most_common():
            print(f"finding {count:4}  {key}")
        print(f"{self.cases} cases in {seconds:.0f} s: {sum(self.compiled.values())} compiled, "
              f"{sum(self.refusals.values())} refused, capacity on a1 {self.capacity()} of "
              f"{self.compiled['a1']}; {self.judged} outputs compared with the reference, "
              f"{self.bits} pairs bit for bit; {self.failed} cases fail")


def results(options, numbers):
    """Results in the order of the cases."""
    arguments = (options.only, not options.no_plan)
    if options.jobs == 1:
        start(*arguments)
        for number in numbers:
            yield run(options.seed, number, options.keep, options.shrink)
        return
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=start,
                                                initargs=arguments) as pool:
        pending = collections.deque()
        for number in numbers:
            pending.append(pool.submit(run, options.seed, number, options.keep, options.shrink))
            if len(pending) > 4 * options.jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--only", choices=sorted(grammar.GRAMMARS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--again")
    parser.add_argument("--model")
    parser.add_argument("--inputs")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--no-plan", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.again:
        return again(options)
    numbers = range(options.first, options.first + options.count)
    if options.case is not None:
        numbers = [options.case]
    print("reference: " + (cases.judge.OnnxRuntime if ort.available()
                           else cases.judge.AshlarReference).name)
    begin, summary = time.monotonic(), Summary()
    try:
        for result in results(options, numbers):
            summary.add(result)
            for finding in {f.key: f for f in reversed(result.findings)}.values():
                print(f"FAIL seed {options.seed} case {result.case}: {finding.kind}: {finding.text}\n"
                      f"  {finding.command}", flush=True)
            for text in result.told if options.verbose else []:
                print(f"refused case {result.case}: {text}", flush=True)
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
    except KeyboardInterrupt:
        pass  # What was compared so far counts.
    summary.show(time.monotonic() - begin)
    return int(summary.failure())


if __name__ == "__main__":
    sys.exit(main())
