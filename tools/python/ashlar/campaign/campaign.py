# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands over many runs have in common: plan, run, merge, submit, and all of it at once."""

import os
import sys
import tempfile
from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .command import SUB_COMMANDS, Parser, common_options, run_main
from .errors import Exit, usage
from .runner import Work, check_tools, cores, run_points
from .shard import Shard, find_shard
from .slurm import SlurmJob, slurm_options, submit
from .store import RESULTS, Plan, Results, collect, read_plan, settle
from .toolbox import Toolbox, find_toolbox


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
    def missing(self, options: Namespace) -> str:
        """What a plan needs and is not given; empty if nothing."""

    @abstractmethod
    def make_plan(self, options: Namespace, tools: Toolbox, folder: Path) -> Plan:
        """The plan of what `options` ask for; its files are relative to `folder`."""

    @abstractmethod
    def describe_plan(self, plan: Plan) -> str:
        """Sizes of a plan."""

    @abstractmethod
    @contextmanager
    def job(self, plan: Plan, tools: Toolbox, results: Path) -> Iterator[Job]:
        """What computes the points, while it is open."""

    @abstractmethod
    def report(self, plan: Plan, results: list[dict], out: Path, options: Namespace) -> int:
        """Writes what is requested, to `out` where the command keeps its report, and prints the table."""

    def prepare(self, options: Namespace) -> None:
        """May begin what the report needs while the points are computed."""

    def _compute(self, plan: Plan, folder: Path, tools: Toolbox, options: Namespace, part: Shard) -> str:
        """Runs a shard; what to say about it."""
        check_tools(plan, tools)
        results = Results(folder, plan)
        with self.job(plan, tools, results.folder) as job:
            results.claim()
            taken = sum(results.adopt(other) for other in options.reuse)
            work = Work(tools, options.jobs or cores(), options.quiet, options.retry)
            done = run_points(plan, results, part, work, self.tool, job.compute, job.name)
        mine = sum(part.takes(i) for i in range(len(plan.points)))
        return (f"{part}: {mine} of {len(plan.points)} {self.words.points}, {done} computed, {mine - done} "
                "were there" + (f" ({taken} taken over)" if taken else ""))

    def _tools(self, options: Namespace) -> Toolbox:
        return find_toolbox(options.tools, sys.argv[0])

    def _planned(self, options: Namespace, folder: Path, tools: Toolbox) -> Plan:
        """The plan in a folder of its own."""
        plan = self.make_plan(options, tools, folder)
        settle(plan, folder)
        return plan

    def _require(self, options: Namespace) -> None:
        if missing := self.missing(options):
            raise usage(f"expected {missing}, see --help")

    def plan(self, arguments: Sequence[str]) -> int:
        """Writes the points."""
        parser = Parser(self.tool, f"{self.tool} plan {self.words.given} -o PLAN.json [options]",
                        self.words.plan_about)
        parser.add_argument("subject")
        parser.option("-o --output", "PLAN.json", "the plan", required=True)
        self.request_options(parser)
        parser.option("--tools", "FOLDER", "where ashlarc and ashlar-run are")
        options = parser.read(arguments)
        if options is None:
            return Exit.OK
        self._require(options)
        path = Path(options.output)
        plan = self.make_plan(options, self._tools(options), path.resolve().parent)
        plan.write(path)
        print(f"{path}: {len(plan.points)} {self.words.points}, {self.describe_plan(plan)}")
        return Exit.OK

    def run(self, arguments: Sequence[str]) -> int:
        """Computes a shard."""
        points = self.words.points
        parser = Parser(self.tool, f"{self.tool} run PLAN.json -o RESULTS [--shard=k/n] [options]",
                        f"Computes the {points} of a plan, or of a shard of it, that are not there yet.")
        parser.add_argument("plan")
        parser.option("-o --output", "RESULTS", "folder of results; several shards may share it", required=True)
        parser.option("--shard", "k/n", f"{points} i with i mod n = k (of the scheduler, else all)")
        common_options(parser)
        options = parser.read(arguments)
        if options is None:
            return Exit.OK
        print(self._compute(read_plan(options.plan, self.kind), Path(options.output), self._tools(options),
                            options, find_shard(options.shard, os.environ)))
        return Exit.OK

    def merge(self, arguments: Sequence[str]) -> int:
        """Puts results together."""
        folder = " -o FOLDER" if self.keeps_report else ""
        parser = Parser(self.tool, f"{self.tool} merge PLAN.json RESULTS...{folder} [options]",
                        "Puts the results of all shards together; refuses missing, duplicate and foreign "
                        f"{self.words.points}.")
        parser.add_argument("plan")
        parser.add_argument("results", nargs="+")
        if self.keeps_report:
            parser.option("-o --output", "FOLDER", "where table and plots go", required=True)
        self.report_options(parser)
        options = parser.read(arguments)
        if options is None:
            return Exit.OK
        plan = read_plan(options.plan, self.kind)
        out = Path(options.output if self.keeps_report else ".")
        return self.report(plan, collect(plan, options.results), out, options)

    def submit(self, arguments: Sequence[str]) -> int:
        """A Slurm job array, then the merge."""
        parser = Parser(self.tool, f"{self.tool} submit {self.words.given} -o FOLDER --shards=N [options]",
                        self.words.submit_about)
        parser.add_argument("subject")
        parser.option("-o --output", "FOLDER", f"{self.words.folder}; all nodes must see it", required=True)
        slurm_options(parser)
        self.request_options(parser)
        self.report_options(parser)
        common_options(parser)
        options = parser.read(arguments)
        if options is None:
            return Exit.OK
        self._require(options)
        folder, tools = Path(options.output), self._tools(options)
        plan = self._planned(options, folder, tools)
        submit(SlurmJob(self.tool, folder, options.shards, options.sbatch, tools.folder, options.jobs))
        return self.report(plan, collect(plan, [folder / RESULTS]), folder, options)

    def whole(self, arguments: Sequence[str]) -> int:
        """Everything in one command."""
        folder = " -o FOLDER" if self.keeps_report else ""
        parser = Parser(self.tool, f"{self.tool} {self.words.given}{folder} [options]",
                        self.words.whole_about, SUB_COMMANDS)
        parser.add_argument("subject", nargs="?")
        parser.option("-o --output", "FOLDER", self.words.kept)
        self.request_options(parser)
        self.report_options(parser)
        common_options(parser)
        options = parser.read(arguments)
        if options is None:
            return Exit.OK
        self._require(options)
        tools = self._tools(options)
        with tempfile.TemporaryDirectory(prefix="ashlar-") as scratch:
            folder = Path(options.output or scratch)
            plan = self._planned(options, folder, tools)
            self.prepare(options)
            self._compute(plan, folder / RESULTS, tools, options, Shard())
            return self.report(plan, collect(plan, [folder / RESULTS]), folder, options)

    def body(self, arguments: Sequence[str]) -> int:
        """Dispatches to the sub-command, if there is one."""
        commands = {"plan": self.plan, "run": self.run, "merge": self.merge, "submit": self.submit}
        if arguments and arguments[0] in commands:
            return commands[arguments[0]](arguments[1:])
        return self.whole(arguments)

    def main(self, arguments: Sequence[str]) -> int:
        """The exit code of a command line."""
        return run_main(self.tool, self.body, arguments)
