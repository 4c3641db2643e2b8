# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a page in headless Chromium and prints its sections and script errors.

usage: browse.py FILE.html [SCREENSHOT.png]
"""

import html
import json
import os
import re
import subprocess
import sys
import tempfile


def browse(path, *options):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             f"--user-data-dir={profile}", "--window-size=1300,3000", "--virtual-time-budget=5000",
             *options, "file://" + os.path.abspath(path)],
            text=True, capture_output=True, timeout=120, check=False)
    return done.stdout, done.stderr


def stalls_add_up(dom):
    """Whether the page's stalls of each engine are those of its report."""
    data = json.loads(html.unescape(re.search(r'id="data">(.*?)</script>', dom, re.S).group(1)))
    line, found = data["timeline"], {}
    numbers = iter(line["stalls"])
    for engine, _, _, cause, _, cycles in zip(*[numbers] * 6, strict=True):
        key = line["engines"][engine], line["causes"][cause]
        found[key] = found.get(key, 0) + cycles
    # After its last instruction a queue is drained, which is no stall of an instruction.
    return found == {(engine, cause): cycles for engine, entry in data["report"]["engines"].items()
                     for cause, cycles in entry["stall"].items() if cause != "drained"}


def main():
    dom, log = browse(sys.argv[1], "--dump-dom")
    print("sections:", *re.findall(r'<section id="([a-z]+)"', dom))
    print("columns:", *re.findall(r"<th [^>]*>([^<]*?)(?: [\u25b4\u25be])?</th>", dom))
    print("stalled cycles are those of the report:", stalls_add_up(dom))
    errors = [line for line in log.splitlines() if ":CONSOLE" in line]
    print(*errors, sep="\n", file=sys.stderr)
    print("errors:", len(errors))
    if len(sys.argv) > 2:
        browse(sys.argv[1], f"--screenshot={os.path.abspath(sys.argv[2])}")


main()
