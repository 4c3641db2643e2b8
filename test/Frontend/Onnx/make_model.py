#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds an ONNX model from its text form.

usage: make_model.py FILE [--part=NAME] -o MODEL.onnx

FILE is a lit test: lines that start with '#' are comments. A line
'#--- NAME' starts the part NAME. The text form is ONNX's own
(onnx.parser); the result is not checked, so wrong models can be made too.
"""

import argparse

import onnx
import onnx.parser


def part_of(lines, part):
    """The lines of one part, without comments."""
    current, chosen = None, []
    for line in lines:
        if line.startswith("#---"):
            current = line[4:].strip()
        elif current == part and not line.startswith("#"):
            chosen.append(line)
    return "".join(chosen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--part")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as stream:
        text = part_of(stream.readlines(), args.part)
    model = onnx.parser.parse_model(text)
    with open(args.output, "wb") as stream:
        stream.write(model.SerializeToString())


if __name__ == "__main__":
    main()
