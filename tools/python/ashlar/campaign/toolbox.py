# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools of the project as processes."""

import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import Exit, Failure, usage
from .files import file_digest

NAMES = ("ashlarc", "ashlar-run", "ashlar-reference")


class ToolFailure(Failure):
    """What a tool said as it failed, without its name and "error:"."""


@dataclass
class Toolbox:
    """The folder that holds the tools, and the processes that run now."""

    folder: Path
    running: set = field(default_factory=set)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every tool: a result belongs to the tools that made it."""
        return {name: file_digest(self.folder / name) for name in NAMES}

    def run(self, name: str, arguments: Sequence[str], folder: Path | str,
            hidden: dict[str, str] | None = None) -> str:
        """What a tool prints, run in `folder`. `hidden` maps names that only
        this run has, as those of temporary files, to what a message says instead."""
        command = [str(self.folder / name), *arguments]
        with self.lock:
            if self.stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(  # noqa: S603 (a tool of ours)
                command, cwd=folder, text=True, errors="replace", stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.running.add(process)
        try:
            out, said = process.communicate()
        finally:
            with self.lock:
                self.running.discard(process)
        if self.stopped:
            raise KeyboardInterrupt
        if process.returncode == 0:
            return out
        raise ToolFailure(*self._reason(name, process.returncode, said, hidden or {}))

    @staticmethod
    def _reason(name: str, code: int, said: str, hidden: dict[str, str]) -> tuple[int, str]:
        for path, words in hidden.items():
            said = said.replace(path, words)
        mark = f"{name}: error: "
        start = said.find(mark)
        text = " ".join(said[start + len(mark) if start >= 0 else 0:].split())
        if code < 0:
            return Exit.INTERNAL, f"{name} was ended by signal {-code}" + (f": {text}" if text else "")
        return code, f"{name}: {text or 'no message'}"

    def stop(self) -> None:
        """Ends the processes that run; no other one starts."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                process.terminate()


def find_toolbox(folder: str | None, command: str) -> Toolbox:
    """The tools of `--tools`, else those next to the command, of the build that
    ASHLAR_BUILD names, on PATH, or of the checkout's build folder."""
    beside = Path(os.path.abspath(command)).parent
    on_path = shutil.which("ashlarc")
    candidates = [Path(folder)] if folder else [
        beside,
        *([Path(os.environ["ASHLAR_BUILD"], "bin")] if os.environ.get("ASHLAR_BUILD") else []),
        *([Path(on_path).parent] if on_path else []),
        # The prefix that the package is installed in, or a checkout.
        *(parent / "bin" for parent in Path(__file__).resolve().parents[4:6]),
        Path(__file__).resolve().parents[4] / "build" / "bin",
    ]
    for candidate in candidates:
        if all(os.access(candidate / name, os.X_OK) for name in NAMES):
            return Toolbox(candidate.absolute())
    raise usage(f"no folder with {', '.join(NAMES)} found; looked in "
                f"{', '.join(map(str, candidates))}; give --tools=FOLDER")
