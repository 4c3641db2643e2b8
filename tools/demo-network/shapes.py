#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network that finds shapes, and writes it as ONNX with annotated test images.

usage: shapes.py OUT_DIR [--steps=N] [--seed=N]

Images of 32x32 pixels show one to three squares, discs and crosses in noise. Each of 8x8
cells says what shape has its centre there, and its box; non-maximum suppression is part of
the graph. Writes shapes.onnx, and the folder `images` with PNG files and annotations.json
as COCO has them. Seconds on one core; everything follows from the seed.
"""

import argparse
import json
import os

import numpy as np
from PIL import Image

import exporter
import layers

CLASSES = ("square", "disc", "cross")
SIZE, CELLS = 32, 8
BATCH, TEST = 32, 64
# An empty cell counts less than one with a shape: there are many more of them.
EMPTY = 0.2
BOX_WEIGHT = 4.0


def mask_of(label, x, y, radius):
    down, right = np.mgrid[0:SIZE, 0:SIZE] + 0.5
    across, along = np.abs(right - x), np.abs(down - y)
    if CLASSES[label] == "disc":
        return across ** 2 + along ** 2 <= radius ** 2
    inside = np.maximum(across, along) <= radius
    return inside & (np.minimum(across, along) <= radius / 3) if CLASSES[label] == "cross" else inside


def draw(rng):
    """(uint8 image, [(label, x, y, radius)]): shapes that do not touch."""
    image = np.full((SIZE, SIZE), rng.uniform(20, 90))
    shapes = []
    for _ in range(rng.integers(1, 4)):
        radius = rng.uniform(3.5, 6.5)
        x, y = rng.uniform(radius, SIZE - radius, 2)
        if all(max(abs(x - a), abs(y - b)) > radius + r + 1 for _, a, b, r in shapes):
            label = int(rng.integers(0, len(CLASSES)))
            image[mask_of(label, x, y, radius)] = rng.uniform(150, 255)
            shapes.append((label, x, y, radius))
    image += rng.standard_normal(image.shape) * rng.uniform(4, 20)
    return np.clip(image, 0, 255).astype(np.uint8), shapes


def network_input(images):
    return ((np.asarray(images, np.float32) / 255 - 0.5) / 0.5)[..., None]


def loss_of(output, scenes):
    """Cross entropy of the cells' classes, squared error of the boxes; and the gradient."""
    count = len(scenes)
    labels = np.zeros((count, CELLS, CELLS), np.int64)
    boxes = np.zeros((count, CELLS, CELLS, 4), np.float32)
    for k, shapes in enumerate(scenes):
        for label, x, y, radius in shapes:
            column, row = (int(v * CELLS / SIZE) for v in (x, y))
            labels[k, row, column] = label + 1
            boxes[k, row, column] = (x * CELLS / SIZE - column - 0.5, y * CELLS / SIZE - row - 0.5,
                                     2 * radius / SIZE, 2 * radius / SIZE)
    known = (labels > 0)[..., None]
    kinds = len(CLASSES) + 1
    logits = output[..., :kinds].reshape(-1, kinds)
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    shares = exponents / exponents.sum(1, keepdims=True)
    flat, rows = labels.reshape(-1), np.arange(labels.size)
    weights = np.where(flat > 0, 1.0, EMPTY)
    loss = -(weights * np.log(shares[rows, flat] + 1e-12)).sum() / count
    shares[rows, flat] -= 1
    error = (output[..., kinds:] - boxes) * known
    gradient = np.concatenate([(shares * weights[:, None]).reshape(*labels.shape, kinds),
                               2 * BOX_WEIGHT * error], 3)
    return loss + BOX_WEIGHT * (error ** 2).sum() / count, (gradient / count).astype(np.float32)


def export(network, folder):
    """Scores and boxes of all cells, and what non-maximum suppression leaves of them."""
    out, kinds, cells = exporter.Exporter("shapes"), len(CLASSES) + 1, CELLS * CELLS
    x = out.features(network, "image")
    x = out.node("Transpose", "cells", [x], perm=[0, 2, 3, 1])
    x = out.node("Reshape", "rows", [x, out.constant("rows.shape", [1, cells, kinds + 4], np.int64)])
    axis = out.constant("axis", [2], np.int64)

    def part(name, begin, end):
        return out.node("Slice", name, [x, out.constant(name + ".begin", [begin], np.int64),
                                        out.constant(name + ".end", [end], np.int64), axis])

    out.node("Softmax", "scores", [part("logits", 0, kinds)], axis=2)
    row, column = np.mgrid[0:CELLS, 0:CELLS].reshape(2, -1) + 0.5
    centres = np.stack([column, row, 0 * row, 0 * row], 1)[None] / CELLS
    scaled = out.node("Mul", "offsets", [part("places", kinds, kinds + 4),
                                         out.constant("scale", [1 / CELLS, 1 / CELLS, 1, 1])])
    out.node("Add", "boxes", [scaled, out.constant("centres", centres)])
    objects = out.node("Slice", "objects", ["scores", out.constant("first", [1], np.int64),
                                            out.constant("last", [kinds], np.int64), axis])
    columns = out.node("Transpose", "columns", [objects], perm=[0, 2, 1])
    out.node("NonMaxSuppression", "selected",
             ["boxes", columns, out.constant("most", [10], np.int64), out.constant("overlap", [0.5]),
              out.constant("least", [0.3])], center_point_box=1)
    out.save(folder, [("image", exporter.FLOAT, [1, 1, SIZE, SIZE])],
             [("scores", exporter.FLOAT, [1, cells, kinds]), ("boxes", exporter.FLOAT, [1, cells, 4]),
              ("selected", exporter.INT64, ["found", 3])])


def write_images(folder, rng):
    """Test images, annotated as COCO does."""
    os.makedirs(folder, exist_ok=True)
    images, annotations = [], []
    for k in range(TEST):
        image, shapes = draw(rng)
        Image.fromarray(image).save(os.path.join(folder, f"{k:03}.png"))
        images.append({"id": k, "file_name": f"{k:03}.png", "width": SIZE, "height": SIZE})
        for label, x, y, radius in shapes:
            annotations.append({"id": len(annotations), "image_id": k, "category_id": label, "iscrowd": 0,
                                "bbox": [x - radius, y - radius, 2 * radius, 2 * radius],
                                "area": 4 * radius * radius})
    with open(os.path.join(folder, "annotations.json"), "w", encoding="utf-8") as stream:
        json.dump({"images": images, "annotations": annotations,
                   "categories": [{"id": k, "name": name} for k, name in enumerate(CLASSES)]}, stream)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    network = [layers.Conv3x3(1, 16, rng), layers.Relu(), layers.MaxPool2(),
               layers.Conv3x3(16, 32, rng), layers.Relu(), layers.MaxPool2(),
               layers.Conv3x3(32, 32, rng), layers.Relu(), layers.Conv3x3(32, 32, rng), layers.Relu(),
               layers.Conv3x3(32, len(CLASSES) + 5, rng)]

    def step():
        images, scenes = zip(*(draw(rng) for _ in range(BATCH)))
        return loss_of(exporter.run(network, network_input(images)), scenes)

    exporter.fit(network, options.steps, step)
    export(network, options.out)
    write_images(os.path.join(options.out, "images"), np.random.default_rng(options.seed + 1_000_003))


if __name__ == "__main__":
    main()
