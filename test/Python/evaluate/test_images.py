# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes and images."""

import io
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

from ashlar.campaign.errors import Failure
from ashlar.evaluate.images import BadSample, decode, prepare
from ashlar.evaluate.recipes import READY, find_recipe, make_recipe


def picture(height, width, channels=3, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def saved(array, kind, mode=None):
    out = io.BytesIO()
    image = Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
    (image.convert(mode) if mode else image).save(out, kind)
    return out.getvalue()


class Decoding(unittest.TestCase):
    def test_lossless(self):
        for channels in (1, 3):
            image = picture(5, 7, channels)
            self.assertTrue((decode(saved(image, "PNG")) == image).all())

    def test_other_modes(self):
        self.assertEqual(decode(saved(picture(4, 4), "PNG", "P")).shape, (4, 4, 3))
        self.assertEqual(decode(saved(picture(4, 4), "PNG", "RGBA")).shape, (4, 4, 3))
        self.assertEqual(decode(saved(picture(4, 4), "JPEG", "CMYK")).shape, (4, 4, 3))

    def test_bad(self):
        whole = saved(picture(64, 64), "JPEG")
        for data in (b"", b"no image", whole[:len(whole) // 2], b"\x89PNG\r\n\x1a\n" + bytes(50)):
            with self.assertRaises(BadSample):
                decode(data)


class Preparing(unittest.TestCase):
    def test_normalised(self):
        image = picture(6, 6)
        found = prepare(image, find_recipe("normalised"))
        mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
        expected = ((image.astype(np.float32) / np.float32(255) - mean) / std).transpose(2, 0, 1)
        self.assertEqual(found.tobytes(), np.ascontiguousarray(expected).tobytes())

    def test_raw_and_signed(self):
        image = picture(3, 3)
        self.assertTrue((prepare(image, find_recipe("raw")) == image.transpose(2, 0, 1)).all())
        expected = image.astype(np.float32) / np.float32(127.5) - np.float32(1)
        self.assertTrue((prepare(image, find_recipe("signed")) == expected.transpose(2, 0, 1)).all())

    def test_size(self):
        recipe = make_recipe("r", {"resize": 8, "crop": 4})
        for shape in ((10, 30), (30, 10), (8, 8)):
            self.assertEqual(prepare(picture(*shape), recipe).shape, (3, 4, 4))
        self.assertEqual(prepare(picture(9, 9), make_recipe("r", {"resize": [5, 7]})).shape, (3, 5, 7))
        image = picture(8, 10)
        found = prepare(image, make_recipe("r", {"crop": [4, 6], "layout": "nhwc"}))
        self.assertTrue((found == image[2:6, 2:8]).all())

    def test_small_images(self):
        with self.assertRaisesRegex(BadSample, "3x3 pixels, less than the crop of 4x4"):
            prepare(picture(3, 3), make_recipe("r", {"crop": 4}))

    def test_colours(self):
        image = picture(4, 4)
        self.assertTrue((prepare(image, make_recipe("r", {"colour": "bgr"})) ==
                         image[..., ::-1].transpose(2, 0, 1)).all())
        self.assertEqual(prepare(image, find_recipe("grey")).shape, (1, 4, 4))
        grey = picture(4, 4, 1)
        self.assertTrue((prepare(grey, find_recipe("raw"))[2] == grey[..., 0]).all())

    def test_codes(self):
        image = picture(2, 2)
        self.assertEqual(prepare(image, make_recipe("r", {"type": "uint8"})).dtype, np.uint8)
        found = prepare(image, make_recipe("r", {"type": "int8", "layout": "nhwc"}))
        self.assertTrue((found.astype(int) == image.astype(int) - 128).all())

    def test_channels(self):
        with self.assertRaisesRegex(BadSample, "mean has 3 values, the image 1"):
            prepare(picture(2, 2), make_recipe("r", {"colour": "grey", "mean": [1, 2, 3]}))


class Recipes(unittest.TestCase):
    def test_ready_ones(self):
        for name in READY:
            recipe = find_recipe(name)
            self.assertEqual(make_recipe("again", recipe.as_dict()), recipe)

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "r.yaml")
            path.write_text("base: imagenet\nresize: 300\ntask: {kind: tokens, collapse: ctc}\n")
            recipe = find_recipe(str(path))
        self.assertEqual((recipe.resize, recipe.crop, recipe.task["blank"]), (300, 224, 0))

    def test_refused(self):
        for value, words in (
                ({"resise": 1}, "did you mean 'resize'"), ({"resize": "big"}, "pixels"), ({"crop": 0}, "pixels"),
                ({"crop": True}, "pixels"), ({"colour": "blue"}, "rgb, bgr, grey"), ({"std": [1, 0, 1]}, "more than 0"),
                ({"divide": 0}, "more than 0"), ({"mean": "x"}, "number"), ({"base": "imagnet"}, "did you mean"),
                ({"task": "guess"}, "unknown kind"), ({"task": {"kind": "boxes"}}, "scores"),
                ({"task": {"kind": "boxes", "scores": "s", "boxes": "b", "order": "x"}}, "order"),
                ({"crop": 4, "task": {"kind": "boxes", "scores": "s", "boxes": "b"}}, "not crop"),
                ({"task": {"kind": "classes", "blank": 1}}, "unknown key 'blank'"),
                ({"resize": [1, 2, 3]}, "pixels"), ({"task": {"kind": "tokens", "collapse": "x"}}, "collapse")):
            with self.assertRaisesRegex(Failure, words, msg=str(value)) as caught:
                make_recipe("r.yaml", value)
            self.assertEqual(caught.exception.code, 4)
            self.assertIn("r.yaml", str(caught.exception))
        with self.assertRaisesRegex(Failure, "did you mean 'imagenet'"):
            find_recipe("imagnet")


if __name__ == "__main__":
    unittest.main()
