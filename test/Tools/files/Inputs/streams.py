#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools with much output whose standard output is closed, or full.

usage: streams.py MODEL SOURCES
"""

import os
import subprocess
import sys
import tempfile

MODEL, SOURCES = sys.argv[1:]


def commands(work):
    program = os.path.join(work, "p.ash")
    plan = os.path.join(work, "plan.mlir")
    subprocess.run(["ashlarc", MODEL, "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ashlarc", MODEL, "--compile-to=plan", "-o", plan],
                   check=True)
    for tool in ("ashlarc", "ashlar-run", "ashlar-as", "ashlar-dis",
                 "ashlar-opt", "ashlar-translate", "ashlar-reference",
                 "ashlar-tiles", "ashlar-prune", "ashlar-reduce",
                 "ashlar-tblgen"):
        yield [tool, "--help"]
        yield [tool, "--version"]
    yield ["ashlar-opt", "--help-hidden"]
    yield ["ashlar-opt", "--show-dialects"]
    yield ["ashlar-opt", plan]
    yield ["ashlar-opt", plan, "-o", "-"]
    yield ["ashlar-translate", "--supported-ops"]
    yield ["ashlar-translate", "--import-onnx", MODEL]
    yield ["ashlar-dis", program]
    yield ["ashlarc", MODEL, "-o", "-"]
    yield ["ashlarc", MODEL, "--explain"]
    yield ["ashlarc", MODEL, "--check"]
    yield ["ashlarc", MODEL, "--compile-to=emit"]
    yield ["ashlar-run", program, "--random-inputs=1"]
    yield ["ashlar-tblgen", "--gen-docs", "-I", SOURCES, "-I",
           os.path.join(SOURCES, "dialects", "ISA"),
           *[flag for folder in include_folders() for flag in ("-I", folder)],
           os.path.join(SOURCES, "dialects", "ISA", "ISAOps.td")]


def include_folders():
    for path in os.environ["PATH"].split(os.pathsep):
        folder = os.path.join(os.path.dirname(path), "include")
        if os.path.isdir(os.path.join(folder, "mlir")):
            yield folder


def closed(command):
    """The exit code and the messages when nothing reads."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    return done.returncode, done.stderr


def full(command):
    with open("/dev/full", "wb") as device:
        done = subprocess.run(command, stdout=device, stderr=subprocess.PIPE)
    return done.returncode, done.stderr


count = 0
with tempfile.TemporaryDirectory() as work:
    for command in commands(work):
        count += 1
        code, text = closed(command)
        if code or b"error" in text:
            print("FAIL closed", command, code, text[:300])
        code, text = full(command)
        if code != 5 or b"No space left" not in text:
            print("FAIL full", command, code, text[:300])
print(count, "commands")
