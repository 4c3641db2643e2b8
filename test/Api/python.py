#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package: values against the tools, bad input, notebooks, threads.

usage: python.py MODEL.onnx BUILD SCRATCH
"""

import os
import subprocess
import sys
import threading

import numpy
import onnx

import ashlar
import ashlar.backend
import ashlar.sweep

model, build, scratch = sys.argv[1:]
rng = numpy.random.default_rng(5)
image = rng.normal(size=(1, 1, 28, 28)).astype("float32")


def refuses(kind, call, *words):
    try:
        call()
    except kind as error:
        assert isinstance(error, ashlar.Error), error
        for word in words:
            assert word in str(error), (word, str(error))
        return
    raise AssertionError(f"expected {kind.__name__}")


def tool(name, *arguments):
    subprocess.run([os.path.join(build, "bin", name), *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def check_values():
    program = ashlar.compile(model, machine="a1-tiny", format="bfp16")
    out = program.run({"image": image})
    path = os.path.join(scratch, "p.ash")
    tool("ashlarc", model, "-o", path, "--machine=a1-tiny", "--format=bfp16")
    with open(path, "rb") as stream:
        assert stream.read() == program.to_bytes()
    numpy.savez(os.path.join(scratch, "in.npz"), image=image)
    tool("ashlar-run", path, "--inputs=" + os.path.join(scratch, "in.npz"),
         "--outputs=" + os.path.join(scratch, "out.npz"))
    expected = numpy.load(os.path.join(scratch, "out.npz"))["logits"]
    assert out["logits"].tobytes() == expected.tobytes()
    assert out["logits"].dtype == numpy.float32 and out["logits"].shape == (1, 16)
    del program  # Outputs own their memory.
    assert out["logits"].sum() == expected.sum()
    loaded = ashlar.load(path)
    assert loaded.run({"image": image})["logits"].tobytes() == expected.tobytes()
    assert loaded.compile_report is None and loaded.formats is None


def check_layouts(program):
    """Any layout in memory, any byte order: the same bits."""
    exact = program.run({"image": image})["logits"].tobytes()
    wide = numpy.zeros((1, 1, 28, 56), "float32")
    wide[..., ::2] = image
    for array in (numpy.asfortranarray(image), wide[..., ::2],
                  image.astype(">f4"), image[:, :, ::-1][:, :, ::-1]):
        assert program.run({"image": array})["logits"].tobytes() == exact
    many = numpy.concatenate([image, image])
    assert program.run({"image": many})["logits"].tobytes() == exact * 2


def check_reports(program):
    program.run({"image": image}, timeline=True)
    assert program.report["total_cycles"] == program.cycles > 0
    assert program.last_run.samples == 1
    rows = program.layers()
    assert len(rows) == len(program.report["nodes"])
    assert "<table>" in program._repr_html_() and "<html" in program.last_run.html()
    assert program.compile_report["machine"] == "a1-tiny"
    assert "activations" in program.formats
    program.run({"image": numpy.full_like(image, numpy.inf)})
    assert any("not finite" in text for text in program.last_run.warnings)
    program.run({"image": image}, timing=False)
    assert program.cycles == 0 and program._repr_html_()
    assert "image f32[1, 1, 28, 28]" in repr(program)


def check_refusals(program):
    run = program.run
    refuses(ashlar.UsageError, lambda: run({"picture": image}), "picture", "image")
    refuses(ValueError, lambda: run({}), "image")
    refuses(ashlar.MalformedError, lambda: run({"image": image.astype("f8")}),
            "f64", "f32[1x1x28x28]")
    refuses(ashlar.MalformedError, lambda: run({"image": image[0]}))
    refuses(ashlar.MalformedError, lambda: run({"image": image.astype(complex)}))
    refuses(ashlar.MalformedError, lambda: run({"image": ["a", "b"]}))
    refuses(ashlar.UsageError, lambda: run({3: image}), "string")
    refuses(ashlar.UsageError, lambda: run(image))
    refuses(ashlar.UsageError, lambda: run({"image": image}, kernels="abacus"))
    refuses(ashlar.UsageError, lambda: ashlar.compile(model, machine="b2"), "b2")
    refuses(ashlar.UsageError, lambda: ashlar.compile(model, colour="red"))
    refuses(ashlar.UsageError, lambda: ashlar.compile(model, format="int3"))
    refuses(ashlar.UsageError, lambda: ashlar.compile(3))
    refuses(ashlar.MalformedError, lambda: ashlar.compile(b"nonsense"))
    refuses(ashlar.MalformedError, lambda: ashlar.load(b"nonsense"))
    refuses(ashlar.MalformedError, lambda: ashlar.load("/nonexistent"))
    refuses(ashlar.CapacityError,
            lambda: ashlar.load(program.to_bytes(), max_memory=100))
    refuses(MemoryError,
            lambda: ashlar.load(program.to_bytes(), max_memory=100))
    fresh = ashlar.load(program.to_bytes())
    refuses(ashlar.UsageError, lambda: fresh.report, "run()")


def check_options():
    proto = onnx.load(model)
    batched = ashlar.compile(proto, "a1-tiny", batch=2)
    assert batched.inputs[0].shape == (2, 1, 28, 28)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    for shapes in ({"batch": 3}, "batch=3", {"image": (3, 1, 28, 28)}):
        program = ashlar.compile(proto.SerializeToString(), "a1-tiny",
                                 input_shape=shapes)
        assert program.outputs[0].shape == (3, 16)
    refuses(ashlar.UsageError, lambda: ashlar.compile(
        proto, "a1-tiny", input_shape={"seq": 3}), "seq", "batch")
    table = {"activations": "bfp8", "weights": "bfp6"}
    program = ashlar.compile(model, "a1-tiny", formats=table)
    assert "w=6" in program.formats["weights"], program.formats
    samples = numpy.concatenate([image, -image])
    ashlar.compile(model, "a1-tiny", calibrate={"image": samples}, scale="fixed")


def check_backend():
    rep = ashlar.backend.prepare(onnx.load(model), machine="a1-tiny")
    a = rep.run([image])
    b = ashlar.backend.run_model(onnx.load(model), [image], machine="a1-tiny")
    assert a.logits.tobytes() == b[0].tobytes()
    assert ashlar.backend.is_compatible(onnx.load(model))
    assert not ashlar.backend.supports_device("CUDA")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    x = rng.normal(size=(2, 3)).astype("float32")
    y = ashlar.backend.run_node(node, [x],
                                outputs_info=[(x.dtype, x.shape)])
    assert numpy.allclose(y.y, numpy.maximum(x, 0))
    assert ashlar.backend.run_node(node, [x]).y.tobytes() == y.y.tobytes()
    halves = ashlar.backend.run_node(onnx.helper.make_node("Split", ["x"], ["y", "z"], axis=0), [x])
    assert halves.y.shape == halves.z.shape == (1, 3)
    reshape = onnx.helper.make_node("Reshape", ["x", "s"], ["y"])
    refuses(ashlar.UsageError, lambda: ashlar.backend.run_node(
        reshape, [x, numpy.array([3, 2])]), "give outputs_info")
    refuses(ashlar.UsageError, lambda: rep.run([image, image]), "image")


def check_sweep():
    """The table of a sweep is that of the command, failed points included."""
    tools = os.path.join(build, "bin")
    small = {"base": "a1-tiny", "set": {"sb.bytes_per_partition": 64}}
    folder = os.path.join(scratch, f"sweep-{os.getpid()}")
    table = ashlar.sweep.run({"models": [model], "machines": ["a1-tiny", small]}, folder,
                             tools=tools, plots=False)
    rows = table if isinstance(table, list) else table.to_dict("records")
    assert [row["status"] for row in rows] == ["ok", "failed"]
    program = ashlar.compile(model, "a1-tiny")
    program.run({"image": image})
    assert rows[0]["cycles"] == program.cycles, (rows[0], program.cycles)
    assert "does not fit" in rows[1]["message"], rows[1]
    assert os.path.exists(os.path.join(folder, "table.csv"))
    refuses(ashlar.MalformedError, lambda: ashlar.sweep.run({"modles": []}, tools=tools), "models")
    refuses(ashlar.UsageError, lambda: ashlar.sweep.run(
        {"models": [model], "machines": ["a1"]}, tools=scratch), "--tools=FOLDER")


def check_lists():
    """Sequences are lists for the backend, and NAME.K for a program."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("SequenceInsert", ["boxes", "x"], ["more"]),
         helper.make_node("OptionalHasElement", ["mask"], ["has"])], "lists",
        [helper.make_tensor_sequence_value_info("boxes", kind, ["n", 2]),
         helper.make_tensor_value_info("x", kind, [3, 2]),
         onnx.ValueInfoProto(name="mask", type=helper.make_optional_type_proto(
             helper.make_tensor_type_proto(kind, [2])))],
        [helper.make_tensor_sequence_value_info("more", kind, ["n", 2]),
         helper.make_tensor_value_info("has", onnx.TensorProto.BOOL, [])])
    proto = helper.make_model(graph, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    a, b, x = (rng.normal(size=(k, 2)).astype("float32") for k in (1, 2, 3))
    result = ashlar.backend.run_model(proto, [[a, b], x, None], machine="a1-tiny")
    assert [one.tobytes() for one in result.more] == [
        one.tobytes() for one in (a, b, x)], result
    assert not result.has, result
    program = ashlar.compile(proto, "a1-tiny", elements={"boxes": 1},
                             input_shape={"boxes.0": (2, 2)})
    outputs = program.run({"boxes": [b], "x": x, "mask": x[0]})
    assert sorted(outputs) == ["has", "more.0", "more.1"], outputs
    assert outputs["more.0"].tobytes() == b.tobytes() and outputs["has"]
    refuses(ashlar.UsageError, lambda: ashlar.compile(proto, "a1-tiny"), "boxes")
    refuses(ashlar.UsageError, lambda: ashlar.compile(
        proto, "a1-tiny", elements=3), "elements")


def check_threads(program):
    """Runs of several objects overlap, and those of one wait."""
    exact = program.run({"image": image})["logits"].tobytes()
    results = []

    def work(target):
        results.append(target.run({"image": image}, threads=1)["logits"].tobytes())
    others = [ashlar.load(program.to_bytes()) for _ in range(2)]
    workers = [threading.Thread(target=work, args=(p,))
               for p in (*others, program, program)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [exact] * 4


check_values()
tiny = ashlar.compile(model, machine="a1-tiny")
check_layouts(tiny)
check_reports(tiny)
check_refusals(tiny)
check_options()
check_backend()
check_lists()
check_sweep()
check_threads(tiny)
print("package ashlar", ashlar.__version__, "from", os.path.dirname(ashlar.__file__))
