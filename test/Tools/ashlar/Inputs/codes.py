#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exit codes and messages of wrong command lines."""

import subprocess

for words in ([], ["compil"], ["help", "wrun"], ["nothing", "--machine=a1"], ["--bogus"], ["run", "absent.ash"]):
    done = subprocess.run(["ashlar", *words], capture_output=True, text=True)
    print(words, done.returncode, done.stderr.strip(), done.stdout)
