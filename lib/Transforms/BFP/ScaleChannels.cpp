// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplies the weights of output channels by factors and what products
// multiply their sums by with the inverse. Input and output: the plan with
// weights encoded from constants.

#include "ChannelView.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Numerics/ChannelFactor.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_SCALECHANNELS
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {
struct ScaleChannels : impl::ScaleChannelsBase<ScaleChannels> {
protected:
  void runOnOperation() override {
    SmallVector<EncodeOp> all;
    getOperation().walk([&](EncodeOp op) {
      if (op.getWeights())
        all.push_back(op);
    });
    for (EncodeOp op : all)
      scaleWeights(op);
  }

private:
  void scaleWeights(EncodeOp op);
};
} // namespace

static Value scaleOf(Operation *product) {
  if (auto conv = dyn_cast<ConvOp>(product))
    return conv.getScale();
  return cast<MatmulOp>(product).getScale();
}

/// An integer epilogue multiplies by nothing.
static bool addsIntegers(Operation *product) {
  if (auto conv = dyn_cast<ConvOp>(product))
    return conv.getIntegerEpilogue();
  return cast<MatmulOp>(product).getIntegerEpilogue();
}

static void setScale(Operation *product, Value scale) {
  if (auto conv = dyn_cast<ConvOp>(product))
    conv.getScaleMutable().assign(scale);
  else
    cast<MatmulOp>(product).getScaleMutable().assign(scale);
}

/// A new constant next to `like`, named like it.
static Value makeConstant(Operation *before, Location loc,
                          ArrayRef<int64_t> shape, ArrayRef<float> values) {
  OpBuilder builder(before);
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  std::string bytes(reinterpret_cast<const char *>(values.data()),
                    values.size() * sizeof(float));
  return nn::ConstantOp::create(
      builder, loc, type,
      nn::makeElements(type, std::move(bytes), analysis::getNodeName(loc)));
}

/// The weights times the factors of their channels.
static Value scaleConstant(EncodeOp op, const ChannelView &view,
                           ArrayRef<float> factors) {
  auto constant = op.getInput().getDefiningOp<nn::ConstantOp>();
  // A product of two numbers of binary32 is exact in binary64.
  ElementsAttr elements = nn::scaledElements(
      constant.getValue(), {factors.begin(), factors.end()},
      view.getRunLength(), analysis::getNodeName(constant.getLoc()));
  OpBuilder builder(op);
  return elements ? nn::ConstantOp::create(builder, constant.getLoc(),
                                           elements.getType(), elements)
                  : op.getInput();
}

static void eraseIfUnused(Value value) {
  if (value && value.use_empty())
    value.getDefiningOp()->erase();
}

/// What decides how weights round.
static numerics::BlockFormat formatOf(BlockType type) {
  numerics::BlockFormat format;
  format.mantissa = static_cast<int>(type.getMantissa());
  format.block = static_cast<int>(type.getBlock());
  format.range = static_cast<int>(type.getRange());
  return format;
}

/// A factor per channel, 1 where weights are exact or scaling costs range.
static std::vector<float>
chooseFactors(const ChannelView &view, ArrayRef<float> values, BlockType type) {
  const numerics::BlockFormat format = formatOf(type);
  std::vector<float> factors;
  for (int64_t first = 0; first < view.size(); first += ChannelView::kGroup) {
    int64_t count = std::min(ChannelView::kGroup, view.size() - first);
    std::vector<float> group = view.gather(values, first, count);
    size_t length = group.size() / count;
    for (int64_t i = 0; i < count; ++i)
      factors.push_back(
          numerics::ChannelRounding(ArrayRef(group).slice(i * length, length),
                                    view.getRowLength(), format)
              .chooseFactor());
  }
  return factors;
}

/// The powers of two by which channels that share exponents are multiplied at
/// most: inverses are normal numbers next to any scale that keepRange allows.
static constexpr int kMostOctaves = 32;

/// Powers of two that bring the largest of channels of \p length weights each
/// into one octave.
static std::vector<float> alignChannels(ArrayRef<float> group, size_t length) {
  std::vector<float> tops(group.size() / length);
  for (auto [i, top] : llvm::enumerate(tops))
    for (float value : group.slice(i * length, length))
      top = std::max(top, std::fabs(value));
  const float most = *llvm::max_element(tops);
  std::vector<float> factors;
  for (float top : tops)
    factors.push_back(
        top >= 0x1p-64f && most <= 0x1p64f
            ? std::ldexp(1.0f, std::min(std::ilogb(most) - std::ilogb(top),
                                        kMostOctaves))
            : 1);
  return factors;
}

/// Factors of channels that share exponents: powers of two that bring their
/// largest weights into one octave, so that the elements of a block lose no
/// bits to those of another channel, times factors that raise none of the
/// exponents.
static std::vector<float> chooseSharedFactors(const ChannelView &view,
                                              ArrayRef<float> values,
                                              BlockType type) {
  const numerics::BlockFormat format = formatOf(type);
  const int64_t rows = type.getRows();
  std::vector<float> all;
  for (int64_t first = 0; first < view.size(); first += rows) {
    const int64_t count = std::min(rows, view.size() - first);
    std::vector<float> group = view.gather(values, first, count);
    const size_t length = group.size() / count;
    const std::vector<float> powers = alignChannels(group, length);
    std::vector<float> tops;
    auto channel = [&](int64_t i) {
      return llvm::MutableArrayRef(group).slice(i * length, length);
    };
    for (int64_t i = 0; i < count; ++i) {
      for (float &value : channel(i))
        value *= powers[i];
      const std::vector<float> own =
          numerics::blockTops(channel(i), view.getRowLength(), format);
      tops.resize(own.size());
      for (auto [top, most] : llvm::zip_equal(tops, own))
        top = std::max(top, most);
    }
    for (int64_t i = 0; i < count; ++i)
      all.push_back(powers[i] * numerics::ChannelRounding(channel(i),
                                                          view.getRowLength(),
                                                          format, tops)
                                    .chooseFactor());
  }
  return all;
}

/// Channels whose scale has no headroom keep their weights.
static void keepRange(std::vector<float> &factors, ArrayRef<float> scale) {
  for (auto [factor, value] : llvm::zip(factors, scale))
    if (float size = std::fabs(value);
        size != 0 && !(size >= 0x1p-64f && size <= 0x1p64f))
      factor = 1;
}

void ScaleChannels::scaleWeights(EncodeOp op) {
  BlockType type = getBlockType(op.getOutput().getType());
  const ElementsAttr weights = floatConstant(op.getInput());
  SmallVector<Operation *> products(op->getUsers());
  // Whatever else reads weights (plan_c3) would see them scaled.
  auto isWeight = [](OpOperand &use) {
    return isa<ConvOp, MatmulOp>(use.getOwner()) && use.getOperandNumber() == 1;
  };
  if (!weights || type.isWholeTensor() || products.empty() ||
      !llvm::all_of(op->getUses(), isWeight) ||
      llvm::any_of(products, addsIntegers))
    return;
  const nn::FloatElements values(weights);
  if (values.get().empty())
    return;
  auto shaped = cast<RankedTensorType>(op.getInput().getType());
  ChannelView view(shaped, isa<ConvOp>(products.front()));
  std::vector<float> factors =
      type.sharesRows() ? chooseSharedFactors(view, values.get(), type)
                        : chooseFactors(view, values.get(), type);
  for (Operation *product : products)
    if (Value scale = scaleOf(product)) {
      std::vector<float> old = readConstant(scale);
      if (old.empty())
        return;
      keepRange(factors, old);
    }
  int64_t scaled = llvm::count_if(factors, [](float f) { return f != 1; });
  if (scaled == 0)
    return;
  numScaled += scaled;
  for (Operation *product : products) {
    Value old = scaleOf(product);
    std::vector<float> scale =
        old ? readConstant(old) : std::vector<float>(factors.size(), 1);
    for (auto [value, factor] : llvm::zip(scale, factors))
      value /= factor;
    Location loc = NameLoc::get(StringAttr::get(
        &getContext(), analysis::getNodeName(product->getLoc()) + ".scale"));
    setScale(product, makeConstant(product, loc, view.size(), scale));
    eraseIfUnused(old);
  }
  Value old = op.getInput();
  op.getInputMutable().assign(scaleConstant(op, view, factors));
  eraseIfUnused(old);
}

} // namespace ashlar::bfp
