# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Best classes of pruned models against those of the model, by ashlar-reference.

usage: study.py MODEL.onnx INPUTS.npz PRUNED.onnx PERCENT PRUNED.onnx PERCENT

Fails if fewer classes stay than the percentage says, or if the second model keeps more
weights than the first.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper


def classes(model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.npz")
        subprocess.run(["ashlar-reference", model, f"--inputs={inputs}", f"--outputs={path}"],
                       check=True, stdout=subprocess.DEVNULL)
        return next(iter(np.load(path).values())).reshape(12, -1).argmax(axis=1)


def weights(model):
    return sum(int(np.count_nonzero(numpy_helper.to_array(tensor)))
               for tensor in onnx.load(model).graph.initializer)


def main():
    model, inputs, *rest = sys.argv[1:]
    exact, kept = classes(model, inputs), []
    for pruned, percent in zip(rest[::2], rest[1::2]):
        same = 100 * float((classes(pruned, inputs) == exact).mean())
        if same < float(percent):
            sys.exit(f"{pruned}: {same:.1f} % of the classes stay, expected {percent}")
        kept.append(weights(pruned))
    if not weights(model) > kept[0] >= kept[1]:
        sys.exit(f"weights kept: {kept} of {weights(model)}")


main()
