# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ashlar-sweep."""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ..campaign.command import SUB_COMMANDS, Parser, common_options, run_main
from ..campaign.errors import Exit, usage
from ..campaign.files import write_json, write_whole
from ..campaign.runner import Work, check_tools, cores, run_points
from ..campaign.shard import Shard, find_shard
from ..campaign.slurm import SlurmJob, slurm_options, submit
from ..campaign.store import RESULTS, Plan, Results, collect, read_plan, settle
from ..campaign.toolbox import Toolbox, find_toolbox
from .config import read_sweep
from .execute import Executor, check_files
from .expand import KIND, make_plan
from .plots import available, draw, warm_up
from .table import as_csv, as_text, make_rows

TOOL = "ashlar-sweep"
TABLE = ("table.csv", "table.json")


def _tools(options: Namespace) -> Toolbox:
    return find_toolbox(options.tools, sys.argv[0])


def _compute(plan: Plan, folder: Path, tools: Toolbox, options: Namespace, part: Shard) -> str:
    """Runs a shard; what to say about it."""
    check_tools(plan, tools)
    check_files(plan)
    results = Results(folder, plan)
    results.claim()
    taken = sum(results.adopt(other) for other in options.reuse)
    work = Work(tools, options.jobs or cores(), options.quiet, options.retry)
    names: dict[int, str] = {}
    for row in plan.body["rows"]:
        names.setdefault(row["point"], f"{row['model']} on {row['machine']}")
    numbers = {point["id"]: index for index, point in enumerate(plan.points)}
    done = run_points(plan, results, part, work, TOOL, Executor(plan, tools, results.folder),
                      lambda point: names[numbers[point["id"]]])
    mine = sum(part.takes(i) for i in range(len(plan.points)))
    return (f"{part}: {mine} of {len(plan.points)} points, {done} computed, {mine - done} were there"
            + (f" ({taken} taken over)" if taken else ""))


def _merge(plan: Plan, folders: Sequence[Path | str], out: Path, strict: bool, plots: bool = True) -> int:
    """Writes table and plots; prints the table."""
    results = collect(plan, folders)
    rows = make_rows(plan, results)
    write_whole(out / TABLE[0], as_csv(rows))
    write_json(out / TABLE[1], {"schema_version": 1, "kind": "sweep", "name": plan.body["name"], "rows": rows})
    drawn = []
    if plots and available():
        for plot in plan.body["plots"]:
            name = f"{plot['y']}-{plot['x']}.svg"
            write_whole(out / name, draw(plot, rows))
            drawn.append(name)
    sys.stdout.write(as_text(rows, plan.body["left_out"]))
    sys.stdout.write(f"written to {out}: {', '.join([*TABLE, *drawn])}\n")
    if plots and not available():
        sys.stderr.write(f"{TOOL}: warning: no plots: install python3-matplotlib\n")
    failed = [result["exit"] for result in results if result["status"] != "ok"]
    if failed and (strict or len(failed) == len(results)):
        return failed[0]
    return Exit.OK


def plan_command(arguments: Sequence[str]) -> int:
    """ashlar-sweep plan: writes the points."""
    parser = Parser(TOOL, f"{TOOL} plan SWEEP.yaml -o PLAN.json [options]", "Writes the points of a sweep.")
    parser.add_argument("sweep")
    parser.option("-o --output", "PLAN.json", "the plan", required=True)
    parser.option("--tools", "FOLDER", "where ashlarc and ashlar-run are")
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    path = Path(options.output)
    plan = make_plan(read_sweep(options.sweep), _tools(options), path.resolve().parent)
    plan.write(path)
    print(f"{path}: {len(plan.points)} points, {len(plan.body['rows'])} rows, "
          f"{len(plan.body['machines'])} machines, {plan.body['left_out']} combinations left out")
    return Exit.OK


def run_command(arguments: Sequence[str]) -> int:
    """ashlar-sweep run: computes a shard."""
    parser = Parser(TOOL, f"{TOOL} run PLAN.json -o RESULTS [--shard=k/n] [options]",
                    "Computes the points of a plan, or of a shard of it, that are not there yet.")
    parser.add_argument("plan")
    parser.option("-o --output", "RESULTS", "folder of results; several shards may share it", required=True)
    parser.option("--shard", "k/n", "points i with i mod n = k (of the scheduler, else all)")
    common_options(parser)
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    said = _compute(read_plan(options.plan, KIND), Path(options.output), _tools(options), options,
                    find_shard(options.shard, os.environ))
    print(said)
    return Exit.OK


def merge_command(arguments: Sequence[str]) -> int:
    """ashlar-sweep merge: table and plots of all results."""
    parser = Parser(TOOL, f"{TOOL} merge PLAN.json RESULTS... -o FOLDER [options]",
                    "Puts the results of all shards together; refuses missing, duplicate and foreign points.")
    parser.add_argument("plan")
    parser.add_argument("results", nargs="+")
    parser.option("-o --output", "FOLDER", "where table and plots go", required=True)
    parser.option("--strict", "", "a failed point decides the exit code")
    parser.option("--no-plots", "", "the table alone")
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    return _merge(read_plan(options.plan, KIND), options.results, Path(options.output), options.strict,
                  not options.no_plots)


def submit_command(arguments: Sequence[str]) -> int:
    """ashlar-sweep submit: a Slurm job array, then the merge."""
    parser = Parser(TOOL, f"{TOOL} submit SWEEP.yaml -o FOLDER --shards=N [options]",
                    "Computes a sweep as a Slurm job array, waits for it and merges.")
    parser.add_argument("sweep")
    parser.option("-o --output", "FOLDER", "plan, results, table and plots; all nodes must see it", required=True)
    slurm_options(parser)
    common_options(parser)
    parser.option("--strict", "", "a failed point decides the exit code")
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    folder, tools = Path(options.output), _tools(options)
    plan = _planned(options.sweep, folder, tools)
    submit(SlurmJob(TOOL, folder, options.shards, options.sbatch, tools.folder, options.jobs))
    return _merge(plan, [folder / RESULTS], folder, options.strict)


def _planned(sweep: str, folder: Path, tools: Toolbox) -> Plan:
    """The plan of a sweep in its own folder."""
    plan = make_plan(read_sweep(sweep), tools, folder)
    settle(plan, folder)
    return plan


def whole_command(arguments: Sequence[str]) -> int:
    """ashlar-sweep SWEEP.yaml: everything in one command."""
    parser = Parser(TOOL, f"{TOOL} SWEEP.yaml -o FOLDER [options]",
                    "Compiles and runs models x machines x options; one table and plots.", SUB_COMMANDS)
    parser.add_argument("sweep", nargs="?")
    parser.option("-o --output", "FOLDER", "plan, results, table and plots; an unfinished sweep goes on")
    common_options(parser)
    parser.option("--strict", "", "a failed point decides the exit code")
    parser.option("--no-plots", "", "the table alone")
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    if not options.sweep or not options.output:
        raise usage("expected SWEEP.yaml and -o FOLDER, see --help")
    folder, tools = Path(options.output), _tools(options)
    plan = _planned(options.sweep, folder, tools)
    if not options.no_plots and available():
        warm_up()
    _compute(plan, folder / RESULTS, tools, options, Shard())
    return _merge(plan, [folder / RESULTS], folder, options.strict, not options.no_plots)


COMMANDS = {"plan": plan_command, "run": run_command, "merge": merge_command, "submit": submit_command}


def body(arguments: Sequence[str]) -> int:
    """Dispatches to the sub-command, if there is one."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    return whole_command(arguments)


def main(arguments: Sequence[str]) -> int:
    """The exit code of a command line."""
    return run_main(TOOL, body, arguments)
