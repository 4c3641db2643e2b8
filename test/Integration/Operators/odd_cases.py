# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd but legal models of floats, and some that must be refused: odd_models.py
compiles, runs and compares them."""

import numpy as np
from onnx import TensorProto, helper

from odd_graphs import MALFORMED, UNSUPPORTED, USAGE, case


# Extents.

@case
def kernel_larger_than_map(m):
    x = m.input("x", [1, 3, 2, 3])
    m.output(m.node("Conv", [x, m.weights(5, 3, 7, 7)], pads=[3, 3, 3, 3]))
    m.output(m.node("MaxPool", [x], kernel_shape=[5, 5], pads=[2, 2, 2, 2]))


@case
def kernel_larger_than_padded_map_with_dilation(m):
    x = m.input("x", [2, 4, 3, 3])
    m.output(m.node("Conv", [x, m.weights(4, 2, 3, 3)], pads=[4, 4, 4, 4], dilations=[5, 4],
                    strides=[3, 2], group=2))


@case
def taps_that_only_meet_padding(m):
    x = m.input("x", [1, 2, 1, 1])
    m.output(m.node("Conv", [x, m.weights(3, 2, 3, 3)], pads=[1, 1, 1, 1], strides=[2, 2]))


@case
def outputs_that_only_meet_padding(m):
    x = m.input("x", [1, 2, 3, 3])
    m.output(m.node("Conv", [x, m.weights(3, 2, 1, 1)], pads=[2, 1, 2, 3]))
    m.output(m.node("Conv", [x, m.weights(3, 2, 2, 2), m.weights(3)], pads=[4, 5, 0, 4]))


@case
def conv_too_large_for_the_map(m):
    x = m.input("x", [1, 3, 2, 2])
    m.output(m.node("Conv", [x, m.weights(5, 3, 3, 3)]))
    m.refuse(MALFORMED, "Conv")


@case
def maps_of_one_position(m):
    x = m.input("x", [3, 7, 1, 1])
    x = m.node("Conv", [x, m.weights(11, 7, 1, 1)])
    x = m.node("Relu", [m.node("Conv", [x, m.weights(13, 11, 3, 3)], pads=[1, 1, 1, 1])])
    x = m.node("Add", [x, m.node("GlobalAveragePool", [x])])
    m.output(m.node("Flatten", [x]))


@case
def thousands_of_channels(m):
    x = m.input("x", [1, 4096, 2, 1])
    y = m.node("Conv", [x, m.weights(257, 4096, 1, 1)])
    m.output(m.node("Conv", [m.node("Relu", [y]), m.weights(4096, 257, 1, 1)]))


@case
def thousands_of_depthwise_channels(m):
    x = m.input("x", [1, 2049, 3, 3])
    m.output(m.node("Conv", [x, m.weights(2049, 1, 3, 3)], group=2049, pads=[1, 1, 1, 1]))


@case
def one_channel(m):
    x = m.input("x", [1, 1, 31, 29])
    y = m.node("Conv", [x, m.weights(1, 1, 3, 5)], pads=[1, 2, 1, 2])
    y = m.node("Conv", [m.node("Sigmoid", [y]), m.weights(1, 1, 1, 1)])
    m.output(m.node("Conv", [y, m.weights(1, 1, 31, 29)]))


@case
def prime_extents(m):
    x = m.input("x", [1, 17, 19, 23])
    y = m.node("Conv", [x, m.weights(37, 17, 3, 3)], strides=[2, 3])
    y = m.node("Conv", [m.node("Relu", [y]), m.weights(41, 37, 5, 2)], pads=[0, 1, 2, 0])
    m.output(m.node("ReduceMean", [y], axes=[2, 3], keepdims=0))


@case
def long_lines(m):
    x = m.input("x", [1, 1, 1, 20011])
    y = m.node("Conv", [x, m.weights(3, 1, 1, 9)], strides=[1, 4])
    m.output(m.node("MaxPool", [y], kernel_shape=[1, 5], strides=[1, 5]))


@case
def tall_lines(m):
    x = m.input("x", [1, 2, 9001, 1])
    m.output(m.node("Conv", [x, m.weights(3, 2, 5, 1)], strides=[3, 1]))


@case
def empty_dimension(m):
    x = m.input("x", [2, 0, 3])
    y = m.input("y", [2, 2, 3])
    m.output(m.node("Relu", [m.node("Concat", [x, y], axis=1)]), m.node("Relu", [x]))


@case
def empty_product(m):
    """A sum of no products is zero."""
    x, y, c = m.input("x", [2, 0]), m.input("y", [0, 3]), m.input("c", [3])
    m.output(m.node("Add", [m.node("MatMul", [x, y]), c]),
             m.node("MatMul", [x, m.constant(np.zeros((0, 3), np.float32))]))


@case
def empty_convolution(m):
    """A convolution of no channels is its bias."""
    x, b = m.input("x", [1, 0, 5, 5]), m.input("b", [4])
    m.output(m.node("Conv", [x, m.constant(np.zeros((4, 0, 3, 3), np.float32)), b]))


@case
def empty_keys(m):
    """Queries that find no keys read nothing."""
    m.planned = False
    q, k, v = m.input("q", [2, 4, 8]), m.input("k", [2, 8, 0]), m.input("v", [2, 0, 6])
    scores = m.node("Softmax", [m.node("MatMul", [q, k])], axis=-1)
    m.output(m.node("Relu", [m.node("MatMul", [scores, v])]))


@case
def windows_of_padding(m):
    """An average over padding alone is 0."""
    m.opset = 19
    x = m.input("x", [1, 3, 1, 9])
    m.output(m.node("AveragePool", [x], kernel_shape=[2, 2], dilations=[2, 2],
                    strides=[2, 2], pads=[1, 1, 1, 1]))


@case
def empty_slice(m):
    m.planned = False
    x = m.input("x", [1, 4, 5])
    bounds = [m.constant(np.array([v])) for v in (3, 1, 2)]
    part = m.node("Slice", [x, *bounds])
    m.output(m.node("Concat", [part, x], axis=2))
    m.output(part)


@case
def empty_batch(m):
    m.planned = False
    x = m.input("x", [0, 3, 4, 4])
    m.output(m.node("Conv", [x, m.weights(2, 3, 1, 1)]))


@case
def scalars(m):
    x = m.input("x", [])
    y = m.node("Mul", [x, m.constant(np.float32(3))])
    m.output(m.node("Add", [y, x]), m.node("Sqrt", [m.node("Abs", [y])]))
    m.output(m.node("Unsqueeze", [x, m.constant(np.array([0, 1]))]))


@case
def rank_seven(m):
    x = m.input("x", [2, 1, 3, 2, 1, 2, 3])
    y = m.node("Transpose", [x], perm=[6, 0, 5, 1, 3, 2, 4])
    m.output(m.node("Add", [y, m.weights(1, 2, 2, 1, 1, 3, 1)]))


# Convolutions of other ranks.

@case
def conv_1d_groups_dilations(m):
    x = m.input("x", [3, 12, 41])
    y = m.node("Conv", [x, m.weights(8, 3, 5), m.weights(8)], group=4, dilations=[3],
               strides=[2], pads=[7, 2])
    m.output(m.node("Conv", [y, m.weights(16, 1, 3)], group=8, auto_pad="SAME_LOWER"))


@case
def conv_3d_groups_dilations(m):
    x = m.input("x", [2, 6, 5, 7, 6])
    y = m.node("Conv", [x, m.weights(4, 3, 2, 3, 1), m.weights(4)], group=2,
               dilations=[2, 1, 1], strides=[1, 2, 3], pads=[1, 0, 0, 1, 2, 0])
    m.output(m.node("AveragePool", [y], kernel_shape=[2, 2, 1], pads=[0, 1, 0, 1, 0, 0]))


@case
def conv_3d_sparse(m):
    m.options = ["--sparse=tile"]
    x = m.input("x", [1, 8, 4, 9, 9])
    m.output(m.node("Conv", [x, m.weights(8, 8, 3, 3, 3, density=0.1)], pads=[1] * 6))


@case
def conv_transpose_1d_3d(m):
    x, y = m.input("x", [2, 5, 9]), m.input("y", [1, 3, 2, 3, 2])
    m.output(m.node("ConvTranspose", [x, m.weights(5, 4, 4)], strides=[3], pads=[1, 2],
                    output_padding=[1]))
    m.output(m.node("ConvTranspose", [y, m.weights(3, 2, 2, 3, 3)], strides=[2, 1, 2],
                    dilations=[1, 2, 1]))


@case
def conv_transpose_groups(m):
    x = m.input("x", [2, 6, 5, 4])
    m.output(m.node("ConvTranspose", [x, m.weights(6, 4, 3, 2), m.weights(12)], group=3,
                    strides=[2, 3], dilations=[2, 1], pads=[1, 0, 2, 1]))


# Batches.

def sparse_batch(m, *options):
    m.options = list(options)
    x = m.input("x", [3, 16, 11, 13])
    y = m.node("Relu", [m.node("Conv", [x, m.weights(24, 16, 3, 3, density=0.1)],
                               pads=[1] * 4)])
    y = m.node("Transpose", [y], perm=[2, 0, 3, 1])
    y = m.node("Transpose", [m.node("Sigmoid", [y])], perm=[1, 3, 0, 2])
    y = m.node("Conv", [y, m.weights(8, 24, 3, 3, density=0.2)], strides=[2, 2])
    y = m.node("Reshape", [y, m.constant(np.array([3, 8, -1]))])
    m.output(m.node("MatMul", [y, m.node("Transpose", [y], perm=[0, 2, 1])]))


@case
def batch_sparse_tile_transposes(m):
    sparse_batch(m, "--sparse=tile", "--transpose=pe")


@case
def batch_sparse_scatter_transposes(m):
    sparse_batch(m, "--sparse=scatter", "--transpose=dma", "--partition-cuts=always")


@case
def batch_folds_transposes(m):
    sparse_batch(m, "--sparse=off", "--transpose=copy", "--fold-w=both")


@case
def products_with_broadcast_batches(m):
    x, y = m.input("x", [2, 1, 3, 5, 7]), m.input("y", [4, 1, 7, 6])
    m.output(m.node("MatMul", [x, y]))
    m.output(m.node("MatMul", [m.input("v", [7]), y]), m.node("MatMul", [x, m.weights(7)]))


# Names, sharing, outputs.

@case
def shared_weights(m):
    x = m.input("x", [1, 8, 9, 9])
    w, b = m.weights(8, 8, 3, 3), m.weights(8)
    for stride in (1, 1, 2):
        x = m.node("Relu", [m.node("Conv", [x, w, b], pads=[1] * 4, strides=[stride] * 2)])
    flat = m.node("Reshape", [w, m.constant(np.array([8, 72]))])
    m.output(x, m.node("Gemm", [m.input("y", [3, 72]), flat, b], transB=1))
    m.output(m.node("Conv", [m.input("z", [1, 4, 5, 5]),
                             m.node("Reshape", [w, m.constant(np.array([16, 4, 3, 3]))])]))


@case
def weights_as_weights_and_bias(m):
    w = m.weights(1, 7)
    x = m.input("x", [3, 1])
    y = m.node("Gemm", [x, w, m.node("Squeeze", [w, m.constant(np.array([0]))])])
    m.output(m.node("Add", [y, w]), m.node("MatMul", [y, m.node("Transpose", [w])]))


@case
def constant_bias_for_many_channels(m):
    x = m.input("x", [2, 3, 4, 4])
    m.output(m.node("Gemm", [m.node("Flatten", [x]), m.weights(48, 5),
                             m.constant(np.float32([[0.5]]))], alpha=0.25, beta=2.0))


@case
def outputs_of_inner_tensors(m):
    x = m.input("x", [1, 8, 6, 6])
    a = m.node("Conv", [x, m.weights(8, 8, 3, 3)], pads=[1] * 4)
    b = m.node("Relu", [a])
    c = m.node("Add", [b, x])
    d = m.node("MaxPool", [c], kernel_shape=[2, 2])
    m.output(d, c, b, a)


@case
def outputs_of_views(m):
    x = m.input("x", [2, 6, 4])
    a = m.node("Relu", [x])
    b = m.node("Reshape", [a, m.constant(np.array([6, 8]))])
    c = m.node("Transpose", [b])
    m.output(a, b, c, m.node("Identity", [c]), m.node("Flatten", [a]))


@case
def output_is_input(m):
    x = m.input("x", [2, 3])
    m.output(x, m.node("Relu", [x]))


@case
def only_identity(m):
    m.planned = False
    m.output(m.node("Identity", [m.input("x", [2, 3])]))


@case
def only_an_input(m):
    m.planned = False
    m.output(m.input("x", [2, 3]))


@case
def output_is_constant(m):
    m.output(m.weights(3, 4), m.node("Relu", [m.input("x", [2])]))
    m.output(m.node("Neg", [m.weights(5)]))
    m.output(m.constant(np.arange(6).reshape(2, 3)))


@case
def only_constants(m):
    m.planned = False
    m.output(m.node("Exp", [m.weights(3, 4)]))


@case
def output_twice(m):
    y = m.node("Relu", [m.input("x", [2, 3])])
    m.output(y, m.node("Abs", [y]), y)


@case
def unused_inputs_and_constants(m):
    m.input("unused", [3, 4])
    m.weights(100, 100)
    m.node("Relu", [m.input("dead", [7])])
    m.output(m.node("Relu", [m.input("x", [2, 3])]))


@case
def input_many_times(m):
    x = m.input("x", [1, 4, 5, 5])
    y = m.node("Add", [x, x])
    y = m.node("Mul", [y, y])
    y = m.node("Concat", [x, y, x, x], axis=1)
    m.output(m.node("MatMul", [y, y]), m.node("Conv", [x, m.weights(4, 4, 5, 5)]))


@case
def odd_names(m):
    x = m.input("Größe / 入力:0", [1, 3, 6, 6])
    w = m.weights(4, 3, 3, 3, name="../w/../../\"quoted\" 'w' %s \\n\n{}")
    y = m.node("Conv", [x, w], name="a b/c d\tE#; .node $1")
    m.output(m.node("Relu", [y], name="🙂/output.npy"))


@case
def names_alike(m):
    x = m.input("x", [2, 3])
    m.output(m.node("Relu", [x], name="x_0"), m.node("Abs", [x], name="X"))
    m.output(m.node("Neg", [x], name="x/0"), m.node("Exp", [x], name="x.0"))


@case
def long_names(m):
    x = m.input("x" * 300, [2, 3])
    m.output(m.node("Relu", [m.node("Abs", [x], name="y" * 5000)], name="z" * 400))


@case
def external_data(m):
    m.external = True
    x = m.input("x", [1, 3, 6, 6])
    y = m.node("Conv", [x, m.weights(4, 3, 3, 3), m.weights(4)])
    m.output(m.node("Reshape", [y, m.constant(np.array([-1, 4]))]))


# Symbolic dimensions.

@case
def symbolic_batch(m):
    x = m.input("x", [2, 3, 4, 4], dims=["batch", 3, 4, 4])
    m.output(m.node("Conv", [x, m.weights(2, 3, 1, 1)]))
    m.options = ["--input-shape=x=2x3x4x4"]


@case
def symbolic_without_shape(m):
    x = m.input("x", [2, 3], dims=["rows", None])
    m.output(m.node("Relu", [x]))
    m.refuse(USAGE, "x", "--input-shape")


@case
def symbolic_shapes_computed(m):
    x = m.input("x", [2, 12, 5], dims=["n", 12, "t"])
    m.options = ["--input-shape=x=2x12x5"]
    shape = m.node("Shape", [x])
    part = lambda k: m.node("Gather", [shape, m.constant(np.array([k]))])
    four = m.constant(np.array([4]))
    heads = m.node("Concat", [part(0), four, m.node("Div", [part(1), four]), part(2)], axis=0)
    y = m.node("Transpose", [m.node("Reshape", [x, heads])], perm=[0, 2, 1, 3])
    m.output(m.node("Softmax", [y]))
    m.output(m.node("Expand", [m.constant(np.float32([[1]])), part(2)]))


@case
def one_symbol_two_inputs(m):
    x = m.input("x", [2, 3], dims=["n", 3])
    y = m.input("y", [2, 3], dims=["n", 3])
    m.options = ["--input-shape=x=2x3", "--input-shape=y=2x3"]
    m.output(m.node("Add", [x, y]))


# Control flow, strings, functions, types.

def branch(name, op):
    node = helper.make_node(op, ["x"], [name])
    return helper.make_graph([node], name, [], [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])])


@case
def if_on_an_input(m):
    m.input("x", [2, 3])
    m.output(m.node("If", [m.input("c", [], np.bool_, high=1)], then_branch=branch("a", "Relu"),
                    else_branch=branch("b", "Neg")))


@case
def if_on_a_constant(m):
    m.input("x", [2, 3])
    m.output(m.node("If", [m.constant(np.array(True))], then_branch=branch("a", "Relu"),
                    else_branch=branch("b", "Neg")))


@case
def loop(m):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Relu", ["v"], ["w"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                 helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("v", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []),
         helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3])])
    x = m.input("x", [2, 3])
    m.output(m.node("Loop", [m.constant(np.array(3)), m.constant(np.array(True)), x], body=body))


@case
def loop_on_an_input(m):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Relu", ["v"], ["w"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                 helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("v", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []),
         helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3])])
    x = m.input("x", [2, 3])
    m.output(m.node("Loop", [m.input("n", [], np.int64, high=3), m.constant(np.array(True)), x],
                    body=body))
    m.refuse(UNSUPPORTED, "Loop", "the trip count ('n') is not a constant")


@case
def strings(m):
    names = helper.make_tensor("names", TensorProto.STRING, [2], [b"cat", b"dog"])
    m.constants.append(names)
    m.input("x", [2, 3])
    index = m.node("ArgMax", ["x"], axis=1, keepdims=0)
    m.output(m.node("Gather", ["names", index]))
    m.refuse(UNSUPPORTED, "names")


@case
def local_function(m):
    m.functions = [helper.make_function(
        "here", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)])]
    m.nodes.append(helper.make_node("Twice", [m.input("x", [2, 3])], ["y"], domain="here"))
    m.output("y")


@case
def optional_inputs_left_out(m):
    x = m.input("x", [1, 3, 5, 5])
    y = m.node("Clip", [x, "", m.constant(np.float32(0.5))])
    y = m.node("Conv", [y, m.weights(2, 3, 1, 1), ""])
    y = m.node("Resize", [y, "", "", m.constant(np.array([1, 2, 7, 3]))], mode="nearest")
    m.output(m.node("Pad", [y, m.constant(np.array([0, 0, 1, 2, 0, 0, 0, 3]))]))


@case
def integer_and_boolean_paths(m):
    x = m.input("x", [3, 5], np.int64)
    y = m.node("Mod", [m.node("Mul", [x, x]), m.constant(np.array(7))])
    big = m.node("Greater", [y, m.constant(np.array([3]))])
    m.output(y, big, m.node("Where", [big, x, y]))
    m.output(m.node("Gather", [m.weights(10, 4), x]))
