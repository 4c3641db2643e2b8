# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeded draws with the same bits everywhere.

numpy keeps the stream of its bit generators between versions, but not that of its
distributions. So weights are made of raw bits, with integer sums and single
multiplications, which IEEE arithmetic rounds in one way.
"""

import hashlib

import numpy as np

FIELDS = 4
FIELD_BITS = 16
# The sum of four uniform 16-bit fields: its centre and its standard deviation.
CENTRE = FIELDS * ((1 << FIELD_BITS) - 1) // 2
DEVIATION = float(np.sqrt(FIELDS * ((1 << 2 * FIELD_BITS) - 1) / 12))


class Draws:
    """A stream of numbers for one network."""

    def __init__(self, name: str, seed: int) -> None:
        digest = hashlib.sha256(f"{name}:{seed}".encode()).digest()
        words = np.frombuffer(digest, "<u4")
        self.bits = np.random.PCG64([int(word) for word in words])

    def raw(self, count: int) -> np.ndarray:
        """`count` words of 64 bits."""
        return np.asarray(self.bits.random_raw(count), np.uint64).reshape(count)

    def steps(self, *shape: int) -> np.ndarray:
        """Integers around 0 that are nearly normal, of standard deviation DEVIATION;
        none is further away than 3.5 deviations."""
        fields = self.raw(int(np.prod(shape))).astype("<u8", copy=False).view("<u2")
        total = fields[0::FIELDS].astype(np.int32)
        for start in range(1, FIELDS):
            total += fields[start::FIELDS]
        return (total - CENTRE).reshape(shape)

    def normal(self, *shape: int, deviation: float = 1.0) -> np.ndarray:
        """Nearly normal numbers (float32) of mean 0."""
        return (self.steps(*shape) * (deviation / DEVIATION)).astype(np.float32)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        """Uniform numbers (float32) between two bounds."""
        words = self.raw(int(np.prod(shape))) >> np.uint64(40)
        share = words.astype(np.float64) * 2.0 ** -24
        return (low + share * (high - low)).astype(np.float32).reshape(shape)
