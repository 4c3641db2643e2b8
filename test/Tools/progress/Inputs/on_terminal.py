#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commands with stderr on a terminal, then in a pipe; prints their progress lines.

usage: on_terminal.py LIST

Each line of LIST is NAME [--slow] COMMAND...; NAME.txt gets what the terminal showed,
then what was left on it and what came through the pipe. "{n}" in the command is 1, then
2: a folder of its own for each run. --slow stops the process several times, so that a
short run takes more than a second on every host. All commands run at once, because they
wait for most of their time.
"""

import concurrent.futures
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import threading
import time

ERASE = "\r\x1b[K"
STOPS, RUN, STOP = 8, 0.03, 0.35  # number, seconds
LIMIT = 120


def throttle(process):
    """Stops and continues a process; the first stop comes early."""
    for _ in range(STOPS):
        for number, seconds in ((signal.SIGSTOP, STOP), (signal.SIGCONT, RUN)):
            if process.poll() is None:
                process.send_signal(number)
                time.sleep(seconds)


def on_terminal(command, slow):
    """(exit code, text of stderr) of a run on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    if slow:
        threading.Thread(target=throttle, args=[process], daemon=True).start()
    text, end = b"", time.monotonic() + LIMIT
    while time.monotonic() < end and select.select([ours], [], [], LIMIT)[0]:
        try:
            text += os.read(ours, 1 << 16)
        except OSError:  # every descriptor of the other side is closed
            break
    return process.wait(), text.decode()


def both(line):
    """Runs a line of the list twice and writes what was seen."""
    name, *command = shlex.split(line)
    slow = command[0] == "--slow"
    command = command[slow:]
    code, text = on_terminal([word.replace("{n}", "1") for word in command], slow)
    piped = subprocess.run([word.replace("{n}", "2") for word in command], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    *frames, last = text.split(ERASE)
    with open(f"{name}.txt", "w", encoding="utf-8") as out:
        for frame in dict.fromkeys(frame.strip() for frame in frames):
            print("shown:", frame, file=out)
        print(f"left: '{last}', exit code {code}", file=out)
        print(f"piped: '{piped.stderr}', exit code {piped.returncode}", file=out)


def main(path):
    with open(path, encoding="utf-8") as stream:
        lines = [line for line in stream if line.strip()]
    with concurrent.futures.ThreadPoolExecutor(len(lines)) as pool:
        list(pool.map(both, lines))


if __name__ == "__main__":
    main(sys.argv[1])
