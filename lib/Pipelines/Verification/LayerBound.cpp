// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of whole tensors: operands, products, storage. The bound of a result
// uses exact values only, so that a wrong machine cannot widen it.

#include "LayerBound.h"
#include "RoundingRules.h"

#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Reference/Constants.h"
#include "ashlar/Support/Error.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace ashlar::pipelines {

BlockIndex::BlockIndex(bfp::BlockType type, ArrayRef<int64_t> shape)
    : whole(type.isWholeTensor()) {
  size_t axis = static_cast<size_t>(type.getAxis());
  extent = shape.empty() ? 1 : shape[axis];
  inner =
      shape.empty() ? 1 : reference::elementCount(shape.drop_front(axis + 1));
  length = std::max<int64_t>(bfp::getBlockLength(type, shape), 1);
  perRow = (extent + length - 1) / length;
  int64_t outer =
      shape.empty() ? 1 : reference::elementCount(shape.take_front(axis));
  if (type.sharesRows()) {
    (axis == 0 ? innerRows : outerRows) = type.getRows();
    rest = reference::elementCount(shape.drop_front(2));
  }
  outer = (outer + outerRows - 1) / outerRows;
  innerBlocks = (inner / rest + innerRows - 1) / innerRows * rest;
  blocks = whole ? 1 : outer * perRow * innerBlocks;
}

int64_t BlockIndex::of(int64_t element) const {
  if (whole)
    return 0;
  int64_t row = element / inner / extent, at = element / inner % extent;
  int64_t in = element % inner;
  in = in / rest / innerRows * rest + in % rest;
  return (row / outerRows * perRow + at / length) * innerBlocks + in;
}

namespace {

constexpr double unbounded = HUGE_VAL;

/// One mantissa of a dump.
int32_t mantissaAt(const emulator::TensorDump &dump, bfp::BlockType type,
                   int64_t index) {
  if (type.getIsUnsigned())
    return dump.data[index];
  if (type.getMantissaBytes() == 1)
    return static_cast<int8_t>(dump.data[index]);
  int16_t word;
  std::memcpy(&word, dump.data.data() + index * 2, 2);
  return word;
}

LayerOperand decodeDump(const emulator::TensorDump &dump, bfp::BlockType type,
                        ArrayRef<int64_t> shape) {
  LayerOperand operand;
  operand.values = Tensor(support::ElementType::F32, shape);
  const int w = static_cast<int>(type.getMantissa());
  const int range = static_cast<int>(type.getRange());
  BlockIndex blocks(type, shape);
  operand.grid = numerics::powerOfTwo(dump.scaleExponent - range);
  operand.fetchError.resize(operand.values.size());
  for (int64_t i = 0, e = operand.values.size(); i < e; ++i) {
    int32_t m = numerics::fetchMantissa(mantissaAt(dump, type, i), w);
    if (m == 0)
      continue;
    int exponent = numerics::stepExponent(dump.exponents[blocks.of(i)], w);
    double step = numerics::powerOfTwo(exponent);
    operand.values.floats[i] = m * step;
    operand.fetchError[i] =
        numerics::alignBound(step, dump.scaleExponent, range);
    operand.saturated += numerics::alignSaturates(operand.values.floats[i],
                                                  step, dump.scaleExponent, w);
  }
  return operand;
}

/// The dimension that owns a scale exponent per index; -1 if the whole tensor
/// has one.
int64_t channelAxis(bfp::EncodeOp encode) {
  if (!encode.getWeights())
    return -1;
  for (Operation *user : encode->getUsers())
    if (isa<bfp::MatmulOp>(user))
      return 1;
  return 0;
}

/// Guarantee of a constant: one encode, unless its values are those that are
/// `stored`, and alignment to its channel's E.
void boundConstant(bfp::EncodeOp encode, bool stored, LayerOperand &operand) {
  bfp::BlockType type = bfp::getBlockType(encode.getOutput().getType());
  const int w = static_cast<int>(type.getMantissa());
  ArrayRef<int64_t> shape = operand.values.shape;
  BlockIndex blocks(type, shape);
  const std::vector<double> &values = operand.values.floats;
  std::vector<double> top(blocks.count());
  for (size_t i = 0; i < values.size(); ++i) {
    double &most = top[blocks.of(static_cast<int64_t>(i))];
    most = std::max(most, std::abs(values[i]));
  }
  int64_t axis = channelAxis(encode);
  int64_t inner =
      axis < 0 ? 1 : reference::elementCount(shape.drop_front(axis + 1));
  auto channelOf = [&](size_t i) {
    return axis < 0 ? 0 : static_cast<int64_t>(i) / inner % shape[axis];
  };
  std::vector<double> largest(axis < 0 ? 1 : shape[axis]);
  for (size_t i = 0; i < values.size(); ++i) {
    double step =
        numerics::blockStep(top[blocks.of(static_cast<int64_t>(i))], w);
    double &most = largest[channelOf(i)];
    most = std::max(most, step);
  }
  for (double step : largest)
    operand.grid = std::max(
        operand.grid, std::ldexp(step, -static_cast<int>(type.getRange())));
  operand.fetchError.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double step =
        numerics::blockStep(top[blocks.of(static_cast<int64_t>(i))], w);
    if (step == 0)
      continue;
    int scale = std::ilogb(largest[channelOf(i)]);
    operand.fetchError[i] =
        (stored ? 0 : numerics::encodeBound(std::abs(values[i]), step, w)) +
        numerics::alignBound(step, scale, static_cast<int>(type.getRange()));
  }
}

/// What the program stores of a constant that is no weight: numbers that other
/// operations than products read as they are, too.
void storeConstant(bfp::EncodeOp encode, LayerOperand &operand) {
  bfp::BlockType type = bfp::getBlockType(encode.getOutput().getType());
  const int w = static_cast<int>(type.getMantissa());
  BlockIndex blocks(type, operand.values.shape);
  std::vector<SmallVector<size_t, 16>> members(blocks.count());
  for (size_t i = 0; i < operand.values.floats.size(); ++i)
    members[blocks.of(static_cast<int64_t>(i))].push_back(i);
  numerics::EncodeCounters counters;
  for (ArrayRef<size_t> block : members) {
    SmallVector<double, 16> values;
    for (size_t i : block)
      values.push_back(operand.values.floats[i]);
    SmallVector<int16_t, 16> mantissas(block.size());
    const int cell =
        numerics::encodeBlock(ArrayRef<double>(values), w, mantissas, counters);
    for (auto [i, mantissa] : llvm::zip(block, mantissas))
      operand.values.floats[i] = numerics::decode(mantissa, cell, w);
  }
}

Tensor magnitudes(const Tensor &tensor) {
  Tensor result = tensor;
  for (double &v : result.floats)
    v = std::abs(v);
  return result;
}

Tensor withFloats(const Tensor &shape, std::vector<double> floats) {
  Tensor result(shape.type, shape.shape);
  if (!floats.empty())
    result.floats = std::move(floats);
  return result;
}

bool allZero(ArrayRef<double> values) {
  return llvm::all_of(values, [](double v) { return v == 0; });
}

/// Bounds of the sums of a product: sum (|x| + dx) * dw + dx * |w|, and what
/// the binary64 sums of the reference lose.
llvm::Expected<std::vector<double>> boundSums(Operation *op,
                                              const LayerOperand &x,
                                              const LayerOperand &w,
                                              uint64_t terms) {
  Tensor sizeX = magnitudes(x.values), sizeW = magnitudes(w.values);
  auto magnitude = evaluateSums(op, sizeX, sizeW);
  if (!magnitude)
    return magnitude.takeError();
  Tensor errorX = withFloats(x.values, x.fetchError);
  Tensor errorW = withFloats(w.values, w.fetchError);
  std::vector<double> errors(magnitude->floats.size());
  auto add = [&](const Tensor &a, const Tensor &b) -> llvm::Error {
    if (allZero(a.floats) || allZero(b.floats))
      return llvm::Error::success();
    auto part = evaluateSums(op, a, b);
    if (!part)
      return part.takeError();
    for (size_t i = 0; i < errors.size(); ++i)
      errors[i] += part->floats[i];
    return llvm::Error::success();
  };
  if (llvm::Error error = add(errorX, sizeW))
    return error;
  for (size_t i = 0; i < sizeX.floats.size(); ++i)
    sizeX.floats[i] += errorX.floats[i];
  if (llvm::Error error = add(sizeX, errorW))
    return error;
  for (size_t i = 0; i < errors.size(); ++i)
    errors[i] = numerics::productBound(errors[i], magnitude->floats[i], terms);
  return errors;
}

/// A sum with what is added to it as integers of one exponent. \p grid is the
/// unit of the accumulators; a term that does not fit makes the unit larger.
numerics::Enclosure integerSum(numerics::Enclosure sum, double grid,
                               double bias, double residual) {
  const double unit =
      std::max({grid, std::abs(bias) * 0x1p-60, std::abs(residual) * 0x1p-46});
  sum.value += bias + residual;
  // Each of three terms and a limit is rounded to the unit, the bias before
  // that to 16 bits, and the sum here to binary64.
  sum.bound += 2 * unit + std::abs(bias) * 0x1p-14 +
               (std::abs(sum.value) + std::abs(bias)) * 0x1p-50;
  return sum;
}

/// The epilogue, element by element, in the order of docs/Numerics.md 6.
template <typename OpTy>
llvm::Expected<LayerExpectation>
expectProduct(OpTy op, ArrayRef<const LayerOperand *> operands) {
  auto sums = evaluateSums(op, operands[0]->values, operands[1]->values);
  if (!sums)
    return sums.takeError();
  auto bounds =
      boundSums(op, *operands[0], *operands[1], op.getAccumulationLength());
  if (!bounds)
    return bounds.takeError();
  unsigned next = 2;
  auto take = [&](Value value) {
    return value ? &operands[next++]->values : nullptr;
  };
  // Operand order of the operation: bias before scale.
  const Tensor *bias = take(op.getBias());
  const Tensor *scale = take(op.getScale());
  const Tensor *slope = take(op.getSlope());
  const Tensor *residual = take(op.getResidual());
  std::optional<numerics::Function> function =
      numerics::parseFunction(op.getFunction());
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  LayerExpectation result;
  result.exact = std::move(*sums);
  result.bound.resize(bounds->size());
  for (size_t i = 0; i < bounds->size(); ++i) {
    int64_t channel = outputChannel(op, static_cast<int64_t>(i));
    numerics::Enclosure v{result.exact.floats[i], (*bounds)[i]};
    if (op.getIntegerEpilogue()) {
      v = integerSum(v, operands[0]->grid * operands[1]->grid,
                     bias ? bias->floats[channel] : 0,
                     residual ? residual->floats[i] : 0);
      v = numerics::applied(v, *function, alpha, beta);
      result.exact.floats[i] = v.value;
      result.bound[i] = v.bound;
      continue;
    }
    v = numerics::toBinary32(v);
    if (scale)
      v = numerics::scaled(v, scale->floats[channel]);
    if (bias)
      v = numerics::shifted(v, bias->floats[channel]);
    if (residual)
      v = numerics::shifted(v, residual->floats[i]);
    v = numerics::applied(v, *function, slope ? slope->floats[channel] : alpha,
                          beta);
    result.exact.floats[i] = v.value;
    result.bound[i] = v.bound;
  }
  return result;
}

/// The step of a block whose largest value is at most \p top, where \p policy
/// may have set it. State of earlier runs is unknown: a first run has none.
double stepUnder(const numerics::ScalePolicy &policy, double top, int w) {
  const double own = numerics::blockStep(top, w);
  if (!policy.isStored() || !policy.exponent)
    return own;
  const double given = numerics::powerOfTwo(
      numerics::stepExponent(numerics::fixedCell(*policy.exponent, w), w));
  return policy.repairs() ? std::max(own, given) : given;
}

/// Adds what encoding the result can change.
void addEncode(bfp::BlockType type, const numerics::ScalePolicy &policy,
               LayerExpectation &layer) {
  const int w = static_cast<int>(type.getMantissa());
  BlockIndex blocks(type, layer.exact.shape);
  std::vector<double> top(blocks.count());
  auto topOf = [&](size_t i) {
    return std::abs(layer.exact.floats[i]) + layer.bound[i];
  };
  for (size_t i = 0; i < layer.bound.size(); ++i) {
    double &most = top[blocks.of(static_cast<int64_t>(i))];
    // A NaN in a block takes away nothing from its neighbours' guarantee.
    most = std::max(most, std::isnan(topOf(i)) ? 0 : topOf(i));
  }
  const double largest = numerics::powerOfTwo(w - 1) - 1;
  layer.limit.resize(layer.bound.size());
  for (size_t i = 0; i < layer.bound.size(); ++i) {
    double step = stepUnder(policy, top[blocks.of(static_cast<int64_t>(i))], w);
    layer.limit[i] = (largest + 0.5) * step;
    const bool beyond =
        policy.isStored() && !policy.repairs() && topOf(i) > layer.limit[i];
    if (beyond && policy.overflow == numerics::StoreOverflow::Saturate)
      layer.bound[i] += topOf(i) - largest * step;
    else if (step < unbounded && !beyond)
      layer.bound[i] += numerics::encodeBound(topOf(i), step, w);
    else
      layer.bound[i] = unbounded;
  }
}

/// Adds what storing the result can change. Beyond the largest number of its
/// type it is infinite.
void addStorage(Operation *op, Type element, LayerExpectation &layer) {
  if (auto block = dyn_cast<bfp::BlockType>(element))
    return addEncode(block, bfp::getScalePolicy(op), layer);
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return;
  const double largest =
      APFloat::getLargest(cast<FloatType>(element).getFloatSemantics())
          .convertToDouble();
  for (size_t i = 0; i < layer.bound.size(); ++i) {
    const double top = std::abs(layer.exact.floats[i]) + layer.bound[i];
    if (element.isF16())
      layer.bound[i] += numerics::roundingBound(top, 10, -24);
    else if (element.isBF16())
      layer.bound[i] += numerics::roundingBound(top, 7, -133);
    if (!(top < largest))
      layer.bound[i] = unbounded;
  }
}

llvm::Expected<LayerExpectation>
expectOther(Operation *op, ArrayRef<const LayerOperand *> operands) {
  SmallVector<const Tensor *> values;
  for (const LayerOperand *operand : operands)
    values.push_back(&operand->values);
  auto exact = evaluateWide(op, values);
  if (!exact)
    return exact.takeError();
  LayerExpectation result;
  auto bound = roundingOf(op, values, *exact);
  if (!bound)
    return bound.takeError();
  result.bound = std::move(*bound);
  result.exact = std::move(*exact);
  return result;
}

} // namespace

llvm::Expected<LayerOperand>
operandFromDump(const container::TensorPlacement &placement,
                const emulator::TensorDump &dump, Value value) {
  if (bfp::BlockType type = bfp::getBlockType(value.getType()))
    return decodeDump(dump, type, placement.shape);
  HostTensor host;
  host.type = placement.type;
  host.shape.assign(placement.shape.begin(), placement.shape.end());
  host.data = dump.data;
  auto tensor = reference::fromHost(host);
  if (!tensor)
    return tensor.takeError();
  LayerOperand operand;
  operand.values = std::move(*tensor);
  return operand;
}

llvm::Expected<LayerOperand> operandFromConstant(Value value) {
  auto encode = value.getDefiningOp<bfp::EncodeOp>();
  Value source = encode ? encode.getInput() : value;
  auto host = reference::readElements(
      source.getDefiningOp<nn::ConstantOp>().getValue());
  if (!host)
    return host.takeError();
  auto tensor = reference::fromHost(*host);
  if (!tensor)
    return tensor.takeError();
  LayerOperand operand;
  operand.values = std::move(*tensor);
  if (!encode)
    return operand;
  const bool stored =
      !encode.getWeights() && !bfp::getScalePolicy(encode).isStored();
  if (stored)
    storeConstant(encode, operand);
  boundConstant(encode, stored, operand);
  return operand;
}

LayerOperand operandUnseen(Value value, LayerExpectation expected) {
  LayerOperand operand;
  operand.values = std::move(expected.exact);
  if (!operand.values.isFloat())
    return operand;
  operand.unseen = std::move(expected.bound);
  const bfp::BlockType type = bfp::getBlockType(value.getType());
  if (!type)
    return operand;
  // Storing it is part of the bound. A product aligns it to an exponent that is
  // not above that of the largest value.
  const bool ownExponent = bfp::getScalePolicy(value.getDefiningOp()).kind ==
                           numerics::ScaleKind::RunMax;
  double top = 0;
  for (auto [exact, error] : llvm::zip(operand.values.floats, operand.unseen))
    if (const double most = std::abs(exact) + error; most < unbounded)
      top = std::max(top, most);
  operand.grid =
      std::ldexp(numerics::blockStep(top, static_cast<int>(type.getMantissa())),
                 -static_cast<int>(type.getRange()));
  operand.fetchError = operand.unseen;
  for (double &error : operand.fetchError)
    error = ownExponent ? error + operand.grid / 2 : unbounded;
  return operand;
}

/// Windows are no further from those of the exact operand than the same windows
/// of the errors say: a maximum moves by at most the largest of them, a mean by
/// their mean. A product knows what it fetches; of all others nothing is said.
static llvm::Error addUnseen(Operation *op,
                             ArrayRef<const LayerOperand *> operands,
                             LayerExpectation &result) {
  const bool fetches = isBlockProduct(op);
  if (llvm::all_of(operands.drop_front(fetches ? 1 : 0),
                   [](const LayerOperand *o) { return o->unseen.empty(); }))
    return llvm::Error::success();
  if (!isa<nn::MaxPoolOp, nn::AvgPoolOp>(op) && !bfp::isMovement(op)) {
    llvm::fill(result.bound, unbounded);
    return llvm::Error::success();
  }
  std::vector<Tensor> errors;
  for (const LayerOperand *operand : operands) {
    errors.push_back(operand->values);
    llvm::fill(errors.back().floats, 0);
    llvm::copy(operand->unseen, errors.back().floats.begin());
  }
  SmallVector<const Tensor *> given;
  for (const Tensor &error : errors)
    given.push_back(&error);
  auto moved = evaluateWide(op, given);
  if (!moved)
    return moved.takeError();
  for (auto [bound, error] : llvm::zip(result.bound, moved->floats))
    bound += std::abs(error);
  return llvm::Error::success();
}

llvm::Expected<LayerExpectation>
expectLayer(Operation *op, ArrayRef<const LayerOperand *> operands) {
  auto result = [&]() -> llvm::Expected<LayerExpectation> {
    if (auto conv = dyn_cast<bfp::ConvOp>(op))
      return expectProduct(conv, operands);
    if (auto matmul = dyn_cast<bfp::MatmulOp>(op))
      return expectProduct(matmul, operands);
    return expectOther(op, operands);
  }();
  if (!result || !result->exact.isFloat())
    return result;
  if (llvm::Error error = addUnseen(op, operands, *result))
    return error;
  auto elementType = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type stored = elementType(op->getResult(0));
  // Movement within one storage keeps every bit.
  bool moves = bfp::isMovement(op) &&
               isa<bfp::BlockType>(elementType(op->getOperand(0))) ==
                   isa<bfp::BlockType>(stored);
  if (!moves)
    addStorage(op, stored, *result);
  return result;
}

} // namespace ashlar::pipelines
