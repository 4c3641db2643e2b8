# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures commands while this process holds much memory."""

import sys

import measured

held = b"1" * (200 << 20)
small = measured.run(["true"])
print("small command below 32 MiB:", small.peak < 32 << 20)
large = measured.run([sys.executable, "-c", "held = b'1' * (100 << 20)"])
print("large command above 100 MiB:", large.peak > 100 << 20)
for command in ("exit 3", "kill -TERM $$"):
    try:
        measured.run(["sh", "-c", command])
    except SystemExit as error:
        print(error)
