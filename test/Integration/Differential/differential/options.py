# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options: those that decide the numbers, and those that must not change a bit."""

import math

BLOCKS = [8, 16, 32, 64, "axis", "tensor"]
ROWS = [2, 3, 4, 5, 8, 16, 64, "quadrant"]
ENGINES = [
    ("sparse", ["off", "tile", "scatter", "auto"]), ("fold-w", ["off", "stride", "lane", "both"]),
    ("pci-policy", ["cycles", "source"]), ("classify", ["cost", "majority", "threshold"]),
    ("map-compression", ["off", "bitmap", "coo", "quadtree"]),
    ("transpose", ["auto", "pe", "planes", "dma", "copy"]),
    ("schedule", ["off", "list"]), ("pack-rows", ["off", "apart", "columns"]),
    ("pool-drain", ["auto", "off"]), ("function-engine", ["drain", "vector", "shared"]), ("weight-compression", ["off", "bitmap", "runs", "exponents"]),
    ("scatter-unit", "ABCD"), ("scatter-block", ["1x1", "3x3", "4x16", "255x255"]),
    ("scatter-order", ["auto", "ascending", "snake"]),
    ("sparse-bias", ["drain", "sums"]), ("sparse-bind", ["auto", "off", "always"]),
    ("sparse-keep", ["auto", "off", "always"]), ("sparse-copies", ["all", "needed"]),
    ("partition", ["p2", "p1", "rows", "uniform"]),
    ("partition-metric", ["nnz", "density", "zeros"]),
    ("partition-halo", ["overlap", "disjoint", "auto"]),
    ("partition-cuts", ["profile", "runtime", "always", "always-profile"])]


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def any_format(rng, weights=True):
    """A format, of which `weights` may have output channels that share exponents."""
    width, block = pick(rng, [3, 4, 5, 6, 7, 8, 8, 9, 10, 12, 14, 15, 16, 16]), pick(rng, BLOCKS)
    text = f"w={width},block={block},range={pick(rng, [0, 1, 3, 7, 7, 15])}"
    if width <= 8 and rng.random() < 0.4:
        text += ",unsigned=auto"
    if weights and block != "tensor" and rng.random() < 0.4:
        text += f",rows={pick(rng, ROWS)}"
    return text, width


def numbers(rng, calibration):
    """(options that decide the numbers, the largest relative error of an encoded element
    against the largest of its tensor, None where nothing is promised). Half of all
    networks have 16 bits, whose values say most."""
    kind = rng.random()
    if kind < 0.55:
        arguments, width = ["--format=bfp16"], 16
        if rng.random() < 0.2:
            arguments = [f"--format=bfp16,rows={pick(rng, ROWS)}"]
    elif kind < 0.75:
        arguments, width = [], 8
    elif kind < 0.9:
        text, width = any_format(rng)
        arguments = ["--format=" + text]
    else:
        a, b = any_format(rng, weights=False), any_format(rng)
        arguments, width = ["--activations=" + a[0], "--weights=" + b[0]], min(a[1], b[1])
    step = math.ldexp(1, 1 - width)
    if rng.random() < 0.15:
        policy = pick(rng, ["fixed", "table", "stats(k=4,n=0)", "stats(k=3,n=64)",
                            "predict(k=3,depth=4)", "fixed(e=-7)", "fixed(at=store)",
                            "stats(k=4,n=0,at=store)", "error(t=4)",
                            "predict(k=3,depth=2,at=store)",
                            "table(at=store,overflow=repair)"])
        arguments += [f"--scale={policy}", f"--calibrate={calibration}"]
        if policy == "fixed(e=-7)":
            step = None
    if rng.random() < 0.1:
        storage = pick(rng, ["bf16", "f32"])
        arguments.append(f"--residual={storage}")
        if storage == "bf16" and step:
            step = max(step, 2 ** -8)
    if rng.random() < 0.1:
        arguments.append("--weight-scaling=off")
    return arguments, step


def covers_ranges(arguments):
    """Whether exponents are constants, which cover the range that an operator guarantees
    (docs/Numerics.md, 5): of a softmax over many classes far more than its values take."""
    return any(a.startswith(("--scale=fixed", "--scale=table")) for a in arguments)


def engines(rng, calibration, known, share=None):
    """Options that change no bit; none at all in a third of the cases."""
    if share is None:
        share = pick(rng, [0, 0.1, 0.5])
    drawn = {name: pick(rng, values) for name, values in ENGINES if rng.random() < share}
    if share and rng.random() < 0.25:  # scatter mode has most to choose from
        drawn["sparse"] = "scatter"
        drawn.update({name: pick(rng, values) for name, values in ENGINES
                      if name.startswith(("partition", "scatter")) and rng.random() < 0.6})
    chosen = [f"--{name}={value}" for name, value in drawn.items()]
    if chosen and rng.random() < 0.4 and not any("--calibrate" in a for a in known):
        chosen.append(f"--calibrate={calibration}")
    return chosen


def running(rng):
    chosen = [f"--threads={pick(rng, [1, 1, 2, 4])}"]
    if rng.random() < 0.5:
        chosen.append("--functional")
    return chosen


def extra(rng, arguments):
    """What else is done with a way (case.py). Exponents that are given may saturate, which
    leaves the bounds of --verify."""
    chance = rng.random()
    if chance < 0.08:
        return "twice"
    scale = any(a.startswith("--scale") for a in arguments)
    return "verify" if chance < 0.14 and not scale else ""
