# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ashlar-sweep."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from ..campaign.campaign import Campaign, Job, Words
from ..campaign.command import Parser
from ..campaign.errors import Exit
from ..campaign.files import write_json, write_whole
from ..campaign.store import Plan
from ..campaign.toolbox import Toolbox
from .config import read_sweep
from .execute import Executor, check_files
from .expand import KIND, make_plan
from .plots import available, draw, warm_up
from .table import as_csv, as_text, make_rows, row_names

TABLE = ("table.csv", "table.json")


class Sweep(Campaign):
    """Models x machines x options."""

    tool = "ashlar-sweep"
    kind = KIND
    words = Words(
        given="SWEEP.yaml", points="points",
        plan_about="Writes the points of a sweep.",
        submit_about="Computes a sweep as a Slurm job array, waits for it and merges.",
        whole_about="Compiles and runs models x machines x options; one table and plots.",
        folder="plan, results, table and plots",
        kept="plan, results, table and plots; an unfinished sweep resumes")
    keeps_report = True

    def request_options(self, parser: Parser) -> None:
        """The file says everything."""

    def report_options(self, parser: Parser) -> None:
        parser.option("strict", "", "fail if any point failed", group="report options")
        parser.option("no-plots", "", "write the table only", group="report options")

    def missing(self, options: SimpleNamespace) -> str:
        return "" if options.subject and options.output else "SWEEP.yaml and -o FOLDER"

    def make_plan(self, options: SimpleNamespace, tools: Toolbox, folder: Path) -> Plan:
        return make_plan(read_sweep(options.subject), tools, folder)

    def describe_plan(self, plan: Plan) -> str:
        return (f"{len(plan.body['rows'])} rows, {len(plan.body['machines'])} machines, "
                f"{plan.body['left_out']} combinations excluded")

    def prepare(self, options: SimpleNamespace) -> None:
        if not options.no_plots and available():
            warm_up()

    @contextmanager
    def job(self, plan: Plan, tools: Toolbox, results: Path) -> Iterator[Job]:
        check_files(plan)
        names: dict[int, str] = {}
        for row in plan.body["rows"]:
            names.setdefault(row["point"], f"{row['model']} on {row['machine']}")
        numbers = {point["id"]: index for index, point in enumerate(plan.points)}
        yield Job(Executor(plan, tools, results), lambda point: names[numbers[point["id"]]])

    def write(self, plan: Plan, results: list[dict], out: Path, plots: bool) -> tuple[list[dict], list[str]]:
        """Writes table and plots; the rows, and the names of the plots."""
        rows = make_rows(plan, results)
        write_whole(out / TABLE[0], as_csv(rows))
        write_json(out / TABLE[1], {"schema_version": 1, "kind": "sweep", "name": plan.body["name"], "rows": rows})
        drawn = []
        if plots and available():
            for plot in plan.body["plots"]:
                name = f"{plot['y']}-{plot['x']}.svg"
                write_whole(out / name, draw(plot, rows, row_names(plan)))
                drawn.append(name)
        return rows, drawn

    def report(self, plan: Plan, results: list[dict], out: Path, options: SimpleNamespace) -> int:
        plots = not options.no_plots
        rows, drawn = self.write(plan, results, out, plots)
        sys.stdout.write(as_text(rows, plan.body["left_out"]))
        sys.stdout.write(f"written to {out}: {', '.join([*TABLE, *drawn])}\n")
        if plots and not available():
            sys.stderr.write(f"{self.tool}: warning: no plots: install python3-matplotlib\n")
        failed = [result["exit"] for result in results if result["status"] != "ok"]
        if failed and (options.strict or len(failed) == len(results)):
            return failed[0]
        return Exit.OK


def main(arguments: Sequence[str]) -> int:
    """The exit code of a command line."""
    return Sweep().main(arguments)
