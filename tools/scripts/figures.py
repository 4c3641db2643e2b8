#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every measured figure of README.md and docs/, measured and written by one script.

usage: figures.py [--check | --write | --render] [--long] [--only=SET[/ROW],...] [--list]

Figures are rows of tables. A page has a table between two lines,

    <!-- figures: NAME -->
    ...
    <!-- end of figures -->

docs/data/figures.json has the cells of all tables, figure_sets.py what measures
them. A row is quick, if it takes seconds and nothing but this tree and small shared
models, or long.

--check (the default) measures the quick rows and, with --long, all of them, and
compares with the data, and the pages with the data. Rows whose models or tools are
absent are named as skipped; wall times are never compared. Exit code 1 if anything
is stale.
--write measures the same rows, keeps the others, and rewrites data and pages.
--render writes the pages from the data.
"""

import argparse
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figure_sets  # noqa: E402
import figure_tools  # noqa: E402

ROOT = figure_tools.ROOT
DATA = os.path.join(ROOT, "docs", "data", "figures.json")
BLOCK = re.compile(r"(<!-- figures: ([a-z0-9-]+) -->\n)(.*?)(<!-- end of figures -->)", re.S)


def pages():
    """Paths of the pages that may have figures."""
    docs = os.path.join(ROOT, "docs")
    return [os.path.join(ROOT, "README.md")] + sorted(
        os.path.join(docs, name) for name in os.listdir(docs) if name.endswith(".md"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    """Writes a file only if it changes."""
    if os.path.exists(path) and read(path) == text:
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"written: {os.path.relpath(path, ROOT)}")


def data_text(data):
    """One row per line, so that a change shows as the rows it concerns."""
    sets = []
    for name, rows in sorted(data.items()):
        lines = [f"  {json.dumps(key)}: {json.dumps(cells, ensure_ascii=False)}"
                 for key, cells in rows.items()]
        sets.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(sets) + "\n}\n"


def render(text, sets, data, where, problems):
    """The page with every block from the data."""
    def block(match):
        name = match.group(2)
        if name not in sets:
            problems.append(f"{where}: no figures are called '{name}'")
            return match.group(0)
        return match.group(1) + sets[name].render(data.get(name, {})) + match.group(4)
    return BLOCK.sub(block, text)


def measure(sets, options, data, problems):
    """Measures rows; with --write into `data`."""
    wanted = set(options.only.split(",")) if options.only else set()
    for entry in sets.values():
        known = data.get(entry.name, {})
        fresh = {}
        for row in entry.rows:
            if row.key in known:
                fresh[row.key] = known[row.key]
            label = f"{entry.name}/{row.key}"
            if wanted and not wanted & {entry.name, label}:
                continue
            if (row.long and not options.long) or (options.check and not entry.compared):
                continue
            if missing := figure_tools.missing(row.needs):
                print(f"skipped: {label} needs {missing}")
                continue
            try:
                cells = row.measure()
            except (figure_tools.Failure, OSError, ValueError, KeyError) as error:
                problems.append(f"{label}: {error}")
                continue
            if options.verbose:
                print(f"{label}: {' | '.join(cells)}", flush=True)
            if options.check and known.get(row.key) != cells:
                problems.append(f"{label} is stale: {' | '.join(known.get(row.key, ['nothing']))} "
                                f"is {' | '.join(cells)} now")
            fresh[row.key] = cells
        if options.write:
            data[entry.name] = fresh


def check_pages(sets, data, problems):
    """Pages that differ from the data, and figures that no page shows."""
    shown = set()
    for path in pages():
        where, text = os.path.relpath(path, ROOT), read(path)
        shown |= {match.group(2) for match in BLOCK.finditer(text)}
        if render(text, sets, data, where, problems) != text:
            problems.append(f"{where} differs from docs/data/figures.json; figures.py --render")
    problems.extend(f"no page shows the figures '{name}'" for name in sets if name not in shown)
    problems.extend(f"docs/data/figures.json: nothing measures '{name}'" for name in data
                    if name not in sets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--render", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.check = not (options.write or options.render)
    sets = {entry.name: entry for entry in figure_sets.all_sets()}
    if options.list:
        for entry in sets.values():
            for row in entry.rows:
                print(f"{entry.name}/{row.key}: {'long' if row.long else 'quick'}"
                      f"{', needs ' + ', '.join(row.needs) if row.needs else ''}")
        return 0
    data = json.loads(read(DATA)) if os.path.exists(DATA) else {}
    problems = []
    if not options.render:
        measure(sets, options, data, problems)
    if options.check:
        check_pages(sets, data, problems)
    else:
        write(DATA, data_text(data))
        for path in pages():
            write(path, render(read(path), sets, data, os.path.relpath(path, ROOT), problems))
    print("\n".join(problems) or "figures: all as measured")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
