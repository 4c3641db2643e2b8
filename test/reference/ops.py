# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluators of the numeric plan's other operations (docs/NumericPlan.md).

An evaluator takes the operation, its operands and its result's tensor entry
and returns an array, which `reference.py` converts to the result's storage.
"""

import numpy as np

import functions
import windows as win

F32 = np.float32
EVALUATORS = {}


def evaluator(*names):
    def register(function):
        for name in names:
            EVALUATORS[name] = function
        return function
    return register


def two(values):
    return values["a"], values["b"]


# Reductions (docs/Numerics.md 9).

START = {"sum": 0.0, "mean": 0.0, "max": -np.inf, "min": np.inf, "prod": 1.0,
         "sumsquare": 0.0, "l1": 0.0}
STEP = {
    "sum": lambda acc, x: acc + x, "mean": lambda acc, x: acc + x,
    "max": lambda acc, x: functions.binary("max", acc, x),
    "min": lambda acc, x: functions.binary("min", acc, x),
    "prod": lambda acc, x: acc * x,
    "sumsquare": lambda acc, x: acc + (x * x),
    "l1": lambda acc, x: acc + np.abs(x),
}


def reduce_first(kind, x):
    """Reduces axis 0 in index order, binary32, one rounding per step."""
    kind = functions.key(kind)
    acc = np.full(x.shape[1:], START[kind], F32)
    with np.errstate(all="ignore"):
        for k in range(x.shape[0]):
            acc = STEP[kind](acc, x[k])
        if kind == "mean":
            acc = acc / F32(x.shape[0])
    return functions.canonical(acc)


def to_front(x, axes):
    """x with `axes` flattened, row-major, into a new axis 0."""
    axes = sorted(a % x.ndim for a in axes)
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose(axes + rest)
    return moved.reshape(-1, *[x.shape[a] for a in rest]), rest


@evaluator("reduce")
def reduce(attrs, values, result):
    x = values["x"]
    axes = attrs["axes"]
    if not x.is_float:
        return reduce_integers(attrs, x, axes).reshape(result["shape"])
    front, _ = to_front(x.numbers(), axes)
    return reduce_first(attrs["kind"], front).reshape(result["shape"])


def reduce_integers(attrs, x, axes):
    front, _ = to_front(x.integers(), axes)
    kind = functions.key(attrs["kind"])
    table = {"sum": lambda v: v.sum(0), "max": lambda v: v.max(0),
             "min": lambda v: v.min(0), "prod": lambda v: v.prod(0),
             "sumsquare": lambda v: (v * v).sum(0), "l1": lambda v: np.abs(v).sum(0)}
    if kind in table:
        return table[kind](front)
    return reduce_first(attrs["kind"], front.astype(F32))


def arg_reduce(least, attrs, values, result):
    x = values["x"]
    x = x.numbers() if x.is_float else x.integers()
    front, _ = to_front(x, [attrs["axis"]])
    last = bool(attrs.get("select_last"))
    best, index = front[0], np.zeros(front.shape[1:], np.int64)
    compare = {(False, False): np.greater, (False, True): np.greater_equal,
               (True, False): np.less, (True, True): np.less_equal}[least, last]
    for k in range(1, front.shape[0]):
        wins = compare(front[k], best)
        best = np.where(wins, front[k], best)
        index = np.where(wins, k, index)
    return index.reshape(result["shape"])


EVALUATORS["argmax"] = lambda *rest: arg_reduce(False, *rest)
EVALUATORS["argmin"] = lambda *rest: arg_reduce(True, *rest)


# Softmax (composite).

def _softmax_parts(x, axis):
    maximum = np.expand_dims(reduce_first("max", np.moveaxis(x, axis, 0)), axis)
    with np.errstate(all="ignore"):
        d = functions.canonical(x - maximum)
    p = functions.unary("exp", d)
    total = np.expand_dims(reduce_first("sum", np.moveaxis(p, axis, 0)), axis)
    return d, p, total


@evaluator("softmax")
def softmax(attrs, values, result):
    x = values["x"].numbers()
    _, p, total = _softmax_parts(x, attrs["axis"])
    return functions.binary("div", p, total)


@evaluator("log_softmax")
def log_softmax(attrs, values, result):
    x = values["x"].numbers()
    d, _, total = _softmax_parts(x, attrs["axis"])
    return functions.binary("sub", d, functions.unary("log", total))


# Pooling and windows.

def _window(attrs, x, outputs):
    shape = win.Windows(x.shape[2:], attrs["kernel"], attrs)
    return shape, list(outputs)


@evaluator("max_pool")
def max_pool(attrs, values, result):
    value = values["x"]
    x = value.numbers() if value.is_float else value.integers()
    shape, outputs = _window(attrs, x, result["shape"][2:])
    # Outside the input the start value never wins against a valid position;
    # a window with none keeps it.
    fill = F32(-np.inf) if value.is_float else np.iinfo(np.int64).min
    padded = shape.padded(x, fill, outputs)
    planes = np.stack([shape.view(padded, t, outputs) for t in shape.taps()])
    return reduce_first("max", planes) if value.is_float else planes.max(0)


@evaluator("avg_pool")
def avg_pool(attrs, values, result):
    x = values["x"].numbers()
    shape, outputs = _window(attrs, x, result["shape"][2:])
    padded = shape.padded(x, F32(0), outputs)
    low = high = None
    if attrs.get("count_include_pad"):
        low = [-b for b in shape.before]
        high = [i + a for i, a in zip(shape.spatial, shape.after)]
    acc = np.zeros(x.shape[:2] + tuple(outputs), F32)
    count = np.zeros(outputs, np.int64)
    with np.errstate(all="ignore"):
        for tap in shape.taps():
            valid = shape.valid(tap, outputs)
            acc = np.where(valid, acc + shape.view(padded, tap, outputs), acc)
            count += shape.valid(tap, outputs, low, high)
        if not attrs.get("sums"):
            # A window of padding alone averages to 0.
            acc = acc / np.maximum(count, 1).astype(F32)
        return functions.canonical(acc)


@evaluator("im2col")
def im2col(attrs, values, result):
    value = values["x"]
    x = value.numbers() if value.is_float else value.integers()
    outputs = list(result["shape"][2:])
    shape = win.Windows(x.shape[2:], attrs["kernel"], attrs)
    return win.im2col(x, shape, outputs).reshape(result["shape"])


# Run-time indices.

@evaluator("take")
def take(attrs, values, result):
    x, indices = values["x"], values["indices"].integers()
    x = x.data
    axis, shape = attrs["axis"], list(result["shape"])
    indices = np.where(indices < 0, indices + x.shape[axis], indices)
    return np.take_along_axis(x, np.broadcast_to(indices, shape), axis)


# Elementwise.

def operands_of(values, result):
    """Their numbers: of binary64 if the result or one of them is (docs/Numerics.md
    8.6), else of binary32."""
    types = {result["type"], *(value.type for value in values)}
    if "f64" not in types or "bfp" in types:
        return [value.numbers() for value in values]
    return [value.data.astype(np.float64) for value in values]


@evaluator("unary")
def unary(attrs, values, result, function=None):
    x = values["x"]
    name = functions.key(function["name"])
    if not x.is_float and name in functions.INTEGER_UNARY and \
            result["type"] not in ("f32", "f16", "bf16", "bfp"):
        return functions.INTEGER_UNARY[name](x.integers())
    return functions.unary(name, *operands_of([x], result),
                           float(function.get("alpha", 0)),
                           float(function.get("beta", 0)))


def binary(name):
    def evaluate(attrs, values, result):
        x, y = two(values)
        kind = attrs.get("kind", name) if name in ("compare", "logical") else name
        if not x.is_float and not y.is_float and \
                result["type"] not in ("f32", "f16", "bf16", "bfp"):
            return functions.integer_binary(kind, x.integers(), y.integers())
        return functions.binary(kind, *operands_of([x, y], result))
    return evaluate


for _name in list(functions.BINARY) + ["compare", "logical"]:
    EVALUATORS[_name] = binary(_name)


def sum_with_rest(x, y):
    """x + y in binary64; what that does not hold moves it by one unit, so that a
    rounding to few bits sees it."""
    total = x + y
    back = total - x
    rest = (x - (total - back)) + (y - back)
    return np.where(rest == 0, total,
                    np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)))


@evaluator("arithmetic")
def arithmetic(attrs, values, result):
    """docs/Numerics.md 6: exact functions of encoded operands, for one rounding."""
    x, y = (v.numbers().astype(np.float64) for v in two(values))
    x, y = np.broadcast_arrays(x, y)
    if attrs["kind"] == "add":
        return sum_with_rest(x, y)
    if attrs["kind"] == "sub":
        return sum_with_rest(x, -y)
    if attrs["kind"] == "mul":
        return x * y
    with np.errstate(all="ignore"):
        return np.where((x == 0) & (y == 0), 0.0, x / y)


def dequantised(x, scale, zero):
    return (x.numbers().astype(np.float32) - np.float32(zero)) * np.float32(scale)


@evaluator("affine")
def affine(attrs, values, result, function=None):
    """A scale and a bias, each step rounded, then a function."""
    v = values["x"].numbers().astype(np.float32)
    if "scale" in values:
        v = v * values["scale"].numbers()
    if "bias" in values:
        v = v + values["bias"].numbers()
    if "exponent" in values:
        return functions.binary(function["name"], v,
                                values["exponent"].numbers())
    return functions.unary(function["name"], v, float(function["alpha"]),
                           float(function["beta"]))


@evaluator("requantise")
def requantise(attrs, values, result, function=None):
    """docs/Numerics.md 12: dequantised, a function, quantised; the caller limits
    integers to their type."""
    number = {key: float(value) for key, value in attrs.items()}
    alpha, beta = (float(function[key]) for key in ("alpha", "beta"))
    name = function["name"]
    v = dequantised(values["a"], number["a_scale"], number["a_zero"])
    if "b" in values:
        v = functions.binary(
            name, v, dequantised(values["b"], number["b_scale"], number["b_zero"]))
        if attrs["limited"]:
            v = functions.unary("clip", v, alpha, beta)
    else:
        v = functions.unary(name, v, alpha, beta)
    if result["type"] == "f32":
        return v
    v = np.rint(v / np.float32(number["step"])).astype(np.float32)
    return v + np.float32(number["zero_point"])


@evaluator("where")
def where(attrs, values, result):
    condition = values["condition"]
    x, y = two(values)
    if x.type == y.type and not x.type == "bfp":
        return np.where(condition.data != 0, x.data, y.data)
    return np.where(condition.numbers() != 0, x.numbers(), y.numbers())


@evaluator("cast", "encode", "decode", "copy")
def cast(attrs, values, result):
    """Blocks are encoded from binary32 (docs/Numerics.md 2)."""
    x = values["x"]
    return x.numbers() if "bfp" in (x.type, result["type"]) else x.data
