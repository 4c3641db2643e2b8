#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends tools by SIGINT, SIGTERM and SIGKILL at random moments of writing: each
destination is whole or what it was before, and nothing lies next to it.

usage: signals.py [--count=N] [--seed=S] [--models=DIR]

A run without a signal says when the writing is: moments are drawn from its
last part, half of them from the system calls that write (seen by polling).
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEMO = os.path.join(os.path.dirname(__file__), "..", "..", "..", "tools",
                    "demo-network", "glyphs.onnx")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def contents(folder):
    """Every file below a folder with its bytes; folders end with a slash."""
    found = {}
    for place, folders, files in os.walk(folder):
        name = os.path.relpath(place, folder)
        for entry in folders:
            found[os.path.normpath(os.path.join(name, entry)) + "/"] = None
        for entry in files:
            with open(os.path.join(place, entry), "rb") as stream:
                found[os.path.normpath(os.path.join(name, entry))] = \
                    stream.read()
    return found


class Case:
    """A command with what its folder holds before and after it."""

    def __init__(self, name, command, before):
        self.name, self.command, self.before = name, command, before
        self.folder = tempfile.mkdtemp()

    def reset(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, data in self.before.items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(data)
        os.makedirs(self.folder, exist_ok=True)

    def start(self):
        return subprocess.Popen(self.command, cwd=self.folder,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL,
                                # In the background of a shell ^C is ignored.
                                preexec_fn=lambda: signal.signal(
                                    signal.SIGINT, signal.SIG_DFL))

    def learn(self):
        """What the folder holds at the start and at the end, and the time."""
        self.reset()
        self.old = contents(self.folder)
        begin = time.monotonic()
        code = self.start().wait()
        self.seconds = time.monotonic() - begin
        if code != 0:
            sys.exit(f"{self.name}: exit code {code} without a signal")
        self.new = contents(self.folder)

    def writes(self, process):
        """Whether the process has a nameless file open: it is writing."""
        try:
            links = os.scandir(f"/proc/{process.pid}/fd")
            return any(os.readlink(link.path).endswith("(deleted)")
                       for link in links)
        except OSError:
            return False

    def end_by(self, number, draw):
        """Sends a signal at a random moment; the problem, if there is one."""
        self.reset()
        process = self.start()
        if draw.random() < 0.5:
            time.sleep(draw.uniform(0.5, 1.02) * self.seconds)
        else:
            while process.poll() is None and not self.writes(process):
                pass
            end = time.monotonic() + draw.expovariate(1 / 2e-3)
            while time.monotonic() < end:
                pass
        process.send_signal(number)
        code = process.wait()
        if code not in (0, -number):
            return f"ended with {code}"
        found = contents(self.folder)
        # What is not a file of ours may need a moment to become one: the names
        # are given by a process that the signal does not reach.
        limit = time.monotonic() + 2
        while found not in (self.old, self.new) and time.monotonic() < limit:
            time.sleep(1e-3)
            found = contents(self.folder)
        self.whole += found == self.new
        self.kept += found == self.old
        if found in (self.old, self.new):
            return None
        beside = sorted(set(found) - set(self.old) - set(self.new))
        return f"beside: {beside}, else {len(found)} of {len(self.new)} files"

    def run(self, count, draw):
        self.learn()
        self.whole = self.kept = 0
        failures = 0
        for i in range(count):
            number = SIGNALS[i % len(SIGNALS)]
            problem = self.end_by(number, draw)
            if problem:
                failures += 1
                print(f"FAIL {self.name}: {number.name}: {problem}")
        print(f"{self.name}: {count} signals, {self.kept} before, {self.whole} "
              f"after, {failures} between", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        return failures


def cases(work, model):
    """Files and folders, new ones and ones that are replaced."""
    model = os.path.abspath(model)
    program = os.path.join(work, "p.ash")
    text = os.path.join(work, "p.asm")
    subprocess.run(["ashlarc", model, "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ashlar-dis", program, "-o", text], check=True)
    run = ["ashlar-run", program, "--random-inputs=1", "--quiet",
           "--functional"]
    big = bytes(1 << 20)
    return [
        Case("program", ["ashlarc", model, "-o", "o.ash"], {}),
        Case("program again", ["ashlarc", model, "-o", "o.ash"],
             {"o.ash": big}),
        Case("assembled again", ["ashlar-as", text, "-o", "o.ash"],
             {"o.ash": big}),
        Case("plan", ["ashlarc", model, "--dump-plan=a/b/plan"], {}),
        Case("tensors", [*run, "--dump-tensors=dump"], {}),
        Case("tensors again", [*run, "--dump-tensors=dump"],
             {"dump/index.json": b"old", "dump/other": b"mine"}),
        Case("outputs again", [*run, "--outputs=o.npz", ], {"o.npz": big}),
        Case("pruned again", ["ashlar-prune", model, "--density=0.5", "-o",
                              "o.onnx"], {"o.onnx": big}),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default=DEMO)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    work = tempfile.mkdtemp()
    found = [case for case in cases(work, arguments.model)
             if arguments.only in case.name]
    share = -(-arguments.count // len(found))
    failures = sum(case.run(share, draw) for case in found)
    shutil.rmtree(work, ignore_errors=True)
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
