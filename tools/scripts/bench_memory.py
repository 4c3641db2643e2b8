#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory and time of ashlarc against the size of the model.

usage: bench_memory.py [MODEL.onnx...] [--compiler=PATH] [--options=TEXT] [--large]

Compiles each model and prints its bytes with those of its external data, the
bytes of the program, the peak of resident memory (MB of 10^6 bytes, and as a
multiple of the model), and the time. Without models it takes the drawn ResNet-50
and vit_b16; --large adds a drawn decoder of 1.1 billion parameters (4.4 GB of
fp32 beside the model, 64 tokens). Nothing fails on the figures.
"""

import argparse
import os
import tempfile

import onnx

import drawn
import measured

LARGE = ("--layers=22", "--width=2048", "--heads=32", "--kv-heads=4", "--hidden=5632",
         "--vocabulary=32000", "--tokens=64")


def model_bytes(path):
    """Bytes of a model and of the files that its tensors name."""
    model = onnx.load(path, load_external_data=False)
    places = {entry.value for tensor in model.graph.initializer
              for entry in tensor.external_data if entry.key == "location"}
    folder = os.path.dirname(os.path.abspath(path))
    return sum(os.path.getsize(file) for file in
               [path, *(os.path.join(folder, place) for place in places)])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--compiler", default=os.path.join(drawn.BUILD, "bin", "ashlarc"))
    parser.add_argument("--options", default="")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    models = arguments.models or [drawn.model(drawn.RESNET50), drawn.model("vit_b16")]
    if arguments.large:
        models.append(drawn.model("decoder", *LARGE))
    print(f"{'model':<24} {'MB':>8} {'program':>8} {'peak':>8} {'of model':>8} {'wall s':>7} {'CPU s':>7}")
    for path in models:
        size = model_bytes(path)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program.ash")
            usage = measured.run([arguments.compiler, path, "-o", program,
                                  *arguments.options.split()])
            written = os.path.getsize(program)
        name = os.path.splitext(os.path.basename(path))[0]
        print(f"{name:<24} {size / 1e6:>8.1f} {written / 1e6:>8.1f} {usage.peak / 1e6:>8.1f} "
              f"{usage.peak / size:>8.2f} {usage.seconds:>7.1f} {usage.processor:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
