# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs by content: equal compilations happen once."""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from .files import digest, make_folder, read_json, write_json
from .toolbox import Toolbox

FOLDER = "programs"
MEASURES = ("instructions", "constant_bytes", "bits_per_weight", "dram_bytes")


class Programs:
    """Programs and what their compilation said, kept in a results folder.

    A key is the digest of all that decides the bytes of the program: model,
    machine, options, tools.
    """

    def __init__(self, tools: Toolbox, folder: Path) -> None:
        self.tools, self.folder = tools, folder / FOLDER
        self.locks: dict[str, threading.Lock] = {}
        self.lock = threading.Lock()

    def _lock(self, key: str) -> threading.Lock:
        with self.lock:
            return self.locks.setdefault(key, threading.Lock())

    def compile(self, key: object, arguments: Sequence[str], folder: Path,
                hidden: dict[str, str], threads: int) -> tuple[Path, dict]:
        """The program and the figures of its compilation.

        `arguments` are those of ashlarc without outputs. Errors are those of the
        tool, in words without paths of this run.
        """
        name = digest(key)
        program, figures = self.folder / f"{name}.ash", self.folder / f"{name}.json"
        with self._lock(name):
            if not (program.exists() and figures.exists()):
                self._make(program, figures, arguments, folder, hidden, threads)
        return program, read_json(figures)

    def _make(self, program: Path, figures: Path, arguments: Sequence[str], folder: Path,
              hidden: dict[str, str], threads: int) -> None:
        make_folder(self.folder)
        with tempfile.TemporaryDirectory(prefix="ashlar-") as scratch:
            report = Path(scratch, "compile.json")
            # The tool's files appear whole or not at all, as ours do.
            self.tools.run("ashlarc", [*arguments, "-o", str(program), f"--report={report}",
                                       f"--threads={threads}"], folder,
                           {**hidden, scratch + "/": "", str(program): "program.ash"})
            said = read_json(report)
        # Last: a program without figures is made again.
        write_json(figures, {key: said[key] for key in MEASURES if key in said})
