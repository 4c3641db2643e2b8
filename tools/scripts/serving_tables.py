#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of layer times for LLMServingSim from compiled decoders.

usage: serving_tables.py MODEL.onnx -o FOLDER --blocks=N --layer=NAME=REGEX...
                         [--tokens=1,16,64] [--kv=128,512] [--options=TEXT]

Compiles the decoder (with its cache as inputs and outputs) for every number of
tokens and room of the cache, times it, and writes the tables that the simulator
reads from a folder tp1, times in microseconds:

  dense.csv         layer,tokens,time_us
  per_sequence.csv  layer,sequences,time_us
  attention.csv     prefill_chunk,kv_prefill,n_decode,kv_decode,time_us
  moe.csv           tokens,activated_experts,time_us (no rows: no experts)

A layer is the nodes whose names REGEX matches, as q_proj and k_proj and v_proj
of all blocks for qkv_proj; its time is that of all of them for one of the N
blocks. `attention` and `lm_head` have tables of their own; `embedding`,
`final_layernorm` and `lm_head` are there once. A program runs one sequence, and
the sampler runs on the host, outside of the machine's time: 0. Cycles of nodes
that no layer has are listed. The time of a node is its share of the program's
cycles, so that the layers of a program add up to it.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

from drawn import BUILD

ONCE = ("embedding", "final_layernorm", "lm_head")
APART = ("attention", "lm_head")


def numbers(text):
    return [int(part) for part in text.split(",")]


def timed(model, tokens, room, options, folder):
    """Name and cycles of every node, and the clock."""
    layers, report = os.path.join(folder, "l.csv"), os.path.join(folder, "r.json")
    command = [os.path.join(BUILD, "bin", "ashlarc"), model, "-o", os.path.join(folder, "p.ash"),
               "--state=auto", f"--input-shape=past_sequence_length={room},sequence_length={tokens}",
               f"--layers={layers}", f"--report={report}", *options]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    with open(report, encoding="utf-8") as stream:
        clock = json.load(stream)["machine_parameters"]["clock_hz"]
    with open(layers, encoding="utf-8", newline="") as stream:
        return [(row["name"], int(row["cycles"])) for row in csv.DictReader(stream)], clock


def layer_times(nodes, clock, layers, blocks):
    """Microseconds by layer, and the cycles of nodes that none has."""
    cycles, others = dict.fromkeys(layers, 0), 0
    for name, own in nodes:
        fitting = [layer for layer, pattern in layers.items() if pattern.search(name)]
        if len(fitting) > 1:
            sys.exit(f"node '{name}' is part of the layers {' and '.join(fitting)}")
        if fitting:
            cycles[fitting[0]] += own
        else:
            others += own
    return {layer: total / (1 if layer in ONCE else blocks) / clock * 1e6
            for layer, total in cycles.items()}, others


def write(folder, name, header, rows):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
        stream.write(header + "\n")
        for row in rows:
            stream.write(",".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell)
                                  for cell in row) + "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("-o", dest="folder", required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--layer", action="append", required=True)
    parser.add_argument("--tokens", type=numbers, default=[1, 16, 64])
    parser.add_argument("--kv", type=numbers, default=[128, 512])
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    layers = {}
    for layer in arguments.layer:
        name, _, pattern = layer.partition("=")
        layers[name] = re.compile(pattern)
    dense, sequences, attention = [], [], []
    for room in sorted(arguments.kv):
        for tokens in sorted(arguments.tokens):
            with tempfile.TemporaryDirectory() as folder:
                nodes, clock = timed(arguments.model, tokens, room, arguments.options.split(), folder)
            times, others = layer_times(nodes, clock, layers, arguments.blocks)
            total = sum(cycles for _, cycles in nodes)
            print(f"{tokens} tokens, {room} rows: {total:,} cycles, {others:,} in no layer", flush=True)
            if "attention" in times:
                attention.append((0, 0, 1, room, times["attention"]) if tokens == 1 else
                                 (tokens, room, 0, 0, times["attention"]))
            # What has no cache takes the same time whatever its room.
            if room == min(arguments.kv):
                dense += [(layer, tokens, time) for layer, time in times.items() if layer not in APART]
                if tokens == 1:
                    sequences += [("lm_head", 1, times.get("lm_head", 0.0)), ("sampler", 1, 0.0)]
    os.makedirs(arguments.folder, exist_ok=True)
    write(arguments.folder, "dense.csv", "layer,tokens,time_us", sorted(dense))
    write(arguments.folder, "per_sequence.csv", "layer,sequences,time_us", sequences)
    write(arguments.folder, "attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
          sorted(attention))
    write(arguments.folder, "moe.csv", "tokens,activated_experts,time_us", [])


if __name__ == "__main__":
    main()
