#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends ashlar-reduce while its command sleeps. usage: interrupt.py MODEL"""

import os
import signal
import subprocess
import sys
import tempfile
import time


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    limit = time.monotonic() + 20
    while not condition() and time.monotonic() < limit:
        time.sleep(0.01)
    return condition()


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    with tempfile.TemporaryDirectory() as work:
        scratch = os.path.join(work, "scratch")
        note = os.path.join(work, "pid")
        os.mkdir(scratch)
        tool = subprocess.Popen(
            ["ashlar-reduce", sys.argv[1], "-o", os.path.join(work, "o.onnx"),
             f"--test=: {{model}}; echo $$ > {note}; sleep 1000; false"],
            env={**os.environ, "TMPDIR": scratch}, stderr=subprocess.DEVNULL,
            # A test in the background of a shell inherits that ^C is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        wait_for(lambda: os.path.exists(note) and os.path.getsize(note) > 0)
        with open(note, encoding="utf-8") as stream:
            command = int(stream.read())
        tool.send_signal(number)
        code = tool.wait()
        if number == signal.SIGKILL:  # nothing can wait for the watcher then
            wait_for(lambda: not os.listdir(scratch))
        # A process that was told to end is there until the kernel has ended it.
        wait_for(lambda: not alive(command))
        folder = "a folder" if os.listdir(scratch) else "no folder"
        running = "a command" if alive(command) else "no command"
        print(f"{number.name}: {code} {folder}, {running}")
