# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Draws small `nn` networks from a seed and lets ashlar-reference compare each
# one before and after simplify + fold, in binary64. Between them the networks
# hold what every pass matches, in shapes that just fit.
# Usage: random_networks.py FIRST_SEED COUNT

import random
import subprocess
import sys
import tempfile


class Network:
    """Text of one function, value by value."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.count = 0
        rank = self.random.choice([1, 2, 2, 3])
        self.shape = [self.random.randint(1, 2), self.random.randint(1, 5)]
        self.shape += [self.random.randint(3, 6) for _ in range(rank)]
        self.argument = type_of(self.shape)
        self.value = "%x"

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def constant(self, shape, low=-2.0, high=2.0):
        def draw(dims):
            if not dims:
                return f"{self.random.uniform(low, high):.6e}"
            return "[" + ", ".join(draw(dims[1:]) for _ in range(dims[0])) + "]"

        name = self.name()
        self.lines.append(f"{name} = nn.constant dense<{draw(shape)}> : "
                          f"{type_of(shape)}")
        return name

    def emit(self, op, operands, attributes, shape):
        """Adds `op` of (name, shape) operands; the result is the new value."""
        name = self.name()
        kind, _, rest = op.partition(" ")
        names = ", ".join(n for n, _ in operands)
        types = ", ".join(type_of(s) for _, s in operands)
        body = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f"{name} = nn.{kind} {rest}{' ' if rest else ''}{names}"
                          f"{body} : ({types}) -> {type_of(shape)}")
        self.value, self.shape = name, list(shape)

    def me(self):
        return (self.value, self.shape)

    # Steps. Each one leaves the network alone where it does not fit.

    def conv(self):
        n, c, *space = self.shape
        group = self.random.choice([g for g in (1, 2, c) if c % g == 0])
        out = group * self.random.randint(1, 3)
        kernel = [self.random.randint(1, min(3, s)) for s in space]
        stride = [self.random.randint(1, 2) for _ in space]
        low = [self.random.randint(0, 1) for _ in space]
        high = [self.random.randint(0, 2) for _ in space]
        weights = [out, c // group] + kernel
        operands = [self.me(), (self.constant(weights), weights)]
        if self.random.random() < 0.5:
            operands.append((self.constant([out]), [out]))
        result = [n, out] + [(s + a + b - k) // t + 1 for s, k, t, a, b
                             in zip(space, kernel, stride, low, high)]
        self.emit("conv", operands, conv_attributes(stride, low + high, group),
                  result)

    def conv_transpose(self):
        n, c, *space = self.shape
        group = self.random.choice([g for g in (1, c) if c % g == 0])
        out = self.random.randint(1, 2)
        kernel = [self.random.randint(1, 3) for _ in space]
        stride = [self.random.randint(1, 3) for _ in space]
        low = [self.random.randint(0, 1) for _ in space]
        high = [self.random.randint(-1, 1) for _ in space]
        result = [n, out * group] + [
            (s - 1) * t + k - a - b for s, k, t, a, b
            in zip(space, kernel, stride, low, high)]
        if min(result) < 1 or max(result) > 20:
            return
        weights = [c, out] + kernel
        operands = [self.me(), (self.constant(weights), weights)]
        if self.random.random() < 0.5:
            operands.append((self.constant([out * group]), [out * group]))
        self.emit("conv_transpose", operands,
                  conv_attributes(stride, low + high, group), result)

    def batch_norm(self):
        c = self.shape[1]
        operands = [self.me()] + [(self.constant([c]), [c]) for _ in range(3)]
        operands.append((self.constant([c], 0.5, 2.0), [c]))
        self.emit("batch_norm", operands, "epsilon = 1.0e-03 : f32", self.shape)

    def per_channel(self):
        shape = [self.shape[1]] + [1] * (len(self.shape) - 2)
        if self.random.random() < 0.3:
            shape = []
        kind = self.random.choice(["add", "sub", "mul", "div"])
        constant = (self.constant(shape, 0.5, 2.0), shape)
        operands = [self.me(), constant]
        if self.random.random() < 0.3:
            operands.reverse()
        if kind == "div" and operands[0] is constant:
            return
        self.emit(kind, operands, "", self.shape)

    def unary(self):
        self.emit("unary " + self.random.choice(["relu", "tanh", "neg", "abs"]),
                  [self.me()], "", self.shape)

    def pad(self):
        low = [0, 0] + [self.random.randint(0, 2) for _ in self.shape[2:]]
        high = [0, 0] + [self.random.randint(0, 2) for _ in self.shape[2:]]
        self.emit("pad", [self.me()],
                  f"low = {array(low)}, high = {array(high)}",
                  [s + a + b for s, a, b in zip(self.shape, low, high)])
        # Who can absorb the pad must meet it.
        self.random.choice([self.conv, self.pool])()

    def pool(self):
        space = self.shape[2:]
        kernel = [self.random.randint(1, min(3, s)) for s in space]
        stride = [self.random.randint(1, 2) for _ in space]
        kind = self.random.choice(["avg_pool", "max_pool"])
        result = self.shape[:2] + [(s - k) // t + 1 for s, k, t
                                   in zip(space, kernel, stride)]
        self.emit(kind, [self.me()],
                  f"kernel = {array(kernel)}, strides = {array(stride)}, pads = "
                  f"{array([0] * 2 * len(space))}, dilations = "
                  f"{array([1] * len(space))}", result)

    def transposes(self):
        order = list(range(len(self.shape)))
        self.random.shuffle(order)
        back = [order.index(i) for i in range(len(order))]
        for perm in (order, back):
            self.emit("transpose", [self.me()], f"perm = {array(perm)}",
                      [self.shape[p] for p in perm])

    def dense(self):
        n = self.shape[0]
        depth = 1
        for extent in self.shape[1:]:
            depth *= extent
        if len(self.shape) > 2:
            self.emit("reshape", [self.me()], "", [n, depth])
        out = self.random.randint(1, 4)
        weights = [depth, out]
        self.emit("matmul", [self.me(), (self.constant(weights), weights)], "",
                  [n, out])
        if self.random.random() < 0.7:
            self.emit("add", [self.me(), (self.constant([out]), [out])], "",
                      self.shape)

    def text(self):
        steps = [self.conv, self.conv_transpose, self.batch_norm,
                 self.per_channel, self.unary, self.pad, self.pool,
                 self.transposes]
        for _ in range(self.random.randint(2, 8)):
            self.random.choice(steps)()
        for _ in range(self.random.randint(0, 3)):
            self.dense()
            for step in (self.batch_norm, self.unary):
                if self.random.random() < 0.4:
                    step()
        body = "\n  ".join(self.lines)
        result = type_of(self.shape)
        return (f"func.func @main(%x: {self.argument}) -> {result} {{\n  {body}\n"
                f"  return {self.value} : {result}\n}}\n")


def type_of(shape):
    return "tensor<" + "".join(f"{s}x" for s in shape) + "f32>"


def array(values):
    return f"array<i64: {', '.join(map(str, values))}>"


def conv_attributes(stride, pads, group):
    return (f"strides = {array(stride)}, pads = {array(pads)}, dilations = "
            f"{array([1] * len(stride))}, group = {group} : i64")


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failures = 0
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        for seed in range(first, first + count):
            file.seek(0)
            file.truncate()
            file.write(Network(seed).text())
            file.flush()
            done = subprocess.run(
                ["ashlar-reference", file.name, "--phase=fold", "--check-phase"],
                capture_output=True, text=True)
            if done.returncode != 0:
                failures += 1
                print(f"seed {seed}: {done.stderr.strip()[:1000]}")
    print(f"{count - failures} of {count} networks keep their meaning")
    sys.exit(failures != 0)


main()
