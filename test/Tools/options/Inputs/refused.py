#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what tools say to wrong options; all are usage errors."""

import subprocess

CASES = """
ashlarc --frmat=bfp8
ashlarc --nothing-like-it
ashlarc --format=int8
ashlarc --weights=fp16
ashlarc --format=fp32
ashlarc --format=mxfp6
ashlarc --format=w=8,blok=16
ashlarc --machine=a1-tini
ashlarc --machine=b9
ashlarc --machine=b9.yaml
ashlarc --sparse=tiles
ashlarc --compile-to=pln
ashlarc --scale=rnmax
ashlarc --classify=costs
ashlar-run --energy-tabel=n7
ashlar-run --kernels=scalr
ashlar-tiles --halo=nune
ashlar-reference --phase=simplfy
"""

for case in CASES.strip().splitlines():
    tool, option = case.split()
    done = subprocess.run([tool, "model", option, "-o", "out"] if tool == "ashlarc"
                          else [tool, "model", option], capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout, (case, done)
    print(f"{case}: {done.stderr.strip().partition(' error: ')[2]}")
