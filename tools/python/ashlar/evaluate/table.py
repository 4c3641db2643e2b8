# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of an evaluation: fp32 against formats."""

import csv
import io
from typing import Any

import numpy as np

from ..campaign.store import Plan
from .boxes import as_truth, mean_average_precision
from .metrics import decibels
from .plan import task_of

# Column -> title, digits, factor.
COLUMNS = {
    "top1": ("top-1 %", 2, 100), "top5": ("top-5 %", 2, 100), "map": ("mAP", 4, 1), "map50": ("mAP at 0.5", 4, 1),
    "tokens": ("tokens right %", 2, 100), "token_errors": ("token errors %", 2, 100),
    "agreement": ("agreement %", 2, 100), "map_fp32": ("mAP against fp32", 4, 1),
    "snr_db": ("SNR dB", 1, 1), "snr_least_db": ("least", 1, 1), "cycles": ("cycles", 0, 1),
    "time_us": ("time us", 2, 1), "energy_uj": ("energy uJ", 2, 1), "bits_per_weight": ("bits/weight", 2, 1),
}


class Merged:
    """The figures of all slices, sample by sample."""

    def __init__(self, plan: Plan, results: list[dict]) -> None:
        self.plan, self.results, self.task = plan, results, task_of(plan)
        self.kept = [k for result in results for k in result["kept"]]
        self.bad = [entry for result in results for entry in result["bad"]]

    def list(self, configuration: str, key: str) -> list | None:
        """One figure of all samples in order; None if a slice lacks it."""
        parts = [result["figures"].get(configuration, {}).get(key) for result in self.results if result["kept"]]
        return None if not parts or any(p is None for p in parts) else [v for p in parts for v in p]

    def failure(self, configuration: str) -> dict | None:
        """Why the configuration has no figures."""
        return next((r["failed"][configuration] for r in self.results if configuration in r["failed"]), None)

    def noise(self, configuration: str) -> tuple[float, float] | None:
        """Mean and least ratio over the samples; of several outputs the worst."""
        parts = [r["figures"][configuration]["noise"] for r in self.results if r["kept"]]
        found = []
        for output in parts[0] if parts else ():
            ratios = [decibels(s, n) for part in parts for s, n in zip(*part[output], strict=True)]
            found.append((float(np.mean(ratios)), min(ratios)))
        return (min(f[0] for f in found), min(f[1] for f in found)) if found else None


def make_rows(merged: Merged) -> list[dict[str, Any]]:
    """fp32 first, then every configuration; figures that there are not are absent."""
    rows = [{"name": "fp32", "machine": merged.plan.body["reference"], **_accuracy(merged, "fp32")}]
    for configuration in merged.plan.body["configurations"]:
        name = configuration["name"]
        row: dict[str, Any] = {"name": configuration["format"],
                               "machine": merged.plan.body["machines"][configuration["machine"]]["name"]}
        if failure := merged.failure(name):
            row["failed"] = failure["message"]
            row["exit"] = failure["exit"]
        elif merged.kept:
            row.update(_accuracy(merged, name))
            row.update(_agreement(merged, name))
            row.update(_timing(merged, name))
        rows.append(row)
    return rows


def _share(values: list[bool]) -> float:
    return sum(values) / len(values)


def _accuracy(merged: Merged, name: str) -> dict[str, Any]:
    """Figures against the labels."""
    found: dict[str, Any] = {}
    if (ranks := merged.list(name, "rank")) is not None:
        found["top1"], found["top5"] = _share([r < 1 for r in ranks]), _share([r < 5 for r in ranks])
    if (scores := merged.list(name, "score")) is not None:
        counted = sum(s.get("counted", 0) for s in scores)
        if counted:
            found["tokens"] = sum(s["right"] for s in scores) / counted
        length = sum(s["length"] for s in scores)
        if length:
            found["token_errors"] = sum(s["edits"] for s in scores) / length
    truth, detections = merged.plan.body["samples"]["boxes"], merged.list(name, "found")
    if truth and detections is not None:
        boxes = [truth[k] for k in merged.kept]
        found["map"] = mean_average_precision(detections, boxes)
        found["map50"] = mean_average_precision(detections, boxes, (0.5,))
    return {key: value for key, value in found.items() if value is not None}


def _agreement(merged: Merged, name: str) -> dict[str, Any]:
    """Figures against fp32."""
    found: dict[str, Any] = {}
    for key in ("best", "tokens"):
        wanted, own = merged.list("fp32", key), merged.list(name, key)
        if wanted is None or own is None:
            continue
        if key == "tokens":
            pairs = [(a, b) for w, o in zip(wanted, own, strict=True) for a, b in zip(w, o, strict=True)]
        else:
            pairs = list(zip(wanted, own, strict=True))
        found["agreement"] = _share([a == b for a, b in pairs])
    if (wanted := merged.list("fp32", "found")) is not None and (own := merged.list(name, "found")) is not None:
        value = mean_average_precision(own, [as_truth(entry) for entry in wanted])
        if value is not None:
            found["map_fp32"] = value
    if (ratio := merged.noise(name)) is not None:
        found["snr_db"], found["snr_least_db"] = ratio
    return found


def _timing(merged: Merged, name: str) -> dict[str, Any]:
    """Cycles and energy of one run of the program, on the first sample."""
    timing: dict[str, Any] = next((r["timing"][name] for r in merged.results if name in r["timing"]), {})
    found = {key: timing[key] for key in ("cycles", "bits_per_weight", "instructions", "dram_bytes") if key in timing}
    if "cycles" in timing:
        found["time_us"] = timing["cycles"] / timing["clock_hz"] * 1e6
    if "energy_pj" in timing:
        found["energy_uj"] = timing["energy_pj"] / 1e6
    return found


def as_text(merged: Merged, rows: list[dict]) -> str:
    """The table for a terminal."""
    names = [name for name in COLUMNS if any(name in row for row in rows)]
    lines = [["", "machine", *(COLUMNS[name][0] for name in names)]]
    for row in rows:
        lines.append([row["name"], row["machine"], *(_cell(name, row.get(name)) for name in names)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ""
    for line in lines:
        text += "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                          for i, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip() + "\n"
    body = merged.plan.body
    text += f"{len(merged.kept)} samples evaluated"
    if body["samples"]["labels"] is None and not body["samples"]["boxes"]:
        text += ", without labels: no accuracy, only agreement with fp32"
    if body["calibration"]:
        text += f", {len(body['calibration'])} others calibrate"
    text += "; cycles, time and energy of a run"
    batch = body["signature"]["inputs"][0]["shape"][:1]
    text += f" of {batch[0]} samples\n" if batch and batch[0] > 1 else " of one sample\n"
    for row in rows:
        if "failed" in row:
            text += f"{row['name']} on {row['machine']} failed: {row['failed']}\n"
    if merged.bad:
        text += f"{len(merged.bad)} of {len(merged.bad) + len(merged.kept)} samples could not be used:\n"
        for index, reason in merged.bad[:10]:
            text += f"  {body['samples']['names'][index]}: {reason}\n"
        if len(merged.bad) > 10:
            text += f"  and {len(merged.bad) - 10} more\n"
    return text


def _cell(name: str, value: Any) -> str:
    _, digits, factor = COLUMNS[name]
    return "-" if value is None else f"{value * factor:,.{digits}f}"


def as_json(merged: Merged, rows: list[dict]) -> dict[str, Any]:
    """Everything as one value."""
    body = merged.plan.body
    return {"schema_version": 1, "kind": "evaluation", "model": body["name"], "model_digest": body["model_digest"],
            "layout": body["data"]["layout"], "reference": body["reference"], "task": merged.task["kind"],
            "recipe": body["recipe"], "samples": len(merged.kept), "calibration": len(body["calibration"]),
            "bad": [{"name": body["samples"]["names"][k], "reason": why} for k, why in merged.bad], "rows": rows}


def as_csv(rows: list[dict]) -> bytes:
    """The table as CSV; shares are 0 to 1, empty cells unknown."""
    names = ["name", "machine", *COLUMNS, "failed"]
    return _csv([names, *([row.get(name, "") for name in names] for row in rows)])


def samples_csv(merged: Merged) -> bytes:
    """One line per sample and configuration: label, class or figures, noise."""
    labels = merged.plan.body["samples"]["labels"]
    lines: list[list] = [["sample", "label", "format", "machine", "best", "rank", "snr_db"]]
    columns = [("fp32", "fp32", merged.plan.body["reference"])] + [
        (c["name"], c["format"], merged.plan.body["machines"][c["machine"]]["name"])
        for c in merged.plan.body["configurations"] if not merged.failure(c["name"])]
    for name, shown, machine in columns:
        best, rank = merged.list(name, "best"), merged.list(name, "rank")
        ratios = _ratios(merged, name)
        for k, index in enumerate(merged.kept):
            label = labels[index] if labels else ""
            lines.append([merged.plan.body["samples"]["names"][index],
                          " ".join(map(str, label)) if isinstance(label, list) else label, shown, machine,
                          best[k] if best else "", rank[k] if rank else "", ratios[k] if ratios else ""])
    return _csv(lines)


def _ratios(merged: Merged, name: str) -> list[float] | None:
    """Of every sample the ratio of its worst output."""
    if name == "fp32":
        return None
    found = []
    for result in merged.results:
        if result["kept"]:
            parts = result["figures"][name]["noise"].values()
            ratios = [[decibels(s, n) for s, n in zip(*part, strict=True)] for part in parts]
            found += [min(values) for values in zip(*ratios, strict=True)]
    return found or None


def _csv(lines: list[list]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue().encode()
