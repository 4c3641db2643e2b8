# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values as the plan stores them, and the conversions of docs/Numerics.md 10.

A `Value` has a storage type; f32, f16, f64, integers and bool hold a numpy
array of that type, bf16 holds binary32 numbers that are bfloat16, bfp holds
`Encoded` blocks with the scale exponent E of their encode event, or, for
weights, with the axis whose indices own an E each (`Plan.settle`).
"""

import numpy as np

import blocks
import exact

NUMPY = {"f32": np.float32, "f16": np.float16, "f64": np.float64,
         "bf16": np.float32, "i8": np.int8, "u8": np.uint8, "i16": np.int16,
         "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
         "u64": np.uint64, "bool": np.bool_}
FLOATS = {"f32", "f16", "bf16", "f64", "bfp"}


class Value:
    def __init__(self, type_, data, scale_exponent=None, channel_axis=None):
        self.type, self.data = type_, data
        self.scale_exponent = scale_exponent
        self.channel_axis = channel_axis
        self.own_exponent = None  # under a given exponent, see store()

    @property
    def shape(self):
        return self.data.shape

    @property
    def is_float(self):
        return self.type in FLOATS

    def numbers(self):
        """The operand as a binary32 array."""
        if self.type == "bfp":
            return self.data.decode()
        if self.type == "f32":
            return self.data
        return self.data.astype(np.float32)

    def integers(self):
        return self.data.astype(np.int64)


def float_to_integer(values, type_):
    """Truncate toward zero, saturate, NaN gives 0."""
    info = np.iinfo(NUMPY[type_])
    whole = np.trunc(np.nan_to_num(values.astype(np.float64), nan=0.0,
                                   posinf=np.inf, neginf=-np.inf))
    low, high = whole <= float(info.min), whole >= float(info.max)
    safe = np.where(low | high, 0.0, whole).astype(NUMPY[type_])
    safe = np.where(low, np.array(info.min, NUMPY[type_]), safe)
    return np.where(high, np.array(info.max, NUMPY[type_]), safe).astype(NUMPY[type_])


def store(result, tensor, given=None):
    """A computed array (float or integer) in the storage of a plan tensor.

    `given` is (exponent or None, overflow) where a policy sets the stored
    exponents; the value then knows the largest one that its blocks would have
    by themselves.
    """
    type_ = tensor["type"]
    result = np.asarray(result)
    if type_ == "bfp":
        fmt = blocks.Format.from_json(tensor["format"])
        if given is None:
            return Value(type_, blocks.encode(result, fmt))
        encoded, own = blocks.encode_given(result, fmt, *given)
        value = Value(type_, encoded)
        value.own_exponent = own
        return value
    if type_ == "bool":
        return Value(type_, result != 0)
    floating = result.dtype.kind == "f"
    with np.errstate(all="ignore"):
        if type_ == "bf16":
            return Value(type_, exact.to_bf16(result.astype(np.float32)))
        if type_ == "f16" and floating:
            result = result.astype(np.float32)  # never binary64 to f16 at once
        if type_ in FLOATS:
            return Value(type_, result.astype(NUMPY[type_]))
        if floating:
            return Value(type_, float_to_integer(result, type_))
        return Value(type_, result.astype(np.int64).astype(NUMPY[type_]))
