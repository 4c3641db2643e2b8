// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which format an encoding takes: the widest of those that its readers ask for,
// its range lowered where an accumulator could overflow.

#include "AccumulatorProof.h"
#include "Shapes.h"
#include "StoragePlan.h"

#include "dialects/BFP/BFPOps.h"

#include <limits>

using namespace mlir;

namespace ashlar::bfp {

using numerics::BlockFormat;

/// Blocks as lengths that compare: the whole axis is longer than any block, the
/// whole tensor longer still.
static int blockRank(int block) {
  return block > 0 ? block : std::numeric_limits<int>::max() - 1 - block;
}

/// Rows as counts that compare: a quadrant has more than any count.
static int rowsRank(int rows) {
  return rows == BlockFormat::kQuadrant ? std::numeric_limits<int>::max()
                                        : rows;
}

/// No factor that asked for `a` or for `b` reads less than it asked for.
static BlockFormat widest(const BlockFormat &a, const BlockFormat &b) {
  BlockFormat format;
  format.mantissa = std::max(a.mantissa, b.mantissa);
  format.block = blockRank(a.block) < blockRank(b.block) ? a.block : b.block;
  format.range = std::max(a.range, b.range);
  format.rows = rowsRank(a.rows) < rowsRank(b.rows) ? a.rows : b.rows;
  format.dropsSigns = a.dropsSigns || b.dropsSigns;
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
  signless.push_back(true);
  return parents.size() - 1;
}

void StoragePlan::join(size_t a, size_t b) {
  a = root(a);
  b = root(b);
  if (a == b)
    return;
  chosen[a] = widest(chosen[a], chosen[b]);
  signless[a] = signless[a] && signless[b];
  parents[b] = a;
}

/// Encodings in which no value can be negative, where that was asked for.
void StoragePlan::dropSigns() {
  for (size_t i = 0; i < parents.size(); ++i)
    if (root(i) == i && signless[i])
      chosen[i] = chosen[i].withoutSigns();
}

BlockFormat StoragePlan::askedBy(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<ConvOp, MatmulOp>(op) && use.getOperandNumber() < 2) {
    ProductFormats asked = formats.lookup(op);
    return isWeightUse(use) ? asked.weights : asked.activations.withoutRows();
  }
  // What passes a value on requests what is asked of its result.
  return chosen[root(stored.lookup(op->getResult(0)))];
}

BlockType StoragePlan::getStoredType(Value value) const {
  const BlockFormat &format = chosen[root(stored.lookup(value))];
  return BlockType::get(context, format.mantissa, format.block, format.range,
                        storedAxis.lookup(value), format.isUnsigned,
                        format.rows);
}

BlockType StoragePlan::getRequiredType(OpOperand &use) const {
  BlockFormat format = chosen[root(read.lookup(&use))];
  const int64_t axis = *getRequiredAxis(use);
  if (isWeightUse(use)) {
    const ArrayRef<int64_t> shape = shapeOf(use.get());
    format = format.ofWeights(shape[1 - axis], shape[axis]);
  }
  return BlockType::get(context, format.mantissa, format.block, format.range,
                        axis, format.isUnsigned, format.rows);
}

FailureOr<std::string> StoragePlan::proveRanges(func::FuncOp function,
                                                bool strict) {
  std::string reasons;
  for (Operation &op : function.getBody().front()) {
    // Factors that are encoded already have no format to choose.
    if (!isa<ConvOp, MatmulOp>(op) || !read.count(&op.getOpOperand(0)) ||
        !read.count(&op.getOpOperand(1)))
      continue;
    // Encodings are shared, but ranges only fall: what is proven stays so.
    FailureOr<std::string> reason =
        proveProduct(&op, chosen[root(read.lookup(&op.getOpOperand(0)))],
                     chosen[root(read.lookup(&op.getOpOperand(1)))], strict);
    if (failed(reason))
      return failure();
    if (!reason->empty())
      reasons += (reasons.empty() ? "" : "; ") + *reason;
  }
  return reasons;
}

} // namespace ashlar::bfp
