# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine descriptions: parameters by dotted name, as `pe.rows`."""

import re
from pathlib import Path
from typing import Any

import yaml

from .errors import Failure, malformed
from .spelling import did_you_mean
from .toolbox import Toolbox, ToolFailure

Value = int | bool | str

# The same bytes and values from libyaml, several times faster; not every PyYAML has it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def load_machine(tools: Toolbox, machine: str, folder: Path) -> tuple[str, dict[str, Value]]:
    """Name and all parameters of a built-in machine or of a description file.

    A file is named relative to `folder`.
    """
    path = folder / machine
    known_file = machine.endswith((".yaml", ".yml")) or "/" in machine
    if known_file and not path.is_file():
        raise malformed(f"machine '{machine}': no such file")
    try:
        text = tools.run("ashlarc", [f"--dump-machine={path if known_file else machine}"], folder)
    except ToolFailure as error:
        raise Failure(error.code, f"machine '{machine}': {error}") from None
    value = yaml.load(text, Loader=_LOADER)  # noqa: S506 (a safe loader)
    name = str(value.pop("name", machine))
    flat: dict[str, Value] = {}
    for key, entry in value.items():
        if isinstance(entry, dict):
            flat.update({f"{key}.{inner}": v for inner, v in entry.items()})
        else:
            flat[key] = entry
    return name, flat


def override(where: str, parameters: dict[str, Value], changes: dict[str, Any]) -> dict[str, Value]:
    """The parameters with some of them changed; a name that no machine has is refused."""
    result = dict(parameters)
    for key, value in changes.items():
        if key not in parameters:
            raise malformed(f"{where}: a machine has no parameter '{key}'{did_you_mean(key, parameters)} "
                            "(docs/Machine.md lists them)")
        if not isinstance(value, (int, bool, str)):
            raise malformed(f"{where}: {key} is {value!r}, expected a number or a word")
        result[key] = value
    return result


def description(name: str, parameters: dict[str, Value]) -> str:
    """The description file of a machine that states every parameter."""
    tree: dict[str, Any] = {"name": re.sub(r"[^\w.=+-]+", "-", name)}
    for key, value in parameters.items():
        section, _, inner = key.rpartition(".")
        if section:
            tree.setdefault(section, {})[inner] = value
        else:
            tree[key] = value
    return yaml.dump(tree, Dumper=_DUMPER, sort_keys=False, default_flow_style=False)
