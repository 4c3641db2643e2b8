# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: constant, run-time and shared factors, Gemm, Einsum."""

import math

import numpy as np

from .network import fits

WIDTHS = [1, 2, 3, 5, 8, 10, 16, 16, 17, 24, 31, 32, 33, 48, 64, 64, 100, 128]
WIDE = [200, 256, 300, 512, 513, 777, 1000, 1024, 2048, 4096]


def width(net, depth, rows):
    """Of a result: often wide where the product stays small."""
    n = net.pick(WIDE) if net.chance(0.3) else net.pick(WIDTHS)
    fits(depth * n <= 1 << 19 and rows * n <= net.largest)
    return n


def matmul(net, x):
    """A constant right factor."""
    fits(x.rank >= 1 and x.is_float)
    k = x.shape[-1]
    n = width(net, k, x.size // k)
    net.work(x.size * n)
    return net.node("MatMul", [x, net.weights((k, n), k)], x.shape[:-1] + (n,))


def blocks(net, x):
    """A constant right factor whose results are whole blocks."""
    fits(x.rank >= 1 and x.is_float)
    k, n = x.shape[-1], net.pick([32, 64, 96, 128, 192, 256, 384])
    net.work(x.size * n)
    return net.node("MatMul", [x, net.weights((k, n), k)], x.shape[:-1] + (n,))


def wide(net, x):
    """A constant right factor of hundreds of columns."""
    fits(x.rank >= 1 and x.is_float)
    k, n = x.shape[-1], net.pick(WIDE)
    fits(k * n <= 1 << 19)
    net.work(x.size * n)
    return net.node("MatMul", [x, net.weights((k, n), k)], x.shape[:-1] + (n,))


def matmul_stack(net, x):
    """A stack of constant right factors, maybe broadcast, maybe of a higher rank."""
    fits(x.rank >= 2 and x.is_float)
    k, n = x.shape[-1], net.pick(WIDTHS)
    stack = [m if net.chance(0.7) else 1 for m in x.shape[:-2]]
    if x.rank < 4 and net.chance(0.3):
        stack.insert(0, net.between(1, 3))
    elif stack and net.chance(0.2):
        stack = stack[1:]
    lead = np.broadcast_shapes(tuple(stack), x.shape[:-2])
    fits(math.prod(stack) * k * n <= 1 << 18)
    net.work(math.prod(lead) * x.shape[-2] * k * n)
    return net.node("MatMul", [x, net.weights(tuple(stack) + (k, n), k)],
                    tuple(lead) + (x.shape[-2], n))


def matmul_left(net, x):
    """A constant left factor."""
    fits(x.rank >= 2 and x.is_float)
    k, m = x.shape[-2], net.pick(WIDTHS)
    fits(m * k <= 1 << 18)
    net.work(x.size * m)
    return net.node("MatMul", [net.weights((m, k), k), x], x.shape[:-2] + (m, x.shape[-1]))


def matmul_input(net, x):
    """A right factor that is another input of the network, maybe transposed there."""
    fits(x.rank >= 2 and x.is_float)
    k = x.shape[-1]
    n = width(net, k, x.size // k)
    lead = tuple(m if net.chance(0.7) else 1 for m in x.shape[:-2])
    if net.chance(0.3):
        lead = ()
    net.work(x.size * n)
    if net.chance(0.5):
        y = net.input(lead + (k, n))
    else:
        y = net.input(lead + (n, k))
        y = net.transpose(y, [*range(len(lead)), len(lead) + 1, len(lead)])
    return scaled(net, net.node("MatMul", [x, y], x.shape[:-1] + (n,)), k)


def scaled(net, y, depth):
    """Sums of run-time factors grow with their depth."""
    return net.node("Mul", [y, net.number(depth ** -0.5)], y.shape)


def matmul_pair(net, x):
    """Two values of the network, the second one turned; often one with itself."""
    fits(x.rank >= 2 and x.is_float)
    k = x.shape[-1]
    others = [v for v in net.live if v.is_float and v.rank == x.rank
              and v.shape[:-2] == x.shape[:-2] and k in v.shape[-2:]]
    y = net.pick(others) if others and net.chance(0.6) else x
    if y.shape[-2] != k or (y.shape[-1] == k and net.chance(0.6)):
        y = net.transpose(y, [*range(x.rank - 2), x.rank - 1, x.rank - 2])
    fits(y.shape[-2] == k)
    net.work(x.size * y.shape[-1])
    return scaled(net, net.node("MatMul", [x, y], x.shape[:-1] + y.shape[-1:]), k)


def gemm(net, x):
    """Every combination of transposes, scales, bias shapes; factors constant or not."""
    fits(x.is_float and x.rank >= 2)
    if x.rank > 2:
        axis = net.between(1, x.rank - 1)
        shape = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        x = net.node("Flatten", [x], shape, axis=axis)
    turn_a, turn_b = net.between(0, 1), net.between(0, 1)
    m, k = x.shape[::-1] if turn_a else x.shape
    n = width(net, k, m)
    net.work(m * k * n)
    shape = (n, k) if turn_b else (k, n)
    y = net.weights(shape, k) if net.chance(0.7) else net.input(shape)
    alpha = 1.0 if y.name.startswith("w") else k ** -0.5
    operands = [x, y]
    if net.opset < 11 or net.chance(0.7):
        operands.append(net.vector(net.pick([(n,), (1, n), (m, 1), (m, n), (1,), ()])))
    return net.node("Gemm", operands, (m, n), transA=turn_a, transB=turn_b,
                    alpha=alpha * net.pick([1.0, 1.0, 0.5, -1.25]),
                    beta=net.pick([1.0, 1.0, 2.0, -0.5]))


def einsum(net, x):
    """Letters of x are contracted, shared or kept, in any order on either side."""
    fits(net.opset >= 12 and x.is_float and 1 <= x.rank <= 4)
    letters = "abcd"[:x.rank]
    sizes = dict(zip(letters, x.shape))
    contracted = [c for c in letters if net.chance(0.4)] or [letters[-1]]
    shared = [c for c in letters if c not in contracted and net.chance(0.3)]
    new = ["x"] if net.chance(0.8) else []
    sizes["x"] = net.pick(WIDTHS)
    right = [(contracted + shared + new)[k] for k in
             net.rng.permutation(len(contracted + shared + new))]
    kept = [c for c in letters if c not in contracted] + new
    out = [kept[k] for k in net.rng.permutation(len(kept))] if net.chance(0.7) else kept
    fits(out)
    shape = tuple(sizes[c] for c in right)
    depth = math.prod(sizes[c] for c in contracted)
    net.work(math.prod(sizes[c] for c in set(letters) | set(right)))
    fits(math.prod(shape) <= 1 << 17)
    y = net.weights(shape, depth) if net.chance(0.6) else net.input(shape)
    terms, operands = [letters, "".join(right)], [x, y]
    if net.chance(0.3):
        terms, operands = terms[::-1], operands[::-1]
    result = net.node("Einsum", operands, [sizes[c] for c in out],
                      equation=f"{','.join(terms)}->{''.join(out)}")
    return result if y.name.startswith("w") else scaled(net, result, depth)


def einsum_dots(net, x):
    """An ellipsis, and results without an arrow."""
    fits(net.opset >= 12 and x.is_float and x.rank >= 2)
    k, n = x.shape[-1], net.pick(WIDTHS)
    net.work(x.size * n)
    turned = net.chance(0.5)
    y = net.weights((n, k) if turned else (k, n), k)
    right = "jk" if turned else "kj"
    return net.node("Einsum", [x, y], x.shape[:-1] + (n,), equation=f"...ik,{right}->...ij")


def linear(net, x):
    """A product, its bias and maybe an activation, as exporters write a layer."""
    y = matmul(net, x)
    y = net.node("Add", [y, net.vector(y.shape[-1:])], y.shape)
    return net.like(net.pick(["Relu", "Sigmoid", "Tanh"]), y) if net.chance(0.5) else y


def layers(net, x):
    """Two or three products in turn, each reading the encoded result of the last."""
    for _ in range(net.between(2, 3)):
        x = linear(net, x) if net.chance(0.5) else matmul(net, x)
    return x


CONSTANT = [matmul, matmul, wide, linear, layers, layers, matmul_stack, matmul_left, gemm, einsum,
            einsum_dots]
RUNTIME = [matmul_input, matmul_pair, gemm, einsum]
ALL = CONSTANT + RUNTIME
