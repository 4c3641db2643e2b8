# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws whole networks from the productions, one for each seed and case."""

import dataclasses
import math

import numpy as np

from . import attention, integers, pointwise, products, views, windows
from .network import Network, fits

OPSETS = [9, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22, 23]
FAMILIES = [(views.ALL, 5), (products.ALL, 4), (windows.CONVS, 3), (windows.OTHERS, 2),
            (pointwise.ALL, 4), (attention.ALL, 1), (integers.ALL, 1)]
ATTEMPTS = 30


@dataclasses.dataclass
class Drawn:
    """A network with values for its inputs."""
    model: object
    inputs: dict
    work: int  # products


def extents(net, rank, most):
    """Odd and 1-sized extents; now and then one long axis."""
    for _ in range(ATTEMPTS):
        shape = [net.extent() for _ in range(rank)]
        if rank > 2 and net.chance(0.6):
            shape[0] = net.pick([1, 1, 1, 2, 3, 4])
        if net.chance(0.08):
            shape[net.between(0, rank - 1)] = net.pick([256, 512, 1000, 1024, 2047, 4096])
        if math.prod(shape) <= most:
            return tuple(shape)
    return tuple([1] * (rank - 1) + [net.extent()])


def composite(net, rank):
    """Extents that have many other factors in common."""
    shape = [net.pick([1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 15]) for _ in range(rank)]
    while math.prod(shape) > 1 << 10:
        shape[int(np.argmax(shape))] //= 2
    return tuple(shape)


def step(net, x, families):
    """One production applied to x, whichever fits first."""
    weights = np.array([w for _, w in families], float)
    for _ in range(ATTEMPTS):
        family = families[int(net.rng.choice(len(families), p=weights / weights.sum()))][0]
        y = net.attempt(net.pick(family), x)
        if y is not None:
            return y
    return x


def operand(net, recent=0.65):
    """The newest float value, or any one: several readers, outputs that are read again."""
    usable = [v for v in net.live if v.is_float]
    return usable[-1] if net.chance(recent) else net.pick(usable)


def walk(net, steps, families):
    for _ in range(steps):
        x = operand(net)
        y = step(net, x, families)
        if y.name not in {v.name for v in net.live}:
            net.live.append(y)


def mixed(net):
    for _ in range(net.pick([1, 1, 1, 2, 2, 3])):
        rank = net.pick([1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5])
        shape = extents(net, rank, 1 << 13)
        if rank > 1 and net.chance(0.2):
            shape = composite(net, rank - 1) + (net.extent(48),)
        net.live.append(net.input(shape))
    walk(net, net.pick([1, 2, 3, 4, 5, 6, 8, 10]), FAMILIES)


def maps(net):
    """Maps of channels: forks, joins, slices of channels, shuffles, gates."""
    rank = net.pick([3, 4, 4, 4, 4, 5])
    channels = net.pick([1, 3, 4, 8, 12, 16, 17, 24, 32, 40])
    net.live.append(net.input((net.pick([1, 1, 2, 3]), channels) + tuple(
        net.pick([1, 3, 5, 7, 8, 12, 16, 19]) for _ in range(rank - 2))))
    families = [(windows.CONVS, 6), (windows.OTHERS, 3), (pointwise.BINARY, 3),
                (pointwise.ALL, 2), (views.GAPS + views.OTHERS, 3)]
    walk(net, net.pick([2, 3, 4, 6, 8, 10]), families)


def sequences(net):
    """Tokens: attention, norms, layers, views between them."""
    net.live.append(net.input((net.pick([1, 1, 2, 3, 5]), net.pick([1, 2, 5, 7, 16, 17, 33, 50]),
                               net.pick([8, 12, 16, 20, 31, 32, 48, 64, 96]))))
    families = [(attention.ALL, 3), (products.ALL, 3), (pointwise.NORMS, 2), (pointwise.ALL, 3),
                (views.ALL, 3)]
    walk(net, net.pick([1, 2, 3, 4, 6, 8]), families)


def quantised(net):
    rank = net.pick([2, 3, 4, 4, 4])
    net.live.append(net.input(extents(net, rank, 1 << 12)))
    families = [(integers.ALL, 5), (views.ALL, 2), (pointwise.ALL, 1), (windows.OTHERS, 1)]
    walk(net, net.pick([1, 2, 3, 4, 6]), families)


def general(net):
    net.pick([mixed, mixed, mixed, maps, maps, sequences, sequences, quantised])(net)


def grow(net, x, productions, count):
    for _ in range(count):
        x = step(net, x, [(productions, 1)])
        net.live.append(x)
    return x


def views_matmul(net):
    """Views with gaps before a product, often a wide one."""
    rank = net.pick([2, 3, 3, 3, 4])
    shape = extents(net, rank, 1 << 14)
    few = net.chance(0.7)
    if few:  # few positions of many channels, a product that is wide
        shape = tuple(net.between(1, 9) for _ in range(rank - 1)) + (
            net.pick([31, 64, 96, 128, 200, 256, 256, 384, 512]),)
    x = net.input(shape)
    net.live.append(x)
    if net.chance(0.2):
        x = grow(net, x, products.CONSTANT + [pointwise.activation], 1)
    x = grow(net, x, views.GAPS, net.pick([1, 1, 1, 2, 3]))
    grow(net, x, [products.wide] if few and net.chance(0.7) else products.ALL, 1)
    if net.chance(0.3):
        grow(net, x, products.ALL + pointwise.ALL, 1)


def reshapes(net):
    """Reshapes that re-factor before a product."""
    rank = net.pick([2, 3, 3, 4, 4, 5])
    shape = extents(net, rank, 1 << 13)
    if net.chance(0.6):
        shape = composite(net, rank - 1) + (net.extent(48),)
    x = net.input(shape)
    net.live.append(x)
    if net.chance(0.3):
        x = grow(net, x, products.CONSTANT + pointwise.BINARY + [windows.conv], 1)
    family = [views.refactor] if net.chance(0.5) else views.RESHAPES
    x = grow(net, x, family, net.pick([1, 1, 2, 3]))
    if net.chance(0.2):
        x = grow(net, x, views.ALL, 1)
    y = grow(net, x, [products.matmul] if net.chance(0.5) else products.ALL + [windows.conv], 1)
    if net.chance(0.4):
        grow(net, net.pick([x, y]), products.ALL + views.ALL + pointwise.BINARY, 1)


def heads(net):
    """Attention whose heads are whole blocks, and products of slices of features."""
    x = net.input((net.pick([1, 1, 2]), net.pick([1, 3, 7, 16, 17, 33]),
                   net.pick([16, 32, 48, 64, 96])))
    net.live.append(x)
    if net.chance(0.7):
        x = grow(net, x, [attention.whole_blocks], net.pick([1, 1, 2]))
    else:
        x = grow(net, x, [products.blocks], 1)
        x = grow(net, x, [views.blocks], net.pick([1, 1, 2]))
        grow(net, x, products.ALL, 1)
    if net.chance(0.3):
        grow(net, x, products.ALL + views.ALL + pointwise.ALL, 1)


def map_of(net, width, height):
    channels = net.pick([1, 2, 3, 3, 4, 8, 8, 12, 16, 16, 17, 32])
    batch = net.pick([1, 1, 1, 1, 2, 3])
    fits(batch * channels * height * width <= net.largest)
    return net.input((batch, channels, height, width))


def starving_convs(net):
    """Convolutions whose maps leave a small memory; the machines are small."""
    x = None
    while x is None:
        x = net.attempt(lambda n: map_of(n, n.pick([3, 7, 9, 14, 16, 20, 27, 32, 40, 64, 100]),
                                         n.pick([1, 3, 7, 9, 14, 16, 20, 27, 32, 40])))
    net.live.append(x)
    grow(net, x, windows.CONVS, net.pick([1, 1, 2, 3]))
    if net.chance(0.3):
        grow(net, operand(net, 0.5), windows.ALL + pointwise.BINARY, 1)


def wide_convs(net):
    """Convolutions over few long rows, padding of many of them."""
    x = None
    while x is None:
        x = net.attempt(lambda n: map_of(n, n.pick([300, 500, 777, 1000, 1024, 1500, 2000, 3000,
                                                    4096]), n.pick([1, 2, 3, 4, 5, 7, 9, 12])))
    if net.chance(0.1):
        x = net.transpose(x, [0, 1, 3, 2])
    net.live.append(x)
    grow(net, x, [windows.conv] * 8 + windows.CONVS + [windows.pool], net.pick([1, 1, 2]))


def pools(net):
    """Windows of every extent over maps of few channels: inputs, and what products make."""
    x = None
    while x is None:
        x = net.attempt(lambda n: map_of(n, n.pick([5, 8, 12, 16, 21, 32, 48, 64]),
                                         n.pick([7, 12, 16, 20, 32, 33, 48, 64, 100])))
    net.live.append(x)
    if net.chance(0.5):
        x = grow(net, x, [windows.conv, products.matmul], 1)
    x = grow(net, x, [windows.pool, windows.large_pool], net.pick([1, 1, 2, 3]))
    if net.chance(0.3):
        grow(net, operand(net, 0.5), windows.ALL + pointwise.BINARY, 1)


GRAMMARS = {"views-matmul": views_matmul, "reshapes": reshapes, "starving-convs": starving_convs,
            "wide-convs": wide_convs, "pools": pools, "heads": heads}


def outputs_of(net):
    """Everything that nothing reads, and some values that are read again."""
    values = {}
    for value in net.live:
        if value.name not in net.read:
            values[value.name] = value
    extra = [v for v in net.live if v.name in net.read]
    for value in extra:
        if net.chance(0.12 if value.name not in net.arrays else 0.03):
            values[value.name] = value
    made = [v for v in values.values() if v.name not in net.arrays]
    return list(values.values()) if made else []


def draw(seed, case, only=None):
    """The case's network. The same numbers give the same bytes."""
    rng = np.random.default_rng([seed, case])
    while True:
        opset = OPSETS[int(rng.integers(len(OPSETS)))]
        wide = only == "wide-convs"
        most = 1 << 25 if wide else 1 << 23
        net = Network(rng, opset, 1 << 18 if wide else 1 << 16, most)
        if net.attempt(lambda n: GRAMMARS.get(only, general)(n) or True) is None:
            continue
        outputs = outputs_of(net)
        if not outputs:
            continue
        net.trim(outputs)
        if net.inputs and net.nodes:
            break
    return Drawn(net.model(outputs), net.arrays, most - net.work_left)
