// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations and softmax.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Refuses statistics outputs; `first` is the first output beyond Y.
void refuseExtraOutputs(Node &n, size_t first, const char *what) {
  for (size_t i = first; i < n.numOutputs(); ++i)
    if (n.outputUsed(i))
      n.unsupported("output {} ({}) is used", i, what);
}

Value perChannel(Node &n, Value parameter, Value like);

/// Statistics of the batch itself; the other outputs move the given ones
/// towards them.
void batchNormOfBatch(Node &n, double epsilon, double momentum) {
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) < 2) {
    n.malformed("the input is {}, expected at least 2 dimensions", typeText(x));
    return;
  }
  const Type element = elementOf(x);
  SmallVector<int64_t> axes = {0};
  for (int64_t axis = 2; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  Value mean = n.reduce(ReduceKind::Mean, x, axes, true);
  Value centred = n.binary<SubOp>(x, mean);
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), axes, true);
  Value deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(variance, n.splat(epsilon, element)));
  Value y = n.binary<DivOp>(centred, deviation);
  y = n.binary<MulOp>(y, perChannel(n, n.input(1), x));
  n.setOutput(0, n.binary<AddOp>(y, perChannel(n, n.input(2), x)));
  const Value statistics[] = {mean, variance};
  for (auto [i, own] : llvm::enumerate(statistics)) {
    if (!n.outputUsed(i + 1))
      continue;
    Value given = n.input(i + 3);
    Value fresh = n.reshape(own, shapeOf(x)[1]);
    n.setOutput(i + 1,
                n.binary<AddOp>(
                    n.binary<MulOp>(given, n.splat(momentum, element)),
                    n.binary<MulOp>(fresh, n.splat(1 - momentum, element))));
  }
}

/// With parameters that are known at run time. The steps per channel come
/// first: they are few.
void batchNormAtRunTime(Node &n, Value x, ArrayRef<Value> parameters,
                        double epsilon) {
  SmallVector<Value> wide;
  if (rankOf(x) < 2) {
    n.malformed("the input is {}, expected at least 2 dimensions", typeText(x));
    return;
  }
  for (Value parameter : parameters)
    wide.push_back(n.cast(perChannel(n, parameter, x), elementOf(x)));
  if (n.failed())
    return;
  Value deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(wide[3], n.splat(epsilon, elementOf(x))));
  Value centred = n.binary<SubOp>(x, wide[2]);
  Value y = n.binary<MulOp>(centred, n.binary<DivOp>(wide[0], deviation));
  n.setOutput(0, n.binary<AddOp>(y, wide[1]));
}

void batchNorm(Node &n) {
  double epsilon = n.getFloat("epsilon", 1e-5f);
  const double momentum = n.getFloat("momentum", 0.9f);
  n.ignore("consumed_inputs");
  n.ignore("is_test");
  if (n.getInt("spatial", 1) == 0)
    n.unsupported("spatial is 0: statistics per element");
  if (n.getInt("training_mode", 0) != 0 && !n.failed()) {
    batchNormOfBatch(n, epsilon, momentum);
    return;
  }
  refuseExtraOutputs(n, 1, "training statistics");
  Value x = n.input(0);
  SmallVector<Value> parameters;
  for (size_t i = 1; i < 5; ++i)
    parameters.push_back(n.input(i));
  if (n.failed() || llvm::all_of(parameters, constantOf))
    n.setOutput(0, n.batchNorm(x, parameters, epsilon));
  else
    batchNormAtRunTime(n, x, parameters, epsilon);
}

/// The parts of a normalisation that some operators also return.
struct Normalised {
  Value y, mean, deviation;
};

/// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over `axes`.
Normalised normalise(Node &n, Value x, ArrayRef<int64_t> axes, double epsilon) {
  if (!x)
    return {};
  Normalised result;
  result.mean = n.reduce(ReduceKind::Mean, x, axes, true);
  Value centred = n.binary<SubOp>(x, result.mean);
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), axes, true);
  result.deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(variance, n.splat(epsilon, elementOf(x))));
  result.y = n.binary<DivOp>(centred, result.deviation);
  return result;
}

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

/// [C] to [C, 1, ...] so that it broadcasts along dimension 1 of `like`.
Value perChannel(Node &n, Value parameter, Value like) {
  if (!parameter || !like)
    return nullptr;
  if (rankOf(parameter) != 1 || shapeOf(parameter)[0] != shapeOf(like)[1])
    return n.malformed("a parameter is {}, expected {} elements",
                       typeText(parameter), shapeOf(like)[1]);
  Shape shape(shapeOf(parameter));
  shape.append(rankOf(like) - 2, 1);
  return n.reshape(parameter, shape);
}

void instanceNorm(Node &n) {
  double epsilon = n.getFloat("epsilon", 1e-5f);
  n.ignore("consumed_inputs");
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) < 3) {
    n.malformed("the input {} has no spatial dimensions", typeText(x));
    return;
  }
  Value scale = perChannel(n, n.input(1), x),
        bias = perChannel(n, n.input(2), x);
  Value y = normalise(n, x, axesFrom(2, rankOf(x)), epsilon).y;
  n.setOutput(0, n.binary<AddOp>(n.binary<MulOp>(y, scale), bias));
}

/// The type of mean and deviation as results, whatever that of the input is.
Type stashType(Node &n) {
  constexpr int64_t bfloat16 = 16;
  return n.getInt("stash_type", 1) == bfloat16
             ? Type(mlir::BFloat16Type::get(n.context()))
             : Type(mlir::Float32Type::get(n.context()));
}

void layerNorm(Node &n) {
  double epsilon = n.getFloat("epsilon", 1e-5f);
  int64_t axis = n.getInt("axis", -1);
  const Type stash = stashType(n);
  Value x = n.input(0), scale = n.input(1);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  Normalised parts = normalise(n, x, axesFrom(axis, rankOf(x)), epsilon);
  if (n.outputUsed(1))
    n.setOutput(1, n.cast(parts.mean, stash));
  if (n.outputUsed(2))
    n.setOutput(
        2, n.cast(n.unary(UnaryFunction::Reciprocal, parts.deviation), stash));
  Value y = n.binary<MulOp>(parts.y, scale);
  if (Value bias = n.optionalInput(2))
    y = n.binary<AddOp>(y, bias);
  n.setOutput(0, y);
}

void rmsNorm(Node &n) {
  double epsilon = n.getFloat("epsilon", 1e-5f);
  int64_t axis = n.getInt("axis", -1);
  n.ignore("stash_type");
  Value x = n.input(0), scale = n.input(1);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  Value squares = n.reduce(ReduceKind::Mean, n.binary<MulOp>(x, x),
                           axesFrom(axis, rankOf(x)), true);
  Value root =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(squares, n.splat(epsilon, elementOf(x))));
  n.setOutput(0, n.binary<MulOp>(n.binary<DivOp>(x, root), scale));
}

/// Version 18 has one scale per group, version 21 one per channel.
void groupNorm(Node &n) {
  double epsilon = n.getFloat("epsilon", 1e-5f);
  int64_t groups = n.getInt("num_groups", 0);
  n.ignore("stash_type");
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  if (!x || !scale || !bias)
    return;
  if (rankOf(x) < 2 || groups < 1 || shapeOf(x)[1] % groups != 0) {
    n.malformed("num_groups is {} for the input {}", groups, typeText(x));
    return;
  }
  Shape original(shapeOf(x));
  int64_t rest = elementCount(ShapeRef(original).drop_front(1)) / groups;
  Value y =
      normalise(n, n.reshape(x, {original[0], groups, rest}), {2}, epsilon).y;
  if (n.opset() < 21) {
    scale = perChannel(n, scale, y);
    bias = perChannel(n, bias, y);
    y = n.binary<AddOp>(n.binary<MulOp>(y, scale), bias);
    n.setOutput(0, n.reshape(y, original));
    return;
  }
  y = n.reshape(y, original);
  scale = perChannel(n, scale, y);
  bias = perChannel(n, bias, y);
  n.setOutput(0, n.binary<AddOp>(n.binary<MulOp>(y, scale), bias));
}

/// (x - E[x]) / (sqrt(V) + 1e-9). The operator's definition has V = E[x^2] -
/// E[x]^2, which rounding makes negative where all elements are alike: E[(x -
/// E[x])^2] is the same number and never below 0.
void meanVarianceNorm(Node &n) {
  SmallVector<int64_t> axes = n.getInts("axes");
  if (axes.empty())
    axes = {0, 2, 3};
  Value x = n.input(0);
  if (!x)
    return;
  axes = n.normalAxes(axes, rankOf(x));
  Value mean = n.reduce(ReduceKind::Mean, x, axes, true);
  Value centred = n.binary<SubOp>(x, mean);
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), axes, true);
  Value deviation = n.binary<AddOp>(n.unary(UnaryFunction::Sqrt, variance),
                                    n.splat(1e-9, elementOf(x)));
  n.setOutput(0, n.binary<DivOp>(centred, deviation));
}

/// A slice whose norm is 0 gives zeros: its divisor is 1.
void lpNorm(Node &n) {
  int64_t axis = n.getInt("axis", -1), p = n.getInt("p", 2);
  Value x = n.input(0);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (p != 1 && p != 2)
    n.malformed("p is {}, expected 1 or 2", p);
  Value norm =
      n.reduce(p == 1 ? ReduceKind::L1 : ReduceKind::SumSquare, x, axis, true);
  if (p == 2)
    norm = n.unary(UnaryFunction::Sqrt, norm);
  Value isZero = n.compare(CompareKind::Equal, norm, n.splat(0, elementOf(x)));
  n.setOutput(
      0, n.binary<DivOp>(x, n.where(isZero, n.splat(1, elementOf(x)), norm)));
}

/// Before version 13 the operand is flattened to a matrix at `axis`.
template <bool logarithm>
void flatSoftmax(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t axis = n.flattenAxis(rankOf(x));
  if (n.failed())
    return;
  Shape shape(shapeOf(x));
  int64_t rows = elementCount(ShapeRef(shape).take_front(axis));
  int64_t columns = elementCount(ShapeRef(shape).drop_front(axis));
  if (columns == shape.back() && axis == rankOf(x) - 1) {
    n.setOutput(0, n.softmax(x, axis, logarithm));
    return;
  }
  Value y = n.softmax(n.reshape(x, {rows, columns}), 1, logarithm);
  n.setOutput(0, n.reshape(y, shape));
}

template <bool logarithm>
void softmax(Node &n) {
  int64_t axis = n.getInt("axis", -1);
  Value x = n.input(0);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  n.setOutput(0, n.failed() ? Value() : n.softmax(x, axis, logarithm));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::normalizationRows() {
  const char *flat = "reshape to a matrix at `axis`, softmax of its rows, "
                     "reshape back";
  return {
      {"BatchNormalization",
       {1, 6, 7, 9, 14, 15},
       batchNorm,
       "one operation; with parameters that are known at run time, and in "
       "training mode, element-wise operations and reductions; `spatial` = 0 "
       "is refused"},
      {"InstanceNormalization",
       {1, 6, 22},
       instanceNorm,
       "reductions and element-wise operations"},
      // Version 1 is ONNX Runtime's: its optimiser writes the operator into
      // models of operator sets that do not have it yet.
      {"LayerNormalization",
       {1, 17},
       layerNorm,
       "reductions and element-wise operations"},
      {"RMSNormalization",
       {23},
       rmsNorm,
       "reductions and element-wise operations"},
      {"GroupNormalization",
       {18, 21},
       groupNorm,
       "reductions and element-wise operations"},
      {"MeanVarianceNormalization",
       {9, 13},
       meanVarianceNorm,
       "reductions and element-wise operations"},
      {"LpNormalization", {1, 22}, lpNorm, "a reduction and a division"},
      {"Softmax", {1, 11}, flatSoftmax<false>, flat},
      {"Softmax", {13}, softmax<false>, "one operation along `axis`"},
      {"LogSoftmax", {1, 11}, flatSoftmax<true>, flat},
      {"LogSoftmax", {13}, softmax<true>, "one operation along `axis`"},
  };
}
