# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views: results whose elements are elements of the operand in another place."""

import math

import numpy as np

from .network import INT64_MAX, fits


def axis_of(net, x, least=1):
    axes = [k for k, n in enumerate(x.shape) if n >= least]
    fits(axes)
    return net.pick(axes)


def factors(net, n, count):
    """`count` extents with product n."""
    found = [1] * count
    rest, prime = n, 2
    while rest > 1:
        while rest % prime:
            prime = prime + 1 if prime * prime <= rest else rest
        found[net.between(0, count - 1)] *= prime
        rest //= prime
    return found


def cut(net, x):
    axis = axis_of(net, x, 2)
    n = x.shape[axis]
    start = net.between(0, n - 1)
    end = net.between(start + 1, n)
    if net.chance(0.3):
        end = INT64_MAX
    if net.chance(0.3):
        start -= n
    return net.slice(x, [axis], [start], [end])


def blocks(net, x):
    """Some of the blocks of features, or all of them as another axis."""
    fits(x.rank >= 2 and x.rank <= 4)
    size = net.pick([16, 16, 32, 64])
    n = x.shape[-1] // size
    fits(n >= 2 and x.shape[-1] % size == 0)
    if net.chance(0.5):
        first = net.between(0, n - 1)
        return net.slice(x, [x.rank - 1], [first * size],
                         [net.between(first + 1, n) * size])
    y = net.reshape(x, x.shape[:-1] + (n, size))
    return net.transpose(y, [*range(x.rank - 2), x.rank - 1, x.rank - 2, x.rank])


def cut_two(net, x):
    fits(x.rank >= 2 and x.size > 4)
    axes = sorted(net.rng.permutation(x.rank)[:2].tolist())
    starts = [net.between(0, (x.shape[a] - 1) // 2) for a in axes]
    ends = [net.between(s + 1, x.shape[a]) for a, s in zip(axes, starts)]
    steps = [net.pick([1, 1, 2, 3]) for _ in axes] if net.opset >= 10 else None
    return net.slice(x, axes, starts, ends, steps)


def stride(net, x):
    axis = axis_of(net, x, 3)
    step = net.pick([2, 2, 3, 4])
    return net.slice(x, [axis], [net.between(0, 1)], [x.shape[axis]], [step])


def reverse(net, x):
    """Negative steps; an end below -n reaches element 0."""
    axis = axis_of(net, x, 2)
    start = net.pick([-1, x.shape[axis] - 1, x.shape[axis] // 2])
    return net.slice(x, [axis], [start], [-INT64_MAX], [net.pick([-1, -1, -2, -3])])


def gather(net, x):
    axis = axis_of(net, x)
    n = x.shape[axis]
    kind = net.rng.random()
    if kind < 0.4:
        indices = np.int64(net.between(0, n - 1))
    elif kind < 0.9:
        indices = net.rng.integers(0, n, net.between(1, min(2 * n, 9)))
    else:
        indices = net.rng.integers(0, n, (net.between(1, 3), net.between(1, 3)))
    if net.opset >= 11 and net.chance(0.2):
        indices = indices - n
    shape = x.shape[:axis] + np.shape(indices) + x.shape[axis + 1:]
    return net.node("Gather", [x, net.constant(np.asarray(indices, np.int64), "i")], shape, x.type,
                    axis=axis)


def transpose(net, x):
    fits(x.rank >= 2)
    perm = list(range(x.rank))
    kind = net.rng.random()
    if kind < 0.35:  # moves the batch
        other = net.between(1, x.rank - 1)
        perm[0], perm[other] = perm[other], perm[0]
    elif kind < 0.6:
        perm[-1], perm[-2] = perm[-2], perm[-1]
    else:
        perm = net.rng.permutation(x.rank)
    return net.transpose(x, perm)


def refactor(net, x):
    """Keeps the last axis, the product of the others falls into other factors."""
    fits(x.rank >= 2)
    return net.reshape(x, factors(net, x.size // x.shape[-1], net.between(1, 4)) + [x.shape[-1]])


def refactor_middle(net, x):
    """Keeps one axis anywhere."""
    fits(x.rank >= 3)
    kept = net.between(1, x.rank - 2)
    before = factors(net, math.prod(x.shape[:kept]), net.between(1, 2))
    after = factors(net, math.prod(x.shape[kept + 1:]), net.between(1, 3))
    return net.reshape(x, before + [x.shape[kept]] + after)


def refactor_all(net, x):
    return net.reshape(x, factors(net, x.size, net.between(1, 5)))


def merge(net, x):
    fits(x.rank >= 2)
    k = net.between(0, x.rank - 2)
    shape = x.shape[:k] + (x.shape[k] * x.shape[k + 1],) + x.shape[k + 2:]
    return net.reshape(x, shape)


def split_axis(net, x):
    fits(x.rank <= 5)
    axis = axis_of(net, x, 2)
    parts = factors(net, x.shape[axis], 2)
    return net.reshape(x, list(x.shape[:axis]) + parts + list(x.shape[axis + 1:]))


def rewritten(net, x):
    """A reshape written with 0 and -1."""
    fits(x.rank >= 2)
    k = net.between(1, x.rank - 1)
    written = [0] * k + [-1]
    shape = x.shape[:k] + (math.prod(x.shape[k:]),)
    return net.node("Reshape", [x, net.ints(written)], shape, x.type)


def ones(net, x):
    if 1 in x.shape and x.rank > 1 and net.chance(0.5):
        axes = [k for k, n in enumerate(x.shape) if n == 1]
        return net.squeeze(x, axes if net.chance(0.5) and len(axes) < x.rank else [net.pick(axes)])
    fits(x.rank <= 5)
    return net.unsqueeze(x, [net.between(0, x.rank)])


def flatten(net, x):
    axis = net.between(0, x.rank)
    shape = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    return net.node("Flatten", [x], shape, x.type, axis=axis)


def split(net, x):
    """The first part is the result; the others are alive too."""
    axis = axis_of(net, x, 2)
    n = x.shape[axis]
    if n % 3 == 0 and net.chance(0.3):
        sizes = [n // 3] * 3
    else:
        first = net.between(1, n - 1)
        sizes = [first, n - first]
    parts = net.split(x, axis, sizes)
    net.live += parts[1:]
    return parts[0]


def concat(net, x):
    """With itself, a part of itself, or another value that fits."""
    fits(x.rank >= 1)
    axis = net.between(0, x.rank - 1)
    fitting = [v for v in net.live if v.type == x.type and v.rank == x.rank and all(
        a == b for k, (a, b) in enumerate(zip(x.shape, v.shape)) if k != axis)]
    other = net.pick(fitting) if fitting and net.chance(0.7) else x
    if other is x and x.shape[axis] > 1 and net.chance(0.5):
        other = net.slice(x, [axis], [net.between(1, x.shape[axis] - 1)], [x.shape[axis]])
    return net.concat([x, other] if net.chance(0.5) else [other, x], axis)


def expand(net, x):
    axes = [k for k, n in enumerate(x.shape) if n == 1]
    fits(axes)
    shape = list(x.shape)
    shape[net.pick(axes)] = net.between(2, 6)
    if net.chance(0.2) and x.rank < 5:
        shape.insert(0, 2)
    return net.node("Expand", [x, net.ints(shape)], shape, x.type)


def tile(net, x):
    fits(x.rank >= 1)
    repeats = [net.pick([1, 1, 2, 3]) for _ in x.shape]
    shape = [a * b for a, b in zip(x.shape, repeats)]
    return net.node("Tile", [x, net.ints(repeats)], shape, x.type)


def pad(net, x):
    fits(x.rank >= 1 and x.is_float)
    mode = net.pick(["constant", "constant", "reflect", "edge"])
    low, high = ([net.pick([0, 0, 0, 1, 2, 5]) for _ in x.shape] for _ in range(2))
    if mode == "reflect":
        low, high = ([min(p, n - 1) for p, n in zip(side, x.shape)] for side in (low, high))
    if mode == "constant" and net.opset >= 11 and net.chance(0.2):
        low = [-1 if n > 2 and p == 0 and net.chance(0.3) else p for p, n in zip(low, x.shape)]
    shape = [a + n + b for a, n, b in zip(low, x.shape, high)]
    if net.opset < 11:
        return net.node("Pad", [x], shape, pads=low + high, mode=mode)
    operands = [x, net.ints(low + high)]
    if mode == "constant" and net.chance(0.5):
        operands.append(net.number(net.pick([0, 0.5, -2])))
    return net.node("Pad", operands, shape, mode=mode)


def depth_to_space(net, x):
    fits(x.rank == 4 and x.shape[1] % 4 == 0)
    n, c, h, w = x.shape
    modes = {"mode": net.pick(["DCR", "CRD"])} if net.opset >= 11 else {}
    return net.node("DepthToSpace", [x], (n, c // 4, 2 * h, 2 * w), x.type, blocksize=2, **modes)


def space_to_depth(net, x):
    fits(x.rank == 4 and x.shape[2] % 2 == 0 and x.shape[3] % 2 == 0)
    n, c, h, w = x.shape
    return net.node("SpaceToDepth", [x], (n, 4 * c, h // 2, w // 2), x.type, blocksize=2)


def shuffle(net, x):
    """Channels in groups, exchanged."""
    fits(x.rank >= 3)
    groups = [g for g in (2, 3, 4, 8) if x.shape[1] % g == 0 and x.shape[1] > g]
    fits(groups)
    g = net.pick(groups)
    rest = x.shape[2:]
    y = net.reshape(x, (x.shape[0], g, x.shape[1] // g) + rest)
    y = net.transpose(y, [0, 2, 1] + list(range(3, y.rank)))
    return net.reshape(y, x.shape)


def gather_rows(net, x):
    """GatherND: rows of the first axis, or of the first two."""
    fits(net.opset >= 11 and x.rank >= 2)
    depth = net.between(1, min(2, x.rank - 1))
    count = net.between(1, 6)
    indices = np.stack([net.rng.integers(0, n, count) for n in x.shape[:depth]], -1)
    return net.node("GatherND", [x, net.constant(indices.astype(np.int64), "i")],
                    (count,) + x.shape[depth:], x.type)


def gather_elements(net, x):
    fits(net.opset >= 11 and x.rank >= 1 and x.size <= 1 << 10)
    axis = net.between(0, x.rank - 1)
    shape = x.shape[:axis] + (net.between(1, 5),) + x.shape[axis + 1:]
    indices = net.constant(net.rng.integers(0, x.shape[axis], shape).astype(np.int64), "i")
    return net.node("GatherElements", [x, indices], shape, x.type, axis=axis)


def identity(net, x):
    return net.like("Identity", x)


RESHAPES = [refactor, refactor, refactor, refactor_middle, refactor_all, merge, split_axis,
            rewritten, ones, flatten]
GAPS = [cut, cut, cut_two, stride, reverse, gather, gather, transpose, transpose, split, concat]
OTHERS = [expand, tile, pad, depth_to_space, space_to_depth, shuffle, gather_rows,
          gather_elements, identity]
ALL = RESHAPES + GAPS + GAPS + OTHERS
