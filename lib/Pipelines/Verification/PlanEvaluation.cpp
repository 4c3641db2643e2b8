// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the quantised module through the `nn` interpreter: a copy of
// the operation outside of any block, with a host type for its result.

#include "PlanEvaluation.h"

#include "ashlar/Numerics/Function.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Support/Error.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// An operation in no block, for one evaluation.
class Detached {
public:
  explicit Detached(Operation *op) : op(op) {}
  Detached(const Detached &) = delete;
  Detached &operator=(const Detached &) = delete;
  ~Detached() { op->destroy(); }
  llvm::Expected<Tensor> evaluate(ArrayRef<const Tensor *> operands) {
    return reference::evaluateOp(op, operands, reference::Precision::Binary64);
  }

private:
  Operation *op;
};

/// The type of a tensor of that shape that is not encoded.
RankedTensorType plainType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(Float32Type::get(type.getContext()));
}

/// The operand of an epilogue that follows the factors.
const Tensor *operandOf(Operation *op, Value value,
                        ArrayRef<const Tensor *> operands) {
  if (!value)
    return nullptr;
  for (unsigned i = 2; i < op->getNumOperands(); ++i)
    if (op->getOperand(i) == value)
      return operands[i];
  return nullptr;
}

template <typename OpTy>
void applyEpilogue(OpTy op, Tensor &sums, ArrayRef<const Tensor *> operands) {
  const Tensor *scale = operandOf(op, op.getScale(), operands);
  const Tensor *bias = operandOf(op, op.getBias(), operands);
  const Tensor *slope = operandOf(op, op.getSlope(), operands);
  const Tensor *residual = operandOf(op, op.getResidual(), operands);
  std::optional<numerics::Function> function =
      numerics::parseFunction(op.getFunction());
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  for (int64_t i = 0, e = sums.size(); i < e; ++i) {
    double v = sums.floats[i];
    int64_t channel = outputChannel(op, i);
    if (scale)
      v *= scale->floats[channel];
    if (bias)
      v += bias->floats[channel];
    if (residual)
      v += residual->floats[i];
    sums.floats[i] = numerics::applyWide(
        *function, v, slope ? slope->floats[channel] : alpha, beta);
  }
}

llvm::Expected<Tensor> evaluateProduct(Operation *op,
                                       ArrayRef<const Tensor *> operands) {
  auto sums = evaluateSums(op, *operands[0], *operands[1]);
  if (!sums)
    return sums.takeError();
  if (auto conv = dyn_cast<bfp::ConvOp>(op))
    applyEpilogue(conv, *sums, operands);
  else
    applyEpilogue(cast<bfp::MatmulOp>(op), *sums, operands);
  return std::move(*sums);
}

/// Integers in the arithmetic that docs/Numerics.md 12 prescribes, whatever the
/// precision.
llvm::Expected<Tensor> requantise(Operation *op,
                                  ArrayRef<const Tensor *> operands) {
  auto conv = cast<bfp::RequantiseConvOp>(op);
  OpBuilder builder(op->getContext());
  auto type = cast<RankedTensorType>(conv.getOutput().getType());
  Operation *plain = nn::ConvOp::create(
      builder, op->getLoc(), type.clone(builder.getI64Type()), conv.getX(),
      conv.getW(), Value(), conv.getStrides(), conv.getPads(),
      conv.getDilations(), conv.getGroup());
  auto sums = Detached(plain).evaluate(operands.take_front(2));
  if (!sums)
    return sums.takeError();
  bool isSigned = !type.getElementType().isUnsignedInteger();
  auto function = *numerics::parseFunction(conv.getFunction());
  int64_t inner = reference::elementCount(type.getShape().drop_front(2));
  for (int64_t i = 0, e = sums->size(); i < e; ++i) {
    int64_t channel = i / inner % type.getShape()[1];
    int64_t acc = sums->ints[i];
    if (conv.getBias())
      acc += operands[3]->ints[channel];
    float v = numerics::fromSigned(acc) *
              static_cast<float>(operands[2]->floats[channel]);
    v = numerics::apply(numerics::Function::Round,
                        numerics::apply(function, v));
    double moved =
        static_cast<double>(v) +
        static_cast<double>(static_cast<int64_t>(conv.getZeroPoint()));
    sums->ints[i] = isSigned
                        ? numerics::toSigned(moved, 8)
                        : static_cast<int64_t>(numerics::toUnsigned(moved, 8));
  }
  sums->type = *nn::toElementType(type.getElementType());
  return std::move(*sums);
}

/// The product of integers minus their zero points.
llvm::Expected<Tensor> integerProduct(bfp::IntegerMatmulOp op,
                                      ArrayRef<const Tensor *> operands) {
  Tensor a = *operands[0], b = *operands[1];
  for (int64_t &v : a.ints)
    v -= static_cast<int64_t>(op.getAZero());
  for (int64_t &v : b.ints)
    v -= static_cast<int64_t>(op.getBZero());
  OpBuilder builder(op.getContext());
  return Detached(nn::MatMulOp::create(builder, op.getLoc(),
                                       op.getOutput().getType(), op.getA(),
                                       op.getB()))
      .evaluate({&a, &b});
}

/// A scale, a bias and a function in binary64.
llvm::Expected<Tensor> evaluateAffine(bfp::AffineOp op,
                                      ArrayRef<const Tensor *> operands) {
  Tensor result = *operands[0];
  OpBuilder builder(op.getContext());
  RankedTensorType type = plainType(op.getOutput());
  auto apply = [&](Operation *step, const Tensor &parameter) -> llvm::Error {
    auto next = Detached(step).evaluate({&result, &parameter});
    if (!next)
      return next.takeError();
    result = std::move(*next);
    return llvm::Error::success();
  };
  if (op.getScale())
    if (llvm::Error error = apply(nn::MulOp::create(builder, op.getLoc(), type,
                                                    op.getX(), op.getScale()),
                                  *operands[1]))
      return error;
  if (op.getBias())
    if (llvm::Error error = apply(nn::AddOp::create(builder, op.getLoc(), type,
                                                    op.getX(), op.getBias()),
                                  *operands[op.getScale() ? 2 : 1]))
      return error;
  if (op.getExponent()) {
    if (op.getFunction() == "pow")
      if (llvm::Error error =
              apply(nn::PowOp::create(builder, op.getLoc(), type, op.getX(),
                                      op.getExponent()),
                    *operands.back()))
        return error;
    return result;
  }
  auto function = *numerics::parseFunction(op.getFunction());
  for (double &v : result.floats)
    v = numerics::applyWide(function, v, op.getAlpha().convertToDouble(),
                            op.getBeta().convertToDouble());
  return result;
}

/// Integers or floats as `(x - zero) * scale` in binary32.
Tensor dequantised(const Tensor &x, const APFloat &scale, uint64_t zero) {
  Tensor result = x;
  result.type = support::ElementType::F32;
  result.ints.clear();
  result.floats.resize(static_cast<size_t>(x.size()));
  const auto shift = static_cast<float>(static_cast<int64_t>(zero));
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    float v = x.isFloat() ? static_cast<float>(x.floats[i])
                          : static_cast<float>(x.ints[i]);
    result.floats[i] = (v - shift) * scale.convertToFloat();
  }
  return result;
}

/// Two encoded tensors in binary64, in which their values are exact.
llvm::Expected<Tensor> evaluateArithmetic(bfp::ArithmeticOp op,
                                          ArrayRef<const Tensor *> operands) {
  OpBuilder builder(op.getContext());
  OperationState state(op.getLoc(), ("nn." + op.getKind()).str(),
                       op->getOperands(), TypeRange(plainType(op.getOutput())));
  auto result = Detached(builder.create(state)).evaluate(operands);
  if (!result || op.getKind() != "div")
    return result;
  for (double &v : result->floats)
    v = std::isnan(v) ? 0 : v; // 0 / 0
  return result;
}

/// The function of bfp.requantise, not limited. Sums and products of two
/// binary32 numbers in binary64 round to binary32 as if computed in it.
llvm::Expected<Tensor> functionOf(bfp::RequantiseOp op, const Tensor &a,
                                  const Tensor *b) {
  if (b) {
    OpBuilder builder(op.getContext());
    OperationState state(op.getLoc(), ("nn." + op.getFunction()).str(),
                         op.getInputs(), TypeRange(plainType(op.getOutput())));
    return Detached(builder.create(state)).evaluate({&a, b});
  }
  Tensor result = a;
  auto function = *numerics::parseFunction(op.getFunction());
  for (double &v : result.floats)
    v = numerics::apply(function, static_cast<float>(v),
                        op.getAlpha().convertToFloat(),
                        op.getBeta().convertToFloat());
  return result;
}

/// Steps of binary32 whatever the precision, as in requantise().
llvm::Expected<Tensor> requantiseMap(bfp::RequantiseOp op,
                                     ArrayRef<const Tensor *> operands) {
  Tensor a = dequantised(*operands[0], op.getAScale(), op.getAZero()), b;
  if (operands.size() > 1)
    b = dequantised(*operands[1], op.getBScale(), op.getBZero());
  auto result = functionOf(op, a, operands.size() > 1 ? &b : nullptr);
  if (!result)
    return result;
  Type element =
      cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  auto integer = dyn_cast<IntegerType>(element);
  for (double &value : result->floats) {
    auto v = static_cast<float>(value);
    if (op.getLimited())
      v = numerics::apply(numerics::Function::Clip, v,
                          op.getAlpha().convertToFloat(),
                          op.getBeta().convertToFloat());
    if (!integer) {
      value = v;
      continue;
    }
    v = numerics::apply(numerics::Function::Round,
                        v / op.getStep().convertToFloat());
    v += static_cast<float>(static_cast<int64_t>(op.getZeroPoint()));
    result->ints.push_back(
        integer.isUnsigned() ? static_cast<int64_t>(numerics::toUnsigned(v, 8))
                             : numerics::toSigned(v, 8));
  }
  if (integer) {
    result->floats.clear();
    result->type = *nn::toElementType(element);
  }
  return result;
}

} // namespace

bool isBlockProduct(Operation *op) {
  return isa<bfp::ConvOp, bfp::MatmulOp>(op);
}

int64_t outputChannel(Operation *op, int64_t index) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (isa<bfp::MatmulOp>(op))
    return index % shape.back();
  return index / reference::elementCount(shape.drop_front(2)) % shape[1];
}

llvm::Expected<Tensor> evaluateSums(Operation *op, const Tensor &x,
                                    const Tensor &w) {
  OpBuilder builder(op->getContext());
  RankedTensorType type = plainType(op->getResult(0));
  Value a = op->getOperand(0), b = op->getOperand(1);
  Operation *plain = nullptr;
  if (auto conv = dyn_cast<bfp::ConvOp>(op))
    plain = nn::ConvOp::create(builder, op->getLoc(), type, a, b, Value(),
                               conv.getStrides(), conv.getPads(),
                               conv.getDilations(), conv.getGroup());
  else
    plain = nn::MatMulOp::create(builder, op->getLoc(), type, a, b);
  return Detached(plain).evaluate({&x, &w});
}

llvm::Expected<Tensor> evaluateWide(Operation *op,
                                    ArrayRef<const Tensor *> operands) {
  if (isa<npu::NPUDialect>(op->getDialect()))
    return evaluateEngine(op, operands);
  if (isa<bfp::EncodeOp, bfp::DecodeOp>(op))
    return *operands[0];
  if (isBlockProduct(op))
    return evaluateProduct(op, operands);
  if (isa<bfp::RequantiseConvOp>(op))
    return requantise(op, operands);
  if (auto affine = dyn_cast<bfp::AffineOp>(op))
    return evaluateAffine(affine, operands);
  if (auto map = dyn_cast<bfp::RequantiseOp>(op))
    return requantiseMap(map, operands);
  if (auto arithmetic = dyn_cast<bfp::ArithmeticOp>(op))
    return evaluateArithmetic(arithmetic, operands);
  if (auto matmul = dyn_cast<bfp::IntegerMatmulOp>(op))
    return integerProduct(matmul, operands);
  if (op->getNumResults() == 1 && bfp::isEncoded(op->getResult(0).getType())) {
    Operation *copy = op->clone();
    copy->getResult(0).setType(plainType(op->getResult(0)));
    return Detached(copy).evaluate(operands);
  }
  return reference::evaluateOp(op, operands, reference::Precision::Binary64);
}

llvm::Expected<ValueMap> evaluateMain(ModuleOp module,
                                      ArrayRef<HostTensor> inputs,
                                      OpEvaluator evaluate) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  ValueMap values;
  for (auto [argument, input] : llvm::zip(main.getArguments(), inputs)) {
    auto tensor = reference::fromHost(input);
    if (!tensor)
      return tensor.takeError();
    values[argument] = std::move(*tensor);
  }
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second);
    auto result = evaluate(&op, operands);
    if (!result)
      return result.takeError();
    values[op.getResult(0)] = std::move(*result);
  }
  return values;
}

llvm::Expected<ValueMap>
evaluateModule(ModuleOp module, ArrayRef<HostTensor> inputs, ResultHook hook) {
  return evaluateMain(module, inputs,
                      [&](Operation *op, ArrayRef<const Tensor *> operands) {
                        auto result = evaluateWide(op, operands);
                        if (result && hook)
                          hook(op, *result);
                        return result;
                      });
}

} // namespace ashlar::pipelines
