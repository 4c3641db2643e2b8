// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Absorbs what follows a product into its epilogue. Input: bfp.conv and
// bfp.matmul on floats. Output: the same with scale, bias, residual, function.
// Assumption: one block per function, so that program order decides which of
// two products is the later.

#include "ScalarConstant.h"
#include "Shapes.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEEPILOGUES
#include "ashlar/Transforms/BFP/Passes.h.inc"

/// The only use of the product's result by an op of the same block whose result
/// has the same binary32 type; null otherwise.
static OpOperand *getFusableUse(Operation *product) {
  Value result = product->getResult(0);
  if (!result.hasOneUse() || !isF32(result))
    return nullptr;
  OpOperand *use = &*result.use_begin();
  Operation *user = use->getOwner();
  if (user->getNumResults() != 1 || user->getBlock() != product->getBlock() ||
      user->getResult(0).getType() != result.getType())
    return nullptr;
  return use;
}

static bool isProduct(Operation *op) {
  return isa_and_nonnull<ConvOp, MatmulOp>(op);
}

/// The operand of a two-operand op that `use` is not.
static Value getOther(OpOperand *use) {
  return use->getOwner()->getOperand(1 - use->getOperandNumber());
}

/// Bytes of `channels` binary32 elements out of a constant that has one per
/// channel, or one for all.
static std::optional<std::string> readChannels(nn::ConstantOp constant,
                                               int64_t channels) {
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> raw =
      nn::rawElements(constant.getValue(), storage);
  if (!raw)
    return std::nullopt;
  std::string bytes(raw->begin(), raw->end());
  if (bytes.size() == sizeof(float)) {
    std::string one = bytes;
    bytes.clear();
    for (int64_t channel = 0; channel < channels; ++channel)
      bytes += one;
  }
  if (bytes.size() != channels * sizeof(float))
    return std::nullopt;
  return bytes;
}

/// `value` as a [channels] binary32 constant if it is a constant that varies
/// along the channel axis of `result` alone; null otherwise.
static Value asChannels(OpBuilder &builder, Value value,
                        RankedTensorType result, int64_t channelAxis) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || !isF32(value))
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  int64_t channels = result.getDimSize(channelAxis);
  int64_t offset = result.getRank() - type.getRank();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1 && dim + offset != channelAxis)
      return {};
  auto wanted = RankedTensorType::get({channels}, builder.getF32Type());
  if (type == wanted)
    return value;
  std::optional<std::string> bytes = readChannels(constant, channels);
  if (!bytes)
    return {};
  ElementsAttr elements = nn::makeElements(
      wanted, std::move(*bytes), analysis::getNodeName(constant.getLoc()));
  return nn::ConstantOp::create(builder, constant.getLoc(), wanted, elements);
}

/// The dimension of a product's result that output channels run along.
static int64_t getChannelAxis(Operation *product) {
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  return isa<ConvOp>(product) ? 1 : type.getRank() - 1;
}

namespace {
struct FuseEpilogues : impl::FuseEpiloguesBase<FuseEpilogues> {
protected:
  void runOnOperation() override;

private:
  /// Moves `op` to `user`, which it absorbs: every operand it may have gained
  /// is defined there, and `user` was its only use.
  template <typename OpTy>
  void absorb(OpTy op, Operation *user) {
    op->moveBefore(user);
    op->setLoc(FusedLoc::get(op.getContext(), {op.getLoc(), user->getLoc()}));
    user->getResult(0).replaceAllUsesWith(op.getOutput());
    SmallVector<Value> operands(user->getOperands());
    user->erase();
    // A scale or bias that got a new shape leaves its old constant behind.
    for (Value operand : operands)
      if (operand.getDefiningOp<nn::ConstantOp>() && operand.use_empty())
        operand.getDefiningOp()->erase();
    ++numFused;
  }

  template <typename OpTy>
  bool fuseScale(OpTy op, OpOperand *use);
  template <typename OpTy>
  bool fuseBias(OpTy op, OpOperand *use);
  template <typename OpTy>
  bool fuseResidual(OpTy op, OpOperand *use);
  template <typename OpTy>
  bool fuseFunction(OpTy op, OpOperand *use);
  template <typename OpTy>
  bool fuseSlope(OpTy op, OpOperand *use);

  template <typename OpTy>
  void fuseChannels(OpTy op) {
    for (OpOperand *use = getFusableUse(op); use; use = getFusableUse(op))
      if (!fuseScale(op, use) && !fuseBias(op, use))
        return;
  }
  template <typename OpTy>
  void fuseTail(OpTy op) {
    for (OpOperand *use = getFusableUse(op); use; use = getFusableUse(op))
      if (!fuseResidual(op, use) && !fuseFunction(op, use) &&
          !fuseSlope(op, use))
        return;
  }
};
} // namespace

template <typename OpTy>
static bool hasEpilogueFrom(OpTy op, bool bias) {
  return (bias && op.getBias()) || op.getResidual() ||
         op.getFunction() != "copy";
}

template <typename OpTy>
bool FuseEpilogues::fuseScale(OpTy op, OpOperand *use) {
  if (!isa<nn::MulOp>(use->getOwner()) || op.getScale() ||
      hasEpilogueFrom(op, /*bias=*/true))
    return false;
  OpBuilder builder(use->getOwner());
  Value scale = asChannels(builder, getOther(use),
                           cast<RankedTensorType>(op.getOutput().getType()),
                           getChannelAxis(op));
  if (!scale)
    return false;
  op.getScaleMutable().assign(scale);
  absorb(op, use->getOwner());
  return true;
}

template <typename OpTy>
bool FuseEpilogues::fuseBias(OpTy op, OpOperand *use) {
  if (!isa<nn::AddOp>(use->getOwner()) || hasEpilogueFrom(op, /*bias=*/true))
    return false;
  OpBuilder builder(use->getOwner());
  Value bias = asChannels(builder, getOther(use),
                          cast<RankedTensorType>(op.getOutput().getType()),
                          getChannelAxis(op));
  if (!bias)
    return false;
  op.getBiasMutable().assign(bias);
  absorb(op, use->getOwner());
  return true;
}

/// True if `value` is a product that could take `use`'s addition itself.
static bool canTakeResidual(Value value, Operation *addition) {
  Operation *product = value.getDefiningOp();
  if (!isProduct(product))
    return false;
  OpOperand *use = getFusableUse(product);
  if (!use || use->getOwner() != addition)
    return false;
  if (auto conv = dyn_cast<ConvOp>(product))
    return !hasEpilogueFrom(conv, /*bias=*/false);
  return !hasEpilogueFrom(cast<MatmulOp>(product), /*bias=*/false);
}

template <typename OpTy>
bool FuseEpilogues::fuseResidual(OpTy op, OpOperand *use) {
  Operation *user = use->getOwner();
  if (!isa<nn::AddOp>(user) || hasEpilogueFrom(op, /*bias=*/false))
    return false;
  Value other = getOther(use);
  if (other.getType() != op.getOutput().getType())
    return false;
  // The later product waits for the earlier one anyway.
  if (canTakeResidual(other, user) &&
      op->isBeforeInBlock(other.getDefiningOp()))
    return false;
  op.getResidualMutable().assign(other);
  absorb(op, user);
  return true;
}

template <typename OpTy>
bool FuseEpilogues::fuseFunction(OpTy op, OpOperand *use) {
  auto unary = dyn_cast<nn::UnaryOp>(use->getOwner());
  if (!unary || op.getFunction() != "copy")
    return false;
  op.setFunction(nn::stringifyUnaryFunction(unary.getFunction()));
  op.setAlphaAttr(unary.getAlphaAttr());
  op.setBetaAttr(unary.getBetaAttr());
  absorb(op, unary);
  return true;
}

/// A prelu is a leakyRelu whose parameter differs by channel; one slope for all
/// channels is the parameter itself.
template <typename OpTy>
bool FuseEpilogues::fuseSlope(OpTy op, OpOperand *use) {
  auto prelu = dyn_cast<nn::PReluOp>(use->getOwner());
  if (!prelu || use->get() != prelu.getA() || op.getFunction() != "copy")
    return false;
  OpBuilder builder(prelu);
  Value slope = asChannels(builder, prelu.getB(),
                           cast<RankedTensorType>(op.getOutput().getType()),
                           getChannelAxis(op));
  if (!slope)
    return false;
  op.setFunction("leakyRelu");
  const bool one =
      cast<RankedTensorType>(prelu.getB().getType()).getNumElements() == 1;
  if (std::optional<float> all = scalarConstant(prelu.getB()); one && all)
    op.setAlpha(APFloat(*all));
  else
    op.getSlopeMutable().assign(slope);
  absorb(op, prelu);
  return true;
}

void FuseEpilogues::runOnOperation() {
  // Collected first: absorbing erases ops that a walk would step on. Products
  // themselves are never erased.
  SmallVector<Operation *> products;
  getOperation().walk([&](Operation *op) {
    if (isProduct(op))
      products.push_back(op);
  });
  // Scales and biases of all products come first, so that the choice of who
  // takes a residual sees how long each chain is.
  for (Operation *op : products) {
    if (auto conv = dyn_cast<ConvOp>(op))
      fuseChannels(conv);
    else
      fuseChannels(cast<MatmulOp>(op));
  }
  for (Operation *op : products) {
    if (auto conv = dyn_cast<ConvOp>(op))
      fuseTail(conv);
    else
      fuseTail(cast<MatmulOp>(op));
  }
}

} // namespace ashlar::bfp
