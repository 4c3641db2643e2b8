# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes: from outputs to detections, and mean average precision.

A detection is [class, score, left, top, right, bottom], a true box [class, left,
top, right, bottom, crowd], all as shares of the image.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
RECALLS = np.linspace(0, 1, 101)


def overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box (left, top, right, bottom) with others."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    inner = np.prod(np.maximum(high - low, 0), axis=1)
    area = np.prod(np.maximum(box[2:] - box[:2], 0))
    areas = np.prod(np.maximum(others[:, 2:] - others[:, :2], 0), axis=1)
    union = area + areas - inner
    return np.where(union > 0, inner / np.where(union > 0, union, 1), 0)


def _corners(boxes: np.ndarray, order: str) -> np.ndarray:
    boxes = boxes.astype(np.float64)
    if order == "corners-yx":
        return boxes[:, [1, 0, 3, 2]]
    if order == "centre":
        half = boxes[:, 2:] / 2
        return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    return boxes


def detect(scores: np.ndarray, boxes: np.ndarray, task: dict[str, Any]) -> list[list]:
    """The detections of one sample: boxes above the threshold, of each class those
    that overlap no better one, the best first."""
    scores = scores.reshape(len(boxes), -1).astype(np.float64)
    places = _corners(boxes.reshape(-1, 4), task["order"])
    found: list[list] = []
    background = task["background"] if scores.shape[1] > 1 else None
    for column in range(scores.shape[1]):
        if column == background:
            continue
        number = column - (background is not None and column > background)
        usable = np.isfinite(places).all(1) & np.isfinite(scores[:, column])
        chosen = np.flatnonzero(usable & (scores[:, column] > task["threshold"]))
        order = chosen[np.argsort(-scores[chosen, column], kind="stable")]
        while len(order):
            best, order = order[0], order[1:]
            found.append([int(number), float(scores[best, column]), *map(float, places[best])])
            order = order[overlap(places[best], places[order]) <= task["overlap"]]
    found.sort(key=lambda entry: -entry[1])
    return found[:task["most"]]


def _matches(found: list[list], truth: list[list], threshold: float) -> list[int]:
    """For each detection, best first: 1 right, 0 wrong, -1 of a crowd (not counted)."""
    places = np.array([entry[1:5] for entry in truth], np.float64).reshape(-1, 4)
    crowd = np.array([bool(entry[5]) for entry in truth], bool)
    taken = np.zeros(len(truth), bool)
    result = []
    for entry in found:
        overlaps = overlap(np.array(entry[2:6]), places) if len(truth) else np.zeros(0)
        free = np.where(taken | crowd, -1.0, overlaps)
        if len(free) and free.max() >= threshold:
            taken[free.argmax()] = True
            result.append(1)
        else:
            result.append(-1 if (crowd & (overlaps >= threshold)).any() else 0)
    return result


def average_precision(marks: list[tuple[float, int]], positives: int) -> float:
    """The mean of the precision at 101 recalls, as COCO has it.

    `marks` are (score, 1 right or 0 wrong) of all samples.
    """
    marks = sorted(marks, key=lambda mark: -mark[0])
    right = np.cumsum([mark[1] for mark in marks])
    if not len(right):
        return 0.0
    precision = right / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(right / positives, RECALLS - 1e-12, side="left")
    return float(np.mean(np.append(precision, 0.0)[at]))


def mean_average_precision(found: Sequence[list[list]], truth: Sequence[list[list]],
                           thresholds: Sequence[float] = THRESHOLDS) -> float | None:
    """Over the classes that have a true box and the overlaps requested; None
    without true boxes."""
    positives: dict[int, int] = defaultdict(int)
    for boxes in truth:
        for entry in boxes:
            positives[entry[0]] += not entry[5]
    values = []
    for number in sorted(key for key, count in positives.items() if count):
        for threshold in thresholds:
            marks = []
            for detections, boxes in zip(found, truth, strict=True):
                own = [entry for entry in detections if entry[0] == number]
                hits = _matches(own, [entry for entry in boxes if entry[0] == number], threshold)
                marks += [(entry[1], hit) for entry, hit in zip(own, hits, strict=True) if hit >= 0]
            values.append(average_precision(marks, positives[number]))
    return float(np.mean(values)) if values else None


def as_truth(found: list[list], threshold: float = 0.5) -> list[list]:
    """Detections of one network as what another has to find: the sure ones."""
    return [[entry[0], *entry[2:6], 0] for entry in found if entry[1] >= threshold]
