// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Analysis/Cost/ProgramSize.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Support/Budget.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace ashlar::analysis {

/// Bytes of the constants that products read, encoded or moved. Tables
/// that other operations read say nothing of the size of a program: import may
/// have made them from a few extents.
static uint64_t weightBytes(llvm::ArrayRef<Operation *> nodes) {
  llvm::SetVector<Value> values;
  for (Operation *op : nodes)
    if (isProduct(op))
      values.insert_range(op->getOperands());
  uint64_t bytes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (auto move = value.getDefiningOp<npu::DmaMoveOp>())
      values.insert_range(move.getInputs());
    else if (auto encode = value.getDefiningOp<bfp::EncodeOp>())
      values.insert(encode.getInput());
    else if (value.getDefiningOp<nn::ConstantOp>())
      bytes +=
          static_cast<uint64_t>(dramBytes(storageOf(value), shapeOf(value)));
  }
  return bytes;
}

uint64_t mostInstructions(ModuleOp module) {
  llvm::SmallVector<Operation *> nodes;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<npu::NPUDialect>(op->getDialect()))
      nodes.push_back(op);
  });
  return std::min(kMostInstructions, support::Budget::instructions(
                                         nodes.size(), weightBytes(nodes)));
}

} // namespace ashlar::analysis
