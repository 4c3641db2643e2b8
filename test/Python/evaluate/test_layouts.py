# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of data sets, drawn in a folder, and what is refused of them."""

import gzip
import json
import os
import pickle
import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

from ashlar.campaign.errors import Failure
from ashlar.evaluate.images import BadSample
from ashlar.evaluate.layouts import open_data

DRAW = np.random.default_rng(3)


def pictures(count, height=4, width=4):
    return DRAW.integers(0, 256, (count, height, width, 3), np.uint8)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /dev/null",)


class Layouts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def open(self, path="", labels=None, inputs=("image",), split="test"):
        return open_data(self.folder / path, labels and str(self.folder / labels), list(inputs), split)

    def refused(self, words, *arguments, **keywords):
        with self.assertRaisesRegex(Failure, words) as caught:
            self.open(*arguments, **keywords)
        return caught.exception

    def save(self, name, image):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)

    def test_list_of_labels(self):
        images = pictures(3)
        for k, image in enumerate(images):
            self.save(f"{k}.png", image)
        (self.folder / "labels.csv").write_text("file,label\n2.png,7\n0.png,1\n1.png,0\n")
        samples = self.open()
        self.assertEqual((samples.names, samples.labels), (["2.png", "0.png", "1.png"], [7, 1, 0]))
        self.assertTrue((samples.load(0) == images[2]).all())

    def test_named_labels(self):
        self.save("a b.png", pictures(1)[0])
        (self.folder / "labels.txt").write_text("a b.png dog\n")
        (self.folder / "classes.txt").write_text("cat\ndog\n")
        self.assertEqual(self.open().labels, [1])
        (self.folder / "labels.txt").write_text("a b.png horse\n")
        self.refused("'horse' is not a number and no line")

    def test_labels_that_do_not_match(self):
        for k, image in enumerate(pictures(2)):
            self.save(f"{k}.png", image)
        for text, words in (("0.png 1\n", "1 images of .* have no label, the first is '1.png'"),
                            ("0.png 1\n1.png 1\n9.png 1\n", "1 of 3 files are not in"),
                            ("0.png 1\n0.png 2\n1.png 1\n", "'0.png' appears twice"), ("0.png\n", "expected a file")):
            (self.folder / "labels.txt").write_text(text)
            self.assertEqual(self.refused(words).code, 4)

    def test_folders_by_class(self):
        for name in ("val/n02/x.JPEG", "val/n01/z.JPEG", "val/n01/y.jpg"):
            self.save(name, pictures(1)[0])
        samples = self.open()
        self.assertEqual(samples.names, ["n01/y.jpg", "n01/z.JPEG", "n02/x.JPEG"])
        self.assertEqual((samples.labels, samples.classes), ([0, 0, 1], ["n01", "n02"]))
        (self.folder / "classes.txt").write_text("n02 dog\nn00 fish\nn01 cat\n")
        self.assertEqual(self.open().labels, [2, 2, 0])
        (self.folder / "classes.txt").write_text("n02\n")
        self.refused("folder 'n01' is not a class")

    def test_no_labels(self):
        self.save("a.png", pictures(1)[0])
        np.save(self.folder / "b.npy", np.zeros((2, 3), np.float32))
        samples = self.open()
        self.assertIsNone(samples.labels)
        self.assertEqual(samples.load(1)[""].shape, (2, 3))

    def test_bad_files_are_bad_samples(self):
        (self.folder / "a.png").write_bytes(b"no image")
        np.save(self.folder / "b.npy", np.array([Evil()], object), allow_pickle=True)
        samples = self.open()
        for k in range(2):
            with self.assertRaises(BadSample):
                samples.load(k)

    def test_npz(self):
        images = pictures(5)
        np.savez(self.folder / "a.npz", images=images, labels=np.arange(5))
        samples = self.open("a.npz")
        self.assertFalse(samples.raw)
        self.assertTrue((samples.load(3) == images[3]).all())
        np.savez(self.folder / "b.npz", image=np.zeros((5, 1, 2), np.float32), labels=np.arange(5)[:, None])
        samples = self.open("b.npz")
        self.assertTrue(samples.raw)
        self.assertEqual((samples.labels, samples.load(0)["image"].shape), ([0, 1, 2, 3, 4], (1, 2)))

    def test_npz_refused(self):
        for arrays, words in (
                ({"images": pictures(3), "labels": np.arange(2)}, "2 labels for 3 samples"),
                ({"images": pictures(3), "labels": np.ones(3)}, "expected integers"),
                ({"other": pictures(3)}, "has the arrays other; expected"),
                ({"images": np.zeros((3, 4, 4, 2), np.uint8)}, "3x4x4x2"), ({"image": np.zeros(())}, "no length"),
                ({"images": np.array([Evil()], object)}, "plain arrays")):
            np.savez(self.folder / "a.npz", **arrays)
            self.assertEqual(self.refused(words, "a.npz").code, 4)
        (self.folder / "a.npz").write_bytes(b"PK\x03\x04" + bytes(40))
        self.refused("not an .npz file", "a.npz")
        np.savez_compressed(self.folder / "a.npz", images=pictures(30), labels=np.arange(30))
        whole = (self.folder / "a.npz").read_bytes()
        draw = np.random.default_rng(4)
        for _ in range(200):
            data = np.frombuffer(whole, np.uint8).copy()
            data[draw.integers(0, len(data), 3)] = draw.integers(0, 256, 3)
            (self.folder / "a.npz").write_bytes(data.tobytes())
            try:
                self.open("a.npz")
            except Failure as failure:
                self.assertEqual(failure.code, 4)

    def test_mnist(self):
        images, labels = pictures(6)[..., 0], np.arange(6, dtype=np.uint8)
        pixels = struct.pack(">HBBIII", 0, 8, 3, 6, 4, 4) + images.tobytes()
        (self.folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(pixels))
        (self.folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, 6) + labels.tobytes())
        samples = self.open()
        self.assertEqual(samples.labels, labels.tolist())
        self.assertTrue((samples.load(4)[..., 0] == images[4]).all())
        self.refused("no file train-images", split="train")
        (self.folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(pixels[:-1]))
        self.refused("not an idx file: 95 bytes, its header says 96")

    def test_cifar(self):
        images = pictures(4, 32, 32)
        planes = images.transpose(0, 3, 1, 2).reshape(4, 3072)
        records = np.concatenate([np.array([[3], [1], [4], [1]], np.uint8), planes], axis=1)
        (self.folder / "cifar-10-batches-bin").mkdir()
        (self.folder / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(records.tobytes())
        python = self.folder / "py" / "cifar-10-batches-py"
        python.mkdir(parents=True)
        with open(python / "test_batch", "wb") as out:
            pickle.dump({b"data": planes, b"labels": [3, 1, 4, 1]}, out, protocol=2)
        for path in ("", "py"):
            samples = self.open(path)
            self.assertEqual(samples.labels, [3, 1, 4, 1], path)
            self.assertTrue((samples.load(2) == images[2]).all(), path)
        (self.folder / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(records.tobytes()[:-1])
        self.refused("not a file of records of 3073 bytes")

    def test_cifar_100(self):
        planes = pictures(2, 32, 32).transpose(0, 3, 1, 2).reshape(2, 3072)
        fine = np.array([[1, 90], [2, 80]], np.uint8)
        (self.folder / "test.bin").write_bytes(np.concatenate([fine, planes], axis=1).tobytes())
        self.assertEqual(self.open().labels, [90, 80])

    def test_pickles_that_call(self):
        (self.folder / "data_batch_1").write_bytes(b"")
        with open(self.folder / "test_batch", "wb") as out:
            pickle.dump({b"data": Evil()}, out)
        self.refused("it would call posix.system")

    def test_boxes(self):
        self.save("a.png", pictures(1, 10, 20)[0])
        value = {"images": [{"id": 7, "file_name": "a.png", "width": 20, "height": 10}],
                 "categories": [{"id": 3}, {"id": 1}],
                 "annotations": [{"image_id": 7, "category_id": 3, "bbox": [2, 1, 4, 5], "iscrowd": 0}]}
        (self.folder / "annotations.json").write_text(json.dumps(value))
        self.assertEqual(self.open().boxes, [[[1, 0.1, 0.1, 0.3, 0.6, 0]]])
        for key, broken in (("images", 3), ("images", [{"id": 7, "width": 20, "height": 10}]), ("annotations", [{}]), ("categories", [])):
            (self.folder / "annotations.json").write_text(json.dumps({**value, key: broken}))
            self.refused("not COCO annotations")

    def test_nothing(self):
        self.refused("neither images nor folders")
        self.refused("no such file", "absent")
        self.refused("no such file", "", "absent.txt")


if __name__ == "__main__":
    unittest.main()
