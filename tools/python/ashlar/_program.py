# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs and what runs of them give."""

import html
import json
import os
from collections import namedtuple

import numpy

from ashlar._errors import UsageError
from ashlar._native import native
from ashlar._tables import tabulate

__version__ = native.version()

Tensor = namedtuple("Tensor", ["name", "type", "shape"])
Tensor.__doc__ = "An input or output: ONNX name, type as 'f32', shape."


def as_arrays(arrays, what):
    """Named arrays in the byte order and the types that the libraries know."""
    try:
        items = dict(arrays).items()
    except (TypeError, ValueError):
        raise UsageError(f"{what} are a {type(arrays).__name__}, expected a dict "
                         "of arrays by name") from None
    return {name: as_array(value) for name, value in items}


def without_lists(values, names):
    """Values of a program's inputs: element K of the list for NAME is NAME.K, as
    programs have sequences, and None is an optional that is empty."""
    try:
        items = dict(values).items()
    except (TypeError, ValueError):
        return values  # as_arrays says what is wrong.
    arrays = {}
    for name, value in items:
        if isinstance(value, (list, tuple)) and name not in names:
            arrays.update((f"{name}.{k}", one) for k, one in enumerate(value))
        elif value is not None or name in names:
            arrays[name] = value
    return arrays


def as_array(value):
    array = numpy.asarray(value)
    if array.dtype.name == "bfloat16":  # Of ml_dtypes; stored as its bits.
        array = array.view(numpy.uint16)
    if array.dtype.byteorder == ">" or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def layer_rows(report):
    """One row per node of the model, in the order of the report."""
    seconds = 1 / report["clock_hz"]
    total = max(report["total_cycles"], 1)
    rows = []
    for node in report["nodes"]:
        rows.append({
            "name": node["name"], "op": node["op"], "engine": node["engine"],
            "cycles": node["cycles"], "share": node["cycles"] / total,
            "seconds": node["cycles"] * seconds,
            "macs": node["macs"], "utilisation": node["utilisation"],
            "dram_read": node["dram_read"], "dram_write": node["dram_write"],
            "energy_pj": node.get("energy_pj"),
        })
    return rows


class Run:
    """What one run measured."""

    def __init__(self, result):
        self._result = result
        self._report = None

    @property
    def cycles(self):
        """Cycles of the first sample; 0 if they were not counted."""
        return self._result.cycles()

    @property
    def samples(self):
        """How many samples ran."""
        return self._result.samples()

    @property
    def warnings(self):
        """Texts about values that are not finite or that saturate."""
        return self._result.warnings()

    @property
    def report(self):
        """The report of ashlar-run as a dict (docs/ReportSchema.md)."""
        if self._report is None:
            self._report = json.loads(self._result.report())
        return self._report

    def layers(self):
        """The nodes as a DataFrame, or as a list of dicts without pandas."""
        return tabulate(layer_rows(self.report))

    def html(self):
        """The report as a page; its time line needs run(..., timeline=True)."""
        return self._result.html()

    def _repr_html_(self):
        report = self.report
        microseconds = self.cycles / report["clock_hz"] * 1e6
        head = (f"<p><b>{html.escape(report['model'])}</b> on "
                f"{html.escape(report['machine'])}: {self.cycles:,} cycles, "
                f"{microseconds:,.1f} µs</p>")
        cells = ["name", "op", "engine", "cycles"]
        lines = ["<tr>" + "".join(f"<th>{c}</th>" for c in cells)
                 + "<th>share</th></tr>"]
        for row in layer_rows(report):
            lines.append("<tr>" + "".join(
                f"<td>{html.escape(str(row[c]))}</td>" for c in cells)
                + f"<td>{100 * row['share']:.1f} %</td></tr>")
        return head + "<table>" + "".join(lines) + "</table>"


class Program:
    """A compiled program. `compile` and `load` make them."""

    def __init__(self, program, compile_report=None, formats=None):
        self._program = program
        self._compile_report = compile_report
        self._formats = formats
        self._last = None

    @property
    def inputs(self):
        """List of Tensor."""
        return [Tensor(*tensor) for tensor in self._program.inputs()]

    @property
    def outputs(self):
        """List of Tensor."""
        return [Tensor(*tensor) for tensor in self._program.outputs()]

    @property
    def model(self):
        """Name of the model's graph."""
        return self._program.model()

    @property
    def machine(self):
        """Name of the machine that runs it."""
        return self._program.machine()

    @property
    def compile_report(self):
        """The report of ashlarc as a dict; None for a program that was loaded."""
        return json.loads(self._compile_report) if self._compile_report else None

    @property
    def formats(self):
        """The formats that were compiled; None for a program that was loaded."""
        return json.loads(self._formats) if self._formats else None

    def run(self, inputs, *, threads=0, kernels="best", timing=True,
            timeline=False, energy_table=""):
        """Runs once and returns the outputs, a dict of arrays by ONNX name.

        `inputs` has an array for every input, or a list of them for an input of
        the model that is a sequence; axis 0 may be n times the
        compiled one: then n samples run, and outputs are stacked the same way.
        `timing=False` counts no cycles. bfloat16 travels as uint16.
        """
        names = {tensor.name for tensor in self.inputs}
        self._last = Run(self._program.run(
            as_arrays(without_lists(inputs, names), "the inputs"), threads, kernels, bool(timing),
            bool(timeline), os.fspath(energy_table)))
        return self._last._result.take_outputs()

    @property
    def last_run(self):
        """Run of the last call of run()."""
        if self._last is None:
            raise UsageError("the program has not run yet: call run() first")
        return self._last

    @property
    def cycles(self):
        """Cycles of the last run."""
        return self.last_run.cycles

    @property
    def report(self):
        """The report of the last run as a dict."""
        return self.last_run.report

    def layers(self):
        """The layers of the last run (Run.layers)."""
        return self.last_run.layers()

    def reset_state(self):
        """Forgets what the scale policies stats, predict and error carry between runs."""
        self._program.reset_state()

    def save(self, path):
        """Writes the program file, whole or not at all."""
        self._program.save(os.fspath(path))

    def to_bytes(self):
        """The content of the program file."""
        return self._program.bytes()

    def __repr__(self):
        def text(tensors):
            return ", ".join(f"{t.name} {t.type}{list(t.shape)}" for t in tensors)
        return (f"<ashlar.Program {self.model} on {self.machine}: "
                f"{text(self.inputs)} -> {text(self.outputs)}>")

    def _repr_html_(self):
        if self._last is None or not self._last.cycles:
            return f"<p>{html.escape(repr(self))}</p>"
        return self._last._repr_html_()


def load(program, *, machine="", max_memory=0):
    """A Program from a file that ashlarc or Program.save wrote, or its bytes.

    `machine` is another one than it was compiled for; `max_memory` limits the
    host memory of the machine's memories, in bytes.
    """
    if isinstance(program, (bytes, bytearray, memoryview)):
        return Program(native.from_bytes(bytes(program), os.fspath(machine),
                                         max_memory))
    return Program(native.load(os.fspath(program), os.fspath(machine),
                               max_memory))
