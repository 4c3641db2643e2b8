// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Leaves out channels that no result needs (see Passes.td). Input: any
// function. Output: the same results, fewer channels between products, biases
// with the part of channels that were one number.

#include "../Rewrite.h"
#include "ChannelGraph.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NN/NNElements.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

namespace ashlar::nn {
#define GEN_PASS_DEF_REMOVECHANNELS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;
using reference::Tensor;

namespace {

/// A constant with these indices of `axis` alone; null if it cannot be read any
/// more.
Value gatherConstant(OpBuilder &builder, Value constant, int64_t axis,
                     llvm::ArrayRef<int64_t> indices) {
  RankedTensorType type = typeOf(constant);
  ElementStorage storage;
  std::optional<llvm::ArrayRef<char>> bytes =
      rawElements(constantOp(constant).getValue(), storage);
  if (!bytes)
    return {};
  llvm::SmallVector<int64_t> shape(type.getShape());
  int64_t outer = 1,
          inner = support::byteSize(*toElementType(type.getElementType()));
  for (int64_t d = 0; d < axis; ++d)
    outer *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d)
    inner *= shape[d];
  std::string gathered;
  gathered.reserve(outer * indices.size() * inner);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices)
      gathered.append(bytes->data() + (o * shape[axis] + index) * inner, inner);
  shape[axis] = static_cast<int64_t>(indices.size());
  auto own = RankedTensorType::get(shape, type.getElementType());
  return ConstantOp::create(
      builder, constant.getLoc(), own,
      nn::makeElements(own, std::move(gathered), "constant"));
}

struct RemoveChannelsPass
    : ashlar::nn::impl::RemoveChannelsBase<RemoveChannelsPass> {
  using RemoveChannelsBase::RemoveChannelsBase;

  void runOnOperation() override {
    ChannelGraph channels(getOperation(), granularity, block);
    if (channels.isComplete())
      return;
    graph = &channels;
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : getOperation().getBody().getOps())
      ops.push_back(&op);
    // What channels were before: operations change one after the other.
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (const Channels *own = channels.of(result))
          kept[result] = {own->axis, own->count, channels.kept(result)};
    for (Operation *op : ops)
      rewrite(op);
    llvm::for_each(sums, mergeSum);
    if (unreadable)
      signalPassFailure();
  }

private:
  struct Kept {
    int64_t axis = 0, before = 0;
    std::vector<int64_t> channels;
    bool shrinks() const {
      return static_cast<int64_t>(channels.size()) < before;
    }
  };

  const Kept *shrinking(Value value) const {
    auto known = kept.find(value);
    return known != kept.end() && known->second.shrinks() ? &known->second
                                                          : nullptr;
  }

  /// gatherConstant(), the whole constant where that fails.
  Value gather(OpBuilder &builder, Value constant, int64_t axis,
               llvm::ArrayRef<int64_t> indices) {
    if (Value some = gatherConstant(builder, constant, axis, indices))
      return some;
    emitError(constant.getLoc())
        << "the elements of the constant cannot be read";
    unreadable = true;
    return constant;
  }

  void rewrite(Operation *op);
  void rewriteProduct(Operation *op, const ProductWeights &weights);
  void rewriteDepthwise(ConvOp conv);
  void sliceOperands(Operation *op, const Kept &y);
  void moveStart(SliceOp slice);
  void shrink(Value result, const Kept &y);
  std::vector<double> numbersGone(const ProductWeights &weights, const Kept &x,
                                  llvm::ArrayRef<int64_t> rows);
  void addNumbers(Operation *op, llvm::ArrayRef<double> numbers, int64_t axis);
  void addBias(ConvOp conv, llvm::ArrayRef<double> numbers);
  void decide(Operation *op, const Kept *x, const Kept *y, bool folds);

  static void mergeSum(AddOp sum);

  const ChannelGraph *graph = nullptr;
  bool unreadable = false;
  llvm::SmallVector<AddOp> sums; ///< of products and numbers
  llvm::DenseMap<Value, Kept> kept;
};

void RemoveChannelsPass::shrink(Value result, const Kept &y) {
  llvm::SmallVector<int64_t> shape(shapeOf(result));
  shape[y.axis] = static_cast<int64_t>(y.channels.size());
  result.setType(RankedTensorType::get(shape, typeOf(result).getElementType()));
  analysis::markAltered(result.getDefiningOp());
}

/// What the inputs that go add to each result, all of them numbers.
std::vector<double>
RemoveChannelsPass::numbersGone(const ProductWeights &weights, const Kept &x,
                                llvm::ArrayRef<int64_t> rows) {
  std::vector<double> sums(rows.size()), values;
  llvm::SmallVector<bool> stays(x.before, false);
  for (int64_t i : x.channels)
    stays[i] = true;
  for (int64_t i = 0; i < x.before; ++i) {
    const double number = graph->numberOf(weights.x, i).value_or(0);
    if (stays[i] || number == 0)
      continue;
    if (values.empty())
      values = weights.numbers();
    for (auto [sum, o] : llvm::zip(sums, rows))
      for (int64_t t = 0; t < weights.taps; ++t)
        sum += number * values[weights.at(o, i, t)];
  }
  return sums;
}

/// Numbers by channel added to the constant that follows a product, or to a new
/// one.
void RemoveChannelsPass::addNumbers(Operation *op,
                                    llvm::ArrayRef<double> numbers,
                                    int64_t axis) {
  Value y = op->getResult(0);
  const auto count = static_cast<int64_t>(numbers.size());
  llvm::SmallVector<int64_t> shape(shapeOf(y).size() - axis, 1);
  shape[0] = count;
  Type element = typeOf(y).getElementType();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Tensor tensor(*toElementType(element), shape);
  for (int64_t c = 0; c < count; ++c)
    if (tensor.isFloat())
      tensor.floats[c] = numbers[c];
    else
      tensor.ints[c] = static_cast<int64_t>(numbers[c]);
  auto sum =
      AddOp::create(builder, op->getLoc(), y.getType(), y,
                    makeConstant(builder, op->getLoc(), tensor, element));
  y.replaceAllUsesExcept(sum.getY(), sum);
  sums.push_back(sum);
}

/// One sum with constants instead of two in a row, as the later phases know
/// the bias of an integer product.
void RemoveChannelsPass::mergeSum(AddOp sum) {
  auto next = sum.getY().hasOneUse()
                  ? dyn_cast<AddOp>(*sum.getY().getUsers().begin())
                  : AddOp();
  if (!next || next.getA() != sum.getY() || !isConstant(next.getB()) ||
      typeOf(next.getB()).getNumElements() !=
          typeOf(sum.getB()).getNumElements())
    return;
  std::optional<Tensor> a = constantTensor(sum.getB()),
                        b = constantTensor(next.getB());
  const auto trailing = [](llvm::ArrayRef<int64_t> shape) {
    return shape.drop_while([](int64_t extent) { return extent == 1; });
  };
  if (!a || !b || trailing(a->shape) != trailing(b->shape))
    return;
  for (auto [to, number] : llvm::zip(b->floats, a->floats))
    to += number;
  for (auto [to, number] : llvm::zip(b->ints, a->ints))
    to += number;
  OpBuilder builder(next);
  next.getBMutable().assign(makeConstant(builder, next.getB().getLoc(), *b,
                                         typeOf(next.getB()).getElementType()));
  next.getAMutable().assign(sum.getA());
  analysis::markAltered(sum.getA().getDefiningOp());
  sum.erase();
}

void RemoveChannelsPass::addBias(ConvOp conv, llvm::ArrayRef<double> numbers) {
  OpBuilder builder(conv);
  Type element = typeOf(conv.getW()).getElementType();
  Tensor bias = vectorTensor(numbers);
  if (std::optional<Tensor> own = floatConstant(conv.getBias())) {
    element = typeOf(conv.getBias()).getElementType();
    for (auto [sum, number] : llvm::zip(bias.floats, own->floats))
      sum += number;
  }
  conv.getBiasMutable().assign(
      makeConstant(builder, conv.getLoc(), bias, element));
}

void RemoveChannelsPass::rewriteProduct(Operation *op,
                                        const ProductWeights &weights) {
  const Kept *x = shrinking(weights.x), *y = shrinking(op->getResult(0));
  if (!x && !y)
    return;
  const Kept &all = kept.find(op->getResult(0))->second;
  std::vector<double> numbers;
  if (x)
    numbers = numbersGone(weights, *x, all.channels);
  const bool folds = llvm::any_of(numbers, [](double n) { return n != 0; });
  OpBuilder builder(op);
  auto conv = dyn_cast<ConvOp>(op);
  Value w = weights.w;
  if (y)
    w = gather(builder, w, conv ? 0 : 1, y->channels);
  if (x)
    w = gather(builder, w, conv ? 1 : 0, x->channels);
  op->setOperand(1, w);
  if (y && weights.bias)
    conv.getBiasMutable().assign(gather(builder, weights.bias, 0, y->channels));
  if (y)
    shrink(op->getResult(0), *y);
  if (folds && conv && isa<FloatType>(typeOf(w).getElementType()))
    addBias(conv, numbers);
  else if (folds)
    addNumbers(op, numbers, all.axis);
  decide(op, x, y, folds);
}

void RemoveChannelsPass::rewriteDepthwise(ConvOp conv) {
  const Kept *x = shrinking(conv.getX()), *y = shrinking(conv.getY());
  if (!x || !y)
    return;
  OpBuilder builder(conv);
  conv.setGroup(x->channels.size());
  conv.getWMutable().assign(gather(builder, conv.getW(), 0, y->channels));
  if (conv.getBias())
    conv.getBiasMutable().assign(
        gather(builder, conv.getBias(), 0, y->channels));
  shrink(conv.getY(), *y);
  decide(conv, x, y, false);
}

/// Constants that have an element for each channel.
void RemoveChannelsPass::sliceOperands(Operation *op, const Kept &y) {
  auto concat = dyn_cast<ConcatOp>(op);
  if (concat && static_cast<int64_t>(concat.getAxis()) == y.axis)
    return; // constants among them stay whole
  const auto rank = static_cast<int64_t>(shapeOf(op->getResult(0)).size());
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    const int64_t axis =
        y.axis - rank + static_cast<int64_t>(shapeOf(operand.get()).size());
    if (isReadable(operand.get()) && axis >= 0 &&
        shapeOf(operand.get())[axis] == y.before)
      operand.set(gather(builder, operand.get(), axis, y.channels));
  }
}

/// A slice begins at what is left before it.
void RemoveChannelsPass::moveStart(SliceOp slice) {
  const Kept *x = shrinking(slice.getX());
  if (!x)
    return;
  llvm::SmallVector<int64_t> starts(slice.getStarts());
  starts[x->axis] =
      llvm::lower_bound(x->channels, starts[x->axis]) - x->channels.begin();
  slice.setStarts(starts);
}

void RemoveChannelsPass::rewrite(Operation *op) {
  if (const ProductWeights *weights = graph->weightsOf(op))
    return rewriteProduct(op, *weights);
  if (auto conv = dyn_cast<ConvOp>(op))
    return rewriteDepthwise(conv);
  if (auto slice = dyn_cast<SliceOp>(op))
    moveStart(slice);
  if (op->getNumResults() != 1 || isa<ConstantOp>(op))
    return;
  if (const Kept *y = shrinking(op->getResult(0))) {
    sliceOperands(op, *y);
    shrink(op->getResult(0), *y);
  }
}

void RemoveChannelsPass::decide(Operation *op, const Kept *x, const Kept *y,
                                bool folds) {
  std::vector<std::string> parts;
  auto part = [&](const Kept *side, llvm::StringRef name) {
    if (!side)
      return;
    parts.push_back(fmt::format("{} of {} {} channels stay",
                                side->channels.size(), side->before,
                                name.str()));
    numRemoved += side == y ? side->before - side->channels.size() : 0;
  };
  part(x, "input");
  part(y, "output");
  if (folds)
    parts.push_back("the bias has the part of those that were one number");
  records::Decision(op->getContext(), "fewer-channels", llvm::join(parts, "; "))
      .record(op, kChannelDecisionAttr);
}

} // namespace
