#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text that the demo language model learns: sentences of a small grammar.

Everything follows from the seed; no file is read. The vocabulary is the
printable ASCII characters and the newline, one token each.
"""

import numpy as np

VOCABULARY = ["\n"] + [chr(code) for code in range(32, 127)]

UNITS = {
    "array": ["multiplies blocks of", "waits for", "adds products of"],
    "vector unit": ["normalises", "rounds", "compares"],
    "host": ["sorts", "counts", "samples from"],
    "DMA engine": ["loads", "stores", "moves"],
    "compiler": ["places", "folds", "orders"],
}
THINGS = ["weights", "results", "feature maps", "exponents", "rows", "scores", "tokens"]
PLACES = ["in the state buffer", "in DRAM", "across partitions", "between two runs"]
ENDS = ["before the next tile starts", "while the queue is free", "after the last drain",
        "as long as room is left", "in one pass"]


def sentence(rng):
    unit = list(UNITS)[rng.integers(len(UNITS))]
    verbs = UNITS[unit]
    words = ["The", unit, verbs[rng.integers(len(verbs))]]
    if rng.random() < 0.5:
        words.append(str(2 ** rng.integers(1, 8)))
    words += [THINGS[rng.integers(len(THINGS))], PLACES[rng.integers(len(PLACES))]]
    if rng.random() < 0.6:
        words.append(ENDS[rng.integers(len(ENDS))])
    return " ".join(words) + "."


def text(sentences, rng):
    """Sentences, a few to a line."""
    out = []
    for _ in range(sentences):
        out.append(sentence(rng))
        out.append("\n" if rng.random() < 0.25 else " ")
    return "".join(out)


def encode(characters):
    index = {character: i for i, character in enumerate(VOCABULARY)}
    return np.array([index[c] for c in characters], np.int64)
