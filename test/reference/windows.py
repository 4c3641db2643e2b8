# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Window arithmetic shared by convolution, pooling and im2col.

A window operator has `kernel`, `strides`, `pads` (all begins, then all ends)
and `dilations`, one entry per spatial axis; feature maps are [N, C, spatial].
"""

import itertools

import numpy as np


class Windows:
    def __init__(self, spatial, kernel, attrs):
        rank = len(kernel)
        self.spatial, self.kernel = list(spatial), list(kernel)
        self.strides = list(attrs.get("strides") or [1] * rank)
        self.dilations = list(attrs.get("dilations") or [1] * rank)
        pads = list(attrs.get("pads") or [0] * 2 * rank)
        self.before, self.after = pads[:rank], pads[rank:]

    def outputs(self):
        """Output positions per axis (floor form)."""
        return [(i + b + a - d * (k - 1) - 1) // s + 1
                for i, b, a, d, k, s in zip(
                    self.spatial, self.before, self.after, self.dilations,
                    self.kernel, self.strides)]

    def taps(self):
        """Kernel positions in ascending index order."""
        return itertools.product(*(range(k) for k in self.kernel))

    def padded(self, x, fill, outputs):
        """x with `fill` around it, large enough for all `outputs` windows."""
        widths = [(0, 0)] * (x.ndim - len(self.spatial))
        for axis, size in enumerate(self.spatial):
            need = ((outputs[axis] - 1) * self.strides[axis]
                    + self.dilations[axis] * (self.kernel[axis] - 1) + 1)
            widths.append((max(self.before[axis], 0),
                           max(need - self.before[axis] - size, 0)))
        # Negative padding crops.
        index = [slice(None)] * (x.ndim - len(self.spatial))
        index += [slice(max(-b, 0), None) for b in self.before]
        return np.pad(x[tuple(index)], widths, constant_values=fill)

    def view(self, padded, tap, outputs):
        """What `tap` reads at each output position."""
        index = [slice(None)] * (padded.ndim - len(self.spatial))
        for t, d, s, o in zip(tap, self.dilations, self.strides, outputs):
            start = t * d
            index.append(slice(start, start + (o - 1) * s + 1, s))
        return padded[tuple(index)]

    def valid(self, tap, outputs, low=None, high=None):
        """Boolean map over output positions: the tap reads a coordinate in
        [low, high) (by default a coordinate of the feature map)."""
        result = np.ones([1] * len(outputs), bool)
        for axis, t in enumerate(tap):
            position = (np.arange(outputs[axis]) * self.strides[axis]
                        + t * self.dilations[axis] - self.before[axis])
            lo = 0 if low is None else low[axis]
            hi = self.spatial[axis] if high is None else high[axis]
            inside = (position >= lo) & (position < hi)
            shape = [1] * len(outputs)
            shape[axis] = -1
            result = result & inside.reshape(shape)
        return np.broadcast_to(result, outputs)


def im2col(x, windows, outputs, fill=0):
    """[N, C, taps, positions], taps in ascending order."""
    padded = windows.padded(x, fill, outputs)
    planes = [windows.view(padded, tap, outputs) for tap in windows.taps()]
    stacked = np.stack(planes, axis=2)
    return stacked.reshape(*stacked.shape[:3], -1)
