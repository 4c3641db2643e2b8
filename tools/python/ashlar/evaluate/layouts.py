# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of data sets: folders of images, .npz, MNIST's and CIFAR's files."""

import gzip
import io
import json
import math
import os
import pickle
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..campaign.errors import malformed, usage
from .data import Samples, check_labels
from .images import SUFFIXES

IMAGE_KEYS = ("images", "image", "x_test", "x", "data", "x_train")
LABEL_KEYS = ("labels", "label", "y_test", "y", "targets", "y_train")
LABEL_FILES = ("labels.csv", "labels.txt", "val.txt", "test.txt")
CLASS_FILES = ("classes.txt", "class_names.txt")
BOX_FILES = ("annotations.json", "instances.json")
LARGEST = 1 << 34  # bytes of an array that is read whole


def open_data(path: Path, labels: str | None, inputs: list[str], split: str) -> Samples:
    """The samples at a path, whatever layout it has. `inputs` are the model's."""
    if path.is_file():
        if path.suffix == ".npz":
            return _npz(path, inputs)
        if "ubyte" in path.name:
            return _mnist(path.parent, split)
        raise malformed(f"{path}: expected a folder or an .npz file")
    if not path.is_dir():
        raise malformed(f"{path}: no such file or folder")
    names = {entry.name for entry in path.iterdir()}
    if any("idx3-ubyte" in name for name in names):
        return _mnist(path, split)
    for inner in ("cifar-10-batches-py", "cifar-10-batches-bin", "cifar-100-python", "cifar-100-binary"):
        if inner in names:
            return open_data(path / inner, labels, inputs, split)
    if {"test_batch", "data_batch_1"} & names or {"test_batch.bin", "test.bin"} & names \
            or {"meta", "test", "train"} <= names and (path / "meta").is_file():
        return _cifar(path, names, split)
    for inner in ((split, "val") if split == "test" else (split,)):
        if inner in names and (path / inner).is_dir() and not _direct(path):
            return _folder(path / inner, labels, path)
    return _folder(path, labels, path)


def _direct(path: Path) -> bool:
    """Whether samples lie in the folder itself."""
    return any(_sample(entry.name) for entry in path.iterdir())


def _sample(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith((*SUFFIXES, ".npy"))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise malformed(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise malformed(f"{path}: not UTF-8 text") from None


def _folder(path: Path, labels: str | None, top: Path) -> Samples:
    """Images with a file of labels, or in one folder per class."""
    classes = next((_lines(folder / name) for folder in (path, top) for name in CLASS_FILES
                    if (folder / name).is_file()), None)
    boxes = next((path / name for name in BOX_FILES if (path / name).is_file()), None)
    given = Path(labels) if labels else None
    if given and not given.is_file():
        raise usage(f"--labels={labels}: no such file")
    if given and given.suffix == ".json":
        boxes, given = given, None
    if boxes:
        return _annotated(path, boxes)
    if given is None:
        given = next((path / name for name in LABEL_FILES if (path / name).is_file()), None)
    if given:
        return _listed(path, given, classes)
    if _direct(path):
        files = sorted(entry.name for entry in path.iterdir() if _sample(entry.name))
        return Samples("folder", files, folder=path, files=files)
    return _classes(path, classes)


def _classes(path: Path, classes: list[str] | None) -> Samples:
    """A folder per class, as ImageNet's val/n01440764/*.JPEG: numbers in the order
    of classes.txt, else of the names."""
    folders = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    files = [(folder, f"{folder}/{name}") for folder in folders
             for name in sorted(os.listdir(path / folder)) if _sample(name)]
    if not files:
        raise malformed(f"{path}: neither images nor folders of images (of {', '.join(SUFFIXES)}, .npy)")
    order = [line.split()[0] for line in classes if line.strip()] if classes else folders
    unknown = sorted({folder for folder, _ in files} - set(order))
    if unknown and classes:
        raise malformed(f"{path}: folder '{unknown[0]}' is not a class of the list of classes")
    names = [name for _, name in files]
    return Samples("folders by class", names, [order.index(folder) for folder, _ in files], order, path, names)


def _listed(path: Path, labels: Path, classes: list[str] | None) -> Samples:
    """Lines of file and label, by blanks or a comma; a first line of titles is skipped."""
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(_lines(labels), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, label = (line.rpartition(",") if "," in line else line.strip().rpartition(" "))
        if not name:
            raise malformed(f"{labels}:{number}: expected a file and its label, found '{line[:60]}'")
        rows.append((name.strip(), label.strip()))
    if rows and not _sample(rows[0][0]):
        rows = rows[1:]
    names = [name for name, _ in rows]
    missing = [name for name in names if not (path / name).is_file()]
    if missing:
        raise malformed(f"{labels}: {len(missing)} of {len(names)} files are not in {path}, the first is "
                        f"'{missing[0]}'")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise malformed(f"{labels}: '{twice}' appears twice")
    extra = sorted({e.name for e in path.iterdir() if _sample(e.name)} - set(names))
    if extra:
        raise malformed(f"{labels}: {len(extra)} images of {path} have no label, the first is '{extra[0]}'")
    if not rows:
        raise malformed(f"{labels}: no labels")
    return Samples("folder with labels", names, [_label(labels, label, classes) for _, label in rows],
                   classes, path, names)


def _label(where: Path, text: str, classes: list[str] | None) -> int:
    if text.lstrip("-").isdigit():
        return int(text)
    if classes and text in classes:
        return classes.index(text)
    raise malformed(f"{where}: label '{text[:40]}' is not a number"
                    + (" and no line of the list of classes" if classes else "; names need a classes.txt"))


def _annotated(path: Path, boxes: Path) -> Samples:
    """Boxes as COCO has them; kept as shares of the image's size."""
    try:
        value = json.loads(boxes.read_bytes())
        kinds = sorted(entry["id"] for entry in value["categories"])
        images = {entry["id"]: entry for entry in value["images"]}
        truth: dict[Any, list] = {key: [] for key in images}
        for entry in value["annotations"]:
            image = images[entry["image_id"]]
            x, y, w, h = (float(n) for n in entry["bbox"])
            width, height = float(image["width"]), float(image["height"])
            truth[entry["image_id"]].append(
                [kinds.index(entry["category_id"]), x / width, y / height, (x + w) / width, (y + h) / height,
                 int(entry.get("iscrowd", 0))])
        keys = sorted(images, key=lambda key: str(images[key]["file_name"]))
        names = [str(images[key]["file_name"]) for key in keys]
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise malformed(f"{boxes}: not COCO annotations: {type(error).__name__} {error}") from None
    missing = [name for name in names if not (path / name).is_file()]
    if missing:
        raise malformed(f"{boxes}: {len(missing)} of {len(names)} files are not in {path}, the first is "
                        f"'{missing[0]}'")
    return Samples("folder with boxes", names, folder=path, files=names, boxes=[truth[key] for key in keys])


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile,
            zlib.error) as error:
        raise malformed(f"{path}: not an .npz file of plain arrays: {error}") from None


def _npz(path: Path, inputs: list[str]) -> Samples:
    """Arrays by the model's input names as they are, else images; labels next to them."""
    arrays = read_npz(path)
    label = next((name for name in LABEL_KEYS if name in arrays), None)
    chosen, raw = {name: arrays[name] for name in inputs if name in arrays}, True
    if len(chosen) != len(inputs):
        image = next((name for name in IMAGE_KEYS if name in arrays), None)
        if image is None or len(inputs) != 1:
            raise malformed(f"{path}: has the arrays {', '.join(arrays) or 'none'}; expected the model's inputs "
                            f"({', '.join(inputs)}) or one of {', '.join(IMAGE_KEYS)}")
        chosen, raw = {image: _images(path, image, arrays[image])}, False
    counts = {len(array) if array.ndim else 0 for array in chosen.values()}
    if len(counts) != 1 or 0 in counts:
        raise malformed(f"{path}: arrays of unequal or no length on axis 0")
    names = [f"{path.name}[{k}]" for k in range(counts.pop())]
    labels = None
    if label:
        check_labels(f"{path}: {label}", list(arrays[label]), names)
        if arrays[label].dtype.kind not in "iu":
            raise malformed(f"{path}: {label} has the type {arrays[label].dtype}, expected integers")
        labels = _integers(arrays[label])
    return Samples("npz", names, labels, folder=path.parent, files=[path.name], arrays=chosen, raw=raw)


def _integers(labels: np.ndarray) -> list:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    return labels.tolist()


def _images(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[3] not in (1, 3):
        raise malformed(f"{path}: {name} has the shape {'x'.join(map(str, array.shape))}, expected images as "
                        "N x height x width x 1 or 3")
    return array


def _mnist(path: Path, split: str) -> Samples:
    """The idx files of MNIST and its relatives, plain or gzip."""
    start = "train" if split == "train" else "t10k"
    found = {}
    for kind in ("images", "labels"):
        names = [entry.name for entry in sorted(path.iterdir())
                 if entry.name.startswith(start) and f"{kind}" in entry.name and "ubyte" in entry.name]
        if not names:
            raise malformed(f"{path}: no file {start}-{kind}-*-ubyte for the split '{split}'")
        found[kind] = names[0]
    images, labels = (_idx(path / found[kind]) for kind in ("images", "labels"))
    names = [f"{found['images']}[{k}]" for k in range(len(images))]
    check_labels(str(path / found["labels"]), labels.tolist(), names)
    return Samples("mnist", names, labels.tolist(), folder=path, files=list(found.values()),
                   arrays={"": _images(path, found["images"], images)})


def _idx(path: Path) -> np.ndarray:
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(LARGEST)
        zero, kind, rank = struct.unpack(">HBB", data[:4])
        shape = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
        if zero or kind != 8 or not rank:
            raise ValueError("its header is of another kind")
        start = 4 + 4 * rank
        if math.prod(shape) != len(data) - start:
            raise ValueError(f"{len(data) - start} bytes, its header says {math.prod(shape)}")
        return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise malformed(f"{path}: not an idx file: {error}") from None


def _cifar(path: Path, names: set[str], split: str) -> Samples:
    """CIFAR-10 and -100: batches of Python or of records."""
    train = split == "train"
    if "test.bin" in names:
        chosen, binary, labels = ["train.bin" if train else "test.bin"], True, 2
    elif "test_batch.bin" in names:
        chosen, binary, labels = ([f"data_batch_{k}.bin" for k in range(1, 6)] if train
                                  else ["test_batch.bin"]), True, 1
    elif "meta" in names:
        chosen, binary, labels = ["train" if train else "test"], False, 2
    else:
        chosen, binary, labels = ([f"data_batch_{k}" for k in range(1, 6)] if train
                                  else ["test_batch"]), False, 1
    parts = [_records(path / name, labels) if binary else _batch(path / name) for name in chosen]
    images = np.concatenate([part[0] for part in parts]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    found = [label for part in parts for label in part[1]]
    return Samples("cifar", [f"{split}[{k}]" for k in range(len(images))], found, folder=path, files=chosen,
                   arrays={"": images})


def _records(path: Path, labels: int) -> tuple[np.ndarray, list[int]]:
    """Records of the labels (of -100 the coarse one first) and 3072 bytes."""
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
        if not data.size:
            raise ValueError("empty")
        data = data.reshape(-1, labels + 3072)
    except (OSError, ValueError) as error:
        raise malformed(f"{path}: not a file of records of {labels + 3072} bytes: {error}") from None
    return data[:, labels:], data[:, labels - 1].tolist()


class _Arrays(pickle.Unpickler):
    """Pickles of arrays and plain values: nothing else is constructed or called."""

    ALLOWED = {("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"),
               ("numpy.core.multiarray", "scalar"), ("_codecs", "encode"),
               ("numpy._core.multiarray", "_reconstruct")}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it would call {module}.{name}")
        return super().find_class(module, name)


def _batch(path: Path) -> tuple[np.ndarray, list[int]]:
    try:
        with open(path, "rb") as stream:
            value = _Arrays(stream, encoding="bytes").load()
        data = np.asarray(value[b"data"], np.uint8).reshape(-1, 3072)
        labels = [int(label) for label in value.get(b"fine_labels", value.get(b"labels"))]
    except Exception as error:  # a hostile pickle may raise anything
        raise malformed(f"{path}: not a CIFAR batch: {error}") from None
    check_labels(str(path), labels, [""] * len(data))
    return data, labels
