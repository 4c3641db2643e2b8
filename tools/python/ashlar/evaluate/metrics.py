# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of single samples: classes, agreement, noise, tokens.

They are integers, or sums of squares that numpy forms in one order everywhere,
so that every machine finds the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def logits_of(output: np.ndarray) -> np.ndarray:
    """Scores by sample and class."""
    return output.reshape(len(output), -1)


def best_class(scores: np.ndarray) -> np.ndarray:
    """The class of the largest score; the first of equal ones."""
    return np.where(np.isnan(scores), -np.inf, scores).argmax(1)


def rank_of(scores: np.ndarray, labels: Sequence[int]) -> np.ndarray:
    """How many classes come before the label: 0 is a hit, below 5 one of top-5.

    Of equal scores the lower class number comes first, as in best_class.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    picked = np.asarray(labels)
    own = np.take_along_axis(scores, picked[:, None], 1)
    numbers = np.arange(scores.shape[1])[None, :]
    return ((scores > own) | ((scores == own) & (numbers < picked[:, None]))).sum(1)


def noise(reference: np.ndarray, found: np.ndarray) -> tuple[list[float], list[float]]:
    """Signal and noise of each sample: sums of squares in binary64."""
    a = reference.reshape(len(reference), -1).astype(np.float64)
    b = found.reshape(len(found), -1).astype(np.float64)
    with np.errstate(all="ignore"):
        signal = [float(np.sum(np.square(row))) for row in a]
        errors = [float(np.sum(np.square(x - y))) for x, y in zip(a, b, strict=True)]
    # JSON has no infinity: no signal, or the largest noise, says as much.
    most = float(np.finfo(np.float64).max)
    return ([value if np.isfinite(value) else 0.0 for value in signal],
            [value if np.isfinite(value) else most for value in errors])


def decibels(signal: float, error: float) -> float:
    """A signal-to-noise ratio; no noise at all is 999 dB."""
    if error == 0:
        return 999.0
    if signal == 0:
        return -999.0
    return float(10 * (np.log10(signal) - np.log10(error)))


def edit_distance(wanted: Sequence[int], found: Sequence[int]) -> int:
    """Insertions, deletions and substitutions from one sequence to the other."""
    row = list(range(len(found) + 1))
    for i, a in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(found, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def collapse(tokens: Sequence[int], task: dict[str, Any]) -> list[int]:
    """CTC's rule: equal neighbours are one, then blanks go."""
    if task["collapse"] == "none":
        return list(tokens)
    kept = [t for i, t in enumerate(tokens) if i == 0 or t != tokens[i - 1]]
    return [t for t in kept if t != task["blank"]]


def token_figures(tokens: Sequence[int], label: Sequence[int] | None, task: dict[str, Any]) -> dict[str, int]:
    """Right and counted positions, edits and length of one sample against its label.

    Positions whose label is `ignore` do not count. Where CTC collapses, there are
    no positions to compare: edits alone.
    """
    if label is None:
        return {}
    pairs = [(w, t) for w, t in zip(label, tokens, strict=False) if w != task["ignore"]]
    wanted = [w for w in label if w != task["ignore"]]
    if task["collapse"] == "ctc":
        return {"edits": edit_distance(wanted, collapse(tokens, task)), "length": len(wanted)}
    # A sequence that is too short misses its last positions.
    return {"right": sum(w == t for w, t in pairs), "counted": len(wanted),
            "edits": edit_distance(wanted, [t for _, t in pairs]), "length": len(wanted)}
