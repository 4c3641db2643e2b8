# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ashlar-eval."""

import os
import sys
import tempfile
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
from .execute import Executor
from .plan import KIND, Request, make_plan
from .table import Merged, as_csv, as_json, as_text, make_rows, samples_csv

TOOL = "ashlar-eval"


def _request_options(parser: Parser) -> None:
    parser.option("--data", "PATH", "folder of images, .npz, or a folder with the files of MNIST or CIFAR")
    parser.option("--labels", "FILE", "labels of a folder: lines of file and label, or boxes as COCO's JSON")
    parser.option("--recipe", "NAME|FILE.yaml", "how images become inputs, and what outputs mean")
    parser.option("--formats", "LIST", "formats between commas; auto and tables FILE.json too (bfp8)", default="bfp8")
    parser.option("--machine", "LIST", "machines between commas (a1)", default="a1")
    parser.option("--reference", "NAME", "fp32 by auto, onnxruntime or ashlar (auto)", default="auto")
    parser.option("--limit", "N", "the first N samples only", type=int)
    parser.option("--split", "NAME", "test or train, where a data set has both (test)", default="test")
    parser.option("--calibrate", "N", "samples that calibrate and are not judged (8 where needed)", type=int)
    parser.option("--input-shape", "NAME=1x3x224x224", "static shape of an input; repeat for several",
                  action="append", default=[])
    parser.option("--option", "NAME=VALUE", "an option of ashlarc, as scale=table; repeat for several",
                  action="append", default=[])


def _report_options(parser: Parser) -> None:
    parser.option("--json", "FILE", "the table as JSON")
    parser.option("--csv", "FILE", "the table as CSV")
    parser.option("--samples", "FILE.csv", "one line per sample and format")
    parser.option("--skip-bad", "", "samples that cannot be used do not decide the exit code")


def _request(model: str, options: Namespace) -> Request:
    if not options.data:
        raise usage("expected --data=PATH, see --help")
    return Request(model, options.data, options.labels, options.recipe, options.formats, options.machine,
                   options.reference, options.limit, options.calibrate, options.split, options.input_shape,
                   options.option)


def _compute(plan: Plan, folder: Path, tools: Toolbox, options: Namespace, part: Shard) -> str:
    """Runs a shard; what to say about it."""
    check_tools(plan, tools)
    results = Results(folder, plan)
    results.claim()
    taken = sum(results.adopt(other) for other in options.reuse)
    work = Work(tools, options.jobs or cores(), options.quiet, options.retry)
    executor = Executor(plan, tools, results.folder)
    try:
        done = run_points(plan, results, part, work, TOOL, executor,
                          lambda point: f"samples {point['begin']} to {point['end'] - 1}")
    finally:
        executor.reference.close()
    mine = sum(part.takes(i) for i in range(len(plan.points)))
    return (f"{part}: {mine} of {len(plan.points)} slices, {done} computed, {mine - done} were there"
            + (f" ({taken} taken over)" if taken else ""))


def _merge(plan: Plan, folders: Sequence[Path | str], options: Namespace) -> int:
    """Writes what is asked for; prints the table."""
    merged = Merged(plan, collect(plan, folders))
    rows = make_rows(merged)
    if options.json:
        write_json(options.json, as_json(merged, rows))
    if options.csv:
        write_whole(options.csv, as_csv(rows))
    if options.samples:
        write_whole(options.samples, samples_csv(merged))
    sys.stdout.write(as_text(merged, rows))
    if not merged.kept or (merged.bad and not options.skip_bad):
        return Exit.MALFORMED
    failures = [row["exit"] for row in rows if "failed" in row]
    return failures[0] if failures else Exit.OK


def plan_command(arguments: Sequence[str]) -> int:
    """ashlar-eval plan: writes the slices."""
    parser = Parser(TOOL, f"{TOOL} plan MODEL.onnx --data=PATH -o PLAN.json [options]",
                    "Writes the slices of an evaluation.")
    parser.add_argument("model")
    parser.option("-o --output", "PLAN.json", "the plan", required=True)
    _request_options(parser)
    parser.option("--tools", "FOLDER", "where ashlarc and ashlar-run are")
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    path = Path(options.output)
    plan = make_plan(_request(options.model, options), find_toolbox(options.tools, sys.argv[0]),
                     path.resolve().parent)
    plan.write(path)
    print(f"{path}: {len(plan.points)} slices, {len(plan.body['judged'])} samples, "
          f"{len(plan.body['configurations'])} formats")
    return Exit.OK


def run_command(arguments: Sequence[str]) -> int:
    """ashlar-eval run: computes a shard."""
    parser = Parser(TOOL, f"{TOOL} run PLAN.json -o RESULTS [--shard=k/n] [options]",
                    "Computes the slices of a plan, or of a shard of it, that are not there yet.")
    parser.add_argument("plan")
    parser.option("-o --output", "RESULTS", "folder of results; several shards may share it", required=True)
    parser.option("--shard", "k/n", "slices i with i mod n = k (of the scheduler, else all)")
    common_options(parser)
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    print(_compute(read_plan(options.plan, KIND), Path(options.output), find_toolbox(options.tools, sys.argv[0]),
                   options, find_shard(options.shard, os.environ)))
    return Exit.OK


def merge_command(arguments: Sequence[str]) -> int:
    """ashlar-eval merge: the table of all results."""
    parser = Parser(TOOL, f"{TOOL} merge PLAN.json RESULTS... [options]",
                    "Puts the results of all shards together; refuses missing, duplicate and foreign slices.")
    parser.add_argument("plan")
    parser.add_argument("results", nargs="+")
    _report_options(parser)
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    return _merge(read_plan(options.plan, KIND), options.results, options)


def _planned(request: Request, folder: Path, tools: Toolbox) -> Plan:
    """The plan of an evaluation in its own folder."""
    plan = make_plan(request, tools, folder)
    settle(plan, folder)
    return plan


def submit_command(arguments: Sequence[str]) -> int:
    """ashlar-eval submit: a Slurm job array, then the merge."""
    parser = Parser(TOOL, f"{TOOL} submit MODEL.onnx --data=PATH -o FOLDER --shards=N [options]",
                    "Evaluates as a Slurm job array, waits for it and merges.")
    parser.add_argument("model")
    parser.option("-o --output", "FOLDER", "plan and results; all nodes must see it", required=True)
    slurm_options(parser)
    _request_options(parser)
    _report_options(parser)
    common_options(parser)
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    folder, tools = Path(options.output), find_toolbox(options.tools, sys.argv[0])
    plan = _planned(_request(options.model, options), folder, tools)
    submit(SlurmJob(TOOL, folder, options.shards, options.sbatch, tools.folder, options.jobs))
    return _merge(plan, [folder / RESULTS], options)


def whole_command(arguments: Sequence[str]) -> int:
    """ashlar-eval MODEL.onnx: everything in one command."""
    parser = Parser(TOOL, f"{TOOL} MODEL.onnx --data=PATH [options]",
                    "Accuracy and latency of a model over a data set: fp32 against formats.", SUB_COMMANDS)
    parser.add_argument("model", nargs="?")
    parser.option("-o --output", "FOLDER", "keeps plan and results there; an unfinished evaluation goes on")
    _request_options(parser)
    _report_options(parser)
    common_options(parser)
    options = parser.read(arguments)
    if options is None:
        return Exit.OK
    if not options.model:
        raise usage("expected MODEL.onnx and --data=PATH, see --help")
    request, tools = _request(options.model, options), find_toolbox(options.tools, sys.argv[0])
    with tempfile.TemporaryDirectory(prefix="ashlar-") as scratch:
        folder = Path(options.output or scratch)
        plan = _planned(request, folder, tools)
        _compute(plan, folder / RESULTS, tools, options, Shard())
        return _merge(plan, [folder / RESULTS], options)


COMMANDS = {"plan": plan_command, "run": run_command, "merge": merge_command, "submit": submit_command}


def body(arguments: Sequence[str]) -> int:
    """Dispatches to the sub-command, if there is one."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    return whole_command(arguments)


def main(arguments: Sequence[str]) -> int:
    """The exit code of a command line."""
    return run_main(TOOL, body, arguments)
