// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes operations on small constants during import: shape arithmetic and
// the scalars around it. Movement copies bytes; arithmetic is exact for
// integers and rounds once from binary64 for floats (docs/Numerics.md 6).
// Functions without a correctly rounded definition are left alone.

#include "HostNumbers.h"

#include "dialects/NN/NNElements.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;
using mlir::ElementsAttr;
using mlir::Operation;
using mlir::RankedTensorType;
using support::ElementType;

namespace {

/// Calls `visit` with every index of `shape` in row-major order.
void forEachIndex(ShapeRef shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t count = elementCount(shape);
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

int64_t flatIndex(ShapeRef shape, ArrayRef<int64_t> index) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    flat = flat * shape[d] + index[d];
  return flat;
}

/// Position in `from` of index `index` of the broadcast result.
int64_t broadcastIndex(ShapeRef from, ArrayRef<int64_t> index) {
  int64_t flat = 0;
  size_t skip = index.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    flat = flat * from[d] + (from[d] == 1 ? 0 : index[d + skip]);
  return flat;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

using Source = std::function<int64_t(ArrayRef<int64_t>)>;

/// For operations with one operand: the operand's position of each result
/// index; empty for operations that are not plain movement.
Source movementSource(Operation *op, ShapeRef x) {
  if (auto transpose = mlir::dyn_cast<TransposeOp>(op))
    return [=](ArrayRef<int64_t> index) mutable {
      SmallVector<int64_t> source(index.size());
      for (auto [i, axis] : llvm::enumerate(transpose.getPerm()))
        source[axis] = index[i];
      return flatIndex(x, source);
    };
  if (auto slice = mlir::dyn_cast<SliceOp>(op))
    return [=](ArrayRef<int64_t> index) mutable {
      SmallVector<int64_t> source(index);
      for (size_t d = 0; d < source.size(); ++d)
        source[d] = slice.getStarts()[d] + source[d] * slice.getSteps()[d];
      return flatIndex(x, source);
    };
  if (auto gather = mlir::dyn_cast<GatherOp>(op))
    return [=](ArrayRef<int64_t> index) mutable {
      SmallVector<int64_t> source(index);
      int64_t axis = gather.getAxis();
      source[axis] = gather.getIndices()[source[axis]];
      return flatIndex(x, source);
    };
  if (mlir::isa<BroadcastOp>(op))
    return [=](ArrayRef<int64_t> index) { return broadcastIndex(x, index); };
  return {};
}

ElementsAttr foldMovement(Operation *op) {
  RankedTensorType type = tensorOf(op->getResult(0));
  ElementStorage storage;
  std::optional<ArrayRef<char>> data = bytesOf(op->getOperand(0), storage);
  if (!data)
    return {};
  if (mlir::isa<ReshapeOp>(op))
    return makeElements(type, std::string(data->begin(), data->end()),
                        "folded");
  ShapeRef x = shapeOf(op->getOperand(0));
  Source source = movementSource(op, x);
  unsigned width = byteSize(*toElementType(type.getElementType()));
  std::string result;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    result.append(data->data() + source(index) * width, width);
  });
  return makeElements(type, std::move(result), "folded");
}

ElementsAttr foldConcat(ConcatOp op) {
  RankedTensorType type = tensorOf(op.getY());
  unsigned width = byteSize(*toElementType(type.getElementType()));
  int64_t axis = op.getAxis(), outer = 1;
  for (int64_t d : type.getShape().take_front(axis))
    outer *= d;
  SmallVector<std::vector<char>> parts;
  for (Value input : op.getInputs()) {
    ElementStorage storage;
    std::optional<ArrayRef<char>> data = bytesOf(input, storage);
    if (!data)
      return {};
    parts.emplace_back(data->begin(), data->end());
  }
  std::string result;
  result.reserve(type.getNumElements() * width);
  for (int64_t i = 0; i < outer; ++i)
    for (const std::vector<char> &part : parts) {
      size_t run = part.size() / outer;
      result.append(part.data() + i * run, run);
    }
  return makeElements(type, std::move(result), "folded");
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::optional<int64_t> wholeBinary(Operation *op, int64_t a, int64_t b) {
  auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
  uint64_t ua = a, ub = b;
  if (mlir::isa<AddOp>(op))
    return wrap(ua + ub);
  if (mlir::isa<SubOp>(op))
    return wrap(ua - ub);
  if (mlir::isa<MulOp>(op))
    return wrap(ua * ub);
  if (mlir::isa<MaxOp>(op))
    return std::max(a, b);
  if (mlir::isa<MinOp>(op))
    return std::min(a, b);
  bool defined =
      b != 0 && !(a == std::numeric_limits<int64_t>::min() && b == -1);
  if (mlir::isa<DivOp>(op) && defined)
    return a / b;
  if (auto mod = mlir::dyn_cast<ModOp>(op); mod && defined) {
    int64_t rest = a % b;
    return !mod.getFmod() && rest != 0 && (rest < 0) != (b < 0) ? rest + b
                                                                : rest;
  }
  if (auto logical = mlir::dyn_cast<LogicalOp>(op)) {
    if (logical.getKind() == LogicalKind::And)
      return a & b;
    return logical.getKind() == LogicalKind::Or ? a | b : a ^ b;
  }
  return std::nullopt;
}

/// NaN if one of them is.
double largerOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b ? a : b;
}

double smallerOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a < b ? a : b;
}

std::optional<double> realBinary(Operation *op, double a, double b) {
  if (mlir::isa<AddOp>(op))
    return a + b;
  if (mlir::isa<SubOp>(op))
    return a - b;
  if (mlir::isa<MulOp>(op))
    return a * b;
  if (mlir::isa<DivOp>(op))
    return a / b;
  if (mlir::isa<MaxOp>(op))
    return largerOf(a, b);
  if (mlir::isa<MinOp>(op))
    return smallerOf(a, b);
  return std::nullopt;
}

template <class T>
int64_t compareNumbers(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::Equal:
    return a == b;
  case CompareKind::Less:
    return a < b;
  case CompareKind::LessOrEqual:
    return a <= b;
  case CompareKind::Greater:
    return a > b;
  case CompareKind::GreaterOrEqual:
    return a >= b;
  }
  return 0;
}

ElementsAttr foldBinary(Operation *op) {
  std::optional<Numbers> a = numbersIn(op->getOperand(0));
  std::optional<Numbers> b = numbersIn(op->getOperand(1));
  RankedTensorType type = tensorOf(op->getResult(0));
  if (!a || !b || a->isFloat != b->isFloat)
    return {};
  Numbers result;
  auto compare = mlir::dyn_cast<CompareOp>(op);
  result.isFloat = a->isFloat && !compare;
  bool good = true;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t i = broadcastIndex(shapeOf(op->getOperand(0)), index);
    int64_t j = broadcastIndex(shapeOf(op->getOperand(1)), index);
    if (compare) {
      result.wholes.push_back(
          a->isFloat
              ? compareNumbers(compare.getKind(), a->reals[i], b->reals[j])
              : compareNumbers(compare.getKind(), a->wholes[i], b->wholes[j]));
    } else if (a->isFloat) {
      std::optional<double> value = realBinary(op, a->reals[i], b->reals[j]);
      good = good && value;
      result.reals.push_back(value.value_or(0));
    } else {
      std::optional<int64_t> value =
          wholeBinary(op, a->wholes[i], b->wholes[j]);
      good = good && value;
      result.wholes.push_back(value.value_or(0));
    }
  });
  return good ? pack(type, result) : ElementsAttr();
}

std::optional<double> realUnary(UnaryFunction function, double x) {
  switch (function) {
  case UnaryFunction::Neg:
    return -x;
  case UnaryFunction::Abs:
    return std::fabs(x);
  case UnaryFunction::Sqrt: // IEEE: correctly rounded on every host.
    return std::sqrt(x);
  case UnaryFunction::Floor:
    return std::floor(x);
  case UnaryFunction::Ceil:
    return std::ceil(x);
  case UnaryFunction::Reciprocal:
    return 1.0 / x;
  case UnaryFunction::Relu:
    return std::isnan(x) || x > 0 ? x : 0;
  default:
    return std::nullopt;
  }
}

ElementsAttr foldUnary(UnaryOp op) {
  std::optional<Numbers> x = numbersIn(op.getX());
  if (!x)
    return {};
  UnaryFunction function = op.getFunction();
  for (double &value : x->reals) {
    std::optional<double> y = realUnary(function, value);
    if (!y)
      return {};
    value = *y;
  }
  for (int64_t &value : x->wholes) {
    if (function == UnaryFunction::Neg)
      value = static_cast<int64_t>(0 - static_cast<uint64_t>(value));
    else if (function == UnaryFunction::Not)
      value = !value;
    else if (function == UnaryFunction::Abs &&
             value != std::numeric_limits<int64_t>::min())
      value = value < 0 ? -value : value;
    else
      return {};
  }
  return pack(tensorOf(op.getY()), *x);
}

ElementsAttr foldCast(CastOp op) {
  std::optional<Numbers> x = numbersIn(op.getX());
  RankedTensorType type = tensorOf(op.getY());
  if (!x)
    return {};
  ElementType to = *toElementType(type.getElementType());
  Numbers result;
  result.isFloat = support::isFloat(to);
  for (size_t i = 0; i < x->size(); ++i) {
    if (result.isFloat) {
      // int64 to binary64 to binary32 would round twice.
      if (!x->isFloat && to == ElementType::F32)
        result.reals.push_back(static_cast<float>(x->wholes[i]));
      else
        result.reals.push_back(x->isFloat ? x->reals[i]
                                          : static_cast<double>(x->wholes[i]));
      continue;
    }
    if (x->isFloat && !(std::fabs(x->reals[i]) < 0x1p31))
      return {};
    int64_t whole =
        x->isFloat ? static_cast<int64_t>(x->reals[i]) : x->wholes[i];
    if (to == ElementType::Bool)
      whole = x->isFloat ? x->reals[i] != 0 : whole != 0;
    else if (x->isFloat && byteSize(to) < 4)
      return {};
    result.wholes.push_back(whole);
  }
  return pack(type, result);
}

/// `sum` with one more element; nothing for kinds whose order of rounding
/// counts, and for those without a definition here.
std::optional<int64_t> reducedWith(ReduceKind kind, int64_t sum,
                                   int64_t value) {
  const auto a = static_cast<uint64_t>(sum), b = static_cast<uint64_t>(value);
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<int64_t>(a + b);
  case ReduceKind::Prod:
    return static_cast<int64_t>(a * b);
  case ReduceKind::Max:
    return std::max(sum, value);
  case ReduceKind::Min:
    return std::min(sum, value);
  default:
    return std::nullopt;
  }
}

std::optional<double> reducedWith(ReduceKind kind, double sum, double value) {
  if (kind == ReduceKind::Max)
    return largerOf(sum, value);
  if (kind == ReduceKind::Min)
    return smallerOf(sum, value);
  return std::nullopt;
}

/// Reduces the elements `x` of `shape` to those of `kept`; false for a kind
/// that is not folded and for a result of no element.
template <class T>
bool reduceInto(std::vector<T> &result, const std::vector<T> &x,
                ReduceKind kind, ShapeRef shape, ShapeRef kept) {
  std::vector<bool> started(elementCount(kept), false);
  result.assign(started.size(), 0);
  bool good = true;
  size_t position = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    const int64_t target = broadcastIndex(kept, index);
    const T value = x[position++];
    const std::optional<T> next =
        reducedWith(kind, started[target] ? result[target] : value, value);
    good = good && next;
    result[target] = started[target] ? next.value_or(0) : value;
    started[target] = true;
  });
  return good && !llvm::is_contained(started, false);
}

ElementsAttr foldReduce(ReduceOp op) {
  std::optional<Numbers> x = numbersIn(op.getX());
  // Floats that are whole numbers are sizes; others are data.
  auto isWhole = [](double value) { return std::floor(value) == value; };
  if (!x || !llvm::all_of(x->reals, isWhole))
    return {};
  ShapeRef shape = shapeOf(op.getX());
  llvm::Expected<Shape> kept = inferReduce(shape, op.getAxes(), true);
  if (!kept) {
    llvm::consumeError(kept.takeError());
    return {};
  }
  Numbers result;
  result.isFloat = x->isFloat;
  const bool folded =
      x->isFloat
          ? reduceInto(result.reals, x->reals, op.getKind(), shape, *kept)
          : reduceInto(result.wholes, x->wholes, op.getKind(), shape, *kept);
  return folded ? pack(tensorOf(op.getY()), result) : ElementsAttr();
}

ElementsAttr foldWhere(WhereOp op) {
  ElementStorage sc, sa, sb;
  std::optional<ArrayRef<char>> c = bytesOf(op.getCondition(), sc),
                                a = bytesOf(op.getA(), sa),
                                b = bytesOf(op.getB(), sb);
  if (!c || !a || !b)
    return {};
  RankedTensorType type = tensorOf(op.getY());
  unsigned width = byteSize(*toElementType(type.getElementType()));
  std::string result;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    bool chosen = (*c)[broadcastIndex(shapeOf(op.getCondition()), index)];
    Value from = chosen ? op.getA() : op.getB();
    const char *data = chosen ? a->data() : b->data();
    result.append(data + broadcastIndex(shapeOf(from), index) * width, width);
  });
  return makeElements(type, std::move(result), "folded");
}

} // namespace

ElementsAttr ashlar::frontend::foldOnHost(Operation *op,
                                          support::Budget &budget) {
  RankedTensorType type = tensorOf(op->getResult(0));
  const int64_t largest =
      isFloatElement(op->getResult(0)) ? largestResult : largestWhole;
  if (type.getNumElements() > largest || op->getNumOperands() == 0)
    return {};
  uint64_t work = type.getNumElements();
  for (Value operand : op->getOperands()) {
    if (!constantOf(operand))
      return {};
    work += tensorOf(operand).getNumElements();
  }
  if (!budget.takeWork(work))
    return {};
  if (mlir::isa<ReshapeOp, TransposeOp, SliceOp, GatherOp, BroadcastOp>(op))
    return foldMovement(op);
  if (auto concat = mlir::dyn_cast<ConcatOp>(op))
    return foldConcat(concat);
  if (auto where = mlir::dyn_cast<WhereOp>(op))
    return foldWhere(where);
  // Numbers of 64 unsigned bits have no place in Numbers.
  if (!canPack(type.getElementType()) ||
      llvm::any_of(op->getOperands(), [](Value operand) {
        return toElementType(elementOf(operand)) == ElementType::U64;
      }))
    return {};
  return llvm::TypeSwitch<Operation *, ElementsAttr>(op)
      .Case<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, ModOp, CompareOp,
            LogicalOp>([](Operation *binary) { return foldBinary(binary); })
      .Case([](UnaryOp unary) { return foldUnary(unary); })
      .Case([](CastOp cast) { return foldCast(cast); })
      .Case([](ReduceOp reduce) { return foldReduce(reduce); })
      .Default(ElementsAttr());
}
