# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a page in headless Chromium and prints its sections and script errors.

usage: browse.py FILE.html [SCREENSHOT.png]
"""

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


def main():
    dom, log = browse(sys.argv[1], "--dump-dom")
    print("sections:", *re.findall(r'<section id="([a-z]+)"', dom))
    errors = [line for line in log.splitlines() if ":CONSOLE" in line]
    print(*errors, sep="\n", file=sys.stderr)
    print("errors:", len(errors))
    if len(sys.argv) > 2:
        browse(sys.argv[1], f"--screenshot={os.path.abspath(sys.argv[2])}")


main()
