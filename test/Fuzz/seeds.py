#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes seeds of the fuzz targets with the tools of this build.

usage: seeds.py OUT

OUT/container, OUT/decoder and OUT/loader get the programs of test/Isa and
test/Emulator and the compiled networks of seeds.txt as files, as code words
and as text. Seeds kept as bytes would be refused at their first word after a
change of the instruction set, and reach nothing after it.
"""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_MODEL = os.path.join(HERE, "..", "Frontend", "Onnx", "make_model.py")
NETWORKS = os.path.join(HERE, "seeds.txt")


def run(*command, may_fail=False):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode and not may_fail:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.returncode == 0


def networks():
    """(name, options) of each part of seeds.txt."""
    with open(NETWORKS, encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("#---"):
                yield line[4:].strip(), [option_of(text) for text in line[4:].split()[1:]]


def option_of(text):
    """An option with the path of a machine of this folder."""
    name, _, value = text.partition("=")
    return f"{name}={os.path.join(HERE, value)}" if value.endswith(".yaml") else text


def add_words(text, out, name):
    run("ashlar-as", text, "--raw", "-o",
        os.path.join(out, "decoder", name + ".bin"))


def main(out):
    for folder in ("container", "decoder", "loader"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    sources = [path for folder in ("Isa", "Emulator") for path in
               sorted(glob.glob(os.path.join(HERE, "..", folder, "*.asm")))]
    assembled = 0
    for source in sources:
        name = os.path.basename(source)[:-len(".asm")]
        file = os.path.join(out, "container", name + ".ash")
        # Programs that the assembler has to refuse are among them.
        if run("ashlar-as", source, "-o", file, may_fail=True):
            add_words(source, out, name)
            assembled += 1
    compiled = 0
    for part, options in networks():
        name = "compiled-" + part.split()[0]
        model = os.path.join(out, name + ".onnx")
        run(sys.executable, MAKE_MODEL, NETWORKS, "--part=" + part, "-o", model)
        file = os.path.join(out, "container", name + ".ash")
        text = os.path.join(out, "loader", name)
        if not any(option.startswith("--machine") for option in options):
            options = ["--machine=a1-tiny", *options]
        run("ashlarc", model, "-o", file, *options)
        run("ashlar-dis", file, "-o", text)
        add_words(text, out, name)
        compiled += 1
    print(f"{assembled} programs assembled, {compiled} compiled")


if __name__ == "__main__":
    main(sys.argv[1])
