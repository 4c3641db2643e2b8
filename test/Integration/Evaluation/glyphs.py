#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of ashlar-eval against those worked out from the tools' own outputs.

usage: glyphs.py MODEL.onnx DATA.npz FOLDER

Also: the same figures from a folder of PNG files as from arrays, with a recipe
that undoes the drawing of the files.
"""

import csv
import json
import os
import subprocess
import sys

import numpy as np
from PIL import Image


def run(*command, code=0):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    if done.returncode != code:
        sys.exit(f"{command}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def outputs(model, images, format, folder):
    np.savez(f"{folder}/in.npz", image=images)
    run("ashlarc", model, "-o", f"{folder}/p.ash", f"--format={format}")
    run("ashlar-run", f"{folder}/p.ash", f"--inputs={folder}/in.npz", f"--outputs={folder}/out.npz",
        f"--report={folder}/report.json", "--quiet")
    with open(f"{folder}/report.json", encoding="utf-8") as stream:
        return np.load(f"{folder}/out.npz")["logits"], json.load(stream)


def expected(model, images, labels, format, folder):
    found, report = outputs(model, images, format, folder)
    run("ashlar-reference", model, f"--inputs={folder}/in.npz", f"--outputs={folder}/ref.npz")
    wanted = np.load(f"{folder}/ref.npz")["logits"]
    noise = ((wanted.astype(np.float64) - found) ** 2).sum(1)
    ratios = 10 * np.log10((wanted.astype(np.float64) ** 2).sum(1) / noise)
    first = np.argsort(-found, axis=1, kind="stable")[:, :5]
    return {"top1": (first[:, 0] == labels).mean(), "top5": (first == labels[:, None]).any(1).mean(),
            "agreement": (wanted.argmax(1) == found.argmax(1)).mean(), "snr_db": ratios.mean(),
            "snr_least_db": ratios.min(), "cycles": report["total_cycles"],
            "energy_uj": report["energy"]["dynamic_pj"] / 1e6}


def compare(row, wanted):
    for key, value in wanted.items():
        if abs(row[key] - value) > 1e-6 * abs(value):
            sys.exit(f"{row['name']}: {key} is {row[key]}, expected {value}")


def write_pictures(images, labels, folder):
    """Files whose pixels are codes of the values; the scale that undoes it."""
    low, step = float(images.min()), float(images.max() - images.min()) / 255
    os.makedirs(f"{folder}/pictures")
    with open(f"{folder}/pictures/labels.txt", "w", encoding="utf-8") as out:
        for k, (image, label) in enumerate(zip(images, labels)):
            codes = np.round((image[0] - low) / step).astype(np.uint8)
            Image.fromarray(codes).save(f"{folder}/pictures/{k:02}.png")
            out.write(f"{k:02}.png {label}\n")
    with open(f"{folder}/recipe.yaml", "w", encoding="utf-8") as out:
        out.write(f"colour: grey\ndivide: {1 / step!r}\nmean: {-low!r}\n")


def main(model, data, folder):
    stored = np.load(data)
    images, labels = stored["image"].copy(), stored["labels"].copy()
    # Harder: noise, so that formats of few bits are wrong now and then.
    images += np.random.default_rng(1).normal(0, 0.9, images.shape).astype(np.float32)
    np.savez(f"{folder}/data.npz", image=images, labels=labels)
    formats = ("bfp8", "bfp4", "w=6,block=32")
    run("ashlar-eval", model, f"--data={folder}/data.npz", f"--formats={','.join(formats)}",
        "--reference=ashlar", f"--json={folder}/e.json", f"--csv={folder}/e.csv",
        f"--samples={folder}/s.csv", "--jobs=2")
    with open(f"{folder}/e.json", encoding="utf-8") as stream:
        found = json.load(stream)
    assert found["samples"] == 64 and [row["name"] for row in found["rows"]] == ["fp32", *formats]
    for row, format in zip(found["rows"][1:], formats):
        compare(row, expected(model, images, labels, format, folder))
    assert found["rows"][2]["top1"] < 1, "the noise decides nothing"
    with open(f"{folder}/s.csv", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 4 * 64
    hits = sum(line["rank"] == "0" for line in lines if line["format"] == "bfp4")
    assert hits == round(64 * found["rows"][2]["top1"])
    write_pictures(stored["image"], labels, folder)
    run("ashlar-eval", model, f"--data={folder}/pictures", f"--recipe={folder}/recipe.yaml",
        "--reference=ashlar", f"--json={folder}/p.json")
    with open(f"{folder}/p.json", encoding="utf-8") as stream:
        found = json.load(stream)
    assert found["layout"] == "folder with labels" and found["rows"][1]["top1"] == 1, found
    print("figures agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
