// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores weights in the fewest bits that hold the very same numbers. Input and
// output: the plan with weights encoded from constants.

#include "ChannelView.h"

#include "ashlar/Numerics/Encode.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <bit>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_NARROWWEIGHTS
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {
/// The narrowest mantissa of the instruction set.
constexpr int kLeastMantissa = 3;

struct NarrowWeights : impl::NarrowWeightsBase<NarrowWeights> {
  using NarrowWeightsBase::NarrowWeightsBase;

protected:
  void runOnOperation() override {
    getOperation().walk([&](EncodeOp op) {
      if (op.getWeights())
        narrow(op);
    });
  }

private:
  void narrow(EncodeOp op);
};
} // namespace

/// Low bits of the mantissas of channels that share exponents, \p length
/// elements each, that are 0 in all of them; none where blocks are so far apart
/// that the array rounds some of them away, which fewer bits would do in
/// another place.
static int countSpareBits(ArrayRef<float> channels, size_t length,
                          int64_t rowLength, BlockType type, int most) {
  const auto width = static_cast<int>(type.getMantissa());
  const int64_t block =
      type.getBlock() > 0 ? static_cast<int64_t>(type.getBlock()) : rowLength;
  std::vector<float> values;
  std::vector<int16_t> mantissas;
  numerics::EncodeCounters counters;
  int low = numerics::kZeroBlock, high = numerics::kZeroBlock;
  for (size_t row = 0; row < length && most > 0; row += rowLength)
    for (int64_t first = 0; first < rowLength && most > 0; first += block) {
      const int64_t count = std::min(block, rowLength - first);
      values.clear();
      for (size_t at = row + first; at < channels.size(); at += length)
        llvm::append_range(values, channels.slice(at, count));
      mantissas.resize(values.size());
      const int cell =
          numerics::encodeBlock(ArrayRef(values), width, mantissas, counters);
      if (cell == numerics::kZeroBlock)
        continue;
      low = low == numerics::kZeroBlock ? cell : std::min(low, cell);
      high = std::max(high, cell);
      for (int16_t mantissa : mantissas)
        if (mantissa != 0)
          most =
              std::min(most, std::countr_zero(static_cast<uint16_t>(mantissa)));
    }
  return high - low > static_cast<int>(type.getRange()) ? 0 : most;
}

namespace {
/// The weights of an encode, read as far as they are asked for: most need all
/// their bits, which the first channels tell.
class ChannelReader {
public:
  ChannelReader(ElementsAttr elements, const ChannelView &view)
      : elements(elements), view(view) {
    if (!elements.getElementType().isF32() || !view.areApart())
      whole.emplace(elements);
  }

  /// Channels from `first` on, as ChannelView::gather has them; empty where
  /// they cannot be read.
  std::vector<float> read(int64_t first, int64_t count) const {
    if (whole)
      return whole->get().empty() ? std::vector<float>()
                                  : view.gather(whole->get(), first, count);
    const size_t length = view.getLength();
    std::vector<float> part(count * length);
    if (!nn::copyPart(elements, first * length * sizeof(float),
                      {reinterpret_cast<char *>(part.data()),
                       part.size() * sizeof(float)}))
      return {};
    return view.gather(part, 0, count);
  }

private:
  ElementsAttr elements;
  const ChannelView &view;
  std::optional<nn::FloatElements> whole;
};
} // namespace

void NarrowWeights::narrow(EncodeOp op) {
  BlockType type = getBlockType(op.getOutput().getType());
  auto shaped = cast<RankedTensorType>(op.getInput().getType());
  auto isWeight = [](OpOperand &use) {
    return isa<ConvOp, MatmulOp>(use.getOwner()) && use.getOperandNumber() == 1;
  };
  if (type.isWholeTensor() || op->use_empty() ||
      shaped.getNumElements() < leastElements ||
      !llvm::all_of(op->getUses(), isWeight))
    return;
  const ElementsAttr elements = floatConstant(op.getInput());
  if (!elements)
    return;
  ChannelView view(shaped, isa<ConvOp>(*op->user_begin()));
  const ChannelReader reader(elements, view);
  int spare = static_cast<int>(type.getMantissa()) - kLeastMantissa;
  const int64_t rows = type.getRows();
  const int64_t step = llvm::alignTo(ChannelView::kGroup, rows);
  for (int64_t first = 0; first < view.size() && spare > 0; first += step) {
    const int64_t count = std::min(step, view.size() - first);
    const std::vector<float> group = reader.read(first, count);
    if (group.empty())
      return;
    const size_t length = group.size() / count;
    for (int64_t i = 0; i < count && spare > 0; i += rows)
      spare = countSpareBits(
          ArrayRef(group).slice(i * length, std::min(rows, count - i) * length),
          length, view.getRowLength(), type, spare);
  }
  if (spare == 0)
    return;
  ++numNarrowed;
  auto narrower = BlockType::get(
      &getContext(), type.getMantissa() - spare, type.getBlock(),
      type.getRange(), type.getAxis(), /*isUnsigned=*/false, type.getRows());
  op.getOutput().setType(
      cast<RankedTensorType>(op.getOutput().getType()).clone(narrower));
}

} // namespace ashlar::bfp
