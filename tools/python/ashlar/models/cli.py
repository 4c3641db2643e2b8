# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command tools/models: `fetch` brings published networks, `draw` makes others."""

import dataclasses
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..campaign.errors import Exit, Failure, usage
from ..campaign.files import file_digest, write_whole
from ..campaign.option_table import Option, OptionTable, Positional
from ..campaign.progress import Progress, time_left
from ..campaign.spelling import did_you_mean
from .fetch import fetch
from .table import PUBLISHED, Model, chosen, read_table

TOOL = "models"
ABOUT = """usage: tools/models fetch [--list] [--only=NAME,...] [-o FOLDER]
       tools/models draw NAME... | --all | --list [-o FOLDER] [--seed=N]

fetch  downloads public networks from their publishers: resumes after an
       interruption, checks size and SHA-256, keeps complete files only
draw   generates networks as their papers describe them, with seeded weights:
       no download, the same bytes on every host

options:
  --list                 list the networks, with size, licence and address
  --only=NAME,...        fetch only these
  --table=FILE.json      another table of the same form, e.g. of a mirror (fetch)
  --all                  draw every network
  --seed=N               seed of the weights (draw; 1)
  --layers, --width, --heads, --kv-heads, --hidden, --vocabulary, --tokens=N
                         sizes of the decoder (draw decoder)
  -o FOLDER              output folder (build/models); existing files are never
                         overwritten with other content
  --quiet                no progress line
  --help                 print this

exit codes: 0 ok, 1 internal, 2 usage, 4 an address that cannot be reached or a
            malformed table, 5 capacity (disk, memory), 6 another file than published
"""
MEGABYTE = 1e6
# A protobuf message cannot be larger, and weights are nearly all of a model. Larger models have their
# weights in an external file.
LARGEST = 2**31 - 2**24


SHARED = (Option("list", "", "the networks"), Option("quiet", "", "no progress"),
          Option("o", "FOLDER", "where they go", key="folder"))


def destination(folder: str | None) -> Path:
    return Path(folder or os.path.join("build", "models"))


class Download:
    """A line that is rewritten while a file arrives, on terminals only."""

    def __init__(self, name: str, quiet: bool) -> None:
        self.name, self.shown = name, sys.stderr.isatty() and not quiet
        self.start, self.first = time.monotonic(), None

    def line(self, done: int, total: int | None, elapsed: float) -> str:
        """Bytes, share and, once some have arrived, the time left."""
        if not total:
            return f"{self.name}: {done / MEGABYTE:.1f} MB"
        # A resumed download has a head start.
        self.first = done if self.first is None else self.first
        coming = (done - self.first) / max(total - self.first, 1)
        return (f"{self.name}: {done / MEGABYTE:.1f} of {total / MEGABYTE:.1f} MB, "
                f"{100 * done // total} %{time_left(coming, elapsed, elapsed)}")

    def __call__(self, done: int, total: int | None) -> None:
        if self.shown:
            sys.stderr.write(f"\r{self.line(done, total, time.monotonic() - self.start)}\033[K")

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")


def show(models: Sequence[Model]) -> int:
    for model in models:
        size = f"{model.bytes / MEGABYTE:.2f} MB" if model.bytes else "size not stated"
        print(f"{model.name:<24} {size:>12}  {model.licence:<12}  {model.what}\n"
              f"  SHA-256 {model.sha256 or 'not stated: trusted on first use'}")
        for address in model.addresses:
            print(f"  {address}")
    return 0


def fetch_command(arguments: Sequence[str]) -> int:
    table = OptionTable()
    table.options += [*SHARED, Option("only", "NAME,...", "only these"),
                      Option("table", "FILE.json", "another table", default=str(PUBLISHED))]
    options = table.parse(arguments)
    models = read_table(options.table)
    if options.only is not None:
        names = chosen([m.name for m in models], options.only.split(","), "published model")
        models = [m for m in models if m.name in names]
    if options.list:
        return show(models)
    folder, failures = destination(options.folder), []
    for model in models:
        progress = Download(model.name, options.quiet)
        try:
            done = fetch(model, folder, progress)
        except Failure as error:
            failures.append(error)
            progress.end()
            sys.stderr.write(f"{TOOL}: error: {error}\n")
            continue
        progress.end()
        print(f"{folder / model.file}: {done}", flush=True)
    return int(failures[0].code) if failures else 0


def draw_table(sizes: type) -> OptionTable:
    table = OptionTable()
    table.positionals.append(Positional("names", many=True))
    table.options += [*SHARED, Option("all", "", "every network"),
                      Option("seed", "N", "seed of the weights", number=True, least=0, default=1)]
    table.options += [Option(field.name.replace("_", "-"), "N", "size of the decoder", number=True, least=0)
                      for field in dataclasses.fields(sizes)]
    return table


def decoder_size(options: SimpleNamespace, names: Sequence[str], sizes: type):
    """The sizes that were requested."""
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(sizes)
             if getattr(options, field.name) is not None}
    if given and "decoder" not in names:
        raise usage(f"--{next(iter(given)).replace('_', '-')} is a size of the decoder, which is not drawn")
    size = sizes(**given)
    if size.problem():
        raise usage(size.problem())
    return size


def draw_command(arguments: Sequence[str]) -> int:
    try:
        from .draw import NETWORKS, DecoderSize
    except ImportError as error:
        raise usage(f"{error}; install python3-numpy and python3-onnx") from None
    options = draw_table(DecoderSize).parse(arguments)
    if options.list:
        for name, draw in NETWORKS.items():
            print(f"{name:<24} {' '.join((draw.__doc__ or '').split())}")
        return 0
    if bool(options.names) == options.all:
        raise usage("name the networks to draw, or --all; --list shows them")
    names = chosen(list(NETWORKS), options.names or list(NETWORKS), "network")
    size = decoder_size(options, names, DecoderSize)
    folder = destination(options.folder)
    with Progress("drawing", len(names), options.quiet) as progress:
        for name in names:
            if name == "decoder" and 4 * size.parameters() > LARGEST:
                said = draw_large(folder, options.seed, size)
            else:
                sizes = {"size": size} if name == "decoder" else {}
                data = NETWORKS[name](options.seed, **sizes).SerializeToString(deterministic=True)
                keep(folder / f"{name}.onnx", data)
                said = f"{folder / name}.onnx: {len(data) / MEGABYTE:.1f} MB"
            progress.step(name)
            print(said, flush=True)
    if not (folder / "load.py").exists():
        write_whole(folder / "load.py", Path(__file__).with_name("inputs.py").read_bytes())
    return 0


def draw_large(folder: Path, seed: int, size: Any) -> str:
    """A decoder with its weights in an external file, which is there first; what to say about it."""
    from .draw import ExternalData, decoder
    path = folder / "decoder.onnx.data"
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(prefix=".", suffix=".partial", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            model = decoder(seed, size, ExternalData(path.name, stream))
        if not path.exists():
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        elif file_digest(path) != file_digest(partial):
            raise another(path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    keep(folder / "decoder.onnx", model.SerializeToString(deterministic=True))
    return f"{path}: {path.stat().st_size / MEGABYTE:.1f} MB"


def another(path: Path) -> Failure:
    return Failure(Exit.MISMATCH, f"{path}: exists with other content; remove it, or choose another "
                                  "folder with -o")


def keep(path: Path, data: bytes) -> None:
    """Writes a drawn network, but never over another file: it may be a trained one."""
    if not path.exists():
        write_whole(path, data)
    elif path.stat().st_size != len(data) or path.read_bytes() != data:
        raise another(path)


def body(arguments: Sequence[str]) -> int:
    if not arguments or {"-h", "--help"} & set(arguments):
        sys.stdout.write(ABOUT)
        return int(Exit.OK if arguments else Exit.USAGE)
    commands = {"fetch": fetch_command, "draw": draw_command}
    if arguments[0] == "--list" or arguments[0].startswith("--only"):
        return fetch_command(arguments)
    if arguments[0] not in commands:
        raise usage(f"unknown command '{arguments[0]}' (known: {', '.join(commands)}), see --help"
                    f"{did_you_mean(arguments[0], commands)}")
    return commands[arguments[0]](arguments[1:])


def main(arguments: Sequence[str]) -> int:
    """Runs the command; its exit code. Errors are one paragraph that begins with its name."""
    try:
        return body(arguments)
    except Failure as error:
        sys.stderr.write(f"{TOOL}: error: {error}\n")
        return int(error.code)
    except KeyboardInterrupt:
        sys.stderr.write(f"{TOOL}: stopped; what arrived is kept, and the same command resumes\n")
        return 130
    except OSError as error:
        sys.stderr.write(f"{TOOL}: error: {error.filename or ''}: {error.strerror or error}\n")
        return int(Exit.CAPACITY)
    except MemoryError:
        sys.stderr.write(f"{TOOL}: error: no more memory\n")
        return int(Exit.CAPACITY)
