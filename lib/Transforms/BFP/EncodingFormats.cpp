// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which format an encoding takes: the widest of those that its readers ask for,
// its range lowered where an accumulator could overflow.

#include "AccumulatorProof.h"
#include "StoragePlan.h"

#include "ashlar/Analysis/NodeNames.h"
#include "dialects/BFP/BFPOps.h"

#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace ashlar::bfp {

using numerics::BlockFormat;

/// Blocks as lengths that compare: the whole axis is longer than any block, the
/// whole tensor longer still.
static int blockRank(int block) {
  return block > 0 ? block : std::numeric_limits<int>::max() - 1 - block;
}

/// No factor that asked for `a` or for `b` reads less than it asked for.
static BlockFormat widest(const BlockFormat &a, const BlockFormat &b) {
  BlockFormat format;
  format.mantissa = std::max(a.mantissa, b.mantissa);
  format.block = blockRank(a.block) < blockRank(b.block) ? a.block : b.block;
  format.range = std::max(a.range, b.range);
  return format;
}

size_t StoragePlan::root(size_t encoding) const {
  while (parents[encoding] != encoding)
    encoding = parents[encoding];
  return encoding;
}

size_t StoragePlan::addEncoding(const BlockFormat &format) {
  parents.push_back(parents.size());
  chosen.push_back(format);
  return parents.size() - 1;
}

void StoragePlan::join(size_t a, size_t b) {
  a = root(a);
  b = root(b);
  if (a == b)
    return;
  chosen[a] = widest(chosen[a], chosen[b]);
  parents[b] = a;
}

BlockFormat StoragePlan::askedBy(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<ConvOp, MatmulOp>(op) && use.getOperandNumber() < 2) {
    std::string node = analysis::getNodeName(op->getLoc());
    return isWeightUse(use) ? formats.weightsOf(node)
                            : formats.activationsOf(node);
  }
  // What passes a value on asks for what is asked of its result.
  return chosen[root(stored.lookup(op->getResult(0)))];
}

BlockType StoragePlan::getStoredType(Value value) const {
  const BlockFormat &format = chosen[root(stored.lookup(value))];
  return BlockType::get(context, format.mantissa, format.block, format.range,
                        storedAxis.lookup(value));
}

BlockType StoragePlan::getRequiredType(OpOperand &use) const {
  const BlockFormat &format = chosen[root(read.lookup(&use))];
  return BlockType::get(context, format.mantissa, format.block, format.range,
                        *getRequiredAxis(use));
}

/// The next smaller range, or nothing below 0.
static std::optional<int> lowerRange(int range) {
  if (range == 0)
    return std::nullopt;
  return (range + 1) / 2 - 1;
}

FailureOr<std::string> StoragePlan::proveRanges(func::FuncOp function,
                                                bool strict) {
  std::string reasons;
  for (Operation &op : function.getBody().front()) {
    if (!isa<ConvOp, MatmulOp>(op))
      continue;
    BlockFormat &a = chosen[root(read.lookup(&op.getOpOperand(0)))];
    BlockFormat &b = chosen[root(read.lookup(&op.getOpOperand(1)))];
    auto length = getProductLength(&op);
    auto bits = [&] {
      return numerics::accumulatorBits(a.mantissa, a.range, b.mantissa, b.range,
                                       static_cast<uint64_t>(length));
    };
    if (bits() <= 63)
      continue;
    std::string problem = fmt::format(
        "'{}' sums {} products, which with {} and {} needs {} accumulator bits "
        "of 63",
        analysis::getNodeName(op.getLoc()), length, numerics::toString(a),
        numerics::toString(b), bits());
    if (strict)
      return op.emitError(problem) << "; use a smaller range or mantissa";
    while (bits() > 63) {
      // Of two equal ranges that of the weights: their channels own a scale
      // exponent each.
      BlockFormat &larger = a.range > b.range ? a : b;
      std::optional<int> range = lowerRange(larger.range);
      if (!range)
        return op.emitError(problem)
               << "; no range is small enough, use a smaller mantissa";
      larger.range = *range;
    }
    reasons +=
        fmt::format("{}ranges lowered to {} and {}: {}",
                    reasons.empty() ? "" : "; ", a.range, b.range, problem);
  }
  return reasons;
}

} // namespace ashlar::bfp
