# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of ashlarc in plans: which ones a plan may hold, and their files."""

import math
from pathlib import Path
from typing import Any

from .errors import malformed
from .files import file_digest
from .settings import describe

# The tool itself gives these, or they only print.
OWN = {
    "o": "every point has a program of its own", "machine": "machines are listed apart",
    "threads": "speed only", "report": "it is read already", "check": "it writes no program",
    "explain": "it prints only", "verify": "it is a check of its own", "inputs": "it belongs to --verify",
    "compile-to": "it writes no program", "compile-from": "points start from models",
    "dump-plan": "it writes files", "dump-formats": "it writes files", "html": "it writes files",
    "help": "it prints only", "version": "it prints only", "list-machines": "it prints only",
    "dump-machine": "it prints only",
}
FILES = ("formats", "calibrate")
NAMED_FILES = ("constant",)


def check_option(where: str, name: str, value: Any) -> None:
    """Refuses what a plan may not say."""
    if name in OWN:
        raise malformed(f"{where}: option '{name}' has no place in a plan: {OWN[name]}")
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, (str, int, float, bool)) or (
                isinstance(entry, float) and not math.isfinite(entry)):
            raise malformed(f"{where}: option '{name}' is {describe(entry)}, expected a value")


def option_arguments(options: dict[str, Any], folder: Path) -> list[str]:
    """The command line of options; files relative to `folder` become absolute."""
    arguments = []
    for name, value in sorted(options.items()):
        for entry in value if isinstance(value, list) else [value]:
            if entry is False:
                continue
            arguments.append(f"--{name}" if entry is True else f"--{name}={_resolved(name, entry, folder)}")
    return arguments


def _resolved(name: str, entry: Any, folder: Path) -> Any:
    if name in FILES:
        return (folder / str(entry)).resolve()
    if name in NAMED_FILES and "=" in str(entry):
        key, _, path = str(entry).rpartition("=")
        return f"{key}={(folder / path).resolve()}"
    return entry


def option_files(options: dict[str, Any], folder: Path) -> dict[str, str]:
    """File -> digest of all files that options name."""
    found = {}
    for name, value in options.items():
        for entry in value if isinstance(value, list) else [value]:
            if name in FILES:
                path = str(entry)
            elif name in NAMED_FILES:
                path = str(entry).rpartition("=")[2]
            else:
                continue
            found[path] = file_digest(folder / path)
    return found
