// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes block operands that are read across another axis than that of their
// blocks: exponents are shared by groups of partitions. Input: npu operations
// with `layout`. Output: the same, where every encoded operand that has to be
// re-laid is an f32 tensor first. No operation is omitted: its tiling model
// says how it reads.

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_DECODEOPERANDS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::storageOf;

namespace {

struct DecodeOperandsPass : impl::DecodeOperandsBase<DecodeOperandsPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    llvm::SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<NPUDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      analysis::TilingModel model = analysis::buildTilingModel(op, *machine);
      for (auto [i, operand] : llvm::enumerate(model.operands)) {
        analysis::StorageType type = storageOf(op->getOperand(i));
        if (!operand.streamed && !operand.direct && type.encoded &&
            operand.axis != type.blockAxis)
          op->setOperand(i, decoded(op->getOperand(i), op));
      }
    }
  }

private:
  /// `value` in f32, across the axis of its blocks: one decode serves all
  /// readers. The vector unit decodes exactly, so no bit changes.
  Value decoded(Value value, Operation *reader) {
    Value &copy = copies[value];
    if (copy)
      return copy;
    OpBuilder builder(reader);
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType());
    auto decode = VecMapOp::create(
        builder, reader->getLoc(), type.clone(builder.getF32Type()), value,
        Value(), Value(), builder.getStringAttr("copy"),
        builder.getF32FloatAttr(0.0f), builder.getF32FloatAttr(0.0f));
    decode.setOriginAttr(OriginAttr::get(builder.getContext(), StringAttr(),
                                         builder.getStringAttr("decode")));
    decode.setLayoutAttr(
        LayoutAttr::get(builder.getContext(), storageOf(value).blockAxis));
    ++numDecoded;
    return copy = decode.getY();
  }

  llvm::DenseMap<Value, Value> copies;
};

} // namespace
} // namespace ashlar::npu
