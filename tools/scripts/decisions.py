#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/decisions/README.md, the index of the decisions.

usage: decisions.py [--check] [ROOT]

Every page is docs/decisions/TOPIC/DATE-NAME.md; the index has its title. --check
writes nothing and fails if the index is stale or a page is in no topic.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOPICS = {
    "numerics": "Number formats, rounding, quantisation, accuracy",
    "layout": "Layouts of tensors, transposes, folds",
    "schedule": "Order of instructions, memory planning, overlap of copies and compute",
    "sparse": "Sparse cluster",
    "machine": "Instructions, timing, energy, emulator",
    "frontend": "Import from ONNX, IR, verification of the compiler",
    "tools": "Build, files, command lines, libraries, work on several machines",
}
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->

# Design decisions

One page for each choice that had serious alternatives: the problem, what was chosen, what was
rejected, and the measurement that decided. A page describes the tree at its date; the
current behaviour is in the other pages of `docs/`.
`tools/scripts/decisions.py` writes this index.
"""
PAGE = re.compile(r"(\d{4}-\d\d-\d\d)-[\w-]+\.md")


def title(path):
    with open(path, encoding="utf-8") as page:
        return next((line[2:].strip() for line in page if line.startswith("# ")), "(no title)")


def index(folder):
    """The text of the index and what is wrong with the pages."""
    wrong = [f"{name}: a decision belongs to a topic: {', '.join(TOPICS)}"
             for name in sorted(os.listdir(folder)) if PAGE.fullmatch(name)]
    text = HEAD
    for topic, meaning in TOPICS.items():
        text += f"\n## {meaning}\n\n| date | decision |\n|---|---|\n"
        for name in sorted(os.listdir(os.path.join(folder, topic))):
            match = PAGE.fullmatch(name)
            if not match:
                wrong.append(f"{topic}/{name}: the name of a page is DATE-NAME.md")
                continue
            heading = title(os.path.join(folder, topic, name))
            text += f"| {match[1]} | [{heading}]({topic}/{name}) |\n"
    return text, wrong


def main(arguments):
    check = arguments[:1] == ["--check"]
    root = arguments[check] if len(arguments) > check else HERE
    folder = os.path.join(root, "docs", "decisions")
    path = os.path.join(folder, "README.md")
    text, wrong = index(folder)
    if not check:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        wrong.append("docs/decisions/README.md is stale: run tools/scripts/decisions.py")
    print("\n".join([*wrong, f"decisions: {len(wrong)} findings"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
