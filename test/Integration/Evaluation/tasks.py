#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws networks whose answers are known, with data for every kind of task.

usage: tasks.py FOLDER

boxes: an image holds one bright square of four possible places; the network sums
the brightness of each place as its score and returns the places as boxes.
tokens: each position of a sequence is a one-hot row; the network returns it times
a matrix that sends token t to t + 1.
batch: a classifier compiled for four samples, and one of an open batch.
"""

import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

PLACES = np.array([[0, 0], [0, 0.5], [0.5, 0], [0.5, 0.5]], np.float32)


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(path, nodes, inputs, outputs, **constants):
    graph = helper.make_graph(nodes, "g", inputs, outputs,
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def boxes(folder):
    """8x8 images; a place is 4x4 pixels."""
    places = np.concatenate([PLACES[:, ::-1], PLACES[:, ::-1] + 0.5], axis=1)
    weights = np.full((1, 1, 4, 4), 1 / 16, np.float32)
    save(f"{folder}/boxes.onnx",
         [helper.make_node("Conv", ["image", "w"], ["sums"], strides=[4, 4]),
          helper.make_node("Reshape", ["sums", "s"], ["scores"]),
          helper.make_node("Mul", ["scores", "zero"], ["nothing"]),
          helper.make_node("Add", ["nothing", "places"], ["boxes"])],
         [value("image", [1, 1, 8, 8])], [value("scores", [1, 4, 1]), value("boxes", [1, 4, 4])],
         w=weights, s=np.array([1, 4, 1]), zero=np.zeros((1, 1, 1), np.float32), places=places[None])
    os.makedirs(f"{folder}/squares")
    images, annotations = [], []
    for k in range(8):
        pixels = np.full((8, 8), 5, np.uint8)
        y, x = (PLACES[k % 4] * 8).astype(int)
        pixels[y:y + 4, x:x + 4] = 250
        # Larger files, which the recipe makes small again.
        Image.fromarray(pixels).resize((24, 16), Image.NEAREST).save(f"{folder}/squares/{k}.png")
        images.append({"id": k, "file_name": f"{k}.png", "width": 24, "height": 16})
        # The last two squares are said to be where they are not.
        told = k % 4 if k < 6 else (k + 1) % 4
        y, x = PLACES[told] * (16, 24)
        annotations.append({"image_id": k, "category_id": 1, "bbox": [float(x), float(y), 12, 8]})
    with open(f"{folder}/squares/annotations.json", "w", encoding="utf-8") as out:
        json.dump({"images": images, "annotations": annotations, "categories": [{"id": 1}]}, out)
    with open(f"{folder}/boxes.yaml", "w", encoding="utf-8") as out:
        out.write("base: grey-unit\nresize: [8, 8]\ninterpolation: nearest\n"
                  "task: {kind: boxes, scores: scores, boxes: boxes, background: null, threshold: 0.5}\n")


def tokens(folder):
    count, length, words = 6, 5, 8
    shift = np.roll(np.eye(words, dtype=np.float32), 1, axis=1)
    save(f"{folder}/tokens.onnx", [helper.make_node("MatMul", ["rows", "m"], ["logits"])],
         [value("rows", [1, length, words])], [value("logits", [1, length, words])], m=shift)
    said = np.random.default_rng(2).integers(0, words, (count, length))
    labels = (said + 1) % words
    labels[0, 0] = (labels[0, 0] + 1) % words  # one wrong
    labels[1, 3:] = -100  # not counted
    np.savez(f"{folder}/tokens.npz", rows=np.eye(words, dtype=np.float32)[said], labels=labels)
    with open(f"{folder}/tokens.yaml", "w", encoding="utf-8") as out:
        out.write("task: tokens\n")


def batch(folder):
    weights = np.eye(6, dtype=np.float32)
    for name, rows in (("four", 4), ("open", "n")):
        save(f"{folder}/{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])],
             [value("x", [rows, 6])], [value("y", [rows, 6])], w=weights)
    x = np.random.default_rng(5).normal(size=(70, 6)).astype(np.float32)
    np.savez(f"{folder}/rows.npz", x=x, labels=x.argmax(1))
    np.savez(f"{folder}/high.npz", x=x, labels=x.argmax(1) + 3)


if __name__ == "__main__":
    boxes(sys.argv[1])
    tokens(sys.argv[1])
    batch(sys.argv[1])
