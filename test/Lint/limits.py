#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Limits.md against the sources.

usage: limits.py ROOT ISA.json

Instructions and fields that the code generator never writes, and parameters of a
machine that no part of the compiler reads, must be exactly those of the page;
values of fields on the page must not be named by the code generator.
"""

import glob
import json
import os
import re
import sys

EMITTERS = ("lib/Conversion/NPUToISA", "lib/Transforms/ISA")
COMPILER = EMITTERS + ("lib/Analysis", "lib/Transforms/NN", "lib/Transforms/BFP", "lib/Transforms/NPU",
                       "lib/Conversion/NNToNPU", "lib/Partition")
# Formulas that the compiler predicts with.
FORMULAS = ("Cycles", "Dram", "Ports", "TileCycles", "ScatterCycles", "Transposes", "TileGeometry", "HostCycles")


def sources(root, folders, suffixes=(".cpp", ".h")):
    text = ""
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(root, folder, "**"), recursive=True)):
            if path.endswith(suffixes):
                with open(path, encoding="utf-8") as file:
                    text += file.read()
    return text


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tables(page):
    """The names in code style of the first column of every table."""
    found = []
    for line in page.splitlines():
        if not line.startswith("|"):
            continue
        if line.startswith("|---"):
            found.append([])
        elif found:
            found[-1] += re.findall(r"`([^`]+)`", line.split("|")[1])
    # A header row stands before its rule: it has no code, or was taken for a
    # row of the table before.
    return found


def struct(mnemonic):
    return "".join(part.capitalize() for part in re.split(r"[._]", mnemonic))


def unwritten(isa, text):
    """Instructions that are never made, and fields that are never set."""
    names = set()
    for instruction in isa["instructions"]:
        mnemonic = instruction["mnemonic"]
        if not re.search(rf"isa::{struct(mnemonic)}\b", text):
            names.add(mnemonic)
            continue
        names |= {f"{mnemonic}.{field['name']}" for field in instruction["fields"]
                  if not re.search(rf"\.{field['name']}\b", text)}
    return names


def unread(root, text):
    """Parameters of the machine that `text` does not read."""
    fields = read(os.path.join(root, "lib/Machine/Fields.cpp"))
    entries = re.findall(r'\{"(\w*)",\s*"(\w+)",[^{}]*?ASHLAR_AT\(([\w.]+)\)', fields)
    found = set()
    for section, key, member in entries:
        names = {member}
        # Sizes are also asked for by functions of their section.
        names |= {"sb": {"sb.bytes()"}, "psum": {"psum.entries()"}}.get(section, set())
        names |= {"dram.model": {"dram.kind()"}}.get(member, set())
        if not any(re.search(re.escape(name) + (r"\b" if name[-1] != ")" else ""), text)
                   for name in names):
            found.add(f"{section}.{key}" if section else key)
    return found, len(entries)


def main():
    root, isa = sys.argv[1], json.loads(read(sys.argv[2]))
    fields, values, parameters = tables(read(os.path.join(root, "docs/Limits.md")))[:3]
    failures = []

    def same(what, found, listed):
        failures.extend(f"docs/Limits.md: {name} is missing: {what}" for name in
                        sorted(found - set(listed)))
        failures.extend(f"docs/Limits.md: {name} is listed and used" for name in
                        sorted(set(listed) - found))

    emitters = sources(root, EMITTERS)
    same("the compiler never writes it", unwritten(isa, emitters), fields)
    for name in values:
        enum, _, value = name.partition(".")
        if re.search(rf"{enum}::{value[:1].upper() + value[1:]}\b", emitters):
            failures.append(f"docs/Limits.md: {name} is listed and used")
    text = sources(root, COMPILER)
    text += "".join(read(os.path.join(root, "lib/Machine", name + ".cpp")) for name in FORMULAS)
    text += read(os.path.join(root, "lib/Pipelines/Compile.cpp"))
    found, count = unread(root, text)
    same("the compiler never reads it", found, parameters)
    instructions = len(unwritten(isa, ""))  # of a compiler that writes nothing
    if count < 40 or instructions < 30:
        failures.append(f"{count} parameters and {instructions} instructions found: the search is wrong")
    print("\n".join(failures) or f"{len(fields) + len(values) + len(parameters)} names, all true")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
