#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and measures what it takes.

A process counts the memory of the one that started it into its own peak until
it has its own program (getrusage): a script with large arrays would measure
itself. So a small process in between starts the command, this file without
any of the script's modules.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time


@dataclasses.dataclass
class Usage:
    seconds: float  # of the clock
    processor: float  # seconds of user and system
    peak: int  # bytes of resident memory


def run(command):
    """The Usage of a command, whose output is dropped. Its failure ends the script."""
    launcher = [sys.executable, "-I", os.path.abspath(__file__)]
    told = subprocess.run([*launcher, *command], stdout=subprocess.PIPE, text=True, check=False)
    if told.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {told.returncode}")
    return Usage(**json.loads(told.stdout))


def main(command):
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    # Shells tell signals so.
    if child.returncode:
        return child.returncode if child.returncode > 0 else 128 - child.returncode
    json.dump(vars(Usage(time.monotonic() - start, usage.ru_utime + usage.ru_stime,
                         usage.ru_maxrss * 1024)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
