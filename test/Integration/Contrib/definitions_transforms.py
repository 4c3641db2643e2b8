# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of real signals."""

import numpy as np

from definitions import Case


def parts(spectrum):
    return np.stack([spectrum.real, spectrum.imag], -1)


def numbers(x):
    return x[..., 0] + 1j * x[..., 1]


CASES = [
    Case("rfft", """
(float[3,8] x) => (float[3,5,2] y)
{ y = com.microsoft.Rfft<signal_ndim = 1>(x) }""",
         lambda x: parts(np.fft.rfft(x))),
    Case("rfft_of_planes", """
(float[2,5,6] x) => (float[2,5,4,2] y)
{ y = com.microsoft.Rfft<signal_ndim = 2, onesided = 1, normalized = 0>(x)
}""", lambda x: parts(np.fft.rfft2(x))),
    Case("irfft", """
(float[3,5,2] x) => (float[3,8] y)
{ y = com.microsoft.Irfft<signal_ndim = 1>(x) }""",
         lambda x: np.fft.irfft(numbers(x))),
    Case("irfft_of_planes", """
(float[2,5,4,2] x) => (float[2,5,6] y)
{ y = com.microsoft.Irfft<signal_ndim = 2>(x) }""",
         lambda x: np.fft.irfft2(numbers(x))),
]
