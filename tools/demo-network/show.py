#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the demo: predictions next to fp32, then where the cycles go.

usage: show.py OUTPUTS.npz REPORT.json [--ort=MODEL.onnx]

fp32 results come from ONNX Runtime if --ort is given and it is installed,
otherwise from the values that training stored.
"""

import argparse
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scripts"))

import ort  # noqa: E402

SHOWN = 12
# Shades from no ink to full ink, for pictures in a terminal.
SHADES = " .:-=+*#%@"


def picture(image):
    """Text rows of a 28x28 image at half height (a character is tall)."""
    low, high = image.min(), image.max()
    grey = (image[::2] + image[1::2]) / 2
    level = ((grey - low) / (high - low) * (len(SHADES) - 1)).astype(int)
    return ["".join(SHADES[v] for v in row) for row in level]


def fp32(samples, model):
    if model and ort.available():
        results, _ = ort.run(model, [{"image": s[None]} for s in samples["image"]])
        return np.concatenate([r["logits"] for r in results]), "ONNX Runtime"
    return samples["logits"], "stored when the network was trained"


def predictions(samples, found, reference, origin):
    classes, labels = samples["classes"], samples["labels"]
    print("\nThree of the test images:\n")
    rows = [picture(samples["image"][k, 0]) for k in range(3)]
    for parts in zip(*rows):
        print("  " + "  ".join(parts))
    print(f"\nPredictions (fp32: {origin}):\n")
    print("  sample  drawn  fp32  machine  fp32 logit  machine logit")
    for k in range(SHOWN):
        a, b = reference[k].argmax(), found[k].argmax()
        print(f"  {k:6d}  {classes[labels[k]]:>5}  {classes[a]:>4}  {classes[b]:>7}"
              f"  {reference[k, a]:10.4f}  {found[k, b]:13.4f}")
    same = int((found.argmax(1) == reference.argmax(1)).sum())
    right = int((found.argmax(1) == labels).sum())
    noise = ((found.astype(np.float64) - reference) ** 2).sum(1)
    snr = 10 * np.log10((reference.astype(np.float64) ** 2).sum(1)
                        / np.maximum(noise, 1e-30))
    count = len(labels)
    print(f"\n  {count} images: the machine agrees with fp32 on {same}, is right"
          f" on {right}; logits' SNR least {snr.min():.1f} dB,"
          f" mean {snr.mean():.1f} dB")
    return same


def cycles(report):
    total = report["total_cycles"]
    print(f"\nOne image on machine {report['machine_name']}:"
          f" {total:,} cycles\n")
    print("  node                 op                 engine      cycles"
          "   share      span  utilisation")
    for node in report["nodes"]:
        # Of the multipliers that did the node's products, while they were busy.
        share_of = {"pe": "utilisation", "tcu": "cluster_utilisation"}.get(node["engine"])
        used = f"{node[share_of]:.1%}" if share_of else "-"
        share = node["cycles"] / total if total else 0
        print(f"  {node['name'][:20]:20} {node['op'][:18]:18} "
              f"{str(node.get('engine', ''))[:8]:8} {node['cycles']:9,}"
              f"  {share:6.1%} {node['span']:9,}  {used:>11}")
    print("\n  engine    busy cycles   share   stalls")
    for name, engine in report["engines"].items():
        stalls = engine.get("stall") or {}
        worst = sorted(((v, k) for k, v in stalls.items() if v), reverse=True)[:2]
        text = ", ".join(f"{k} {v:,}" for v, k in worst)
        share = engine["busy"] / total if total else 0
        print(f"  {name:8} {engine['busy']:12,}  {share:6.1%}   {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outputs")
    parser.add_argument("report")
    parser.add_argument("--ort", default="")
    options = parser.parse_args()
    with np.load(os.path.join(HERE, "glyphs.npz")) as stored:
        samples = dict(stored)
    with np.load(options.outputs) as stored:
        found = stored["logits"].reshape(samples["logits"].shape)
    with open(options.report, encoding="utf-8") as stream:
        report = json.load(stream)
    machine = report["machine"]
    report["machine_name"] = machine if isinstance(machine, str) else machine["name"]
    reference, origin = fp32(samples, options.ort)
    same = predictions(samples, found, reference, origin)
    cycles(report)
    # The emulator differs from fp32 by rounding only: nearly all must agree.
    return int(same < 0.95 * len(found))


if __name__ == "__main__":
    sys.exit(main())
