# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of a sweep: rows, Pareto fronts, and how they are written."""

import csv
import io
from collections.abc import Iterable
from typing import Any

from ..campaign.store import Plan

# Column -> figure of the result, factor, digits of the text table.
FIGURES: dict[str, tuple[str, float, int]] = {
    "cycles": ("cycles", 1, 0),
    "macs_per_cycle": ("macs_per_cycle", 1, 1),
    "pe_utilisation": ("pe_utilisation", 1, 3),
    "dram_bytes": ("dram_bytes", 1, 0),
    "energy_uj": ("energy_pj", 1e-6, 2),
    "total_uj": ("total_pj", 1e-6, 2),
    "area_mm2": ("area_um2", 1e-6, 3),
    "bits_per_weight": ("bits_per_weight", 1, 2),
}
FRONTS = {"pareto_area": ("cycles", "area_mm2"), "pareto_energy": ("cycles", "energy_uj")}


def pareto(places: Iterable[tuple[float, float]]) -> list[bool]:
    """Which points no other point beats: less in one, and not more in the other."""
    points = list(places)
    order = sorted(range(len(points)), key=lambda i: points[i])
    front, best = [False] * len(points), float("inf")
    start = 0
    while start < len(order):
        end = start
        first = points[order[start]][0]
        while end < len(order) and points[order[end]][0] == first:
            end += 1
        least = points[order[start]][1]
        if least < best:
            for i in order[start:end]:
                front[i] = points[i][1] == least
            best = least
        start = end
    return front


def make_rows(plan: Plan, results: list[dict]) -> list[dict[str, Any]]:
    """One mapping per row of the plan, in its order, all with the same keys."""
    parameters = _union(row["parameters"] for row in plan.body["rows"])
    options = _union(row["options"] for row in plan.body["rows"])
    rows = []
    for entry in plan.body["rows"]:
        result = results[entry["point"]]
        row: dict[str, Any] = {"model": entry["model"], "machine": entry["machine"]}
        row.update({key: entry["options"].get(key) for key in options})
        row.update({key: entry["parameters"].get(key) for key in parameters})
        row["status"] = result["status"]
        for column, (key, factor, _) in FIGURES.items():
            value = result.get(key)
            row[column] = value * factor if value is not None and factor != 1 else value
        cycles, clock = result.get("cycles"), result.get("clock_hz")
        row["time_us"] = cycles / clock * 1e6 if cycles is not None else None
        row["message"] = result.get("message")
        rows.append(row)
    _mark_fronts(rows)
    return rows


def row_names(plan: Plan) -> list[str]:
    """What each row is besides its model: its machine, and the options that vary."""
    return [", ".join([row["machine"], *(f"{key}={value}" for key, value in row["options"].items())])
            for row in plan.body["rows"]]


def columns(rows: list[dict]) -> list[str]:
    """The columns that a plan's table will have, before anything is computed."""
    varied = _union([*(row["options"] for row in rows), *(row["parameters"] for row in rows)])
    return ["model", "machine", *varied, *FIGURES, "time_us"]


def _union(mappings: Iterable[dict]) -> list[str]:
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _mark_fronts(rows: list[dict]) -> None:
    """Fronts are those of one model: cycles of two models do not compare."""
    for column, (x, y) in FRONTS.items():
        for row in rows:
            row[column] = None
        for model in {row["model"] for row in rows}:
            complete = [row for row in rows if row["model"] == model
                        and row[x] is not None and row[y] is not None]
            for row, best in zip(complete, pareto((r[x], r[y]) for r in complete), strict=True):
                row[column] = best


def as_csv(rows: list[dict]) -> bytes:
    """The table as CSV; empty cells are unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(["" if value is None else str(value).lower() if isinstance(value, bool) else value
                         for value in row.values()])
    return out.getvalue().encode()


def as_text(rows: list[dict], notes: int) -> str:
    """The table for a terminal; `*` marks points of the front of cycles and area."""
    hidden = {"status", "message", "time_us", "macs_per_cycle", "total_uj", *FRONTS}
    names = [name for name in rows[0] if name not in hidden
             and any(row[name] is not None for row in rows) and "." not in name]
    lines = [["front", *names]]
    for row in rows:
        if row["status"] == "ok":
            mark = "".join(letter for letter, column in (("a", "pareto_area"), ("e", "pareto_energy"))
                           if row[column])
            lines.append([mark, *(_cell(name, row[name]) for name in names)])
    text = "\n".join(_aligned(lines)) + "\n"
    text += "front: no other machine or option takes both fewer cycles and less area (a), less energy (e)\n"
    bad = [row for row in rows if row["status"] != "ok"]
    if bad:
        text += f"{len(bad)} of {len(rows)} points failed:\n"
        for row in bad:
            names = list(row)[2:list(row).index("status")]
            where = " ".join([f"{row['model']} on {row['machine']}",
                              *(f"{k}={row[k]}" for k in names if row[k] is not None and "." not in k)])
            text += f"  {where}: {row['message']}\n"
    if notes:
        text += f"{notes} combinations excluded by the constraints\n"
    return text


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in FIGURES and not isinstance(value, str):
        return f"{value:,.{FIGURES[name][2]}f}"
    return str(value)


def _aligned(lines: list[list[str]]) -> list[str]:
    """Text to the left, figures to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    right = [name in FIGURES for name in lines[0]]
    return ["  ".join(cell.rjust(width) if r else cell.ljust(width)
                      for cell, width, r in zip(line, widths, right, strict=True)).rstrip()
            for line in lines]
