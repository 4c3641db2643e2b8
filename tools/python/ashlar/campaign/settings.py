# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""YAML files of settings: known keys only, wrong ones answered with the nearest."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from .errors import malformed
from .spelling import did_you_mean


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a key stands once and only true and false are booleans.

    YAML 1.1 takes `off`, `no` and `y` for booleans; here they are values of
    options.
    """


_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules
            if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} is not a string", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' appears twice", key_node.start_mark)
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(path: Path | str) -> dict:
    """The mapping in a YAML file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 (derives from SafeLoader)
    except OSError as error:
        raise malformed(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise malformed(f"{path}: not UTF-8 text, expected YAML") from None
    except yaml.YAMLError as error:
        raise malformed(f"{path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise malformed(f"{path}: nested too deeply") from None
    if not isinstance(value, dict):
        raise malformed(f"{path}: expected a mapping of keys, found {describe(value)}")
    return value


def describe(value: Any) -> str:
    """What a value is, in a word and itself if short."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"'{str(value)[:60]}'"


def check_keys(where: str, value: Mapping, known: Iterable[str]) -> None:
    """Refuses keys that nothing reads."""
    known = list(known)
    for key in value:
        if key not in known:
            prefix = f"{where}: " if where else ""
            raise malformed(f"{prefix}unknown key '{key}'{did_you_mean(key, known)}"
                            f" (known: {', '.join(known)})")


def expect(where: str, value: Any, kinds: type | tuple[type, ...], words: str) -> Any:
    """The value, if it is of one of the kinds; a boolean is not a number."""
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise malformed(f"{where}: expected {words}, found {describe(value)}")
    return value
