# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of a sweep: two figures against each other, with the Pareto front."""

import importlib.util
import io
from typing import Any

from ..campaign.errors import malformed
from ..campaign.settings import nearest
from .table import pareto

TITLES = {"cycles": "cycles", "area_mm2": "area in mm2", "energy_uj": "energy in uJ", "time_us": "time in us",
          "total_uj": "energy with leakage in uJ", "dram_bytes": "bytes of DRAM",
          "bits_per_weight": "bits per weight", "macs_per_cycle": "multiply-accumulates per cycle",
          "pe_utilisation": "utilisation of the array"}


def available() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def check_plots(plots: list[dict[str, str]], columns: list[str]) -> None:
    """Refuses plots of columns that a table does not have."""
    for plot in plots:
        for name in plot.values():
            if name not in columns:
                raise malformed(f"plots: no column '{name}'{nearest(name, columns)}")


def draw(plot: dict[str, str], rows: list[dict[str, Any]]) -> bytes:
    """An SVG, the same bytes for the same rows: one panel per model."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "ashlar", "svg.fonttype": "none", "font.size": 8})
    x, y = plot["x"], plot["y"]
    complete = [row for row in rows if isinstance(row[x], (int, float)) and isinstance(row[y], (int, float))]
    models = list(dict.fromkeys(row["model"] for row in complete)) or ["no point has both figures"]
    figure = Figure(figsize=(4.2 * len(models), 3.6), layout="constrained")
    for number, model in enumerate(models):
        panel = figure.add_subplot(1, len(models), number + 1)
        _panel(panel, [row for row in complete if row["model"] == model], x, y)
        panel.set_title(model)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "ashlar-sweep"})
    return out.getvalue()


def _panel(panel: Any, rows: list[dict], x: str, y: str) -> None:
    front = pareto((row[x], row[y]) for row in rows)
    for row, best in zip(rows, front, strict=True):
        panel.plot(row[x], row[y], "o", markersize=5, color="#1f77b4" if best else "#b0b0b0")
    best = sorted((row[x], row[y], row["machine"]) for row, b in zip(rows, front, strict=True) if b)
    panel.step([b[0] for b in best], [b[1] for b in best], where="post", color="#1f77b4", linewidth=0.8)
    seen = set()
    for a, b, name in best:
        if name not in seen:
            panel.annotate(name, (a, b), xytext=(4, 4), textcoords="offset points", fontsize=6)
            seen.add(name)
    panel.set_xlabel(TITLES.get(x, x))
    panel.set_ylabel(TITLES.get(y, y))
    panel.set_ylim(bottom=0)
    panel.grid(True, linewidth=0.3)
