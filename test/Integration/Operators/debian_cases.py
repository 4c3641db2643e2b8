#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ONNX backend cases of the Debian package libonnx-testdata.

usage: debian_cases.py DATA LEDGER [--update] [--only=REGEX] [--jobs=2]
       debian_cases.py DATA --every-input [--only=REGEX] [--jobs=2]
       debian_cases.py DATA LEDGER --reasons

Every case goes through ashlarc --format=bfp16 and ashlar-run, weights made
constant. The ledger has one line per case: `pass` or `unsupported: reason`.
The test fails if a case gives wrong numbers or any exit code but 0 and 3, and
if a line differs from the ledger; --update rewrites the ledger. --every-input
makes no input a constant: what must be known at compile time is refused, the
other cases must give their numbers. --reasons runs nothing: it counts the
ledger's refusals by operator and reason.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import onnx_tensors  # noqa: E402

SUITES = ("node", "pytorch-converted", "pytorch-operator")
# All operands of these vary at run time; of every other operator the first
# one does, and the rest are weights or parameters.
ALL_DYNAMIC = {
    "Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "MatMul", "Concat",
    "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual",
    "LessOrEqual", "Where", "Mod", "BitShift", "Einsum"}
# Operators whose only operand is a parameter.
ALL_CONSTANT = {"ConstantOfShape", "Range", "EyeLike", "Shape", "Size", "HannWindow",
                "HammingWindow", "BlackmanWindow", "MelWeightMatrix"}
# Operands from which a shape or a count follows; whatever they are computed
# from is a parameter too.
DECIDING = {"Range": (0, 1, 2), "Loop": (0, 1), "ConstantOfShape": (0,),
            "Pad": (1,)}
# Operators whose cases were drawn without a seed that the file tells.
DRAWN = {"Bernoulli", "RandomUniform", "RandomNormal", "RandomUniformLike",
         "RandomNormalLike", "Multinomial"}
MOVEMENT = {
    "Reshape", "Transpose", "Slice", "Pad", "Concat", "Split", "Flatten",
    "Squeeze", "Unsqueeze", "Expand", "Tile", "Gather", "Identity",
    "DepthToSpace", "SpaceToDepth", "MaxPool", "Upsample", "Max", "Min", "Trilu",
    "EyeLike", "ReverseSequence", "CenterCropPad", "TopK", "Scatter",
    "GatherElements", "GatherND", "IsNaN", "IsInf", "BitShift", "BitwiseAnd",
    "BitwiseOr", "BitwiseXor", "BitwiseNot", "Hardmax", "MaxUnpool"}
# Operators whose cases count towards the share of node cases that must pass.
PROMISED = set("""
    Conv ConvTranspose Gemm MatMul BatchNormalization InstanceNormalization Relu
    LeakyRelu PRelu Clip Sigmoid Tanh HardSigmoid HardSwish Elu Selu Softplus
    Softmax LogSoftmax Add Sub Mul Div Sum Max Min Neg Abs Sqrt Exp Pow Log
    Softsign MaxPool AveragePool GlobalAveragePool GlobalMaxPool LRN Resize
    Upsample Concat Split Slice Reshape Flatten Squeeze Unsqueeze Transpose Pad
    Tile Expand ReduceMean ReduceSum ReduceMax ArgMax Dropout Identity Cast
    Constant ConstantOfShape Shape Gather""".split())
RELATIVE, OF_LARGEST = 1e-3, 2.0 ** -12
TIMEOUT = 60


class Outcome(Exception):
    """Ends a case; the text is its ledger line, `failed` if it is not a verdict
    that a ledger may hold."""

    def __init__(self, text, failed=False):
        super().__init__(text)
        self.failed = failed


def load_value(path, value_info):
    """An array, a list of them for a sequence, None for an empty optional."""
    kind = value_info.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
        value = onnx.OptionalProto()
        with open(path, "rb") as stream:
            value.ParseFromString(stream.read())
        if value.HasField("tensor_value"):
            return as_array(value.tensor_value, value_info.name, kind.tensor_type)
        if not value.HasField("sequence_value"):
            return None
        elements = value.sequence_value.tensor_values
    elif kind.HasField("sequence_type"):
        value = onnx.SequenceProto()
        with open(path, "rb") as stream:
            value.ParseFromString(stream.read())
        elements = value.tensor_values
    elif kind.HasField("tensor_type"):
        tensor = onnx.TensorProto()
        with open(path, "rb") as stream:
            tensor.ParseFromString(stream.read())
        return as_array(tensor, value_info.name, kind.tensor_type)
    else:
        raise Outcome("unsupported: " + value_info.name + " is not a tensor")
    inner = kind.sequence_type.elem_type.tensor_type
    return [as_array(element, value_info.name, inner) for element in elements]


def as_array(tensor, name, kind):
    if not onnx_tensors.is_readable(tensor):
        text = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
        raise Outcome(f"unsupported: {name} has type {text}")
    array = onnx_tensors.to_array(tensor)
    # Old cases store bfloat16 as u16.
    if kind.elem_type == onnx.TensorProto.BFLOAT16 and array.dtype == np.uint16:
        array = array.view("V2")
    # Some cases store one element of an operand of which only the type counts.
    dims = [d.dim_value for d in kind.shape.dim]
    if kind.HasField("shape") and array.size == 1 and all(dims) and list(array.shape) != dims:
        array = np.full(dims, array.reshape(-1)[0], array.dtype)
    return array


def load_set(folder, kind, infos):
    """The values of one data set by name; omitted operands stay out."""
    count = len(glob.glob(os.path.join(folder, kind + "_*.pb")))
    return {info.name: load_value(os.path.join(folder, f"{kind}_{k}.pb"), info)
            for k, info in enumerate(infos[:count])}


def deciding_names(graph):
    """Values from which a shape or a count follows, as lengths of sequences do
    from conditions."""
    names = set()
    if any(info.type.HasField("optional_type") for info in graph.output):
        names.update(n.input[0] for n in graph.node if n.op_type == "If")
    for node in reversed(graph.node):
        if names.intersection(node.output):
            names.update(node.input)
        for k in DECIDING.get(node.op_type, ()):
            names.update(node.input[k:k + 1])
    return names


def dynamic_names(graph, names):
    """Inputs that vary at run time; the others are made constants."""
    uses = {}
    deciding = deciding_names(graph)
    for node in graph.node:
        for k, name in enumerate(node.input):
            uses.setdefault(name, []).append((node.op_type, k))
    dynamic = []
    for name in names:
        found = uses.get(name, [])
        if name in deciding:
            continue
        if any(op not in ALL_CONSTANT and (k == 0 or op in ALL_DYNAMIC)
               for op, k in found) or not found:
            dynamic.append(name)
    return dynamic


def has_open_shape(info):
    return any(not d.HasField("dim_value")
               for d in info.type.tensor_type.shape.dim)


def as_tensors(values):
    """The tensors that a program has for values: element K of NAME is NAME.K,
    an empty optional none."""
    tensors = {}
    for name, value in values.items():
        if isinstance(value, list):
            tensors.update((f"{name}.{k}", array) for k, array in enumerate(value))
        elif value is not None:
            tensors[name] = value
    return tensors


def list_options(name, value):
    """Options of ashlarc for a sequence or an optional."""
    if not value:
        return [f"--elements={name}=0"]
    return [f"--input-shape={name}.{k}=" + ("x".join(map(str, array.shape)) or "scalar")
            for k, array in enumerate(value)]


def explain(done, folder):
    text = done.stderr.replace(folder + os.sep, "").strip()
    text = re.sub(r"\S*/model\.onnx: ?", "", text)
    text = re.sub(r"^ashlar\S*: (error: )?", "", text, flags=re.M)
    text = "; ".join(line.strip() for line in text.splitlines() if line.strip())
    return text[:200]


def call(tool, arguments, folder):
    done = common.run_tool(tool, *arguments, check=False, timeout=TIMEOUT)
    if done.returncode == 3:
        raise Outcome("unsupported: " + explain(done, folder))
    if done.returncode:
        raise Outcome(f"{tool} exit code {done.returncode}: "
                      + explain(done, folder), failed=True)


def check(name, found, reference, exact):
    # Tools write bfloat16 as u16.
    if reference.dtype.kind == "V" and found.dtype == np.uint16:
        found = found.view("V2")
    if found.shape != reference.shape or found.dtype != reference.dtype:
        raise Outcome(f"{name}: {found.dtype}{list(found.shape)}, expected "
                      f"{reference.dtype}{list(reference.shape)}", failed=True)
    if reference.dtype.kind == "V":
        # The cases truncate to bfloat16, the machine rounds to nearest.
        found, reference = found.view(np.int16), reference.view(np.int16)
        units = found.astype(int) - reference
        if (units < 0).any() or (units > 1).any():
            raise Outcome(f"{name}: differs, expected equal or one unit "
                          "further from zero", failed=True)
        return
    if exact or reference.dtype.kind != "f":
        same = np.array_equal(found, reference,
                              equal_nan=reference.dtype.kind == "f")
        if not same:
            raise Outcome(f"{name}: differs, expected equal values", failed=True)
        return
    finite = np.isfinite(reference)
    wide, want = found.astype(np.float64), reference.astype(np.float64)
    special = np.array_equal(wide[~finite], want[~finite], equal_nan=True)
    largest = np.abs(want[finite]).max(initial=0)
    allowed = RELATIVE * np.abs(want[finite]) + OF_LARGEST * largest
    error = np.abs(wide[finite] - want[finite])
    if not special or not (error <= allowed).all():
        worst = np.max(error / np.maximum(allowed, 1e-30), initial=0)
        raise Outcome(f"{name}: error {worst:.3g} times the tolerance", failed=True)


def run_case(case, folder, every_input=False):
    model_path = os.path.join(case, "model.onnx")
    graph = onnx.load(model_path).graph
    initial = {t.name for t in graph.initializer}
    infos = [i for i in graph.input if i.name not in initial]
    data = os.path.join(case, "test_data_set_0")
    inputs = load_set(data, "input", infos)
    expected = load_set(data, "output", list(graph.output))
    dynamic = inputs if every_input else dynamic_names(graph, inputs)
    binary = os.path.join(folder, "case.ash")
    arguments = [model_path, "-o", binary, "--format=bfp16"]
    for k, (name, array) in enumerate(inputs.items()):
        info = next(i for i in infos if i.name == name)
        if array is None or isinstance(array, list):
            arguments += list_options(name, array)
        elif name not in dynamic:
            file = os.path.join(folder, f"constant{k}.npy")
            np.save(file, array)
            arguments.append(f"--constant={name}={file}")
        elif has_open_shape(info):
            shape = "x".join(map(str, array.shape))
            arguments.append(f"--input-shape={name}={shape}")
    call("ashlarc", arguments, folder)
    outputs = os.path.join(folder, "out.npz")
    arguments = [binary, f"--outputs={outputs}", "--threads=1"]
    tensors = as_tensors({name: value for name, value in inputs.items()
                          if name in dynamic or isinstance(value, list)})
    for k, (name, array) in enumerate(tensors.items()):
        # Files of their own: np.savez keeps an array called `like` to itself.
        file = os.path.join(folder, f"input{k}.npy")
        np.save(file, array)
        arguments.append(f"--input={name}={file}")
    call("ashlar-run", arguments, folder)
    if any(n.op_type in DRAWN for n in graph.node):
        check_draws(outputs, expected)
        return
    exact = all(n.op_type in MOVEMENT | {"Constant"} for n in graph.node)
    with np.load(outputs) as found:
        expected = as_tensors(expected)
        if set(found.files) != set(expected):
            raise Outcome(f"outputs {sorted(found.files)}, expected "
                          f"{sorted(expected)}", failed=True)
        kinds = {o.name: o.type.tensor_type.elem_type for o in graph.output}
        for name, reference in expected.items():
            narrow = kinds.get(name, onnx.TensorProto.UNDEFINED)
            check(name, onnx_tensors.one_nan(found[name], narrow),
                  onnx_tensors.one_nan(reference, narrow), exact)


def check_draws(outputs, expected):
    """Draws of a generator that a case does not name: types, shapes, and the
    values that the case has too."""
    with np.load(outputs) as found:
        for name, reference in expected.items():
            drawn = found[name]
            if drawn.shape != reference.shape or drawn.dtype != reference.dtype:
                raise Outcome(f"{name}: {drawn.dtype}{list(drawn.shape)}",
                              failed=True)
            if not np.isin(drawn, reference).all():
                raise Outcome(f"{name}: values that the case has not",
                              failed=True)


def has_constants(case):
    """Whether --every-input changes a case."""
    graph = onnx.load(os.path.join(case, "model.onnx")).graph
    initial = {t.name for t in graph.initializer}
    names = [i.name for i in graph.input if i.name not in initial]
    return len(dynamic_names(graph, names)) < len(names)


def verdict(case, every_input=False):
    """(ledger line, failed)"""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_case(case, folder, every_input)
            return "pass", False
        except Outcome as outcome:
            return str(outcome), outcome.failed
        except Exception as error:  # a broken case must not hide the others
            return f"{type(error).__name__}: {error}"[:200], True


def is_promised(case):
    graph = onnx.load(os.path.join(case, "model.onnx")).graph
    return {node.op_type for node in graph.node} <= PROMISED


def summary(lines, data):
    for suite in SUITES:
        own = [l for l in lines if l.startswith(suite + "/")]
        passed = sum(l.endswith(": pass") for l in own)
        print(f"{suite}: {passed} of {len(own)} pass")
    promised = [l for l in lines if l.startswith("node/")
                and is_promised(os.path.join(data, l.split(": ")[0]))]
    passed = sum(l.endswith(": pass") for l in promised)
    print(f"node, promised operators only: {passed} of {len(promised)} pass")


def compare_ledger(path, lines):
    """Differences between the ledger's lines and these, as text."""
    kept = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            kept = dict(l.rstrip("\n").split(": ", 1) for l in stream
                        if not l.startswith("#"))
    for line in lines:
        name, text = line.split(": ", 1)
        if kept.get(name) != text:
            yield f"{name}: ledger `{kept.get(name)}`, found `{text}`"


def reasons(path):
    """(count, operator and reason) of the ledger's refusals, most first; a case
    counts for the first node that it names."""
    counts = collections.Counter()
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("#") or line.endswith(": pass\n"):
                continue
            text = line.rstrip("\n").split(": ", 1)[1]
            node = re.search(r"node '[^']*': ([\w.]+)\(.*?\): ([^;]*)", text)
            if node:
                text = f"{node[1]}: {node[2]}"
            text = re.sub(r"'[^']*'|\b[\w.]+ (?=is not a tensor|has type)", "...", text)
            counts[re.sub(r"\d+", "N", text)[:90]] += 1
    return sorted(((n, text) for text, n in counts.items()), reverse=True)


def write_ledger(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
                  "# Every backend case of libonnx-testdata; rewritten by\n"
                  "# debian_cases.py --update.\n")
        out.writelines(line + "\n" for line in lines)


def check_every_input(cases, jobs):
    cases = [case for case in cases if has_constants(case)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda case: verdict(case, True), cases))
    passed = sum(text == "pass" for text, _ in results)
    failures = [f"{os.path.basename(case)}: {text}"
                for case, (text, failed) in zip(cases, results) if failed]
    print(f"every input at run time: {passed} of {len(cases)} pass, "
          f"{len(failures)} wrong, the others are refused")
    for line in failures:
        print("FAIL", line)
    return int(bool(failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("ledger", nargs="?")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--every-input", action="store_true")
    options = parser.parse_args()
    if not options.ledger and not options.every_input:
        parser.error("a ledger is expected")
    if options.reasons:
        for count, text in reasons(options.ledger):
            print(f"{count:5} {text}")
        return 0
    cases = [c for suite in SUITES
             for c in sorted(glob.glob(os.path.join(options.data, suite, "*")))
             if re.search(options.only, c)]
    if options.every_input:
        return check_every_input(cases, options.jobs)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(verdict, cases))
    names = [os.path.relpath(c, options.data) for c in cases]
    lines = [f"{n}: {text}" for n, (text, _) in zip(names, results)]
    failures = [l for l, (_, failed) in zip(lines, results) if failed]
    summary(lines, options.data)
    for line in failures:
        print("FAIL", line)
    if options.update:
        write_ledger(options.ledger, lines)
        return int(bool(failures))
    changes = list(compare_ledger(options.ledger, lines))
    for change in changes:
        print("CHANGED", change)
    return int(bool(failures or changes))


if __name__ == "__main__":
    sys.exit(main())
