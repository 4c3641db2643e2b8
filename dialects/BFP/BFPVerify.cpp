// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the `bfp` dialect; comments carry the constraint labels of
// BFPOps.td. Assumption: operands are statically shaped (ODS constraint).

#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/IntegerEpilogue.h"
#include "dialects/BFP/Requantise.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NN/NNShapes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ashlar::bfp;

bool ashlar::bfp::isEpilogueFunction(StringRef name) {
  return nn::symbolizeUnaryFunction(name).has_value();
}

bool ashlar::bfp::mayBeInteger(Type result, const Epilogue &epilogue) {
  BlockType type = getBlockType(result);
  if (!type || type.isWholeTensor() || type.isWholeAxis() || epilogue.scale ||
      (epilogue.residual && !isEncoded(epilogue.residual.getType())))
    return false;
  const bool clips = epilogue.function == "clip" && !epilogue.alpha.isNaN() &&
                     !epilogue.beta.isNaN();
  return clips || epilogue.function == "copy" || epilogue.function == "relu";
}

LogicalResult ashlar::bfp::verifyIntegerEpilogue(Operation *op,
                                                 const Epilogue &epilogue) {
  if (mayBeInteger(op->getResult(0).getType(), epilogue))
    return success();
  InFlightDiagnostic error = op->emitOpError(
      "expected for an integer epilogue a result in blocks of a length, an "
      "encoded residual or none, no scale, and copy, relu, or clip between "
      "numbers; found ");
  error << op->getResult(0).getType();
  if (epilogue.scale)
    error << ", a scale";
  if (epilogue.residual)
    error << ", a residual of " << epilogue.residual.getType();
  return error << ", '" << epilogue.function << "'";
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// encode_c1 and decode_c1; the block axis is a matter of the types (encode_c2,
/// decode_c2).
static LogicalResult verifyConversion(Operation *op, Value input,
                                      Value output) {
  if (shapeOf(input) != shapeOf(output))
    return op->emitOpError("expected operand and result of one shape, found ")
           << input.getType() << " and " << output.getType();
  return success();
}

LogicalResult EncodeOp::verify() {
  // encode_c3
  if (BlockType type = getBlockType(getOutput().getType());
      type && type.sharesRows() && !getWeights())
    return emitOpError("expected rows that share exponents only of weights, "
                       "found ")
           << type;
  return verifyConversion(*this, getInput(), getOutput());
}

LogicalResult DecodeOp::verify() {
  return verifyConversion(*this, getInput(), getOutput());
}

/// conv_c5, matmul_c4: both factors encoded along the contraction, or neither.
static LogicalResult verifyFactors(Operation *op, Value left, int64_t leftAxis,
                                   Value right, int64_t rightAxis) {
  BlockType leftType = getBlockType(left.getType());
  BlockType rightType = getBlockType(right.getType());
  if (!leftType && !rightType)
    return success();
  if (!leftType || !rightType)
    return op->emitOpError("expected both factors encoded or both floats, "
                           "found ")
           << left.getType() << " and " << right.getType();
  if (leftType.getAxis() != leftAxis)
    return op->emitOpError("expected the first factor encoded along dimension ")
           << leftAxis << ", found " << leftType.getAxis();
  if (rightType.getAxis() != rightAxis)
    return op->emitOpError(
               "expected the second factor encoded along dimension ")
           << rightAxis << ", found " << rightType.getAxis();
  return success();
}

/// conv_c6 to conv_c10, matmul_c5 to matmul_c9.
template <typename OpTy>
static LogicalResult verifyEpilogue(OpTy op, int64_t channels) {
  auto perChannel = [&](Value value, StringRef name) -> LogicalResult {
    if (!value || shapeOf(value) == ArrayRef<int64_t>{channels})
      return success();
    return op.emitOpError("expected ") << name << " of shape [" << channels
                                       << "], found " << value.getType();
  };
  if (failed(perChannel(op.getBias(), "bias")) ||
      failed(perChannel(op.getScale(), "scale")) ||
      failed(perChannel(op.getSlope(), "slope")))
    return failure();
  if (Value residual = op.getResidual();
      residual && shapeOf(residual) != shapeOf(op.getOutput()))
    return op.emitOpError("expected a residual of the result's shape, found ")
           << residual.getType() << " for " << op.getOutput().getType();
  if (!isEpilogueFunction(op.getFunction()))
    return op.emitOpError(
               "expected a unary function of docs/Numerics.md, found '")
           << op.getFunction() << "'";
  if (op.getSlope() && op.getFunction() != "leakyRelu")
    return op.emitOpError("expected leakyRelu with a slope, found '")
           << op.getFunction() << "'";
  if (!op.getIntegerEpilogue())
    return success();
  return verifyIntegerEpilogue(op, Epilogue::of(op)); // conv_c9, matmul_c8
}

/// conv_c2.
static LogicalResult verifyConvAttributes(ConvOp op, size_t spatial) {
  auto count = [&](ArrayRef<int64_t> values, size_t expected, int64_t least,
                   StringRef name) -> LogicalResult {
    if (values.size() != expected)
      return op.emitOpError("expected ")
             << expected << " " << name << ", found " << values.size();
    for (int64_t value : values)
      if (value < least || value > ashlar::nn::kMostWindow)
        return op.emitOpError("expected ")
               << name << " of at least " << least
               << (value < least ? "" : " and below 2^31") << ", found "
               << value;
    return success();
  };
  if (failed(count(op.getStrides(), spatial, 1, "strides")) ||
      failed(count(op.getDilations(), spatial, 1, "dilations")) ||
      failed(count(op.getPads(), 2 * spatial, 0, "pads")))
    return failure();
  auto group = static_cast<int64_t>(op.getGroup());
  if (group < 1)
    return op.emitOpError("expected a group of at least 1, found ") << group;
  return success();
}

/// conv_c4 for one spatial dimension.
static LogicalResult verifyConvExtent(ConvOp op, size_t dim) {
  size_t spatial = op.getStrides().size();
  int64_t input = shapeOf(op.getX())[dim + 2] + op.getPads()[dim] +
                  op.getPads()[spatial + dim];
  int64_t kernel =
      (shapeOf(op.getW())[dim + 2] - 1) * op.getDilations()[dim] + 1;
  int64_t expected =
      input < kernel ? 0 : (input - kernel) / op.getStrides()[dim] + 1;
  int64_t found = shapeOf(op.getOutput())[dim + 2];
  if (expected < 1 || found != expected)
    return op.emitOpError("expected a result extent of ")
           << expected << " in spatial dimension " << dim << ", found "
           << found;
  return success();
}

LogicalResult ConvOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), w = shapeOf(getW()),
                    y = shapeOf(getOutput());
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() ||
      y.size() != x.size()) // conv_c1
    return emitOpError("expected x, w and result of one rank from 3 to 5, "
                       "found ")
           << x.size() << ", " << w.size() << " and " << y.size();
  if (failed(verifyConvAttributes(*this, x.size() - 2)))
    return failure();
  int64_t group = getGroup();
  if (x[1] % group != 0 || x[1] / group != w[1] || w[0] % group != 0) // conv_c3
    return emitOpError("expected w of [multiple of ")
           << group << ", " << x[1] << " / " << group << ", ...], found "
           << getW().getType();
  if (y[0] != x[0] || y[1] != w[0]) // conv_c4
    return emitOpError("expected a result of [")
           << x[0] << ", " << w[0] << ", ...], found " << getOutput().getType();
  for (size_t dim = 0; dim + 2 < x.size(); ++dim)
    if (failed(verifyConvExtent(*this, dim)))
      return failure();
  if (failed(verifyFactors(*this, getX(), 1, getW(), 1)))
    return failure();
  return verifyEpilogue(*this, w[0]);
}

LogicalResult RequantiseConvOp::verify() {
  auto bitsOf = [](Value value) {
    return cast<IntegerType>(
               cast<RankedTensorType>(value.getType()).getElementType())
        .getWidth();
  };
  for (Value factor : {getX(), getW()}) // requantise_conv_c1
    if (bitsOf(factor) != 8 && bitsOf(factor) != 16)
      return emitOpError("expected factors of 8 or 16 bits, found ")
             << factor.getType();
  if (bitsOf(getOutput()) != 8)
    return emitOpError("expected a result of 8 bits, found ")
           << getOutput().getType();
  nn::ShapeOr shape =
      nn::inferConv(shapeOf(getX()), shapeOf(getW()), getStrides(), getPads(),
                    getDilations(), getGroup());
  if (!shape) // requantise_conv_c2
    return emitOpError(llvm::toString(shape.takeError()));
  if (ArrayRef(*shape) != shapeOf(getOutput()))
    return emitOpError("expected a result of shape [")
           << ArrayRef(*shape) << "], found " << getOutput().getType();
  for (Value value : {Value(getScale()), Value(getBias())})
    if (value && shapeOf(value) != shapeOf(getW()).take_front())
      return emitOpError("expected scale and bias of ") // requantise_conv_c3
             << shapeOf(getW())[0] << " elements, found " << value.getType();
  if (getFunction() != "copy" && getFunction() != "relu")
    return emitOpError("expected copy or relu, found '") // requantise_conv_c4
           << getFunction() << "'";
  bool isUnsigned = cast<RankedTensorType>(getOutput().getType())
                        .getElementType()
                        .isUnsignedInteger();
  int64_t low = isUnsigned ? 0 : -128, zero = getZeroPoint();
  if (zero < low || zero > low + 255) // requantise_conv_c5
    return emitOpError("expected a zero point of the result's type, found ")
           << zero;
  return success();
}

LogicalResult RequantiseOp::verify() {
  auto steps = [](const APFloat &scale, uint64_t zero) {
    return QuantSteps{scale.convertToFloat(), static_cast<int64_t>(zero)};
  };
  return verifyRequantise(*this, {getFunction(), getLimited(),
                                  steps(getAScale(), getAZero()),
                                  steps(getBScale(), getBZero()),
                                  steps(getStep(), getZeroPoint())});
}

LogicalResult AffineOp::verify() {
  if (shapeOf(getX()) != shapeOf(getOutput())) // affine_c1
    return emitOpError("expected an operand of the result's shape, found ")
           << getX().getType() << " for " << getOutput().getType();
  for (Value parameter : {getScale(), getBias()}) {
    if (!parameter)
      continue;
    ArrayRef<int64_t> shape = shapeOf(parameter);
    if (llvm::Error error = nn::checkBroadcastTo(shape, shapeOf(getOutput())))
      return emitOpError() << llvm::toString(std::move(error)); // affine_c2
    if (llvm::count_if(shape, [](int64_t n) { return n != 1; }) > 1)
      return emitOpError("expected a scale and a bias that vary along one "
                         "axis, found ")
             << parameter.getType(); // affine_c2
  }
  if (!getScale() && !getBias()) // affine_c3
    return emitOpError("expected a scale or a bias");
  if (getExponent()) {
    if (getFunction() != "pow") // affine_c4
      return emitOpError("expected no exponent of '") << getFunction() << "'";
    if (llvm::Error error =
            nn::checkBroadcastTo(shapeOf(getExponent()), shapeOf(getOutput())))
      return emitOpError() << llvm::toString(std::move(error));
  } else if (!isEpilogueFunction(getFunction())) { // affine_c4
    return emitOpError("expected a unary function of docs/Numerics.md, found '")
           << getFunction() << "'";
  }
  return success();
}

/// Numpy's broadcast of the leading dimensions of two matrix stacks, or nothing
/// if they do not agree.
static std::optional<SmallVector<int64_t>>
broadcastLeading(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> result(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= result.size(); ++back) {
    int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1)
      return std::nullopt;
    result[result.size() - back] = left == 1 ? right : left;
  }
  return result;
}

/// Shapes of a matrix product; leading dimensions broadcast.
template <typename Op>
static LogicalResult verifyMatrices(Op op) {
  ArrayRef<int64_t> a = shapeOf(op.getA()), b = shapeOf(op.getB());
  if (a.size() < 2 || b.size() < 2) // matmul_c1
    return op.emitOpError("expected factors of rank 2 or more, found ")
           << a.size() << " and " << b.size();
  if (a.back() != b[b.size() - 2]) // matmul_c2
    return op.emitOpError("expected equal contraction extents, found ")
           << a.back() << " and " << b[b.size() - 2];
  std::optional<SmallVector<int64_t>> expected =
      broadcastLeading(a.drop_back(2), b.drop_back(2));
  if (!expected) // matmul_c3
    return op.emitOpError("expected leading dimensions that broadcast, found ")
           << op.getA().getType() << " and " << op.getB().getType();
  expected->append({a[a.size() - 2], b.back()});
  if (shapeOf(op.getOutput()) != ArrayRef(*expected)) // matmul_c3
    return op.emitOpError("expected a result of shape [")
           << llvm::ArrayRef(*expected) << "], found "
           << op.getOutput().getType();
  return success();
}

LogicalResult MatmulOp::verify() {
  if (failed(verifyMatrices(*this)))
    return failure();
  ArrayRef<int64_t> a = shapeOf(getA()), b = shapeOf(getB());
  if (failed(verifyFactors(*this, getA(), a.size() - 1, getB(), b.size() - 2)))
    return failure();
  return verifyEpilogue(*this, b.back());
}

LogicalResult IntegerMatmulOp::verify() {
  const std::pair<Value, uint64_t> factors[] = {{getA(), getAZero()},
                                                {getB(), getBZero()}};
  for (auto [factor, point] : factors) {
    auto type = cast<IntegerType>(getElementTypeOrSelf(factor));
    if (type.getWidth() != 8) // integer_matmul_c1
      return emitOpError("expected integers of 8 bits, found ")
             << factor.getType();
    int64_t low = type.isUnsigned() ? 0 : -128;
    auto zero = static_cast<int64_t>(point);
    if (zero < low || zero > low + 255) // integer_matmul_c3
      return emitOpError("expected a zero point in [")
             << low << ", " << low + 255 << "], found " << zero;
  }
  return verifyMatrices(*this); // integer_matmul_c2
}

LogicalResult ArithmeticOp::verify() {
  if (!llvm::is_contained({"add", "sub", "mul", "div"}, getKind()))
    return emitOpError(
               "expected add, sub, mul or div, found '") // arithmetic_c1
           << getKind() << "'";
  ArrayRef<int64_t> shape = shapeOf(getOutput());
  BlockType result = getBlockType(getOutput().getType());
  const auto rank = static_cast<int64_t>(shape.size());
  for (Value operand : getOperands()) {
    if (llvm::Error error = nn::checkBroadcastTo(shapeOf(operand), shape))
      return emitOpError() << llvm::toString(std::move(error)); // arithmetic_c2
    BlockType type = getBlockType(operand.getType());
    const auto own = static_cast<int64_t>(shapeOf(operand).size());
    const int64_t axis = result.getAxis() - (rank - own);
    if (type.isWholeTensor() || result.isWholeTensor() ||
        type.getAxis() != axis || axis >= own ||
        shapeOf(operand)[axis] != shape[result.getAxis()]) // arithmetic_c3
      return emitOpError("expected operands with blocks along the dimension "
                         "of the result's blocks and all of its extent, "
                         "found ")
             << operand.getType() << " for " << getOutput().getType();
  }
  return success();
}

int64_t ConvOp::getAccumulationLength() {
  int64_t length = 1;
  for (int64_t extent : shapeOf(getW()).drop_front())
    length *= extent;
  return length;
}

int64_t MatmulOp::getAccumulationLength() { return shapeOf(getA()).back(); }
