#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Energy of random networks on random machines, by hand (energy.py).

usage: random_energy.py [--seeds=0:20] [--seconds=N] [--keep=DIR] [--verbose]

A seed decides network, machine and options as in report_identities.py; two of three
programs leave the sparse cluster alone, so that their counts are compared too.
"""

import os
import random
import sys

INTEGRATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [INTEGRATION, os.path.join(INTEGRATION, "Random")]

import energy  # noqa: E402
import random_machines  # noqa: E402
import report_identities  # noqa: E402
import seed_sweep  # noqa: E402


def check(seed, folder):
    draw = random.Random(seed)
    machine = report_identities.draw_machine(draw)
    path = machine.write(os.path.join(folder, "machine.yaml"))
    model = os.path.join(folder, "model.onnx")
    if draw.random() < 0.3:
        report_identities.draw_integers(seed, folder)
        what, chosen = "integers", []
    else:
        what = random_machines.draw_network(draw, seed, folder)
        chosen = random_machines.draw_options(draw, model, folder)
    if draw.random() < 0.67:
        chosen = [o for o in chosen if not o.startswith("--sparse")] + ["--sparse=off"]
    name = draw.choice(["n7", "n45"])
    try:
        random_machines.tool("ashlarc", model, "-o", os.path.join(folder, "p.ash"), *chosen,
                             f"--machine={path}", may_refuse=True)
    except random_machines.Refusal as why:
        return "refused", f"{what}: {why}".replace(folder, "")
    report, text = energy.run(model, path, name, 1, chosen, folder)
    comparison = energy.Comparison()
    followed = energy.check_all(comparison, report, text, name)
    if comparison.wrong:
        raise seed_sweep.Mismatch(f"{what}: " + "; ".join(comparison.wrong[:5]))
    return "equal", f"{what}, {comparison.values} values{'' if followed else ', prices only'}"


if __name__ == "__main__":
    sys.exit(seed_sweep.main(__doc__, "reports", check))
