// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and arg reductions.

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

enum class Reduction {
  Sum,
  Mean,
  Max,
  Min,
  Prod,
  L1,
  L2,
  SumSquare,
  LogSum,
  LogSumExp
};

SmallVector<int64_t> allAxes(Value x) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  return axes;
}

/// The largest finite number of a type of floats.
double largestOf(Type element) {
  return llvm::APFloat::getLargest(
             mlir::cast<mlir::FloatType>(element).getFloatSemantics())
      .convertToDouble();
}

/// log(sum(exp(x))) with the maximum taken out first, as a plain sum of
/// exponentials overflows. A maximum that is infinite stays in: less itself it
/// would be no number.
Value logSumExp(Node &n, Value x, ArrayRef<int64_t> axes, bool keepdims) {
  if (!x || !isFloatElement(x))
    return x ? n.unsupported("operands of type {}", typeText(x)) : nullptr;
  const double limit = std::min<double>(largestOf(elementOf(x)),
                                        std::numeric_limits<float>::max());
  Value most = n.unary(UnaryFunction::Clip,
                       n.reduce(ReduceKind::Max, x, axes, true), -limit, limit);
  Value sum = n.reduce(ReduceKind::Sum,
                       n.unary(UnaryFunction::Exp, n.binary<SubOp>(x, most)),
                       axes, true);
  Value y = n.binary<AddOp>(n.unary(UnaryFunction::Log, sum), most);
  if (!y || keepdims)
    return y;
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  llvm::Expected<Shape> shape = inferReduce(shapeOf(x), sorted, false);
  if (!shape)
    return n.fail(shape.takeError(), ErrorClass::Malformed);
  return n.reshape(y, *shape);
}

/// What a reduction of no elements gives; nothing if ONNX leaves it open.
std::optional<double> ofNothing(Reduction kind, Type element) {
  const bool isFloat = mlir::isa<mlir::FloatType>(element);
  const unsigned bits = element.getIntOrFloatBitWidth();
  switch (kind) {
  case Reduction::Prod:
    return 1;
  case Reduction::Max:
    if (isFloat)
      return -std::numeric_limits<double>::infinity();
    return element.isUnsignedInteger() || bits == 1 ? 0
                                                    : -std::ldexp(1, bits - 1);
  case Reduction::Min:
    if (isFloat)
      return std::numeric_limits<double>::infinity();
    // Of 64 bits a binary64 has only the number above.
    if (bits == 64)
      return std::nullopt;
    return std::ldexp(1, element.isUnsignedInteger() || bits == 1 ? bits
                                                                  : bits - 1) -
           1;
  case Reduction::LogSum:
  case Reduction::LogSumExp:
    return -std::numeric_limits<double>::infinity();
  case Reduction::Mean:
    return std::nullopt;
  default:
    return 0;
  }
}

Value reduceNothing(Node &n, Reduction kind, Value x, ArrayRef<int64_t> axes,
                    bool keepdims) {
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  llvm::Expected<Shape> shape = inferReduce(shapeOf(x), sorted, keepdims);
  if (!shape)
    return n.fail(shape.takeError(), ErrorClass::Malformed);
  const std::optional<double> number = ofNothing(kind, elementOf(x));
  if (!number)
    return n.unsupported("no elements of {}: ONNX leaves the result open",
                         typeText(x));
  return n.broadcast(n.splat(*number, elementOf(x)), *shape);
}

Value apply(Node &n, Reduction kind, Value x, ArrayRef<int64_t> axes,
            bool keepdims) {
  if (!n.failed() && elementCount(shapeOf(x)) == 0)
    return reduceNothing(n, kind, x, axes, keepdims);
  auto plain = [&](ReduceKind reduce) {
    return n.reduce(reduce, x, axes, keepdims);
  };
  switch (kind) {
  case Reduction::Sum:
    return plain(ReduceKind::Sum);
  case Reduction::Mean:
    return plain(ReduceKind::Mean);
  case Reduction::Max:
    return plain(ReduceKind::Max);
  case Reduction::Min:
    return plain(ReduceKind::Min);
  case Reduction::Prod:
    return plain(ReduceKind::Prod);
  case Reduction::L1:
    return plain(ReduceKind::L1);
  case Reduction::SumSquare:
    return plain(ReduceKind::SumSquare);
  case Reduction::L2:
    return n.unary(UnaryFunction::Sqrt, plain(ReduceKind::SumSquare));
  case Reduction::LogSum:
    return n.unary(UnaryFunction::Log, plain(ReduceKind::Sum));
  case Reduction::LogSumExp:
    return logSumExp(n, x, axes, keepdims);
  }
  return nullptr;
}

/// What a reduction over no axes leaves: the element-wise part.
Value applyToElements(Node &n, Reduction kind, Value x) {
  switch (kind) {
  case Reduction::L1:
  case Reduction::L2:
    return n.unary(UnaryFunction::Abs, x);
  case Reduction::SumSquare:
    return n.binary<MulOp>(x, x);
  case Reduction::LogSum:
    return n.unary(UnaryFunction::Log, x);
  default:
    return x;
  }
}

template <Reduction kind>
void reduceAttribute(Node &n) {
  Value x = n.input(0);
  bool keepdims = n.getInt("keepdims", 1);
  SmallVector<int64_t> axes = n.getInts("axes");
  if (!x || n.failed())
    return;
  axes = axes.empty() ? allAxes(x) : n.normalAxes(axes, rankOf(x));
  n.setOutput(0, apply(n, kind, x, axes, keepdims));
}

template <Reduction kind>
void reduceInput(Node &n) {
  Value x = n.input(0);
  bool keepdims = n.getInt("keepdims", 1);
  bool noop = n.getInt("noop_with_empty_axes", 0);
  SmallVector<int64_t> axes;
  if (n.hasInput(1))
    if (auto given = n.constantIntegers(1, "axes"))
      axes = *given;
  if (!x || n.failed())
    return;
  if (axes.empty() && noop) {
    n.setOutput(0, applyToElements(n, kind, x));
    return;
  }
  axes = axes.empty() ? allAxes(x) : n.normalAxes(axes, rankOf(x));
  n.setOutput(0, apply(n, kind, x, axes, keepdims));
}

template <ArgKind kind>
void argReduce(Node &n) {
  Value x = n.input(0);
  int64_t axis = n.getInt("axis", 0);
  bool keepdims = n.getInt("keepdims", 1);
  bool last = n.getInt("select_last_index", 0);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  n.setOutput(0, n.argReduce(kind, x, axis, keepdims, last));
}

template <Reduction kind>
void addRows(std::vector<OperatorRow> &rows, const char *op, const char *notes,
             std::vector<int> attribute, std::vector<int> input) {
  rows.push_back({op, std::move(attribute), reduceAttribute<kind>, notes});
  rows.push_back({op, std::move(input), reduceInput<kind>, notes});
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::reduceRows() {
  std::vector<OperatorRow> rows = {
      {"ArgMax", {1, 11, 12, 13}, argReduce<ArgKind::Max>, "one operation"},
      {"ArgMin", {1, 11, 12, 13}, argReduce<ArgKind::Min>, "one operation"},
  };
  const char *one = "one operation; axes must be constant";
  const char *several = "several operations; axes must be constant";
  addRows<Reduction::Sum>(rows, "ReduceSum", one, {1, 11}, {13});
  addRows<Reduction::Mean>(rows, "ReduceMean", one, {1, 11, 13}, {18});
  addRows<Reduction::Max>(rows, "ReduceMax", one, {1, 11, 12, 13}, {18, 20});
  addRows<Reduction::Min>(rows, "ReduceMin", one, {1, 11, 12, 13}, {18, 20});
  addRows<Reduction::Prod>(rows, "ReduceProd", one, {1, 11, 13}, {18});
  addRows<Reduction::L1>(rows, "ReduceL1", one, {1, 11, 13}, {18});
  addRows<Reduction::SumSquare>(rows, "ReduceSumSquare", one, {1, 11, 13},
                                {18});
  addRows<Reduction::L2>(rows, "ReduceL2", several, {1, 11, 13}, {18});
  addRows<Reduction::LogSum>(rows, "ReduceLogSum", several, {1, 11, 13}, {18});
  addRows<Reduction::LogSumExp>(rows, "ReduceLogSumExp", several, {1, 11, 13},
                                {18});
  return rows;
}
