# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs models in ONNX Runtime through Node.js (tools/scripts/ort_run.js).

ASHLAR_ORT names the folder where `npm install onnxruntime-node` ran;
tools/test sets it to build/ort.
"""

import json
import os
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TYPES = {"float32": np.float32, "float64": np.float64, "int8": np.int8,
         "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16,
         "int32": np.int32, "uint32": np.uint32, "int64": np.int64,
         "uint64": np.uint64, "bool": np.bool_, "float16": np.float16}


def folder():
    return os.environ.get("ASHLAR_ORT", os.path.join(ROOT, "build", "ort"))


def available():
    return os.path.exists(os.path.join(
        folder(), "node_modules", "onnxruntime-node", "package.json"))


def _job(directory, samples):
    job = []
    for k, sample in enumerate(samples):
        entries = {}
        for i, (name, array) in enumerate(sample.items()):
            file = f"in{k}_{i}.raw"
            np.ascontiguousarray(array).tofile(os.path.join(directory, file))
            entries[name] = {"file": file, "type": array.dtype.name,
                             "dims": list(array.shape)}
        job.append({"inputs": entries, "outputs": f"out{k}_"})
    with open(os.path.join(directory, "job.json"), "w", encoding="utf-8") as out:
        json.dump(job, out)


def run(model, samples, threads=2, repeat=0):
    """[{input: array}] -> ([{output: array}], milliseconds of each repeat)."""
    with tempfile.TemporaryDirectory() as directory:
        _job(directory, samples)
        environment = dict(os.environ,
                           NODE_PATH=os.path.join(folder(), "node_modules"))
        subprocess.run(
            ["node", os.path.join(HERE, "ort_run.js"), model, directory,
             f"--threads={threads}", f"--repeat={repeat}"],
            check=True, env=environment)
        with open(os.path.join(directory, "result.json"), encoding="utf-8") as stream:
            result = json.load(stream)
        return _outputs(directory, result), result["repeat"]


def _outputs(directory, result):
    return [{o["name"]: np.fromfile(os.path.join(directory, o["file"]),
                                    TYPES[o["type"]]).reshape(o["dims"])
             for o in sample["outputs"]} for sample in result["samples"]]


class Refused(Exception):
    """What ONNX Runtime said about a model that it does not run."""


class Server:
    """One process for many models, their graphs as they are unless asked."""

    def __init__(self, threads=1):
        self.threads, self.process = threads, None

    def start(self):
        environment = dict(os.environ,
                           NODE_PATH=os.path.join(folder(), "node_modules"))
        self.process = subprocess.Popen(
            ["node", os.path.join(HERE, "ort_run.js"), "--serve",
             f"--threads={self.threads}"], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)

    def run(self, model, samples, optimisation="disabled"):
        """[{input: array}] -> [{output: array}]"""
        if not self.process or self.process.poll() is not None:
            self.start()
        with tempfile.TemporaryDirectory() as directory:
            _job(directory, samples)
            request = {"model": os.path.abspath(model), "folder": directory,
                       "optimisation": optimisation}
            try:
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if not answer:
                raise Refused("ONNX Runtime ended by itself")
            result = json.loads(answer)
            if "error" in result:
                raise Refused(result["error"])
            return _outputs(directory, result)

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
