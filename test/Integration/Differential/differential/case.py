# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case: a network compiled and run in several ways, and all that is wrong with it."""

import collections
import dataclasses
import filecmp
import json
import math
import os
import re
import shutil
import tempfile

import numpy as np
import onnx

from . import grammar, judge, machines, options, tools

ALLOWED = (0, 2, 3, 5, 6)


@dataclasses.dataclass
class Finding:
    """Something wrong, and the ways (by number) in which it shows."""
    kind: str
    text: str
    command: str
    ways: list

    @property
    def key(self):
        """Equal for findings that look alike."""
        text = "" if self.kind in ("values", "bits") else tools.general(self.text)
        return f"{self.kind}: {text}"


@dataclasses.dataclass
class Way:
    """One way to compile and run a network. Paths are relative to the case's folder."""
    arguments: list  # they decide the numbers
    step: float  # of the formats; None if nothing is promised
    machine: str
    kind: str
    engines: list
    running: list
    extra: str = ""  # "twice": compiled again by other threads; "verify": --verify too

    def compile(self, k):
        return ["ashlarc", "model.onnx", "-o", f"p{k}.ash", f"--machine={self.machine}",
                *self.arguments, *self.engines]

    def run(self, k):
        return ["ashlar-run", f"p{k}.ash", "--inputs=in.npz", f"--outputs=out{k}.npz", "--quiet",
                *self.running]

    def text(self, k):
        return f"{' '.join(self.compile(k))} && {' '.join(self.run(k))}"


@dataclasses.dataclass
class Result:
    case: int
    ways: list
    findings: list = dataclasses.field(default_factory=list)
    refusals: list = dataclasses.field(default_factory=list)  # (machine, exit code, reason)
    compiled: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    told: list = dataclasses.field(default_factory=list)  # refusals in full
    unjudged: list = dataclasses.field(default_factory=list)
    judged: int = 0
    bits: int = 0


class Runner:
    """Runs cases in a folder, with one oracle for all of them."""

    def __init__(self, only=None, with_plan=True):
        self.only, self.with_plan = only, with_plan
        self.folder = tempfile.mkdtemp(prefix="differential-")
        self.oracle = judge.oracle(self.folder)

    def close(self):
        self.oracle.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def clean(self):
        for name in os.listdir(self.folder):
            path = self.path(name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    # Drawing.

    def ways(self, rng, model, work):
        """The first is a1, so that capacity is measured there; the numbers are shared."""
        weights = max((math.prod(c.dims) for c in model.graph.initializer), default=1)
        arguments, step = options.numbers(rng, "in.npz")
        found = []
        for k in range(3):
            if self.only == "wide-convs":
                machine = kind = machines.WIDE[k]
            elif k == 0 and self.only not in machines.SMALL:
                machine = kind = "a1"
            else:
                machine, kind = machines.draw(rng, self.folder, f"machine{k}.yaml", weights, work,
                                              self.only)
            share = 0 if k == 0 and rng.random() < 0.6 else None
            engines = options.engines(rng, "in.npz", arguments, share)
            extra = options.extra(rng, arguments)
            found.append(Way(arguments, step, machine, kind, engines, options.running(rng), extra))
        return found

    def run(self, seed, case):
        """Draws the case anew and judges it."""
        self.clean()
        drawn = grammar.draw(seed, case, self.only)
        ways = self.ways(np.random.default_rng([seed, case, 1]), drawn.model, drawn.work)
        result = Result(case, ways)
        self.judge(drawn.model, drawn.inputs, result)
        return result

    # Judging.

    def judge(self, model, inputs, result):
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        np.savez(self.path("in.npz"), **inputs)
        try:
            expected = judge.Expected(self.oracle, model, inputs)
        except judge.ort.Refused as error:
            expected = None
            result.unjudged.append(f"no reference: {tools.general(str(error))}")
        plans = {}
        for k, way in enumerate(result.ways):
            outputs = self.execute(k, way, result)
            if outputs is None:
                continue
            digest = tools.digest(self.path(f"plan{k}"))
            if digest in plans:
                self.compare_bits(plans[digest], (k, way, outputs), result)
                continue
            plans[digest] = (k, way, outputs)
            self.compare_plan(k, way, outputs, inputs, result)
            if expected and way.step is not None:
                self.compare_values(k, way, outputs, expected, result)

    def execute(self, k, way, result):
        """The outputs of one way, or None."""
        code, said = tools.run([*way.compile(k), f"--dump-plan=plan{k}"], self.folder)
        result.compiled[way.kind] += 1
        if code and (code not in ALLOWED or not said):
            command = " ".join(way.compile(k))
            result.findings.append(Finding(f"ashlarc exit {code}", said, command, [k]))
        elif code:
            result.refusals.append((way.kind, code, tools.general(said)))
            result.told.append(f"exit {code}: {said}\n  {' '.join(way.compile(k))}")
        if code:
            return None
        self.more(k, way, result)
        code, said = tools.run(way.run(k), self.folder)
        if code:
            result.findings.append(Finding(f"ashlar-run exit {code}", said, way.text(k), [k]))
            return None
        with np.load(self.path(f"out{k}.npz")) as stored:
            return {name: stored[name] for name in stored}

    def more(self, k, way, result):
        """The same bytes from other threads; no layer beyond its bound."""
        if way.extra == "twice":
            command = [a.replace(f"p{k}.ash", "again.ash") for a in way.compile(k)]
            code, said = tools.run([*command, "--threads=3"], self.folder)
            if code or not filecmp.cmp(self.path(f"p{k}.ash"), self.path("again.ash"), False):
                text = said or "other bytes with --threads=3"
                result.findings.append(Finding("threads", text, " ".join(way.compile(k)), [k]))
        elif way.extra == "verify":
            command = [a for a in way.compile(k) if a not in ("-o", f"p{k}.ash")]
            command += ["--verify", "--inputs=in.npz"]
            code, said = tools.run(command, self.folder)
            if code:
                finding = Finding(f"verify exit {code}", said, " ".join(command), [k])
                result.findings.append(finding)

    def compare_bits(self, first, second, result):
        (i, before, wanted), (k, way, got) = first, second
        wrong = judge.other_bits(got, wanted)
        result.bits += 1
        if wrong:
            text = f"the second way differs from the first, plans are equal: {wrong}"
            command = f"{before.text(i)}; {way.text(k)}"
            result.findings.append(Finding("bits", text, command, [i, k]))

    def compare_plan(self, k, way, outputs, inputs, result):
        if not self.with_plan:
            return
        try:
            wrong = judge.other_bits(outputs, judge.planned(self.path(f"plan{k}"), inputs))
        except SystemExit as error:
            result.findings.append(Finding("plan", str(error), way.text(k), [k]))
            return
        if wrong:
            text = f"other bits than its numeric plan: {wrong}"
            result.findings.append(Finding("bits", text, way.text(k), [k]))

    def compare_values(self, k, way, outputs, expected, result):
        for name, got in outputs.items():
            try:
                problem = expected.problem(name, got, way.step,
                                           options.covers_ranges(way.arguments))
            except (ValueError, judge.ort.Refused) as error:
                result.unjudged.append(tools.general(str(error)))
                continue
            result.judged += 1
            if problem:
                result.findings.append(Finding("values", problem, way.text(k), [k]))

    # Keeping.

    def keep(self, folder, result):
        """Copies what the case needs, what is wrong with it, and what `again` reads."""
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(self.folder):
            if re.fullmatch(r"model\.onnx|in\.npz|machine\d\.yaml", name):
                shutil.copy(self.path(name), folder)
        with open(os.path.join(folder, "findings.txt"), "w", encoding="utf-8") as file:
            for finding in result.findings:
                file.write(f"{finding.kind}: {finding.text}\n  {finding.command}\n")

        finding = result.findings[0]
        kept = {"key": finding.key,
                "ways": [dataclasses.asdict(result.ways[k]) for k in finding.ways]}
        with open(os.path.join(folder, "again.json"), "w", encoding="utf-8") as file:
            json.dump(kept, file)

    def again(self, folder, model=None, inputs=None):
        """(result, whether the first finding is there again) of a kept case, or of a part
        of its model."""
        self.clean()
        with open(os.path.join(folder, "again.json"), encoding="utf-8") as file:
            kept = json.load(file)
        for name in os.listdir(folder):
            if name.endswith(".yaml"):
                shutil.copy(os.path.join(folder, name), self.folder)
        loaded = onnx.load(model or os.path.join(folder, "model.onnx"))
        with np.load(inputs or os.path.join(folder, "in.npz")) as stored:
            arrays = {name: stored[name] for name in stored}
        result = Result(0, [Way(**way) for way in kept["ways"]])
        self.judge(loaded, arrays, result)
        return result, kept["key"] in {f.key for f in result.findings}
