#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear models, preparation of features and random ensembles of trees
(ai.onnx.ml) against ONNX Runtime and the compiler's own definition.

usage: ml_models.py [--seeds=0:12]
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, INTEGRATION)
import common  # noqa: E402
from debian_cases import check  # noqa: E402

DOMAIN = "ai.onnx.ml"
KINDS = {np.dtype(np.float32): TensorProto.FLOAT,
         np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32}


class Case:
    def __init__(self, name, op, inputs, outputs, version=1, exact=False,
                 **attributes):
        self.name, self.inputs, self.exact = name, inputs, exact
        names = [f"x{k}" for k in range(len(inputs))]
        node = helper.make_node(op, names, [o for o, _ in outputs],
                                domain=DOMAIN, **attributes)
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(n, KINDS[x.dtype], list(x.shape))
             for n, x in zip(names, inputs)],
            [helper.make_tensor_value_info(o, kind, None) for o, kind in outputs])
        self.feeds = dict(zip(names, inputs))
        self.model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 15),
                                  helper.make_opsetid(DOMAIN, version)])
        self.model.ir_version = 8


Y = [("y", TensorProto.FLOAT)]
CLASSES = [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)]


def features(source, dtype=np.float32, rows=5, columns=7):
    x = source.normal(0, 2, (rows, columns))
    return np.round(x).astype(dtype) if np.dtype(dtype).kind == "i" \
        else x.astype(dtype)


def preparations(source):
    x = features(source)
    for dtype in KINDS:
        yield Case(f"scaler {dtype}", "Scaler", [features(source, dtype)], Y,
                   offset=source.normal(0, 1, 7).tolist(),
                   scale=source.uniform(0.5, 2, 7).tolist())
    yield Case("scaler of one number", "Scaler", [x], Y, offset=[0.5], scale=[2.0])
    rows = np.abs(x)
    rows[2] = 0
    for norm in ("MAX", "L1", "L2"):
        yield Case(f"normalizer {norm}", "Normalizer", [rows], Y, norm=norm)
    yield Case("binarizer", "Binarizer", [x], Y, exact=True, threshold=0.25)
    gaps = x.copy()
    gaps[1, 3] = gaps[4, 0] = np.nan
    yield Case("imputer of NaN", "Imputer", [gaps], Y, exact=True,
               imputed_value_floats=source.normal(0, 1, 7).tolist(),
               replaced_value_float=float("nan"))
    yield Case("imputer of integers", "Imputer", [features(source, np.int64)],
               [("y", TensorProto.INT64)], exact=True,
               imputed_value_int64s=[9], replaced_value_int64=1)
    yield Case("vectorizer", "FeatureVectorizer",
               [x, features(source, columns=2)], Y, exact=True,
               inputdimensions=[7, 2])
    yield Case("extractor", "ArrayFeatureExtractor",
               [x, np.array([[5, 0, 5]], np.int64)], Y, exact=True)


def linear(source):
    def numbers(count):
        return source.normal(0, 1, count).tolist()
    x = features(source)
    yield Case("regressor", "LinearRegressor", [x], Y, targets=1,
               coefficients=numbers(7), intercepts=numbers(1))
    yield Case("regressor of targets", "LinearRegressor", [x], Y, targets=3,
               coefficients=numbers(21), post_transform="SOFTMAX",
               intercepts=numbers(3))
    for name in ("NONE", "SOFTMAX", "LOGISTIC"):
        yield Case(f"classifier {name}", "LinearClassifier", [x], CLASSES,
                   coefficients=numbers(28), intercepts=numbers(4),
                   classlabels_ints=[3, 1, 7, -2], post_transform=name)
    yield Case("classifier of one score", "LinearClassifier", [x], CLASSES,
               coefficients=numbers(7), intercepts=numbers(1),
               classlabels_ints=[4, 8])


class Forest:
    """Random trees as the lists of attributes of the operators."""

    def __init__(self, source, trees, depth, columns, mode, features_count=7):
        self.source, self.columns, self.mode = source, columns, mode
        self.lists = {k: [] for k in ("treeids", "nodeids", "featureids", "values",
                                      "modes", "truenodeids", "falsenodeids",
                                      "missing_value_tracks_true")}
        self.votes, self.features_count = [], features_count
        for tree in range(trees):
            self.next = 0
            self.grow(tree, depth)

    def grow(self, tree, depth):
        own, self.next = self.next, self.next + 1
        at = len(self.lists["nodeids"])
        leaf = depth == 0 or (own > 0 and self.source.random() < 0.2)
        row = {"treeids": tree, "nodeids": own, "truenodeids": 0, "falsenodeids": 0,
               "featureids": 0 if leaf else int(self.source.integers(self.features_count)),
               # Whole numbers, which integer features reach.
               "values": 0.0 if leaf else float(np.float32(
                   np.round(self.source.normal(0, 2), int(self.source.integers(2))))),
               "modes": "LEAF" if leaf else self.mode,
               "missing_value_tracks_true": int(self.source.integers(2))}
        for key, value in row.items():
            self.lists[key].append(value)
        if leaf:
            for column in self.columns:
                self.votes.append((tree, own, column))
            return own
        self.lists["truenodeids"][at] = self.grow(tree, depth - 1)
        self.lists["falsenodeids"][at] = self.grow(tree, depth - 1)
        return own

    def attributes(self, prefix, low=-1.0):
        made = {f"nodes_{k}": v for k, v in self.lists.items()}
        trees, nodes, columns = zip(*self.votes)
        made.update({f"{prefix}_treeids": trees, f"{prefix}_nodeids": nodes,
                     f"{prefix}_ids": columns,
                     f"{prefix}_weights": self.source.uniform(
                         low, 1, len(self.votes)).tolist()})
        return made


def forests(source):
    mode = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ",
            "BRANCH_NEQ")[source.integers(6)]
    count = int(source.integers(1, 9))
    dtype = list(KINDS)[source.integers(4)]

    def grown(columns):
        return Forest(source, count, int(source.integers(1, 6)), columns, mode)

    x = features(source, dtype, rows=int(source.integers(1, 6)))
    if dtype.kind == "f":
        x[0, 2] = np.nan
    what = f"{count} trees, {mode}, {dtype}"
    # ONNX Runtime has a regressor of floats alone.
    numbers = x if dtype.kind == "f" else x.astype(np.float32)
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield Case(f"regressor {how} of {what}", "TreeEnsembleRegressor",
                   [numbers], Y, n_targets=1, aggregate_function=how, base_values=[0.25],
                   **grown([0]).attributes("target"))
    yield Case(f"regressor of two targets, {what}", "TreeEnsembleRegressor",
               [numbers], Y, n_targets=2, **grown([0, 1]).attributes("target"))
    for name in ("NONE", "SOFTMAX", "LOGISTIC"):
        yield Case(f"classifier {name} of {what}", "TreeEnsembleClassifier", [x],
                   CLASSES, version=3, classlabels_int64s=[5, 2, 9],
                   post_transform=name, **grown([0, 1, 2]).attributes("class"))
    for low, name in ((0.0, "NONE"), (0.0, "LOGISTIC"), (-1.0, "NONE"),
                      (-1.0, "LOGISTIC")):
        yield Case(f"two classes from {low}, {name}, of {what}",
                   "TreeEnsembleClassifier", [x], CLASSES, base_values=[0.125],
                   classlabels_int64s=[4, 1], post_transform=name,
                   **grown([0]).attributes("class", low / count))
        yield Case(f"second of two classes from {low}, {name}, of {what}",
                   "TreeEnsembleClassifier", [x], CLASSES,
                   classlabels_int64s=[4, 1], post_transform=name,
                   **grown([1]).attributes("class", low / count))


def run_case(case, server):
    with tempfile.TemporaryDirectory() as folder:
        path, data, binary, outputs = (
            os.path.join(folder, name)
            for name in ("m.onnx", "in.npz", "m.ash", "out.npz"))
        onnx.save(case.model, path)
        np.savez(data, **case.feeds)
        if all(np.isfinite(x).all() for x in case.inputs):
            common.run_tool("ashlarc", path, "--verify", f"--inputs={data}",
                            "--format=bfp16")
        common.run_tool("ashlarc", path, "-o", binary, "--format=bfp16")
        common.run_tool("ashlar-run", binary, f"--inputs={data}",
                        f"--outputs={outputs}")
        wanted = server.run(path, [case.feeds])[0]
        with np.load(outputs) as found:
            for name, right in wanted.items():
                check(name, found[name], right, case.exact)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:12")
    first, last = map(int, parser.parse_args().seeds.split(":"))
    server = common.ort.Server()
    cases = []
    for seed in range(first, last):
        source = np.random.default_rng(seed)
        if seed == first:
            cases += list(preparations(source)) + list(linear(source))
        cases += list(forests(source))
    try:
        return common.run_cases(cases, lambda case: run_case(case, server),
                                "models")
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(main())
