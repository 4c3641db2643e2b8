// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit invariants of the quantise phase; verify only. Every violation is
// reported, not the first alone.

#include "AccumulatorProof.h"
#include "Shapes.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_VERIFYPLAN
#include "ashlar/Transforms/BFP/Passes.h.inc"

/// plan_c1: one function `main` with named, plain arguments and results.
static LogicalResult verifyInterface(func::FuncOp function) {
  if (function.getName() != "main")
    return function.emitError("expected one function 'main', found '")
           << function.getName() << "'";
  auto check = [&](StringRef what, unsigned index, Type type,
                   Attribute name) -> LogicalResult {
    if (!isa_and_nonnull<StringAttr>(name))
      return function.emitError("expected '")
             << nn::nameAttr << "' on " << what << " " << index;
    if (isEncoded(type))
      return function.emitError("expected a plain type of ")
             << what << " " << index << ", found " << type;
    return success();
  };
  bool valid = true;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    valid &= succeeded(check("argument", index, type,
                             function.getArgAttr(index, nn::nameAttr)));
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    valid &= succeeded(check("result", index, type,
                             function.getResultAttr(index, nn::nameAttr)));
  return success(valid);
}

/// Integers of 8 or 16 bits multiply exactly and need no format; 2^31 products
/// of 2^32 fit the accumulator.
static bool isIntegerProduct(Operation *op) {
  auto isSmall = [](Value value) {
    auto type = dyn_cast<IntegerType>(
        cast<RankedTensorType>(value.getType()).getElementType());
    return type && (type.getWidth() == 8 || type.getWidth() == 16);
  };
  return isa<nn::ConvOp, nn::MatMulOp>(op) && op->getNumOperands() == 2 &&
         isSmall(op->getOperand(0)) && isSmall(op->getOperand(1));
}

/// plan_c2: products are bfp ops with encoded factors and a proof, or products
/// of integers.
static LogicalResult verifyProduct(Operation *op) {
  if (isIntegerProduct(op))
    return success();
  if (isa<nn::ConvOp, nn::ConvTransposeOp, nn::MatMulOp>(op))
    return op->emitError("unsupported: a product of elements ")
           << getElementTypeOrSelf(op->getOperand(0)) << " and "
           << getElementTypeOrSelf(op->getOperand(1))
           << " has no number format; expected floating point, or integers of "
              "8 or 16 bits and constant weights of an integer convolution";
  if (!isa<ConvOp, MatmulOp>(op))
    return success();
  BlockType first = getBlockType(op->getOperand(0).getType());
  BlockType second = getBlockType(op->getOperand(1).getType());
  if (!first || !second)
    return op->emitError("expected encoded factors, found ")
           << op->getOperand(0).getType() << " and "
           << op->getOperand(1).getType();
  int64_t length = getProductLength(op);
  int bits = numerics::accumulatorBits(first.getMantissa(), first.getRange(),
                                       second.getMantissa(), second.getRange(),
                                       static_cast<uint64_t>(length));
  if (bits > 63)
    return op->emitError("expected at most 63 accumulator bits, found ")
           << bits << " for " << length << " products of " << first << " and "
           << second;
  return success();
}

/// plan_c3: weights are encoded constants that only products read as their
/// second factor.
static LogicalResult verifyWeights(EncodeOp op) {
  if (!op.getWeights())
    return success();
  if (!op.getInput().getDefiningOp<nn::ConstantOp>())
    return op.emitError("expected weights encoded from a constant");
  for (OpOperand &use : op->getUses())
    if (!isa<ConvOp, MatmulOp>(use.getOwner()) || use.getOperandNumber() != 1)
      return op.emitError("expected weights read as second factor only")
                 .attachNote(use.getOwner()->getLoc())
             << "read here";
  return success();
}

/// True if moving `operand` as `op` does leaves its blocks whole.
static bool keepsBlocks(Operation *op, OpOperand &operand, BlockType type,
                        BlockType resultType) {
  ArrayRef<int64_t> shape = shapeOf(operand.get());
  if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
    SmallVector<int64_t> extents;
    for (Value input : concat.getInputs())
      extents.push_back(shapeOf(input)[concat.getAxis()]);
    return type == resultType &&
           concatKeepsBlocks(type, concat.getAxis(), extents);
  }
  if (auto interleave = dyn_cast<nn::InterleaveOp>(op))
    return type == resultType && !type.isWholeTensor() &&
           interleave.getFactors()[type.getAxis()] == 1;
  if (auto slice = dyn_cast<nn::SliceOp>(op))
    return type == resultType &&
           sliceKeepsBlocks(type, shape, slice.getStarts(), slice.getSteps(),
                            shapeOf(slice.getY()));
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return mapBlocksThroughReshape(shapeOf(reshape.getY()),
                                   resultType.getAxis(), shape,
                                   type.getBlock()) == type.getAxis();
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return transpose.getPerm()[resultType.getAxis()] == type.getAxis();
  return false;
}

/// plan_c4: movement changes neither storage nor blocks; moved floats may be
/// stored encoded.
static LogicalResult verifyMovement(Operation *op) {
  if (!isMovement(op))
    return success();
  Type result = op->getResult(0).getType();
  BlockType resultType = getBlockType(result);
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    BlockType block = getBlockType(type);
    if (!block && resultType)
      continue;
    bool same = block && resultType ? block.sameFormat(resultType)
                                    : getElementTypeOrSelf(type) ==
                                          getElementTypeOrSelf(result);
    if (!same)
      return op->emitError("expected movement to keep the storage, found ")
             << type << " to " << result;
    if (block && !keepsBlocks(op, operand, block, resultType))
      return op->emitError("expected movement to keep blocks whole, found ")
             << type << " to " << result;
  }
  return success();
}

/// plan_c5: the block axis is a dimension of the tensor.
static LogicalResult verifyAxes(Operation *op) {
  for (Value result : op->getResults()) {
    BlockType block = getBlockType(result.getType());
    int64_t rank =
        block ? cast<RankedTensorType>(result.getType()).getRank() : 0;
    if (block && block.getAxis() >= rank)
      return op->emitError("expected a block axis below the rank ")
             << rank << ", found " << block.getAxis();
  }
  return success();
}

/// plan_c6: only encode events have a scale policy.
static LogicalResult verifyScale(Operation *op) {
  if (!op->hasAttr(records::kScaleAttr))
    return success();
  const numerics::ScalePolicy policy = getScalePolicy(op);
  if (op->getNumResults() != 1 || !isEncoded(op->getResult(0).getType()))
    return op->emitError("expected a scale policy on what encodes");
  // What wraps may become negative.
  if (getBlockType(op->getResult(0).getType()).getIsUnsigned() &&
      policy.isStored() && policy.overflow == numerics::StoreOverflow::Wrap)
    return op->emitError("overflow=wrap needs mantissas with signs, leave out "
                         "unsigned=auto");
  return success();
}

static LogicalResult verifyOperation(Operation *op) {
  bool valid = succeeded(verifyProduct(op));
  valid &= succeeded(verifyScale(op));
  if (auto encode = dyn_cast<EncodeOp>(op))
    valid &= succeeded(verifyWeights(encode));
  // Movement is judged by axes, so these come first.
  if (failed(verifyAxes(op)))
    return failure();
  return success(valid && succeeded(verifyMovement(op)));
}

namespace {
struct VerifyPlan : impl::VerifyPlanBase<VerifyPlan> {
protected:
  void runOnOperation() override {
    bool valid = true;
    auto functions = getOperation().getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions)) {
      getOperation().emitError("expected one function 'main', found ")
          << std::distance(functions.begin(), functions.end()) << " functions";
      return signalPassFailure();
    }
    for (func::FuncOp function : functions) {
      valid &= succeeded(verifyInterface(function));
      function.walk([&](Operation *op) {
        if (!isa<func::FuncOp>(op))
          valid &= succeeded(verifyOperation(op));
      });
    }
    if (!valid)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

} // namespace ashlar::bfp
