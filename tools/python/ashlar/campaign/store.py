# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and results as files.

A plan is one JSON file that carries its own digest. A results folder belongs to
one plan, says so in a file, and has one file per point, whose name is the
point's identifier (the digest of everything that decides its result) and which
carries the digest of what it says.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Failure, malformed, usage
from .files import digest, read_json, write_json

SCHEMA = 1
MARKER = "ashlar-results.json"
POINTS = "points"
PLAN, RESULTS = "plan.json", "results"
IDENTIFIER = re.compile(r"[0-9a-f]{64}")
SHOWN = 5


def seal(value: dict) -> dict:
    """The value with its digest."""
    return {**value, "digest": digest(value)}


def opened(value: Any) -> dict | None:
    """The sealed value without its digest; None if it is not what was sealed."""
    if not isinstance(value, dict) or "digest" not in value:
        return None
    body = {key: entry for key, entry in value.items() if key != "digest"}
    return body if digest(body) == value["digest"] else None


@dataclass(frozen=True)
class Plan:
    """Points to compute, with what they have in common, and where the plan is."""

    body: dict
    folder: Path

    @property
    def identifier(self) -> str:
        return digest(self.body)

    @property
    def points(self) -> list[dict]:
        return self.body["points"]

    def resolve(self, name: str) -> Path:
        """A file that the plan names, relative to the plan's own folder."""
        return (self.folder / name).resolve()

    def write(self, path: Path | str) -> None:
        write_json(path, seal(self.body))


def read_plan(path: Path | str, kind: str) -> Plan:
    """A plan file of this kind; refused if anybody has changed it."""
    try:
        value = read_json(path)
    except Failure as error:
        raise Failure(error.code, f"{error}; expected a file that the sub-command plan wrote") from None
    if not isinstance(value, dict) or value.get("kind") != kind:
        raise malformed(f"{path}: expected a file of the sub-command plan ({kind})")
    if value.get("schema") != SCHEMA:
        raise malformed(f"{path}: schema {value.get('schema')}, this version reads {SCHEMA}")
    body = opened(value)
    if body is None:
        raise malformed(f"{path}: its digest does not match, so it is damaged or was changed by hand; "
                        "write the plan again")
    return Plan(body, Path(path).resolve().parent)


class Results:
    """The results folder of a plan."""

    def __init__(self, folder: Path | str, plan: Plan) -> None:
        self.folder, self.plan = Path(folder).absolute(), plan

    def path(self, point: dict) -> Path:
        return self.folder / POINTS / f"{point['id']}.json"

    def claim(self) -> None:
        """Makes the folder this plan's, or checks that it is."""
        marker = self.folder / MARKER
        if marker.exists():
            self.check()
            return
        if self.folder.exists():
            if not self.folder.is_dir():
                raise usage(f"{self.folder}: a file, expected a folder for results")
            other = sorted(entry.name for entry in self.folder.iterdir()
                           if not entry.name.startswith("."))
            if other:
                raise usage(f"{self.folder}: has files and is not a results folder (found '{other[0]}'): "
                            "give a new or an empty folder")
        write_json(marker, {"kind": self.plan.body["kind"], "schema": SCHEMA,
                            "plan": self.plan.identifier})

    def check(self) -> None:
        """Refuses a folder that is not this plan's."""
        marker = self.folder / MARKER
        if not marker.is_file():
            raise usage(f"{self.folder}: not a results folder (it has no {MARKER})")
        value = read_json(marker)
        if not isinstance(value, dict) or value.get("plan") != self.plan.identifier:
            raise usage(f"{self.folder}: holds the results of another plan; give another folder, and "
                        "--reuse=FOLDER to take over the results of points that both plans have")

    def read(self, point: dict) -> dict | None:
        """The result of a point; None if there is none or it is damaged."""
        path = self.path(point)
        if not path.exists():
            return None
        try:
            body = opened(read_json(path))
        except Failure:
            return None
        if body is None or body.get("point") != point["id"] or body.get("schema") != SCHEMA:
            return None
        return body["result"]

    def write(self, point: dict, result: dict) -> None:
        write_json(self.path(point),
                   seal({"schema": SCHEMA, "point": point["id"], "result": result}))

    def adopt(self, other: Path | str) -> int:
        """Takes over what another results folder knows about points of the plan."""
        if not (Path(other) / MARKER).is_file():
            raise usage(f"{other}: not a results folder (it has no {MARKER})")
        source, taken = Results(other, self.plan), 0
        for point in self.plan.points:
            if self.read(point) is None and (result := source.read(point)) is not None:
                self.write(point, result)
                taken += 1
        return taken


def settle(plan: Plan, folder: Path) -> Results:
    """Makes a folder the plan's: the plan itself and its results. A folder that
    holds anything else is refused, an unfinished one of an equal plan continues."""
    results = Results(folder / RESULTS, plan)
    if folder.exists() and not folder.is_dir():
        raise usage(f"{folder}: a file, expected a folder")
    if folder.exists() and not results.folder.exists():
        other = sorted(p.name for p in folder.iterdir() if p.name != PLAN and not p.name.startswith("."))
        if other:
            raise usage(f"{folder}: has files and was not written by this tool (found '{other[0]}'): give a new or an "
                        "empty folder")
    results.claim()
    plan.write(folder / PLAN)
    return results


def _few(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def collect(plan: Plan, folders: Iterable[Path | str]) -> list[dict]:
    """The results of all points in the order of the plan.

    Missing, duplicate, damaged and foreign ones are refused: a table that
    silently lacks a point, or has one of another plan, is worse than none.
    """
    known = {point["id"]: index for index, point in enumerate(plan.points)}
    found: dict[str, Path] = {}
    for folder in dict.fromkeys(Path(folder).resolve() for folder in folders):
        Results(folder, plan).check()
        points = folder / POINTS
        names = sorted(p for p in points.iterdir()) if points.is_dir() else []
        for path in names:
            if path.name.startswith("."):
                continue  # what a killed process left where files need names
            if path.suffix != ".json" or path.stem not in known:
                raise malformed(f"{path}: a foreign point: the plan has none of that name")
            if path.stem in found:
                raise malformed(f"{path}: a duplicate of {found[path.stem]}: give each point once")
            found[path.stem] = path
    missing = [f"{known[name]}" for name in known if name not in found]
    if missing:
        raise malformed(f"{len(missing)} of {len(known)} points are missing (numbers {_few(missing)}): run "
                        "the plan again, what is there is kept")
    results = []
    for point in plan.points:
        result = Results(found[point["id"]].parents[1], plan).read(point)
        if result is None:
            raise malformed(f"{found[point['id']]}: damaged: run the plan again, which replaces it")
        results.append(result)
    return results
