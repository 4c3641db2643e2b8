# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model reads and gives, and how samples are stacked for it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..campaign.errors import Exit, Failure, malformed, usage
from .images import BadSample


@dataclass
class Tensor:
    """An input: name, shape and numpy's name of its type."""

    name: str
    shape: list[int]
    type: str


@dataclass
class Signature:
    """Inputs with fixed shapes, names of the outputs, and shapes that options have to give."""

    inputs: list[Tensor]
    outputs: list[str]
    shapes: list[str]

    def as_dict(self) -> dict:
        return asdict(self)

    @staticmethod
    def of(value: dict) -> "Signature":
        return Signature([Tensor(**entry) for entry in value["inputs"]], value["outputs"], value["shapes"])

    @property
    def batch(self) -> int:
        """Samples of one run: axis 0 of the first input."""
        return self.inputs[0].shape[0] if self.inputs[0].shape else 1


class _Given:
    """What --input-shape says, as ashlarc reads it: shapes of inputs, and sizes of
    dimensions by their names in the model."""

    def __init__(self, inputs: list, texts: list[str]):
        self.dimensions = {d.dim_param for value in inputs for d in value.type.tensor_type.shape.dim if d.dim_param}
        self.names = [value.name for value in inputs]
        self.shapes: dict[str, list[int]] = {}
        self.sizes: dict[str, int] = {}
        for text in texts:
            self._read(text)

    def _read(self, text: str) -> None:
        name, _, shape = text.rpartition("=")
        try:
            if name in self.names:
                self.shapes[name] = [int(part) for part in shape.split("x")]
                return
            for part in text.split(","):
                name, _, size = part.rpartition("=")
                self.sizes[name] = int(size)
        except ValueError:
            raise usage(f"--input-shape={text}: expected NAME=1x3x224x224, or dimensions by name as in "
                        "batch=1,seq=128") from None
        unknown = [name for name in self.sizes if name not in self.dimensions]
        if unknown:
            raise usage(f"--input-shape: the model has no input '{unknown[0]}'; the inputs are: "
                        f"{', '.join(self.names)}; their named dimensions are: "
                        f"{', '.join(sorted(self.dimensions)) or 'none'}")

    def dims(self, path: Path, value: Any) -> list[int]:
        """The shape of an input; an open axis 0 becomes a batch of 1."""
        if value.name in self.shapes:
            return self.shapes[value.name]
        dims = value.type.tensor_type.shape.dim
        sizes = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else self.sizes.get(d.dim_param)
                 for d in dims]
        if None in sizes[1:]:
            shown = "x".join(str(size or d.dim_param or "?") for size, d in zip(sizes, dims))
            named = [d.dim_param for size, d in zip(sizes, dims) if size is None and d.dim_param]
            by_name = f", or by name --input-shape={','.join(n + '=1' for n in named)}" if named else ""
            raise usage(f"{path}: input '{value.name}' has open dimensions ({shown}): give its shape, as in "
                        f"--input-shape={value.name}={'x'.join(str(size or 1) for size in sizes)}{by_name}")
        return [1 if size is None else size for size in sizes]


def read_signature(path: Path, shapes: list[str]) -> Signature:
    """The signature of an ONNX model. An open axis 0 becomes a batch of 1; other
    open axes need --input-shape."""
    import onnx

    try:
        graph = onnx.load(str(path), load_external_data=False).graph
    except FileNotFoundError:
        raise malformed(f"{path}: no such file") from None
    except Exception as error:  # protobuf's own classes
        raise malformed(f"{path}: not an ONNX model: {error}") from None
    constants = {tensor.name for tensor in graph.initializer}
    values = [value for value in graph.input if value.name not in constants]
    given = _Given(values, shapes)
    inputs, fixed = [], []
    for value in values:
        dims = given.dims(path, value)
        declared = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.name in given.shapes or dims != declared:
            fixed.append(f"{value.name}=" + "x".join(map(str, dims)))
        inputs.append(_tensor(value.name, dims, value.type.tensor_type.elem_type))
    if not inputs:
        raise malformed(f"{path}: the model has no inputs")
    return Signature(inputs, [value.name for value in graph.output], fixed)


def varying_outputs(path: Path) -> bool:
    """Whether an output has data-dependent extents, as has that of what non-maximum
    suppression selects: it has an open dimension that no input has. Runs of several
    samples have no arrays of one shape for it."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}

    def opened(values: Iterable[Any]) -> list[str]:
        return [d.dim_param for value in values for d in value.type.tensor_type.shape.dim
                if not (d.HasField("dim_value") and d.dim_value > 0)]

    known = opened(value for value in graph.input if value.name not in constants)
    return any(name not in known for name in opened(graph.output))


def _numpy_type(kind: int) -> np.dtype:
    """numpy's type for an element type of ONNX; KeyError if it has none."""
    from onnx import helper

    if hasattr(helper, "tensor_dtype_to_np_dtype"):
        return np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    from onnx import mapping  # before onnx 1.13

    return np.dtype(mapping.TENSOR_TYPE_TO_NP_TYPE[kind])


def _tensor(name: str, dims: list[int], kind: int) -> Tensor:
    try:
        return Tensor(name, list(dims), _numpy_type(kind).name)
    except (KeyError, TypeError):
        raise Failure(Exit.UNSUPPORTED, f"input '{name}' has ONNX's element type {kind}, which numpy has "
                                        "not") from None


def fitted(signature: Signature, sample: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A sample with the types and shapes of the inputs; BadSample if it has others."""
    if set(sample) == {""} and len(signature.inputs) == 1:
        sample = {signature.inputs[0].name: sample[""]}
    result = {}
    for wanted in signature.inputs:
        if wanted.name not in sample:
            raise BadSample(f"no array for input '{wanted.name}'")
        array = sample[wanted.name]
        shape = wanted.shape[1:]
        if list(array.shape) == [1, *shape]:
            array = array[0]
        if list(array.shape) != shape:
            raise BadSample(f"is {'x'.join(map(str, array.shape)) or 'a number'}, input '{wanted.name}' expects "
                            f"{'x'.join(map(str, shape))}; a recipe resizes, crops and sets the layout")
        if array.dtype.name != wanted.type:
            if array.dtype.kind == "f" and wanted.type.startswith("float"):
                array = array.astype(wanted.type)
            else:
                raise BadSample(f"has the type {array.dtype.name}, input '{wanted.name}' expects {wanted.type}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise BadSample(f"input '{wanted.name}' has values that are not finite")
        result[wanted.name] = array
    return result


def stack(signature: Signature, samples: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Samples on axis 0; the last batch is filled up with its last sample."""
    lacking = -len(samples) % signature.batch
    rows = [*samples, *samples[-1:] * lacking]
    return {wanted.name: np.stack([row[wanted.name] for row in rows]) for wanted in signature.inputs}


def rows_of(name: str, array: np.ndarray, signature: Signature, count: int) -> np.ndarray:
    """An output by sample, with one axis more if a run gives several rows a sample."""
    batch = signature.batch
    runs = -(-count // batch)
    rows = array.shape[0] if array.ndim else 1
    if rows % (runs * batch):
        raise Failure(Exit.UNSUPPORTED, f"output '{name}' has {rows} rows for {runs} runs of {batch} samples: "
                                        "no rows of samples")
    each = rows // (runs * batch)
    shape = [runs * batch, *([each] if each > 1 else []), *array.shape[1:]]
    return array.reshape(shape)[:count]
