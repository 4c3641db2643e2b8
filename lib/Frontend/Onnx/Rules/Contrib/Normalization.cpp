// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations of the last axes with a residual connection before them, and
// without the mean.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

struct Result {
  Value y, mean, inverse; ///< The mean is null where there is none.
};

/// (x - mean) / sqrt(variance + epsilon) over the axes from `first`, times the
/// scale; `simple`: x / sqrt(mean of squares + epsilon).
Result normalise(Node &n, Value x, Value scale, int64_t first, double epsilon,
                 bool simple) {
  if (!x || !scale)
    return {};
  SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  Result r;
  if (!simple) {
    r.mean = n.reduce(ReduceKind::Mean, x, axes, true);
    x = n.binary<SubOp>(x, r.mean);
  }
  Value squares = n.reduce(ReduceKind::Mean, n.binary<MulOp>(x, x), axes, true);
  if (!squares)
    return {};
  Value deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(squares, n.splat(epsilon, elementOf(squares))));
  r.inverse = n.unary(UnaryFunction::Reciprocal, deviation);
  r.y = n.binary<MulOp>(n.binary<DivOp>(x, deviation), scale);
  return r;
}

/// Means and deviations are binary32 whatever the operands are.
Value statistic(Node &n, Value x) {
  return x ? n.cast(x, mlir::Float32Type::get(x.getContext())) : x;
}

void simplifiedLayerNorm(Node &n) {
  const int64_t axis = n.getInt("axis", -1);
  const double epsilon = n.getFloat("epsilon", 1e-5f);
  n.ignore("stash_type"); // The reduction runs in binary32.
  Value x = n.input(0);
  if (!x)
    return;
  const int64_t first = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  Result r = normalise(n, x, n.input(1), first, epsilon, /*simple=*/true);
  n.setOutput(0, r.y);
  n.setOutput(1, statistic(n, r.inverse));
}

/// The second operand and a bias are added first; output 3 is that sum.
template <bool simple>
void skipLayerNorm(Node &n) {
  const double epsilon = n.getFloat("epsilon", 1e-12f);
  Value x = n.input(0), skip = n.input(1);
  if (!x || !skip)
    return;
  const Shape shape(shapeOf(x));
  if (rankOf(x) < 2) {
    n.malformed("the input is {}, expected 2 or 3 dimensions", typeText(x));
    return;
  }
  const size_t biasAt = simple ? 3 : 4;
  if (n.hasInput(biasAt))
    x = n.binary<AddOp>(x, n.input(biasAt));
  x = n.binary<AddOp>(x, skip);
  if (x && shapeOf(x) != ShapeRef(shape)) {
    n.malformed("the residual {} does not fit {}", typeText(skip),
                shapeToString(shape));
    return;
  }
  Result r = normalise(n, x, n.input(2), static_cast<int64_t>(shape.size()) - 1,
                       epsilon, simple);
  if (!simple && n.hasInput(3))
    r.y = n.binary<AddOp>(r.y, n.input(3));
  n.setOutput(0, r.y);
  n.setOutput(1, statistic(n, r.mean));
  n.setOutput(2, statistic(n, r.inverse));
  n.setOutput(3, x);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::contribNormalizationRows() {
  constexpr const char *domain = "com.microsoft",
                       *note = "reductions and element-wise operations";
  return {
      // Exporters write it without a domain.
      {"SimplifiedLayerNormalization", {1}, simplifiedLayerNorm, note},
      {"SimplifiedLayerNormalization", {1}, simplifiedLayerNorm, note, domain},
      {"SkipLayerNormalization", {1}, skipLayerNorm<false>, note, domain},
      {"SkipSimplifiedLayerNormalization",
       {1},
       skipLayerNorm<true>,
       note,
       domain},
  };
}
