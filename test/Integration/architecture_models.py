# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX graphs of published architectures, small, with seeded weights.

They are written as exporters write them (Pad before Conv, sub-graphs of Slice
and Concat, Reshape - Transpose - MatMul attention), so that the compiler meets
idioms and combinations of operators that no trained model of the tests has.
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import attention_models


class Graph:
    """A graph under construction; tensors are names, weights are drawn."""

    def __init__(self, name, inputs, opset=17):
        self.name, self.opset = name, opset
        self.nodes, self.constants = [], []
        self.random = np.random.default_rng([ord(c) for c in name])
        self.inputs = [helper.make_tensor_value_info(n, kind, shape)
                       for n, kind, shape in inputs]
        self.count = 0

    def op(self, kind, *inputs, outputs=1, **attributes):
        """Adds a node; returns its output, or a list of several."""
        self.count += 1
        names = [f"{kind.lower()}_{self.count}" + (f"_{i}" if i else "")
                 for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names,
                                           name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=np.float32):
        self.count += 1
        name = f"c_{self.count}"
        self.constants.append(numpy_helper.from_array(
            np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def normal(self, *shape, scale=1.0):
        return self.constant(self.random.standard_normal(shape) * scale)

    def model(self, **outputs):
        """The model; outputs by name: rank of each."""
        for name, (tensor, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [tensor], [name],
                                               name="out_" + name))
        infos = [helper.make_tensor_value_info(
            n, TensorProto.FLOAT, [None] * rank) for n, (_, rank) in outputs.items()]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos,
                                  self.constants)
        return helper.make_model(
            graph, ir_version=8,
            opset_imports=[helper.make_opsetid("", self.opset)])

    # Layers.

    def conv(self, x, cin, cout, kernel, stride=1, group=1, dilation=1,
             pads=None, bias=True, rank=2):
        """Convolution with He weights, padded to keep sizes unless told."""
        kernel = (kernel,) * rank if isinstance(kernel, int) else kernel
        fan = cin // group * math.prod(kernel)
        weight = self.normal(cout, cin // group, *kernel,
                             scale=math.sqrt(2 / fan))
        if pads is None:
            ends = [dilation * (k - 1) // 2 for k in kernel]
            pads = ends + ends
        inputs = [x, weight] + ([self.normal(cout, scale=0.1)] if bias else [])
        return self.op("Conv", *inputs, kernel_shape=kernel, group=group,
                       strides=[stride] * rank, dilations=[dilation] * rank,
                       pads=pads)

    def norm(self, x, channels):
        return self.op("BatchNormalization", x,
                       self.constant(self.random.uniform(0.8, 1.2, channels)),
                       self.normal(channels, scale=0.1),
                       self.normal(channels, scale=0.1),
                       self.constant(self.random.uniform(0.5, 1.5, channels)))

    def linear(self, x, fan_in, fan_out):
        y = self.op("MatMul", x, self.normal(fan_in, fan_out,
                                             scale=math.sqrt(1 / fan_in)))
        return self.op("Add", y, self.normal(fan_out, scale=0.1))

    def layer_norm(self, x, width):
        """As exporters wrote it before opset 17."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op(
            "Pow", centred, self.constant(2.0)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance,
                                            self.constant(1e-5)))
        y = self.op("Mul", self.op("Div", centred, deviation),
                    self.constant(self.random.uniform(0.8, 1.2, width)))
        return self.op("Add", y, self.normal(width, scale=0.1))

    def gelu(self, x):
        error = self.op("Erf", self.op("Div", x,
                                       self.constant(math.sqrt(2.0))))
        gate = self.op("Add", error, self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, gate), self.constant(0.5))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def relu(self, x):
        return self.op("Relu", x)


def image(channels, size, batch=1):
    return [("image", TensorProto.FLOAT, [batch, channels, size, size])]


def unet():
    g = Graph("unet", image(3, 48))

    def double(x, cin, cout):
        x = g.relu(g.norm(g.conv(x, cin, cout, 3, bias=False), cout))
        return g.relu(g.norm(g.conv(x, cout, cout, 3, bias=False), cout))

    def up(x, skip, cin, cout):
        weight = g.normal(cin, cout, 2, 2, scale=math.sqrt(1 / cin))
        x = g.op("ConvTranspose", x, weight, g.normal(cout, scale=0.1),
                 kernel_shape=[2, 2], strides=[2, 2])
        return double(g.op("Concat", skip, x, axis=1), 2 * cout, cout)

    top = double("image", 3, 16)
    middle = double(pool(g, top, 2), 16, 32)
    bottom = double(pool(g, middle, 2), 32, 64)
    x = up(up(bottom, middle, 64, 32), top, 32, 16)
    return g.model(mask=(g.op("Sigmoid", g.conv(x, 16, 1, 1)), 4))


def pool(g, x, size, stride=None, pads=(0, 0, 0, 0), kind="MaxPool"):
    return g.op(kind, x, kernel_shape=[size, size], pads=pads,
                strides=[stride or size] * 2)


def squeeze_excite(g, x, channels, gate):
    y = g.op("GlobalAveragePool", x)
    y = g.relu(g.conv(y, channels, channels // 4, 1))
    return g.op("Mul", x, g.op(gate, g.conv(y, channels // 4, channels, 1)))


def efficientnet():
    g = Graph("efficientnet", image(3, 64))

    def block(x, cin, cout, kernel, stride, expand):
        wide = cin * expand
        y = g.silu(g.norm(g.conv(x, cin, wide, 1, bias=False), wide))
        y = g.conv(y, wide, wide, kernel, stride, group=wide, bias=False)
        y = squeeze_excite(g, g.silu(g.norm(y, wide)), wide, "Sigmoid")
        y = g.norm(g.conv(y, wide, cout, 1, bias=False), cout)
        return g.op("Add", x, y) if stride == 1 and cin == cout else y

    # TensorFlow's "same" padding: one row more at the end.
    x = g.silu(g.norm(g.conv("image", 3, 16, 3, 2, pads=[0, 0, 1, 1],
                             bias=False), 16))
    x = block(x, 16, 24, 3, 2, 4)
    x = block(x, 24, 24, 3, 1, 4)
    x = block(x, 24, 40, 5, 2, 4)
    x = block(x, 40, 40, 5, 1, 4)
    x = g.op("Flatten", g.op("GlobalAveragePool", g.silu(
        g.conv(x, 40, 160, 1))))
    return g.model(logits=(g.op("Softmax", g.op(
        "Gemm", x, g.normal(10, 160, scale=0.2), g.normal(10), transB=1)), 2))


def mobilenet_v3():
    g = Graph("mobilenet_v3", image(3, 64))

    def block(x, cin, wide, cout, kernel, stride, gate):
        act = (lambda t: g.op("HardSwish", t)) if gate else g.relu
        y = act(g.norm(g.conv(x, cin, wide, 1, bias=False), wide))
        y = act(g.norm(g.conv(y, wide, wide, kernel, stride, group=wide,
                              bias=False), wide))
        if gate:
            y = squeeze_excite(g, y, wide, "HardSigmoid")
        y = g.norm(g.conv(y, wide, cout, 1, bias=False), cout)
        return g.op("Add", x, y) if stride == 1 and cin == cout else y

    x = g.op("HardSwish", g.norm(g.conv("image", 3, 16, 3, 2), 16))
    x = block(x, 16, 16, 16, 3, 1, False)
    x = block(x, 16, 72, 24, 3, 2, False)
    x = block(x, 24, 96, 40, 5, 2, True)
    x = block(x, 40, 120, 40, 5, 1, True)
    x = g.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    x = g.op("HardSwish", g.linear(x, 40, 128))
    return g.model(logits=(g.linear(x, 128, 10), 2))


def yolo():
    g = Graph("yolo", image(3, 64))

    def unit(x, cin, cout, kernel=1, stride=1, pads=None):
        return g.silu(g.conv(x, cin, cout, kernel, stride, pads=pads))

    def c3(x, cin, cout):
        half = cout // 2
        left = unit(x, cin, half)
        left = g.op("Add", left, unit(unit(left, half, half), half, half, 3))
        return unit(g.op("Concat", left, unit(x, cin, half), axis=1), cout, cout)

    def sppf(x, channels):
        half = channels // 2
        maps = [unit(x, channels, half)]
        for _ in range(3):
            maps.append(pool(g, maps[-1], 5, 1, (2, 2, 2, 2)))
        return unit(g.op("Concat", *maps, axis=1), 4 * half, channels)

    def head(x, channels, size, anchors=3, classes=5):
        """Reshape, transpose, sigmoid; boxes from slices, as exported."""
        width = 5 + classes
        y = g.conv(x, channels, anchors * width, 1)
        y = g.op("Reshape", y, g.ints(1, anchors, width, size, size))
        y = g.op("Sigmoid", g.op("Transpose", y, perm=[0, 1, 3, 4, 2]))
        xy, wh, rest = (g.op("Slice", y, g.ints(a), g.ints(b), g.ints(4),
                             g.ints(1))
                        for a, b in ((0, 2), (2, 4), (4, width)))
        grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1)
        xy = g.op("Mul", g.op("Add", xy, g.constant(
            grid.reshape(1, 1, size, size, 2) - 0.5)), g.constant(8.0))
        wh = g.op("Mul", g.op("Pow", g.op("Mul", wh, g.constant(2.0)),
                              g.constant(2.0)),
                  g.constant(g.random.uniform(1, 9, (1, anchors, 1, 1, 2))))
        y = g.op("Concat", xy, wh, rest, axis=4)
        return g.op("Reshape", y, g.ints(1, -1, width))

    x = unit("image", 3, 16, 6, 2, [2, 2, 2, 2])
    early = c3(unit(x, 16, 32, 3, 2), 32, 32)
    late = sppf(c3(unit(early, 32, 64, 3, 2), 64, 64), 64)
    top = unit(late, 64, 32)
    y = g.op("Resize", top, "", g.constant([1, 1, 2, 2]), mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    y = c3(g.op("Concat", y, early, axis=1), 64, 32)
    z = c3(g.op("Concat", unit(y, 32, 32, 3, 2), top, axis=1), 64, 64)
    return g.model(boxes=(g.op("Concat", head(y, 32, 16), head(z, 64, 8),
                               axis=1), 3))


def convnext():
    g = Graph("convnext", image(3, 64))

    def block(x, width):
        y = g.conv(x, width, width, 7, group=width)
        y = g.layer_norm(g.op("Transpose", y, perm=[0, 2, 3, 1]), width)
        y = g.linear(g.gelu(g.linear(y, width, 4 * width)), 4 * width, width)
        y = g.op("Mul", y, g.constant(g.random.uniform(0.5, 1, width)))
        return g.op("Add", x, g.op("Transpose", y, perm=[0, 3, 1, 2]))

    x = g.conv("image", 3, 32, 4, 4, pads=[0] * 4)
    x = block(block(x, 32), 32)
    x = g.conv(x, 32, 64, 2, 2, pads=[0] * 4)
    x = block(x, 64)
    x = g.op("ReduceMean", x, axes=[-2, -1], keepdims=0)
    return g.model(logits=(g.linear(g.layer_norm(x, 64), 64, 10), 2))


def mixer():
    g = Graph("mixer", image(3, 64))

    def mlp(x, width, wide):
        return g.linear(g.gelu(g.linear(x, width, wide)), wide, width)

    x = g.conv("image", 3, 48, 16, 16, pads=[0] * 4)
    x = g.op("Transpose", g.op("Reshape", x, g.ints(1, 48, 16)), perm=[0, 2, 1])
    for _ in range(2):
        y = g.op("Transpose", g.layer_norm(x, 48), perm=[0, 2, 1])
        y = g.op("Transpose", mlp(y, 16, 32), perm=[0, 2, 1])
        x = g.op("Add", x, y)
        x = g.op("Add", x, mlp(g.layer_norm(x, 48), 48, 96))
    x = g.op("ReduceMean", x, axes=[1], keepdims=0)
    return g.model(logits=(g.linear(x, 48, 10), 2))


def decoder(length=12, width=48, heads=4, layers=2, vocabulary=100):
    """A causal language model: embeddings by Gather, tied output weights."""
    g = Graph("decoder", [("tokens", TensorProto.INT64, [1, length])])
    table = g.normal(vocabulary, width, scale=0.5)
    x = g.op("Add", g.op("Gather", table, "tokens", axis=0),
             g.normal(length, width, scale=0.1))
    mask = g.constant(np.tril(np.ones((1, 1, length, length))), np.bool_)
    size = width // heads
    for _ in range(layers):
        y = g.linear(g.layer_norm(x, width), width, 3 * width)
        parts = g.op("Split", y, g.ints(width, width, width), outputs=3, axis=2)
        q, k, v = (g.op("Transpose", g.op("Reshape", p, g.ints(
            1, length, heads, size)), perm=perm) for p, perm in zip(
                parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = g.op("Div", g.op("MatMul", q, k), g.constant(math.sqrt(size)))
        scores = g.op("Where", mask, scores, g.constant(-1e9))
        y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]),
                 g.ints(1, length, width))
        x = g.op("Add", x, g.linear(y, width, width))
        y = g.gelu(g.linear(g.layer_norm(x, width), width, 4 * width))
        x = g.op("Add", x, g.linear(y, 4 * width, width))
    tied = g.op("Transpose", table, perm=[1, 0])
    return g.model(logits=(g.op("MatMul", g.layer_norm(x, width), tied), 3))


def large_vocabulary():
    """Embeddings of 30 MB, far more than the chip holds."""
    return decoder(16, 256, 4, 1, 30000)


def wavenet():
    g = Graph("wavenet", [("audio", TensorProto.FLOAT, [1, 1, 200])])
    x = g.conv("audio", 1, 24, (2,), rank=1, pads=[1, 0])
    skips = []
    for dilation in (1, 2, 4, 8, 16):
        tanh, sigmoid = (g.op(kind, g.conv(
            x, 24, 24, (2,), dilation=dilation, pads=[dilation, 0], rank=1))
            for kind in ("Tanh", "Sigmoid"))
        y = g.op("Mul", tanh, sigmoid)
        skips.append(g.conv(y, 24, 32, (1,), rank=1))
        x = g.op("Add", x, g.conv(y, 24, 24, (1,), rank=1))
    x = g.relu(g.op("Sum", *skips))
    return g.model(samples=(g.op("LogSoftmax", g.conv(x, 32, 64, (1,), rank=1),
                                 axis=1), 3))


def dcgan():
    g = Graph("dcgan", [("noise", TensorProto.FLOAT, [2, 32])])
    x = g.op("Reshape", "noise", g.ints(0, 32, 1, 1))
    cin = 32
    for cout, stride, pad in ((64, 1, 0), (32, 2, 1), (16, 2, 1)):
        weight = g.normal(cin, cout, 4, 4, scale=math.sqrt(1 / (4 * cin)))
        x = g.op("ConvTranspose", x, weight, kernel_shape=[4, 4],
                 strides=[stride] * 2, pads=[pad] * 4)
        x, cin = g.relu(g.norm(x, cout)), cout
    weight = g.normal(16, 3, 4, 4, scale=0.1)
    x = g.op("ConvTranspose", x, weight, strides=[2, 2], pads=[1] * 4)
    return g.model(picture=(g.op("Tanh", x), 4))


def style_transfer():
    g = Graph("style_transfer", image(3, 40))

    def unit(x, cin, cout, kernel, stride=1):
        r = kernel // 2
        x = g.op("Pad", x, g.ints(0, 0, r, r, 0, 0, r, r), mode="reflect")
        x = g.conv(x, cin, cout, kernel, stride, pads=[0] * 4)
        return g.op("InstanceNormalization", x,
                    g.constant(g.random.uniform(0.8, 1.2, cout)),
                    g.normal(cout, scale=0.1))

    x = g.relu(unit("image", 3, 16, 9))
    x = g.relu(unit(x, 16, 32, 3, 2))
    for _ in range(2):
        y = unit(g.relu(unit(x, 32, 32, 3)), 32, 32, 3)
        x = g.op("Add", x, y)
    x = g.op("Upsample" if g.opset < 10 else "Resize", x, "",
             g.constant([1, 1, 2, 2]), mode="nearest")
    x = g.relu(unit(x, 32, 16, 3))
    x = g.op("Pad", x, g.ints(0, 0, 4, 4, 0, 0, 4, 4), mode="reflect")
    return g.model(picture=(g.conv(x, 16, 3, 9, pads=[0] * 4), 4))


def c3d():
    g = Graph("c3d", [("clip", TensorProto.FLOAT, [1, 3, 6, 24, 24])])
    x = g.relu(g.conv("clip", 3, 16, 3, rank=3))
    x = g.op("MaxPool", x, kernel_shape=[1, 2, 2], strides=[1, 2, 2])
    x = g.relu(g.conv(x, 16, 32, 3, rank=3))
    x = g.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    x = g.relu(g.conv(x, 32, 32, (3, 1, 1), rank=3))
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return g.model(logits=(g.linear(x, 32, 10), 2))


def deeplab():
    """Grouped bottlenecks, dilated context, bilinear enlargement."""
    g = Graph("deeplab", image(3, 64))
    x = g.relu(g.norm(g.conv("image", 3, 32, 7, 2), 32))
    x = pool(g, x, 3, 2, (1, 1, 1, 1))
    for stride, dilation in ((1, 1), (2, 1), (1, 2)):
        y = g.relu(g.norm(g.conv(x, 32, 64, 1), 64))
        y = g.relu(g.norm(g.conv(y, 64, 64, 3, stride, group=8,
                                 dilation=dilation), 64))
        y = g.norm(g.conv(y, 64, 32, 1), 32)
        x = g.relu(g.op("Add", y, x if stride == 1 else
                        g.conv(x, 32, 32, 1, stride)))
    maps = [g.relu(g.conv(x, 32, 16, 1))]
    maps += [g.relu(g.conv(x, 32, 16, 3, dilation=d)) for d in (2, 3, 6)]
    mean = g.relu(g.conv(g.op("GlobalAveragePool", x), 32, 16, 1))
    maps.append(g.op("Expand", mean, g.ints(1, 16, 8, 8)))
    y = g.relu(g.conv(g.op("Concat", *maps, axis=1), 80, 32, 1))
    y = g.conv(y, 32, 5, 1)
    return g.model(classes=(g.op(
        "Resize", y, "", "", g.ints(1, 5, 64, 64), mode="linear",
        coordinate_transformation_mode="half_pixel"), 4))


def pointnet():
    g = Graph("pointnet", [("points", TensorProto.FLOAT, [2, 3, 100])])

    def features(x, cin):
        for cout in (32, 64):
            x, cin = g.relu(g.norm(g.conv(x, cin, cout, (1,), rank=1),
                                   cout)), cout
        return x

    y = g.op("ReduceMax", features("points", 3), axes=[2], keepdims=0)
    y = g.relu(g.linear(y, 64, 32))
    turn = g.op("Reshape", g.linear(y, 32, 9), g.ints(-1, 3, 3))
    turn = g.op("Add", turn, g.constant(np.eye(3)[None]))
    x = g.op("Transpose", "points", perm=[0, 2, 1])
    x = g.op("Transpose", g.op("MatMul", x, turn), perm=[0, 2, 1])
    x = g.op("ReduceMax", features(x, 3), axes=[2], keepdims=0)
    return g.model(logits=(g.op("LogSoftmax", g.linear(x, 64, 10), axis=1), 2))


def super_resolution():
    g = Graph("super_resolution", image(3, 20))
    x = g.conv("image", 3, 32, 3)
    skip = x
    for _ in range(2):
        y = g.op("PRelu", g.conv(x, 32, 32, 3), g.constant(
            g.random.uniform(0, 0.3, (32, 1, 1))))
        x = g.op("Add", x, g.op("Mul", g.conv(y, 32, 32, 3), g.constant(0.1)))
    x = g.conv(g.op("Add", x, skip), 32, 128, 3)
    x = g.op("LeakyRelu", g.op("DepthToSpace", x, blocksize=2, mode="CRD"),
             alpha=0.1)
    return g.model(picture=(g.op("Clip", g.conv(x, 32, 3, 3), g.constant(-1.0),
                                 g.constant(1.0)), 4))


def more(builder):
    """A builder of attention_models.py, which takes the class of graphs."""
    return builder.__name__, lambda: builder(Graph)


BUILDERS = [unet, efficientnet, mobilenet_v3, yolo, convnext, mixer, decoder,
            large_vocabulary, wavenet, dcgan, style_transfer, c3d, deeplab,
            pointnet, super_resolution]
MODELS = {builder.__name__: builder for builder in BUILDERS}
MODELS.update(more(builder) for builder in attention_models.BUILDERS)
NAMES = list(MODELS)


def build(name):
    return MODELS[name]()
