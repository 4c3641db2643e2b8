# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ashlar-eval."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..campaign.campaign import Campaign, Job, Words
from ..campaign.command import Parser
from ..campaign.errors import Exit
from ..campaign.files import write_json, write_whole
from ..campaign.store import Plan
from ..campaign.toolbox import Toolbox
from .execute import Executor
from .plan import KIND, Request, make_plan
from .table import Merged, as_csv, as_json, as_text, make_rows, samples_csv


class Evaluation(Campaign):
    """Slices of a data set, fp32 and every format and machine."""

    tool = "ashlar-eval"
    kind = KIND
    words = Words(
        given="MODEL.onnx --data=PATH", points="slices",
        plan_about="Writes the slices of an evaluation.",
        submit_about="Evaluates as a Slurm job array, waits for it and merges.",
        whole_about="Accuracy and latency of a model over a data set: fp32 against formats.",
        folder="plan and results",
        kept="keep plan and results here; an unfinished evaluation resumes")

    def request_options(self, parser: Parser) -> None:
        def data(name: str, what: str, words: str, **keywords: Any) -> None:
            parser.option(name, what, words, group="data options", **keywords)

        data("data", "PATH", "folder of images, .npz, or a folder with the files of MNIST or CIFAR")
        data("labels", "FILE", "labels of a folder: lines of file and label, or boxes as COCO's JSON")
        data("recipe", "NAME|FILE.yaml", "preprocessing of images and meaning of outputs")
        data("limit", "N", "use only the first N samples", number=True)
        data("split", "NAME", "which part of the data set:", values=("test", "train"), default="test")
        data("calibrate", "N", "number of calibration samples, which are not evaluated (8 if needed)", number=True)
        parser.option("formats", "LIST", "comma-separated formats, auto, or tables FILE.json (bfp8)",
                      default="bfp8")
        parser.option("machine", "LIST", "comma-separated machines (a1)", default="a1")
        parser.option("reference", "NAME", "what computes the fp32 reference:", values=("auto", "onnxruntime", "ashlar"),
                      default="auto")
        parser.option("input-shape", "NAME=1x3x224x224", "static shape of an input, or sizes of dimensions as in batch=1,seq=128; repeat",
                      repeats=True)
        parser.option("option", "NAME=VALUE", "an option for ashlarc, such as scale=table; repeat for several",
                      repeats=True)

    def report_options(self, parser: Parser) -> None:
        def report(name: str, what: str, words: str) -> None:
            parser.option(name, what, words, group="report options")

        report("json", "FILE", "the table as JSON")
        report("csv", "FILE", "the table as CSV")
        report("samples", "FILE.csv", "one line per sample and format, as CSV")
        report("skip-bad", "", "succeed even if samples could not be used")

    def missing(self, options: SimpleNamespace) -> str:
        if not options.subject:
            return "MODEL.onnx and --data=PATH"
        return "" if options.data else "--data=PATH"

    def make_plan(self, options: SimpleNamespace, tools: Toolbox, folder: Path) -> Plan:
        request = Request(options.subject, options.data, options.labels, options.recipe, options.formats,
                          options.machine, options.reference, options.limit, options.calibrate, options.split,
                          options.input_shape, options.option)
        return make_plan(request, tools, folder)

    def describe_plan(self, plan: Plan) -> str:
        return f"{len(plan.body['judged'])} samples, {len(plan.body['configurations'])} formats"

    @contextmanager
    def job(self, plan: Plan, tools: Toolbox, results: Path) -> Iterator[Job]:
        executor = Executor(plan, tools, results)
        try:
            yield Job(executor, lambda point: f"samples {point['begin']} to {point['end'] - 1}")
        finally:
            executor.reference.close()

    def report(self, plan: Plan, results: list[dict], out: Path, options: SimpleNamespace) -> int:
        merged = Merged(plan, results)
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


def main(arguments: Sequence[str]) -> int:
    """The exit code of a command line."""
    return Evaluation().main(arguments)
