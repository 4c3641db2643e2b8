#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a network's accuracy is the luck of how its weights round.

usage: rounding_draws.py MODEL [--width=16] [--draws=8] [--samples=8]

The same network many times: every output channel of every product has its
weights multiplied by a factor from [1, 2) before they are encoded and its sums
divided by it afterwards, which changes nothing but where the weights lie between
two steps of the format. Prints the mean SNR of the logits for the weights as they
are, for the draws and for the factors that the compiler chooses. The spread
bounds what a comparison of one rounding of one network with another can tell
(docs/BlockFloatingPoint.md).
"""

import argparse
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import format_accuracy  # noqa: E402

sys.path.insert(0, os.path.join(common.ROOT, "test", "reference"))
import plan as plans  # noqa: E402
import reference  # noqa: E402
from storage import Value, store  # noqa: E402


class Drawn(plans.Plan):
    """A plan whose weights are scaled by factors before they are encoded."""

    def __init__(self, folder, random):
        super().__init__(folder)
        self.random, self.factors = random, {}
        if random is not None:
            for op in self.ops:
                self.draw(op)

    def draw(self, op):
        weights = self.tensors.get(op["inputs"].get("w"), {})
        if "scale" not in weights or "scale" in op["inputs"]:
            return
        name, axis = weights["name"], weights["channel_axis"]
        if name not in self.factors:
            count = weights["shape"][axis]
            self.factors[name] = np.exp2(self.random.uniform(0, 1, count)).astype(np.float32)
        op["inputs"]["scale"] = name + ".factor"

    def constants(self):
        for name in self.factors:
            self.tensors.pop(name + ".factor", None)
        values = super().constants()
        for name, factor in self.factors.items():
            tensor = self.tensors[name]
            array = np.load(os.path.join(self.folder, tensor["file"])).reshape(tensor["shape"])
            shape = [1] * array.ndim
            shape[tensor["channel_axis"]] = -1
            scaled = array.astype(np.float64) * factor.reshape(shape)
            values[name] = self.settle(tensor, store(scaled, tensor))
            inverse = (1 / factor.astype(np.float64)).astype(np.float32)
            self.tensors[name + ".factor"] = {"name": name + ".factor", "kind": "constant",
                                              "type": "f32", "shape": list(factor.shape)}
            values[name + ".factor"] = Value("f32", inverse)
        return values


def ratios(plan, samples, expected):
    """SNR of each sample's logits in dB."""
    (name, wanted), = expected.items()
    result = []
    for k, sample in enumerate(samples):
        plan.scale_exponents = {}
        for tensor, value in reference.run(plan, {plan.inputs[0]: sample[None]}):
            if tensor["name"] == plan.outputs[name]:
                found = plans.stored_array(value)
        result.append(common.snr_db(wanted[k:k + 1], found))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    samples, _ = common.dev_inputs(options.model, options.samples)
    with tempfile.TemporaryDirectory() as folder:
        path = format_accuracy.without_softmax(common.model_path(options.model), folder)
        expected = common.fp32_outputs(path, samples)

        def mean_ratio(scaling, random):
            plan = os.path.join(folder, scaling)
            if not os.path.exists(plan):
                common.run_tool("ashlarc", path, "--compile-to=quantise", f"--dump-plan={plan}",
                                f"--format=w={options.width},block=16,range=7",
                                f"--weight-scaling={scaling}")
            return np.mean(ratios(Drawn(plan, random), samples, expected))

        plain, chosen = mean_ratio("off", None), mean_ratio("auto", None)
        drawn = [mean_ratio("off", np.random.default_rng(seed))
                 for seed in range(options.draws)]
    print(f"{options.model} W={options.width}: as it is {plain:.1f} dB, chosen {chosen:.1f} dB, "
          f"{options.draws} draws "
          f"{min(drawn):.1f} to {max(drawn):.1f}, mean {np.mean(drawn):.1f}, deviation "
          f"{np.std(drawn):.1f} dB")


if __name__ == "__main__":
    main()
