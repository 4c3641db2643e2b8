// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the machine can hold the formats. Input: npu operations on
// tensors with storage types. Output: the same.

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_VERIFYFORMATS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

/// The first block length among operands and results that exponent cells do
/// not divide; 0 if there is none. Whole axes and tensors are rounded up.
int64_t unevenBlock(Operation *op, int64_t cell) {
  auto blockOf = [](Value value) -> int64_t {
    if (!isa<RankedTensorType>(value.getType()))
      return 0;
    analysis::StorageType type = analysis::storageOf(value);
    return type.encoded ? std::max(type.format.block, 0) : 0;
  };
  for (Value value : op->getOperands())
    if (int64_t block = blockOf(value); block % cell != 0)
      return block;
  for (Value value : op->getResults())
    if (int64_t block = blockOf(value); block % cell != 0)
      return block;
  return 0;
}

struct VerifyFormatsPass : impl::VerifyFormatsBase<VerifyFormatsPass> {
  void runOnOperation() override {
    auto machine = records::machineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    auto cell = static_cast<int64_t>(machine->xmGroup);
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa_and_present<NPUDialect>(op->getDialect()))
        return WalkResult::advance();
      int64_t block = unevenBlock(op, cell);
      if (block == 0)
        return WalkResult::advance();
      op->emitOpError() << "has blocks of " << block
                        << " elements, but on machine '" << machine->name
                        << "' " << cell
                        << " partitions share an exponent (xm_group): block "
                           "lengths must be multiples of that";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace ashlar::npu
