// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small constants as numbers, for what computes on them during import.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_HOSTNUMBERS_H
#define ASHLAR_LIB_FRONTEND_ONNX_HOSTNUMBERS_H

#include "Emitter.h"

#include "ashlar/Support/Tensor.h"
#include "dialects/NN/NNElements.h"

#include <limits>
#include <vector>

namespace ashlar::frontend {

/// Floats of more elements are data, which later phases fold.
inline constexpr int64_t largestResult = 4096;
inline constexpr int64_t largestOperand = 1 << 16;
/// Integers and booleans are indices and masks, which other nodes need to know:
/// those of the windows of an image have a number for each pair of positions.
inline constexpr int64_t largestWhole = 1 << 20;
/// For what requests the numbers of a constant and not for a fold.
inline constexpr int64_t anySize = std::numeric_limits<int64_t>::max();

inline mlir::RankedTensorType tensorOf(Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Bytes of a constant of at most `largest` elements; of integers there may be
/// largestWhole of them in any case.
std::optional<ArrayRef<char>> bytesOf(Value value, nn::ElementStorage &storage,
                                      int64_t largest = largestOperand);

/// A constant as numbers: `reals` for floats, `wholes` for the rest.
struct Numbers {
  bool isFloat = false;
  std::vector<double> reals;
  std::vector<int64_t> wholes;
  size_t size() const { return isFloat ? reals.size() : wholes.size(); }
};

/// The numbers of such a constant.
std::optional<Numbers> numbersIn(Value value, int64_t largest = largestOperand);

/// A constant of these numbers: floats round once; integers wrap.
mlir::ElementsAttr pack(mlir::RankedTensorType type, const Numbers &numbers);

/// Types whose results pack() rounds once. binary16 arithmetic stays for the
/// simplify phase.
bool canPack(Type type);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_HOSTNUMBERS_H
