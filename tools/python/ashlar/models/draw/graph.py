# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ONNX graph under construction: nodes, drawn weights, what is known of values."""

import dataclasses
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .random import Draws

IR_VERSION = 8


@dataclasses.dataclass
class Value:
    """A tensor of the graph, and what it is for a few sample inputs."""
    name: str
    sample: np.ndarray

    @property
    def channels(self) -> int:
        return int(self.sample.shape[1])


@dataclasses.dataclass
class ExternalData:
    """The file beside a model that takes what a protobuf message cannot hold."""
    name: str
    stream: BinaryIO
    least: int = 1 << 20

    def tensor(self, name: str, values: np.ndarray) -> onnx.TensorProto:
        """An initialiser whose elements are in the file."""
        tensor = TensorProto(name=name, dims=values.shape, data_location=TensorProto.EXTERNAL,
                             data_type=numpy_helper.from_array(values.flat[:1]).data_type)
        data = np.ascontiguousarray(values).data.cast("B")
        for key, value in (("location", self.name), ("offset", self.stream.tell()),
                           ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))
        self.stream.write(data)
        return tensor


class Graph:
    """Collects nodes and constants in order; the same calls give the same bytes."""

    def __init__(self, name: str, seed: int, opset: int = 13) -> None:
        self.name, self.opset = name, opset
        self.draws = Draws(name, seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.counts: dict[str, int] = {}
        self.bounds: tuple[str, str] | None = None
        self.external: ExternalData | None = None

    def declare(self, name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> str:
        """Declares an input; its name."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def unique(self, stem: str) -> str:
        """A name that begins with `stem`."""
        count = self.counts[stem] = self.counts.get(stem, 0) + 1
        return stem if count == 1 else f"{stem}_{count}"

    def constant(self, stem: str, values: Any, kind: type = np.float32) -> str:
        """Adds an initialiser."""
        name = self.unique(stem)
        array = np.asarray(values, kind)
        outside = self.external and array.nbytes >= self.external.least
        self.constants.append(self.external.tensor(name, array) if self.external and outside
                              else numpy_helper.from_array(array, name))
        return name

    def ints(self, *values: int) -> str:
        """Adds an initialiser of int64."""
        return self.constant("ints", np.array(values, np.int64), np.int64)

    def node(self, kind: str, *inputs: str, name: str = "", outputs: int = 1,
             **attributes: Any) -> Any:
        """Adds a node; its output, or the list of its outputs."""
        name = name or self.unique(kind.lower())
        names = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, outputs: Sequence[tuple[str, str, Sequence[int]]]) -> onnx.ModelProto:
        """The model; outputs as (name, value, shape)."""
        infos = []
        for name, value, shape in outputs:
            self.nodes.append(helper.make_node("Identity", [value], [name], name="out_" + name))
            infos.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  producer_name="ashlar-models")
        model.ir_version = IR_VERSION
        return model
