// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product whose columns are only read in slices becomes one product per
// slice: queries, keys and values out of one projection. Each can then be
// stored as its own reader asks. Input and output: any `nn` function.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace ashlar::nn {
#define GEN_PASS_DEF_SPLITPRODUCTS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Narrower products would leave most columns of an array idle.
constexpr int64_t kLeastColumns = 32;

int64_t extentOf(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

/// What lies between a product and the slices of its columns.
struct Chain {
  MatMulOp product;
  AddOp sum;       ///< with one constant per column; may be null
  Value addend;    ///< the constant of `sum`
  ReshapeOp split; ///< the last axis into several; may be null
  TransposeOp moved;
  Value end;
  /// Dimension of `end` that is sliced, its digit in the reshape's result, and
  /// columns per index of it.
  int64_t axis = -1, digit = -1, inner = 1;
  SmallVector<SliceOp> slices;
};

/// The only user of `value` if it is an `Op`.
template <typename Op>
Op soleUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

bool isKnown(Value value) {
  auto moved = value.getDefiningOp<TransposeOp>();
  return isConstant(moved ? moved.getX() : value);
}

/// The other operand of `sum` if it is a constant that varies along the last
/// axis of the result at most.
Value columnConstant(AddOp sum, Value product) {
  Value other = sum.getA() == product ? sum.getB() : sum.getA();
  ArrayRef<int64_t> shape = shapeOf(other);
  if (!isConstant(other) || sum.getType() != product.getType() ||
      shape.empty() || extentOf(shape) != shape.back())
    return {};
  return other;
}

/// The first dimension of `shape` whose tail has `columns` elements.
int64_t digitOf(ArrayRef<int64_t> shape, int64_t columns) {
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (shape[i] > 1 && extentOf(shape.drop_front(i)) == columns)
      return i;
  return -1;
}

/// True if the users of the chain's end slice its axis, and nothing else, into
/// disjoint parts of whole columns.
bool readInSlices(Chain &chain) {
  ArrayRef<int64_t> shape = shapeOf(chain.end);
  int64_t total = 0;
  for (Operation *user : chain.end.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice)
      return false;
    for (auto [i, extent] : llvm::enumerate(shapeOf(slice.getY())))
      if (slice.getSteps()[i] != 1 ||
          (static_cast<int64_t>(i) != chain.axis && extent != shape[i]))
        return false;
    int64_t taken = shapeOf(slice.getY())[chain.axis];
    if (taken == shape[chain.axis] || taken * chain.inner < kLeastColumns)
      return false;
    total += taken;
    chain.slices.push_back(slice);
  }
  llvm::sort(chain.slices, [&](SliceOp a, SliceOp b) {
    return a.getStarts()[chain.axis] < b.getStarts()[chain.axis];
  });
  int64_t end = 0;
  for (SliceOp slice : chain.slices) {
    if (slice.getStarts()[chain.axis] < end)
      return false;
    end = slice.getStarts()[chain.axis] + shapeOf(slice.getY())[chain.axis];
  }
  return chain.slices.size() > 1 && total <= shape[chain.axis];
}

std::optional<Chain> chainOf(MatMulOp product) {
  Chain chain;
  chain.product = product;
  chain.end = product.getY();
  int64_t rank = shapeOf(chain.end).size();
  if (!isKnown(product.getB()) || shapeOf(product.getB()).size() != 2 ||
      rank < 2)
    return std::nullopt;
  int64_t columns = shapeOf(chain.end).back();
  if (auto sum = soleUser<AddOp>(chain.end)) {
    chain.addend = columnConstant(sum, chain.end);
    if (!chain.addend)
      return std::nullopt;
    chain.sum = sum;
    chain.end = sum.getY();
  }
  if (auto split = soleUser<ReshapeOp>(chain.end)) {
    chain.split = split;
    chain.end = split.getY();
  }
  chain.digit = chain.axis = digitOf(shapeOf(chain.end), columns);
  if (chain.digit < 0)
    return std::nullopt;
  chain.inner = columns / shapeOf(chain.end)[chain.digit];
  if (auto moved = soleUser<TransposeOp>(chain.end)) {
    chain.moved = moved;
    chain.axis =
        llvm::find(moved.getPerm(), chain.digit) - moved.getPerm().begin();
    chain.end = moved.getY();
  }
  return readInSlices(chain) ? std::optional<Chain>(std::move(chain))
                             : std::nullopt;
}

/// `count` columns of `value` from `first` on.
Value columnsOf(OpBuilder &builder, Value value, int64_t first, int64_t count) {
  SmallVector<int64_t> shape(shapeOf(value));
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  if (shape.back() == 1)
    return value;
  starts.back() = first;
  shape.back() = count;
  return SliceOp::create(builder, value.getLoc(), typeOf(value).clone(shape),
                         value, starts, steps);
}

/// The slice computed by a product of its own columns.
void replaceSlice(OpBuilder &builder, const Chain &chain, SliceOp slice) {
  Location loc = slice.getLoc();
  int64_t taken = shapeOf(slice.getY())[chain.axis];
  int64_t first = slice.getStarts()[chain.axis] * chain.inner;
  int64_t count = taken * chain.inner;
  auto withColumns = [&](Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape.back() = count;
    return typeOf(value).clone(shape);
  };
  MatMulOp product = chain.product;
  Value value = MatMulOp::create(
      builder, product.getLoc(), withColumns(product.getY()), product.getA(),
      columnsOf(builder, product.getB(), first, count));
  if (AddOp sum = chain.sum)
    value = AddOp::create(builder, sum.getLoc(), withColumns(sum.getY()), value,
                          columnsOf(builder, chain.addend, first, count));
  if (ReshapeOp split = chain.split) {
    SmallVector<int64_t> shape(shapeOf(split.getY()));
    shape[chain.digit] = taken;
    value = makeReshape(builder, split.getLoc(), value, shape);
  }
  if (TransposeOp moved = chain.moved)
    value = TransposeOp::create(builder, loc, slice.getType(), value,
                                moved.getPerm());
  slice.replaceAllUsesWith(value);
}

struct SplitProductsPass
    : ashlar::nn::impl::SplitProductsBase<SplitProductsPass> {
  void runOnOperation() override {
    SmallVector<Chain> chains;
    getOperation().walk([&](MatMulOp product) {
      if (auto chain = chainOf(product))
        chains.push_back(std::move(*chain));
    });
    for (Chain &chain : chains) {
      OpBuilder builder(chain.end.getDefiningOp());
      builder.setInsertionPointAfter(chain.end.getDefiningOp());
      for (SliceOp slice : chain.slices)
        replaceSlice(builder, chain, slice);
      for (SliceOp slice : chain.slices)
        slice.erase();
      Operation *parts[] = {chain.moved, chain.split, chain.sum, chain.product};
      for (Operation *part : parts)
        if (part)
          part->erase();
      ++numSplit;
    }
  }
};

} // namespace
