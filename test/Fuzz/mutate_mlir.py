#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds the compiler mutated modules: every phase and every pass must survive.

usage: mutate_mlir.py [--count=N] [--seed=S] [--jobs=J] [--keep=DIR] [--seconds=T]
                      [--networks=N]

Seeds are the networks of seeds.txt as every phase prints them (ashlarc
--compile-to) and the modules of the tests of this project. A mutant differs
from its seed in one to four places: numbers become 0, -1 or huge, attributes
are deleted, doubled, exchanged or of another kind, types and names of
operations change, lines go or come twice. `ashlarc --compile-from` or
`ashlar-opt` with passes then has to end on its own, with a documented exit code
in less than TIMEOUT seconds of processor time and LIMIT bytes. What does not is printed, and kept
with --keep. The same seed gives the same mutants.
"""

import argparse
import concurrent.futures
import glob
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from seeds import networks as networks_of_seeds

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
MAKE_MODEL = os.path.join(TESTS, "Frontend", "Onnx", "make_model.py")
NETWORKS = os.path.join(HERE, "seeds.txt")
PHASES = ["import", "simplify", "fold", "quantise", "assign", "plan", "tile", "emit"]
TIMEOUT = 20
#: Seconds in all, for what waits: the host may be busy.
LONGEST = 300
LIMIT = 2 << 30
#: Address space of the tools next to the memory that they touch.
FRAME = 1 << 28
NUMBERS = ["0", "-1", "1", "2", "3", "7", "8", "16", "17", "64", "255", "256", "4095",
           "4096", "65536", "1048576", "16777216", "2147483647", "2147483648",
           "4294967295", "4294967296", "1099511627776", "4611686018427387904",
           "9223372036854775807", "-9223372036854775808", "-2", "-4096"]
TYPES = ["f32", "f16", "bf16", "f64", "i1", "i8", "ui8", "i16", "i32", "i64", "i128",
         "index", "none", "complex<f32>", "tuple<>",
         "!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>",
         "!bfp.block<mantissa = 3, block = axis, range = 0, axis = 0>",
         "!bfp.block<mantissa = 16, block = tensor, range = 15, axis = 7>"]
VALUES = ["unit", "true", "0 : i64", "-1 : i64", "3 : i32", "4.5 : f32", '"text"',
          "array<i64>", "array<i64: 1>", "array<i64: 1, 2, 3>", "array<i32: 1, 2>",
          "array<i64: -1, 0, 9223372036854775807>", "[]", "[1, 2]", "{}", "f32",
          "dense<1> : tensor<2xi64>", "0x7FF0000000000000 : f64", "@main"]

NUMBER = re.compile(r"(?<![\w.%#])-?\d+(?![\w.]|\s*\()")
EXTENT = re.compile(r"(?<=[<x])\d+(?=x)")
ENTRY = re.compile(r"[\w.]+ = (?:array<i64[^>]*>|\"[^\"]*\"|\[[^\[\]]*\]|-?[\d.]+(?:e[+-]?\d+)?"
                   r"(?: : \w+)?|true|false)")
SCALAR = re.compile(r"\b(?:f32|f16|bf16|f64|ui8|i8|i16|i32|i64|i1)\b|!bfp\.block<[^>]*>")
OPERATION = re.compile(r"\b(?:nn|bfp|npu|tile|isa)\.[a-z_]+(?:\.[a-z_]+)?(?= |\()|\"[a-z_]+\"(?=\()")
VALUE = re.compile(r"%\w+(?::\d+)?")


def replace(text, span, new):
    return text[:span[0]] + new + text[span[1]:]


def pick(rng, pattern, text):
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def mutate_number(rng, text, pattern=NUMBER):
    found = pick(rng, pattern, text)
    if not found:
        return text
    old = int(found.group())
    new = rng.choice(NUMBERS + [str(old + 1), str(old - 1), str(2 * old), str(-old)])
    return replace(text, found.span(), new)


def mutate_extents(rng, text):
    """One extent of a type wherever it occurs: verifiers see a module that fits."""
    found = pick(rng, EXTENT, text)
    if not found:
        return text
    return text.replace(found.group() + "x", rng.choice(NUMBERS + ["?"]).strip("-") + "x",
                        rng.choice([1, 2, -1]))


def mutate_entry(rng, text):
    found = pick(rng, ENTRY, text)
    if not found:
        return text
    name, _, value = found.group().partition(" = ")
    other = pick(rng, ENTRY, text).group()
    new = rng.choice(["", found.group() + ", " + found.group(), other,
                      name + " = " + rng.choice(VALUES), name + " = " + other.partition(" = ")[2],
                      other.partition(" = ")[0] + " = " + value, name])
    text = replace(text, found.span(), new)
    return text.replace("{, ", "{").replace(", }", "}").replace(", , ", ", ") if not new else text


def mutate_type(rng, text):
    found = pick(rng, SCALAR, text)
    if not found:
        return text
    if rng.random() < 0.4:
        return text.replace(found.group(), rng.choice(TYPES))
    return replace(text, found.span(), rng.choice(TYPES))


def mutate_name(rng, text, pattern=OPERATION):
    found, other = pick(rng, pattern, text), pick(rng, pattern, text)
    return replace(text, found.span(), other.group()) if found else text


def mutate_value(rng, text):
    return mutate_name(rng, text, VALUE)


def mutate_line(rng, text):
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = lines[at][:rng.randrange(len(lines[at]) + 1)]
    return "\n".join(lines)


MUTATIONS = [(mutate_number, 8), (lambda r, t: mutate_number(r, t, EXTENT), 3),
             (mutate_extents, 3), (mutate_entry, 8), (mutate_type, 4), (mutate_name, 3),
             (mutate_value, 3), (mutate_line, 2)]


def mutate(rng, text):
    """One to four changes; the long strings of the module's attributes and what
    comes after the last brace, resources, change seldom."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        head = text.find("func.func")
        head = head if head > 0 and rng.random() < 0.95 else 0
        body, mutation = text[head:], rng.choices(*zip(*MUTATIONS))[0]
        # Constants are the longest lines: they would take most mutations.
        if rng.random() < 0.9:
            lines = body.split("\n")
            short = [i for i, line in enumerate(lines) if len(line) < 2000]
            if not short:
                continue
            if mutation in (mutate_line, mutate_extents, mutate_value) or rng.random() < 0.2:
                body = mutation(rng, body)
            else:
                at = rng.choice(short)
                lines[at] = mutation(rng, lines[at])
                body = "\n".join(lines)
        else:
            body = mutation(rng, body)
        text = text[:head] + body
    return text


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT + 1))
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT + FRAME, LIMIT + FRAME))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def ended(code):
    """An exit code, or a hang if the processor time is used up."""
    return "hang" if code == -signal.SIGXCPU else code


def phase_seeds(folder, machines, networks):
    """(label, command, text) of the first networks after every phase."""
    for number, (part, given) in enumerate(list(networks_of_seeds())[:networks]):
        model = os.path.join(folder, f"{number}.onnx")
        subprocess.run([sys.executable, MAKE_MODEL, NETWORKS, "--part=" + part, "-o", model],
                       check=True)
        options = list(given)
        if not any(option.startswith("--machine") for option in options):
            options.append("--machine=" + machines[number % len(machines)])
        for phase in PHASES:
            path = os.path.join(folder, f"{number}.{phase}.mlir")
            subprocess.run(["ashlarc", model, "--compile-to=" + phase, "-o", path, *options],
                           check=True, capture_output=True)
            with open(path, encoding="utf-8") as stream:
                yield f"{part.split()[0]}.{phase}", ["ashlarc", "--compile-from=" + phase], \
                    stream.read()


def test_seeds():
    """The modules of lit tests, with the passes that their tests run."""
    for path in sorted(glob.glob(os.path.join(TESTS, "**", "*.mlir"), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        passes = re.findall(r"--(?:ashlar-[a-z-]+|pass-pipeline)(?:=(?:'[^']*'|\"[^\"]*\"|\S+))?",
                            "\n".join(line for line in text.split("\n") if "RUN:" in line))
        passes = [word.replace("'", "").replace('"', "") for word in passes if "%" not in word]
        for number, module in enumerate(re.split(r"// -{5,}", text)):
            module = "\n".join(line for line in module.split("\n") if "// RUN" not in line)
            if "func" in module or "isa.program" in module:
                yield f"{os.path.basename(path)}#{number}", ["ashlar-opt", *passes[:3]], module


def all_passes():
    text = subprocess.run(["ashlar-opt", "--help"], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"--ashlar-[a-z-]+", text)))


class Mutant:
    def __init__(self, seeds, passes, seed, number):
        rng = random.Random(f"{seed}/{number}")
        self.number = number
        self.label, command, text = rng.choice(seeds[rng.random() < 0.3])
        self.text = mutate(rng, text)
        self.command = list(command)
        if command[0] == "ashlar-opt" and rng.random() < 0.5 or rng.random() < 0.2:
            self.command = ["ashlar-opt", *rng.choices(passes, k=rng.choice([1, 1, 2, 3]))]

    def run(self, folder):
        """What went wrong, or nothing."""
        path = os.path.join(folder, f"mutant{self.number}.mlir")
        out = os.path.join(folder, f"mutant{self.number}.out")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(self.text)
        command = [*self.command, path, "-o", out]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=LONGEST, preexec_fn=limit)
            code, error = ended(done.returncode), done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            code, error = "hang", ""
        for name in (path, out):
            if os.path.exists(name):
                os.remove(name)
        documented = (0, 2, 3, 4, 5)
        if code in documented:
            return code, ""
        return code, error.strip().split("\n")[-1][:200]


def report(mutant, code, error, keep):
    print(f"mutant {mutant.number} of {mutant.label}: {' '.join(mutant.command)}: "
          f"exit {code} {error}", flush=True)
    if keep:
        os.makedirs(keep, exist_ok=True)
        with open(os.path.join(keep, f"{mutant.number}.mlir"), "w", encoding="utf-8") as stream:
            stream.write(mutant.text)
        with open(os.path.join(keep, f"{mutant.number}.cmd"), "w", encoding="utf-8") as stream:
            stream.write(" ".join(mutant.command) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--keep")
    parser.add_argument("--networks", type=int)
    args = parser.parse_args()
    codes, bad, begin = {}, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        seeds = (list(phase_seeds(folder, ["a1-tiny", "a1"], args.networks)), list(test_seeds()))
        passes = all_passes()

        def one(number):
            if args.seconds and time.monotonic() - begin > args.seconds:
                return None
            mutant = Mutant(seeds, passes, args.seed, number)
            return mutant, *mutant.run(folder)

        for result in pool.map(one, range(args.first, args.first + args.count)):
            if result is None:
                continue
            mutant, code, error = result
            codes[code] = codes.get(code, 0) + 1
            if error or not isinstance(code, int) or code < 0:
                bad += 1
                report(mutant, code, error, args.keep)
    counts = ", ".join(f"{n} exit {code}" for code, n in sorted(codes.items(), key=str))
    print(f"{sum(codes.values())} mutants: {counts}; {bad} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
