# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What measures figures: tools of the build, shared models, scripts that print."""

import dataclasses
import functools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import typing

import drawn
import ort

ROOT = ort.ROOT
BUILD = os.environ.get("ASHLAR_BUILD", os.path.join(ROOT, "build"))
MODELS = os.environ.get("ASHLAR_MODELS", os.path.join(ROOT, "..", "shared", "models"))


class Failure(Exception):
    """A measurement that did not work."""


@dataclasses.dataclass
class Row:
    """A row of a table: its key and what gives its cells. It may need "models",
    "onnxruntime" or files of the build."""
    key: str
    measure: typing.Callable
    long: bool = False
    needs: tuple = ()


@dataclasses.dataclass
class Table:
    """Figures that a page shows as a table. `head` has the titles of the columns;
    rows whose cells are unknown are omitted."""
    name: str
    head: list
    rows: list
    compared: bool = True

    def render(self, data):
        lines = ["| " + " | ".join(self.head) + " |", "|" + "---|" * len(self.head)]
        lines += ["| " + " | ".join(data[row.key]) + " |" for row in self.rows if row.key in data]
        return "\n".join(lines) + "\n"


@dataclasses.dataclass
class Console(Table):
    """What a command prints."""

    def render(self, data):
        lines = [line for row in self.rows for line in data.get(row.key, [])]
        return "```console\n" + "\n".join(lines) + "\n```\n"


@dataclasses.dataclass
class Sentences(Table):
    """Figures inside sentences: one text per row, with {0}, {1}, ... for its cells."""
    texts: dict = dataclasses.field(default_factory=dict)

    def render(self, data):
        return "\n".join(self.texts[row.key].format(*data[row.key])
                         for row in self.rows if row.key in data) + "\n"


def missing(needs):
    """What a measurement needs and is not there, or ''."""
    lacking = []
    if "models" in needs and not os.path.isdir(os.path.join(MODELS, "data")):
        lacking.append("the trained models (ASHLAR_MODELS)")
    if "onnxruntime" in needs and not ort.available():
        lacking.append("onnxruntime-node (ASHLAR_ORT)")
    lacking += [f"{need} of the build" for need in needs
                if "/" in need and not os.path.exists(os.path.join(BUILD, need))]
    return " and ".join(lacking)


def run(*command):
    """What a command prints."""
    environment = dict(os.environ, ASHLAR_BUILD=BUILD, ASHLAR_MODELS=MODELS)
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          env=environment)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(f"{os.path.basename(str(command[0]))} ended with exit code "
                      f"{done.returncode}: {said[-1] if said else 'nothing said'}")
    return done.stdout


def tool(name, *arguments):
    return run(os.path.join(BUILD, "bin", name), *arguments)


@functools.lru_cache(maxsize=None)
def script(path, *arguments):
    """What a script of the project prints; the same call runs once."""
    return run(sys.executable, os.path.join(ROOT, path), *arguments)


def find(pattern, text):
    """The groups of the first match."""
    match = re.search(pattern, text)
    if not match:
        raise Failure(f"nothing like '{pattern}' was printed")
    return match.groups()


def grouped(value):
    return f"{int(value):,}"


def percent(share):
    return f"{100 * share:.1f} %"


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def shared(name):
    return os.path.join(MODELS, name + ".onnx")


@functools.lru_cache(maxsize=None)
def reports(model, *options):
    """(report of ashlarc, report of ashlar-run) of a model on a random input."""
    with tempfile.TemporaryDirectory() as folder:
        program, compiled, ran = (os.path.join(folder, n) for n in ("m.ash", "c.json", "r.json"))
        tool("ashlarc", model, "-o", program, f"--report={compiled}", *options)
        tool("ashlar-run", program, "--random-inputs=1", f"--report={ran}", "--quiet")
        return load(compiled), load(ran)


@functools.lru_cache(maxsize=None)
def parameters(machine):
    """The description that `--dump-machine` prints, as {"section.key": value}."""
    result, section = {}, ""
    for line in tool("ashlarc", f"--dump-machine={machine}").splitlines():
        key, _, value = line.split("#")[0].rstrip().partition(":")
        if not value.strip():
            section = key + "."
            continue
        name = section + key.strip() if line.startswith(" ") else key
        value = value.strip().strip("'")
        result[name] = int(value) if value.isdigit() else value
    return result


def cycles(model, *options):
    return reports(model, *options)[1]["total_cycles"]


def host():
    """The host in words: processor, cores, system."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = find(r"model name\s*:\s*(.+)", file.read())[0].strip()
    except (OSError, Failure):
        pass
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
