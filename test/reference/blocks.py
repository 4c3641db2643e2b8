# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block floating point of docs/Numerics.md in numpy: encode, decode, align.

Written from the contract alone. All arithmetic is on integers or on binary64
values that hold them exactly.
"""

import numpy as np

ZERO_BLOCK = -128
INT64 = np.int64


class Format:
    """mantissa bits W, block length B (0 = whole axis, -1 = tensor), range D;
    `unsigned`: the sign that W counts is not stored. `rows`: of weights, how
    many output channels share an exponent."""

    def __init__(self, mantissa=8, block=16, range_=7, axis=1, unsigned=False,
                 rows=1):
        self.mantissa, self.block = int(mantissa), int(block)
        self.range, self.axis = int(range_), int(axis)
        self.unsigned, self.rows = bool(unsigned), int(rows)

    @classmethod
    def from_json(cls, entry):
        block = entry.get("block", 16)
        block = {"axis": 0, "tensor": -1}.get(block, block)
        return cls(entry["mantissa"], block, entry["range"],
                   entry.get("axis", 1), entry.get("unsigned", False),
                   entry.get("rows", 1))

    @property
    def limit(self):
        """Largest magnitude of a mantissa."""
        return 2 ** (self.mantissa - 1) - 1

    def key(self):
        return (self.mantissa, self.block, self.range, self.axis,
                self.unsigned, self.rows)


class Encoded:
    """Mantissas of the logical shape and one stored exponent x per block.

    `exponents` has the logical shape with the block axis replaced by the
    number of blocks (all axes 1 for a tensor block), and that of output
    channels with the number of tiles where channels share exponents.
    """

    def __init__(self, mantissas, exponents, fmt):
        self.mantissas = mantissas.astype(INT64)
        self.exponents = exponents.astype(INT64)
        self.format = fmt

    @property
    def shape(self):
        return self.mantissas.shape

    def element_exponents(self):
        """x per element, by broadcasting the blocks over their elements."""
        return spread(self.exponents, self.mantissas.shape, self.format)

    def fetched(self):
        """Mantissas as readers see them: wrapping can store -2^(W-1)."""
        return np.maximum(self.mantissas, -self.format.limit)

    def decode(self):
        """m * 2^e as binary32; exact but for results outside its range."""
        e = self.element_exponents() - (self.format.mantissa - 2)
        values = np.ldexp(self.fetched().astype(np.float64), e)
        return values.astype(np.float32)

    def largest_exponent(self):
        """The largest step exponent of its blocks, None if all are zero."""
        used = self.exponents[self.exponents != ZERO_BLOCK]
        return int(used.max()) - (self.format.mantissa - 2) if used.size else None

    def scale_exponent(self):
        """The smallest E that no block exceeds, in units of e."""
        largest = self.largest_exponent()
        return ZERO_BLOCK - (self.format.mantissa - 2) if largest is None \
            else largest


def block_length(shape, fmt):
    return shape[fmt.axis] if fmt.block == 0 else fmt.block


def spread(blocks, shape, fmt):
    if fmt.block == -1:
        return np.broadcast_to(blocks, shape)
    length = block_length(shape, fmt)
    repeated = np.repeat(blocks, length, axis=fmt.axis)
    index = [slice(None)] * len(shape)
    index[fmt.axis] = slice(0, shape[fmt.axis])
    if fmt.rows > 1:
        repeated = np.repeat(repeated, fmt.rows, axis=1 - fmt.axis)
        index[1 - fmt.axis] = slice(0, shape[1 - fmt.axis])
    return repeated[tuple(index)]


def block_maximum(magnitude, fmt):
    """Largest value of each block, keeping the block axis."""
    if fmt.block == -1:
        return magnitude.max(keepdims=True)
    length = block_length(magnitude.shape, fmt)
    starts = np.arange(0, magnitude.shape[fmt.axis], length)
    top = np.maximum.reduceat(magnitude, starts, axis=fmt.axis)
    if fmt.rows > 1:
        starts = np.arange(0, magnitude.shape[1 - fmt.axis], fmt.rows)
        top = np.maximum.reduceat(top, starts, axis=1 - fmt.axis)
    return top


def floor_log2(values):
    """floor(log2 v) of positive binary64 values, exact."""
    return np.frexp(values)[1].astype(INT64) - 1


def encode(values, fmt):
    """docs/Numerics.md 2; `values` of any float type."""
    wide = np.asarray(values).astype(np.float64)
    finite = np.isfinite(wide)
    top = block_maximum(np.where(finite, np.abs(wide), 0.0), fmt)
    x = np.full(top.shape, ZERO_BLOCK, INT64)
    used = top > 0
    x[used] = np.clip(floor_log2(top[used]), -127, 127)
    step = spread(x, wide.shape, fmt) - (fmt.mantissa - 2)
    limit = fmt.limit
    clean = np.where(np.isnan(wide), 0.0, wide)
    mantissas = np.clip(np.rint(np.ldexp(clean, -step)), -limit, limit)
    # A block without a finite non-zero element holds zeros only.
    mantissas = np.where(spread(used, wide.shape, fmt), mantissas, 0.0)
    mantissas = mantissas.astype(INT64)
    empty = block_maximum(np.abs(mantissas), fmt) == 0
    x[empty] = ZERO_BLOCK
    if fmt.unsigned:
        mantissas = np.maximum(mantissas, 0)
    return Encoded(mantissas, x, fmt)


def encode_given(values, fmt, exponent, overflow):
    """(blocks, largest own exponent or None) of a policy that sets the stored
    exponents (docs/Numerics.md 5): all blocks under the step exponent
    `exponent`; by themselves if that is None and, with "repair", those beyond
    it."""
    own = encode(values, fmt)
    if exponent is None:
        return own, own.largest_exponent()
    cell = int(np.clip(exponent + fmt.mantissa - 2, -127, 127))
    wide = np.asarray(values).astype(np.float64)
    clean = np.where(np.isnan(wide), 0.0, wide)
    limit = fmt.limit
    exact = np.rint(np.ldexp(clean, -(cell - (fmt.mantissa - 2))))
    given = np.clip(exact, -limit, limit)
    if overflow == "wrap":
        turn, half = 2.0 ** fmt.mantissa, 2.0 ** (fmt.mantissa - 1)
        folded = np.fmod(np.where(np.isfinite(exact), exact, 0.0), turn)
        folded = np.where(folded >= half, folded - turn, folded)
        folded = np.where(folded < -half, folded + turn, folded)
        beyond = np.isfinite(exact) & (np.abs(exact) > limit)
        given = np.where(beyond, folded, given)
    given = given.astype(INT64)
    x = np.full(own.exponents.shape, cell, INT64)
    x[block_maximum(np.abs(given), fmt) == 0] = ZERO_BLOCK
    if overflow == "repair":
        alone = own.exponents > cell
        given = np.where(spread(alone, wide.shape, fmt), own.mantissas, given)
        x = np.where(alone, own.exponents, x)
    return Encoded(given, x, fmt), own.largest_exponent()


def shift_right_rne(values, shift):
    """rne(values * 2^-shift) on integers of less than 53 bits."""
    return np.rint(np.ldexp(values.astype(np.float64), -shift)).astype(INT64)


def align(encoded, scale_exponent):
    """The integers that the array multiplies: m' << (D - s).

    `scale_exponent` is E, a number or an array that broadcasts over the
    elements. Their value is 2^(E - D) each (docs/Numerics.md 3, 4).
    """
    fmt = encoded.format
    x = encoded.element_exponents()
    m = encoded.fetched()
    s = np.asarray(scale_exponent, INT64) - (x - (fmt.mantissa - 2))
    s = np.broadcast_to(s, m.shape)
    s = np.where(m == 0, 0, s)
    inside = np.left_shift(m, np.clip(fmt.range - s, 0, fmt.range))
    if s.size and int(s.max()) > fmt.range:
        far = np.minimum(s - fmt.range, 60)
        inside = np.where(s > fmt.range, shift_right_rne(m, far), inside)
    if s.size and int(s.min()) < 0:
        above = np.ldexp(m.astype(np.float64), np.minimum(-s, 60))
        limit = fmt.limit
        clipped = np.clip(above, -limit, limit).astype(INT64) << fmt.range
        inside = np.where(s < 0, clipped, inside)
    return inside
