#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the reports of two runs, the second of which repairs blocks.

usage: repairs.py SATURATES.json REPAIRS.json
"""

import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    reports = [read(path) for path in sys.argv[1:3]]

    def both(key):
        counts = [sum(node[key] for node in report["nodes"]) for report in reports]
        return counts, " and ".join("more than 0" if count else "0" for count in counts)

    # Rounding at the top of a block still saturates.
    saturated = both("sat")[0]
    print("less saturated by a factor of 10:", 0 < 10 * saturated[1] < saturated[0])
    print("repaired blocks:", both("repaired")[1])
    cycles, text = both("repair_cycles")
    print("repair cycles:", text)
    busy = [sum(report["engines"][name]["busy"] for name in ("act", "vec"))
            for report in reports]
    if busy[1] - busy[0] >= cycles[1]:
        print("busy cycles of the engines differ by those")


if __name__ == "__main__":
    main()
