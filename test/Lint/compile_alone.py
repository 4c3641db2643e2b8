#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation database in which each source stands alone.

usage: compile_alone.py BUILD OUT

Writes OUT/compile_commands.json: that of the folder BUILD, each source compiled
with what it includes itself: without precompiled headers, and not in the group of
a unity build. A source that leans on a header of cmake/Precompile.cmake or of its
group without including it is an error there.
"""

import json
import os
import re
import sys

HEADER = r"\S*/cmake_pch\.hxx"
USES = re.compile(rf" -Winvalid-pch(?= )| -Xclang -include-pch -Xclang {HEADER}\.pch"
                  rf" -Xclang -include -Xclang {HEADER}(?= )| -include {HEADER}(?= )")


GROUP = re.compile(r"/Unity/unity_\d+_cxx\.cxx$")
MEMBER = re.compile(r'^#include "(.*)"$', re.M)


def ungrouped(entry):
    """An entry for each source of a group; any other entry as it is."""
    group = entry["file"]
    if not GROUP.search(group):
        return [entry]
    with open(group, encoding="utf-8") as stream:
        members = MEMBER.findall(stream.read())
    return [entry | {"file": member, "command": entry["command"].replace(group, member)}
            for member in members]


def main(build, out):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        entries = json.load(stream)
    entries = [e | {"command": USES.sub("", e["command"])}
               for entry in entries if "/cmake_pch." not in entry["file"]
               for e in ungrouped(entry)]
    left = [e["file"] for e in entries if "cmake_pch" in e["command"]]
    if left:
        print(f"{left[0]}: flags of a precompiled header that are not known here")
        return 1
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "compile_commands.json"), "w", encoding="utf-8") as stream:
        json.dump(entries, stream, indent=1)
    print(f"{len(entries)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
