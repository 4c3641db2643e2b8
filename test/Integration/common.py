# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the integration tests share: tools, models, inputs, error measures."""

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))

import ort  # noqa: E402

BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get(
    "ASHLAR_MODELS", os.path.join(ROOT, "..", "shared", "models"))
# Several networks leave one channel of thousands below every format's step;
# an error of exactly zero is reported as this many dB.
EXACT_DB = 999.0


def tool(name):
    return os.path.join(BUILD, "bin", name)


def run_tool(name, *arguments, check=True, timeout=None):
    """Runs a tool; on failure its own message is the explanation."""
    done = subprocess.run([tool(name), *map(str, arguments)], text=True,
                          capture_output=True, timeout=timeout)
    if check and done.returncode:
        raise SystemExit(f"{name} {' '.join(map(str, arguments))}\n"
                         f"exit code {done.returncode}\n{done.stderr}")
    return done


def check_drawn(check, *counted):
    """The main function of a test that draws a network for each seed.

    check(seed, folder) tells whether the network differs from what it should
    compute, and then for each text of `counted` how many of these it has; the
    sums are printed. Exit code 1 if any network differs.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    wrong, sums = 0, [0] * len(counted)
    for seed in range(args.seed, args.seed + args.count):
        with tempfile.TemporaryDirectory() as folder:
            differs, *own = check(seed, folder)
        wrong += differs
        sums = [total + more for total, more in zip(sums, own, strict=True)]
    parts = ", ".join(f"{total} {text}" for total, text in zip(sums, counted))
    print(f"{args.count} networks, {wrong} differ; {parts}")
    return 1 if wrong else 0


def model_path(name):
    return os.path.join(MODELS, name + ".onnx")


def graph_inputs(path):
    """Names of the inputs that are not initialisers."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constants = {t.name for t in graph.initializer}
    return [i.name for i in graph.input if i.name not in constants]


def dev_inputs(name, limit=None):
    """(inputs stacked on axis 0, labels or None) of a shared model."""
    spec = importlib.util.spec_from_file_location(
        "load", os.path.join(MODELS, "load.py"))
    load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    arrays, labels = [], []
    for array, label in load.inputs(name):
        arrays.append(array)
        labels.append(label)
        if limit and len(arrays) == limit:
            break
    return np.concatenate(arrays), labels if labels[0] is not None else None


def fp32_outputs(path, stacked):
    """ONNX Runtime's outputs for samples stacked on axis 0 (one input).

    Kept in the build folder, keyed by the content of model and inputs.
    """
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        digest.update(stream.read())
    digest.update(np.ascontiguousarray(stacked).tobytes())
    cache = os.path.join(BUILD, "ort-outputs", digest.hexdigest()[:24] + ".npz")
    if os.path.exists(cache):
        with np.load(cache) as kept:
            return dict(kept)
    name = graph_inputs(path)[0]
    samples = [{name: stacked[i:i + 1]} for i in range(len(stacked))]
    results, _ = ort.run(path, samples)
    outputs = {k: np.concatenate([r[k] for r in results]) for k in results[0]}
    os.makedirs(os.path.dirname(cache), exist_ok=True)
    partial = f"{cache}.{os.getpid()}.npz"
    np.savez(partial, **outputs)
    os.replace(partial, cache)
    return outputs


def snr_db(reference, value):
    """Signal-to-noise ratio of one sample's output in decibels."""
    reference = np.asarray(reference, np.float64).ravel()
    value = np.asarray(value, np.float64).ravel()
    if not np.isfinite(value).all():
        return -EXACT_DB
    noise = np.sum((reference - value) ** 2)
    signal = np.sum(reference ** 2)
    if noise == 0:
        return EXACT_DB
    if signal == 0:
        return -EXACT_DB
    return float(10 * np.log10(signal / noise))


def top1_agreement(reference, value):
    """(share of equal best classes, disagreements that are no near tie).

    A near tie: the two best fp32 outputs differ by at most 0.1 % of the
    largest magnitude.
    """
    reference = reference.reshape(len(reference), -1)
    value = value.reshape(len(value), -1)
    equal = reference.argmax(1) == value.argmax(1)
    best = np.sort(reference, 1)[:, -2:]
    clear = (best[:, 1] - best[:, 0]) > 1e-3 * np.abs(reference).max(1)
    return float(equal.mean()), int((~equal & clear).sum())


def run_cases(cases, run, what):
    """Runs all cases, a broken one like a wrong one, and says which fail. The exit
    code; no case at all is a failure."""
    failed = 0
    for case in cases:
        try:
            run(case)
            print(f"pass {case.name}")
        except (Exception, SystemExit) as error:
            failed += 1
            print(f"FAIL {case.name}: {type(error).__name__} {error}")
    print(f"{len(cases)} {what}, {failed} failures")
    return int(bool(failed) or not cases)


def differs_from_fp32(model, folder):
    """True if a 16-bit run of in.npz in `folder` is not near ONNX's definition."""
    binary, inputs, out, expected = (
        os.path.join(folder, name) for name in
        ("wide.ash", "in.npz", "wide.npz", "expected.npz"))
    run_tool("ashlarc", model, "--format=bfp16", "-o", binary)
    run_tool("ashlar-run", binary, f"--inputs={inputs}", "--quiet",
                    f"--outputs={out}")
    run_tool("ashlar-reference", model, f"--inputs={inputs}",
                    f"--outputs={expected}")
    with np.load(out) as own, np.load(expected) as reference:
        return any(snr_db(reference[name], own[name]) < 60
                   for name in reference)
