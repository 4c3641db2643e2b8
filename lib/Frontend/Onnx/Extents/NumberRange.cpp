// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of numbers, from results to operands.

#include "NumberRange.h"

#include "../Emitter.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using mlir::Value;

namespace {

using Bound = std::optional<int64_t>;

/// Operations between a value and what bounds it, at most: the search goes
/// down the stack.
constexpr unsigned kDeepest = 64;
/// Integers up to here are exact in every float type with so many bits.
constexpr int64_t kExactInBinary32 = int64_t(1) << 24,
                  kExactInBinary64 = int64_t(1) << 53;

/// Combines bounds, if both are known and the result fits.
Bound both(Bound a, Bound b, bool (*overflows)(int64_t, int64_t, int64_t &)) {
  int64_t result = 0;
  if (!a || !b || overflows(*a, *b, result))
    return std::nullopt;
  return result;
}
bool add(int64_t a, int64_t b, int64_t &sum) {
  return llvm::AddOverflow(a, b, sum);
}
bool subtract(int64_t a, int64_t b, int64_t &difference) {
  return llvm::SubOverflow(a, b, difference);
}
bool multiply(int64_t a, int64_t b, int64_t &product) {
  return llvm::MulOverflow(a, b, product);
}

/// The larger bound of those that there are, or the smaller.
Bound pick(Bound a, Bound b, bool larger) {
  if (!a || !b)
    return a ? a : b;
  return larger ? std::max(*a, *b) : std::min(*a, *b);
}

/// What holds of elements of either.
NumberRange unite(NumberRange a, NumberRange b) {
  return {a.least && b.least ? pick(a.least, b.least, false) : std::nullopt,
          a.most && b.most ? pick(a.most, b.most, true) : std::nullopt};
}

/// What holds of elements of which both are known.
NumberRange narrow(NumberRange a, NumberRange b) {
  return {pick(a.least, b.least, true), pick(a.most, b.most, false)};
}

NumberRange product(NumberRange a, NumberRange b) {
  NumberRange range;
  bool first = true;
  for (Bound x : {a.least, a.most})
    for (Bound y : {b.least, b.most}) {
      const Bound corner = both(x, y, multiply);
      if (!corner)
        return {};
      range = first ? NumberRange{corner, corner}
                    : unite(range, NumberRange{corner, corner});
      first = false;
    }
  return range;
}

class Search {
public:
  explicit Search(const RunTimeExtents &extents) : extents(extents) {}

  NumberRange of(Value value, unsigned depth = 0) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    NumberRange range = ofType(elementOf(value));
    if (auto capacity = extents.capacityOf(value))
      range = narrow(range, {0, *capacity});
    if (depth < kDeepest)
      range = narrow(range, ofSource(value, depth + 1));
    return known[value] = range;
  }

private:
  static NumberRange ofType(mlir::Type type) {
    auto integer = mlir::dyn_cast<mlir::IntegerType>(type);
    if (!integer)
      return {};
    const unsigned width = integer.getWidth();
    if (width == 1)
      return {0, 1};
    NumberRange range;
    if (integer.isUnsigned())
      range.least = 0;
    if (width <= 8)
      range =
          integer.isUnsigned() ? NumberRange{0, 255} : NumberRange{-128, 127};
    return range;
  }

  /// Numbers that a type holds exactly.
  static NumberRange exactIn(mlir::Type type) {
    if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) {
      const unsigned width = std::min(integer.getWidth(), 63U);
      if (integer.isUnsigned() || width == 1)
        return {0, std::numeric_limits<int64_t>::max() >> (63 - width)};
      const int64_t least = std::numeric_limits<int64_t>::min();
      return width == 63
                 ? NumberRange{least, ~least}
                 : NumberRange{least >> (64 - width), ~(least >> (64 - width))};
    }
    const int64_t most = type.isF64()   ? kExactInBinary64
                         : type.isF32() ? kExactInBinary32
                         : type.isF16() ? 1 << 11
                                        : 1 << 8;
    return {-most, most};
  }

  NumberRange ofSum(nn::ReduceOp reduce, unsigned depth) {
    if (reduce.getKind() != nn::ReduceKind::Sum)
      return {};
    const int64_t results = nn::elementCount(shapeOf(reduce.getResult()));
    const int64_t terms = nn::elementCount(shapeOf(reduce.getX())) /
                          std::max<int64_t>(results, 1);
    return product(of(reduce.getX(), depth), {terms, terms});
  }

  NumberRange ofQuotient(nn::DivOp div, unsigned depth) {
    const NumberRange a = of(div.getA(), depth), b = of(div.getB(), depth);
    // Towards zero: what is divided by a positive number keeps its order.
    if (isFloatElement(div.getA()) || !b.least || b.least != b.most ||
        *b.least <= 0)
      return {};
    return {a.least ? Bound(*a.least / *b.least) : Bound(),
            a.most ? Bound(*a.most / *b.least) : Bound()};
  }

  NumberRange ofConstant(Value value) {
    if (auto numbers = integersOf(value); numbers && !numbers->empty()) {
      auto [least, most] =
          std::minmax_element(numbers->begin(), numbers->end());
      return {*least, *most};
    }
    if (auto numbers = numbersOf(value); numbers && numbers->size() == 1) {
      const auto whole = static_cast<double>(kExactInBinary64);
      const double number = numbers->front();
      if (number >= -whole && number <= whole)
        return {static_cast<int64_t>(std::floor(number)),
                static_cast<int64_t>(std::ceil(number))};
    }
    return {};
  }

  /// A smallest or largest of two: one bound of either holds for both.
  static NumberRange chosen(NumberRange a, NumberRange b, bool larger) {
    NumberRange range = unite(a, b);
    Bound &held = larger ? range.least : range.most;
    held = larger ? pick(a.least, b.least, true) : pick(a.most, b.most, false);
    return range;
  }

  /// The smallest or largest numbers of a tensor. Along the axis on which
  /// tensors are joined, each result is chosen from all of them.
  NumberRange ofExtreme(nn::ReduceOp reduce, unsigned depth) {
    const bool larger = reduce.getKind() == nn::ReduceKind::Max;
    if (!larger && reduce.getKind() != nn::ReduceKind::Min)
      return {};
    auto concat = reduce.getX().getDefiningOp<nn::ConcatOp>();
    if (!concat || !llvm::is_contained(reduce.getAxes(),
                                       static_cast<int64_t>(concat.getAxis())))
      return of(reduce.getX(), depth);
    NumberRange range = of(concat->getOperand(0), depth);
    for (Value value : concat->getOperands().drop_front())
      range = chosen(range, of(value, depth), larger);
    return range;
  }

  /// What computes new numbers: they may not fit the type.
  NumberRange ofArithmetic(mlir::Operation *op, unsigned depth) {
    auto operands = [&](auto binary) {
      return std::pair(of(binary.getA(), depth), of(binary.getB(), depth));
    };
    return llvm::TypeSwitch<mlir::Operation *, NumberRange>(op)
        .Case([&](nn::AddOp sum) {
          auto [a, b] = operands(sum);
          return NumberRange{both(a.least, b.least, add),
                             both(a.most, b.most, add)};
        })
        .Case([&](nn::SubOp difference) {
          auto [a, b] = operands(difference);
          return NumberRange{both(a.least, b.most, subtract),
                             both(a.most, b.least, subtract)};
        })
        .Case([&](nn::MulOp mul) {
          auto [a, b] = operands(mul);
          return product(a, b);
        })
        .Case([&](nn::DivOp div) { return ofQuotient(div, depth); })
        .Case([&](nn::ReduceOp reduce) { return ofSum(reduce, depth); })
        .Case([&](nn::CastOp cast) { return of(cast.getX(), depth); })
        .Default([](mlir::Operation *) { return NumberRange(); });
  }

  /// What takes some of its operands' numbers, or counts.
  NumberRange ofChoice(mlir::Operation *op, unsigned depth) {
    return llvm::TypeSwitch<mlir::Operation *, NumberRange>(op)
        .Case([&](nn::MinOp min) {
          return chosen(of(min.getA(), depth), of(min.getB(), depth), false);
        })
        .Case([&](nn::MaxOp max) {
          return chosen(of(max.getA(), depth), of(max.getB(), depth), true);
        })
        .Case([&](nn::WhereOp where) {
          return unite(of(where.getA(), depth), of(where.getB(), depth));
        })
        .Case([&](nn::ConcatOp concat) {
          NumberRange range = of(concat->getOperand(0), depth);
          for (Value value : concat->getOperands().drop_front())
            range = unite(range, of(value, depth));
          return range;
        })
        .Case<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp,
              nn::GatherOp, nn::TakeOp>(
            [&](auto move) { return of(move.getX(), depth); })
        .Case([&](nn::ReduceOp reduce) { return ofExtreme(reduce, depth); })
        .Case([&](nn::ArgReduceOp arg) {
          return NumberRange{0, shapeOf(arg.getX())[arg.getAxis()] - 1};
        })
        .Default([](mlir::Operation *) { return NumberRange(); });
  }

  NumberRange ofSource(Value value, unsigned depth) {
    if (constantOf(value))
      return ofConstant(value);
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    const NumberRange exact = exactIn(elementOf(value)),
                      range = ofArithmetic(op, depth);
    if (range.least && range.most && *range.least >= *exact.least &&
        *range.most <= *exact.most)
      return range;
    return ofChoice(op, depth);
  }

  const RunTimeExtents &extents;
  llvm::DenseMap<Value, NumberRange> known;
};

} // namespace

NumberRange ashlar::frontend::rangeOf(Value value,
                                      const RunTimeExtents &extents) {
  return value ? Search(extents).of(value) : NumberRange();
}
