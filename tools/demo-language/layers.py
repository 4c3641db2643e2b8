# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decoder of the demo language model in numpy, with its gradients.

Pre-normalised layers: grouped-query attention with rotary positions, and a
gated feed-forward network. Activations are [batch, length, width].
"""

import numpy as np

EPSILON = np.float32(1e-5)


class Shape:
    """The sizes of a decoder."""

    def __init__(self, vocabulary, layers=2, width=64, heads=4, groups=2, hidden=128):
        self.vocabulary, self.layers, self.width = vocabulary, layers, width
        self.heads, self.groups, self.hidden = heads, groups, hidden
        self.size = width // heads

    def parameters(self, rng):
        """Seeded weights by name."""
        def matrix(rows, columns, gain=1.0):
            return rng.normal(0, gain / np.sqrt(rows), (rows, columns)).astype(np.float32)

        out = 1 / np.sqrt(2 * self.layers)
        weights = {"embedding": rng.normal(0, 0.5, (self.vocabulary, self.width)).astype(np.float32)}
        for i in range(self.layers):
            weights.update({
                f"{i}.norm1": np.ones(self.width, np.float32),
                f"{i}.q": matrix(self.width, self.heads * self.size),
                f"{i}.k": matrix(self.width, self.groups * self.size),
                f"{i}.v": matrix(self.width, self.groups * self.size),
                f"{i}.o": matrix(self.heads * self.size, self.width, out),
                f"{i}.norm2": np.ones(self.width, np.float32),
                f"{i}.gate": matrix(self.width, self.hidden),
                f"{i}.up": matrix(self.width, self.hidden),
                f"{i}.down": matrix(self.hidden, self.width, out)})
        weights["norm"] = np.ones(self.width, np.float32)
        weights["head"] = matrix(self.width, self.vocabulary)
        return weights


def rotary_tables(rows, size):
    """cos and sin [rows, size / 2] of the angles of positions 0 .. rows - 1."""
    rates = 10000.0 ** (-np.arange(0, size, 2) / size)
    angles = np.arange(rows)[:, None] * rates
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotate(x, cos, sin):
    """x [batch, heads, length, size]: both halves turned by the angle of its position."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def normalise(x, scale):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    return x * inverse * scale, inverse


def normalise_back(x, inverse, scale, gradient):
    unit = x * inverse
    to_scale = (gradient * unit).reshape(-1, x.shape[-1]).sum(0)
    g = gradient * scale
    return inverse * (g - unit * (g * unit).mean(-1, keepdims=True)), to_scale


def heads_of(x, heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def merged(x):
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def times(x, gradient):
    """The gradient of the weights of x @ w."""
    return x.reshape(-1, x.shape[-1]).T @ gradient.reshape(-1, gradient.shape[-1])


class Decoder:
    def __init__(self, shape, weights):
        self.shape, self.weights = shape, weights

    def attention(self, i, x, cos, sin, past=None):
        """Result, what the backward pass needs, and the keys and values of all positions."""
        s, w = self.shape, self.weights
        repeat = s.heads // s.groups
        q = rotate(heads_of(x @ w[f"{i}.q"], s.heads), cos, sin)
        k = rotate(heads_of(x @ w[f"{i}.k"], s.groups), cos, sin)
        v = heads_of(x @ w[f"{i}.v"], s.groups)
        if past is not None:
            k, v = (np.concatenate([old, new], 2) for old, new in zip(past, (k, v)))
        wide_k, wide_v = np.repeat(k, repeat, 1), np.repeat(v, repeat, 1)
        scores = q @ wide_k.swapaxes(-1, -2) / np.float32(np.sqrt(s.size))
        behind = k.shape[2] - q.shape[2]
        later = np.triu(np.ones(scores.shape[-2:], bool), behind + 1)
        p = softmax(np.where(later, np.float32(-1e30), scores))
        joined = merged(p @ wide_v)
        return joined @ w[f"{i}.o"], (x, q, wide_k, wide_v, p, joined), (k, v)

    def attention_back(self, i, kept, cos, sin, gradient, gradients):
        s, w = self.shape, self.weights
        x, q, k, v, p, joined = kept
        gradients[f"{i}.o"] = times(joined, gradient)
        g = heads_of(gradient @ w[f"{i}.o"].T, s.heads)
        gp, gv = g @ v.swapaxes(-1, -2), p.swapaxes(-1, -2) @ g
        gs = p * (gp - (gp * p).sum(-1, keepdims=True)) / np.float32(np.sqrt(s.size))
        gq, gk = gs @ k, gs.swapaxes(-1, -2) @ q

        def grouped(a):
            batch, _, length, size = a.shape
            return a.reshape(batch, s.groups, -1, length, size).sum(2)

        total = 0
        for name, part in (("q", rotate(gq, cos, -sin)), ("k", rotate(grouped(gk), cos, -sin)),
                           ("v", grouped(gv))):
            flat = merged(part)
            gradients[f"{i}.{name}"] = times(x, flat)
            total = total + flat @ w[f"{i}.{name}"].T
        return total

    def feed_forward(self, i, x):
        w = self.weights
        gate, up = x @ w[f"{i}.gate"], x @ w[f"{i}.up"]
        sigmoid = 1 / (1 + np.exp(-gate))
        hidden = gate * sigmoid * up
        return hidden @ w[f"{i}.down"], (x, gate, up, sigmoid, hidden)

    def feed_forward_back(self, i, kept, gradient, gradients):
        w = self.weights
        x, gate, up, sigmoid, hidden = kept
        gradients[f"{i}.down"] = times(hidden, gradient)
        g = gradient @ w[f"{i}.down"].T
        to_up = g * gate * sigmoid
        to_gate = g * up * sigmoid * (1 + gate * (1 - sigmoid))
        gradients[f"{i}.gate"], gradients[f"{i}.up"] = times(x, to_gate), times(x, to_up)
        return to_gate @ w[f"{i}.gate"].T + to_up @ w[f"{i}.up"].T

    def forward(self, tokens, past=None, keep=None):
        """Logits [batch, length, vocabulary] and the new cache."""
        w = self.weights
        before = 0 if past is None else past[0][0].shape[2]
        tables = rotary_tables(before + tokens.shape[1], self.shape.size)
        cos, sin = (table[before:] for table in tables)
        x, cache = w["embedding"][tokens], []
        for i in range(self.shape.layers):
            y, n1 = normalise(x, w[f"{i}.norm1"])
            out, attended, both = self.attention(i, y, cos, sin, past and past[i])
            middle = x + out
            z, n2 = normalise(middle, w[f"{i}.norm2"])
            out, fed = self.feed_forward(i, z)
            cache.append(both)
            if keep is not None:
                keep.append((x, n1, attended, middle, n2, fed))
            x = middle + out
        y, inverse = normalise(x, w["norm"])
        if keep is not None:
            keep.append((x, inverse, y, cos, sin))
        return y @ w["head"], cache

    def step(self, tokens, targets):
        """Mean cross entropy and the gradients of all weights."""
        keep, w, gradients = [], self.weights, {}
        logits, _ = self.forward(tokens, keep=keep)
        p = softmax(logits)
        rows = p.reshape(-1, p.shape[-1])
        flat = targets.reshape(-1)
        loss = -np.log(rows[np.arange(flat.size), flat]).mean()
        g = rows.copy()
        g[np.arange(flat.size), flat] -= 1
        g = (g / flat.size).reshape(p.shape).astype(np.float32)
        x, inverse, y, cos, sin = keep.pop()
        gradients["head"] = times(y, g)
        g, gradients["norm"] = normalise_back(x, inverse, w["norm"], g @ w["head"].T)
        for i in reversed(range(self.shape.layers)):
            x, n1, attended, middle, n2, fed = keep[i]
            back = self.feed_forward_back(i, fed, g, gradients)
            back, gradients[f"{i}.norm2"] = normalise_back(middle, n2, w[f"{i}.norm2"], back)
            g = g + back
            back = self.attention_back(i, attended, cos, sin, g, gradients)
            back, gradients[f"{i}.norm1"] = normalise_back(x, n1, w[f"{i}.norm1"], back)
            g = g + back
        embedding = np.zeros_like(w["embedding"])
        np.add.at(embedding, tokens.reshape(-1), g.reshape(-1, g.shape[-1]))
        gradients["embedding"] = embedding
        return loss, gradients

    def greedy(self, tokens, count):
        """`count` tokens after `tokens`, each the one of the largest logit."""
        logits, past = self.forward(np.asarray(tokens)[None])
        found = []
        for _ in range(count):
            found.append(int(logits[0, -1].argmax()))
            logits, past = self.forward(np.array([[found[-1]]]), past)
        return found
