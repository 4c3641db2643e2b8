# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers, from their papers: vision, keywords, and a decoder of any size."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto

from .graph import ExternalData, Graph

CLASSES = 1000
BIAS = 0.02


class Transformer(Graph):
    """A graph with the layers of transformers; values are names."""

    def linear(self, x: str, fan_in: int, fan_out: int, gain: float = 1.0, bias: bool = True,
               name: str = "") -> str:
        """Product with a matrix scaled for the variance of its input times `gain`."""
        name = name or self.unique("linear")
        deviation = float(np.sqrt(gain / fan_in))
        weight = self.draws.normal(fan_in, fan_out, deviation=deviation)
        y = self.node("MatMul", x, self.constant(name + ".weight", weight), name=name)
        if not bias:
            return y
        return self.node("Add", y, self.constant(
            name + ".bias", self.draws.normal(fan_out, deviation=BIAS)), name=name + ".add")

    def layer_norm(self, x: str, width: int) -> str:
        name = self.unique("norm")
        return self.node("LayerNormalization", x,
                         self.constant(name + ".gamma", self.draws.uniform(0.8, 1.2, width)),
                         self.constant(name + ".beta", self.draws.normal(width, deviation=BIAS)),
                         name=name, axis=-1, epsilon=1e-6)

    def rms_norm(self, x: str, width: int) -> str:
        """As exporters write it: x / sqrt(mean(x^2) + eps) * gamma."""
        square = self.node("Mul", x, x)
        mean = self.node("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.constant("epsilon", 1e-5)))
        gamma = self.constant("gamma", self.draws.uniform(0.8, 1.2, width))
        return self.node("Mul", self.node("Div", x, root), gamma)

    def gelu(self, x: str) -> str:
        error = self.node("Erf", self.node("Div", x, self.constant("root2", np.sqrt(2.0))))
        gate = self.node("Add", error, self.constant("one", 1.0))
        return self.node("Mul", self.node("Mul", x, gate), self.constant("half", 0.5))

    def heads(self, x: str, tokens: int, heads: int, size: int, perm: tuple = (0, 2, 1, 3)) -> str:
        y = self.node("Reshape", x, self.ints(1, tokens, heads, size))
        return self.node("Transpose", y, perm=list(perm))

    def attend(self, query: str, key: str, value: str, tokens: int, width: int, size: int,
               mask: str = "") -> str:
        """softmax(q k / sqrt(size) + mask) v; `key` comes transposed."""
        scores = self.node("Mul", self.node("MatMul", query, key),
                           self.constant("scale", 1 / np.sqrt(size)))
        if mask:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        mixed = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.node("Reshape", mixed, self.ints(1, tokens, width))

    def self_attention(self, x: str, tokens: int, width: int, heads: int, gain: float) -> str:
        size = width // heads
        query = self.heads(self.linear(x, width, width), tokens, heads, size)
        key = self.heads(self.linear(x, width, width), tokens, heads, size, (0, 2, 3, 1))
        value = self.heads(self.linear(x, width, width), tokens, heads, size)
        return self.linear(self.attend(query, key, value, tokens, width, size), width, width, gain)

    def mlp(self, x: str, width: int, hidden: int, gain: float) -> str:
        return self.linear(self.gelu(self.linear(x, width, hidden)), hidden, width, 2 * gain)


def vision(name: str, width: int, heads: int, layers: int = 12, patch: int = 16, image: int = 224):
    """A drawing of a ViT (Dosovitskiy et al., 2020): norm first, class token."""
    def draw(seed: int) -> onnx.ModelProto:
        g = Transformer(name, seed, opset=17)
        side = image // patch
        tokens, gain = side * side + 1, 1 / (2 * layers)
        x = g.declare("image", [1, 3, image, image])
        kernel = g.draws.normal(width, 3, patch, patch, deviation=float(np.sqrt(1 / (3 * patch**2))))
        x = g.node("Conv", x, g.constant("patch.weight", kernel),
                   g.constant("patch.bias", g.draws.normal(width, deviation=BIAS)), name="patch",
                   kernel_shape=[patch] * 2, strides=[patch] * 2)
        x = g.node("Transpose", g.node("Reshape", x, g.ints(1, width, side * side)), perm=[0, 2, 1])
        token = g.constant("class.token", g.draws.normal(1, 1, width))
        x = g.node("Concat", token, x, axis=1)
        x = g.node("Add", x, g.constant("positions", g.draws.normal(1, tokens, width, deviation=0.5)))
        for _ in range(layers):
            x = g.node("Add", x, g.self_attention(g.layer_norm(x, width), tokens, width, heads, gain))
            x = g.node("Add", x, g.mlp(g.layer_norm(x, width), width, 4 * width, gain))
        x = g.node("Gather", g.layer_norm(x, width), g.constant("first", 0, np.int64), axis=1)
        x = g.linear(x, width, CLASSES, name="head")
        return g.model([("logits", x, [1, CLASSES])])
    draw.__doc__ = f"ViT with {patch} x {patch} patches, width {width} (Dosovitskiy et al., 2020)."
    return draw


def keyword_transformer(seed: int) -> onnx.ModelProto:
    """Keyword transformer KWT-1 (Berg et al., 2021): norm after the residual sum."""
    g = Transformer("kwt1_ln17", seed, opset=17)
    width, layers, hidden, tokens = 64, 12, 256, 99
    x = g.linear(g.declare("features", [1, 98, 40]), 40, width)
    x = g.node("Concat", g.constant("class.token", g.draws.normal(1, 1, width)), x, axis=1)
    x = g.node("Add", x, g.constant("positions", g.draws.normal(1, tokens, width, deviation=0.5)))
    for _ in range(layers):
        x = g.layer_norm(g.node("Add", x, g.self_attention(x, tokens, width, 1, 0.5)), width)
        x = g.layer_norm(g.node("Add", x, g.mlp(x, width, hidden, 0.5)), width)
    x = g.node("Gather", x, g.constant("first", 0, np.int64), axis=1)
    return g.model([("logits", g.linear(x, width, 12, name="head"), [1, 12])])


@dataclasses.dataclass(frozen=True)
class DecoderSize:
    """Sizes of a decoder; every one can be given to `tools/models draw decoder`."""
    layers: int = 4
    width: int = 256
    heads: int = 8
    kv_heads: int = 4
    hidden: int = 704
    vocabulary: int = 2048
    tokens: int = 64

    def parameters(self) -> int:
        """Number of weights in matrices and tables."""
        head = self.width // self.heads
        attention = 2 * self.width * (self.heads + self.kv_heads) * head
        return (self.layers * (attention + 3 * self.width * self.hidden)
                + 2 * self.vocabulary * self.width)

    def problem(self) -> str:
        """Why no decoder has these sizes, or ''."""
        for field in dataclasses.fields(self):
            if getattr(self, field.name) < 1:
                return f"{field.name} is {getattr(self, field.name)}; it must be at least 1"
        if self.width % (2 * self.heads):
            return (f"width {self.width} does not give {self.heads} heads an even size; "
                    f"take a multiple of {2 * self.heads}")
        if self.heads % self.kv_heads:
            return f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})"
        return ""


class Decoder(Transformer):
    """A decoder as Llama has it (Touvron et al., 2023): RMS normalisation, rotary
    positions, grouped queries, SwiGLU."""

    def __init__(self, size: DecoderSize, seed: int, external: ExternalData | None) -> None:
        super().__init__("decoder", seed, opset=17)
        self.external = external
        self.size, self.head = size, size.width // size.heads
        angles = self.rotary_angles()
        # Libraries of functions differ in their last bits; a grid of 2^-20 hides that.
        self.cos = self.constant("rotary.cos", np.rint(np.cos(angles) * 2**20) / 2**20)
        self.sin = self.constant("rotary.sin", np.rint(np.sin(angles) * 2**20) / 2**20)
        future = np.triu(np.full((size.tokens, size.tokens), -1e4), 1)
        self.mask = self.constant("causal", future[None, None])

    def rotary_angles(self) -> np.ndarray:
        half = self.head // 2
        rates = 10000.0 ** (-np.arange(half) / half)
        angles = np.arange(self.size.tokens)[:, None] * rates
        return np.concatenate([angles, angles], 1)[None, None]

    def rotate(self, x: str) -> str:
        half = self.head // 2
        a, b = self.node("Split", x, self.ints(half, half), outputs=2, axis=-1)
        turned = self.node("Concat", self.node("Neg", b), a, axis=-1)
        return self.node("Add", self.node("Mul", x, self.cos), self.node("Mul", turned, self.sin))

    def shared(self, x: str) -> str:
        """Repeats each head of keys or values for its group of queries."""
        s, group = self.size, self.size.heads // self.size.kv_heads
        if group == 1:
            return x
        x = self.node("Unsqueeze", x, self.ints(2))
        x = self.node("Expand", x, self.ints(1, s.kv_heads, group, s.tokens, self.head))
        return self.node("Reshape", x, self.ints(1, s.heads, s.tokens, self.head))

    def attention(self, x: str, gain: float) -> str:
        s, kv = self.size, self.size.kv_heads * self.head
        query = self.heads(self.linear(x, s.width, s.width, bias=False), s.tokens, s.heads, self.head)
        key = self.heads(self.linear(x, s.width, kv, bias=False), s.tokens, s.kv_heads, self.head)
        value = self.heads(self.linear(x, s.width, kv, bias=False), s.tokens, s.kv_heads, self.head)
        key = self.node("Transpose", self.shared(self.rotate(key)), perm=[0, 1, 3, 2])
        mixed = self.attend(self.rotate(query), key, self.shared(value), s.tokens, s.width, self.head,
                            self.mask)
        return self.linear(mixed, s.width, s.width, gain, bias=False)

    def feed_forward(self, x: str, gain: float) -> str:
        s = self.size
        gate = self.linear(x, s.width, s.hidden, bias=False)
        gate = self.node("Mul", gate, self.node("Sigmoid", gate))
        up = self.linear(x, s.width, s.hidden, bias=False)
        return self.linear(self.node("Mul", gate, up), s.hidden, s.width, 3 * gain, bias=False)


def decoder(seed: int, size: DecoderSize = DecoderSize(),
            external: ExternalData | None = None) -> onnx.ModelProto:
    """Decoder as Llama has it (Touvron et al., 2023), all tokens at once; of any size."""
    g = Decoder(size, seed, external)
    gain = 1 / (2 * size.layers)
    tokens = g.declare("tokens", [1, size.tokens], TensorProto.INT64)
    table = g.constant("embedding", g.draws.normal(size.vocabulary, size.width))
    x = g.node("Gather", table, tokens, axis=0)
    for _ in range(size.layers):
        x = g.node("Add", x, g.attention(g.rms_norm(x, size.width), gain))
        x = g.node("Add", x, g.feed_forward(g.rms_norm(x, size.width), gain))
    x = g.linear(g.rms_norm(x, size.width), size.width, size.vocabulary, bias=False, name="head")
    return g.model([("logits", x, [1, size.tokens, size.vocabulary])])
