# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands over many runs have in common: plan, run, merge, submit, and all of it at once."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from .command import Parser, run_main
from .commands import COMMANDS, Whole
from .errors import usage
from .runner import Work, check_tools, cores, run_points
from .shard import Shard
from .spelling import did_you_mean
from .store import Plan, Results
from .toolbox import Toolbox


@dataclass(frozen=True)
class Words:
    """What a campaign calls its things, in usage lines and help."""

    given: str  # what a plan is made of, as the usage line has it
    points: str  # what a plan divides the work into
    plan_about: str
    submit_about: str
    whole_about: str
    folder: str  # what the folder of everything holds
    kept: str  # the help of -o of the whole command


@dataclass(frozen=True)
class Job:
    """How the points of a plan are computed, and what the line of progress calls them."""

    compute: Callable[[dict, int], dict]  # a point and a number of threads
    name: Callable[[dict], str]


class Campaign(ABC):
    """A command that makes a plan of points, computes them and merges the results."""

    tool: str
    kind: str
    words: Words
    keeps_report = False  # Whether reports go to the folder -o, which the command needs then.

    @abstractmethod
    def request_options(self, parser: Parser) -> None:
        """Options that say what the plan is made of, in addition to the positional argument."""

    @abstractmethod
    def report_options(self, parser: Parser) -> None:
        """Options of what merge writes."""

    @abstractmethod
    def missing(self, options: SimpleNamespace) -> str:
        """What a plan needs and is not given; empty if nothing."""

    @abstractmethod
    def make_plan(self, options: SimpleNamespace, tools: Toolbox, folder: Path) -> Plan:
        """The plan that `options` request; its files are relative to `folder`."""

    @abstractmethod
    def describe_plan(self, plan: Plan) -> str:
        """Sizes of a plan."""

    @abstractmethod
    @contextmanager
    def job(self, plan: Plan, tools: Toolbox, results: Path) -> Iterator[Job]:
        """What computes the points, while it is open."""

    @abstractmethod
    def report(self, plan: Plan, results: list[dict], out: Path, options: SimpleNamespace) -> int:
        """Writes what is requested, to `out` where the command keeps its report, and prints the table."""

    def prepare(self, options: SimpleNamespace) -> None:
        """May begin what the report needs while the points are computed."""

    def compute(self, plan: Plan, folder: Path, tools: Toolbox, options: SimpleNamespace, part: Shard) -> str:
        """Runs a shard; what to say about it."""
        check_tools(plan, tools)
        results = Results(folder, plan)
        with self.job(plan, tools, results.folder) as job:
            results.claim()
            taken = sum(results.adopt(other) for other in options.reuse)
            work = Work(tools, options.jobs or cores(), options.quiet, options.retry)
            done = run_points(plan, results, part, work, f"{self.tool}: {self.words.points}", job.compute, job.name)
        mine = sum(part.takes(i) for i in range(len(plan.points)))
        return (f"{part}: {mine} of {len(plan.points)} {self.words.points}, {done} computed, {mine - done} "
                "were there" + (f" ({taken} taken over)" if taken else ""))

    def body(self, arguments: Sequence[str]) -> int:
        """Dispatches to the sub-command, if there is one."""
        named = arguments[0] if arguments else ""
        command = COMMANDS.get(named)
        meant = did_you_mean(named, COMMANDS)
        if not command and meant and not os.path.exists(named):
            raise usage(f"'{named}' is neither a sub-command nor a file{meant}")
        return command(self)(arguments[1:]) if command else Whole(self)(arguments)

    def main(self, arguments: Sequence[str]) -> int:
        """The exit code of a command line."""
        return run_main(self.tool, self.body, arguments)
