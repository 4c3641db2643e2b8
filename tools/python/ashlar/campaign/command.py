# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines that look and end like those of the other tools."""

import argparse
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .errors import Exit, Failure, usage
from .settings import nearest
from .toolbox import find_toolbox

SUB_COMMANDS = "sub-commands, each with --help: plan, run, merge (parts of it), submit (Slurm)\n"
EXIT_CODES = """exit codes: 0 ok, 1 internal, 2 usage, 3 unsupported, 4 malformed input,
            5 capacity, 6 mismatch"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are usage errors of the tool."""

    def __init__(self, tool: str, usage_line: str, about: str, notes: str = "") -> None:
        super().__init__(prog=tool, add_help=False, allow_abbrev=False, usage=usage_line)
        self.about, self.notes = about, notes
        self.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)
        self.add_argument("--version", action="store_true", help=argparse.SUPPRESS)
        self.lines: list[tuple[str, str]] = []

    def option(self, name: str, what: str, words: str, **keywords: Any) -> None:
        """One option with its line of help."""
        if not what:
            keywords.setdefault("action", "store_true")
        self.add_argument(*name.split(), help=words, **keywords)
        self.lines.append((name.split()[-1] + (f"={what}" if what else ""), words))

    def describe(self) -> str:
        """The text of --help."""
        lines = [*self.lines, ("--help", "print this"), ("--version", "print the version")]
        table = "\n".join(f"  {name:<32} {words}" for name, words in lines)
        return f"usage: {self.usage}\n\n{self.about}\n\noptions:\n{table}\n\n{self.notes}{EXIT_CODES}\n"

    def error(self, message: str) -> NoReturn:
        match = re.match(r"unrecognized arguments: (\S+)", message)
        if match:
            self.unknown(match[1])
        raise usage(f"{message}, see --help")

    def unknown(self, word: str) -> NoReturn:
        """Refuses an option that the tool does not have."""
        if not word.startswith("-"):
            raise usage(f"unexpected argument '{word}', see --help")
        name = word.split("=")[0]
        known = [line.split("=")[0] for line, _ in self.lines]
        raise usage(f"unknown option '{name}', see --help{nearest(name, known)}")

    def read(self, arguments: Sequence[str]) -> argparse.Namespace | None:
        """The options; None if they only requested help or the version."""
        arguments = list(arguments)
        if "-h" in arguments or "--help" in arguments:
            sys.stdout.write(self.describe())
            return None
        if "--version" in arguments:
            # The version is that of the tools that do the work.
            said = find_toolbox(None, sys.argv[0]).run("ashlarc", ["--version"], ".")
            sys.stdout.write(said.replace("ashlarc", self.prog, 1))
            return None
        options = self.parse_args(arguments)
        for name in ("jobs", "limit", "shards"):
            value = getattr(options, name, None)
            if value is not None and value < 1:
                raise usage(f"--{name}={value}: expected at least 1")
        return options


def common_options(parser: Parser) -> None:
    """What everything that computes points takes."""
    parser.option("--jobs", "N", "points at a time (all cores)", type=int)
    parser.option("--tools", "FOLDER", "where ashlarc and ashlar-run are")
    parser.option("--reuse", "FOLDER", "take over results of equal points from here", action="append",
                  default=[])
    parser.option("--retry", "", "compute points again that failed")
    parser.option("--quiet", "", "no progress line")


def run_main(tool: str, body: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Runs a tool; its exit code. Errors are one paragraph that begins with its name."""
    try:
        code = body(arguments)
        sys.stdout.flush()
        return int(code)
    except Failure as error:
        sys.stdout.flush()
        sys.stderr.write(f"{tool}: error: {error}\n")
        return int(error.code)
    except KeyboardInterrupt:
        sys.stderr.write(f"{tool}: stopped; results in a folder (-o) are kept, and the same command goes on\n")
        return 130
    except BrokenPipeError:
        # A reader that had enough is not an error; Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        sys.stderr.write(f"{tool}: error: no more memory\n")
        return int(Exit.CAPACITY)
    except Exception as error:
        # A bug of ours: the place of it is what a report needs.
        where = traceback.extract_tb(error.__traceback__)[-1]
        sys.stderr.write(f"{tool}: error: internal: {type(error).__name__}: {error} "
                         f"({os.path.basename(where.filename)}:{where.lineno}); please report it with the "
                         "command\n")
        return int(Exit.INTERNAL)
