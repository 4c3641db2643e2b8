# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model files as a plan sees them: content, and files that hold their weights."""

from pathlib import Path

from .errors import malformed
from .files import digest, file_digest, mentions


def external_files(path: Path) -> list[Path]:
    """Files next to an ONNX model that hold its weights."""
    import onnx

    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf's own classes
        raise malformed(f"{path}: not an ONNX model: {error}") from None
    names = {entry.value for tensor in model.graph.initializer
             for entry in tensor.external_data if entry.key == "location"}
    return sorted(path.parent / name for name in names)


def model_digest(path: Path) -> str:
    """SHA-256 of a model, weights in other files included."""
    if not path.is_file():
        raise malformed(f"{path}: no such file")
    first = file_digest(path)
    # A model whose weights are inside needs no look at its graph; only then a
    # word of the format is missing from its bytes.
    if not mentions(path, b"location"):
        return first
    others = external_files(path)
    return digest([first, *map(file_digest, others)]) if others else first
