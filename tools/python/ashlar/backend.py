# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ashlar as a backend of ONNX (onnx.backend.base).

    import ashlar.backend
    outputs = ashlar.backend.run_model(model, [array])
"""

import numpy
import onnx
from onnx.backend.base import (Backend, BackendRep, Device, DeviceType,
                               namedtupledict)

import ashlar
from ashlar._errors import Error, UsageError


def is_list(info):
    """Whether a graph input or output is a sequence, or an optional one."""
    kind = info.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    return kind.HasField("sequence_type")


def graph_inputs(model):
    """The inputs that a run gives values to."""
    initial = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in initial]


def named_inputs(model, inputs):
    """Values by name, for a list in the order of the graph's inputs too."""
    if isinstance(inputs, dict):
        return inputs
    infos = graph_inputs(model)
    if len(infos) == 1 and is_list(infos[0]):
        # A list of arrays may be the one sequence itself.
        whole = len(inputs) == 1 and (inputs[0] is None
                                      or isinstance(inputs[0], (list, tuple)))
        inputs = inputs if whole else [inputs]
    return dict(zip((info.name for info in infos), inputs))


def list_options(model, inputs):
    """Options of ashlar.compile for the lists among a run's values."""
    elements, shapes = {}, {}
    for info in graph_inputs(model):
        value = inputs.get(info.name)
        if is_list(info) and value is not None:
            elements[info.name] = len(value)
            shapes.update((f"{info.name}.{k}", numpy.shape(one))
                          for k, one in enumerate(value))
        elif value is None and info.type.HasField("optional_type"):
            elements[info.name] = 0
    return {"elements": elements, "input_shape": shapes} if elements else {}


class AshlarRep(BackendRep):
    """A prepared model."""

    def __init__(self, program, model=None):
        self.program = program
        self.model = model

    def outputs_of(self, tensors):
        """The graph's outputs: a list for a sequence, None for an empty
        optional."""
        if self.model is None:
            return {t.name: tensors[t.name] for t in self.program.outputs}
        values = {}
        for info in self.model.graph.output:
            if is_list(info):
                count = 0
                while f"{info.name}.{count}" in tensors:
                    count += 1
                values[info.name] = [tensors[f"{info.name}.{k}"]
                                     for k in range(count)]
            elif info.name in tensors or info.type.HasField("optional_type"):
                values[info.name] = tensors.get(info.name)
        return values

    def run(self, inputs, **kwargs):
        """`inputs` is a dict by name, a list in the order of the graph's inputs,
        or one array; a value of a sequence is a list. Returns a named tuple of
        the outputs."""
        if self.model is not None and any(map(is_list, self.model.graph.input)):
            inputs = named_inputs(self.model, inputs)
        names = [tensor.name for tensor in self.program.inputs]
        if not isinstance(inputs, dict):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            if len(inputs) != len(names):
                raise UsageError(f"found {len(inputs)} inputs, expected "
                                 f"{len(names)}: {', '.join(names)}")
            inputs = dict(zip(names, inputs))
        outputs = self.program.run(inputs, **{"timing": False, **kwargs})
        outputs = self.outputs_of(outputs)
        return namedtupledict("Outputs", list(outputs))(*outputs.values())


def inferred_outputs(model, node):
    """The outputs of the only node of a model, with type and shape."""
    known = {info.name: info for info in
             onnx.shape_inference.infer_shapes(model, data_prop=True).graph.value_info}
    for name in node.output:
        kind = known[name].type if name in known else onnx.TypeProto()
        found = kind.WhichOneof("value") not in (None, "tensor_type") or (
            kind.tensor_type.HasField("shape")
            and all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim))
        if name and not found:
            raise UsageError(
                f"the shape of output '{name}' of {node.op_type} does not follow from "
                "the shapes of its inputs: give outputs_info, (dtype, shape) of each output")
    return [known[name] for name in node.output if name]


class AshlarBackend(Backend):
    """The emulator is on the host: the only device is the CPU."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            cls.prepare(model, device, **kwargs)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Keyword arguments are those of ashlar.compile."""
        if not cls.supports_device(device):
            raise UsageError(f"device is '{device}', expected CPU")
        program = ashlar.compile(model, **kwargs)
        return AshlarRep(program, model if hasattr(model, "graph") else None)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        """Compiles and runs; sequences have the lengths of the lists given."""
        if hasattr(model, "graph"):
            if any(info.type.HasField("sequence_type")
                   or info.type.HasField("optional_type")
                   for info in graph_inputs(model)):
                inputs = named_inputs(model, inputs)
                kwargs = {**list_options(model, inputs), **kwargs}
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs a node as a model of its own. `outputs_info` has a pair of dtype
        and shape for each output; without it both are inferred."""
        helper, kinds = onnx.helper, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE
        names = [name for name in node.input if name]
        # An operand that is read twice is one input.
        arrays = {name: numpy.asarray(array) for name, array in zip(names, inputs)}
        graph = helper.make_graph(
            [node], "node",
            [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape)
             for n, a in arrays.items()],
            [] if outputs_info is None else
            [helper.make_tensor_value_info(n, kinds[numpy.dtype(dtype)], shape)
             for n, (dtype, shape) in zip(node.output, outputs_info)])
        options = {}
        if "opset_version" in kwargs:
            options["opset_imports"] = [
                helper.make_opsetid("", kwargs.pop("opset_version"))]
        model = helper.make_model(graph, **options)
        if outputs_info is None:
            model.graph.output.extend(inferred_outputs(model, node))
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device):
        try:
            return Device(device).type == DeviceType.CPU
        except (AttributeError, ValueError):
            return False


is_compatible = AshlarBackend.is_compatible
prepare = AshlarBackend.prepare
run = AshlarBackend.run_model
run_model = AshlarBackend.run_model
run_node = AshlarBackend.run_node
supports_device = AshlarBackend.supports_device
