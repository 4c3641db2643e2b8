# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of published models: address, size, hash and licence of each."""

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..campaign.errors import malformed, usage

PUBLISHED = Path(__file__).with_name("published.json")
HASH = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Model:
    """A file that somebody published. The size and the hash are those that the
    publisher's repository states; None where it states none."""
    name: str
    file: str
    what: str
    bytes: int | None
    sha256: str | None
    licence: str
    addresses: tuple[str, ...]


def one_model(where: str, row: Any) -> Model:
    """A row of the table, checked."""
    fields = {field.name for field in dataclasses.fields(Model)}
    if not isinstance(row, dict) or set(row) != fields:
        raise malformed(f"{where}: expected the keys {', '.join(sorted(fields))}")
    texts = [row[key] for key in ("name", "file", "what", "licence")]
    if not all(isinstance(text, str) and text for text in texts):
        raise malformed(f"{where}: name, file, what and licence must be texts")
    path = PurePosixPath(row["file"])
    if path.is_absolute() or ".." in path.parts or path.name.startswith("."):
        raise malformed(f"{where}: file '{row['file']}' must be a plain path below the folder")
    size, digest = row["bytes"], row["sha256"]
    if size is not None and (type(size) is not int or size < 1):
        raise malformed(f"{where}: bytes must be a positive number or null")
    if digest is not None and not (isinstance(digest, str) and HASH.fullmatch(digest)):
        raise malformed(f"{where}: sha256 must be 64 hexadecimal digits or null")
    addresses = row["addresses"]
    if not isinstance(addresses, list) or not addresses or not all(
            isinstance(a, str) and urlsplit(a).scheme in ("http", "https") for a in addresses):
        raise malformed(f"{where}: addresses must be a list of http or https addresses")
    return Model(**{**row, "addresses": tuple(addresses)})


def read_table(path: Path | str = PUBLISHED) -> list[Model]:
    """The models of a table."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise malformed(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise malformed(f"{path}: {error}") from None
    if not isinstance(value, dict) or list(value) != ["models"] or not isinstance(value["models"], list):
        raise malformed(f"{path}: expected an object with the list 'models'")
    models = [one_model(f"{path}: model {k + 1}", row) for k, row in enumerate(value["models"])]
    for key in ("name", "file"):
        seen = [getattr(model, key) for model in models]
        for text in seen:
            if seen.count(text) > 1:
                raise malformed(f"{path}: two models have the {key} '{text}'")
    return models


def chosen(known: Sequence[str], wanted: Sequence[str], what: str) -> list[str]:
    """The wanted names, all of which must be known."""
    import difflib
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            raise usage(f"no {what} is called '{name}'"
                        + (f", did you mean '{close[0]}'?" if close else "")
                        + f" (known: {', '.join(known)})")
    return [name for name in known if name in wanted]
