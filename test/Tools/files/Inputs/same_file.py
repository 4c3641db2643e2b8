#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pair of options that name files, on one file; files to standard output;
names as long as they may be.

usage: same_file.py MODEL FOLDER
"""

import itertools
import os
import subprocess
import sys

import numpy as np

MODEL, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(FOLDER)

# What names a file that is read (True) or written, by tool; None is the input.
OPTIONS = {
    "ashlarc": {None: True, "-o ": False, "--report=": False,
                "--dump-formats=": False, "--formats=": True,
                "--calibrate=": True, "--inputs=": True, "--machine=": True,
                "--constant=image=": True},
    "ashlar-run": {None: True, "--outputs=": False, "--report=": False,
                   "--trace=": False, "--state-out=": False,
                   "--state-in=": True, "--inputs=": True, "--expect=": True,
                   "--input=image=": True},
    "ashlar-as": {None: True, "-o ": False},
    "ashlar-dis": {None: True, "-o ": False},
    "ashlar-opt": {None: True, "-o ": False},
    "ashlar-translate": {None: True, "-o ": False},
    "ashlar-reference": {None: True, "--outputs=": False, "--inputs=": True,
                         "--constant=image=": True},
    "ashlar-tiles": {None: True, "--picture=": False, "--report=": True},
    "ashlar-prune": {None: True, "-o ": False},
    "ashlar-reduce": {None: True, "-o ": False},
}
MORE = {"ashlar-translate": ["--import-onnx"],
        "ashlar-prune": ["--density=0.5"],
        "ashlar-reduce": ["--test=false {model}"]}


def run(*command):
    return subprocess.run(command, capture_output=True)


def arguments(option, path):
    if option is None:
        return [path]
    return [option[:-1], path] if option.endswith(" ") else [option + path]


def spellings():
    """A file's name, and others for it."""
    with open("file", "wb") as stream:
        stream.write(open(MODEL, "rb").read())
    os.symlink("file", "soft")
    os.link("file", "hard")
    np.save("array.npy", np.zeros((1, 1, 28, 28), np.float32))
    return ["file", "./file", os.path.abspath("file"), "soft", "hard"]


def pairs(tool, names):
    options = OPTIONS[tool]
    refused = 0
    for k, (a, b) in enumerate(itertools.combinations(options, 2)):
        if options[a] and options[b]:
            continue
        one, two = names[0], names[k % len(names)]
        if any(option and "=image=" in option for option in (a, b)):
            one = two = "array.npy"  # ashlarc reads it with its options
        command = [tool, *arguments(a, one), *arguments(b, two),
                   *MORE.get(tool, [])]
        if a is not None and None in options:
            command.append("other")
        before = open("file", "rb").read()
        done = run(*command)
        if done.returncode != 2 or b"the same file" not in done.stderr:
            print(f"FAIL {command}: {done.returncode} {done.stderr}")
        elif open("file", "rb").read() != before:
            print(f"FAIL {command} changed the file")
        else:
            refused += 1
    print(f"{tool}: {refused} pairs refused")


def writers():
    """Commands that write one file, without the file."""
    run("ashlarc", MODEL, "-o", "p.ash", "--machine=a1-tiny")
    run("ashlar-dis", "p.ash", "-o", "p.asm")
    run("ashlarc", MODEL, "--compile-to=plan", "-o", "plan.mlir")
    run("ashlar-run", "p.ash", "--random-inputs=1", "--dump-tensors=dump")
    program = ["ashlar-run", "p.ash", "--random-inputs=1", "--functional"]
    return [["ashlarc", MODEL, "-o"], ["ashlarc", MODEL, "--compile-to=plan",
                                       "-o"],
            ["ashlarc", MODEL, "-o", "x.ash", "--dump-formats"],
            [*program, "--outputs"], ["ashlar-as", "p.asm", "-o"],
            ["ashlar-dis", "p.ash", "-o"], ["ashlar-opt", "plan.mlir", "-o"],
            ["ashlar-translate", "--import-onnx", MODEL, "-o"],
            ["ashlar-reference", MODEL, "--outputs"],
            ["ashlar-tiles", "dump", "--picture"],
            ["ashlar-prune", MODEL, "--density=0.5", "-o"]]


def standard_output(commands):
    """What goes to "-" is the file and nothing but the file."""
    whole = 0
    for command in commands:
        done = run(*command, "out")
        piped = run(*command, "-")
        with open("out", "rb") as stream:
            same = piped.stdout == stream.read()
        if done.returncode or piped.returncode or not same:
            print(f"FAIL {command} -: {piped.returncode} {piped.stderr[:200]}")
        elif done.stdout and not piped.stderr:
            print(f"FAIL {command} -: says nothing")
        else:
            whole += 1
    print(f"standard output: {whole} files whole")


def long_names(commands):
    good = 0
    for k, command in enumerate(commands):
        name = str(k).rjust(255, "n")
        for _ in range(2):  # a new file, and in place of one
            done = run(*command, name)
        if done.returncode or not os.path.exists(name):
            print(f"FAIL {command}: {done.stderr}")
        else:
            good += 1
    print(f"names of 255 bytes: {good} files")


file_names = spellings()
for tool_name in OPTIONS:
    pairs(tool_name, file_names)
lines = writers()
standard_output(lines)
long_names(lines)
