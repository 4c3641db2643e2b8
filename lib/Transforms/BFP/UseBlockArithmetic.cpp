// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that stays in integers between two encodings. Input: the plan with
// chosen storage, before weights are scaled. Output: products with an integer
// epilogue and bfp.arithmetic wherever all operands allow it; the rest computes
// in binary32.

#include "ChannelView.h"
#include "Shapes.h"
#include "StoragePlan.h"

#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/IntegerEpilogue.h"
#include "dialects/NN/NNOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_USEBLOCKARITHMETIC
#include "ashlar/Transforms/BFP/Passes.h.inc"

/// A bias that has an aligned form.
static bool isFiniteConstant(Value bias) {
  const std::vector<float> values = readConstant(bias);
  return !values.empty() &&
         llvm::all_of(values, [](float v) { return std::isfinite(v); });
}

/// Why the epilogue computes in binary32; nothing if it need not.
template <typename OpTy>
static std::optional<StringRef> reasonForFloats(OpTy op) {
  if (!isEncoded(op->getOperand(0).getType()))
    return "no encoded factors";
  if (!isEncoded(op.getOutput().getType()))
    return "the result is not stored encoded";
  if (op.getBias() && !isFiniteConstant(op.getBias()))
    return "the bias is no constant of finite numbers";
  if (op.getScale())
    return "a scale per channel";
  if (op.getResidual() && !isEncoded(op.getResidual().getType()))
    return "the residual is not stored encoded";
  if (!mayBeInteger(op.getOutput().getType(), Epilogue::of(op)))
    return "a function other than copy, relu and clip, or blocks as long as "
           "the axis";
  return std::nullopt;
}

/// An operation on floats as one on blocks, if all its tensors are encoded in
/// the way that it needs.
static void useArithmetic(Operation *op, StringRef kind) {
  Value result = op->getResult(0);
  BlockType type = getBlockType(result.getType());
  if (!type || type.isWholeTensor())
    return;
  for (Value operand : op->getOperands()) {
    BlockType own = getBlockType(operand.getType());
    if (!own || own.isWholeTensor() ||
        mapBroadcastAxis(shapeOf(operand), shapeOf(result), type.getAxis()) !=
            own.getAxis())
      return;
  }
  OpBuilder builder(op);
  auto arithmetic =
      ArithmeticOp::create(builder, op->getLoc(), result.getType(),
                           op->getOperand(0), op->getOperand(1), kind);
  for (NamedAttribute attr : op->getDiscardableAttrs())
    arithmetic->setDiscardableAttr(attr.getName(), attr.getValue());
  result.replaceAllUsesWith(arithmetic.getOutput());
  op->erase();
}

namespace {
struct UseBlockArithmetic : impl::UseBlockArithmeticBase<UseBlockArithmetic> {
protected:
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto conv = dyn_cast<ConvOp>(op))
        decide(conv);
      else if (auto matmul = dyn_cast<MatmulOp>(op))
        decide(matmul);
      else if (std::optional<StringRef> kind = arithmeticKind(op))
        useArithmetic(op, *kind);
    }
  }

private:
  template <typename OpTy>
  void decide(OpTy op) {
    const std::optional<StringRef> reason = reasonForFloats(op);
    op.setIntegerEpilogue(!reason);
    numInteger += !reason;
    records::Decision(&getContext(),
                      reason ? "float-epilogue" : "integer-epilogue",
                      reason.value_or("asked for: one rounding, of the sum"))
        .record(op, kEpilogueDecisionAttr);
  }
};
} // namespace

} // namespace ashlar::bfp
