#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--format=auto on shared models: calibrated on some dev inputs, judged on the
others against ONNX Runtime.

usage: auto_format.py MODEL... [--target=--min-agreement=98] [--samples=8]
                      [--machine=a1] [--uniform]

One line per model: cycles and weight bytes of the choice, of the cheapest
uniform format that the search found to keep the target, and of uniform W=8;
agreement and mean SNR on the judged inputs. Cycles and bytes must not be above
those of that uniform format. With --uniform, every uniform W up to the search's is judged as well, and the cheapest
that keeps the target on the judged inputs is shown. Fails where the choice misses the target on the judged
inputs (agreement by more than a point) or costs more than the search's uniform
format, or where a ratio of RATIOS is exceeded.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402

# Largest cycles of --min-agreement=98 relative to uniform W=8.
RATIOS = dict.fromkeys(["squeezenet1_1", "resnet8_cifar10", "resnet20_cifar10",
                        "shufflenet_v2_1.0", "mnist_cnn", "kws_dscnn"], 1.25)
# What agreement on unseen inputs may fall short of the target, in points.
AGREEMENT_SLACK = 1.0


class Model:
    """A shared model with its dev inputs and ONNX Runtime's outputs."""

    def __init__(self, name, options, folder):
        self.name, self.options, self.folder = name, options, folder
        self.path = common.model_path(name)
        self.inputs, _ = common.dev_inputs(name)
        self.expected = common.fp32_outputs(self.path, self.inputs)
        self.input = common.graph_inputs(self.path)[0]
        self.binary = os.path.join(folder, "model.ash")
        self.calibrate = self.save("calibrate.npz", self.inputs[:options.samples])
        self.first = self.save("first.npz", self.inputs[:1])
        self.judged = self.save("judged.npz", self.inputs[options.samples:])

    def save(self, name, array):
        path = os.path.join(self.folder, name)
        np.savez(path, **{self.input: array})
        return path

    def compile(self, *arguments):
        """The compile report."""
        report = os.path.join(self.folder, "compile.json")
        common.run_tool("ashlarc", self.path, "-o", self.binary, *arguments,
                        f"--machine={self.options.machine}",
                        f"--calibrate={self.calibrate}",
                        f"--report={report}")
        with open(report, encoding="utf-8") as stream:
            return json.load(stream)

    def cycles(self):
        """Of the first calibration sample: skipped zeros depend on data."""
        report = os.path.join(self.folder, "run.json")
        common.run_tool("ashlar-run", self.binary, f"--inputs={self.first}",
                        f"--report={report}", "--quiet")
        with open(report, encoding="utf-8") as stream:
            return json.load(stream)["total_cycles"]

    def judge(self):
        """(cycles, percent of equal best classes, mean SNR in dB): the least
        over the outputs, on the judged inputs."""
        outputs = os.path.join(self.folder, "out.npz")
        common.run_tool("ashlar-run", self.binary, f"--inputs={self.judged}",
                        f"--outputs={outputs}", "--functional", "--quiet")
        agreement, ratio = 100.0, common.EXACT_DB
        with np.load(outputs) as found:
            for name, reference in self.expected.items():
                reference = reference[self.options.samples:]
                share, _ = common.top1_agreement(reference, found[name])
                agreement = min(agreement, 100 * share)
                ratio = min(ratio, np.mean([
                    common.snr_db(r, f)
                    for r, f in zip(reference, found[name])]))
        return self.cycles(), agreement, float(ratio)


def keeps(options, agreement, ratio, slack=0.0):
    """True if judged numbers keep the target."""
    name, value = options.target.lstrip("-").split("=")
    if name == "min-snr":
        return ratio >= float(value)
    return agreement >= float(value) - slack


def cheapest_uniform(model, options, last):
    """The least uniform W that keeps the target on the judged inputs."""
    for width in range(3, last + 1):
        report = model.compile(f"--format=bfp{width}")
        cycles, agreement, ratio = model.judge()
        if keeps(options, agreement, ratio, AGREEMENT_SLACK):
            return (f"; cheapest uniform on judged inputs W={width}: "
                    f"{cycles} cycles, {report['constant_bytes']} bytes")
    return ""


def measure(name, options):
    """(line of text, list of failures) of one model."""
    with tempfile.TemporaryDirectory() as folder:
        model = Model(name, options, folder)
        start = time.monotonic()
        report = model.compile("--format=auto", options.target)
        seconds = time.monotonic() - start
        search = report["format_search"]
        chosen = search["candidates"][search["chosen"]]
        uniform = search["candidates"][search["uniform"]]
        cycles, agreement, ratio = model.judge()
        model.compile("--format=bfp8")
        base, _, _ = model.judge()
        extra = ""
        if options.uniform:
            width = int(uniform["label"].split("w=")[1].split(",")[0])
            extra = cheapest_uniform(model, options, width)
    line = (f"{name:<22} cycles {cycles:>8} = {cycles / base:.3f} x W=8, "
            f"{cycles / uniform['cycles']:.3f} x {uniform['label']}; bytes "
            f"{chosen['weight_bytes']} of {uniform['weight_bytes']}; judged "
            f"{agreement:.2f} % {ratio:.2f} dB; {len(search['candidates'])} "
            f"candidates, {seconds:.1f} s{extra}")
    failures = []
    if not keeps(options, agreement, ratio, AGREEMENT_SLACK):
        failures.append(f"{agreement:.2f} % and {ratio:.2f} dB on the judged "
                        f"inputs miss {options.target}")
    if cycles != chosen["cycles"]:
        failures.append(f"{cycles} cycles, the search said {chosen['cycles']}")
    for key in ("cycles", "weight_bytes"):
        if chosen[key] > uniform[key]:
            failures.append(f"{key} {chosen[key]} above uniform {uniform[key]}")
    if options.target == "--min-agreement=98" and \
            cycles > RATIOS.get(name, np.inf) * base:
        failures.append(f"{cycles / base:.3f} times the cycles of W=8, "
                        f"expected at most {RATIOS[name]}")
    return line, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--target", default="--min-agreement=98")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--uniform", action="store_true")
    options = parser.parse_args()
    failed = False
    for name in options.models:
        line, failures = measure(name, options)
        print(line, flush=True)
        for failure in failures:
            print(f"{name}: {failure}", file=sys.stderr)
        failed |= bool(failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
