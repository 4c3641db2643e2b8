# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the first product of a trace overlaps the fetch of its input.

usage: overlap.py TRACE.json BYTES

BYTES of input pass through DRAM of 64 bytes a cycle before anything else of
size does.
"""

import json
import sys

# Cycles that weights and the clearing of borders may take on DRAM's time.
PAUSE = 150
SOON = 400

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
steps = [e for e in events if e.get("ph") == "X" and "node" in e.get("args", {})]
product = min(e["ts"] for e in steps if e["name"].startswith("pe.matmul"))
# A copy that completes after its own time has a side in DRAM.
copies = [e for e in steps if e["name"].startswith("dma.copy")
          and e["args"]["complete"] > e["ts"] + e["dur"]
          and e["dur"] >= 100]
copies.sort(key=lambda e: e["ts"])
begin, end, busy = copies[0]["ts"], 0, 0
for copy in copies:
    if busy < int(sys.argv[2]) / 64:
        busy += copy["dur"]
        end = copy["ts"] + copy["dur"]


def say(what, holds):
    print(f"{what}: {'yes' if holds else 'no'}")


say("bytes from 0 on without a pause", begin < PAUSE and end < busy + PAUSE)
say("product behind the first tenth of the bytes",
    product < begin + busy / 10)
say(f"product within {SOON} cycles of the last byte", product < end + SOON)
