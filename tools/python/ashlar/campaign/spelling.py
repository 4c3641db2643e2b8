# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suggestions for misspelt names, by the rule of the compiled tools (ashlar/Support/Nearest.h)."""

from collections.abc import Iterable


def misspelling(length: int) -> int:
    """How many edits make a misspelling of a name of `length` characters."""
    return 0 if length < 3 else 1 if length < 6 else length // 3


def distance(a: str, b: str) -> int:
    """Insertions, deletions and replacements that turn `a` into `b`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """", did you mean 'NAME'" for the name that `word` misspells, the first of equals; or ""."""
    word, best, nearest = word[:200], 10**6, ""
    for name in names:
        edits = distance(word, name)
        if edits < best and edits <= misspelling(max(len(word), len(name))):
            best, nearest = edits, name
    return f", did you mean '{nearest}'" if nearest else ""
