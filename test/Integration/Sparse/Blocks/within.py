#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command that may take so many seconds of processor time.

usage: within.py SECONDS COMMAND...
"""

import os
import resource
import sys


def main():
    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
