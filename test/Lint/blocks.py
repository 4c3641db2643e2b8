# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of the documentation and their fenced code blocks."""

import dataclasses
import glob
import os
import re

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```\s*$", re.M | re.S)
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md",
         "docs/decisions/*/*.md", "dialects/*.md",
         "dialects/*/*.md", "test/*/README.md", "tools/*/README.md")


@dataclasses.dataclass
class Block:
    """A code block: its language, the file that it is (or ''), its text, its line."""
    language: str
    file: str
    text: str
    line: int


def pages(root):
    """(path below the root, blocks in order) of every page."""
    for pattern in PAGES:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
            found = []
            for match in FENCE.finditer(text):
                language, _, file = match[1].strip().partition(" ")
                found.append(Block(language, file.strip(), match[2], text.count("\n", 0, match.start()) + 1))
            yield os.path.relpath(path, root), found
