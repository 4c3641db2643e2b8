#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the shell examples of the documentation.

usage: docs.py ROOT BUILD SCRATCH

Blocks fenced as ```sh of README.md and docs/*.md run as written, one shell
per document, in a folder where `build` and the folders of the checkout are
links: what an example writes stays in SCRATCH. Blocks fenced as ```mlir of
the dialects' READMEs must parse in ashlar-opt if they hold a function. Blocks
fenced as ```console are set-up or output and do not run.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
MODULE = re.compile(r"^```mlir\n(.*?)^```", re.M | re.S)
LINKED = ("tools", "test", "docs", "dialects", "include", "lib")


def scripts(root):
    """(document, its shell blocks joined)"""
    documents = [os.path.join(root, "README.md"),
                 *sorted(glob.glob(os.path.join(root, "docs", "*.md")))]
    for path in documents:
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as stream:
            found = BLOCK.findall(stream.read())
        if found:
            yield os.path.relpath(path, root), "".join(found)


def prepare(root, build, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    for name in LINKED:
        os.symlink(os.path.join(root, name), os.path.join(scratch, name))
    os.symlink(build, os.path.join(scratch, "build"))


def modules(root):
    """(document, module) of the dialects' pages that hold whole functions"""
    for path in sorted(glob.glob(os.path.join(root, "dialects", "*", "*.md"))):
        with open(path, encoding="utf-8") as stream:
            for text in MODULE.findall(stream.read()):
                if "func.func" in text:
                    yield os.path.relpath(path, root), text


def check_modules(root, build):
    failed = 0
    for document, text in modules(root):
        done = subprocess.run([os.path.join(build, "bin", "ashlar-opt")],
                              input=text, text=True, capture_output=True)
        print(f"{document}: module {'FAIL' if done.returncode else 'ok'}")
        if done.returncode:
            failed += 1
            print(done.stderr)
    return failed


def main(root, build, scratch):
    root, build = os.path.abspath(root), os.path.abspath(build)
    failed = check_modules(root, build)
    for document, script in scripts(root):
        prepare(root, build, scratch)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script],
                              cwd=scratch, text=True, capture_output=True)
        verdict = "ok" if done.returncode == 0 else "FAIL"
        print(f"{document}: {script.count(chr(10))} lines {verdict}")
        if done.returncode:
            failed += 1
            print(done.stdout + done.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
