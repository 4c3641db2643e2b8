#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a plan with one attribute or parameter after the other omitted.

usage: lost_attributes.py MODEL.onnx FOLDER [OPTION]...

What is omitted: entries `name = value` and `name` in the braces of npu
operations and in the angle brackets of their #npu attributes, but for those
that say what an operation computes as any text would: a fill, an index. The
compiler refuses the rest, or the program has the outputs of the whole plan.
"""

import os
import re
import subprocess
import sys

# Without it the module is that of another operation, not less of this one.
OWN = {"fill"}
OPERATION = re.compile(r"npu\.(pe|tcu|vec|dma)\.\w+")


def run(*command):
    """Exit code and what went wrong; a crash ends the test."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0 or done.returncode == 1 or done.returncode > 6:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.returncode


def outputs(program, path):
    """Bytes of what a program makes of random inputs."""
    if run("ashlar-run", program, "--random-inputs=1", f"--outputs={path}", "--quiet"):
        return None
    with open(path, "rb") as file:
        return file.read()


def entries(text, begin):
    """Ranges of the entries of the list that opens at `begin`, and its end."""
    found, depth, quoted, start, i = [], 0, False, begin + 1, begin + 1
    while True:
        char = text[i]
        if quoted:
            i += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in ",}>])" and depth == 0:
            if text[start:i].strip():
                found.append((start, i))
            start = i + 1
            if char != ",":
                return found, i
        elif char in "<{[(":
            depth += 1
        elif char in ">}])":
            depth -= 1
        i += 1


def cuts(line):
    """Every range that can be omitted, with its name."""
    match = OPERATION.search(line)
    if not match or " {" not in line[match.end():]:
        return
    pending = [line.index(" {", match.end()) + 1]
    while pending:
        found, _ = entries(line, pending.pop())
        for start, end in found:
            entry = line[start:end]
            name = entry.split("=")[0].strip()
            if name.startswith("ashlar.") or name in OWN:
                continue
            yield name, start, end
            if "#npu." in entry:
                pending.append(line.index("<", start))


def without(line, start, end):
    """The line without an entry and one comma."""
    before, after = line[:start], line[end:]
    if after.startswith(","):
        return before + after[1:]
    return (before[:-1] if before.endswith(",") else before) + after


def main():
    model, folder, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    plan = os.path.join(folder, "plan.mlir")
    less = os.path.join(folder, "less.mlir")
    program = os.path.join(folder, "program.ash")
    run("ashlarc", model, "--compile-to=plan", "-o", plan, *options)
    run("ashlarc", plan, "--compile-from=plan", "-o", program)
    wanted = outputs(program, os.path.join(folder, "wanted.npz"))
    with open(plan, encoding="utf-8") as file:
        lines = file.read().split("\n")
    count = refused = changed = 0
    for number, line in enumerate(lines):
        for name, start, end in cuts(line):
            count += 1
            lines[number] = without(line, start, end)
            with open(less, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            lines[number] = line
            if run("ashlarc", less, "--compile-from=plan", "-o", program):
                refused += 1
            elif outputs(program, os.path.join(folder, "found.npz")) != wanted:
                changed += 1
                print(f"CHANGED without {name}: {line.strip()[:120]}")
    print(f"{count} attributes, {refused} refused, {changed} change an output")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
