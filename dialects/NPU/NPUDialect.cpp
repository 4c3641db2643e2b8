// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration and verifiers of the npu dialect.

#include "dialects/NPU/NPUDialect.h"

#include "dialects/BFP/BFPTypes.h"
#include "dialects/NPU/Piece.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/NPU/NPUDialect.cpp.inc"
#include "dialects/NPU/NPUInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/NPU/NPUOps.cpp.inc"

using namespace mlir;

namespace ashlar::npu {

void NPUDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/NPU/NPUOps.cpp.inc"
      >();
}

/// Both operands of an exact product are encoded, or both are integers of 8 or
/// 16 bits.
static LogicalResult verifyEncodedOperands(Operation *op, Value x, Value w) {
  auto isSmallInteger = [](Value value) {
    auto type = dyn_cast<IntegerType>(
        cast<RankedTensorType>(value.getType()).getElementType());
    return type && (type.getWidth() == 8 || type.getWidth() == 16);
  };
  if (isSmallInteger(x) && isSmallInteger(w))
    return success();
  for (auto [name, value] : {std::pair{"x", x}, std::pair{"w", w}}) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    if (!isa<bfp::BlockType>(element))
      return op->emitOpError()
             << "operand '" << name
             << "' must have a !bfp.block element type, found " << element;
  }
  return success();
}

/// Ranks and list lengths of a convolution of 1 to `limit` spatial dimensions.
template <typename Op>
static LogicalResult verifyConv(Op op, int64_t limit) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  int64_t spatial = rank - 2;
  if (spatial < 1 || spatial > limit)
    return op.emitOpError()
           << "expects spatial rank 1 to " << limit << ", found " << spatial;
  if (static_cast<int64_t>(op.getStrides().size()) != spatial ||
      static_cast<int64_t>(op.getPads().size()) != 2 * spatial ||
      static_cast<int64_t>(op.getDilations().size()) != spatial)
    return op.emitOpError()
           << "expects " << spatial << " strides and dilations and "
           << 2 * spatial << " pads";
  return verifyEncodedOperands(op, op.getX(), op.getW());
}

LogicalResult PeConvOp::verify() {
  return verifyConv(*this, 3); // npu_pe_conv_c1
}

LogicalResult TcuConvOp::verify() {
  return verifyConv(*this, 2); // npu_tcu_conv_c1
}

LogicalResult PeMatmulOp::verify() {
  return verifyEncodedOperands(*this, getX(), getW()); // npu_pe_matmul_c1
}

LogicalResult VecMapOp::verify() {
  if (getInputs().empty() || getInputs().size() > 2)
    return emitOpError() << "expects 1 or 2 inputs, found "
                         << getInputs().size();
  return success();
}

LogicalResult PeTransposeOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType()).getElementType();
  auto to = cast<RankedTensorType>(getY().getType()).getElementType();
  if (from != to || isa<bfp::BlockType>(from)) // npu_pe_transpose_c1
    return emitOpError() << "expects one plain element type, found " << from
                         << " and " << to;
  FailureOr<Piece> piece = Piece::fromArray(getPiece()); // npu_pe_transpose_c2
  if (failed(piece) || piece->operand != 0)
    return emitOpError() << "has a malformed copy piece " << getPieceAttr();
  return success();
}

LogicalResult VecGatherOp::verify() { // npu_vec_gather_c1
  auto type = cast<RankedTensorType>(getX().getType());
  if (isa<bfp::BlockType>(type.getElementType()))
    return emitOpError() << "gathers from an encoded operand";
  if (type.getRank() < 2 || getAxis() >= static_cast<uint64_t>(type.getRank()))
    return emitOpError() << "has axis " << getAxis()
                         << " of an operand of rank " << type.getRank()
                         << ", expected another axis beside it";
  return success();
}

LogicalResult DmaMoveOp::verify() {
  int64_t resultRank = cast<RankedTensorType>(getY().getType()).getRank();
  for (Attribute attr : getPieces()) {
    FailureOr<Piece> piece =
        Piece::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef());
    if (failed(piece))
      return emitOpError() << "has a malformed copy piece " << attr;
    if (piece->operand >= static_cast<int64_t>(getInputs().size()))
      return emitOpError() << "piece names operand " << piece->operand
                           << ", only " << getInputs().size() << " exist";
    int64_t sourceRank =
        cast<RankedTensorType>(getInputs()[piece->operand].getType()).getRank();
    if (static_cast<int64_t>(piece->sourceStart.size()) != sourceRank ||
        static_cast<int64_t>(piece->resultStart.size()) != resultRank)
      return emitOpError() << "piece start lists must have ranks " << sourceRank
                           << " and " << resultRank;
    for (const PieceDim &dim : piece->dims)
      if (dim.sourceAxis < -1 || dim.sourceAxis >= sourceRank ||
          dim.resultAxis < 0 || dim.resultAxis >= resultRank)
        return emitOpError() << "piece moves axis " << dim.sourceAxis << " to "
                             << dim.resultAxis << ", the ranks are "
                             << sourceRank << " and " << resultRank;
  }
  return success();
}

} // namespace ashlar::npu
