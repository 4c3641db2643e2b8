#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network that recognises sounds, and writes it as ONNX with test samples.

usage: tones.py OUT_DIR [--steps=N] [--seed=N]

Half a second of sound at 8 kHz is one of eight things: a low or a high tone, a rising or
a falling chirp, two beeps, a chord, a warble, or nothing but noise. The network sees the
logarithm of its spectrogram, as keyword spotting does. Writes tones.onnx and tones.npz
(`spectrogram`, `labels`). Seconds on one core; everything follows from the seed.
"""

import argparse
import os

import numpy as np

import exporter
import layers

CLASSES = ("low", "high", "rising", "falling", "beeps", "chord", "warble", "noise")
RATE, LENGTH = 8000, 4096
WINDOW, HOP, BANDS = 256, 120, 32
BATCH = 32
TEST = 256


def sound(label, rng):
    """One sound without its noise, amplitude 1."""
    t = np.arange(LENGTH) / RATE
    low, high = rng.uniform(250, 700), rng.uniform(1400, 2800)
    name = CLASSES[label]
    frequency = {"low": low, "high": high}.get(name, np.full(LENGTH, rng.uniform(400, 2500)))
    share = t / t[-1]
    if name in ("rising", "falling"):
        frequency = low + (high - low) * (share if name == "rising" else 1 - share)
    if name == "warble":
        frequency = 1200 + 500 * np.sin(2 * np.pi * rng.uniform(6, 10) * t)
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(frequency, LENGTH)) / RATE
    wave = np.sin(phase + rng.uniform(0, 6))
    if name == "beeps":
        gap = rng.uniform(0.35, 0.5)
        wave *= (share < gap - 0.12) | (share > gap + 0.12)
    if name == "chord":
        wave = (np.sin(2 * np.pi * low * t) + np.sin(2 * np.pi * (low + 900) * t)
                + np.sin(2 * np.pi * (low + 1900) * t)) / 1.7
    return wave * (name != "noise")


def batch(count, rng):
    """(spectrograms [count, 1, 32, 32], labels)"""
    labels = rng.integers(0, len(CLASSES), count)
    waves = np.stack([sound(label, rng) for label in labels])
    waves *= rng.uniform(0.3, 1, (count, 1))
    waves += rng.standard_normal(waves.shape) * rng.uniform(0.05, 0.8, (count, 1))
    starts = np.arange(32) * HOP
    frames = waves[:, starts[:, None] + np.arange(WINDOW)] * np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(frames, axis=2)[:, :, 1:1 + 3 * BANDS]) ** 2
    bands = power.reshape(count, 32, BANDS, 3).sum(3)
    values = (np.log(bands + 1e-2) - 2.5) / 3
    return values.transpose(0, 2, 1)[:, None].astype(np.float32), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    network = [layers.Conv3x3(1, 8, rng), layers.Relu(), layers.MaxPool2(),
               layers.Conv3x3(8, 16, rng), layers.Relu(), layers.MaxPool2(),
               layers.Conv3x3(16, 32, rng), layers.Relu(), layers.MaxPool2(),
               exporter.Flatten(), layers.Linear(512, len(CLASSES), rng)]

    def step():
        values, labels = batch(BATCH, rng)
        return layers.cross_entropy(exporter.run(network, values.transpose(0, 2, 3, 1)), labels)

    exporter.fit(network, options.steps, step)
    values, labels = batch(TEST, np.random.default_rng(options.seed + 1_000_003))
    logits = exporter.run(network, values.transpose(0, 2, 3, 1))
    print(f"accuracy on {TEST} fresh samples: {(logits.argmax(1) == labels).mean():.3f}")
    out = exporter.Exporter("tones")
    out.features(network, "spectrogram")
    out.save(options.out, [("spectrogram", exporter.FLOAT, [1, 1, BANDS, 32])],
             [("logits", exporter.FLOAT, [1, len(CLASSES)])])
    np.savez_compressed(os.path.join(options.out, "tones.npz"), spectrogram=values, labels=labels)


if __name__ == "__main__":
    main()
