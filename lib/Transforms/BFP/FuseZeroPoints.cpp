// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of two run-time factors of integers with zero points. Input:
// canonical nn, differences of 16 bits before products. Output: products of the
// bytes, with the zero points as attributes; differences that nothing else
// reads are gone.

#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cstring>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEZEROPOINTS
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {

/// A factor as bytes and what is subtracted from each.
struct Centred {
  Value bytes;
  int64_t zero = 0;
  SmallVector<Location, 2> locations; ///< of the operations it replaces
  /// What moves the differences before the product, the last one first.
  SmallVector<Operation *, 2> moves;
};

bool isByte(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  return type && type.getWidth() == 8;
}

/// The constant of one i16 that `value` is.
std::optional<int64_t> scalarOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || !getElementTypeOrSelf(value).isSignlessInteger(16))
    return std::nullopt;
  nn::ElementStorage storage;
  auto raw = nn::rawElements(constant.getValue(), storage);
  int16_t number = 0;
  if (!raw || raw->size() != sizeof(number))
    return std::nullopt;
  std::memcpy(&number, raw->data(), sizeof(number));
  return number;
}

/// `factor` as bytes that are known at run time only, if it is of that form.
std::optional<Centred> centredBytes(Value factor) {
  if (isByte(factor) && !factor.getDefiningOp<nn::ConstantOp>())
    return Centred{factor, 0, {}, {}};
  SmallVector<Operation *, 2> moves;
  while (Operation *move = factor.getDefiningOp()) {
    if (!isa<nn::TransposeOp, nn::ReshapeOp>(move) || !factor.hasOneUse())
      break;
    moves.push_back(move);
    factor = move->getOperand(0);
  }
  auto sub = factor.getDefiningOp<nn::SubOp>();
  auto cast = sub ? sub->getOperand(0).getDefiningOp<nn::CastOp>() : nullptr;
  if (!cast || cast.getY().getType() != factor.getType() ||
      !getElementTypeOrSelf(factor).isSignlessInteger(16) ||
      !isByte(cast.getX()))
    return std::nullopt;
  std::optional<int64_t> zero = scalarOf(sub->getOperand(1));
  auto type = mlir::cast<IntegerType>(getElementTypeOrSelf(cast.getX()));
  int64_t low = type.isUnsigned() ? 0 : -128;
  if (!zero || *zero < low || *zero > low + 255)
    return std::nullopt;
  return Centred{
      cast.getX(), *zero, {sub.getLoc(), cast.getLoc()}, std::move(moves)};
}

/// The bytes, moved as their differences were.
Value movedBytes(OpBuilder &builder, const Centred &centred) {
  Value bytes = centred.bytes;
  for (Operation *move : llvm::reverse(centred.moves)) {
    Operation *copy = builder.clone(*move);
    copy->setOperand(0, bytes);
    auto type = mlir::cast<RankedTensorType>(move->getResult(0).getType());
    copy->getResult(0).setType(type.clone(getElementTypeOrSelf(bytes)));
    bytes = copy->getResult(0);
  }
  return bytes;
}

/// Erases what nothing reads any more: a difference, its cast and its moves.
void eraseUnread(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->use_empty() ||
        !isa<nn::SubOp, nn::CastOp, nn::TransposeOp, nn::ReshapeOp>(op))
      return;
    value = op->getOperand(0);
    op->erase();
  }
}

bool rewrite(nn::MatMulOp matmul) {
  Value left = matmul.getA(), right = matmul.getB();
  std::optional<Centred> a = centredBytes(left), b = centredBytes(right);
  if (!a || !b || (isByte(left) && isByte(right)) ||
      !getElementTypeOrSelf(matmul.getY()).isSignlessInteger(32))
    return false;
  OpBuilder builder(matmul);
  SmallVector<Location> parts{matmul.getLoc()};
  parts.append(a->locations);
  parts.append(b->locations);
  Value x = movedBytes(builder, *a), w = movedBytes(builder, *b);
  auto product = IntegerMatmulOp::create(
      builder, FusedLoc::get(matmul.getContext(), parts),
      matmul.getY().getType(), x, w, builder.getI64IntegerAttr(a->zero),
      builder.getI64IntegerAttr(b->zero));
  records::copyRecords(matmul, product);
  matmul.getY().replaceAllUsesWith(product.getOutput());
  matmul->erase();
  eraseUnread(left);
  if (right != left)
    eraseUnread(right);
  return true;
}

struct FuseZeroPoints : impl::FuseZeroPointsBase<FuseZeroPoints> {
protected:
  void runOnOperation() override {
    SmallVector<nn::MatMulOp> products;
    getOperation().walk([&](nn::MatMulOp op) { products.push_back(op); });
    for (nn::MatMulOp product : products)
      numFused += rewrite(product);
  }
};

} // namespace
} // namespace ashlar::bfp
