// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verification of the block type and the geometry of encoded tensors.
// Assumption: shapes are static (the `nn` dialect guarantees it).

#include "dialects/BFP/BFPTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::bfp {

LogicalResult BlockType::verify(function_ref<InFlightDiagnostic()> emitError,
                                unsigned mantissa, int64_t block,
                                unsigned range, int64_t axis, bool isUnsigned,
                                unsigned rows) {
  if (mantissa < 3 || mantissa > 16)
    return emitError() << "expected 3 to 16 mantissa bits, found " << mantissa;
  if (block != kWholeAxis && block != kWholeTensor &&
      !llvm::is_contained({8, 16, 32, 64}, block))
    return emitError() << "expected a block of 8, 16, 32, 64, 'axis' or "
                          "'tensor', found "
                       << block;
  if (!llvm::is_contained({0u, 1u, 3u, 7u, 15u}, range))
    return emitError() << "expected a range of 0, 1, 3, 7 or 15 octaves, found "
                       << range;
  if (isUnsigned && (mantissa < 4 || mantissa > 9))
    return emitError() << "expected 4 to 9 mantissa bits of which the sign is "
                          "not stored, found "
                       << mantissa;
  if (axis < 0)
    return emitError() << "expected a block axis of at least 0, found " << axis;
  if (rows == 0)
    return emitError() << "expected at least 1 row that shares exponents";
  if (rows > 1 && (axis > 1 || isUnsigned || block == kWholeTensor))
    return emitError() << "expected rows that share exponents only of weights "
                          "with signs, with a block axis of 0 or 1 and blocks "
                          "that are not the whole tensor, found "
                       << rows << " rows";
  return success();
}

BlockType BlockType::withAxis(int64_t axis) const {
  return get(getContext(), getMantissa(), getBlock(), getRange(), axis,
             getIsUnsigned(), getRows());
}

bool BlockType::fitsShape(ArrayRef<int64_t> shape) const {
  return std::max(getAxis(), sharesRows() ? int64_t(1) : int64_t(0)) <
         static_cast<int64_t>(shape.size());
}

bool BlockType::sameFormat(BlockType other) const {
  return getMantissa() == other.getMantissa() &&
         getBlock() == other.getBlock() && getRange() == other.getRange() &&
         getIsUnsigned() == other.getIsUnsigned() &&
         getRows() == other.getRows();
}

BlockType getBlockType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<BlockType>(tensor.getElementType()) : BlockType();
}

int64_t getBlockLength(BlockType type, ArrayRef<int64_t> shape) {
  if (type.isWholeAxis() || type.isWholeTensor())
    return shape[type.getAxis()];
  return type.getBlock();
}

int64_t getNumBlocks(BlockType type, ArrayRef<int64_t> shape) {
  int64_t extent = shape[type.getAxis()];
  if (type.isWholeAxis() || type.isWholeTensor() || extent == 0)
    return 1;
  return llvm::divideCeil(extent, type.getBlock());
}

SmallVector<int64_t> getExponentShape(BlockType type, ArrayRef<int64_t> shape) {
  if (type.isWholeTensor())
    return SmallVector<int64_t>(shape.size(), 1);
  SmallVector<int64_t> result(shape);
  result[type.getAxis()] = getNumBlocks(type, shape);
  if (type.sharesRows())
    result[type.getRowAxis()] = llvm::divideCeil(
        shape[type.getRowAxis()], static_cast<int64_t>(type.getRows()));
  return result;
}

std::optional<int64_t> mapAxisThroughReshape(ArrayRef<int64_t> from,
                                             int64_t axis,
                                             ArrayRef<int64_t> to) {
  int64_t before = llvm::product_of(from.take_front(axis));
  int64_t prefix = 1;
  std::optional<int64_t> first;
  for (auto [index, extent] : llvm::enumerate(to)) {
    if (prefix == before && extent == from[axis]) {
      // Several dimensions of extent 1 may qualify: the same number is the
      // least surprising one.
      if (static_cast<int64_t>(index) == axis)
        return axis;
      if (!first)
        first = index;
    }
    prefix *= extent;
  }
  return first;
}

std::optional<int64_t> mapBlocksThroughReshape(ArrayRef<int64_t> from,
                                               int64_t axis,
                                               ArrayRef<int64_t> to,
                                               int64_t block) {
  if (std::optional<int64_t> same = mapAxisThroughReshape(from, axis, to))
    return same;
  if (block <= 0 || from[axis] % block != 0)
    return std::nullopt;
  // Elements of both axes that follow each other are equally far apart, and
  // both axes count whole blocks: the blocks are the same ones.
  const int64_t after = llvm::product_of(from.drop_front(axis + 1));
  int64_t suffix = 1;
  for (auto index = static_cast<int64_t>(to.size()) - 1;
       index >= 0 && suffix <= after; --index) {
    if (suffix == after && to[index] > 1)
      return to[index] % block == 0 ? std::optional(index) : std::nullopt;
    suffix *= to[index];
  }
  return std::nullopt;
}

bool concatKeepsBlocks(BlockType type, int64_t concatAxis,
                       ArrayRef<int64_t> extents) {
  if (type.isWholeTensor())
    return extents.size() <= 1;
  if (concatAxis != type.getAxis())
    return true;
  if (type.isWholeAxis())
    return extents.size() <= 1;
  return llvm::all_of(extents.drop_back(), [&](int64_t extent) {
    return extent % type.getBlock() == 0;
  });
}

bool sliceKeepsBlocks(BlockType type, ArrayRef<int64_t> shape,
                      ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                      ArrayRef<int64_t> sizes) {
  if (type.isWholeTensor())
    return sizes == shape;
  int64_t axis = type.getAxis();
  if (starts[axis] == 0 && steps[axis] == 1 && sizes[axis] == shape[axis])
    return true;
  if (type.isWholeAxis() || steps[axis] != 1)
    return false;
  int64_t end = starts[axis] + sizes[axis];
  return starts[axis] % type.getBlock() == 0 &&
         (end % type.getBlock() == 0 || end == shape[axis]);
}

} // namespace ashlar::bfp
