# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layers do to a few sample inputs, in numpy.

The statistics of normalisations are measured on these samples while a network is drawn,
as training would measure them. Sums of floating-point numbers depend on the library that
adds them, so nothing of a sample reaches a network but numbers rounded to eleven bits.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

SIGNIFICANT = 11


def rounded(values: np.ndarray) -> np.ndarray:
    """Values with few significant bits: the same on every host."""
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, SIGNIFICANT)), exponent - SIGNIFICANT)


def windows(x: np.ndarray, kernel: tuple[int, int], strides: tuple[int, int],
            pads: tuple[int, int, int, int], fill: float) -> np.ndarray:
    """Windows of feature maps: [batch, channels, height, width, kernel height, width]."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    return sliding_window_view(x, kernel, (2, 3))[:, :, ::strides[0], ::strides[1]]


def conv(x: np.ndarray, weight: np.ndarray, strides: tuple[int, int],
         pads: tuple[int, int, int, int], group: int) -> np.ndarray:
    """Convolution of feature maps."""
    views = windows(x, weight.shape[2:], strides, pads, 0.0)
    batch, _, height, width = views.shape[:4]
    if group == x.shape[1] == weight.shape[0]:
        return np.einsum("bchwkl,ckl->bchw", views, weight[:, 0])
    parts = []
    for inputs, kernels in zip(np.split(views, group, 1), np.split(weight, group, 0)):
        rows = inputs.transpose(0, 2, 3, 1, 4, 5).reshape(batch * height * width, -1)
        part = rows @ kernels.reshape(len(kernels), -1).T
        parts.append(part.reshape(batch, height, width, -1).transpose(0, 3, 1, 2))
    return np.concatenate(parts, 1)


def max_pool(x: np.ndarray, kernel: int, stride: int, pad: int) -> np.ndarray:
    """Largest element of each window."""
    return windows(x, (kernel, kernel), (stride, stride), (pad,) * 4, -np.inf).max((4, 5))


def average_pool(x: np.ndarray, kernel: tuple[int, int], stride: int) -> np.ndarray:
    """Mean of each window."""
    return windows(x, kernel, (stride, stride), (0,) * 4, 0.0).mean((4, 5))


def per_channel(values: np.ndarray, rank: int) -> np.ndarray:
    """A vector of channels, shaped to be multiplied with feature maps."""
    return values.reshape(1, -1, *[1] * (rank - 2))


def statistics(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, variance) of each channel. The samples are few, so half of a variance is
    that of all channels."""
    axes = (0, *range(2, x.ndim))
    mean, variance = x.mean(axes), x.var(axes)
    return rounded(mean), rounded((variance + variance.mean()) / 2 + 1e-6)
