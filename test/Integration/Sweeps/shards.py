#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep on 1, 3 and 7 shards, and one that is killed again and again: equal bytes.

usage: shards.py MODEL.onnx FOLDER [--kills=N]
"""

import argparse
import filecmp
import os
import random
import re
import signal
import subprocess
import sys
import time

SWEEP = """models:
  - {model}
machines:
  - {{base: a1, grid: {{pe.rows: [32, 64, 128], dram.bytes_per_cycle: [16, 0]}}}}
  - {{base: a1-edge, list: [{{sb.banks: 2}}, {{sb.banks: 8}}]}}
options:
  grid: {{format: [bfp8, bfp6]}}
"""


def run(*arguments, code=0, environment=None):
    done = subprocess.run(["ashlar-sweep", *arguments], text=True, capture_output=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != code:
        sys.exit(f"ashlar-sweep {arguments}: exit code {done.returncode}, expected {code}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def merge(name, *results, code=0):
    return run("merge", "plan.json", *results, "-o", f"merged-{name}", code=code)


def same(name):
    names = sorted(os.listdir("merged-whole"))
    if names != sorted(os.listdir(f"merged-{name}")):
        sys.exit(f"{name}: other files than {names}")
    differ = filecmp.cmpfiles("merged-whole", f"merged-{name}", names, shallow=False)[1:]
    if any(differ):
        sys.exit(f"{name}: {differ} differ")
    print(f"{name}: equal bytes of {len(names)} files")


def shards():
    for count in (3, 7):
        order = random.Random(count).sample(range(count), count)
        for k in order:
            run("run", "plan.json", "-o", f"{count}", f"--shard={k}/{count}")
        merge(f"{count}-shards", f"{count}")
        same(f"{count}-shards")
    # Folders of their own, numbered by Open MPI's variables.
    for k in range(3):
        run("run", "plan.json", "-o", f"mpi{k}", environment={
            "OMPI_COMM_WORLD_RANK": str(k), "OMPI_COMM_WORLD_SIZE": "3"})
    merge("mpi", "mpi0", "mpi1", "mpi2")
    same("mpi")
    assert "missing" in merge("part", "mpi0", code=4)
    assert "duplicate" in merge("twice", "mpi0", "mpi1", "mpi2", "3", code=4)
    assert not os.path.exists("merged-part") and not os.path.exists("merged-twice")


def points(folder):
    """The results in a folder. Where a file system has no files without a name, a
    killed process also leaves one whose name begins with a dot: that is no result."""
    folder = os.path.join(folder, "points")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(".json")]


def killed(kills):
    """Kills a shard at random moments until it ends on its own."""
    draw = random.Random(1)
    for number in range(kills):
        process = subprocess.Popen(["ashlar-sweep", "run", "plan.json", "-o", "killed"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.2, 1.2))
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        process.wait()
    there = len(points("killed"))
    said = run("run", "plan.json", "-o", "killed")
    # What a killed shard has started may have written another one since.
    found = re.search(r"(\d+) were there", said)
    if not found or int(found[1]) < there:
        sys.exit(f"{there} points were there, but: {said}")
    with open("killed/points/.left.partial", "w", encoding="utf-8"):
        pass  # in every run, not only where a kill came at that moment
    merge("killed", "killed")
    same("killed")
    # A result that the disk damaged is computed again.
    path = points("killed")[0]
    with open(path, "r+b") as stream:
        stream.truncate(20)
    assert "damaged" in merge("damaged", "killed", code=4)
    assert " 1 computed" in run("run", "plan.json", "-o", "killed")
    merge("mended", "killed")
    same("mended")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    model = os.path.abspath(options.model)
    os.chdir(options.folder)
    with open("s.yaml", "w", encoding="utf-8") as out:
        out.write(SWEEP.format(model=model))
    run("plan", "s.yaml", "-o", "plan.json")
    run("run", "plan.json", "-o", "whole")
    merge("whole", "whole")
    shards()
    killed(options.kills)


if __name__ == "__main__":
    main()
