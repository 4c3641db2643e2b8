# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes a slice: samples through the reference and every configuration."""

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ..campaign.errors import malformed
from ..campaign.figures import run_figures
from ..campaign.files import read_json
from ..campaign.models import model_digest
from ..campaign.options import option_arguments
from ..campaign.programs import Programs
from ..campaign.runner import failed
from ..campaign.store import Plan
from ..campaign.toolbox import Toolbox, ToolFailure
from . import reference
from .images import BadSample, prepare
from .judge import Outputs, against, figures, task_outputs
from .model import Signature, fitted, rows_of, stack, varying_outputs
from .plan import needs_calibration, options_of, recipe_of, reopened, task_of


class Executor:
    """Runs slices of one plan with the tools."""

    def __init__(self, plan: Plan, tools: Toolbox, folder: Path) -> None:
        self.plan, self.tools = plan, tools
        self.model = plan.resolve(plan.body["model"])
        if model_digest(self.model) != plan.body["model_digest"]:
            raise malformed(f"{self.model}: changed since the plan was made; make the plan again")
        self.samples, self.recipe, self.task = reopened(plan), recipe_of(plan), task_of(plan)
        self.signature = Signature.of(plan.body["signature"])
        self.names = task_outputs(self.task, self.signature.outputs)
        self.varying = varying_outputs(self.model)
        self.programs = Programs(tools, folder)
        self.reference = reference.make(plan.body["reference"], tools, self.signature)
        self.lock = threading.Lock()
        self.calibration: dict[str, np.ndarray] | None = None

    def sample(self, index: int) -> dict[str, np.ndarray]:
        """A sample as the model wants it; BadSample says why it cannot be."""
        loaded = self.samples.load(index)
        if isinstance(loaded, dict):
            if self.recipe and len(loaded) == 1 and (image := next(iter(loaded.values()))).dtype == np.uint8 \
                    and image.ndim == 3:
                loaded = {"": prepare(image, self.recipe)}
        elif self.recipe is None:
            raise BadSample("an image, and no recipe")
        else:
            loaded = {"": prepare(loaded, self.recipe)}
        return fitted(self.signature, loaded)

    def _good(self, indices: list[int]) -> tuple[list[int], list[dict], list[list]]:
        """Indices and inputs of the samples that are usable, and the others with why."""
        kept, inputs, bad = [], [], []
        for index in indices:
            try:
                inputs.append(self.sample(index))
                kept.append(index)
            except BadSample as error:
                bad.append([index, str(error)])
        return kept, inputs, bad

    def __call__(self, point: dict, threads: int) -> dict:
        kept, inputs, bad = self._good(self.plan.body["judged"][point["begin"]:point["end"]])
        result: dict[str, Any] = {"status": "ok", "kept": kept, "bad": bad, "figures": {}, "timing": {},
                                  "failed": {}}
        if not kept:
            return result
        with tempfile.TemporaryDirectory(prefix="ashlar-") as name:
            scratch = Path(name)
            stacked = stack(self.signature, inputs)
            wanted = self._rows(self.reference.run(self.model, stacked, scratch), len(kept))
            result["figures"]["fp32"] = self._figures(wanted, kept)
            for configuration in self.plan.body["configurations"]:
                try:
                    found, timing = self._run(configuration, scratch, stacked, len(kept), point["begin"] == 0,
                                              threads)
                except ToolFailure as error:
                    result["failed"][configuration["name"]] = failed(error)
                    continue
                result["figures"][configuration["name"]] = {
                    **self._figures(found, kept), **against(self.names, wanted, found)}
                if timing:
                    result["timing"][configuration["name"]] = timing
        return result

    def _rows(self, outputs: Outputs, count: int) -> Outputs:
        return {name: rows_of(name, outputs[name], self.signature, count) for name in self.names}

    def _figures(self, outputs: Outputs, kept: list[int]) -> dict[str, Any]:
        labels = self.samples.labels
        return figures(self.task, self.names, outputs, labels and [labels[k] for k in kept],
                       [self.samples.names[k] for k in kept])

    def _run(self, configuration: dict, scratch: Path, stacked: dict[str, np.ndarray], count: int,
             timed: bool, threads: int) -> tuple[Outputs, dict]:
        """Outputs by sample, and cycles of the first one if requested."""
        program, compiled = self._program(configuration, scratch, threads)
        rows, batch = len(next(iter(stacked.values()))), self.signature.batch
        step = batch if self.varying else rows
        made, report = [], scratch / "report.json"
        for begin in range(0, rows, step):
            inputs = {name: array[begin:begin + step] for name, array in stacked.items()}
            made.append(self._outputs(program, scratch, inputs, [
                f"--threads={threads}", f"--report={report}" if timed and begin == 0 else "--functional"]))
        found = self._rows({name: np.concatenate([part[name] for part in made]) for name in self.names}, count)
        return found, ({**compiled, **run_figures(read_json(report))} if timed else {})

    def _outputs(self, program: Path, scratch: Path, inputs: dict[str, np.ndarray],
                 options: list[str]) -> Outputs:
        """What one call of the emulator gives."""
        given, made = scratch / "in.npz", scratch / "out.npz"
        np.savez(given, **inputs)
        self.tools.run("ashlar-run", [str(program), f"--inputs={given}", f"--outputs={made}", "--quiet",
                                      *options],
                       scratch, {str(program): "the program", str(scratch) + "/": ""})
        with np.load(made) as archive:
            return {name: archive[name] for name in self.names}

    def _program(self, configuration: dict, scratch: Path, threads: int) -> tuple[Path, dict]:
        body, options = self.plan.body, options_of(configuration, self.plan.body["options"])
        machine = body["machines"][configuration["machine"]]
        path = scratch / "machine.yaml"
        path.write_text(machine["text"], encoding="utf-8")
        table = configuration["table"]
        arguments = [
            str(self.model), f"--machine={path}",
            f"--formats={self.plan.resolve(table)}" if table else f"--format={configuration['format']}",
            *(f"--input-shape={shape}" for shape in self.signature.shapes),
            *option_arguments(options, self.plan.folder)]
        calibrated = needs_calibration(configuration, options)
        if calibrated:
            np.savez(scratch / "calibrate.npz", **self._calibration())
            arguments.append(f"--calibrate={scratch / 'calibrate.npz'}")
        key = {"model": body["model_digest"], "machine": machine["digest"], "format": configuration["format"],
               "table": configuration["table_digest"], "options": options, "shapes": self.signature.shapes,
               "samples": [body["calibration"], body["data"]["files"], body["recipe"]] if calibrated else None,
               "ashlarc": body["tools"]["ashlarc"]}
        return self.programs.compile(key, arguments, scratch, {
            str(self.model): body["name"], str(scratch) + "/": ""}, threads)

    def _calibration(self) -> dict[str, np.ndarray]:
        with self.lock:
            if self.calibration is None:
                kept, inputs, bad = self._good(self.plan.body["calibration"])
                if not kept:
                    why = f": {bad[0][1]}" if bad else "; give --calibrate=N"
                    raise malformed(f"no sample to calibrate with{why}")
                self.calibration = stack(self.signature, inputs)
            return self.calibration
