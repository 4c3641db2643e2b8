# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes: how an image becomes a model's input, and what its outputs mean."""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..campaign.errors import malformed, usage
from ..campaign.settings import check_keys, describe, expect, read_yaml
from ..campaign.spelling import did_you_mean

IMAGENET_MEAN, IMAGENET_STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CIFAR_MEAN, CIFAR_STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]
LARGE = {"resize": 256, "crop": 224}

# Name -> keys of a recipe; each is what the named networks were trained with.
READY: dict[str, dict[str, Any]] = {
    "raw": {},
    "unit": {"divide": 255},
    "signed": {"divide": 127.5, "mean": 1},
    "centred": {"mean": 127, "std": 128},
    "grey": {"colour": "grey"},
    "grey-unit": {"colour": "grey", "divide": 255},
    "mnist": {"colour": "grey", "divide": 255, "mean": 0.1307, "std": 0.3081},
    "cifar": {"divide": 255, "mean": CIFAR_MEAN, "std": CIFAR_STD},
    "normalised": {"divide": 255, "mean": IMAGENET_MEAN, "std": IMAGENET_STD},
    "imagenet": {**LARGE, "divide": 255, "mean": IMAGENET_MEAN, "std": IMAGENET_STD},
    "imagenet-signed": {**LARGE, "divide": 127.5, "mean": 1},
    "imagenet-caffe": {**LARGE, "colour": "bgr", "mean": [103.939, 116.779, 123.68]},
}
CHOICES = {"colour": ("rgb", "bgr", "grey"), "layout": ("nchw", "nhwc"),
           "interpolation": ("nearest", "bilinear", "bicubic", "lanczos"),
           "type": ("float32", "float16", "uint8", "int8")}
TASK_KEYS = {
    "classes": ("kind", "output"),
    "values": ("kind", "output"),
    "tokens": ("kind", "output", "ignore", "collapse", "blank"),
    "boxes": ("kind", "scores", "boxes", "order", "background", "threshold", "overlap", "most"),
}
TASK_DEFAULTS: dict[str, dict[str, Any]] = {
    "classes": {}, "values": {},
    "tokens": {"ignore": -100, "collapse": "none", "blank": 0},
    "boxes": {"order": "corners", "background": 0, "threshold": 0.05, "overlap": 0.5, "most": 100},
}
ORDERS = ("corners", "corners-yx", "centre")


@dataclass
class Recipe:
    """What happens to an image, in the order of the members, and the task."""

    resize: int | list[int] | None = None
    interpolation: str = "bilinear"
    crop: int | list[int] | None = None
    colour: str = "rgb"
    divide: float = 1
    mean: float | list[float] = 0
    std: float | list[float] = 1
    layout: str = "nchw"
    type: str = "float32"
    task: dict[str, Any] = field(default_factory=lambda: {"kind": "classes"})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


KEYS = ("base", *Recipe.__dataclass_fields__)


def _extent(where: str, value: Any) -> int | list[int] | None:
    """A short side, or height and width."""
    if value is None:
        return None
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) not in (1, 2) or not all(
            isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 65536 for n in numbers):
        raise malformed(f"{where}: expected 1 to 65536 pixels or [height, width], found {describe(value)}")
    return value


def _channels(where: str, value: Any, positive: bool) -> float | list[float]:
    """One number for all channels, or one per channel."""
    numbers = value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n)
                              for n in numbers):
        raise malformed(f"{where}: expected a number, or one per channel, found {describe(value)}")
    if positive and any(n <= 0 for n in numbers):
        raise malformed(f"{where}: expected more than 0, found {value}")
    return value


def _task(where: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = {"kind": value}
    expect(where, value, dict, "a kind of task or a mapping")
    kind = value.get("kind", "classes")
    if kind not in TASK_KEYS:
        raise malformed(f"{where}: unknown kind '{kind}', expected {', '.join(TASK_KEYS)}")
    check_keys(f"{where} ({kind})", value, TASK_KEYS[kind])
    task = {"kind": kind, **TASK_DEFAULTS[kind], **value}
    if kind == "boxes":
        for key in ("scores", "boxes"):
            expect(f"{where}: {key}", task.get(key), str, "the name of an output")
        if task["order"] not in ORDERS:
            raise malformed(f"{where}: order is '{task['order']}', expected {', '.join(ORDERS)}")
        if task["background"] is not None:
            expect(f"{where}: background", task["background"], int, "a class number")
        for key in ("threshold", "overlap"):
            if not 0 <= expect(f"{where}: {key}", task[key], (int, float), "a share") <= 1:
                raise malformed(f"{where}: {key} is {task[key]}, expected a share from 0 to 1")
        expect(f"{where}: most", task["most"], int, "a number of boxes")
    if kind == "tokens":
        if task["collapse"] not in ("none", "ctc"):
            raise malformed(f"{where}: collapse is '{task['collapse']}', expected none or ctc")
        for key in ("ignore", "blank"):
            expect(f"{where}: {key}", task[key], int, "a token")
    return task


def make_recipe(where: str, value: dict[str, Any]) -> Recipe:
    """The recipe of a mapping; `base` names a ready one that it changes."""
    check_keys(where, value, KEYS)
    base = value.get("base", "raw")
    if base not in READY:
        raise malformed(f"{where}: base: no ready recipe '{base}'{did_you_mean(str(base), READY)} "
                        f"(known: {', '.join(READY)})")
    merged = {**READY[base], **{key: entry for key, entry in value.items() if key != "base"}}
    for key, allowed in CHOICES.items():
        if key in merged and merged[key] not in allowed:
            raise malformed(f"{where}: {key} is {describe(merged[key])}, expected {', '.join(allowed)}")
    for key in ("resize", "crop"):
        merged[key] = _extent(f"{where}: {key}", merged.get(key))
    merged["divide"] = expect(f"{where}: divide", merged.get("divide", 1), (int, float), "a number")
    _channels(f"{where}: divide", merged["divide"], positive=True)
    merged["mean"] = _channels(f"{where}: mean", merged.get("mean", 0), positive=False)
    merged["std"] = _channels(f"{where}: std", merged.get("std", 1), positive=True)
    merged["task"] = _task(f"{where}: task", merged.get("task", "classes"))
    if merged["task"]["kind"] == "boxes" and merged["crop"] is not None:
        raise malformed(f"{where}: boxes are shares of the whole image: use resize: [height, width], not crop")
    return Recipe(**merged)


def find_recipe(name: str | None) -> Recipe | None:
    """A ready recipe by name or one of a file."""
    if name is None:
        return None
    if name in READY:
        return make_recipe(f"recipe {name}", {"base": name})
    if Path(name).suffix in (".yaml", ".yml") or Path(name).exists():
        return make_recipe(name, read_yaml(name))
    raise usage(f"--recipe={name}: neither a file nor a ready recipe{did_you_mean(name, READY)} "
                f"(ready: {', '.join(READY)})")
