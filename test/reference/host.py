# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the host (docs/Numerics.md 14), element by element."""

import functools

import numpy as np

from ops import evaluator

NONE = -1


def elements(value):
    return value.numbers() if value.is_float else value.integers()


def compare(a, b):
    """-1, 0 or 1: NaN is larger than all numbers."""
    if a != a or b != b:
        return int(a != a) - int(b != b)
    return int(a > b) - int(a < b)


def compare_rows(a, b):
    for x, y in zip(a, b):
        if compare(x, y):
            return compare(x, y)
    return 0


@evaluator("nonzero")
def nonzero(attrs, values, result):
    x = elements(values["x"])
    found = [i for i in np.ndindex(x.shape) if x[i] != 0]
    y = np.full(result["shape"], NONE, np.int64)
    for k, index in enumerate(found):
        y[:, k] = index
    return y


@evaluator("arg_sort")
def arg_sort(attrs, values, result):
    x, axis = elements(values["x"]), attrs["axis"]
    keep, sign = result["shape"][axis], -1 if attrs["descending"] else 1

    def first(line):
        # Python's sort is stable, also where it is reversed by the sign.
        order = sorted(range(len(line)), key=functools.cmp_to_key(
            lambda a, b: sign * compare(line[a], line[b])))
        return np.array(order[:keep], np.int64)

    return np.apply_along_axis(first, axis, x)


@evaluator("unique")
def unique(attrs, values, result):
    rows = elements(values["x"])
    distinct = []
    for i, row in enumerate(rows):
        if all(compare_rows(row, rows[d]) for d in distinct):
            distinct.append(i)
    if attrs["sorted"]:
        distinct.sort(key=functools.cmp_to_key(
            lambda a, b: compare_rows(rows[a], rows[b])))
    y = np.zeros(result["shape"], np.int64)
    y[0] = NONE
    y[0, :len(distinct)] = distinct
    for i, row in enumerate(rows):
        number = next(d for d, first in enumerate(distinct)
                      if not compare_rows(row, rows[first]))
        y[1, i] = number
        y[2, number] += 1
    return y


def edges(box, center):
    """left, top, right, bottom in binary32."""
    if center:
        half = box[2:] / np.float32(2)
        return np.concatenate([box[:2] - half, box[:2] + half])
    top, bottom = min(box[0], box[2]), max(box[0], box[2])
    left, right = min(box[1], box[3]), max(box[1], box[3])
    return np.array([left, top, right, bottom], np.float32)


def overlaps(a, b, iou):
    area, other = ((e[2] - e[0]) * (e[3] - e[1]) for e in (a, b))
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height
    together = area + other - shared
    if not (width > 0 and height > 0 and area > 0 and other > 0
            and together > 0):
        return False
    return shared / together > iou


@evaluator("nms")
def nms(attrs, values, result):
    boxes, scores = values["boxes"].numbers(), values["scores"].numbers()
    most, iou, least = (values[name].data.reshape(-1)[0]
                        for name in ("most", "iou", "least"))
    batches, classes, _ = scores.shape
    room = result["shape"][0] // (batches * classes)
    kept_rows = []
    with np.errstate(all="ignore"):
        for b, c in np.ndindex(batches, classes):
            line = scores[b, c]
            taken = [i for i, s in enumerate(line)
                     if (s > least if attrs["filtered"] else s == s)]
            taken.sort(key=lambda i: (-line[i], i))
            kept = []
            for i in taken:
                if len(kept) >= min(most, room):
                    break
                box = edges(boxes[b, i], attrs["center"])
                if not any(overlaps(box, other, iou) for _, other in kept):
                    kept.append((i, box))
            kept_rows += [(b, c, i) for i, _ in kept]
    y = np.full(result["shape"], NONE, np.int64)
    if kept_rows:
        y[:len(kept_rows)] = kept_rows
    return y
