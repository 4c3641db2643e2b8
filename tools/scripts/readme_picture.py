#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws docs/report.png: the HTML report of the demo network, as README.md shows it.

usage: readme_picture.py BUILD_FOLDER [OUT.png]

Needs headless Chromium. The picture is for people: fonts differ between hosts, so
no test compares its bytes.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDTH, HEIGHT = 1180, 1080


def main(build, out):
    tool = os.path.join(os.path.abspath(build), "bin")
    with tempfile.TemporaryDirectory() as folder:
        program, page = (os.path.join(folder, name) for name in ("glyphs.ash", "glyphs.html"))
        model = os.path.join(ROOT, "tools", "demo-network", "glyphs.onnx")
        subprocess.run([os.path.join(tool, "ashlarc"), model, "-o", program], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([os.path.join(tool, "ashlar-run"), program, "--random-inputs=1",
                        f"--html={page}", "--quiet"], check=True)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                        "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                        f"--window-size={WIDTH},{HEIGHT}", "--virtual-time-budget=5000",
                        f"--screenshot={os.path.abspath(out)}", f"file://{page}"],
                       check=True, stderr=subprocess.DEVNULL, timeout=120)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "docs/report.png"))
