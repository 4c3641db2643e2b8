# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines that look and end like those of the other tools."""

import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .errors import Exit, Failure, usage
from .option_table import GENERAL, LINE_WIDTH, Option, OptionTable, Positional
from .toolbox import find_toolbox

RESULT_OPTIONS = "result options"
SUB_COMMANDS = "sub-commands, each with --help: plan, run, merge (parts of it), submit (Slurm)\n\n"
EXIT_CODES = """exit codes: 0 ok, 1 internal, 2 usage, 3 unsupported, 4 malformed input,
            5 capacity, 6 mismatch"""


class Parser:
    """The options of a command, what --help says besides, and what every command has."""

    def __init__(self, tool: str, usage_line: str, about: str, notes: str = "") -> None:
        self.tool, self.usage, self.about, self.notes = tool, usage_line, about, notes
        self.table = OptionTable()
        self.option("help", "", "print this", group=GENERAL)
        self.option("version", "", "print the version", group=GENERAL)

    def option(self, name: str, what: str, words: str, **keywords: Any) -> None:
        """One option; the keywords are the fields of Option."""
        self.table.options.append(Option(name, what, words, **keywords))

    def positional(self, attribute: str, many: bool = False) -> None:
        """An argument without a name."""
        self.table.positionals.append(Positional(attribute, many))

    def describe(self) -> str:
        """The text of --help."""
        about = textwrap.fill(self.about, LINE_WIDTH)
        return f"usage: {self.usage}\n\n{about}\n\n{self.table.describe()}\n{self.notes}{EXIT_CODES}\n"

    def read(self, arguments: Sequence[str]) -> SimpleNamespace | None:
        """The options; None if they only requested help or the version."""
        options = self.table.parse(["--help" if word == "-h" else word for word in arguments])
        if options.help:
            sys.stdout.write(self.describe())
            return None
        if options.version:
            # The version is that of the tools that do the work.
            said = find_toolbox(None, sys.argv[0]).run("ashlarc", ["--version"], ".")
            sys.stdout.write(said.replace("ashlarc", self.tool, 1))
            return None
        for option in self.table.options:
            if option.required and getattr(options, option.attribute) is None:
                raise usage(f"expected {option.form()}, see --help")
        for positional in self.table.positionals:
            if not getattr(options, positional.attribute):
                raise usage(f"expected {self.usage.removeprefix(self.tool).strip()}, see --help")
        return options


def tool_options(parser: Parser) -> None:
    """What everything that calls the tools takes."""
    parser.option("tools", "FOLDER", "folder that has ashlarc and ashlar-run", group=GENERAL)


def common_options(parser: Parser) -> None:
    """What everything that computes points takes."""
    tool_options(parser)
    parser.option("jobs", "N", "number of points computed in parallel (all cores)", group=GENERAL, number=True)
    parser.option("reuse", "FOLDER", "reuse results of equal points from this folder; repeat for several",
                  group=RESULT_OPTIONS, repeats=True)
    parser.option("retry", "", "compute failed points again", group=RESULT_OPTIONS)
    parser.option("quiet", "", "no progress line", group=GENERAL)


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
        sys.stderr.write(f"{tool}: stopped; results in a folder (-o) are kept, and the same command resumes\n")
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
