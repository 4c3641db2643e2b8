# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of a slice's outputs by task: what one configuration gave."""

from typing import Any

import numpy as np

from ..campaign.errors import Exit, Failure, malformed
from .boxes import detect
from .metrics import best_class, logits_of, noise, rank_of, token_figures

Outputs = dict[str, np.ndarray]


def task_outputs(task: dict[str, Any], names: list[str]) -> list[str]:
    """The outputs that the task reads; without a word the first one."""
    wanted = [task["scores"], task["boxes"]] if task["kind"] == "boxes" else [task.get("output", names[0])]
    for name in wanted:
        if name not in names:
            raise malformed(f"recipe: the model has no output '{name}' (it has {', '.join(names)})")
    return wanted


def figures(task: dict[str, Any], names: list[str], outputs: Outputs, labels: list | None,
            samples: list[str]) -> dict[str, Any]:
    """What the outputs say on their own; lists by sample."""
    kind = task["kind"]
    if kind == "classes":
        return _classes(logits_of(outputs[names[0]]), labels, samples)
    if kind == "tokens":
        return _tokens(outputs[names[0]], labels, task)
    if kind == "boxes":
        scores, boxes = (outputs[name] for name in names)
        return {"found": [_detected(scores[k], boxes[k], task) for k in range(len(scores))]}
    return {}


def _classes(scores: np.ndarray, labels: list | None, samples: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"best": best_class(scores).tolist()}
    if labels is None:
        return result
    for name, label in zip(samples, labels, strict=True):
        if not isinstance(label, int) or not 0 <= label < scores.shape[1]:
            raise malformed(f"label {label} of '{name}': the model has the {scores.shape[1]} classes 0 to "
                            f"{scores.shape[1] - 1}")
    result["rank"] = rank_of(scores, labels).tolist()
    return result


def _tokens(output: np.ndarray, labels: list | None, task: dict[str, Any]) -> dict[str, Any]:
    if output.ndim < 3:
        raise Failure(Exit.UNSUPPORTED, f"tokens: the output has the shape {'x'.join(map(str, output.shape))}, "
                                        "expected samples x positions x tokens")
    tokens = output.reshape(len(output), -1, output.shape[-1]).argmax(-1).tolist()
    result: dict[str, Any] = {"tokens": tokens}
    if labels is not None:
        if not all(isinstance(label, list) for label in labels):
            raise malformed("tokens: labels are single numbers, expected a row of tokens for each sample")
        result["score"] = [token_figures(t, w, task) for t, w in zip(tokens, labels, strict=True)]
    return result


def _detected(scores: np.ndarray, boxes: np.ndarray, task: dict[str, Any]) -> list[list]:
    count = boxes.size // 4
    if boxes.size % 4 or not count or scores.size % count:
        raise Failure(Exit.UNSUPPORTED, f"boxes: outputs of {scores.size} scores and {boxes.size} coordinates "
                                        "are not scores of boxes")
    return detect(scores.reshape(count, -1), boxes.reshape(count, 4), task)


def against(names: list[str], wanted: Outputs, found: Outputs) -> dict[str, Any]:
    """Signal and noise by output and sample."""
    return {"noise": {name: list(noise(wanted[name], found[name])) for name in names
                      if wanted[name].dtype.kind == "f"}}
