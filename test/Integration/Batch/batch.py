#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks for one sample under --batch: the values of each sample alone.

usage: batch.py [NAME...] [--batch=3] [--random=COUNT] [--seed=N]

Architectures of architecture_models.py, transformers and random networks are
imported for one sample and for a batch; the reference runs both in binary64 on
the same samples, whose outputs have to be equal to the bit. A network that
--batch refuses is listed with the reason; NAME... must not be refused.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import architecture_models  # noqa: E402
import common  # noqa: E402
import random_network  # noqa: E402
import transformer_graphs  # noqa: E402

TRANSFORMERS = {
    "bert": lambda: transformer_graphs.bert(8, 32, 2, 1, False),
    "vit": lambda: transformer_graphs.vit(16, 8, 32, 2, 1, False),
}


def model_of(name):
    if name in TRANSFORMERS:
        built = TRANSFORMERS[name]()
    elif name.startswith("random:"):
        built = random_network.build(int(name.split(":")[1]))
    else:
        built = architecture_models.build(name)
    return built[0] if isinstance(built, tuple) else built


def draw(model, seed):
    """Floats normal, integers below 2: masks, and rows of any table."""
    random = np.random.default_rng(seed)
    arrays = {}
    for info in model.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        integral = info.type.tensor_type.elem_type == onnx.TensorProto.INT64
        arrays[info.name] = random.integers(0, 2, shape) if integral else \
            random.standard_normal(shape).astype(np.float32)
    return arrays


def run(module, arrays, folder):
    """Outputs of the imported module in binary64."""
    inputs, outputs = (os.path.join(folder, n) for n in ("in.npz", "out.npz"))
    np.savez(inputs, **arrays)
    common.run_tool("ashlar-reference", module, "--fp64", "--phase=import",
                    "--inputs=" + inputs, "--outputs=" + outputs)
    with np.load(outputs) as archive:
        return dict(archive)


def check(name, batch, folder):
    """Nothing, or why --batch refuses the network."""
    model = model_of(name)
    path, one, many = (os.path.join(folder, n)
                       for n in ("m.onnx", "one.mlir", "many.mlir"))
    onnx.save(model, path)
    common.run_tool("ashlarc", path, "--compile-to=import", "-o", one)
    done = common.run_tool("ashlarc", path, "--compile-to=import", "-o", many,
                           f"--batch={batch}", check=False)
    if done.returncode:
        if done.returncode not in (2, 3) or "--batch" not in done.stderr:
            sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr}")
        return done.stderr.strip()
    samples = [draw(model, 11 + i) for i in range(batch)]
    stacked = {key: np.concatenate([s[key] for s in samples])
               for key in samples[0]}
    together = run(many, stacked, folder)
    for i, sample in enumerate(samples):
        for key, alone in run(one, sample, folder).items():
            rows = alone.shape[0]
            part = together[key][i * rows:(i + 1) * rows]
            if part.tobytes() != alone.tobytes():
                sys.exit(f"{name}: output '{key}' of sample {i} differs by "
                         f"{np.abs(part - alone).max()}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    names = list(given.names) or [*architecture_models.NAMES, *TRANSFORMERS]
    names += [f"random:{given.seed + i}" for i in range(given.random)]
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            reason = check(name, given.batch, folder)
            if reason and name in given.names:
                sys.exit(f"{name} is refused: {reason}")
            refused += bool(reason)
            print(f"{name}: {'refused: ' + reason if reason else 'equal'}")
    print(f"{len(names)} networks, {refused} refused")


if __name__ == "__main__":
    main()
