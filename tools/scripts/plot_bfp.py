#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws accuracy against mantissa bits from docs/data/bfp_accuracy.json.

usage: plot_bfp.py DATA.json > docs/bfp_accuracy.svg
       plot_bfp.py --table DATA.json (the table of docs/BlockFloatingPoint.md)

Plain SVG from the standard library: the same data give the same bytes.
"""

import json
import sys

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 200, 20, 50
BITS = (3, 16)
DECIBEL = (-10, 100)
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
GREY = "#888888"


def place(bits, decibel):
    across = WIDTH - LEFT - RIGHT
    down = HEIGHT - TOP - BOTTOM
    x = LEFT + across * (bits - BITS[0]) / (BITS[1] - BITS[0])
    y = TOP + down * (DECIBEL[1] - decibel) / (DECIBEL[1] - DECIBEL[0])
    return f"{x:.1f}", f"{y:.1f}"


def text(x, y, words, anchor="start", colour="#222222"):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" '
            f'fill="{colour}">{words}</text>')


def line(points, colour, dashes=""):
    path = " ".join(",".join(place(*p)) for p in points)
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (f'<polyline points="{path}" fill="none" stroke="{colour}" '
            f'stroke-width="1.8"{style}/>')


def axes():
    low, high = DECIBEL
    for decibel in range(low, high + 1, 10):
        yield line([(BITS[0], decibel), (BITS[1], decibel)], "#dddddd")
        x, y = place(BITS[0], decibel)
        yield text(f"{float(x) - 6:.1f}", f"{float(y) + 4:.1f}", decibel, "end")
    for bits in range(BITS[0], BITS[1] + 1):
        x, y = place(bits, low)
        yield text(x, f"{float(y) + 16:.1f}", bits, "middle")
    yield text((LEFT + WIDTH - RIGHT) // 2, HEIGHT - 12,
               "mantissa bits W, sign included (B = 16, D = 7)", "middle")
    yield text(8, 14, "SNR, dB")


def curves(data):
    """(name, points, colour, dashes) of everything drawn."""
    for name, dashes in zip(sorted(data["noise"]), ("2 3", "6 3", "8 3 2 3")):
        points = [(int(w), db) for w, db in data["noise"][name].items()]
        yield f"{name} numbers", points, GREY, dashes
    for index, (name, entry) in enumerate(sorted(data["networks"].items())):
        points = [(int(w), row["mean"]) for w, row in entry["rows"].items()]
        yield name, points, COLOURS[index % len(COLOURS)], ""


def draw(data):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11">')
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield from axes()
    for row, (name, points, colour, dashes) in enumerate(curves(data)):
        yield line(points, colour, dashes)
        if not dashes:
            for point in points:
                x, y = place(*point)
                yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'
        yield text(WIDTH - RIGHT + 16, TOP + 14 + 18 * row, name,
                   colour=colour)
    yield "</svg>"


def table(data):
    """Agreement, mean and least SNR per network and width."""
    widths = (16, 12, 10, 8, 6, 4)
    yield "| network (inputs) | " + " | ".join(f"W={w}" for w in widths) + " |"
    yield "|" + "---|" * (len(widths) + 1)
    for name, entry in sorted(data["networks"].items()):
        cells = [f"{name} ({entry['inputs']})"]
        for width in widths:
            row = entry["rows"][str(width)]
            cells.append(f"{row['agreement']:.0f} %, {row['mean']:.1f} / "
                         f"{row['least']:.1f} dB")
        yield "| " + " | ".join(cells) + " |"


def main():
    arguments = sys.argv[1:]
    make = draw
    if arguments[:1] == ["--table"]:
        make = table
        arguments = arguments[1:]
    if len(arguments) != 1:
        print(__doc__.splitlines()[2], file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as stream:
        data = json.load(stream)
    for part in make(data):
        print(part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
