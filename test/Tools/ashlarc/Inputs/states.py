#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes state files that no run of a program has left.

usage: states.py STATE.npz FOLDER
       states.py --any STATE.npz FOLDER RUNNER PROGRAM INPUTS.npz
       states.py --exit-codes FOLDER RUNNER PROGRAM OTHER STATELESS INPUTS.npz

The first form writes files of the wrong size or shape, of which the third compares
the exit codes; the second runs the program with states of any numbers.
"""

import os
import subprocess
import sys

import numpy as np


def spoil(state, folder):
    with np.load(state) as arrays:
        words, plan = arrays["state"], arrays["plan"]
    with open(state, "rb") as stream:
        data = stream.read()
    os.chdir(folder)
    np.savez("short.npz", state=words[:-1], plan=plan)
    np.savez("wide.npz", state=words.astype(np.int32), plan=plan)
    np.savez("bare.npz", state=words)
    np.savez("empty.npz")
    np.save("array.npy", words)
    with open("cut.npz", "wb") as stream:
        stream.write(data[:len(data) // 2])


def any_numbers(state, folder, runner, program, inputs):
    with np.load(state) as arrays:
        words, plan = arrays["state"], arrays["plan"]
    source = np.random.default_rng(3)
    for i in range(8):
        numbers = source.integers(-32768, 32768, words.shape)
        if i % 2:
            numbers = source.choice([-32768, -32767, -1, 0, 1, 4, 32767], words.shape)
        path = os.path.join(folder, f"any{i}.npz")
        np.savez(path, state=numbers.astype(np.int16), plan=plan)
        subprocess.run([runner, program, f"--inputs={inputs}", f"--state-in={path}",
                        f"--state-out={path}.out.npz", "--quiet"], check=True)


def exit_codes(folder, runner, program, other, stateless, inputs):
    failed = 0
    for binary, file, expected in (
            (program, "short.npz", 4), (program, "wide.npz", 4), (program, "bare.npz", 4),
            (program, "empty.npz", 4), (program, "array.npy", 4), (program, "cut.npz", 4),
            (program, "absent.npz", 4), (other, "all.npz", 4), (stateless, "all.npz", 2)):
        done = subprocess.run([runner, binary, f"--inputs={inputs}",
                               f"--state-in={os.path.join(folder, file)}"], capture_output=True)
        if done.returncode != expected:
            print(f"{file}: exit code {done.returncode}, expected {expected}")
            failed = 1
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "--any":
        any_numbers(*sys.argv[2:])
    elif sys.argv[1] == "--exit-codes":
        sys.exit(exit_codes(*sys.argv[2:]))
    else:
        spoil(*sys.argv[1:])
