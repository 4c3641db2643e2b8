# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ashlar.compile: options of ashlarc as keyword arguments."""

import json
import os

from ashlar._errors import UsageError
from ashlar._native import native
from ashlar._program import Program, as_arrays


def option_text(name, value):
    """The value of an option as the command line would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == "formats" and isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (int, float)):
        return repr(value)
    raise UsageError(f"option '{name}' has the type {type(value).__name__}, expected text "
                     "or a number")


def shape_options(shapes):
    """(option, value) of shapes by input and sizes by named dimension."""
    if isinstance(shapes, str):
        return [("input-shape", shapes)]
    options = []
    try:
        for name, shape in dict(shapes).items():
            extents = [shape] if isinstance(shape, int) else list(shape)
            text = "x".join(str(int(extent)) for extent in extents) or "scalar"
            options.append(("input-shape", f"{name}={text}"))
    except (TypeError, ValueError):
        raise UsageError(f"input_shape is {shapes!r}, expected a dict of shapes "
                         "by input, or of sizes by named dimension") from None
    return options


def element_options(elements):
    """(option, value) of numbers of elements by input."""
    try:
        return [("elements", f"{name}={int(count)}")
                for name, count in dict(elements).items()]
    except (TypeError, ValueError):
        raise UsageError(f"elements is {elements!r}, expected a dict of numbers by "
                         "input") from None


def model_bytes(model):
    """Path or bytes of a model, and what messages call it."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), "model"
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        name = getattr(getattr(model, "graph", None), "name", "") or "model"
        return model.SerializeToString(), name
    try:
        path = os.fspath(model)
    except TypeError:
        raise UsageError(f"the model has the type {type(model).__name__}, expected a path, "
                         "bytes or an onnx.ModelProto") from None
    return os.fsdecode(path), os.fsdecode(path)


def compile(model, machine="a1", format=None, *, calibrate=None, constants=None,
            input_shape=None, elements=None, batch=None, threads=None, **options):
    """Compiles an ONNX model and returns a Program.

    `model` is a path, bytes or an onnx.ModelProto. `calibrate` has samples,
    a dict of arrays by input name; `constants` has inputs that become
    constants. `input_shape` is a dict: a shape by input, or a size by named
    dimension; `elements` has the number of elements of inputs that are sequences,
    each an input NAME.K, and 0 for an optional that is empty. Every other option of ashlarc that decides what is compiled is a
    keyword with `_` for `-`: `weight_scaling="off"`, `min_snr=40`,
    `formats={...}`. No option changes the bits of a result but those of formats.
    """
    source, name = model_bytes(model)
    pairs = [("machine", os.fspath(machine))]
    for key, value in (("format", format), ("batch", batch),
                       ("threads", threads), *options.items()):
        if value is not None:
            option = key.replace("_", "-")
            pairs.append((option, option_text(option, value)))
    pairs += element_options(elements or {})
    if input_shape is not None:
        pairs += shape_options(input_shape)
    program, report, formats = native.compile(
        source, name, pairs, as_arrays(calibrate or {}, "the samples"),
        as_arrays(constants or {}, "the constants"))
    return Program(program, report, formats)
