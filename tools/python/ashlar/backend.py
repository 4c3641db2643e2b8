# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ashlar as a backend of ONNX (onnx.backend.base).

    import ashlar.backend
    outputs = ashlar.backend.run_model(model, [array])
"""

import onnx
from onnx.backend.base import (Backend, BackendRep, Device, DeviceType,
                               namedtupledict)

import ashlar
from ashlar._errors import Error, UsageError


class AshlarRep(BackendRep):
    """A prepared model."""

    def __init__(self, program):
        self.program = program

    def run(self, inputs, **kwargs):
        """`inputs` is a dict by name, a list in the order of the graph's inputs,
        or one array. Returns a named tuple of the outputs."""
        names = [tensor.name for tensor in self.program.inputs]
        if not isinstance(inputs, dict):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            if len(inputs) != len(names):
                raise UsageError(f"found {len(inputs)} inputs, expected "
                                 f"{len(names)}: {', '.join(names)}")
            inputs = dict(zip(names, inputs))
        outputs = self.program.run(inputs, **{"timing": False, **kwargs})
        order = [tensor.name for tensor in self.program.outputs]
        return namedtupledict("Outputs", order)(*(outputs[n] for n in order))


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
        return AshlarRep(ashlar.compile(model, **kwargs))

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs a node as a model of its own; `outputs_info` is needed: a pair of
        dtype and shape for each output."""
        if outputs_info is None:
            raise UsageError("run_node needs outputs_info: (dtype, shape) of each "
                             "output")
        helper, kinds = onnx.helper, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE
        names = [name for name in node.input if name]
        # An operand that is read twice is one input.
        arrays = dict(zip(names, inputs))
        graph = helper.make_graph(
            [node], "node",
            [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape)
             for n, a in arrays.items()],
            [helper.make_tensor_value_info(n, kinds[dtype], shape)
             for n, (dtype, shape) in zip(node.output, outputs_info)])
        options = {}
        if "opset_version" in kwargs:
            options["opset_imports"] = [
                helper.make_opsetid("", kwargs.pop("opset_version"))]
        model = helper.make_model(graph, **options)
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
