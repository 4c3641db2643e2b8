# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the sweeps over memories share: models, machines, compiling, running."""

import glob
import json
import os
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS", os.path.join(ROOT, "..", "shared", "models"))
PARTITIONS = {"a1-edge": 32, "a1-tiny": 8, "fig3-4x4": 4}
# Arrays that are no powers of two, and few partitions.
ODD = {
    "odd-3x5": (8, "xm_group: 1\nsb: {{partitions: 8, bytes_per_partition: {0}}}\n"
                   "pe: {{rows: 3, columns: 5, row_group_granularity: 1}}\n"),
    "odd-7x9": (12, "xm_group: 4\nsb: {{partitions: 12, bytes_per_partition: {0}}}\n"
                    "pe: {{rows: 7, columns: 9, row_group_granularity: 1}}\n"),
    "few-16": (16, "xm_group: 8\nsb: {{partitions: 16, bytes_per_partition: {0}}}\n"
                   "pe: {{rows: 16, columns: 16}}\n"),
}


def models(wanted):
    """Files of the shared and light models, or of those named by a part."""
    files = sorted(glob.glob(os.path.join(MODELS, "*.onnx")) +
                   glob.glob(os.path.join(MODELS, "light", "*.onnx")))
    return [file for file in files if not wanted or
            any(part in os.path.basename(file) for part in wanted)]


def write_machine(path, base, size, extra=""):
    """A machine like `base` with `size` bytes of state buffer; None: as it is."""
    with open(path, "w", encoding="utf-8") as stream:
        partitions, text = ODD.get(base, (PARTITIONS.get(base, 128), None))
        held = (size or 1 << 27) // partitions // 64 * 64
        if text:
            stream.write("base: a1\n" + text.format(held))
        else:
            stream.write(f"base: {base}\n")
            if size:
                stream.write(f"sb: {{bytes_per_partition: {held}}}\n")
        stream.write(extra)
    return path


def tool(name, *arguments):
    return subprocess.run([os.path.join(BUILD, "bin", name), *arguments],
                          text=True, capture_output=True)


def compile_model(source, machine, binary, *options):
    """What the compiler says; empty if it made a program."""
    done = tool("ashlarc", source, f"--machine={machine}", "-o", binary, *options)
    if done.returncode not in (0, 5):
        raise SystemExit(f"{source} on {machine}: exit code {done.returncode}\n{done.stderr}")
    return done.stderr.strip() if done.returncode else ""


def run_program(binary, report, *options):
    """The report of a run on drawn inputs."""
    done = tool("ashlar-run", binary, "--random-inputs=1", "--quiet",
                f"--report={report}", *options)
    if done.returncode:
        raise SystemExit(f"{binary}: exit code {done.returncode}\n{done.stderr}")
    with open(report, encoding="utf-8") as stream:
        return json.load(stream)
