// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ties channels operation by operation, and asks from the results backwards
// which of them anything needs. What is not listed here needs all its operands.

#include "ChannelGraph.h"

#include "../Rewrite.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace ashlar::nn {

//===----------------------------------------------------------------------===//
// Channels and ties
//===----------------------------------------------------------------------===//

Channels &ChannelGraph::add(Value value, int64_t axis, bool pinned) {
  Channels channels;
  channels.axis = axis;
  channels.first = static_cast<unsigned>(needed.size());
  channels.count = shapeOf(value)[axis];
  needed.resize(needed.size() + channels.count, pinned);
  numbers.resize(needed.size());
  classes.grow(static_cast<unsigned>(needed.size()));
  return values.insert({value, channels}).first->second;
}

const Channels *ChannelGraph::along(Value value, int64_t axis) {
  auto known = values.find(value);
  if (known == values.end())
    return &add(value, axis, true);
  return known->second.axis == axis ? &known->second : nullptr;
}

void ChannelGraph::tie(const Channels &a, const Channels &b) {
  for (int64_t c = 0; c < a.count; ++c)
    classes.join(a.first + c, b.first + c);
}

void ChannelGraph::pin(Value value) {
  if (const Channels *channels = of(value))
    for (int64_t c = 0; c < channels->count; ++c)
      needed[channels->first + c] = true;
}

const Channels *ChannelGraph::of(Value value) const {
  auto known = values.find(value);
  return known == values.end() ? nullptr : &known->second;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ChannelGraph::visitProduct(Operation *op) {
  const ProductWeights &weights = products.find(op)->second;
  if (const Channels *x = of(weights.x); x && x->axis != weights.inputAxis)
    pin(weights.x);
  add(op->getResult(0), weights.outputAxis, false);
  evaluateProduct(op, weights);
}

/// A convolution whose results each read one channel: both go or both stay.
bool ChannelGraph::visitDepthwise(Operation *op) {
  if (!isDepthwise(op))
    return false;
  auto conv = cast<ConvOp>(op);
  const Channels *x = along(conv.getX(), 1);
  if (!x)
    return false;
  const Channels from = *x, &to = add(conv.getY(), 1, false);
  const int64_t copies = to.count / from.count;
  for (int64_t o = 0; o < to.count; ++o)
    classes.join(to.first + o, from.first + o / copies);
  evaluateDepthwise(op);
  return true;
}

/// Functions, sums, products: operands that are no constants of the function
/// have the channels of the result, or one element for all of them.
bool ChannelGraph::visitElementwise(Operation *op) {
  if (!isa<UnaryOp, CastOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp,
           PReluOp, ModOp, WhereOp>(op))
    return false;
  Value result = op->getResult(0);
  const auto rank = static_cast<int64_t>(shapeOf(result).size());
  std::optional<int64_t> axis;
  for (Value operand : op->getOperands())
    if (const Channels *x = of(operand); x && !axis)
      axis = x->axis + rank - static_cast<int64_t>(shapeOf(operand).size());
  if (!axis)
    return false;
  const int64_t count = shapeOf(result)[*axis];
  llvm::SmallVector<Channels> tied;
  for (Value operand : op->getOperands()) {
    const int64_t own =
        *axis - rank + static_cast<int64_t>(shapeOf(operand).size());
    const bool broadcasts = own < 0 || shapeOf(operand)[own] != count;
    if (isReadable(operand) || (broadcasts && !of(operand)))
      continue;
    const Channels *x = broadcasts ? nullptr : along(operand, own);
    if (!x)
      return false;
    tied.push_back(*x);
  }
  if (tied.empty())
    return false;
  const Channels to = add(result, *axis, false);
  for (const Channels &from : tied)
    tie(from, to);
  evaluateElementwise(op);
  return true;
}

/// Pools, padding and reductions over other axes.
bool ChannelGraph::visitWindow(Operation *op) {
  if (!isa<MaxPoolOp, AvgPoolOp, PadOp, ReduceOp>(op))
    return false;
  Value x = op->getOperand(0), y = op->getResult(0);
  const Channels *known = of(x);
  if (!known)
    return false;
  const Channels from = *known;
  int64_t axis = from.axis;
  if (auto pad = dyn_cast<PadOp>(op)) {
    if (pad.getLow()[axis] != 0 || pad.getHigh()[axis] != 0 ||
        pad.interiorAt(axis) != 0)
      return false;
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (llvm::is_contained(reduce.getAxes(), axis))
      return false;
    if (!reduce.getKeepdims())
      axis -= llvm::count_if(reduce.getAxes(),
                             [&](int64_t other) { return other < from.axis; });
  } else if (axis != 1) {
    return false;
  }
  tie(from, add(y, axis, false));
  copyNumbers(x, y, [&](double number) {
    if (auto pad = dyn_cast<PadOp>(op))
      return pad.getMode() != PadMode::Constant ||
             pad.getValue().convertToDouble() == number;
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getKind() == ReduceKind::Mean ||
             reduce.getKind() == ReduceKind::Max ||
             reduce.getKind() == ReduceKind::Min;
    llvm::ArrayRef<int64_t> pads = isa<MaxPoolOp>(op)
                                       ? cast<MaxPoolOp>(op).getPads()
                                       : cast<AvgPoolOp>(op).getPads();
    return llvm::all_of(pads, [](int64_t size) { return size == 0; });
  });
  return true;
}

/// Slices that take neighbouring channels or cut other axes.
bool ChannelGraph::visitMovement(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  const Channels *known = slice ? of(slice.getX()) : nullptr;
  if (!known || slice.getSteps()[known->axis] != 1)
    return false;
  const Channels from = *known, to = add(slice.getY(), from.axis, false);
  const auto start = static_cast<unsigned>(slice.getStarts()[from.axis]);
  for (int64_t c = 0; c < to.count; ++c) {
    classes.join(to.first + c, from.first + start + c);
    numbers[to.first + c] = numbers[from.first + start + c];
  }
  return true;
}

bool ChannelGraph::visitConcat(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat)
    return false;
  std::optional<int64_t> axis;
  for (Value operand : concat.getInputs())
    if (const Channels *x = of(operand); x && !axis)
      axis = x->axis;
  if (!axis)
    return false;
  llvm::SmallVector<std::optional<Channels>> parts;
  for (Value operand : concat.getInputs()) {
    if (isReadable(operand) &&
        *axis != static_cast<int64_t>(concat.getAxis())) {
      parts.push_back(std::nullopt);
      continue;
    }
    const Channels *x = along(operand, *axis);
    if (!x)
      return false;
    parts.push_back(*x);
  }
  const Channels to = add(concat.getY(), *axis, false);
  const bool joins = *axis == static_cast<int64_t>(concat.getAxis());
  if (joins)
    beforeOthers.insert_range(concat.getInputs().drop_back());
  unsigned at = to.first;
  for (const std::optional<Channels> &part : parts)
    for (int64_t c = 0; part && c < part->count; ++c) {
      classes.join(part->first + c, joins ? at : to.first + c);
      // Bands of one channel may hold different numbers.
      if (joins)
        numbers[at++] = numbers[part->first + c];
    }
  return true;
}

void ChannelGraph::visit(Operation *op) {
  if (isa<ConstantOp>(op))
    return;
  if (products.contains(op))
    return visitProduct(op);
  if (visitDepthwise(op) || visitElementwise(op) || visitWindow(op) ||
      visitMovement(op) || visitConcat(op))
    return;
  llvm::for_each(op->getOperands(), [&](Value operand) { pin(operand); });
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

ChannelGraph::ChannelGraph(func::FuncOp function, int64_t granularity,
                           int64_t block)
    : granularity(std::max<int64_t>(granularity, 1)),
      block(std::max<int64_t>(block, 1)) {
  bool sparse = false;
  for (Operation &op : function.getBody().getOps())
    if (std::optional<ProductWeights> weights = ProductWeights::of(&op)) {
      sparse |= !weights->isDense();
      products.insert({&op, std::move(*weights)});
    } else if (isDepthwise(&op)) {
      sparse |=
          llvm::is_contained(depthwiseSums(cast<ConvOp>(op)), std::nullopt);
    }
  // Every channel has a reader, and every one its own results.
  if (!sparse || !llvm::hasSingleElement(function.getBody()))
    return;
  for (Operation &op : function.getBody().getOps())
    visit(&op);
  // From channels to their classes.
  std::vector<bool> byClass(needed.size());
  for (unsigned c = 0; c < needed.size(); ++c)
    byClass[classes.findLeader(c)] =
        byClass[classes.findLeader(c)] || needed[c];
  needed = std::move(byClass);
  do {
    propagate();
  } while (keepWholeBlocks());
  for (unsigned c = 0; c < needed.size(); ++c)
    anyDead |= !needed[classes.findLeader(c)];
}

/// A product needs the inputs that any of its needed results reads, unless
/// their part is a number that its bias takes over.
void ChannelGraph::propagate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, weights] : llvm::reverse(products)) {
      const Channels *x = of(weights.x);
      const Channels &y = values.find(op->getResult(0))->second;
      if (!x || x->axis != weights.inputAxis)
        continue;
      for (int64_t i = 0; i < x->count; ++i) {
        const unsigned channel = classes.findLeader(x->first + i);
        const std::optional<double> &number = numbers[x->first + i];
        if (needed[channel] || (number && (*number == 0 || !weights.padded)))
          continue;
        bool read = false;
        for (int64_t o = 0; o < y.count && !read; ++o)
          read = needed[classes.findLeader(y.first + o)] && weights.reads(o, i);
        needed[channel] = read;
        changed |= read;
      }
    }
  }
}

int64_t ChannelGraph::unitOf(Value value) const {
  if (beforeOthers.contains(value))
    return std::lcm(granularity, block);
  const bool made = isa_and_present<ConvOp, MatMulOp>(value.getDefiningOp());
  return made ? granularity : 1;
}

/// Results that have too few channels for whole blocks keep some that no one
/// needs, those that take no work first. True if any does.
bool ChannelGraph::keepWholeBlocks() {
  bool changed = false;
  for (const auto &[value, channels] : values) {
    auto left = static_cast<int64_t>(kept(value).size());
    const int64_t unit = unitOf(value);
    const int64_t wanted =
        std::min(channels.count,
                 std::max<int64_t>(llvm::divideCeil(left, unit), 1) * unit);
    for (bool numbersOnly : {true, false})
      for (int64_t c = 0; c < channels.count && left < wanted; ++c) {
        const unsigned channel = classes.findLeader(channels.first + c);
        if (needed[channel] || (numbersOnly && !numbers[channels.first + c]))
          continue;
        needed[channel] = changed = true;
        ++left;
      }
  }
  return changed;
}

bool ChannelGraph::isNeeded(Value value, int64_t channel) const {
  const Channels *channels = of(value);
  return !channels || needed[classes.findLeader(channels->first + channel)];
}

std::vector<int64_t> ChannelGraph::kept(Value value) const {
  std::vector<int64_t> result;
  if (const Channels *channels = of(value))
    for (int64_t c = 0; c < channels->count; ++c)
      if (isNeeded(value, c))
        result.push_back(c);
  return result;
}

std::optional<double> ChannelGraph::numberOf(Value value,
                                             int64_t channel) const {
  const Channels *channels = of(value);
  return channels ? numbers[channels->first + channel] : std::nullopt;
}

const ProductWeights *ChannelGraph::weightsOf(Operation *op) const {
  auto known = products.find(op);
  return known == products.end() ? nullptr : &known->second;
}

} // namespace ashlar::nn
