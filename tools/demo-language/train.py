#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the demo language model and writes it as ONNX with its vocabulary.

    tools/demo-language/train.py [--steps=N] -o FOLDER

Minutes on one core. The weights are stored in binary16, in which the
model is defined: training ends with rounding them.
"""

import argparse
import pathlib
import time

import numpy as np

import corpus
import export
from layers import Decoder, Shape

BATCH, LENGTH = 8, 64


def train(steps, seed):
    rng = np.random.default_rng(seed)
    tokens = corpus.encode(corpus.text(6000, rng))
    shape = Shape(len(corpus.VOCABULARY))
    decoder = Decoder(shape, shape.parameters(rng))
    first = {name: np.zeros_like(w) for name, w in decoder.weights.items()}
    second = {name: np.zeros_like(w) for name, w in decoder.weights.items()}
    begin = time.time()
    for step in range(1, steps + 1):
        starts = rng.integers(0, len(tokens) - LENGTH - 1, BATCH)
        windows = np.stack([tokens[s:s + LENGTH + 1] for s in starts])
        loss, gradients = decoder.step(windows[:, :-1], windows[:, 1:])
        rate = 4e-3 * min(1, step / 50) * (0.5 + 0.5 * np.cos(np.pi * step / steps))
        for name, gradient in gradients.items():
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.98 * second[name] + 0.02 * gradient * gradient
            update = (first[name] / (1 - 0.9 ** step)) / (
                np.sqrt(second[name] / (1 - 0.98 ** step)) + 1e-8)
            decoder.weights[name] = (decoder.weights[name] - rate * update).astype(np.float32)
        if step % 100 == 0 or step == steps:
            print(f"step {step}: loss {loss:.3f}, {time.time() - begin:.0f} s", flush=True)
    for name, weights in decoder.weights.items():
        decoder.weights[name] = weights.astype(np.float16).astype(np.float32)
    return decoder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    decoder = train(arguments.steps, arguments.seed)
    export.write(decoder, arguments.folder / "sentences.onnx")
    export.write_vocabulary(arguments.folder / "sentences.vocabulary.json")
    prompt = "The array "
    found = decoder.greedy(corpus.encode(prompt), 80)
    print(prompt + "".join(corpus.VOCABULARY[t] for t in found))


if __name__ == "__main__":
    main()
