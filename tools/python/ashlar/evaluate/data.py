# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data sets: what samples there are, with labels and digests; layouts in layouts.py."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..campaign.errors import malformed
from ..campaign.files import file_digest
from .images import BadSample, decode


@dataclass
class Samples:
    """The samples of a data set in a fixed order.

    They are files of one image or array each, or rows of arrays that lie in
    memory. `raw` samples are the model's inputs as they are.
    """

    layout: str
    names: list[str]
    labels: list[Any] | None = None
    classes: list[str] | None = None
    folder: Path | None = None
    files: list[str] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    raw: bool = False
    boxes: list[list] | None = None
    expected: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def single(self) -> bool:
        """Whether every sample is a file."""
        return not self.arrays

    def digests(self) -> dict[str, str]:
        """File -> SHA-256 of all that the samples are read from."""
        assert self.folder is not None
        return {name: file_digest(self.folder / name) for name in self.files}

    def load(self, index: int) -> np.ndarray | dict[str, np.ndarray]:
        """A sample: an image, or the inputs by name. BadSample if it has none."""
        if self.arrays:
            rows = {name: array[index] for name, array in self.arrays.items()}
            return rows if self.raw else next(iter(rows.values()))
        assert self.folder is not None
        path = self.folder / self.files[index]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BadSample(f"not read: {error.strerror}") from None
        wanted = self.expected.get(self.files[index])
        if wanted and hashlib.sha256(data).hexdigest() != wanted:
            raise malformed(f"{path}: changed since the plan was made; make the plan again")
        if path.suffix == ".npy":
            return self._array(path)
        return decode(data)

    def _array(self, path: Path) -> dict[str, np.ndarray]:
        try:
            return {"": np.load(path, allow_pickle=False)}
        except (OSError, ValueError, EOFError) as error:
            raise BadSample(f"not an .npy file with a plain array: {error}") from None


def check_labels(where: str, labels: list, names: list[str]) -> None:
    """Refuses labels that are not one per sample."""
    if len(labels) != len(names):
        raise malformed(f"{where}: {len(labels)} labels for {len(names)} samples")
