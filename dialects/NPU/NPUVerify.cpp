// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the npu operations; comments carry the constraint labels of
// NPUOps.td. Shapes are checked by the rules of nn: what these verifiers accept
// planning and code generation can handle.

#include "dialects/NPU/NPUVerify.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/CheckedMath.h"
#include "dialects/BFP/BFPTypes.h"
#include "dialects/BFP/IntegerEpilogue.h"
#include "dialects/BFP/Requantise.h"
#include "dialects/NN/NNShapes.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/NPUKept.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {
namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

/// The result has the inferred shape.
LogicalResult checkShape(Operation *op, nn::ShapeOr expected) {
  if (!expected)
    return op->emitOpError() << llvm::toString(expected.takeError());
  ArrayRef<int64_t> found = shapeOf(op->getResult(0));
  if (found == ArrayRef<int64_t>(*expected))
    return success();
  return op->emitOpError() << "result has shape " << nn::shapeToString(found)
                           << ", expected " << nn::shapeToString(*expected);
}

/// Both operands of an exact product are encoded along the contraction, or both
/// are integers of 8 or 16 bits.
LogicalResult checkFactors(Operation *op, Value x, int64_t xAxis, Value w,
                           int64_t wAxis) {
  auto isSmallInteger = [](Value value) {
    auto type = dyn_cast<IntegerType>(typeOf(value).getElementType());
    return type && (type.getWidth() == 8 || type.getWidth() == 16);
  };
  if (isSmallInteger(x) && isSmallInteger(w))
    return success();
  for (auto [name, value, axis] :
       {std::tuple{"x", x, xAxis}, std::tuple{"w", w, wAxis}}) {
    Type element = typeOf(value).getElementType();
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

LogicalResult checkFunction(Operation *op, StringRef name) {
  if (numerics::parseFunction(name))
    return success();
  return op->emitOpError() << "has the unknown function '" << name << "'";
}

/// Records per output channel, residual and function of a product.
template <typename Op>
LogicalResult checkEpilogue(Op op, int64_t channels) {
  for (auto [name, value] : {std::pair{"bias", Value(op.getBias())},
                             std::pair{"scale", Value(op.getScale())},
                             std::pair{"slope", Value(op.getSlope())}}) {
    if (!value)
      continue;
    Type element = typeOf(value).getElementType();
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
       !typeOf(op.getSlope()).getElementType().isF32() ||
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
  auto type = dyn_cast<IntegerType>(typeOf(value).getElementType());
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

/// Engines make no empty tensors and read none: constants and data movement do.
LogicalResult checkFull(Operation *op) {
  auto isEmpty = [](Value value) {
    return llvm::is_contained(shapeOf(value), 0);
  };
  for (Value operand : op->getOperands())
    if (isEmpty(operand))
      return op->emitOpError() << "reads the empty " << operand.getType();
  if (isEmpty(op->getResult(0)))
    return op->emitOpError()
           << "makes the empty " << op->getResult(0).getType();
  return success();
}

/// Shapes of a window reduction from `x` to `y` (npu_vec_pool_c2, c3).
LogicalResult checkWindows(Operation *op, ArrayRef<int64_t> x,
                           ArrayRef<int64_t> y, const nn::Window &window) {
  const size_t spatial = window.kernel.size();
  nn::ShapeOr least =
      nn::inferWindows(x.take_back(spatial), window, nn::Rounding::Floor);
  if (!least)
    return op->emitOpError() << llvm::toString(least.takeError());
  bool fits = x.drop_back(spatial) == y.drop_back(spatial);
  for (auto [found, floor] : llvm::zip(y.take_back(spatial), *least))
    fits &= found == floor || found == floor + 1;
  if (!fits)
    return op->emitOpError()
           << "result has shape " << nn::shapeToString(y)
           << ", expected windows of " << nn::shapeToString(*least);
  return success();
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
  int64_t spatial = typeOf(op.getX()).getRank() - 2;
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

/// Extents and indices of a copy (npu_dma_move_c2, npu_dma_move_c3).
LogicalResult checkPattern(Operation *op, const AccessPattern &pattern,
                           ArrayRef<int64_t> source, ArrayRef<int64_t> result) {
  int64_t sourceRank = source.size(), resultRank = result.size();
  if (static_cast<int64_t>(pattern.sourceStart.size()) != sourceRank ||
      static_cast<int64_t>(pattern.resultStart.size()) != resultRank)
    return op->emitOpError() << "pattern start lists must have ranks "
                             << sourceRank << " and " << resultRank;
  if (static_cast<int64_t>(pattern.dims.size()) > 2 * nn::kMostDims)
    return op->emitOpError()
           << "pattern has " << pattern.dims.size() << " loops, at most "
           << 2 * nn::kMostDims << " are possible";
  auto far = [](int64_t value) {
    return value > nn::kMostElements || value < -nn::kMostElements;
  };
  SmallVector<int64_t> last(pattern.resultStart);
  if (llvm::any_of(pattern.sourceStart, far) || llvm::any_of(last, far))
    return op->emitOpError()
           << "pattern starts beyond index " << nn::kMostElements;
  for (const PatternDim &dim : pattern.dims) {
    if (dim.sourceAxis < -1 || dim.sourceAxis >= sourceRank ||
        dim.resultAxis < 0 || dim.resultAxis >= resultRank)
      return op->emitOpError() << "pattern moves axis " << dim.sourceAxis
                               << " to " << dim.resultAxis << ", the ranks are "
                               << sourceRank << " and " << resultRank;
    auto reach = support::checkedMul(dim.extent - 1, dim.sourceStep);
    auto span = support::checkedMul(dim.extent - 1, dim.resultStep);
    if (dim.extent < 0 || dim.extent > nn::kMostElements || !reach || !span ||
        far(*reach) || far(*span) || far(dim.sourceStep) ||
        far(dim.resultStep) || (dim.extent > 1 && dim.resultStep < 1))
      return op->emitOpError() << "pattern has a loop of " << dim.extent
                               << " iterations with steps " << dim.sourceStep
                               << " and " << dim.resultStep
                               << ", expected steps of at least 1 in the "
                                  "result and indices below "
                               << nn::kMostElements;
    last[dim.resultAxis] += dim.extent > 0 ? *span : 0;
  }
  bool empty = llvm::any_of(pattern.dims,
                            [](const PatternDim &d) { return d.extent == 0; });
  for (int64_t axis = 0; !empty && axis < resultRank; ++axis)
    if (pattern.resultStart[axis] < 0 || last[axis] >= result[axis])
      return op->emitOpError()
             << "pattern writes indices " << pattern.resultStart[axis] << " to "
             << last[axis] << " of axis " << axis << ", which has "
             << result[axis];
  return success();
}

/// True if the pattern, which checkPattern() has accepted, reads indices of
/// \p source alone.
bool readsInside(const AccessPattern &pattern, ArrayRef<int64_t> source) {
  SmallVector<int64_t> least(pattern.sourceStart), most(least);
  for (const PatternDim &dim : pattern.dims)
    if (dim.sourceAxis >= 0 && dim.extent > 0) {
      const int64_t reach = (dim.extent - 1) * dim.sourceStep;
      least[dim.sourceAxis] += std::min<int64_t>(reach, 0);
      most[dim.sourceAxis] += std::max<int64_t>(reach, 0);
    }
  for (auto [low, high, extent] : llvm::zip(least, most, source))
    if (low < 0 || high >= extent)
      return false;
  return true;
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

LogicalResult VecMapOp::verify() {
  size_t count = getInputs().size();
  if (count == 0 || count > 2)
    return emitOpError() << "expects 1 or 2 inputs, found " << count;
  if (failed(checkFull(*this)))
    return failure();
  const bool blocks =
      count == 2 && numerics::parseBlockFunction(getOp()).has_value();
  const bool known = count == 1
                         ? numerics::parseFunction(getOp()).has_value()
                         : blocks || numerics::parseBinaryFunction(getOp());
  if (!known) // npu_vec_map_c1
    return emitOpError() << "has the unknown function '" << getOp() << "' of "
                         << count << " operands";
  for (Value input : getInputs()) // npu_vec_map_c2
    if (llvm::Error error =
            nn::checkBroadcastTo(shapeOf(input), shapeOf(getY())))
      return emitOpError() << llvm::toString(std::move(error));
  for (Value parameter : {getScale(), getBias()}) { // npu_vec_map_c3
    if (!parameter)
      continue;
    if (llvm::Error error =
            nn::checkBroadcastTo(shapeOf(parameter), shapeOf(getY())))
      return emitOpError() << llvm::toString(std::move(error));
    if (!getElementTypeOrSelf(parameter.getType()).isF32() ||
        llvm::count_if(shapeOf(parameter), [](int64_t n) { return n != 1; }) >
            1)
      return emitOpError() << "expects a scale and a bias of f32 that vary "
                              "along one axis, found "
                           << parameter.getType();
  }
  if (!blocks)
    return success();
  const bool encoded = llvm::all_of(
      getInputs(), [](Value input) { return bfp::isEncoded(input.getType()); });
  if (!encoded || !bfp::isEncoded(getY().getType()) || getScale() ||
      getBias()) // npu_vec_map_c4
    return emitOpError() << "expects encoded operands and result of '"
                         << getOp() << "', no scale and no bias";
  return success();
}

bool VecMapOp::hasParametersAlong(int64_t axis) {
  const auto rank = static_cast<int64_t>(shapeOf(getY()).size());
  for (Value parameter : {getScale(), getBias()}) {
    if (!parameter)
      continue;
    ArrayRef<int64_t> shape = shapeOf(parameter);
    const int64_t lead = rank - static_cast<int64_t>(shape.size());
    for (auto [i, extent] : llvm::enumerate(shape))
      if (extent != 1 && static_cast<int64_t>(i) + lead != axis)
        return false;
  }
  return true;
}

LogicalResult VecRequantiseOp::verify() { // npu_vec_requantise_c1
  if (failed(checkFull(*this)))
    return failure();
  auto steps = [](const APFloat &scale, uint64_t zero) {
    return bfp::QuantSteps{scale.convertToFloat(), static_cast<int64_t>(zero)};
  };
  return bfp::verifyRequantise(*this, {getOp(), getLimited(),
                                       steps(getAScale(), getAZero()),
                                       steps(getBScale(), getBZero()),
                                       steps(getStep(), getZeroPoint())});
}

LogicalResult VecPoolOp::verify() {
  if (failed(checkFull(*this)))
    return failure();
  if (getKind() != "max" && getKind() != "avg" &&
      getKind() != "sum") // npu_vec_pool_c1
    return emitOpError() << "has the unknown kind '" << getKind() << "'";
  ArrayRef<int64_t> x = shapeOf(getX()), y = shapeOf(getY());
  size_t spatial = getKernel().size();
  if (spatial < 1 || spatial > 3 || spatial > x.size() || y.size() != x.size())
    return emitOpError() << "has a window of " << spatial // npu_vec_pool_c2
                         << " axes over an operand of rank " << x.size();
  return checkWindows(*this, x, y, // npu_vec_pool_c2, npu_vec_pool_c3
                      {getKernel(), getStrides(), getPads(), getDilations()});
}

LogicalResult VecReduceOp::verify() {
  if (failed(checkFull(*this)))
    return failure();
  bool single = getKind() == "argmax" || getKind() == "argmin";
  if (!numerics::parseReduction(getKind()) && !single) // npu_vec_reduce_c1
    return emitOpError() << "has the unknown kind '" << getKind() << "'";
  if (single && getAxes().size() != 1)
    return emitOpError() << "expects one axis for " << getKind() << ", found "
                         << getAxes().size();
  // npu_vec_reduce_c2, npu_vec_reduce_c3
  bool keeps = shapeOf(getY()).size() == shapeOf(getX()).size();
  return checkShape(*this, nn::inferReduce(shapeOf(getX()), getAxes(), keeps));
}

LogicalResult VecSoftmaxOp::verify() {
  if (failed(checkFull(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  if (getAxis() >= x.size()) // npu_vec_softmax_c1
    return emitOpError() << "has axis " << getAxis()
                         << " of an operand of rank " << x.size();
  return checkShape(*this, nn::Shape(x)); // npu_vec_softmax_c2
}

LogicalResult PeTransposeOp::verify() {
  if (failed(checkFull(*this)))
    return failure();
  Type from = typeOf(getX()).getElementType();
  Type to = typeOf(getY()).getElementType();
  if (from != to || isa<bfp::BlockType>(from)) // npu_pe_transpose_c1
    return emitOpError() << "expects one plain element type, found " << from
                         << " and " << to;
  FailureOr<AccessPattern> pattern =
      AccessPattern::fromArray(getPattern()); // npu_pe_transpose_c2
  if (failed(pattern) || pattern->operand != 0)
    return emitOpError() << "has a malformed access pattern "
                         << getPatternAttr();
  if (failed(checkPattern(*this, *pattern, shapeOf(getX()), shapeOf(getY()))))
    return failure();
  if (!readsInside(*pattern, shapeOf(getX()))) // npu_pe_transpose_c4
    return emitOpError() << "pattern " << getPatternAttr()
                         << " reads beyond the operand, " << typeOf(getX());
  if (getSourceAxis() >= shapeOf(getX()).size()) // npu_pe_transpose_c3
    return emitOpError() << "has source axis " << getSourceAxis()
                         << " of an operand of rank " << shapeOf(getX()).size();
  if (getBytePlanes() && getFunction() != "copy") // npu_pe_transpose_c5
    return emitOpError() << "moves byte planes and applies function '"
                         << getFunction() << "', expected 'copy'";
  if (getFloatProducts() && // npu_pe_transpose_c6
      (getBytePlanes() || !(from.isF32() || from.isF16() || from.isBF16())))
    return emitOpError() << "multiplies elements of " << from
                         << (getBytePlanes() ? " in byte planes" : "")
                         << " as floats, expected f16, bf16 or f32";
  return checkFunction(*this, getFunction());
}

LogicalResult VecGatherOp::verify() { // npu_vec_gather_c1
  if (failed(checkFull(*this)))
    return failure();
  auto type = typeOf(getX());
  if (isa<bfp::BlockType>(type.getElementType()))
    return emitOpError() << "gathers from an encoded operand";
  if (type.getRank() < 2 || getAxis() >= static_cast<uint64_t>(type.getRank()))
    return emitOpError() << "has axis " << getAxis()
                         << " of an operand of rank " << type.getRank()
                         << ", expected another axis next to it";
  Type index = typeOf(getIndices()).getElementType(); // npu_vec_gather_c2
  if (!index.isSignlessInteger(32) && !index.isSignlessInteger(64))
    return emitOpError() << "expects indices of i32 or i64, found " << index;
  if (typeOf(getY()).getElementType() != type.getElementType())
    return emitOpError() << "gathers " << type.getElementType() << " as "
                         << typeOf(getY()).getElementType();
  return checkShape(
      *this, nn::inferTake(shapeOf(getX()), shapeOf(getIndices()), getAxis()));
}

LogicalResult DmaMoveOp::verify() {
  if (getInputs().empty()) // npu_dma_move_c1
    return emitOpError() << "expects at least one operand";
  Type element = typeOf(getInputs()[0]).getElementType();
  for (Value input : getInputs())
    if (typeOf(input).getElementType() != element)
      return emitOpError() << "moves elements of " << element << " and of "
                           << typeOf(input).getElementType();
  if (keepsOrder()) { // npu_dma_move_c4
    if (getInputs().size() != 1 || nn::elementCount(shapeOf(getInputs()[0])) !=
                                       nn::elementCount(shapeOf(getY())))
      return emitOpError() << "without patterns expects one operand of as many "
                              "elements as the result";
    return success();
  }
  if (getFill() && (isa<bfp::BlockType>(element) || shapeOf(getY()).empty()))
    return emitOpError() << "fills between elements of " // npu_dma_move_c5
                         << getY().getType();
  for (Attribute attr : getPatterns()) {
    FailureOr<AccessPattern> pattern =
        AccessPattern::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef());
    if (failed(pattern)) // npu_dma_move_c2
      return emitOpError() << "has a malformed access pattern " << attr;
    if (pattern->operand >= static_cast<int64_t>(getInputs().size()))
      return emitOpError() << "pattern names operand " << pattern->operand
                           << ", only " << getInputs().size() << " exist";
    if (failed(checkPattern(*this, *pattern,
                            shapeOf(getInputs()[pattern->operand]),
                            shapeOf(getY()))))
      return failure();
  }
  return success();
}

} // namespace ashlar::npu
