// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the `npu` dialect through those that they were made from:
// an engine changes how something is computed, never what.

#include "PlanEvaluation.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/Error.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/HostOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::pipelines {
namespace {

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Copies one access pattern; what lies outside of the operand is zero.
template <typename T>
void copyPattern(const npu::AccessPattern &pattern, ArrayRef<int64_t> from,
                 const std::vector<T> &source, ArrayRef<int64_t> to,
                 std::vector<T> &result) {
  auto fromStrides = reference::rowMajorStrides(from);
  auto toStrides = reference::rowMajorStrides(to);
  SmallVector<int64_t> index(pattern.dims.size(), 0);
  int64_t count = 1;
  for (const npu::PatternDim &dim : pattern.dims)
    count *= dim.extent;
  for (int64_t step = 0; step < count; ++step) {
    SmallVector<int64_t> here(pattern.sourceStart), there(pattern.resultStart);
    for (auto [dim, i] : llvm::zip(pattern.dims, index)) {
      if (dim.sourceAxis >= 0)
        here[dim.sourceAxis] += i * dim.sourceStep;
      there[dim.resultAxis] += i * dim.resultStep;
    }
    int64_t at = 0, target = 0;
    bool inside = true;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      inside &= here[axis] >= 0 && here[axis] < from[axis];
      at += here[axis] * fromStrides[axis];
    }
    for (size_t axis = 0; axis < to.size(); ++axis)
      target += there[axis] * toStrides[axis];
    result[target] = inside ? source[at] : T(0);
    for (size_t d = pattern.dims.size(); d-- > 0;) {
      if (++index[d] < pattern.dims[d].extent)
        break;
      index[d] = 0;
    }
  }
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

llvm::Expected<Tensor> movePatterns(Operation *op, ArrayRef<Attribute> patterns,
                                    double fill,
                                    ArrayRef<const Tensor *> operands) {
  ArrayRef<int64_t> to = shapeOf(op->getResult(0));
  Tensor result(operands[0]->type, to);
  llvm::fill(result.floats, fill);
  llvm::fill(result.ints, static_cast<int64_t>(fill));
  for (Attribute attr : patterns) {
    auto pattern = npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    if (failed(pattern))
      return makeError(ErrorClass::Malformed,
                       "an access pattern of '{}' is malformed",
                       op->getName().getStringRef().str());
    const Tensor &source = *operands[pattern->operand];
    ArrayRef<int64_t> from = shapeOf(op->getOperand(pattern->operand));
    if (result.isFloat())
      copyPattern(*pattern, from, source.floats, to, result.floats);
    else
      copyPattern(*pattern, from, source.ints, to, result.ints);
  }
  return result;
}

llvm::Expected<Tensor> evaluateMove(npu::DmaMoveOp op,
                                    ArrayRef<const Tensor *> operands) {
  if (op.keepsOrder()) {
    Tensor result = *operands[0];
    const ArrayRef<int64_t> shape = shapeOf(op.getY());
    result.shape.assign(shape.begin(), shape.end());
    return result;
  }
  double fill = op.getFill() ? op.getFill()->convertToDouble() : 0;
  return movePatterns(op, op.getPatterns().getValue(), fill, operands);
}

llvm::Expected<Tensor> evaluateTranspose(npu::PeTransposeOp op,
                                         ArrayRef<const Tensor *> operands) {
  auto result = movePatterns(op, Attribute(op.getPatternAttr()), 0, operands);
  if (!result)
    return result;
  auto function = *numerics::parseFunction(op.getFunction());
  for (double &v : result->floats)
    v = numerics::applyWide(function, v, op.getAlpha().convertToDouble(),
                            op.getBeta().convertToDouble());
  return result;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Makes the operation of `nn` or `bfp` that an engine does; null for what is
/// none.
class EngineRaising {
public:
  explicit EngineRaising(Operation *op)
      : EngineRaising(op, op->getResult(0).getType()) {}
  /// With a result of another type.
  EngineRaising(Operation *op, Type type)
      : builder(op->getContext()), loc(op->getLoc()), type(type) {}

  /// The windows that a drain reduces `map` by.
  Operation *windowsOf(npu::PoolingAttr pooling, Value map) {
    return window(pooling.getKind(), map, pooling.getKernel(),
                  pooling.getStrides(), pooling.getPads(),
                  pooling.getDilations(), pooling.getIncludePad());
  }

  Operation *unbind(Operation *op) {
    return llvm::TypeSwitch<Operation *, Operation *>(op)
        .Case<npu::PeConvOp, npu::TcuConvOp>(
            [&](auto conv) { return convolution(conv); })
        .Case([&](npu::PeMatmulOp matmul) { return product(matmul); })
        .Case([&](npu::VecMapOp map) { return function(map); })
        .Case([&](npu::VecRequantiseOp op) { return requantised(op); })
        .Case([&](npu::VecPoolOp pool) { return window(pool); })
        .Case([&](npu::VecReduceOp reduce) { return reduction(reduce); })
        .Case([&](npu::VecSoftmaxOp s) -> Operation * {
          if (s.getLog())
            return nn::LogSoftmaxOp::create(builder, loc, type, s.getX(),
                                            s.getAxis());
          return nn::SoftmaxOp::create(builder, loc, type, s.getX(),
                                       s.getAxis());
        })
        .Case([&](npu::VecGatherOp gather) {
          return nn::TakeOp::create(builder, loc, type, gather.getX(),
                                    gather.getIndices(), gather.getAxis());
        })
        .Default([&](Operation *o) { return npu::unbindFromHost(builder, o); });
  }

private:
  template <typename Op>
  Operation *convolution(Op op) {
    if (npu::QuantAttr quant = analysis::quantOf(op); quant && quant.getYZero())
      return bfp::RequantiseConvOp::create(
          builder, loc, type, op.getX(), op.getW(), op.getScale(), op.getBias(),
          op.getStridesAttr(), op.getPadsAttr(), op.getDilationsAttr(),
          op.getGroupAttr(), op.getFunctionAttr(),
          builder.getI64IntegerAttr(*quant.getYZero()));
    if (!bfp::isEncoded(op.getX().getType()))
      return nn::ConvOp::create(builder, loc, type, op.getX(), op.getW(),
                                Value(), op.getStrides(), op.getPads(),
                                op.getDilations(), op.getGroup());
    return bfp::ConvOp::create(
        builder, loc, type, op.getX(), op.getW(), op.getBias(), op.getScale(),
        op.getSlope(), op.getResidual(), op.getStridesAttr(), op.getPadsAttr(),
        op.getDilationsAttr(), op.getGroupAttr(), op.getFunctionAttr(),
        op.getAlphaAttr(), op.getBetaAttr(), op.getIntegerEpilogueAttr());
  }

  Operation *product(npu::PeMatmulOp op) {
    auto isByte = [](Value value) {
      return getElementTypeOrSelf(value).getIntOrFloatBitWidth() == 8;
    };
    npu::QuantAttr quant = op.getQuantAttr();
    if (quant && isByte(op.getX()) && isByte(op.getW()))
      return bfp::IntegerMatmulOp::create(builder, loc, type, op.getX(),
                                          op.getW(), *quant.getXZero(),
                                          *quant.getWZero());
    if (!bfp::isEncoded(op.getX().getType()))
      return nn::MatMulOp::create(builder, loc, type, op.getX(), op.getW());
    return bfp::MatmulOp::create(
        builder, loc, type, op.getX(), op.getW(), op.getBias(), op.getScale(),
        op.getSlope(), op.getResidual(), op.getFunctionAttr(),
        op.getAlphaAttr(), op.getBetaAttr(), op.getIntegerEpilogueAttr());
  }

  Operation *function(npu::VecMapOp op) {
    auto inputs = op.getInputs();
    StringRef name = op.getOp();
    if (op.getScale() || op.getBias())
      return bfp::AffineOp::create(builder, loc, type, inputs[0], op.getScale(),
                                   op.getBias(),
                                   inputs.size() > 1 ? inputs[1] : Value(),
                                   name, op.getAlpha(), op.getBeta());
    if (name == "copy")
      return nn::CastOp::create(builder, loc, type, inputs[0]);
    if (inputs.size() == 1) {
      auto unary = nn::symbolizeUnaryFunction(name);
      return unary ? nn::UnaryOp::create(builder, loc, type, *unary, inputs[0],
                                         op.getAlpha(), op.getBeta())
                         .getOperation()
                   : nullptr;
    }
    if (auto function = numerics::parseBlockFunction(name))
      return bfp::ArithmeticOp::create(builder, loc, type, inputs[0], inputs[1],
                                       numerics::kindOf(*function));
    if (auto kind = nn::symbolizeCompareKind(name))
      return nn::CompareOp::create(builder, loc, type, *kind, inputs[0],
                                   inputs[1]);
    if (auto kind = nn::symbolizeLogicalKind(name))
      return nn::LogicalOp::create(builder, loc, type, *kind, inputs[0],
                                   inputs[1]);
    OperationState state(loc, ("nn." + name).str(), inputs, TypeRange(type));
    return builder.create(state);
  }

  Operation *requantised(npu::VecRequantiseOp op) {
    return bfp::RequantiseOp::create(
        builder, loc, type, op.getInputs(), op.getOp(), op.getAlpha(),
        op.getBeta(), op.getLimited(), op.getAScale(), op.getAZero(),
        op.getBScale(), op.getBZero(), op.getStep(), op.getZeroPoint());
  }

  Operation *window(npu::VecPoolOp op) {
    return window(op.getKind(), op.getX(), op.getKernel(), op.getStrides(),
                  op.getPads(), op.getDilations(), op.getCountIncludePad());
  }

  Operation *window(StringRef kind, Value x, ArrayRef<int64_t> kernel,
                    ArrayRef<int64_t> strides, ArrayRef<int64_t> pads,
                    ArrayRef<int64_t> dilations, bool includePad) {
    if (kind == "max")
      return nn::MaxPoolOp::create(builder, loc, type, x, kernel, strides, pads,
                                   dilations);
    return nn::AvgPoolOp::create(builder, loc, type, x, kernel, strides, pads,
                                 dilations, includePad, kind == "sum");
  }

  Operation *reduction(npu::VecReduceOp op) {
    bool keeps = shapeOf(op.getX()).size() == shapeOf(op.getY()).size();
    if (auto kind = nn::symbolizeReduceKind(op.getKind()))
      return nn::ReduceOp::create(builder, loc, type, *kind, op.getX(),
                                  op.getAxes(), keeps);
    auto kind = op.getKind() == "argmax" ? nn::ArgKind::Max : nn::ArgKind::Min;
    return nn::ArgReduceOp::create(builder, loc, type, kind, op.getX(),
                                   op.getAxes()[0], keeps, op.getSelectLast());
  }

  OpBuilder builder;
  Location loc;
  Type type;
};

/// A copy that only changes the storage of real numbers. A cast of the network
/// is more: it rounds to its type in every module.
bool keepsValues(npu::VecMapOp op) {
  npu::OriginAttr origin = op.getOriginAttr();
  if (origin && origin.getOp() && origin.getOp().getValue() == "cast")
    return false;
  auto real = [](Value value) {
    Type element = getElementTypeOrSelf(value);
    return isa<FloatType, bfp::BlockType>(element);
  };
  return op.isConversion() && real(op.getInputs()[0]) && real(op.getY());
}

} // namespace

llvm::Expected<Tensor> evaluateEngine(Operation *op,
                                      ArrayRef<const Tensor *> operands) {
  if (auto move = dyn_cast<npu::DmaMoveOp>(op))
    return evaluateMove(move, operands);
  if (auto transpose = dyn_cast<npu::PeTransposeOp>(op))
    return evaluateTranspose(transpose, operands);
  if (auto map = dyn_cast<npu::VecMapOp>(op); map && keepsValues(map))
    return *operands[0];
  const npu::PoolingAttr pooling = npu::poolingOf(op);
  Operation *plain = pooling ? EngineRaising(op, pooling.getMap()).unbind(op)
                             : EngineRaising(op).unbind(op);
  if (!plain)
    return makeError(ErrorClass::Internal, "no reference for '{}'",
                     op->getName().getStringRef().str());
  // Operands may be in another order.
  SmallVector<const Tensor *> given;
  for (Value operand : plain->getOperands())
    given.push_back(
        operands[llvm::find(op->getOperands(), operand).getIndex()]);
  auto result = evaluateWide(plain, given);
  if (result && pooling) {
    Operation *windows =
        EngineRaising(op).windowsOf(pooling, plain->getResult(0));
    result = evaluateWide(windows, {&*result});
    windows->destroy();
  }
  plain->destroy();
  return result;
}

} // namespace ashlar::pipelines
