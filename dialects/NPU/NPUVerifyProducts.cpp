// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the products of the npu dialect, on the array and in the sparse
// cluster; NPUVerify.cpp has those of the other operations.

#include "dialects/BFP/BFPTypes.h"
#include "dialects/BFP/IntegerEpilogue.h"
#include "dialects/NPU/NPUKept.h"
#include "dialects/NPU/NPUVerify.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {
namespace {

/// Both operands of an exact product are encoded along the contraction, or both
/// are integers of 8 or 16 bits.
LogicalResult checkFactors(Operation *op, Value x, int64_t xAxis, Value w,
                           int64_t wAxis) {
  auto isSmallInteger = [](Value value) {
    auto type = dyn_cast<IntegerType>(tensorTypeOf(value).getElementType());
    return type && (type.getWidth() == 8 || type.getWidth() == 16);
  };
  if (isSmallInteger(x) && isSmallInteger(w))
    return success();
  for (auto [name, value, axis] :
       {std::tuple{"x", x, xAxis}, std::tuple{"w", w, wAxis}}) {
    Type element = tensorTypeOf(value).getElementType();
    auto block = dyn_cast<bfp::BlockType>(element);
    if (!block)
      return op->emitOpError()
             << "operand '" << name
             << "' must have a !bfp.block element type, found " << element;
    if (block.getAxis() != axis)
      return op->emitOpError()
             << "operand '" << name << "' must have blocks along axis " << axis
             << ", found " << block.getAxis();
  }
  return success();
}

/// Records per output channel, residual and function of a product.
template <typename Op>
LogicalResult checkEpilogue(Op op, int64_t channels) {
  for (auto [name, value] : {std::pair{"bias", Value(op.getBias())},
                             std::pair{"scale", Value(op.getScale())},
                             std::pair{"slope", Value(op.getSlope())}}) {
    if (!value)
      continue;
    Type element = tensorTypeOf(value).getElementType();
    if (shapeOf(value) != ArrayRef<int64_t>(channels) ||
        (!element.isF32() && !element.isSignlessInteger(32)))
      return op.emitOpError()
             << "expects " << name << " as " << channels
             << " elements of f32 or i32, found " << value.getType();
  }
  if (Value residual = op.getResidual();
      residual && shapeOf(residual) != shapeOf(op.getY()))
    return op.emitOpError()
           << "expects a residual of the result's shape, found "
           << residual.getType();
  if (failed(checkFunction(op, op.getFunction())))
    return failure();
  if (op.getSlope() &&
      (op.getFunction() != "leakyRelu" ||
       !tensorTypeOf(op.getSlope()).getElementType().isF32() ||
       !bfp::isEncoded(op.getX().getType()))) // npu_pe_conv_c10
    return op.emitOpError()
           << "expects leakyRelu of encoded factors with slopes of f32, found '"
           << op.getFunction() << "' of " << op.getX().getType()
           << " with slopes of " << op.getSlope().getType();
  if (!op.getIntegerEpilogue())
    return success();
  return bfp::verifyIntegerEpilogue(op,
                                    bfp::Epilogue::of(op)); // npu_pe_conv_c7
}

/// A zero point of `value`, which a drain or the array applies to bytes.
LogicalResult checkZero(Operation *op, StringRef name, Value value,
                        std::optional<int64_t> zero) {
  auto type = dyn_cast<IntegerType>(tensorTypeOf(value).getElementType());
  const bool isByte = type && type.getWidth() == 8;
  // Bytes in memory may stand for constants of 16 bits.
  const bool mayStore = name == "w" && type && type.getWidth() == 16;
  if (!zero)
    return isByte ? op->emitOpError()
                        << "expects '" << name << "_zero' in 'quant' for "
                        << value.getType()
                  : LogicalResult(success());
  if (!isByte && !mayStore)
    return op->emitOpError() << "has a '" << name << "_zero' in 'quant', but '"
                             << name << "' is " << value.getType();
  const int64_t low = isByte && !type.isUnsigned() ? -128 : 0;
  if (*zero < low || *zero > low + 255)
    return op->emitOpError() << "expects '" << name << "_zero' in [" << low
                             << ", " << low + 255 << "], found " << *zero;
  return success();
}

/// npu_pe_conv_c6: integers have zero points, nothing else has.
template <typename Op>
LogicalResult checkQuant(Op op) {
  auto quant = op.getQuantAttr();
  if (bfp::isEncoded(op.getX().getType())) {
    if (!quant)
      return success();
    return op.emitOpError()
           << "has 'quant' " << quant << ", but its factors are encoded";
  }
  if (!quant)
    return op.emitOpError()
           << "expects 'quant', the zero points of " << op.getX().getType()
           << " and " << op.getW().getType();
  if (failed(checkZero(op, "x", op.getX(), quant.getXZero())) ||
      failed(checkZero(op, "w", op.getW(), quant.getWZero())) ||
      failed(checkZero(op, "y", op.getY(), quant.getYZero())))
    return failure();
  if (!quant.getYZero())
    return success();
  const bool drains = op.getFunction() == "copy" || op.getFunction() == "relu";
  if (op.getScale() && !op.getResidual() && drains)
    return success();
  return op.emitOpError() << "expects a scale, no residual and copy or relu to "
                             "make "
                          << op.getY().getType();
}

/// npu_tcu_conv_c9: what ACT can compare.
bool reducesOnCluster(TcuConvOp conv, PoolingAttr pooling) {
  auto compares = [&](size_t i) {
    return pooling.getKernel()[i] <= 2 * pooling.getStrides()[i] &&
           pooling.getDilations()[i] == 1;
  };
  return pooling.getKind() == "max" && compares(0) && compares(1) &&
         !conv.getScatterAttr() && !conv.getKeptAttr();
}

/// npu_pe_conv_c11 and npu_tcu_conv_c9: `map` is what the convolution makes.
template <typename Op>
LogicalResult checkPooling(Op conv, PoolingAttr pooling, nn::ShapeOr map) {
  Operation *op = conv;
  if (!map)
    return op->emitOpError() << llvm::toString(map.takeError());
  ArrayRef<int64_t> found = pooling.getMap().getShape();
  if (found != ArrayRef<int64_t>(*map))
    return op->emitOpError()
           << "pools a map of shape " << nn::shapeToString(found)
           << ", expected " << nn::shapeToString(*map);
  bool reduces = pooling.getKernel().size() == 2 && map->size() == 4 &&
                 pooling.getStrides().size() == 2 &&
                 pooling.getDilations().size() == 2 && !conv.getResidual() &&
                 !conv.getIntegerEpilogue() && !hasStationaryActivations(op) &&
                 (pooling.getKind() == "max" || pooling.getKind() == "avg");
  if constexpr (std::is_same_v<Op, PeConvOp>)
    reduces &= conv.getPackedRows() == 1;
  else
    reduces = reduces && reducesOnCluster(conv, pooling);
  if (!reduces)
    return op->emitOpError()
           << "pools in its drain by " << pooling
           << ", expected a maximum or average over two dimensions of a "
              "convolution with stationary weights, without residual, integer "
              "epilogue or packed rows; on the cluster a maximum, of each "
              "position in two windows of an axis at most, in tile mode";
  return checkWindows(op, found, shapeOf(op->getResult(0)),
                      {pooling.getKernel(), pooling.getStrides(),
                       pooling.getPads(), pooling.getDilations()});
}

/// A convolution of 1 to `limit` spatial dimensions.
template <typename Op>
LogicalResult checkConv(Op op, int64_t limit) {
  int64_t spatial = tensorTypeOf(op.getX()).getRank() - 2;
  if (failed(checkFull(op)))
    return failure();
  if (spatial < 1 || spatial > limit)
    return op.emitOpError()
           << "expects spatial rank 1 to " << limit << ", found " << spatial;
  if (static_cast<int64_t>(op.getStrides().size()) != spatial ||
      static_cast<int64_t>(op.getPads().size()) != 2 * spatial ||
      static_cast<int64_t>(op.getDilations().size()) != spatial)
    return op.emitOpError()
           << "expects " << spatial << " strides and dilations and "
           << 2 * spatial << " pads";
  ArrayRef<int64_t> w = shapeOf(op.getW());
  nn::ShapeOr map =
      nn::inferConv(shapeOf(op.getX()), w, op.getStrides(), op.getPads(),
                    op.getDilations(), op.getGroup());
  const PoolingAttr pooling = poolingOf(op);
  if (failed(pooling ? checkPooling(op, pooling, std::move(map))
                     : checkShape(op, std::move(map))) ||
      failed(checkFactors(op, op.getX(), 1, op.getW(), 1)))
    return failure();
  return checkEpilogue(op, w[0]);
}

} // namespace

LogicalResult PeConvOp::verify() {
  if (failed(checkConv(*this, 3))) // npu_pe_conv_c1, c3 to c5
    return failure();
  if (failed(checkPackedRows(*this))) // npu_pe_conv_c8
    return failure();
  if (failed(checkVectorShare(*this))) // npu_pe_conv_c12
    return failure();
  return checkQuant(*this); // npu_pe_conv_c6
}

/// npu_tcu_conv_c1 and c4.
static LogicalResult checkUnits(TcuConvOp op) {
  if (bfp::isEncoded(op.getX().getType()) &&
      bfp::isEncoded(op.getW().getType()))
    return success();
  auto x = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getX()));
  auto w = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getW()));
  if (!x || x.getWidth() != 8 || !w || w.isUnsigned() ||
      (w.getWidth() != 8 && w.getWidth() != 16))
    return op.emitOpError()
           << "expects encoded factors or integers of 8 bits "
              "with signed weights, found "
           << op.getX().getType() << " and " << op.getW().getType();
  if (op.getScatterAttr())
    return op.emitOpError() << "has integers in scatter mode";
  QuantAttr quant = op.getQuantAttr();
  if (quant &&
      (quant.getXZero().value_or(0) != 0 || quant.getWZero().value_or(0) != 0))
    return op.emitOpError()
           << "expects factors without zero points, found " << quant;
  return success();
}

LogicalResult TcuConvOp::verify() { // npu_tcu_conv_c1 to c8
  if (failed(verifyKept(*this)))
    return failure();
  if (getScatterAttr() && getIssueZeros())
    return emitOpError() << "issues zeros in scatter mode, which has none";
  if (getBiasInSums() &&
      (!getBias() || !isa<IntegerType>(getElementTypeOrSelf(getX()))))
    return emitOpError() << "starts sums from a bias that it does not have, or "
                            "that is not an integer";
  if (!llvm::is_contained({"auto", "off", "always"}, getBinding()))
    return emitOpError() << "has binding '" << getBinding()
                         << "', expected auto, off or always";
  if (failed(checkUnits(*this)) || failed(checkConv(*this, 3)))
    return failure();
  if (getStrides().size() > 2 && // npu_tcu_conv_c7
      (getGroup() != 1 || getScatterAttr()))
    return emitOpError() << "has " << getGroup()
                         << " groups in three spatial dimensions, expected 1 "
                            "and no scatter";
  return checkQuant(*this);
}

LogicalResult PeMatmulOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), w = shapeOf(getW());
  if (failed(checkFull(*this)))
    return failure();
  if (failed(checkShape(*this, nn::inferMatMul(x, w)))) // npu_pe_matmul_c2
    return failure();
  int64_t xRank = x.size(), wRank = w.size();
  if (failed(checkFactors(*this, getX(), xRank - 1, getW(), wRank - 2)))
    return failure();                           // npu_pe_matmul_c1
  if (failed(checkEpilogue(*this, w.back())) || // npu_pe_matmul_c3
      failed(checkVectorShare(*this)))
    return failure();
  return checkQuant(*this);
}

} // namespace ashlar::npu
