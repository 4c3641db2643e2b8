# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn networks for the scripts, made once and kept in the build folder."""

import functools
import glob
import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
# The large network of the benchmarks.
RESNET50 = "resnet50_v1.5"


@functools.lru_cache(maxsize=None)
def version():
    """A name for what draws the networks: its files change it."""
    sha = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(ROOT, "tools", "python", "ashlar", "models", "draw",
                                              "*.py"))):
        with open(path, "rb") as file:
            sha.update(file.read())
    return sha.hexdigest()[:12]


def model(name, *options):
    """Path of a drawn network; `options` are those of `tools/models draw`."""
    folder = os.path.join(BUILD, "drawn-networks", "-".join([version(), *options]).replace("=", ""))
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "models"), "draw", name,
                               "-o", folder, *options], text=True, capture_output=True)
        if done.returncode:
            raise SystemExit(done.stderr.strip())
    return path
