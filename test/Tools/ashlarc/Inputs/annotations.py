#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares an annotated model with the model and with a table of layers.

usage: annotations.py MODEL.onnx ANNOTATED.onnx LAYERS.csv
"""

import csv
import sys

import onnx


def main():
    model, annotated = (onnx.load(path) for path in sys.argv[1:3])
    onnx.checker.check_model(annotated)
    with open(sys.argv[3], newline="", encoding="utf-8") as file:
        cycles = {row["name"]: row["cycles"] for row in csv.DictReader(file)}
    for node in annotated.graph.node:
        if node.name in cycles:
            assert f"ashlar: {cycles[node.name]} of " in node.doc_string, node.doc_string
        else:
            assert "ashlar: fused into " in node.doc_string or "no instructions" in node.doc_string
        print(f"{node.name}: {node.doc_string}")
    for node, own in zip(annotated.graph.node, model.graph.node):
        assert node.doc_string.startswith(own.doc_string) and node.op_type == own.op_type
        assert node.input == own.input and node.output == own.output
        assert node.attribute == own.attribute
        node.CopyFrom(own)
    assert annotated == model, "more than descriptions differ"


main()
