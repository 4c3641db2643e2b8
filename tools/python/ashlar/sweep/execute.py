# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes one point of a sweep: compiles, runs, keeps the figures."""

import tempfile
from pathlib import Path

from ..campaign.errors import malformed
from ..campaign.figures import run_figures
from ..campaign.files import file_digest, read_json
from ..campaign.models import model_digest
from ..campaign.options import option_arguments
from ..campaign.programs import Programs
from ..campaign.store import Plan
from ..campaign.toolbox import Toolbox
from .expand import BUILT_IN_TABLES


def check_files(plan: Plan) -> None:
    """Refuses files that changed since the plan was made."""
    models = {point["model"] for point in plan.points}
    for name, wanted in plan.body["files"].items():
        path = plan.resolve(name)
        found = model_digest(path) if name in models else file_digest(path)
        if found != wanted:
            raise malformed(f"{path}: changed since the plan was made; make the plan again")


class Executor:
    """Runs points of one plan with the tools."""

    def __init__(self, plan: Plan, tools: Toolbox, folder: Path) -> None:
        self.plan, self.tools = plan, tools
        self.programs = Programs(tools, folder)

    def __call__(self, point: dict, threads: int) -> dict:
        with tempfile.TemporaryDirectory(prefix="ashlar-") as name:
            scratch = Path(name)
            hidden = {name + "/": "", str(self.plan.resolve(point["model"])): Path(point["model"]).name}
            machine = scratch / "machine.yaml"
            machine.write_text(self.plan.body["machines"][point["machine"]]["text"], encoding="utf-8")
            program, figures = self.programs.compile(
                point["program"],
                [str(self.plan.resolve(point["model"])), f"--machine={machine}",
                 *option_arguments(point["options"], self.plan.folder)],
                scratch, hidden, threads)
            return {"status": "ok", **self._measure(point, program, figures, scratch, hidden, threads)}

    def _measure(self, point: dict, program: Path, figures: dict, scratch: Path,
                 hidden: dict[str, str], threads: int) -> dict:
        report, table = scratch / "report.json", point["energy"]
        given = (f"--inputs={self.plan.resolve(point['inputs'])}" if point["inputs"]
                 else f"--random-inputs={point['seed']}")
        if table not in BUILT_IN_TABLES:
            table = str(self.plan.resolve(table))
        self.tools.run("ashlar-run", [str(program), given, f"--report={report}", "--quiet",
                                      f"--energy-table={table}", f"--threads={threads}"],
                       scratch, {**hidden, str(program): "the program"})
        return {**figures, **run_figures(read_json(report))}
