# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of a sweep: two figures against each other, with the Pareto front."""

import contextlib
import importlib
import importlib.util
import io
import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..campaign.errors import malformed
from ..campaign.spelling import did_you_mean
from .table import pareto

TITLES = {"cycles": "cycles", "area_mm2": "area in mm2", "energy_uj": "energy in uJ", "time_us": "time in us",
          "total_uj": "energy with leakage in uJ", "dram_bytes": "bytes of DRAM",
          "bits_per_weight": "bits per weight", "macs_per_cycle": "multiply-accumulates per cycle",
          "pe_utilisation": "utilisation of the array"}


# Inches: a panel, a line of the key, and a character of it.
PANEL, LINE, CHARACTER = (3.5, 2.9), 0.15, 0.062
ACROSS = 3


class Place(NamedTuple):
    """A point of a plot."""

    x: float
    y: float
    name: str


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


def draw(plot: dict[str, str], rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    """An SVG, the same bytes for the same rows: one panel per model.

    `names` say what each row is besides its model. Points of a front have
    numbers, which a key below the panels explains: names of machines are too long
    to stand next to points.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "ashlar", "svg.fonttype": "none", "font.size": 8})
    x, y = plot["x"], plot["y"]
    panels: dict[str, list[Place]] = {}
    for row, name in zip(rows, names, strict=True):
        if isinstance(row[x], (int, float)) and isinstance(row[y], (int, float)):
            panels.setdefault(row["model"], []).append(Place(row[x], row[y], name))
    key = _key(panels)
    across = min(ACROSS, max(1, len(panels)))
    down = max(1, math.ceil(len(panels) / across))
    lines = _lines(key, across * PANEL[0])
    width, below = across * PANEL[0], 0.2 + LINE * len(lines)
    height = down * PANEL[1] + below
    figure = Figure(figsize=(width, height))
    # Room for titles in inches: matplotlib's own search for it takes longer than
    # the drawing.
    figure.subplots_adjust(left=0.7 / width, right=1 - 0.12 / width, bottom=(below + 0.42) / height,
                           top=1 - 0.28 / height, wspace=0.28, hspace=0.36)
    for number, (model, places) in enumerate(panels.items()):
        panel = figure.add_subplot(down, across, number + 1)
        panel.set_title(model, fontsize=9)
        _panel(panel, places, key)
        # Names of axes stand once: they are those of all panels.
        panel.set_xlabel(TITLES.get(x, x) if number + across >= len(panels) else "")
        panel.set_ylabel(TITLES.get(y, y) if number % across == 0 else "")
    if not panels:
        figure.text(0.5, 0.5, f"no point has both {x} and {y}", ha="center")
    for number, line in enumerate(lines):
        for column, words in line:
            figure.text(column, (below - 0.12 - LINE * number) / height, words, fontsize=7, va="top")
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "ashlar-sweep"})
    return out.getvalue()


def _key(panels: dict[str, list[Place]]) -> dict[str, int]:
    """Numbers for the names that are on the front of some panel."""
    key: dict[str, int] = {}
    for places in panels.values():
        for place in _front(places):
            key.setdefault(place.name, len(key) + 1)
    return key


def _front(places: list[Place]) -> list[Place]:
    marks = pareto((place.x, place.y) for place in places)
    return sorted(place for place, first in zip(places, marks, strict=True) if first)


def _lines(key: dict[str, int], width: float) -> list[list[tuple[float, str]]]:
    """The key as lines of (place between 0 and 1, words), in columns as wide as its longest entry."""
    entries = [f"{number}  {name}" for name, number in key.items()]
    if not entries:
        return []
    longest = max(map(len, entries)) * CHARACTER + 0.25
    across = max(1, min(len(entries), int((width - 0.3) / longest)))
    return [[((0.15 + column * longest) / width, entry) for column, entry in enumerate(entries[start:start + across])]
            for start in range(0, len(entries), across)]


def _panel(panel: Any, places: list[Place], key: dict[str, int]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    front = _front(places)
    rest = [place for place in places if place not in front]
    panel.plot([place.x for place in rest], [place.y for place in rest], "o", markersize=5, color="#b0b0b0")
    panel.step([place.x for place in front], [place.y for place in front], "o-", where="post", color="#1f77b4",
               linewidth=0.8, markersize=5)
    left, right = min(place.x for place in places), max(place.x for place in places)
    wide = (right - left) or abs(right) or 1
    top = max(place.y for place in places) or 1
    panel.set_xlim(left - 0.08 * wide, right + 0.14 * wide)
    panel.set_ylim(min(0, *(place.y for place in places)), 1.14 * top)
    for place, numbers in _labels(front, key, wide, top):
        panel.annotate(numbers, (place.x, place.y), xytext=(4, 3), textcoords="offset points", fontsize=7)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(5))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.grid(True, linewidth=0.3)


def _labels(front: list[Place], key: dict[str, int], wide: float, top: float) -> list[tuple[Place, str]]:
    """Numbers at points; points too close for numbers of their own share one text."""
    groups: list[list[Place]] = []
    for place in front:
        if groups and place.x - groups[-1][-1].x < 0.06 * wide and groups[-1][-1].y - place.y < 0.06 * top:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [(group[-1], ", ".join(str(number) for number in dict.fromkeys(key[place.name] for place in group)))
            for group in groups]
