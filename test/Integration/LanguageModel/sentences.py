#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demo language model on the emulator against itself in fp32.

    sentences.py MODEL.onnx VOCABULARY.json WORK [--report]

Greedy text of 200 characters with a cache: token by token that of the numpy
decoder at bfp16, whether the prompt runs in pieces of 16 or one by one; at bfp8
the share of equal tokens is printed. What a token writes is its rows.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/demo-language"))

import corpus  # noqa: E402
from layers import Decoder, Shape  # noqa: E402

PROMPT, COUNT, ROOM = "The vector unit ", 200, 256


def decoder(path):
    """The weights of the model's file in the numpy decoder."""
    tensors = {t.name: numpy_helper.to_array(t).astype(np.float32)
               for t in onnx.load(path).graph.initializer}
    shape = Shape(len(corpus.VOCABULARY))
    names = shape.parameters(np.random.default_rng(0))
    return Decoder(shape, {name: tensors[name] for name in names})


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def compiled(arguments, length, form):
    path = arguments.work / f"{form}.{length}.ash"
    run("ashlarc", arguments.model, "-o", path, "--state=auto", f"--format={form}",
        f"--input-shape=past_sequence_length={ROOM},sequence_length={length}")
    return path


def bundled(arguments):
    """Programs for 1 and 16 tokens in one file, which shares most constants."""
    path = arguments.work / "both.ash"
    said = run("ashlarc", arguments.model, "-o", path, "--state=auto", "--format=bfp16",
               f"--input-shape=past_sequence_length={ROOM}", "--bucket=sequence_length:1,16")
    words = said.splitlines()[-1].split()
    every, stored = int(words[3]), int(words[7])
    assert 0 < stored < 0.6 * every, said
    return path


def generated(arguments, programs, *options):
    report = arguments.work / "report.json"
    also = [f"--also={path}" for path in programs[1:]]
    text = run("ashlar-run", programs[0], *also, f"--generate={COUNT}", f"--prompt={PROMPT}",
               f"--tokenizer={arguments.vocabulary}", f"--report={report}", "--quiet", *options)
    found = json.loads(report.read_text())
    said = PROMPT + "".join(corpus.VOCABULARY[t] for t in found["tokens"]) + "\n"
    assert text == said, (text, said)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("vocabulary", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    wanted = decoder(arguments.model).greedy(corpus.encode(PROMPT), COUNT)
    one, chunk = (compiled(arguments, length, "bfp16") for length in (1, 16))
    for programs, runs in (((one,), len(PROMPT)), ((one, chunk), 1), ((bundled(arguments),), 1)):
        found = generated(arguments, programs)
        assert found["tokens"] == wanted, (found["tokens"], wanted)
        assert found["prefill_runs"] == runs, found["prefill_runs"]
    # Keys and values of two layers, two groups of 16 numbers: written once where
    # they are made and once to their place, besides the logits.
    written = found["decode"]["dram_write_bytes"] / found["decode_runs"]
    cache = 2 * 2 * 2 * ROOM * 16 * 4
    assert written < cache / 16, (written, cache)
    eight = generated(arguments, (compiled(arguments, 1, "bfp8"),))
    equal = np.mean(np.array(eight["tokens"]) == np.array(wanted))
    print(f"bfp16: {COUNT} of {COUNT} tokens equal; bfp8: {100 * equal:.1f} %")
    print("decode", found["decode"]["cycles"] // found["decode_runs"], "cycles per token")


if __name__ == "__main__":
    main()
