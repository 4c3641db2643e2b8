#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed maps of whole networks, against the same networks without.

usage: compressed_maps.py [MODEL|FILE.onnx]... [--bytes=8192] [--machine=a1]
                          [--inputs=FILE.npz] [--some] [--table]
                          [options of ashlarc]

Compiles each model (squeezenet1_1 without arguments) for `a1` with --bytes bytes
per partition, so that maps leave the state buffer, or for --machine as it is, with
every --map-compression: calibrated on one input, run on another (on --inputs
without calibration).
Fails if a bit of an output or of a planned tensor differs from those without
compression; if the non-zeros that the headers count are not those of the dumped
maps, or the stored bytes not what the form makes of them; or if `auto` takes more
cycles than `off`. --some: also if nothing was compressed. --table prints lines for
docs/SparseTiles.md.
"""

import argparse
import filecmp
import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common  # noqa: E402
import run_time_cuts  # noqa: E402

FORMS = ["off", "auto", "bitmap", "coo", "quadtree"]


def machine_file(folder, machine, size):
    """The built-in machine with less memory; a file, or no bytes, as it is."""
    if machine != "a1" or not size:
        return machine
    path = os.path.join(folder, "machine.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"name: small\nsb: {{bytes_per_partition: {size}}}\n")
    return path


def samples(name, model, folder, given):
    """Paths of an input to run on and one to calibrate with (or None)."""
    if given:
        return given, None
    key = common.graph_inputs(model)[0]
    arrays, _ = common.dev_inputs(name, 2)
    paths = [os.path.join(folder, n) for n in ("in.npz", "calibration.npz")]
    for i, path in enumerate(paths):
        np.savez(path, **{key: arrays[i % len(arrays)][None]})
    return paths


def same_dumps(first, second):
    names = sorted(os.listdir(first))
    if names != sorted(os.listdir(second)):
        return ["the planned tensors are not the same"]
    _, differ, errors = filecmp.cmpfiles(first, second, names, shallow=False)
    return [f"{name} differs" for name in differ + errors]


def dumped_maps(report, dump):
    """What was stored compressed, with the dumped elements of each feature map."""
    with open(os.path.join(dump, "index.json"), encoding="utf-8") as file:
        index = json.load(file)["tensors"]
    for entry in report["maps"]:
        found = index.get(entry["node"], {})
        path = found.get("mantissas") or found.get("file")
        if not path:
            continue
        data = np.load(os.path.join(dump, path))
        if data.nbytes == entry["dense_bytes"]:
            # All bits zero: -0.0 is none.
            yield entry, data.view(f"u{data.itemsize}")


def check_counts(report, dump):
    """Non-zeros of the headers against the dumped maps, by node."""
    for entry, data in dumped_maps(report, dump):
        count = int(np.count_nonzero(data))
        if count != entry["non_zeros"]:
            yield (f"{entry['node']}: headers count {entry['non_zeros']} "
                   f"non-zeros, the map has {count}")


def check_bitmaps(report, dump):
    """Bytes of bitmap cells, the bits of each filled up to whole bytes."""
    for entry, data in dumped_maps(report, dump):
        least = (24 * entry["cells"] + data.size // 8 +
                 data.itemsize * entry["non_zeros"])
        if not least <= entry["bytes"] <= least + entry["cells"]:
            yield (f"{entry['node']}: {entry['bytes']} bytes of bitmaps, "
                   f"expected {least} to {least + entry['cells']}")


def decisions(report):
    return {d["node"]: d for d in report["decisions"]
            if d["choice"].startswith("map-")}


def measure(name, options, extra):
    """Problems about one network; prints what was found."""
    with tempfile.TemporaryDirectory() as folder:
        model = name if name.endswith(".onnx") else common.model_path(name)
        inputs, calibration = samples(name, model, folder, options.inputs)
        machine = machine_file(folder, options.machine, options.bytes)
        common_options = [f"--machine={machine}", *extra]
        if calibration:
            common_options.append(f"--calibrate={calibration}")
        results, reports, problems = {}, {}, []
        for form in FORMS:
            own = os.path.join(folder, form)
            os.mkdir(own)
            results[form], reports[form] = run_time_cuts.run(
                model, inputs, own, f"--map-compression={form}",
                *common_options)
            dump = os.path.join(own, "dump")
            if results[form] != results["off"]:
                problems.append(f"{form}: outputs differ")
            problems += [f"{form}: {text}" for text in
                           same_dumps(os.path.join(folder, "off", "dump"),
                                      dump)]
            problems += [f"{form}: {text}" for text in
                           check_counts(reports[form], dump)]
        problems += check_bitmaps(reports["bitmap"],
                                    os.path.join(folder, "bitmap", "dump"))
        cycles = {form: reports[form]["total_cycles"] for form in FORMS}
        if cycles["auto"] > cycles["off"]:
            problems.append(f"auto takes {cycles['auto']} cycles, off "
                              f"{cycles['off']}")
        if options.some and not reports["auto"]["maps"]:
            problems.append("no map was compressed")
        show(name, reports, os.path.join(folder, "auto", "dump"), options)
        return [f"{name}: {text}" for text in problems]


def show(name, reports, dump, options):
    chosen = decisions(reports["auto"])
    if options.table:
        moved = {form: sum(reports[form]["totals"][key] for key in
                           ("dram_read", "dram_write")) for form in FORMS}
        cells = [f"{reports[f]['total_cycles']:,} ({moved[f] / 1e6:.2f})"
                 for f in FORMS]
        print(f"| {name}, {options.bytes} | " + " | ".join(cells) + " |")
    for form in FORMS:
        totals = reports[form]["totals"]
        print(f"{name} {form}: {reports[form]['total_cycles']} cycles, DRAM "
              f"{totals['dram_read'] + totals['dram_write']} bytes, busy "
              f"{totals['dram_busy']}")
    for entry, data in dumped_maps(reports["auto"], dump):
        decision = chosen.get(entry["node"], {})
        choice = decision.get("choice", "?")
        print(f"  {entry['node']}: {choice}, {entry['bytes']} of "
              f"{entry['dense_bytes']} bytes "
              f"({entry['bytes'] / entry['dense_bytes']:.3f}), expected "
              f"{decision.get('bytes', {}).get(choice)}; "
              f"{entry['non_zeros'] / data.size:.3f} are not zero, expected "
              f"{decision.get('data_density', 1000) / 1000:.3f} "
              f"({decision.get('data', '?')})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["squeezenet1_1"])
    parser.add_argument("--bytes", type=int, default=8192)
    parser.add_argument("--machine", default="a1")
    parser.add_argument("--inputs")
    parser.add_argument("--some", action="store_true")
    parser.add_argument("--table", action="store_true")
    options, extra = parser.parse_known_args()
    models = [m for m in options.models if not m.startswith("--")]
    problems = [text for name in models or ["squeezenet1_1"]
                  for text in measure(name, options, extra)]
    print("\n".join(problems) or "bits equal, counts right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
