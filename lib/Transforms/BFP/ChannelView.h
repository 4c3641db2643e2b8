// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant weights as output channels, which own a scale exponent each. Private
// to the quantise phase.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_CHANNELVIEW_H
#define ASHLAR_LIB_TRANSFORMS_BFP_CHANNELVIEW_H

#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/TypeUtilities.h"

#include <vector>

namespace ashlar::bfp {

/// The constant of one encode, seen as channels of rows of one block axis.
class ChannelView {
public:
  /// Matrix products [K, N] are read for this many outputs at a time: whole
  /// cache lines.
  static constexpr int64_t kGroup = 16;

  ChannelView(mlir::RankedTensorType type, bool isConv) : isConv(isConv) {
    channels = type.getDimSize(isConv ? 0 : 1);
    rowLength = type.getDimSize(isConv ? 1 : 0);
    rows = type.getNumElements() / (channels * rowLength);
  }

  int64_t getRowLength() const { return rowLength; }
  int64_t size() const { return channels; }

  /// Elements of the channels from `first` on, one after the other, rows of
  /// the block axis whole.
  std::vector<float> gather(llvm::ArrayRef<float> values, int64_t first,
                            int64_t count) const {
    const int64_t step = rows * rowLength;
    if (isConv && rows == 1)
      return values.slice(first * step, count * step).vec();
    std::vector<float> result(count * step);
    for (int64_t i = 0; i < rowLength; ++i)
      for (int64_t channel = 0; channel < count; ++channel)
        for (int64_t row = 0; row < rows; ++row)
          result[channel * step + row * rowLength + i] =
              values[isConv ? (first + channel) * step + i * rows + row
                            : i * channels + first + channel];
    return result;
  }

  /// True if channels lie one after the other, each as a whole.
  bool areApart() const { return isConv; }
  int64_t getLength() const { return rows * rowLength; }

  /// Elements of one channel that follow each other.
  int64_t getRunLength() const { return isConv ? rows * rowLength : 1; }

private:
  bool isConv;
  int64_t channels, rows, rowLength;
};

/// The attribute of a constant of binary32 or narrower floats; null for others.
inline mlir::ElementsAttr floatConstant(mlir::Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto element = mlir::dyn_cast<mlir::FloatType>(
      mlir::getElementTypeOrSelf(value.getType()));
  return constant && element && element.getWidth() <= 32 ? constant.getValue()
                                                         : nullptr;
}

/// The elements of a constant of binary32 or narrower floats; empty for others.
inline std::vector<float> readConstant(mlir::Value value) {
  const mlir::ElementsAttr elements = floatConstant(value);
  return elements ? nn::floatElements(elements) : std::vector<float>();
}

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_CHANNELVIEW_H
