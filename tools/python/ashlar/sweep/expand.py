# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a sweep to its plan: the points to compute and the rows of the table.

Rows that differ in names alone share a point: it is computed once.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..campaign.errors import malformed
from ..campaign.files import digest, file_digest
from ..campaign.machines import description, load_machine, override
from ..campaign.models import model_digest
from ..campaign.options import FILES, NAMED_FILES, option_files
from ..campaign.store import SCHEMA, Plan
from ..campaign.toolbox import Toolbox
from .config import Machine, Model, Sweep
from .plots import check_plots
from .table import columns

KIND = "ashlar sweep plan"
BUILT_IN_TABLES = ("n7", "n45")


@dataclass
class Drawn:
    """A machine of the sweep with all its parameters."""

    name: str
    parameters: dict[str, Any]
    varied: dict[str, Any]


@dataclass
class Expansion:
    """A plan while it is made."""

    sweep: Sweep
    tools: Toolbox
    folder: Path
    versions: dict[str, str]
    machines: list[dict] = field(default_factory=list)
    points: list[dict] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    known: dict[str, int] = field(default_factory=dict)
    machine_of: dict[str, int] = field(default_factory=dict)

    def moved(self, name: str) -> str:
        """A file of the sweep as the plan names it: relative to the plan."""
        return os.path.relpath(self.sweep.folder / name, self.folder)

    def file(self, name: str, model: bool = False) -> str:
        """Notes a file that points read; its digest."""
        key = self.moved(name)
        if key not in self.files:
            path = self.sweep.folder / name
            self.files[key] = model_digest(path) if model else file_digest(path)
        return self.files[key]

    def options(self, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Options as the plan has them, and as they decide a result: files by content."""
        for name in option_files(options, self.sweep.folder):
            self.file(name)
        return (self._mapped(options, self.moved),
                self._mapped(options, lambda name: "content:" + self.file(name)))

    @staticmethod
    def _mapped(options: dict[str, Any], change: Any) -> dict[str, Any]:
        def one(name: str, entry: Any) -> Any:
            if name in FILES:
                return change(str(entry))
            if name in NAMED_FILES:
                key, _, path = str(entry).rpartition("=")
                return f"{key}={change(path)}"
            return entry

        return {name: [one(name, e) for e in value] if isinstance(value, list) else one(name, value)
                for name, value in options.items()}

    def machine(self, drawn: Drawn) -> int:
        """The index of a machine in the plan; equal descriptions share one."""
        key = digest(drawn.parameters)
        if key not in self.machine_of:
            self.machine_of[key] = len(self.machines)
            self.machines.append({"text": description(drawn.name, drawn.parameters), "digest": key})
        return self.machine_of[key]

    def add(self, model: Model, drawn: Drawn, options: dict, varied: dict, run: dict) -> None:
        """One row, and its point if no row before has it."""
        placed, content = self.options(options)
        table = run["energy-table"]
        inputs = None if model.inputs is None else self.file(model.inputs)
        index = self.machine(drawn)
        machine = self.machines[index]["digest"]
        compiled = {"model": self.file(model.file, model=True), "machine": machine, "options": content,
                    "ashlarc": self.versions["ashlarc"]}
        decided = {"compile": compiled, "run": self.versions["ashlar-run"],
                   "inputs": inputs if inputs else run["random-inputs"],
                   "energy": table if table in BUILT_IN_TABLES else self.file(table)}
        name = digest(decided)
        if name not in self.known:
            self.known[name] = len(self.points)
            self.points.append({
                "id": name, "program": digest(compiled), "model": self.moved(model.file), "machine": index,
                "options": placed, "inputs": model.inputs and self.moved(model.inputs),
                "seed": run["random-inputs"],
                "energy": table if table in BUILT_IN_TABLES else self.moved(table)})
        self.rows.append({"point": self.known[name], "model": model.name, "machine": drawn.name,
                          "parameters": drawn.varied, "options": varied})


def draw_machines(sweep: Sweep, tools: Toolbox) -> list[Drawn]:
    """Every machine of the sweep, with a name of its own."""
    drawn: list[Drawn] = []
    bases: dict[str, tuple[str, dict]] = {}
    for number, machine in enumerate(sweep.machines):
        if machine.base not in bases:
            bases[machine.base] = load_machine(tools, machine.base, sweep.folder)
        base, parameters = bases[machine.base]
        for values, varied in machine.variation:
            changed = override(f"machines[{number}]", parameters, values)
            drawn.append(Drawn(_machine_name(machine, base, varied), changed, values))
    # What one machine varies is a column: every other machine says its own value.
    columns = list(dict.fromkeys(key for machine in drawn for key in machine.varied))
    for entry in drawn:
        entry.varied = {key: entry.parameters.get(key) for key in columns}
    names = [machine.name for machine in drawn]
    for name in names:
        if names.count(name) > 1:
            raise malformed(f"machines: two are called '{name}'; give them names")
    return drawn


def _machine_name(machine: Machine, base: str, varied: dict[str, Any]) -> str:
    changes = varied if machine.name else {**machine.variation.fixed, **varied}
    words = [machine.name or base, *(f"{key}={value}" for key, value in changes.items())]
    return " ".join(words)


def _values(sweep: Sweep, model: Model, machine: Drawn, options: dict) -> dict[str, Any]:
    """What constraints may name: absent options are None."""
    names = set(sweep.options.fixed) | set(sweep.options.grid) | set(options)
    for chosen in sweep.options.sets:
        names |= set(chosen)
    plain = {name.replace("-", "_"): options.get(name) for name in names}
    return {**plain, **machine.parameters, "model": model.name, "machine": machine.name}


def make_plan(sweep: Sweep, tools: Toolbox, folder: Path) -> Plan:
    """The plan of a sweep, to be written into `folder`."""
    made = Expansion(sweep, tools, folder.resolve(), tools.digests())
    machines = draw_machines(sweep, tools)
    for model in sweep.models:
        for machine in machines:
            for options, varied in sweep.options:
                options = {**options, **model.options}
                values = _values(sweep, model, machine, options)
                if not all(constraint.holds(values) for constraint in sweep.constraints):
                    made.left_out += 1
                    continue
                for run, varied_run in sweep.run:
                    made.add(model, machine, options, {**varied, **varied_run}, run)
    if not made.points:
        raise malformed("no point satisfies the constraints")
    check_plots(sweep.plots, columns(made.rows))
    return Plan({"kind": KIND, "schema": SCHEMA, "name": sweep.name, "tools": made.versions,
                 "files": made.files, "machines": made.machines, "points": made.points, "rows": made.rows,
                 "left_out": made.left_out, "plots": sweep.plots}, folder.resolve())
