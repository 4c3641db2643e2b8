#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the demo network's data: distorted, noisy glyphs of 28x28 pixels.

The glyphs come from the bitmap font that PIL carries inside itself, so the
data depends on no font file. Everything follows from the seed.
"""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CLASSES = "0123456789AEHKRT"
SIZE = 28
# Glyphs are drawn this many times larger than the font's 6x11 pixels before
# they are distorted, so that rotation works on smooth edges.
SCALE = 8


def masters():
    """One large grey image per class, white ink on black."""
    font = ImageFont.load_default()
    images = []
    for text in CLASSES:
        small = Image.new("L", (8, 13), 0)
        ImageDraw.Draw(small).text((1, 1), text, fill=255, font=font)
        images.append(small.resize((8 * SCALE, 13 * SCALE), Image.BICUBIC))
    return images


def draw(master, rng):
    """One distorted sample: rotation, scale, shear, shift, blur by resampling."""
    angle = np.deg2rad(rng.uniform(-18, 18))
    zoom = rng.uniform(3.6, 5.2)
    stretch = rng.uniform(0.85, 1.15)
    shear = rng.uniform(-0.2, 0.2)
    shift = rng.uniform(-2.5, 2.5, 2)
    cos, sin = np.cos(angle), np.sin(angle)
    # The affine map goes from output pixels to master pixels.
    to_master = np.array([[cos, sin + shear], [-sin, cos]]) * zoom
    to_master[0] *= stretch
    centre = np.array(master.size) / 2
    offset = centre - to_master @ (np.array([SIZE, SIZE]) / 2 + shift)
    image = master.transform(
        (SIZE, SIZE), Image.AFFINE,
        (to_master[0, 0], to_master[0, 1], offset[0],
         to_master[1, 0], to_master[1, 1], offset[1]), Image.BILINEAR)
    return np.asarray(image, np.float32)


def batch(count, rng, images=None):
    """`count` samples: (uint8 [count, 28, 28], labels int64 [count])."""
    images = images or masters()
    labels = rng.integers(0, len(CLASSES), count)
    pixels = np.empty((count, SIZE, SIZE), np.float32)
    for i, label in enumerate(labels):
        ink = rng.uniform(0.55, 1.0)
        pixels[i] = draw(images[label], rng) * ink
    background = rng.uniform(0, 60, (count, 1, 1))
    noise = rng.normal(0, 1, pixels.shape) * rng.uniform(5, 25, (count, 1, 1))
    pixels = np.clip(pixels + background + noise, 0, 255)
    return np.rint(pixels).astype(np.uint8), labels.astype(np.int64)


def network_input(pixels):
    """uint8 images to what the network takes: f32 [n, 1, 28, 28], centred."""
    return ((pixels.astype(np.float32) - np.float32(64)) / np.float32(64))[:, None]
