# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The YAML of a sweep: what is varied, in lists and grids."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..campaign.errors import malformed
from ..campaign.options import check_option
from ..campaign.settings import check_keys, describe, expect, read_yaml
from .expressions import Constraint

KEYS = ("name", "models", "machines", "options", "run", "constraints", "plots")
RUN_KEYS = ("random-inputs", "energy-table")
MAX_POINTS = 1_000_000


@dataclass
class Variation:
    """Sets of values: fixed ones, those of a list in turn, and a grid of all combinations."""

    fixed: dict[str, Any] = field(default_factory=dict)
    sets: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    grid: dict[str, list] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """(all values, those of them that vary)"""
        for chosen in self.sets:
            for values in itertools.product(*self.grid.values()):
                varied = {**chosen, **dict(zip(self.grid, values, strict=True))}
                yield {**self.fixed, **varied}, varied

    def __len__(self) -> int:
        count = len(self.sets)
        for values in self.grid.values():
            count *= len(values)
        return count


@dataclass
class Model:
    """A model, its own options and inputs."""

    file: str
    name: str
    inputs: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Machine:
    """A machine and what is varied of it."""

    base: str
    name: str | None
    variation: Variation


@dataclass
class Sweep:
    """A sweep as its file says it."""

    name: str
    folder: Path
    models: list[Model]
    machines: list[Machine]
    options: Variation
    run: Variation
    constraints: list[Constraint]
    plots: list[dict[str, str]]


def _variation(where: str, value: dict) -> Variation:
    """The keys set, list and grid of a mapping."""
    fixed = expect(f"{where}: set", value.get("set", {}), dict, "a mapping")
    sets = expect(f"{where}: list", value.get("list", [{}]), list, "a list of mappings")
    grid = expect(f"{where}: grid", value.get("grid", {}), dict, "a mapping of lists")
    if not sets:
        raise malformed(f"{where}: list is empty")
    for number, entry in enumerate(sets):
        expect(f"{where}: list[{number}]", entry, dict, "a mapping")
    for key, values in grid.items():
        expect(f"{where}: grid: {key}", values, list, "a list of values")
        if not values:
            raise malformed(f"{where}: grid: {key} is empty")
    for key in grid:
        if any(key in entry for entry in sets):
            raise malformed(f"{where}: '{key}' is in list and in grid")
    return Variation(fixed, sets, grid)


def _model(number: int, value: Any) -> Model:
    where = f"models[{number}]"
    if isinstance(value, str):
        return Model(value, Path(value).stem)
    expect(where, value, dict, "a file or a mapping")
    check_keys(where, value, ("file", "name", "inputs", "options"))
    if "file" not in value:
        raise malformed(f"{where}: the key 'file' is missing")
    file = expect(f"{where}: file", value["file"], str, "a file")
    options = expect(f"{where}: options", value.get("options", {}), dict, "a mapping")
    for name, entry in options.items():
        check_option(where, name, entry)
    inputs = value.get("inputs")
    if inputs is not None:
        expect(f"{where}: inputs", inputs, str, "an .npz file")
    return Model(file, str(value.get("name", Path(file).stem)), inputs, options)


def _machine(number: int, value: Any) -> Machine:
    where = f"machines[{number}]"
    if isinstance(value, str):
        return Machine(value, None, Variation())
    expect(where, value, dict, "a name or a mapping")
    check_keys(where, value, ("name", "base", "file", "set", "list", "grid"))
    if "base" in value and "file" in value:
        raise malformed(f"{where}: has base and file, expected one of them")
    base = expect(f"{where}: base", value.get("base", value.get("file", "a1")), str, "a name or a file")
    name = value.get("name")
    if name is not None:
        expect(f"{where}: name", name, str, "a name")
    return Machine(base, name, _variation(where, value))


def _options(value: Any) -> Variation:
    expect("options", value, dict, "a mapping with set, list or grid")
    check_keys("options", value, ("set", "list", "grid"))
    variation = _variation("options", value)
    for name, entries in variation.grid.items():
        for entry in entries:
            check_option("options: grid", name, entry)
    for chosen in [variation.fixed, *variation.sets]:
        for name, entry in chosen.items():
            check_option("options", name, entry)
    return variation


def _run(value: Any) -> Variation:
    expect("run", value, dict, "a mapping")
    check_keys("run", value, RUN_KEYS)
    fixed, grid = {"random-inputs": 1, "energy-table": "n7"}, {}
    for key, entry in value.items():
        if isinstance(entry, list):
            if not entry:
                raise malformed(f"run: {key} is an empty list")
            grid[key] = entry
        else:
            fixed[key] = entry
    for entry in [fixed.get("random-inputs"), *grid.get("random-inputs", [])]:
        if not isinstance(entry, int) or isinstance(entry, bool) or entry < 0:
            raise malformed(f"run: random-inputs is {describe(entry)}, expected a seed")
    for entry in [fixed.get("energy-table"), *grid.get("energy-table", [])]:
        expect("run: energy-table", entry, str, "a name or a file")
    return Variation(fixed, [{}], grid)


def _plots(value: Any) -> list[dict[str, str]]:
    plots = []
    for number, entry in enumerate(expect("plots", value, list, "a list")):
        where = f"plots[{number}]"
        expect(where, entry, dict, "a mapping with x and y")
        check_keys(where, entry, ("x", "y"))
        if set(entry) != {"x", "y"}:
            raise malformed(f"{where}: expected x and y")
        plots.append({key: str(entry[key]) for key in ("x", "y")})
    return plots


DEFAULT_PLOTS = [{"x": "area_mm2", "y": "cycles"}, {"x": "energy_uj", "y": "cycles"}]


def read_sweep(path: Path | str) -> Sweep:
    """The sweep of a YAML file; every mistake in it is an error that names it."""
    return make_sweep(read_yaml(path), path)


def make_sweep(value: dict, path: Path | str) -> Sweep:
    """The sweep of what a YAML file would say; `path` is the name in errors, and
    files are relative to its folder."""
    try:
        return _sweep(value, Path(path))
    except Exception as error:
        if hasattr(error, "code"):
            error.args = (f"{path}: {error}",)
        raise


def _sweep(value: dict, path: Path) -> Sweep:
    check_keys("", value, KEYS)
    for key in ("models", "machines"):
        if not expect(key, value.get(key), list, "a list"):
            raise malformed(f"{key} is empty")
    constraints = [Constraint(expect("constraints", text, str, "a text"))
                   for text in expect("constraints", value.get("constraints", []), list, "a list")]
    sweep = Sweep(str(value.get("name", path.stem)), path.resolve().parent,
                  [_model(i, entry) for i, entry in enumerate(value["models"])],
                  [_machine(i, entry) for i, entry in enumerate(value["machines"])],
                  _options(value.get("options", {})), _run(value.get("run", {})), constraints,
                  _plots(value.get("plots", DEFAULT_PLOTS)))
    names = [model.name for model in sweep.models]
    for name in names:
        if names.count(name) > 1:
            raise malformed(f"models: the name '{name}' appears twice; give one of them another 'name'")
    count = len(sweep.models) * len(sweep.options) * len(sweep.run) * sum(
        len(machine.variation) for machine in sweep.machines)
    if count > MAX_POINTS:
        raise malformed(f"{count} points, at most {MAX_POINTS}")
    return sweep
