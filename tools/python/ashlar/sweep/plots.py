# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of a sweep: two figures against each other, with the Pareto front."""

import contextlib
import importlib
import importlib.util
import io
import threading
from typing import Any

from ..campaign.errors import malformed
from ..campaign.spelling import did_you_mean
from .table import pareto

TITLES = {"cycles": "cycles", "area_mm2": "area in mm2", "energy_uj": "energy in uJ", "time_us": "time in us",
          "total_uj": "energy with leakage in uJ", "dram_bytes": "bytes of DRAM",
          "bits_per_weight": "bits per weight", "macs_per_cycle": "multiply-accumulates per cycle",
          "pe_utilisation": "utilisation of the array"}


def available() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def warm_up() -> None:
    """Loads matplotlib while tools compute; it takes as long as several points."""

    def load() -> None:
        with contextlib.suppress(Exception):  # draw() says what is wrong
            importlib.import_module("matplotlib.backends.backend_svg")

    threading.Thread(target=load, daemon=True).start()


def check_plots(plots: list[dict[str, str]], columns: list[str]) -> None:
    """Refuses plots of columns that a table does not have."""
    for plot in plots:
        for name in plot.values():
            if name not in columns:
                raise malformed(f"plots: no column '{name}'{did_you_mean(name, columns)}")


def draw(plot: dict[str, str], rows: list[dict[str, Any]]) -> bytes:
    """An SVG, the same bytes for the same rows: one panel per model."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "ashlar", "svg.fonttype": "none", "font.size": 8})
    x, y = plot["x"], plot["y"]
    complete = [row for row in rows if isinstance(row[x], (int, float)) and isinstance(row[y], (int, float))]
    models = list(dict.fromkeys(row["model"] for row in complete)) or ["no point has both figures"]
    width = 4.2 * len(models)
    figure = Figure(figsize=(width, 3.6))
    # Room for titles in inches: matplotlib's own search for it takes longer than
    # the drawing.
    figure.subplots_adjust(left=0.75 / width, right=1 - 0.15 / width, bottom=0.14, top=0.92, wspace=0.26)
    for number, model in enumerate(models):
        panel = figure.add_subplot(1, len(models), number + 1)
        panel.set_title(model)
        if complete:
            _panel(panel, [row for row in complete if row["model"] == model], x, y)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "ashlar-sweep"})
    return out.getvalue()


def _panel(panel: Any, rows: list[dict], x: str, y: str) -> None:
    front = pareto((row[x], row[y]) for row in rows)
    for row, first in zip(rows, front, strict=True):
        panel.plot(row[x], row[y], "o", markersize=5, color="#1f77b4" if first else "#b0b0b0")
    best = sorted((row[x], row[y], row["machine"]) for row, first in zip(rows, front, strict=True) if first)
    panel.step([b[0] for b in best], [b[1] for b in best], where="post", color="#1f77b4", linewidth=0.8)
    middle = (min(row[x] for row in rows) + max(row[x] for row in rows)) / 2
    for a, b, name in {name: (a, b, name) for a, b, name in best}.values():
        # Towards the middle, where there is room.
        right = a > middle
        panel.annotate(name, (a, b), xytext=(-4 if right else 4, 4), textcoords="offset points", fontsize=6,
                       ha="right" if right else "left")
    panel.set_xlabel(TITLES.get(x, x))
    panel.set_ylabel(TITLES.get(y, y))
    panel.margins(0.12)
    panel.set_ylim(bottom=0)
    panel.grid(True, linewidth=0.3)
