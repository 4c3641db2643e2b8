#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code block of every page does what it says.

usage: docs.py ROOT BUILD SCRATCH

  ```sh           runs as written: one shell per page, in a folder where `build` and the
                  folders of the checkout are links, so what it writes stays in SCRATCH
  ```LANGUAGE FILE  is a file (yaml, json, csv, python, ...) that a later sh block of the page uses
  ```python       runs, if the build has the Python extension; the blocks of docs/Api.md, and
                  those in C, C++ and CMake, are checked by test/Api
  ```mlir         must parse in ashlar-opt if it holds a function
  ```text         a listing that no tool reads
  ```console      output, and commands after `$` that take too long or reach too far to run:
                  their programs, options and presets must exist

A block of another language, or of none, is an error: nothing would notice if it broke.
"""

import glob
import os
import shutil
import subprocess
import sys

import blocks
import commands

LINKED = ("tools", "test", "docs", "dialects", "include", "lib")
# Built and run from an installed prefix (test/Api/docs.test).
EXAMPLES = {"c", "cpp", "cmake"}
API = os.path.join("docs", "Api.md")
# Needs a simulation of hardware that not every build has.
OPTIONAL = ("build/rtl/",)
GENERATED = {os.path.join("docs", name) for name in ("Isa.md", "OpSupport.md", "Passes.md")}


def prepare(root, build, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    for name in LINKED:
        os.symlink(os.path.join(root, name), os.path.join(scratch, name))
    os.symlink(build, os.path.join(scratch, "build"))


def has_extension(build):
    return bool(glob.glob(os.path.join(build, "python", "ashlar", "_ashlar*.so")))


def unknown(page, found):
    """Blocks that nothing checks, files that nothing uses."""
    shell = "".join(block.text for block in found if block.language == "sh")
    for block in found:
        where = f"{page}:{block.line}"
        if block.file:
            if block.file not in shell:
                yield f"{where}: no sh block of the page uses {block.file}"
        elif block.language in EXAMPLES and page == API:
            continue
        elif block.language not in ("sh", "python", "mlir", "text", "console"):
            yield f"{where}: nothing checks a block of '{block.language}'"


def script(build, scratch, page, found):
    """The page as one shell script; writes the files of its blocks."""
    parts = []
    for number, block in enumerate(found):
        if block.language == "sh":
            lines = block.text.splitlines(keepends=True)
            parts += [line for line in lines if not line.startswith(OPTIONAL)]
        elif block.file:
            kept = f".block-{number}"
            with open(os.path.join(scratch, kept), "w", encoding="utf-8") as stream:
                stream.write(block.text)
            parts.append(f"cp {kept} {block.file}\n")
        elif block.language == "python" and page != API and has_extension(build):
            kept = f".block-{number}.py"
            with open(os.path.join(scratch, kept), "w", encoding="utf-8") as stream:
                stream.write(block.text)
            parts.append(f"PYTHONPATH=build/python:tools/python {sys.executable} {kept}\n")
    return "".join(parts)


def modules(build, page, found):
    """Modules of a page that ashlar-opt does not take."""
    for block in found:
        if block.language == "mlir" and "func.func" in block.text:
            done = subprocess.run([os.path.join(build, "bin", "ashlar-opt")], input=block.text,
                                  text=True, capture_output=True)
            if done.returncode:
                yield f"{page}:{block.line}: {done.stderr}"


def main(root, build, scratch):
    root, build = os.path.abspath(root), os.path.abspath(build)
    failed = pages = 0
    for page, found in blocks.pages(root):
        if not found or page in GENERATED:
            continue
        pages += 1
        findings = [*unknown(page, found), *modules(build, page, found)]
        named = 0
        for block in found:
            if block.language == "console":
                count, wrong = commands.check(root, build, page, block)
                named += count
                findings += wrong
        prepare(root, build, scratch)
        text = script(build, scratch, page, found)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=scratch, text=True,
                              capture_output=True)
        if done.returncode:
            findings.append(f"{page}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        print(f"{page}: {len(found)} blocks, {text.count(chr(10))} lines run, {named} commands named, "
              f"{'FAIL' if findings else 'ok'}")
        print("".join(finding + "\n" for finding in findings), end="")
        failed += bool(findings)
    print(f"{pages} pages, {failed} with findings")
    return int(bool(failed))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
