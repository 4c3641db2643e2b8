#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the tree that no compiler checks.

usage: lint.py CHECK ROOT     (CHECK: layers, length, spdx, paths, words, links, top,
       folders)

Prints one line per finding and exits with 1 if there is any. The tree is
walked rather than asked from git: a release archive is checked as well.
"""

import os
import re
import sys

SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SKIPPED_FOLDERS = {".git", "node_modules", "__pycache__", ".cache", ".ccache"}
SOURCE = (".cpp", ".h", ".td", ".py", ".js", ".cmake", ".mlir", ".asm",
          ".test", ".inc", ".fbs", ".sh", ".in")
TEXT = SOURCE + (".md", ".txt", ".json", ".yaml", ".yml")
LIMIT = 600
FOLDER_LIMIT = 40

# Layers of the source tree, lowest first (docs/Architecture.md). A folder may
# include its own layer and those below.
LAYERS = [
    (0, ("Machine", "Numerics", "Partition", "Support")),
    (1, ("Container", "Energy", "Isa")),
    (2, ("Emulator", "Report")),
    (4, ("Frontend", "Conversion", "Transforms", "Analysis", "Reference",
         "Codegen")),
    (5, ("Pipelines",)),
    (6, ("Api", "Bindings")),
]
LAYER_OF = {name: layer for layer, names in LAYERS for name in names}
MLIR_FREE = 2
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def files(root, suffixes=None):
    for folder, names, found in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS
                          and not (folder == root and n.startswith("build")))
        for name in sorted(found):
            if suffixes is None or name.endswith(suffixes) or \
                    name == "CMakeLists.txt" or is_script(folder, name):
                path = os.path.join(folder, name)
                yield path, os.path.relpath(path, root)


def is_script(folder, name):
    if "." in name:
        return False
    with open(os.path.join(folder, name), "rb") as stream:
        return stream.read(2) == b"#!"


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read().splitlines()


def layer_of(path):
    """The layer of a source path or of an include path; None if outside."""
    parts = path.split("/")
    if parts[0] == "include" and parts[1] == "ashlar":
        parts = parts[1:]
    if parts[0] in ("lib", "ashlar") and len(parts) > 1:
        return LAYER_OF.get(parts[1])
    if parts[0] == "dialects":
        return 3
    if parts[0] == "tools":
        return 6
    return None


def check_layers(root):
    for path, name in files(root, (".cpp", ".h", ".inc")):
        if not name.endswith((".cpp", ".h", ".inc")):
            continue
        own = layer_of(name)
        if own is None:
            if name.startswith(("lib/", "include/ashlar/")):
                yield f"{name}: folder has no layer in docs/Architecture.md"
            continue
        # The generator is a build tool outside the layers.
        if name.startswith("tools/ashlar-tblgen/"):
            continue
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            used = layer_of(target)
            if used is not None and used > own:
                yield (f"{name}:{number}: layer {own} includes layer {used}: "
                       f"{target}")
            if own <= MLIR_FREE and target.startswith(("mlir/", "mlir-c/")):
                yield f"{name}:{number}: layer {own} includes MLIR: {target}"


def check_length(root):
    for path, name in files(root, SOURCE):
        count = len(lines_of(path))
        if count > LIMIT:
            yield f"{name}: {count} lines, limit {LIMIT}"


def check_spdx(root):
    for path, name in files(root, SOURCE):
        head = lines_of(path)[:2]
        if not any(SPDX in line for line in head):
            yield f"{name}: first line lacks {SPDX}"


def check_paths(root):
    """No path of one machine and no package registry's host in any file."""
    machine = re.compile(r"(?<![\w$}.%])/(?:work|farm|root|home)/|/tmp/[a-z]"
                         r"|/Users/|registry\.[a-z]+js\.|deb\.debian\.")
    for path, name in files(root, TEXT):
        if name.startswith("test/Lint/"):
            continue
        for number, line in enumerate(lines_of(path), 1):
            if machine.search(line):
                yield f"{name}:{number}: {line.strip()[:100]}"


def check_words(root):
    """Unfinished work is finished or is an error that the user can read."""
    words = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    for path, name in files(root, TEXT):
        if name.startswith("test/Lint/"):
            continue
        for number, line in enumerate(lines_of(path), 1):
            if words.search(line):
                yield f"{name}:{number}: {line.strip()[:100]}"


def check_links(root):
    """Relative links of Markdown files lead to files of the tree, or to pages
    that the build generates."""
    link = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
    generated = {"docs/Isa.md", "docs/OpSupport.md", "docs/Passes.md"}
    for path, name in files(root, (".md",)):
        if not name.endswith(".md"):
            continue
        folder = os.path.dirname(name)
        for number, line in enumerate(lines_of(path), 1):
            for target in link.findall(line):
                whole = os.path.normpath(os.path.join(folder, target))
                if "://" in target or whole in generated:
                    continue
                if not os.path.exists(os.path.join(root, whole)):
                    yield f"{name}:{number}: no file {whole}"


def check_top(root):
    allowed = {"CMakeLists.txt", "CMakePresets.json", "Containerfile",
               "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
               "LICENSE", "cmake", "dialects", "include", "lib", "tools",
               "test", "docs"}
    for name in sorted(os.listdir(root)):
        if name not in allowed and not name.startswith((".", "build")):
            yield f"{name}: not one of the entries that the top level holds"


def check_folders(root):
    """A folder has one topic, so it has few files."""
    for folder, names, found in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS
                          and not (folder == root and n.startswith("build")))
        if len(found) > FOLDER_LIMIT:
            yield (f"{os.path.relpath(folder, root)}: {len(found)} files, limit "
                   f"{FOLDER_LIMIT}: group them by topic")


CHECKS = {"layers": check_layers, "length": check_length, "spdx": check_spdx,
          "paths": check_paths, "words": check_words, "links": check_links,
          "top": check_top, "folders": check_folders}


def main(check, root):
    findings = list(CHECKS[check](root))
    for finding in findings:
        print(finding)
    print(f"{check}: {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
