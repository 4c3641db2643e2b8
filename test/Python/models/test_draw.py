# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn networks: the same bytes everywhere, valid graphs, sensible statistics."""

import hashlib
import unittest

import numpy as np
import onnx

from ashlar.models.draw import NETWORKS, DecoderSize, decoder
from ashlar.models.draw.random import Draws
from ashlar.models.draw.sample import conv, rounded

# Every host draws these bytes; whatever changes a network changes its line.
DIGESTS = {
    "kws_dscnn":
        "fdd5367f1b4129539adf283653630254d44a41f9ea88e0b63a601b97b098ce83",
    "resnet8_cifar10":
        "7ecd0571ba3679245d4bf02b9e15132d91e3bba77f962ed5b3154e7dac2253a8",
    "mnist_cnn":
        "0f61c3e278c72b32864c3d969b90aa7fbe0ed295f7b0f4e24652f570635d1d7a",
    "ad_autoencoder":
        "e96964b3ec140a977b59050b322df6359507cf3127efb1acfb00fe566acaf2e1",
    "mobilenet_v1_0.25_128":
        "3f1eb5d577b4eb84d61932cc0a7098b3705c849b15d14c54958aeba1e27b81d5",
    "kwt1_ln17":
        "9ae2a2d086d79f59b8d746dcce907666d412944e41b2d7e36e1dc42488b30c34",
}
SMALL = ("kws_dscnn", "resnet8_cifar10", "mnist_cnn", "ad_autoencoder", "mobilenet_v1_0.25_128",
         "kwt1_ln17")


class DrawsTest(unittest.TestCase):
    def test_streams(self):
        first, again, other = Draws("a", 1), Draws("a", 1), Draws("a", 2)
        values = first.normal(50_000, deviation=3.0)
        np.testing.assert_array_equal(values, again.normal(50_000, deviation=3.0))
        self.assertFalse(np.array_equal(values, other.normal(50_000, deviation=3.0)))
        self.assertAlmostEqual(float(values.mean()), 0, delta=0.05)
        self.assertAlmostEqual(float(values.std()), 3, delta=0.05)
        self.assertLess(np.abs(values).max(), 3 * 3.5)
        spread = first.uniform(0.8, 1.2, 1000)
        self.assertTrue(0.8 <= spread.min() and spread.max() <= 1.2)

    def test_rounding_hides_the_order_of_sums(self):
        values = np.random.default_rng(1).standard_normal(4096)
        forward, backward = np.add.reduce(values), np.add.reduce(values[::-1])
        self.assertEqual(rounded(forward), rounded(backward))
        self.assertAlmostEqual(float(rounded(np.pi)), np.pi, delta=np.pi * 2**-11)


class SampleTest(unittest.TestCase):
    def test_convolution_by_definition(self):
        source = np.random.default_rng(2)
        for group, outputs in ((1, 6), (2, 6), (4, 4)):
            x, w = source.standard_normal((2, 4, 7, 6)), source.standard_normal((outputs, 4 // group, 3, 2))
            y = conv(x, w, (2, 2), (1, 0, 0, 1), group)
            padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)))
            for c in range(outputs):
                start = c // (outputs // group) * (4 // group)
                window = padded[1, start:start + 4 // group, 2:5, 4:6]
                self.assertAlmostEqual(y[1, c, 1, 2], float((window * w[c]).sum()), places=10)


class NetworksTest(unittest.TestCase):
    def test_same_bytes(self):
        found = {name: hashlib.sha256(NETWORKS[name](1).SerializeToString(deterministic=True)).hexdigest()
                 for name in SMALL}
        self.assertEqual(found, DIGESTS)

    def test_decoder_of_any_size(self):
        for size in (DecoderSize(1, 32, 4, 4, 48, 64, 5), DecoderSize(2, 64, 4, 1, 100, 50, 9)):
            self.assertEqual(size.problem(), "")
            model = decoder(3, size=size)
            onnx.checker.check_model(model, full_check=True)
            weights = sum(int(np.prod(t.dims)) for t in model.graph.initializer
                          if t.name.endswith(".weight") or t.name == "embedding")
            self.assertEqual(weights, size.parameters())
        self.assertIn("multiple of 8", DecoderSize(width=60, heads=4).problem())
        self.assertIn("multiple of kv_heads", DecoderSize(kv_heads=3).problem())
        self.assertIn("at least 1", DecoderSize(layers=0).problem())

    def test_valid(self):
        for name in SMALL:
            onnx.checker.check_model(NETWORKS[name](2), full_check=True)


if __name__ == "__main__":
    unittest.main()
