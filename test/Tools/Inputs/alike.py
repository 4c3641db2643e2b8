#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks every tool of the project for help, version and an option it lacks."""

import re
import subprocess

TOOLS = ("ashlarc", "ashlar-run", "ashlar-as", "ashlar-dis",
         "ashlar-translate", "ashlar-reference", "ashlar-tiles", "ashlar-prune",
         "ashlar-reduce", "ashlar-eval", "ashlar-sweep")


def ask(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def problems(tool):
    help_text = ask(tool, "--help")
    if help_text[0] or help_text[2] or not help_text[1].startswith(
            f"usage: {tool} "):
        yield f"--help: {help_text}"
    for part in ("\noptions:\n", "  --help ", "  --version ",
                 "\nexit codes: 0 ok, 1 internal, 2 usage, 3 unsupported"):
        if part not in help_text[1]:
            yield f"--help lacks {part!r}"
    if ask(tool, "-h") != help_text:
        yield "-h is not --help"
    version = ask(tool, "--version")
    if version[0] or not re.fullmatch(
            rf"{tool} \(Ashlar\) \d+\.\d+\.\d+\n", version[1]):
        yield f"--version: {version}"
    for arguments in (["--no-such-option"], []):
        code, out, err = ask(tool, *arguments)
        if code != 2 or out or not err.startswith(f"{tool}: error: "):
            yield f"{arguments}: exit code {code}, {err!r}"
    unknown = ask(tool, "--no-such-option")[2]
    if "unknown option '--no-such-option', see --help" not in unknown:
        yield f"unknown option: {unknown!r}"


for name in TOOLS:
    found = list(problems(name))
    print(name, *found or ["alike"])
