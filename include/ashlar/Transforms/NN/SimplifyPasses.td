// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, batch normalisation, biases and arithmetic: fewer operations that
// compute the same.

#ifndef ASHLAR_TRANSFORMS_NN_SIMPLIFYPASSES_TD
#define ASHLAR_TRANSFORMS_NN_SIMPLIFYPASSES_TD

include "include/ashlar/Transforms/NN/PassBase.td"

def SetBatch : NNPass<"ashlar-nn-set-batch"> {
  let summary = "run several samples at a time through a network of batch size one";
  let description = [{
    Every graph input of the network has one sample on axis 0. Afterwards it has
    `batch` samples, and every result is what the network computes for each of
    them. The pass follows the batch axis through every operation, transposes
    and reshapes included: a shape that the model states for one sample becomes
    the shape for all of them. Values that are the same for all samples are
    repeated where an operation needs one copy per sample.

    Refused are operations that would mix samples (a reduction or a softmax
    along the batch axis) and results whose first axis is not the batch axis.
    Inputs named by `keep` are the same for all samples. A network whose inputs
    all have `batch` samples already is left unchanged.
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "1", "samples at a time">,
    ListOption<"keep", "keep", "std::string",
               "names of inputs that are the same for all samples">
  ];
}

def FoldConstants : NNPass<"ashlar-nn-fold-constants"> {
  let summary = "evaluate operations whose operands are all constant";
  let description = [{
    Replaces every operation whose operands are constant by its value. Data
    movement copies raw bits. Floating-point arithmetic is done in binary64, in
    index order, and rounded once to the result type; integer arithmetic is
    exact, modulo the width of the type. A result without elements is a constant
    whatever the operands are.

    A result that is larger than `max-bytes` and larger than all operands
    together (a broadcast, a pad) stays an operation: the program file should
    not store what the machine can compute. All results together may add a fixed
    amount to what the module holds, and with `doubles` as much again.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "4194304",
           "largest constant that may exceed its operands, in bytes">,
    Option<"doubles", "doubles", "bool", "true",
           "constants may double in size; for the first run on a program">
  ];
  let statistics = [
    Statistic<"folded", "folded", "operations replaced by a constant">,
    Statistic<"kept", "kept", "operations kept because their value is large">
  ];
}

def FoldBatchNorm : NNPass<"ashlar-nn-fold-batch-norm"> {
  let summary = "absorb batch normalisation into weights, or make it mul + add";
  let description = [{
    With constant parameters, batch_norm is `x * s + t` per channel, where `s =
    scale / sqrt(var + epsilon)` and `t = bias - mean * s` in binary64.

    - If x comes from a conv, conv_transpose or matmul with constant weights and
      has no other reader, s scales the weights and t joins the bias. For a
      matmul, the addition of a constant follows instead.
    - Otherwise the op becomes nn.mul and nn.add.

    Each new constant is rounded once. An op whose parameters are not constant
    is left unchanged.
  }];
  let statistics = [
    Statistic<"absorbed", "absorbed", "batch_norm ops merged into weights">,
    Statistic<"expanded", "expanded", "batch_norm ops that became mul + add">
  ];
}

def MergeBias : NNPass<"ashlar-nn-merge-bias"> {
  let summary = "merge per-channel constants around a convolution into it";
  let description = [{
    A conv or conv_transpose with constant weights may have an add, sub, mul or
    div as its only reader. If the other operand is a constant that varies along
    the channel axis only, terms join the bias, and factors scale weights and
    bias. A factor per column of a matmul scales its weights. Everything is
    computed in binary64 and rounded once.

    A quotient becomes a factor, the reciprocal in binary64. Factors that are
    not finite (a division by zero) stay operations.
  }];
  let statistics = [
    Statistic<"biases", "biases", "sums merged into a bias">,
    Statistic<"scales", "scales", "factors merged into weights">
  ];
}

def ComposeAffine : NNPass<"ashlar-nn-compose-affine"> {
  let summary = "compose chains of products and sums with constants";
  let description = [{
    A chain consists of add, sub, mul and div of floats with constants that vary
    along one axis at most; each operation is the only reader of the one before
    it. The chain becomes `x * s + t`, with s and t composed in binary64 and
    rounded once. A factor of one and a term of zero are omitted. A chain stays
    if it would not get shorter, or if s or t is not finite in the element type.
  }];
  let statistics = [
    Statistic<"composed", "composed", "operations in composed chains">
  ];
}

def SimplifyArithmetic : NNPass<"ashlar-nn-simplify-arithmetic"> {
  let summary = "rewrite squares, cubes and constant divisors as products";
  let description = [{
    - Powers of 2 and 3 become products.
    - A division by a constant becomes a product with its reciprocal where that
      is exact. Where a preceding matmul absorbs it into its epilogue (the
      scaling of attention), it becomes a product too; the reciprocal is then
      rounded once.
    - A variance, the sum or mean of squared differences, becomes a reduction of
      squares. The mean is the sum times the rounded reciprocal of the count.
  }];
}

def RecogniseActivations : NNPass<"ashlar-nn-recognise-activations"> {
  let summary = "recognise activation functions that exporters split into operations";
  let description = [{
    A product of x, a gate and numbers, in any order, becomes one nn.unary that
    the drain of the producer can apply:

    - `x * sigmoid(alpha * x)`: swish;
    - `x * (1 + erf(x / sqrt 2)) / 2`: gelu; with tanh of `sqrt(2 / pi) * (x +
      0.044715 * x^3)`, the cube written as products: geluTanh;
    - `x * hardSigmoid(x)` with 1/6 and 1/2, or `x * clip(x + 3, 0, 6) / 6`:
      hardSwish.

    An inner product that other operations read as well counts as a single
    factor.
  }];
  let statistics = [
    Statistic<"recognised", "recognised", "products that became one function">
  ];
}

def FoldPad : NNPass<"ashlar-nn-fold-pad"> {
  let summary = "absorb spatial padding into convolutions and pools";
  let description = [{
    A constant pad of spatial dimensions without interior elements is absorbed
    by

    - a conv, if the value is zero;
    - an avg_pool, if the value is zero and the pool has no pads of its own or
      already counts them: the pool then counts its padding;
    - a max_pool of floats, if the value is minus infinity.

    Negative pads, which crop, stay.
  }];
  let statistics = [
    Statistic<"absorbed", "absorbed", "pads that a user absorbed">
  ];
}

def RemoveDead : NNPass<"ashlar-nn-remove-dead"> {
  let summary = "remove operations whose result is unused";
  let description = [{
    Every operation of the dialect is pure, so a single backward walk removes
    all operations that do not contribute to a result.
  }];
  let statistics = [Statistic<"removed", "removed", "operations removed">];
}

def VerifySimplified : NNPass<"ashlar-nn-verify-simplified"> {
  let summary = "check the exit invariant of the simplify phase";
  let description = [{
    Changes nothing. Reports an error for every operation that reads a tensor
    without elements: later phases count from one. What such a tensor decides, a
    product over an axis of extent 0 for instance, is a constant by then.
  }];
}

#endif // ASHLAR_TRANSFORMS_NN_SIMPLIFYPASSES_TD
