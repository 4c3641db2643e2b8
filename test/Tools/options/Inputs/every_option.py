#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of every tool by its line of --help: what lacks or has too much
is refused by name, and a misspelling is answered with the option.

usage: every_option.py GUIDE TOOL...

The page GUIDE has all options of the tools that it describes: those with a section
of their own, or all if it is not the UserGuide. TOOL:COMMAND is a sub-command.
"""

import re
import subprocess
import sys

FORM = re.compile(r"^  (-[\w-]+)(?:([= ])(\S+))?(?:  |$)", re.M)


def problem(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout, (command, done)
    return done.stderr.strip()


def check(tool, *command):
    ask = (tool, *command)
    text = subprocess.run([*ask, "--help"], capture_output=True, text=True,
                          check=True).stdout
    assert max(map(len, text.splitlines())) <= 80, tool
    options = FORM.findall(text)
    for name, mark, what in options:
        if mark:
            said = problem(*ask, name)
            assert said == f"{tool}: error: option {name} lacks its value {what}", said
        else:
            said = problem(*ask, name + "=3")
            assert said == f"{tool}: error: option {name} takes no value, found '3'", said
    for name in [n for n, _, _ in options if len(n) > 5][:3]:
        said = problem(*ask, name[:-1] + "q" + name[-1])
        assert said.endswith(f", see --help, did you mean '{name}'"), said
    if f"\n## `{tool}`" in GUIDE or not sys.argv[1].endswith("UserGuide.md"):
        for name, _, _ in options:
            assert name in ("--help", "--version") or re.search(
                rf"`{name}[=`, ]", GUIDE), (tool, name, "is not in the guide")
    return len(options)


with open(sys.argv[1], encoding="utf-8") as stream:
    GUIDE = stream.read()
for name in sys.argv[2:]:
    print(name, check(*name.split(":")), "options")
