#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the documentation site with Sphinx and MyST.

usage: site.py [--check] OUT_FOLDER LLVM_BIN_FOLDER

OUT_FOLDER/source mirrors the Markdown pages of the tree at their own paths, so
that relative links lead where they lead in a checkout, and has a page for each
dialect that mlir-tblgen makes from its records. OUT_FOLDER/html is the site;
--check reads and resolves every page and writes none. Every warning of Sphinx is
an error: a link to a page or a section that does not exist, a table that does not
parse.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md",
         "docs/decisions/*/*.md", "dialects/README.md", "dialects/*/*.md", "test/Rtl/README.md",
         "tools/demo-network/README.md")
DIALECTS = {"NN": "nn", "BFP": "bfp", "NPU": "npu", "Tile": "tile", "ISA": "isa",
            "Ashlar": "ashlar"}
PICTURES = (".svg", ".png")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
CODE = re.compile(r"^```.*?^```|^    .*?$", re.M | re.S)
TITLE = re.compile(r"^# .*$", re.M)


def dialect_page(folder, name, tools):
    """The Markdown that mlir-tblgen makes of a dialect's records."""
    include = os.path.join(os.path.dirname(tools.rstrip("/")), "include")
    text = subprocess.run(
        [os.path.join(tools, "mlir-tblgen"), "-gen-dialect-doc", f"-dialect={name}", "-I", ROOT,
         "-I", include, os.path.join(ROOT, "dialects", folder, f"{folder}Ops.td")],
        check=True, capture_output=True, text=True).stdout
    # Navigation is the site's; Pygments has no highlighter for MLIR.
    text = text.replace("[TOC]\n", "").replace("```mlir", "```text")
    return TITLE.sub(f"# Operations of `{name}`", text, count=1)


def staged(text, source, kept):
    """The page with links to files outside the site as plain text.

    A link to a folder or to a source file is for readers of the checkout.
    """
    code = [match.span() for match in CODE.finditer(text)]

    def link(match):
        target = match.group(2)
        if "://" in target or any(a <= match.start() < b for a, b in code):
            return match.group(0)
        whole = os.path.normpath(os.path.join(os.path.dirname(source), target))
        if whole in kept or whole.endswith(PICTURES):
            return match.group(0)
        return match.group(1)

    # Pygments has no highlighter for MLIR.
    return LINK.sub(link, text).replace("```mlir", "```text")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def stage(source, tools):
    """Copies and makes all pages; returns how many."""
    shutil.rmtree(source, ignore_errors=True)
    found = [os.path.relpath(path, ROOT) for pattern in PAGES
             for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    pages = {f"dialects/{folder}/Operations.md": dialect_page(folder, name, tools)
             for folder, name in DIALECTS.items()}
    kept = set(found) | set(pages)
    for name in found:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            write(os.path.join(source, name), staged(file.read(), name, kept))
    for name, text in pages.items():
        write(os.path.join(source, name), text)
    for path in glob.glob(os.path.join(ROOT, "docs", "*")):
        if path.endswith(PICTURES):
            shutil.copy(path, os.path.join(source, "docs"))
    site = os.path.join(ROOT, "docs", "site")
    shutil.copy(os.path.join(site, "conf.py"), source)
    with open(os.path.join(site, "index.md"), encoding="utf-8") as file:
        write(os.path.join(source, "index.md"), complete(file.read(), kept))
    return len(kept)


def complete(index, kept):
    """The table of contents of docs/site/index.md, then every page that it does not name."""
    named = set(index.split())
    rest = sorted(name[:-3] for name in kept if name[:-3] not in named)
    return index + "\n".join(["```{toctree}", ":maxdepth: 1", ":caption: More", "", *rest,
                              "```", ""])


def run_sphinx(source, out, builder):
    return subprocess.run(
        ["sphinx-build", "-q", "-W", "--keep-going", "-b", builder, "-d",
         os.path.join(out, "doctrees"), source, os.path.join(out, builder)],
        check=False).returncode


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 2 + check:
        sys.exit(__doc__)
    out, tools = arguments[check:]
    out = os.path.abspath(out)
    builder = "dummy" if check else "html"
    shutil.rmtree(os.path.join(out, builder), ignore_errors=True)
    count = stage(os.path.join(out, "source"), tools)
    code = run_sphinx(os.path.join(out, "source"), out, builder)
    if code == 0:
        print(f"{count} pages: {os.path.join(out, builder, '' if check else 'index.html')}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
