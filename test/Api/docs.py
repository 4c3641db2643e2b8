#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code blocks of a page are parts of the examples, which tests build and run.

usage: docs.py PAGE EXAMPLES
"""

import os
import re
import sys

SUFFIXES = {"c": ".c", "cpp": ".cpp", "python": ".py", "cmake": ".txt"}


def main(page, examples):
    with open(page, encoding="utf-8") as stream:
        blocks = re.findall(r"^```(c|cpp|python|cmake)\n(.*?)^```", stream.read(),
                            re.M | re.S)
    failed = 0
    for language, text in blocks:
        sources = []
        for name in sorted(os.listdir(examples)):
            if name.endswith(SUFFIXES[language]):
                with open(os.path.join(examples, name), encoding="utf-8") as file:
                    sources.append(file.read())
        if not any(text in source for source in sources):
            failed += 1
            print(f"{os.path.basename(page)}: no example has this {language} "
                  f"block:\n{text}")
    print(f"{len(blocks)} blocks, {failed} without an example")
    return int(failed > 0 or not blocks)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
