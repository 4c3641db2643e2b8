# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One line that shows how far a long run is; nothing where no terminal reads it."""

import sys
import threading
import time
from typing import TextIO


def duration(seconds: float) -> str:
    """"12 s", "3:05 min" or "2:07 h"."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d} h"


class Progress:
    """Counts steps of a stage; safe to call from several threads."""

    def __init__(self, stage: str, total: int, quiet: bool = False,
                 stream: TextIO | None = None) -> None:
        self.stage, self.total, self.done = stage, total, 0
        self.stream = stream or sys.stderr
        self.shown = not quiet and self.stream.isatty()
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def line(self, what: str, elapsed: float) -> str:
        """Stage, count, share and time left."""
        share = self.done / self.total if self.total else 1.0
        left = ""
        if 0 < self.done < self.total:
            left = f", {duration(elapsed / self.done * (self.total - self.done))} left"
        return f"{self.stage} {self.done}/{self.total} ({share:.0%}){left}  {what}"

    def step(self, what: str = "") -> None:
        """One more step is done."""
        with self.lock:
            self.done += 1
            if self.shown:
                text = self.line(what, time.monotonic() - self.start)
                self.stream.write(f"\r\x1b[K{text[:110]}")
                self.stream.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *unused: object) -> None:
        with self.lock:
            if self.shown and self.done:
                self.stream.write("\r\x1b[K")
                self.stream.flush()
