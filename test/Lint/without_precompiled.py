#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation database without precompiled headers.

usage: without_precompiled.py BUILD OUT

Writes OUT/compile_commands.json: that of the folder BUILD, each source compiled
with what it includes itself. A source that leans on a header of cmake/Precompile.cmake
without including it is an error there.
"""

import json
import os
import re
import sys

HEADER = r"\S*/cmake_pch\.hxx"
USES = re.compile(rf" -Winvalid-pch(?= )| -Xclang -include-pch -Xclang {HEADER}\.pch"
                  rf" -Xclang -include -Xclang {HEADER}(?= )| -include {HEADER}(?= )")


def main(build, out):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        entries = json.load(stream)
    entries = [e | {"command": USES.sub("", e["command"])} for e in entries
               if "/cmake_pch." not in e["file"]]
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
