# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's own passes keep what a module means, between any two phases.

usage: meaning.py MODEL SCRATCH

After every phase, `--canonicalize`, `--cse` and both run on the module; what is
compiled from the result gives the outputs of what is compiled from the module itself.
After the last phase nothing may be merged: equal instructions are different ones.
"""

import os
import shutil
import subprocess
import sys

PHASES = ("import", "simplify", "fold", "quantise", "assign", "plan", "tile", "emit")
PASSES = (["--canonicalize"], ["--cse"], ["--canonicalize", "--cse"])


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def outputs(module, phase):
    """Output arrays of a module, as bytes."""
    program, arrays = module + ".ash", module + ".npz"
    run("ashlarc", module, f"--compile-from={phase}", "-o", program)
    run("ashlar-run", program, "--random-inputs=1", f"--outputs={arrays}", "--quiet")
    with open(arrays, "rb") as stream:
        return stream.read()


def operations(module):
    with open(module, encoding="utf-8") as stream:
        return sum(line.startswith("    ") for line in stream)


def main(model, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    expected, failed = None, 0
    for phase in PHASES:
        module = os.path.join(scratch, f"{phase}.mlir")
        run("ashlarc", model, f"--compile-to={phase}", "-o", module)
        expected = expected or outputs(module, phase)
        for passes in PASSES:
            changed = os.path.join(scratch, "changed.mlir")
            run("ashlar-opt", *passes, module, "-o", changed)
            before, after = operations(module), operations(changed)
            same = outputs(changed, phase) == expected and (phase != "emit" or before == after)
            failed += not same
            print(f"{phase} {' '.join(passes)}: {before} -> {after} operations, "
                  f"{'same outputs' if same else 'DIFFERENT'}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
