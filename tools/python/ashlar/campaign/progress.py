# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One line that shows how far a long run is; nothing where no terminal reads it.

The line of ashlarc and ashlar-run (include/ashlar/Support/Progress.h), for Python.
"""

import sys
import threading
import time
from typing import TextIO

PATIENCE = 1.0  # seconds; work that takes less is not worth a line
PERIOD = 0.2
LINE = 110  # columns


def duration(seconds: float) -> str:
    """"12 s", "3:05 min" or "2:07 h"."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d} h"


def time_left(share: float, at_step: float, now: float) -> str:
    """", 12 s left" as it was at the last step, which was `at_step` seconds after the start, less the
    time since; nothing before the first step, or if the next one takes longer than it should."""
    if not 0 < share < 1:
        return ""
    left = at_step * (1 - share) / share - (now - at_step)
    return f", {duration(left)} left" if left > 0 else ""


class Progress:
    """Counts the steps of a stage; safe to call from several threads. The line is drawn by a thread of
    its own, so that a long step is seen to be running."""

    def __init__(self, stage: str, total: int, quiet: bool = False,
                 stream: TextIO | None = None) -> None:
        self.stage, self.total, self.done, self.what = stage, total, 0, ""
        self.stream = stream or sys.stderr
        self.enabled = not quiet and self.stream.isatty()
        self.start = self.at_step = time.monotonic()
        self.lock, self.ended, self.drawn = threading.Lock(), threading.Event(), False
        self.watcher: threading.Thread | None = None

    def line(self, now: float) -> str:
        """Stage, count, share, time left, and what was done last."""
        share = self.done / self.total if self.total else 1.0
        left = time_left(share, self.at_step - self.start, now - self.start)
        return f"{self.stage} {self.done}/{self.total}, {100 * share:.0f} %{left}  {self.what}".rstrip()

    def step(self, what: str = "") -> None:
        """One more step is done."""
        with self.lock:
            self.done, self.what, self.at_step = self.done + 1, what, time.monotonic()

    def draw(self) -> None:
        with self.lock:
            text = self.line(time.monotonic())
        self.write(f"\r\x1b[K{text[:LINE]}")
        self.drawn = True

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            # The terminal is gone; the work is not.
            self.ended.set()

    def watch(self) -> None:
        wait = PATIENCE
        while not self.ended.wait(wait):
            self.draw()
            wait = PERIOD

    def __enter__(self) -> "Progress":
        if self.enabled:
            self.watcher = threading.Thread(target=self.watch, daemon=True)
            self.watcher.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.ended.set()
        if self.watcher:
            self.watcher.join()
        if self.drawn:
            self.write("\r\x1b[K")
