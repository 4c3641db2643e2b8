#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""1,000 images in CIFAR's layout with ResNet-20: accuracy of fp32 against bfp8 by
one command, in at most 30 seconds of processor time.

usage: cifar.py MODELS FOLDER

The shared images are written as CIFAR's records; they repeat, so that there are 1,000.
"""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

LIMIT = 30


def write_records(models, folder):
    stored = np.load(os.path.join(models, "data", "cifar10_dev.npz"))
    chosen = np.arange(1000) % len(stored["images"])
    images, labels = stored["images"][chosen], stored["labels"][chosen]
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    os.makedirs(os.path.join(folder, "cifar-10-batches-bin"))
    np.concatenate([labels[:, None].astype(np.uint8), planes], axis=1).tofile(
        os.path.join(folder, "cifar-10-batches-bin", "test_batch.bin"))


def main(models, folder):
    write_records(models, folder)
    start = time.monotonic()
    done = subprocess.run(
        ["ashlar-eval", os.path.join(models, "resnet20_cifar10.onnx"), f"--data={folder}",
         "--recipe=normalised", "--formats=bfp8", f"--json={folder}/e.json"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    with open(os.path.join(folder, "e.json"), encoding="utf-8") as stream:
        found = json.load(stream)
    fp32, bfp8 = found["rows"]
    print(done.stdout, end="")
    print(f"{time.monotonic() - start:.1f} s, {seconds:.1f} s of processor time")
    assert found["samples"] == 1000 and found["layout"] == "cifar"
    # MODELS.md: 93.4 % of the 256 images; of 1,000, some count four times.
    assert abs(fp32["top1"] - 0.934) < 0.005 and bfp8["agreement"] > 0.98, found["rows"]
    assert seconds <= LIMIT, f"more than {LIMIT} s"


if __name__ == "__main__":
    main(*sys.argv[1:])
