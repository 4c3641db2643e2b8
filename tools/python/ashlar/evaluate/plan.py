# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of evaluations: which samples, formats and machines; slices are the points."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..campaign.errors import malformed, usage
from ..campaign.files import digest, file_digest
from ..campaign.machines import description, load_machine
from ..campaign.models import model_digest
from ..campaign.store import SCHEMA, Plan
from ..campaign.toolbox import Toolbox
from . import reference
from .data import Samples
from .layouts import open_data
from .model import Signature, read_signature
from .recipes import READY, Recipe, find_recipe, make_recipe

KIND = "ashlar evaluation plan"
SLICE = 64
CALIBRATION = 8
CALIBRATED = ("fixed", "table")
TARGETS = ("min-snr", "min-agreement")


@dataclass
class Request:
    """What the command line requests."""

    model: str
    data: str
    labels: str | None = None
    recipe: str | None = None
    formats: str = "bfp8"
    machines: str = "a1"
    reference: str = "auto"
    limit: int | None = None
    calibrate: int | None = None
    split: str = "test"
    shapes: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)


def split_formats(text: str) -> list[str]:
    """Formats between commas; those of the long form have commas of their own, as in
    w=8,block=16,range=7,bfp16."""
    formats: list[str] = []
    for word in text.split(","):
        inside = word.startswith(("block=", "range=", "unsigned=", "rows=")) or (
            word.startswith("w=") and formats and formats[-1].startswith(("block=", "range="))
            and "w=" not in formats[-1])
        if inside and formats and "=" in formats[-1]:
            formats[-1] += "," + word
        else:
            formats.append(word)
    if not all(formats):
        raise usage(f"--formats={text}: a format is empty")
    if len(set(formats)) < len(formats):
        raise usage(f"--formats={text}: a format appears twice")
    return formats


def _options(words: list[str]) -> dict[str, Any]:
    """Options of ashlarc, as scale=table."""
    from ..campaign.options import check_option

    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        check_option("--option", name, value)
        if name in ("format", "formats", "calibrate", "input-shape"):
            raise usage(f"--option={word}: ashlar-eval has its own option for that")
        options[name] = value if equals else True
    return options


def _configurations(request: Request, machines: list[dict], folder: Path) -> list[dict]:
    """Every format on every machine."""
    found = []
    for index, machine in enumerate(machines):
        for text in split_formats(request.formats):
            name = text if len(machines) == 1 else f"{text} on {machine['name']}"
            table = text.endswith(".json")
            found.append({"name": name, "format": text, "machine": index,
                          "table": os.path.relpath(text, folder) if table else None,
                          "table_digest": file_digest(text) if table else None})
    return found


def options_of(configuration: dict, options: dict[str, Any]) -> dict[str, Any]:
    """The options that one format takes: targets of the search are for auto."""
    return {name: value for name, value in options.items()
            if name not in TARGETS or configuration["format"] == "auto"}


def needs_calibration(configuration: dict, options: dict[str, Any]) -> bool:
    """Whether ashlarc wants samples for it."""
    return configuration["format"] == "auto" or options.get("scale") in CALIBRATED


def _calibration(request: Request, configurations: list[dict], options: dict, total: int) -> list[int]:
    """Samples that calibrate, spread evenly; they are not evaluated."""
    wanted = request.calibrate
    if wanted is None:
        wanted = CALIBRATION if any(needs_calibration(c, options) for c in configurations) else 0
    if wanted < 0 or wanted >= total:
        raise usage(f"--calibrate={wanted}: expected less than the {total} samples, so that some are left to evaluate")
    return [k * total // wanted for k in range(wanted)]


def _recipe(request: Request, samples: Samples) -> Recipe | None:
    recipe = find_recipe(request.recipe)
    if recipe is None and not samples.raw and not (samples.single and samples.files[0].endswith(".npy")):
        raise usage("the preprocessing of the images is not known: give --recipe=NAME or FILE.yaml "
                    f"(ready: {', '.join(READY)})")
    return recipe


def _described(samples: Samples) -> dict:
    return {"names": samples.names, "labels": samples.labels, "boxes": samples.boxes,
            "classes": samples.classes}


def make_plan(request: Request, tools: Toolbox, folder: Path) -> Plan:
    """The plan of an evaluation, to be written into `folder`."""
    folder, model = folder.resolve(), Path(request.model)
    signature = read_signature(model, request.shapes)
    samples = open_data(Path(request.data), request.labels, [t.name for t in signature.inputs], request.split)
    recipe = _recipe(request, samples)
    versions, options = tools.digests(), _options(request.options)
    machines = []
    for name in request.machines.split(","):
        shown, parameters = load_machine(tools, name, Path.cwd())
        machines.append({"name": shown, "text": description(shown, parameters), "digest": digest(parameters)})
    configurations = _configurations(request, machines, folder)
    total = min(len(samples), request.limit or len(samples))
    if total < 1:
        raise malformed(f"{request.data}: no samples")
    calibration = _calibration(request, configurations, options, total)
    judged = [index for index in range(total) if index not in set(calibration)]
    body: dict[str, Any] = {
        "kind": KIND, "schema": SCHEMA, "tools": versions, "options": options,
        "name": model.name, "model": os.path.relpath(model, folder), "model_digest": model_digest(model),
        "signature": signature.as_dict(), "recipe": recipe.as_dict() if recipe else None,
        "data": {"path": os.path.relpath(request.data, folder), "layout": samples.layout, "split": request.split,
                 "labels": request.labels and os.path.relpath(request.labels, folder),
                 "files": samples.digests()},
        "samples": _described(samples), "reference": reference.choose(request.reference),
        "machines": machines, "configurations": configurations, "calibration": calibration, "judged": judged,
    }
    # A slice's result depends on everything but where files lie.
    place: dict[str, Any] = {"model": 0, "name": 0, "data": {**body["data"], "path": 0, "labels": 0}, "judged": 0,
             "configurations": [{**c, "table": 0} for c in configurations]}
    common = digest({**body, **place})
    points = [{"begin": k, "end": min(k + SLICE, len(judged))} for k in range(0, len(judged), SLICE)]
    body["points"] = [{**p, "id": digest([common, judged[p["begin"]:p["end"]], p["begin"] == 0])} for p in points]
    return Plan(body, folder)


def reopened(plan: Plan) -> Samples:
    """The samples of a plan; refused if they are others now."""
    data, signature = plan.body["data"], Signature.of(plan.body["signature"])
    path = plan.resolve(data["path"])
    samples = open_data(path, data["labels"] and str(plan.resolve(data["labels"])),
                        [t.name for t in signature.inputs], data["split"])
    changed = malformed(f"{path}: the samples or labels changed since the plan was made; make the plan again")
    if _described(samples) != plan.body["samples"] or sorted(data["files"]) != sorted(samples.files):
        raise changed
    if not samples.single and samples.digests() != data["files"]:
        raise changed
    samples.expected = data["files"] if samples.single else {}
    return samples


def recipe_of(plan: Plan) -> Recipe | None:
    """The recipe of a plan."""
    return make_recipe("recipe", plan.body["recipe"]) if plan.body["recipe"] else None


def task_of(plan: Plan) -> dict[str, Any]:
    """The task of a plan: what its outputs mean."""
    return plan.body["recipe"]["task"] if plan.body["recipe"] else {"kind": "classes"}
