// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps each `nn` op to its evaluator. Element functions come from the numerics
// library in binary64, so that folded constants are the same on every host.

#include "Kernels.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Reference/Constants.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Reference/Movement.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ashlar;
using namespace ashlar::reference;
using numerics::BinaryFunction;

namespace {

using Operands = ArrayRef<const Tensor *>;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

ElementType typeOf(Value value) {
  // The caller has checked that the result has a host type.
  return *nn::toElementType(
      cast<RankedTensorType>(value.getType()).getElementType());
}

// Moves elements by an index map; filled positions take `value`.
Tensor move(const Tensor &x, const IndexMap &map, ArrayRef<int64_t> shape,
            double value) {
  Tensor result(x.type, shape);
  if (x.isFloat())
    map.apply(x.floats.data(), result.floats.data(), value);
  else
    map.apply(x.ints.data(), result.ints.data(), static_cast<int64_t>(value));
  return result;
}

Tensor evalNamed(BinaryFunction function, const Tensor &a, const Tensor &b,
                 Value result) {
  return evalBinary(
      a, b, typeOf(result), shapeOf(result),
      [&](double x, double y) { return numerics::applyWide(function, x, y); },
      [&](int64_t x, int64_t y) { return numerics::apply(function, x, y); });
}

Tensor evalPow(const Tensor &a, const Tensor &b, Value result) {
  // The exponent may be of the other kind.
  if (a.isFloat() == b.isFloat())
    return evalNamed(BinaryFunction::Pow, a, b, result);
  Tensor exponent =
      evalCast(b, a.isFloat() ? ElementType::F64 : ElementType::I64);
  return evalNamed(BinaryFunction::Pow, a, exponent, result);
}

Tensor evalMod(nn::ModOp op, const Tensor &a, const Tensor &b) {
  if (!op.getFmod())
    return evalNamed(BinaryFunction::Mod, a, b, op.getY());
  // fmod is exact, hence the same on every host.
  return evalBinary(
      a, b, typeOf(op.getY()), shapeOf(op.getY()),
      [](double x, double y) { return std::fmod(x, y); },
      [](int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; });
}

Tensor evalFunction(nn::UnaryOp op, const Tensor &x) {
  // The dialect's enumeration has the encoding of the numerics library.
  auto function = static_cast<numerics::Function>(op.getFunction());
  double alpha = op.getAlpha().convertToFloat();
  double beta = op.getBeta().convertToFloat();
  return evalUnary(
      x,
      [&](double v) { return numerics::applyWide(function, v, alpha, beta); },
      [&](int64_t v) {
        // Bounds beyond the integers (clip to infinity) are no bounds.
        constexpr double limit = 9223372036854774784.0;
        auto bound = [&](double b) {
          return static_cast<int64_t>(std::fmin(std::fmax(b, -limit), limit));
        };
        return numerics::apply(function, v, bound(alpha), bound(beta));
      });
}

BinaryFunction functionOf(nn::CompareKind kind) {
  switch (kind) {
  case nn::CompareKind::Equal:
    return BinaryFunction::Equal;
  case nn::CompareKind::Less:
    return BinaryFunction::Less;
  case nn::CompareKind::LessOrEqual:
    return BinaryFunction::LessOrEqual;
  case nn::CompareKind::Greater:
    return BinaryFunction::Greater;
  case nn::CompareKind::GreaterOrEqual:
    return BinaryFunction::GreaterOrEqual;
  }
  llvm_unreachable("unknown comparison");
}

BinaryFunction functionOf(nn::LogicalKind kind) {
  switch (kind) {
  case nn::LogicalKind::And:
    return BinaryFunction::And;
  case nn::LogicalKind::Or:
    return BinaryFunction::Or;
  case nn::LogicalKind::Xor:
    return BinaryFunction::Xor;
  }
  llvm_unreachable("unknown logical operation");
}

Tensor evalPredicate(BinaryFunction function, const Tensor &a, const Tensor &b,
                     Value result) {
  return evalCompare(
      a, b, shapeOf(result),
      [&](double x, double y) {
        return numerics::applyWide(function, x, y) != 0;
      },
      [&](int64_t x, int64_t y) {
        return numerics::apply(function, x, y) != 0;
      });
}

template <typename T>
T reduceValues(nn::ReduceKind kind, ArrayRef<T> values) {
  T result = 0;
  switch (kind) {
  case nn::ReduceKind::Sum:
  case nn::ReduceKind::Mean:
    for (T value : values)
      result += value;
    if (kind == nn::ReduceKind::Mean && !values.empty())
      result /= static_cast<T>(values.size());
    return result;
  case nn::ReduceKind::SumSquare:
    for (T value : values)
      result += value * value;
    return result;
  case nn::ReduceKind::L1:
    for (T value : values)
      result += value < 0 ? -value : value;
    return result;
  case nn::ReduceKind::Prod:
    result = 1;
    for (T value : values)
      result *= value;
    return result;
  case nn::ReduceKind::Max:
  case nn::ReduceKind::Min:
    break;
  }
  bool isMax = kind == nn::ReduceKind::Max;
  using Limits = std::numeric_limits<T>;
  T infinity = Limits::has_infinity ? Limits::infinity() : Limits::max();
  T lowest = Limits::has_infinity ? -infinity : Limits::lowest();
  result = isMax ? lowest : infinity;
  for (T value : values)
    if (isMax ? value > result : value < result)
      result = value;
  return result;
}

Tensor evalConcat(nn::ConcatOp op, Operands operands) {
  Tensor result(typeOf(op.getY()), shapeOf(op.getY()));
  ArrayRef<int64_t> shape = result.shape;
  int64_t axis = op.getAxis();
  int64_t inner = elementCount(shape.drop_front(axis + 1));
  int64_t outer = elementCount(shape.take_front(axis));
  int64_t offset = 0, row = shape[axis] * inner;
  for (const Tensor *part : operands) {
    int64_t run = part->shape[axis] * inner;
    for (int64_t o = 0; o < outer; ++o)
      if (part->isFloat())
        std::copy_n(part->floats.begin() + o * run, run,
                    result.floats.begin() + o * row + offset);
      else
        std::copy_n(part->ints.begin() + o * run, run,
                    result.ints.begin() + o * row + offset);
    offset += run;
  }
  return result;
}

Tensor evalInterleave(nn::InterleaveOp op, Operands operands) {
  Tensor result(typeOf(op.getY()), shapeOf(op.getY()));
  const auto strides = rowMajorStrides(result.shape);
  const auto inner = rowMajorStrides(operands[0]->shape);
  for (auto [phase, x] : llvm::enumerate(operands)) {
    const auto start = op.startOf(static_cast<int64_t>(phase));
    for (int64_t i = 0, e = x->size(); i < e; ++i) {
      int64_t to = 0;
      for (size_t d = 0; d < start.size(); ++d)
        to += (i / inner[d] % x->shape[d] * op.getFactors()[d] + start[d]) *
              strides[d];
      if (result.isFloat())
        result.floats[to] = x->floats[i];
      else
        result.ints[to] = x->ints[i];
    }
  }
  return result;
}

Tensor evalBatchNorm(nn::BatchNormOp op, Operands operands) {
  const Tensor &x = *operands[0];
  Tensor result(x.type, x.shape);
  int64_t channels = x.shape[1];
  int64_t inner = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  double epsilon = op.getEpsilon().convertToFloat();
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    int64_t c = i / inner % channels;
    double deviation = std::sqrt(operands[4]->floats[c] + epsilon);
    result.floats[i] = (x.floats[i] - operands[3]->floats[c]) / deviation *
                           operands[1]->floats[c] +
                       operands[2]->floats[c];
  }
  return result;
}

template <typename OpTy>
Window windowOf(OpTy op) {
  return Window::create(shapeOf(op.getX()), op.getKernel(), shapeOf(op.getY()),
                        op.getStrides(), op.getPads(), op.getDilations());
}

template <typename OpTy>
Window convWindowOf(OpTy op) {
  return Window::create(shapeOf(op.getX()), shapeOf(op.getW()).drop_front(2),
                        shapeOf(op.getY()), op.getStrides(), op.getPads(),
                        op.getDilations());
}

/// Every index is checked: what is outside the axis is an error of the data.
llvm::Expected<Tensor> evalTake(nn::TakeOp op, Operands operands) {
  const Tensor &x = *operands[0], &indices = *operands[1];
  Tensor result(x.type, shapeOf(op.getY()));
  int64_t axis = op.getAxis(), extent = x.shape[axis];
  auto strides = rowMajorStrides(x.shape);
  auto own = rowMajorStrides(indices.shape),
       out = rowMajorStrides(result.shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    int64_t from = 0, which = 0;
    for (size_t d = 0; d < result.shape.size(); ++d) {
      int64_t at = i / out[d] % result.shape[d];
      which += indices.shape[d] == 1 ? 0 : at * own[d];
      from += static_cast<int64_t>(d) == axis ? 0 : at * strides[d];
    }
    int64_t index = indices.ints[which];
    if (index < -extent || index >= extent)
      return support::makeError(
          ErrorClass::Malformed, "index {} of {}, expected {} to {}", index,
          op->getName().getStringRef().str(), -extent, extent - 1);
    from += (index < 0 ? index + extent : index) * strides[axis];
    if (result.isFloat())
      result.floats[i] = x.floats[from];
    else
      result.ints[i] = x.ints[from];
  }
  return result;
}

// Movement: exact whatever the type.
std::optional<Tensor> evalMovement(Operation *op, Operands operands) {
  const Tensor &x = *operands[0];
  ArrayRef<int64_t> out = shapeOf(op->getResult(0));
  if (auto concat = dyn_cast<nn::ConcatOp>(op))
    return evalConcat(concat, operands);
  if (auto interleave = dyn_cast<nn::InterleaveOp>(op))
    return evalInterleave(interleave, operands);
  if (isa<nn::ReshapeOp>(op)) {
    Tensor result = x;
    result.shape.assign(out.begin(), out.end());
    return result;
  }
  std::optional<IndexMap> map = movementMap(op);
  if (!map)
    return std::nullopt;
  auto pad = dyn_cast<nn::PadOp>(op);
  return move(x, *map, out, pad ? pad.getValue().convertToDouble() : 0.0);
}

std::optional<Tensor> evalContraction(Operation *op, Operands operands) {
  const Tensor &x = *operands[0];
  ArrayRef<int64_t> out = shapeOf(op->getResult(0));
  const Tensor *third = operands.size() > 2 ? operands[2] : nullptr;
  return llvm::TypeSwitch<Operation *, std::optional<Tensor>>(op)
      .Case([&](nn::ConvOp c) {
        return evalConv(x, *operands[1], third, convWindowOf(c), c.getGroup(),
                        out);
      })
      .Case([&](nn::ConvTransposeOp c) {
        return evalConvTranspose(x, *operands[1], third, convWindowOf(c),
                                 c.getGroup(), out);
      })
      .Case([&](nn::MatMulOp) { return evalMatMul(x, *operands[1], out); })
      .Case([&](nn::Im2ColOp i) { return evalIm2Col(x, windowOf(i), out); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Tensor> evalReduction(Operation *op, Operands operands) {
  const Tensor &x = *operands[0];
  Value result = op->getResult(0);
  ArrayRef<int64_t> out = shapeOf(result);
  return llvm::TypeSwitch<Operation *, std::optional<Tensor>>(op)
      .Case([&](nn::MaxPoolOp p) {
        return evalPool(x, PoolKind::Max, windowOf(p), out);
      })
      .Case([&](nn::AvgPoolOp p) {
        return evalPool(x,
                        p.getSums()              ? PoolKind::Sum
                        : p.getCountIncludePad() ? PoolKind::AverageIncludePad
                                                 : PoolKind::Average,
                        windowOf(p), out);
      })
      .Case([&](nn::ReduceOp r) {
        auto kind = r.getKind();
        return evalReduce(
            x, r.getAxes(), out,
            [=](ArrayRef<double> v) { return reduceValues(kind, v); },
            [=](ArrayRef<int64_t> v) { return reduceValues(kind, v); });
      })
      .Case([&](nn::ArgReduceOp a) {
        return evalArgReduce(x, a.getAxis(), a.getKind() == nn::ArgKind::Max,
                             a.getSelectLast(), typeOf(result), out);
      })
      .Case([&](nn::SoftmaxOp s) { return evalSoftmax(x, s.getAxis(), false); })
      .Case(
          [&](nn::LogSoftmaxOp s) { return evalSoftmax(x, s.getAxis(), true); })
      .Case([&](nn::BatchNormOp b) { return evalBatchNorm(b, operands); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Tensor> evalElementwise(Operation *op, Operands operands) {
  Value y = op->getResult(0);
  auto named = [&](BinaryFunction function) -> std::optional<Tensor> {
    return evalNamed(function, *operands[0], *operands[1], y);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Tensor>>(op)
      .Case([&](nn::AddOp) { return named(BinaryFunction::Add); })
      .Case([&](nn::SubOp) { return named(BinaryFunction::Sub); })
      .Case([&](nn::MulOp) { return named(BinaryFunction::Mul); })
      .Case([&](nn::DivOp) { return named(BinaryFunction::Div); })
      .Case([&](nn::MaxOp) { return named(BinaryFunction::Max); })
      .Case([&](nn::MinOp) { return named(BinaryFunction::Min); })
      .Case([&](nn::PReluOp) { return named(BinaryFunction::PRelu); })
      .Case([&](nn::PowOp) { return evalPow(*operands[0], *operands[1], y); })
      .Case([&](nn::ModOp m) { return evalMod(m, *operands[0], *operands[1]); })
      .Case([&](nn::CompareOp c) {
        return evalPredicate(functionOf(c.getKind()), *operands[0],
                             *operands[1], y);
      })
      .Case([&](nn::LogicalOp l) -> std::optional<Tensor> {
        if (typeOf(y) != ElementType::Bool) // Bit by bit.
          return named(functionOf(l.getKind()));
        return evalPredicate(functionOf(l.getKind()), *operands[0],
                             *operands[1], y);
      })
      .Case([&](nn::WhereOp) {
        return evalWhere(*operands[0], *operands[1], *operands[2], shapeOf(y));
      })
      .Case([&](nn::UnaryOp u) { return evalFunction(u, *operands[0]); })
      .Case([&](nn::CastOp) { return evalCast(*operands[0], typeOf(y)); })
      .Default([](Operation *) { return std::nullopt; });
}

// Ops whose operands all have one kind of storage must get just that: the
// verifiers do not compare element types.
llvm::Error checkKinds(Operation *op, Operands operands) {
  if (operands.empty() || isa<nn::PowOp, nn::TakeOp>(op))
    return llvm::Error::success();
  Operands sameKind = isa<nn::WhereOp>(op) ? operands.drop_front() : operands;
  bool softmax = isa<nn::SoftmaxOp, nn::LogSoftmaxOp, nn::BatchNormOp>(op);
  for (const Tensor *operand : sameKind)
    if (operand->isFloat() != sameKind.front()->isFloat() ||
        (softmax && !operand->isFloat()))
      return support::makeError(ErrorClass::Unsupported, "{} of {} and {}",
                                op->getName().getStringRef().str(),
                                support::name(sameKind.front()->type).str(),
                                support::name(operand->type).str());
  if (isa<nn::WhereOp>(op) && operands.front()->isFloat())
    return support::makeError(ErrorClass::Unsupported,
                              "nn.where with a float condition");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Tensor> reference::evaluateOp(Operation *op, Operands operands,
                                             Precision precision) {
  if (op->getNumResults() != 1)
    return support::makeError(ErrorClass::Unsupported, "{} has no evaluator",
                              op->getName().getStringRef().str());
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  std::optional<ElementType> element =
      type ? nn::toElementType(type.getElementType()) : std::nullopt;
  if (!element)
    return support::makeError(ErrorClass::Unsupported,
                              "{} has a result without a host type",
                              op->getName().getStringRef().str());
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    llvm::Expected<HostTensor> host = readElements(constant.getValue());
    if (!host)
      return host.takeError();
    return fromHost(*host);
  }
  if (auto take = dyn_cast<nn::TakeOp>(op)) {
    if (operands[1]->isFloat())
      return support::makeError(ErrorClass::Unsupported,
                                "nn.take with float indices");
    return evalTake(take, operands);
  }
  if (op->hasTrait<nn::HostFunction>())
    return evalHost(op, operands);
  if (llvm::Error error = checkKinds(op, operands))
    return error;
  std::optional<Tensor> result;
  for (auto family :
       {evalMovement, evalElementwise, evalContraction, evalReduction}) {
    if (!result && !operands.empty())
      result = family(op, operands);
  }
  if (!result)
    return support::makeError(ErrorClass::Unsupported, "{} has no evaluator",
                              op->getName().getStringRef().str());
  if (isFloatType(*element) != result->isFloat())
    return support::makeError(
        ErrorClass::Unsupported, "{} cannot give {} from {}",
        op->getName().getStringRef().str(), support::name(*element).str(),
        support::name(result->type).str());
  result->type = *element;
  if (precision == Precision::Binary32 || !result->isFloat())
    roundToType(*result, *element);
  return std::move(*result);
}
