// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requantisation (docs/Numerics.md 12) as part of the product before it. Input:
// nn.conv of integers followed by its formula, operation by operation. Output:
// bfp.requantise_conv. Each link of the chain has one reader, so that no value
// between is lost.

#include "ScalarConstant.h"
#include "Shapes.h"

#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEREQUANTISE
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {

/// The elements of a constant of T, one per output channel (dimension 1) of a
/// tensor of `shape`; nothing if it varies along another dimension.
template <typename T>
std::optional<std::vector<T>> readChannels(Value value, Type element,
                                           ArrayRef<int64_t> shape) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || getElementTypeOrSelf(value.getType()) != element)
    return std::nullopt;
  ArrayRef<int64_t> own = shapeOf(value);
  size_t lead = shape.size() - std::min(own.size(), shape.size());
  for (size_t dim = 0; dim < own.size(); ++dim)
    if (own[dim] != 1 && dim + lead != 1)
      return std::nullopt;
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> raw =
      nn::rawElements(constant.getValue(), storage);
  if (!raw || raw->size() % sizeof(T) != 0)
    return std::nullopt;
  std::vector<T> values(raw->size() / sizeof(T));
  std::memcpy(values.data(), raw->data(), raw->size());
  if (values.size() == 1)
    values.assign(shape[1], values[0]);
  if (static_cast<int64_t>(values.size()) != shape[1])
    return std::nullopt;
  return values;
}

/// Largest magnitude of an integer of the type.
int64_t largestOf(Value value) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return int64_t(1) << (type.isUnsigned() ? type.getWidth()
                                          : type.getWidth() - 1);
}

/// The elements of `raw` as integers of T.
template <typename T>
void readIntegers(ArrayRef<char> raw, std::vector<int64_t> &values) {
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, raw.data() + at, sizeof(T));
    values.push_back(value);
  }
}

/// Largest sum of magnitudes of the weights of one output; nothing for weights
/// that are no constants of 8 or 16 bits.
std::optional<int64_t> largestSum(Value weights) {
  auto constant = weights.getDefiningOp<nn::ConstantOp>();
  auto type = cast<IntegerType>(getElementTypeOrSelf(weights.getType()));
  nn::ElementStorage storage;
  auto raw = constant ? nn::rawElements(constant.getValue(), storage)
                      : std::optional<ArrayRef<char>>();
  std::vector<int64_t> values;
  if (raw && type.getWidth() == 8 && type.isUnsigned())
    readIntegers<uint8_t>(*raw, values);
  else if (raw && type.getWidth() == 8)
    readIntegers<int8_t>(*raw, values);
  else if (raw && type.getWidth() == 16 && !type.isUnsigned())
    readIntegers<int16_t>(*raw, values);
  int64_t outputs = shapeOf(weights).front();
  if (values.empty() || values.size() % outputs != 0)
    return std::nullopt;
  int64_t most = 0;
  for (size_t first = 0, terms = values.size() / outputs; first < values.size();
       first += terms) {
    int64_t sum = 0;
    for (int64_t value : ArrayRef(values).slice(first, terms))
      sum += std::abs(value);
    most = std::max(most, sum);
  }
  return most;
}

/// The formula after one convolution.
struct Chain {
  nn::ConvOp conv;
  SmallVector<Location> locations;
  Operation *last = nullptr;
  std::vector<int32_t> bias;
  std::vector<float> scale;
  bool relu = false;
  int64_t zero = 0;
};

/// Follows the only reader of a value, step by step.
class Walker {
public:
  explicit Walker(Value start) : at(start) {}

  /// The reader if it is an OpTy, which the walk then continues from.
  template <typename OpTy>
  OpTy take() {
    auto op = at.hasOneUse() ? dyn_cast<OpTy>(*at.user_begin()) : OpTy();
    if (op)
      passed(op);
    return op;
  }
  /// The same for a unary function.
  nn::UnaryOp take(nn::UnaryFunction function) {
    auto op = at.hasOneUse() ? dyn_cast<nn::UnaryOp>(*at.user_begin())
                             : nn::UnaryOp();
    if (!op || op.getFunction() != function)
      return {};
    passed(op);
    return op;
  }
  /// The other operand of an OpTy that reads the value first or second.
  template <typename OpTy>
  Value takeOther() {
    Value before = at;
    auto op = take<OpTy>();
    if (!op)
      return {};
    return op->getOperand(0) == before ? op->getOperand(1) : op->getOperand(0);
  }

  Value value() const { return at; }
  ArrayRef<Location> locations() const { return passedLocations; }

private:
  void passed(Operation *op) {
    at = op->getResult(0);
    passedLocations.push_back(op->getLoc());
  }
  Value at;
  SmallVector<Location> passedLocations;
};

/// -zero points are scalars of binary32 that hold integers.
std::optional<int64_t> readZero(Value value) {
  std::optional<float> zero = scalarConstant(value);
  if (!zero || *zero != std::nearbyint(*zero))
    return std::nullopt;
  return static_cast<int64_t>(*zero);
}

/// True if neither the sums nor the biased sums leave 32 bits.
bool staysIn32(const Chain &chain) {
  nn::ConvOp conv = chain.conv;
  std::optional<int64_t> weights = largestSum(conv.getW());
  int64_t most = 0;
  for (int32_t b : chain.bias)
    most = std::max(most, std::abs(int64_t(b)));
  constexpr int64_t limit = int64_t(1) << 31;
  return weights && *weights < limit &&
         *weights * largestOf(conv.getX()) + most < limit;
}

/// Bias and factor per output channel.
bool matchFactors(Walker &walk, Chain &chain) {
  MLIRContext *context = chain.conv.getContext();
  // A matrix product as a convolution drops its spatial dimensions again.
  if (auto reshape = walk.take<nn::ReshapeOp>()) {
    ArrayRef<int64_t> from = shapeOf(chain.conv.getY());
    if (shapeOf(reshape.getY()) != from.take_front(2) ||
        !llvm::all_of(from.drop_front(2), [](int64_t n) { return n == 1; }))
      return false;
  }
  ArrayRef<int64_t> shape = shapeOf(walk.value());
  if (Value other = walk.takeOther<nn::AddOp>()) {
    auto bias =
        readChannels<int32_t>(other, IntegerType::get(context, 32), shape);
    if (!bias)
      return false;
    chain.bias = std::move(*bias);
  }
  auto cast = walk.take<nn::CastOp>();
  if (!cast || !getElementTypeOrSelf(cast.getY().getType()).isF32())
    return false;
  Value other = walk.takeOther<nn::MulOp>();
  auto scale =
      other ? readChannels<float>(other, Float32Type::get(context), shape)
            : std::nullopt;
  if (!scale || !llvm::all_of(*scale, [](float s) { return std::isfinite(s); }))
    return false;
  chain.scale = std::move(*scale);
  return shapeOf(walk.value()) == shape;
}

/// Relu, rounding, zero point, limits of the type, conversion.
bool matchRounding(Walker &walk, Chain &chain) {
  chain.relu = bool(walk.take(nn::UnaryFunction::Relu));
  if (!walk.take(nn::UnaryFunction::Round))
    return false;
  if (Value other = walk.takeOther<nn::AddOp>()) {
    std::optional<int64_t> zero = readZero(other);
    if (!zero)
      return false;
    chain.zero = *zero;
  }
  auto clip = walk.take(nn::UnaryFunction::Clip);
  auto cast = clip ? walk.take<nn::CastOp>() : nn::CastOp();
  auto type =
      cast ? dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getY().getType()))
           : IntegerType();
  if (!type || type.getWidth() != 8)
    return false;
  double low = type.isUnsigned() ? 0 : -128;
  return clip.getAlpha().convertToDouble() == low &&
         clip.getBeta().convertToDouble() == low + 255 && chain.zero >= low &&
         chain.zero <= low + 255;
}

std::optional<Chain> matchChain(nn::ConvOp conv) {
  if (!getElementTypeOrSelf(conv.getX().getType()).isInteger() ||
      !conv.getW().getDefiningOp<nn::ConstantOp>() || conv.getBias() ||
      !getElementTypeOrSelf(conv.getY().getType()).isSignlessInteger(32))
    return std::nullopt;
  Chain chain;
  chain.conv = conv;
  Walker walk(conv.getY());
  if (!matchFactors(walk, chain) || !matchRounding(walk, chain) ||
      !staysIn32(chain))
    return std::nullopt;
  chain.last = walk.value().getDefiningOp();
  chain.locations = SmallVector<Location>(walk.locations());
  return chain;
}

template <typename T>
Value makeChannels(OpBuilder &builder, Location loc, ArrayRef<T> values,
                   Type element) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
  std::string bytes(reinterpret_cast<const char *>(values.data()),
                    values.size() * sizeof(T));
  return nn::ConstantOp::create(
      builder, loc, type, nn::makeElements(type, std::move(bytes), "channels"));
}

void rewrite(const Chain &chain) {
  nn::ConvOp conv = chain.conv;
  OpBuilder builder(chain.last);
  SmallVector<Location> parts{conv.getLoc()};
  parts.append(chain.locations.begin(), chain.locations.end());
  Location loc = FusedLoc::get(conv.getContext(), parts);
  Value scale = makeChannels<float>(builder, conv.getLoc(), chain.scale,
                                    builder.getF32Type());
  Value bias;
  if (!chain.bias.empty())
    bias = makeChannels<int32_t>(builder, conv.getLoc(), chain.bias,
                                 builder.getI32Type());
  Value old = chain.last->getResult(0);
  auto type = cast<RankedTensorType>(conv.getY().getType())
                  .clone(getElementTypeOrSelf(old.getType()));
  auto fused = RequantiseConvOp::create(
      builder, loc, type, conv.getX(), conv.getW(), scale, bias,
      conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
      conv.getGroupAttr(), builder.getStringAttr(chain.relu ? "relu" : "copy"),
      builder.getI64IntegerAttr(chain.zero));
  records::copyRecords(conv, fused);
  Value result = fused.getOutput();
  if (result.getType() != old.getType())
    result = nn::ReshapeOp::create(builder, loc, old.getType(), result);
  old.replaceAllUsesWith(result);
}

struct FuseRequantise : impl::FuseRequantiseBase<FuseRequantise> {
protected:
  void runOnOperation() override {
    SmallVector<Chain> chains;
    getOperation().walk([&](nn::ConvOp conv) {
      if (std::optional<Chain> chain = matchChain(conv))
        chains.push_back(std::move(*chain));
    });
    for (const Chain &chain : chains) {
      rewrite(chain);
      ++numFused;
      // From the end, each without a reader once the next is gone.
      SmallVector<Operation *> dead{chain.last};
      while (!dead.empty()) {
        Operation *op = dead.pop_back_val();
        if (!op->use_empty())
          continue;
        SmallVector<Value> operands(op->getOperands());
        op->erase();
        for (Value operand : operands)
          if (Operation *before = operand.getDefiningOp();
              before && before->use_empty() &&
              !llvm::is_contained(dead, before))
            dead.push_back(before);
      }
    }
  }
};

} // namespace
} // namespace ashlar::bfp
