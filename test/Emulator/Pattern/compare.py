#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What N:M weights save of the product of product.asm.

usage: compare.py DENSE.json PATTERN.json
"""

import json
import sys


def main():
    dense, sparse = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    busy = [r["engines"]["pe"]["busy"] for r in (dense, sparse)]
    macs = [r["totals"]["macs"] for r in (dense, sparse)]
    counts = [sparse["actions"].get("pattern." + n, 0) for n in ("pick", "load")]
    found = {"busy": busy, "macs": macs, "counts": counts}
    # Two places of 2 bits in each of two columns: one byte.
    expected = {"busy": [5, 3], "macs": [40, 20], "counts": [20, 1]}
    if found != expected:
        sys.exit(f"{found}, expected {expected}")


if __name__ == "__main__":
    main()
