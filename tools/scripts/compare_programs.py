#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two compilers write the same programs: a change of structure must not change a byte.

usage: compare_programs.py [--machines=A,B] [--record=FILE] [--against=FILE] ASHLARC MODEL.onnx... [-- OPTION...]

Compiles every model for every machine. With --record the checksums, the processor
times and what was refused are written; with --against they are compared with
such a file: exit code 1 if a program differs.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile

MACHINES = "a1,a1-ideal,a1-edge,a1-tiny"


def compiled(ashlarc, model, machine, more):
    """Checksum of the program, or the message of a refusal; and processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "out.ash")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([ashlarc, model, f"--machine={machine}", "-o", program, *more],
                              capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode:
            return f"exit {done.returncode}: {done.stderr.strip()}", seconds
        with open(program, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ashlarc")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--machines", default=MACHINES)
    parser.add_argument("--record")
    parser.add_argument("--against")
    arguments, more = sys.argv[1:], []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, more = arguments[:cut], arguments[cut + 1:]
    options = parser.parse_args(arguments)
    known = {}
    if options.against:
        with open(options.against, encoding="utf-8") as file:
            known = json.load(file)
    found, differing = {}, 0
    for model in options.models:
        for machine in options.machines.split(","):
            key = " ".join([os.path.basename(model), machine, *more])
            result, seconds = compiled(options.ashlarc, model, machine, more)
            found[key] = {"program": result, "seconds": round(seconds, 2)}
            before = known.get(key)
            verdict = "new" if before is None else "same" if before["program"] == result else "DIFFERS"
            differing += verdict == "DIFFERS"
            was = f" {before['seconds']:8.2f} s before" if before else ""
            print(f"{key:60} {verdict:8} {seconds:8.2f} s{was}", flush=True)
            if options.record:
                with open(options.record, "w", encoding="utf-8") as file:
                    json.dump(found, file, indent=1)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
