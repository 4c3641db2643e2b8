#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of every tool stands in its man page and its completions.

usage: pages.py BUILD
"""

import glob
import os
import re
import subprocess
import sys


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as stream:
        return stream.read()


def main(build):
    share = os.path.join(build, "share")
    tools = sorted(os.path.basename(p)[:-2]
                   for p in glob.glob(os.path.join(share, "man", "man1", "*.1")))
    assert "ashlarc" in tools and "ashlar-run" in tools, tools
    for tool in tools:
        text = subprocess.run([os.path.join(build, "bin", tool), "--help"],
                              capture_output=True, text=True, check=True).stdout
        options = re.findall(r"^  (-[\w-]+)", text, re.M)
        man = read(share, "man", "man1", tool + ".1").replace("\\-", "-")
        bash = read(share, "bash-completion", "completions", tool)
        zsh = read(share, "zsh", "vendor-completions", "_" + tool)
        for option in options:
            assert f".B {option}" in man, (tool, option, "man page")
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", bash), (tool, option)
            assert f"'{option}" in zsh, (tool, option, "zsh")
        done = subprocess.run(["bash", "-n"], input=bash, text=True)
        assert done.returncode == 0, tool
        print(tool, len(options), "options")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
