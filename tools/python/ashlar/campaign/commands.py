# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sub-commands of a campaign: plan, run, merge, submit, and all of it at once."""

import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from .command import SUB_COMMANDS, Parser, common_options, tool_options
from .errors import Exit, usage
from .shard import Shard, find_shard
from .slurm import SlurmJob, slurm_options, submit
from .store import RESULTS, Plan, collect, read_plan, settle
from .toolbox import Toolbox, find_toolbox

if TYPE_CHECKING:
    from .campaign import Campaign


class Command(ABC):
    """One sub-command: its options, and what it does with them."""

    def __init__(self, campaign: "Campaign") -> None:
        self.campaign, self.words, self.tool = campaign, campaign.words, campaign.tool

    @abstractmethod
    def parser(self) -> Parser:
        """The parser with the options of this command."""

    @abstractmethod
    def execute(self, options: SimpleNamespace) -> int:
        """The exit code."""

    def __call__(self, arguments: Sequence[str]) -> int:
        options = self.parser().read(arguments)
        return Exit.OK if options is None else self.execute(options)

    def tools(self, options: SimpleNamespace) -> Toolbox:
        return find_toolbox(options.tools, sys.argv[0])

    def require(self, options: SimpleNamespace) -> None:
        """Refuses a request that lacks something."""
        if missing := self.campaign.missing(options):
            raise usage(f"expected {missing}, see --help")

    def planned(self, options: SimpleNamespace, folder: Path, tools: Toolbox) -> Plan:
        """The plan in a folder of its own."""
        plan = self.campaign.make_plan(options, tools, folder)
        settle(plan, folder)
        return plan


class MakePlan(Command):
    """Writes the points."""

    def parser(self) -> Parser:
        parser = Parser(self.tool, f"{self.tool} plan {self.words.given} -o PLAN.json [options]",
                        self.words.plan_about)
        parser.positional("subject")
        parser.option("o", "PLAN.json", "the plan", key="output", required=True)
        self.campaign.request_options(parser)
        tool_options(parser)
        return parser

    def execute(self, options: SimpleNamespace) -> int:
        self.require(options)
        path = Path(options.output)
        plan = self.campaign.make_plan(options, self.tools(options), path.resolve().parent)
        plan.write(path)
        print(f"{path}: {len(plan.points)} {self.words.points}, {self.campaign.describe_plan(plan)}")
        return Exit.OK


class Run(Command):
    """Computes a shard."""

    def parser(self) -> Parser:
        points = self.words.points
        parser = Parser(self.tool, f"{self.tool} run PLAN.json -o RESULTS [--shard=k/n] [options]",
                        f"Computes the {points} of a plan, or of a shard of it, that are not there yet.")
        parser.positional("plan")
        parser.option("o", "RESULTS", "folder of results; several shards may share it", key="output", required=True)
        parser.option("shard", "k/n", f"{points} i with i mod n = k (of the scheduler, else all)")
        common_options(parser)
        return parser

    def execute(self, options: SimpleNamespace) -> int:
        plan = read_plan(options.plan, self.campaign.kind)
        print(self.campaign.compute(plan, Path(options.output), self.tools(options), options,
                                    find_shard(options.shard, os.environ)))
        return Exit.OK


class Merge(Command):
    """Puts results together."""

    def parser(self) -> Parser:
        folder = " -o FOLDER" if self.campaign.keeps_report else ""
        parser = Parser(self.tool, f"{self.tool} merge PLAN.json RESULTS...{folder} [options]",
                        "Puts the results of all shards together; refuses missing, duplicate and foreign "
                        f"{self.words.points}.")
        parser.positional("plan")
        parser.positional("results", many=True)
        if self.campaign.keeps_report:
            parser.option("o", "FOLDER", "where table and plots go", key="output", required=True)
        self.campaign.report_options(parser)
        return parser

    def execute(self, options: SimpleNamespace) -> int:
        plan = read_plan(options.plan, self.campaign.kind)
        out = Path(options.output if self.campaign.keeps_report else ".")
        return self.campaign.report(plan, collect(plan, options.results), out, options)


class Submit(Command):
    """A Slurm job array, then the merge."""

    def parser(self) -> Parser:
        parser = Parser(self.tool, f"{self.tool} submit {self.words.given} -o FOLDER --shards=N [options]",
                        self.words.submit_about)
        parser.positional("subject")
        parser.option("o", "FOLDER", f"{self.words.folder}; all nodes must see it", key="output", required=True)
        slurm_options(parser)
        self.campaign.request_options(parser)
        self.campaign.report_options(parser)
        common_options(parser)
        return parser

    def execute(self, options: SimpleNamespace) -> int:
        self.require(options)
        folder, tools = Path(options.output), self.tools(options)
        plan = self.planned(options, folder, tools)
        submit(SlurmJob(self.tool, folder, options.shards, options.sbatch, tools.folder, options.jobs))
        return self.campaign.report(plan, collect(plan, [folder / RESULTS]), folder, options)


class Whole(Command):
    """Everything in one command."""

    def parser(self) -> Parser:
        folder = " -o FOLDER" if self.campaign.keeps_report else ""
        parser = Parser(self.tool, f"{self.tool} {self.words.given}{folder} [options]",
                        self.words.whole_about, SUB_COMMANDS)
        parser.positional("subject")
        parser.option("o", "FOLDER", self.words.kept, key="output")
        self.campaign.request_options(parser)
        self.campaign.report_options(parser)
        common_options(parser)
        return parser

    def execute(self, options: SimpleNamespace) -> int:
        self.require(options)
        tools = self.tools(options)
        with tempfile.TemporaryDirectory(prefix="ashlar-") as scratch:
            folder = Path(options.output or scratch)
            plan = self.planned(options, folder, tools)
            self.campaign.prepare(options)
            self.campaign.compute(plan, folder / RESULTS, tools, options, Shard())
            return self.campaign.report(plan, collect(plan, [folder / RESULTS]), folder, options)


COMMANDS: dict[str, type[Command]] = {"plan": MakePlan, "run": Run, "merge": Merge, "submit": Submit}
