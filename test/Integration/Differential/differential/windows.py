# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pooling, resizing: windows over one to three spatial axes."""

import math

import numpy as np

from .network import fits

CHANNELS = [1, 2, 3, 4, 5, 8, 8, 12, 16, 16, 17, 24, 31, 32, 33, 48, 64]


def spatial(net, x, ranks=(3, 4, 4, 4, 5)):
    """The operand as a feature map of channels; reshaped where its rank is another."""
    fits(x.is_float)
    if 3 <= x.rank <= 5:
        return x
    fits(x.rank >= 1)
    if x.rank <= 2:
        return net.reshape(x, (1,) * (net.pick(ranks) - x.rank) + x.shape)
    return net.reshape(x, x.shape[:2] + (x.shape[2], math.prod(x.shape[3:])))


def out_extent(n, kernel, stride, dilation, low, high, ceil=False):
    room = n + low + high - (dilation * (kernel - 1) + 1)
    fits(room >= 0)
    if not ceil:
        return room // stride + 1
    # Whether a window may begin in the padding at the end depends on the operator set.
    out = -(-room // stride) + 1
    fits((out - 1) * stride < n + low)
    return out


class Window:
    """Kernel, strides, dilations and padding of one feature map, and the extents of its result."""

    def __init__(self, net, extents, kernels=(1, 1, 2, 3, 3, 3, 4, 5, 7), strides=(1, 1, 1, 2, 3),
                 dilations=(1, 1, 1, 2, 3), automatic=True):
        same = net.chance(0.6)
        kernel = net.pick(kernels)
        self.kernel = [kernel if same else net.pick(kernels) for _ in extents]
        stride = net.pick(strides)
        self.strides = [stride if same else net.pick(strides) for _ in extents]
        dilation = net.pick(dilations)
        self.dilations = [dilation if same else net.pick(dilations) for _ in extents]
        self.auto = None
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilations, self.kernel)]
        kind = net.rng.random()
        if automatic and kind < 0.15:
            self.auto = net.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
            low = high = [0] * len(extents)
        elif kind < 0.5:
            low = high = [r // 2 for r in reach]
        elif kind < 0.85:
            low, high = ([net.between(0, r - 1) for r in reach] for _ in range(2))
        else:  # as large as the kernel and larger
            low, high = ([net.between(0, 2 * r) for r in reach] for _ in range(2))
        self.low, self.high, self.reach = low, high, reach

    def limit(self):
        """Padding that pooling allows: less than the kernel."""
        self.low = [min(p, k - 1) for p, k in zip(self.low, self.kernel)]
        self.high = [min(p, k - 1) for p, k in zip(self.high, self.kernel)]
        return self

    def out(self, extents, ceil=False):
        if self.auto and self.auto != "VALID":
            fits(max(self.dilations) == 1 and min(
                k - s for k, s in zip(self.kernel, self.strides)) >= 0)
            return tuple(-(-n // s) for n, s in zip(extents, self.strides))
        return tuple(out_extent(*v, ceil) for v in zip(extents, self.kernel, self.strides,
                                                       self.dilations, self.low, self.high))

    def attributes(self, dilations=True):
        found = {"kernel_shape": self.kernel, "strides": self.strides}
        if dilations:
            found["dilations"] = self.dilations
        if self.auto:
            return {**found, "auto_pad": self.auto}
        return {**found, "pads": list(self.low) + list(self.high)}


def conv(net, x, **window):
    x = spatial(net, x)
    n, c, *extents = x.shape
    win = Window(net, extents, **window)
    shape = win.out(extents)
    groups = [g for g in (2, 3, 4, 8) if c % g == 0]
    group = 1
    if net.chance(0.35):
        group = c if net.chance(0.6) or not groups else net.pick(groups)
    outs = net.pick(CHANNELS) if group == 1 else group * net.pick([1, 1, 1, 2, 3])
    depth = c // group * math.prod(win.kernel)
    fits(outs * depth <= 1 << 17)
    net.work(n * outs * math.prod(shape) * depth)
    operands = [x, net.weights((outs, c // group, *win.kernel), depth)]
    if net.chance(0.6):
        operands.append(net.vector((outs,)))
    y = net.node("Conv", operands, (n, outs, *shape), group=group, **win.attributes())
    return follow(net, y)


def follow(net, y):
    """What exporters put after a convolution."""
    kind = net.rng.random()
    if kind < 0.15:
        c = y.shape[1]
        rest = [net.vector((c,), 0.5, 1.5), net.vector((c,)), net.vector((c,)),
                net.vector((c,), 0.5, 2)]
        y = net.like("BatchNormalization", y, *rest)
    if kind < 0.4:
        return net.like("Relu", y)
    return net.clip(y, 0, 6) if kind < 0.5 else y


def conv_transpose(net, x):
    x = spatial(net, x)
    n, c, *extents = x.shape
    win = Window(net, extents, kernels=(1, 2, 3, 3, 4, 5), strides=(1, 2, 2, 3), automatic=False)
    group = net.pick([g for g in (1, 1, 1, 2, c) if c % g == 0])
    outs = group * net.pick([1, 2, 4, 8] if group == 1 else [1, 2])
    more = [net.between(0, s - 1) if net.chance(0.3) else 0 for s in win.strides]
    shape = [(i - 1) * s + r + m - a - b for i, s, r, m, a, b in zip(
        extents, win.strides, win.reach, more, win.low, win.high)]
    fits(min(shape) > 0)
    depth = c // group * math.prod(win.kernel)
    net.work(n * outs * math.prod(shape) * depth)
    operands = [x, net.weights((c, outs // group, *win.kernel), depth)]
    if net.chance(0.4):
        operands.append(net.vector((outs,)))
    return net.node("ConvTranspose", operands, (n, outs, *shape), group=group, output_padding=more,
                    **win.attributes())


def conv_input(net, x):
    """Weights that are another input of the network."""
    x = spatial(net, x)
    n, c, *extents = x.shape
    win = Window(net, extents, kernels=(1, 2, 3), automatic=False)
    shape, outs = win.out(extents), net.pick([1, 3, 4, 8, 16])
    depth = c * math.prod(win.kernel)
    fits(outs * depth <= 1 << 13)
    net.work(n * outs * math.prod(shape) * depth)
    y = net.node("Conv", [x, net.input((outs, c, *win.kernel))], (n, outs, *shape),
                 **win.attributes())
    return net.node("Mul", [y, net.number(depth ** -0.5)], y.shape)


def shared_conv(net, x):
    """One set of weights for two convolutions of the same channels in turn."""
    x = spatial(net, x)
    c, rank = x.shape[1], x.rank - 2
    kernel = net.pick([1, 3])
    fits(c * c * kernel ** rank <= 1 << 16)
    weights = net.weights((c, c) + (kernel,) * rank, c * kernel ** rank)
    for _ in range(2):
        net.work(x.size * c * kernel ** rank)
        x = net.like("Conv", x, weights, pads=[kernel // 2] * (2 * rank))
        x = net.like("Relu", x) if net.chance(0.5) else x
    return x


def residual(net, x):
    """A sum with what two convolutions make of the same map."""
    x = spatial(net, x)
    c, rank = x.shape[1], x.rank - 2
    y = x
    for _ in range(net.between(1, 2)):
        kernel = net.pick([1, 3])
        fits(c * c * kernel ** rank <= 1 << 16)
        net.work(x.size * c * kernel ** rank)
        y = net.like("Conv", y, net.weights((c, c) + (kernel,) * rank, c * kernel ** rank),
                     net.vector((c,)), pads=[kernel // 2] * (2 * rank))
        y = net.like("Relu", y) if net.chance(0.5) else y
    return net.like("Add", *((x, y) if net.chance(0.5) else (y, x)))


def pool(net, x, kernels=(1, 2, 3, 3, 5)):
    x = spatial(net, x)
    n, c, *extents = x.shape
    op = net.pick(["MaxPool", "MaxPool", "AveragePool"])
    dilated = net.opset >= (10 if op == "MaxPool" else 19) and net.chance(0.2)
    win = Window(net, extents, kernels=kernels, strides=(1, 2, 2, 3),
                 dilations=(1, 2) if dilated else (1,)).limit()
    attributes = win.attributes(dilated)
    ceil = net.opset >= 10 and not win.auto and net.chance(0.3)
    if ceil:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and net.chance(0.4):
        attributes["count_include_pad"] = 1
    return net.node(op, [x], (n, c) + win.out(extents, ceil), **attributes)


def large_pool(net, x):
    return pool(net, x, kernels=(2, 3, 4, 5, 5, 6, 7, 9))


def pool_chain(net, x):
    for _ in range(net.between(2, 3)):
        x = pool(net, x)
    return x


def global_pool(net, x):
    x = spatial(net, x)
    shape = x.shape[:2] + (1,) * (x.rank - 2)
    return net.node(net.pick(["GlobalAveragePool", "GlobalMaxPool"]), [x], shape)


def gate(net, x):
    """Squeeze and excitation."""
    x = spatial(net, x)
    c, rank = x.shape[1], x.rank - 2
    y = net.node("GlobalAveragePool", [x], x.shape[:2] + (1,) * rank)
    fits(c <= 128)
    y = net.like("Conv", y, net.weights((c, c) + (1,) * rank, c))
    return net.like("Mul", x, net.like("Sigmoid", y))


def resize(net, x):
    """Nearest and linear, by scales or sizes."""
    fits(net.opset >= 10)
    x = spatial(net, x)
    scales = [net.pick([1.0, 2.0, 2.0, 3.0, 0.5]) for _ in x.shape[2:]]
    fits(all(n * s == int(n * s) and n * s > 0 for n, s in zip(x.shape[2:], scales)))
    shape = x.shape[:2] + tuple(int(n * s) for n, s in zip(x.shape[2:], scales))
    linear = x.rank == 4 and net.chance(0.4)
    factors = net.constant(np.array([1, 1, *scales], np.float32), "scales")
    if net.opset == 10:
        fits(not linear)
        return net.node("Resize", [x, factors], shape, mode="nearest")
    if linear:
        attributes = {"mode": "linear", "coordinate_transformation_mode": net.pick(
            ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])}
    else:
        attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                      "nearest_mode": "floor"}
    roi = net.constant(np.zeros(0, np.float32), "roi") if net.opset < 13 else None
    if net.chance(0.3):
        none = net.constant(np.zeros(0, np.float32), "none") if net.opset < 13 else None
        return net.node("Resize", [x, roi, none, net.ints(shape)], shape, **attributes)
    return net.node("Resize", [x, roi, factors], shape, **attributes)


def resize_chain(net, x):
    x = resize(net, x)
    x = pool(net, x) if net.chance(0.5) else conv(net, x)
    return resize(net, x) if net.chance(0.5) else x


CONVS = [conv] * 6 + [conv_transpose, conv_input, shared_conv, residual]
OTHERS = [pool, pool, pool_chain, global_pool, gate, resize, resize_chain]
ALL = CONVS + OTHERS
