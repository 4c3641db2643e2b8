// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk from a vector to what built one of its entries.

#include "ShapeEntries.h"

#include "lib/Frontend/Onnx/Sources.h"

#include "dialects/NN/NNOps.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Operations between a vector and what put the entry there, at most.
constexpr unsigned kFarthest = 64;
/// Sums and products of entries in one another, at most: every one is made
/// anew.
constexpr unsigned kMostNested = 4;

/// An element by its row-major number.
struct Element {
  Value value;
  int64_t at;
};

int64_t elementsOf(Value value) { return elementCount(shapeOf(value)); }

bool isLine(Value value) { return rankOf(value) == 1; }

Value take(Node &n, Element e, unsigned nesting = 0);

/// Whether an element is true or false whatever the inputs.
std::optional<bool> truthOf(Node &n, Value condition, int64_t at);

/// Whether all numbers of an operand are those of its cast.
bool keepsNumbers(Node &n, CastOp cast) {
  if (!mlir::isa<mlir::IntegerType>(elementOf(cast.getX())))
    return false;
  const NumberRange range = n.rangeOf(cast.getResult());
  return range.least && range.most;
}

/// The operand's element that element `at` of the result is, one step back.
std::optional<Element> stepBack(Node &n, Element e) {
  mlir::Operation *op = e.value.getDefiningOp();
  if (auto parts = mlir::dyn_cast_or_null<ConcatOp>(op);
      parts && isLine(e.value)) {
    for (Value part : parts.getInputs()) {
      if (e.at < shapeOf(part)[0])
        return Element{part, e.at};
      e.at -= shapeOf(part)[0];
    }
    return std::nullopt;
  }
  if (auto view = mlir::dyn_cast_or_null<ReshapeOp>(op))
    return Element{view.getX(), e.at};
  if (auto cast = mlir::dyn_cast_or_null<CastOp>(op);
      cast && keepsNumbers(n, cast))
    return Element{cast.getX(), e.at};
  if (auto slice = mlir::dyn_cast_or_null<SliceOp>(op);
      slice && isLine(e.value))
    return Element{slice.getX(),
                   slice.getStarts()[0] + e.at * slice.getSteps()[0]};
  if (auto gather = mlir::dyn_cast_or_null<GatherOp>(op);
      gather && isLine(gather.getX()))
    return Element{gather.getX(), gather.getIndices()[e.at]};
  if (auto spread = mlir::dyn_cast_or_null<BroadcastOp>(op);
      spread && elementsOf(spread.getX()) == 1)
    return Element{spread.getX(), 0};
  if (auto where = mlir::dyn_cast_or_null<WhereOp>(op)) {
    auto takes = truthOf(n, where.getCondition(), e.at);
    Value from = takes && *takes ? where.getA() : where.getB();
    const int64_t count = elementsOf(from);
    if (takes && (count == 1 || count == elementsOf(e.value)))
      return Element{from, count == 1 ? 0 : e.at};
  }
  return std::nullopt;
}

/// An element that is computed of one element of each operand, of these as they
/// were put there; null for any other.
template <class OpTy>
Value computed(Node &n, Element e, bool commutes, unsigned nesting) {
  auto op = e.value.getDefiningOp<OpTy>();
  if (!op || nesting == kMostNested || !elementOf(e.value).isInteger(64))
    return nullptr;
  const int64_t count = elementsOf(e.value);
  SmallVector<Value, 2> operands;
  for (Value operand : {op.getA(), op.getB()}) {
    const int64_t own = elementsOf(operand);
    if (own != 1 && own != count)
      return nullptr;
    operands.push_back(take(n, {operand, own == 1 ? 0 : e.at}, nesting + 1));
  }
  if (commutes && constantOf(operands[0]))
    std::swap(operands[0], operands[1]);
  return n.binary<OpTy>(operands[0], operands[1]);
}

/// One element as one i64.
Value take(Node &n, Element e, unsigned nesting) {
  for (unsigned step = 0; e.value && step < kFarthest; ++step) {
    if (auto numbers = integersOf(e.value))
      return n.integers((*numbers)[e.at], {1}, n.indexType());
    auto back = stepBack(n, e);
    if (!back)
      break;
    e = *back;
  }
  if (!e.value)
    return nullptr;
  if (Value result = computed<MulOp>(n, e, true, nesting))
    return result;
  if (Value result = computed<AddOp>(n, e, true, nesting))
    return result;
  if (Value result = computed<SubOp>(n, e, false, nesting))
    return result;
  if (elementsOf(e.value) == 1 && elementOf(e.value) == n.indexType())
    return n.reshape(e.value, {1});
  Value line = n.reshape(e.value, {elementsOf(e.value)});
  return n.cast(n.sliceAxis(line, 0, e.at, 1), n.indexType());
}

std::optional<bool> truthOf(Node &n, Value condition, int64_t at) {
  const int64_t count = elementsOf(condition);
  auto element = [&](Value value) {
    const int64_t own = elementsOf(value);
    return take(n, {value, own == 1 ? 0 : at});
  };
  if (auto known = integersOf(condition))
    return (*known)[count == 1 ? 0 : at] != 0;
  auto compare = condition.getDefiningOp<CompareOp>();
  if (!compare || compare.getKind() != CompareKind::Equal ||
      !mlir::isa<mlir::IntegerType>(elementOf(compare.getA())))
    return std::nullopt;
  Value a = element(compare.getA()), b = element(compare.getB());
  if (!a || !b)
    return std::nullopt;
  const NumberRange x = n.rangeOf(a), y = n.rangeOf(b);
  if ((x.least && y.most && *x.least > *y.most) ||
      (y.least && x.most && *y.least > *x.most))
    return false;
  if (x.least && x.least == x.most && x.least == y.least && y.least == y.most)
    return true;
  return std::nullopt;
}

} // namespace

Value ashlar::frontend::entryOf(Node &n, Value vector, int64_t i) {
  return take(n, {vector, i});
}

SmallVector<ShapeEntry> ashlar::frontend::shapeEntries(Node &n, size_t i) {
  SmallVector<ShapeEntry> entries;
  Value vector = n.input(i);
  if (!vector)
    return entries;
  if (rankOf(vector) != 1 || isFloatElement(vector)) {
    n.malformed("the shape is {}, expected a vector of integers",
                typeText(vector));
    return entries;
  }
  for (int64_t at = 0; at < shapeOf(vector)[0]; ++at) {
    Value value = entryOf(n, vector, at);
    auto known = value ? integersOf(value) : std::nullopt;
    entries.push_back(
        {known ? std::optional(known->front()) : std::nullopt, value});
  }
  return entries;
}

Value ashlar::frontend::extentOfEntry(Node &n, Value entry, int64_t &capacity) {
  if (!entry)
    return nullptr;
  const NumberRange range = n.rangeOf(entry);
  if (!range.most)
    return n.unsupported(
        "an extent is known at run time only and has no bound{}; or bound it "
        "in the model, as Min(extent, constant)",
        remedyForRunTime(entry));
  capacity = std::max<int64_t>(*range.most, 0);
  if (range.least && *range.least >= 0)
    return entry;
  return n.binary<MaxOp>(entry, n.integers(int64_t(0), {1}, n.indexType()));
}
