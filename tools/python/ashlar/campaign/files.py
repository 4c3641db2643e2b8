# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that appear whole or not at all, digests, and JSON with one spelling."""

import errno
import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from .errors import Exit, Failure, malformed


def canonical(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, shortest numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


_known: dict[tuple[Path, str], tuple[tuple[int, ...], Any]] = {}


def remembered(path: Path | str, what: str, find: Callable[[Path], Any]) -> Any:
    """`find(path)`, once for as long as the file stays as it is: one command that
    makes a plan and computes it would read models and tools twice."""
    path = Path(path)
    try:
        found = path.stat()
        state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        key = (path.absolute(), what)
        if key not in _known or _known[key][0] != state:
            _known[key] = (state, find(path))
        return _known[key][1]
    except OSError as error:
        raise malformed(f"{path}: {error.strerror}") from None


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file."""
    return remembered(path, "digest", _read_digest)


def _read_digest(path: Path) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def mentions(path: Path | str, word: bytes) -> bool:
    """Whether a file contains a word."""
    return remembered(path, f"mentions {word!r}", lambda path: _find(path, word))


def _find(path: Path, word: bytes) -> bool:
    with open(path, "rb") as stream:
        if os.fstat(stream.fileno()).st_size == 0:
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(word) >= 0


def _named(path: Path, data: bytes) -> None:
    """By way of a file with another name, which begins with a dot."""
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            _fill(stream, data)
        # mkstemp makes private files; a result is as readable as any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _fill(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())


def _nameless(path: Path, data: bytes) -> bool:
    """By way of a file without a name, of which a killed process leaves nothing.
    False where the file system has no such files or the name is taken."""
    try:
        handle = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        return False
    with os.fdopen(handle, "wb") as stream:
        _fill(stream, data)
        try:
            os.link(f"/proc/self/fd/{handle}", path, follow_symlinks=True)
        except OSError:
            return False
    return True


def make_folder(path: Path) -> None:
    """Makes a folder and those above it; that it is there already is no error."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> Failure:
    full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    return Failure(Exit.CAPACITY if full else Exit.MALFORMED, f"{path}: cannot be written: {error.strerror}")


def write_whole(path: Path | str, data: bytes) -> None:
    """Writes a file so that a reader, or a crash, sees the old one or the new one.

    The bytes reach the disk before the file takes its name.
    """
    path = Path(path)
    try:
        make_folder(path.parent)
        if path.exists() or not _nameless(path, data):
            _named(path, data)
    except OSError as error:
        raise _unwritable(path, error) from None


def write_json(path: Path | str, value: Any) -> None:
    """Writes a value as JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def read_json(path: Path | str) -> Any:
    """The value of a JSON file."""
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read())
    except OSError as error:
        raise malformed(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise malformed(f"{path}: not JSON: {error}") from None
