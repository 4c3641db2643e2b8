# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the project's tools within limits, and compares what they say."""

import hashlib
import os
import re
import resource
import subprocess

import common

LIMIT = 20  # seconds of processor time for one tool
LONGEST = 300  # seconds in all: the host may be busy
MEMORY = 8 << 30


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, folder):
    """(exit code, what it said); the codes of signals are negative."""
    try:
        done = subprocess.run([common.tool(command[0]), *command[1:]], text=True, cwd=folder,
                              errors="replace", capture_output=True, timeout=LONGEST,
                              preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return -9, f"no end after {LONGEST} s"
    if done.returncode < 0 and not done.stderr:
        return done.returncode, f"signal {-done.returncode}"
    return done.returncode, done.stderr.strip()


def digest(folder):
    """Of all files of a plan: its constants may follow from the machine."""
    found = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found.update(name.encode() + hashlib.sha256(file.read()).digest())
    return found.hexdigest()


def general(text):
    """A message without its names and numbers."""
    text = re.sub(r"^\S+: error: ", "", text.splitlines()[0] if text else "")
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\S*[/_]\S*|\[[^\]]*\]", "*", text)
    return re.sub(r"[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", "N", text)[:120]
