# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Brings published models: resumed after an interruption, checked, whole or not at all."""

import fcntl
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from ..campaign.errors import Exit, Failure, malformed
from ..campaign.files import file_digest, write_whole
from .table import Model

BLOCK = 1 << 18
ATTEMPTS = 3
SECONDS = 30
# Hashes of files whose publisher states none, as they were at the first download.
TRUSTED = "trusted-on-first-use.json"
# What other users of an address may get again later.
TRANSIENT = (408, 429, 500, 502, 503, 504)

Report = Callable[[int, int | None], None]


class Unreachable(Exception):
    """An address that does not answer, now."""


class Refused(Exception):
    """An address that answers with something else."""


def known_hash(model: Model, folder: Path) -> str | None:
    """The hash of the table, or else the one of the first download."""
    if model.sha256:
        return model.sha256
    path = folder / TRUSTED
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise malformed(f"{path}: {error}") from None
    found = value.get(model.file) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def trust(model: Model, folder: Path, digest: str) -> None:
    """Records the hash of a first download."""
    path = folder / TRUSTED
    value = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    value[model.file] = digest
    write_whole(path, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def request(address: str, start: int) -> urllib.request.Request:
    """A request for all bytes after `start`."""
    headers = {"User-Agent": "ashlar-models", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.Request(address, headers=headers)


def copy(answer: http.client.HTTPResponse, out: BinaryIO, size: int | None, report: Report) -> None:
    """Appends what the server sends; never more than the file has."""
    while block := answer.read(BLOCK):
        out.write(block)
        report(out.tell(), size)
        if size is not None and out.tell() > size:
            raise Refused(f"sends more than the {size} bytes of the file")
    # A server that closes early is noticed by the length that it announced.
    if answer.length:
        raise Unreachable("the connection ended early")


def attempt(address: str, out: BinaryIO, size: int | None, report: Report) -> None:
    """One request, from where the partial file ends."""
    start = out.seek(0, os.SEEK_END)
    if size is not None and start >= size:
        return
    try:
        with urllib.request.urlopen(request(address, start), timeout=SECONDS) as answer:
            if start and answer.status != http.client.PARTIAL_CONTENT:
                out.truncate(0)
                out.seek(0)
            elif start and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):
                raise Refused("answers with another range than the one requested")
            copy(answer, out, size, report)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            # Nothing is left, or the partial file is of another version; the hash decides.
            return
        said = f"HTTP {error.code} {error.reason}"
        raise (Unreachable if error.code in TRANSIENT else Refused)(said) from None
    except urllib.error.URLError as error:
        raise Unreachable(str(error.reason)) from None
    except (http.client.HTTPException, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise Unreachable(str(error) or type(error).__name__) from None


def through_proxy(address: str) -> str:
    """" through the proxy HOST" if the environment names one for this address; without its password."""
    parts = urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return ""
    return f" through the proxy {proxy.rpartition('@')[2].rpartition('//')[2]} ({parts.scheme}_proxy)"


def download(model: Model, out: BinaryIO, report: Report, wait: float) -> tuple[bool, str]:
    """(whether all addresses were unreachable, what each of them said); '' if it worked."""
    said, reached = [], False
    for address in model.addresses:
        for turn in range(ATTEMPTS):
            try:
                attempt(address, out, model.bytes, report)
                return False, ""
            except Refused as error:
                reached = True
                said.append(f"{address}{through_proxy(address)}: {error}")
                break
            except Unreachable as error:
                if turn + 1 == ATTEMPTS:
                    said.append(f"{address}{through_proxy(address)}: {error}")
                else:
                    time.sleep(wait * 2 ** turn)
    return not reached, "; ".join(said)


def digest_of(out: BinaryIO) -> str:
    sha = hashlib.sha256()
    out.seek(0)
    while block := out.read(BLOCK):
        sha.update(block)
    return sha.hexdigest()


def not_had(model: Model, target: Path, nobody: bool, said: str, some: bool) -> Failure:
    """The error if no address gave the file; `some`: whether a part of it arrived."""
    kept = "; what arrived is kept, and the same command resumes" if some else ""
    if nobody:
        return malformed(
            f"{model.name}: no address can be reached ({said}). Without a network, draw a network from "
            f"its paper (tools/models draw --list), or put the file at {target}"
            + (f" (SHA-256 {model.sha256})" if model.sha256 else "") + kept)
    return malformed(f"{model.name}: no address has the file ({said}){kept}")


def into(model: Model, partial: Path, target: Path, wanted: str | None, report: Report,
         wait: float) -> str:
    """Downloads into the partial file and renames it; the hash."""
    with open(partial, "a+b") as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise malformed(f"{partial}: another process downloads this file") from None
        fresh = out.seek(0, os.SEEK_END) == 0
        while True:
            nobody, said = download(model, out, report, wait)
            if said:
                some = out.seek(0, os.SEEK_END) > 0
                if not some:
                    os.unlink(partial)
                raise not_had(model, target, nobody, said, some)
            size, found = out.seek(0, os.SEEK_END), digest_of(out)
            if (wanted is None or found == wanted) and model.bytes in (None, size):
                break
            out.truncate(0)
            if fresh:
                os.unlink(partial)
                raise Failure(Exit.MISMATCH, (
                    f"{model.name}: what {model.addresses[0]} sends is not the published file: "
                    f"{size} bytes, SHA-256 {found}, expected {model.bytes or size} bytes, SHA-256 "
                    f"{wanted or 'of any value'}; nothing is kept"))
            # The beginning may be of another version of the file: once more, from the start.
            fresh = True
        out.flush()
        os.fsync(out.fileno())
        os.replace(partial, target)
    return found


def fetch(model: Model, folder: Path, report: Report, wait: float = 1.0) -> str:
    """Brings one model; what was done, in words. `wait`: seconds before the second attempt."""
    target = folder / model.file
    wanted = known_hash(model, folder)
    if target.exists():
        found = file_digest(target)
        if wanted and found != wanted:
            raise Failure(Exit.MISMATCH, f"{target}: SHA-256 {found}, but {model.name} has {wanted}; "
                                         "remove the file to fetch it again")
        return "is there" if wanted else "is there; its publisher states no hash"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        found = into(model, partial, target, wanted, report, wait)
        if wanted:
            return "fetched, hash as published"
        trust(model, folder, found)
    except OSError as error:
        raise Failure(Exit.CAPACITY, f"{error.filename or target}: {error.strerror or error}") from None
    return f"fetched; its publisher states no hash, so this one is trusted from now on: {found}"
