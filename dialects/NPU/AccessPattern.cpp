// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute form of access patterns.

#include "dialects/NPU/AccessPattern.h"

namespace ashlar::npu {

llvm::SmallVector<int64_t> AccessPattern::toArray(int64_t sourceRank) const {
  llvm::SmallVector<int64_t> array{operand, static_cast<int64_t>(dims.size()),
                                   sourceRank};
  for (const PatternDim &dim : dims)
    array.append({dim.extent, dim.sourceAxis, dim.sourceStep, dim.resultAxis,
                  dim.resultStep});
  array.append(sourceStart.begin(), sourceStart.end());
  array.append(resultStart.begin(), resultStart.end());
  return array;
}

llvm::FailureOr<AccessPattern>
AccessPattern::fromArray(llvm::ArrayRef<int64_t> array) {
  if (array.size() < 3 || array[0] < 0 || array[1] < 0 || array[2] < 0)
    return llvm::failure();
  size_t dimCount = array[1], sourceRank = array[2];
  if (dimCount > array.size() || sourceRank > array.size() ||
      array.size() < 3 + 5 * dimCount + sourceRank)
    return llvm::failure();
  AccessPattern pattern;
  pattern.operand = array[0];
  array = array.drop_front(3);
  for (size_t i = 0; i < dimCount; ++i, array = array.drop_front(5))
    pattern.dims.push_back({array[0], array[1], array[2], array[3], array[4]});
  pattern.sourceStart.assign(array.begin(), array.begin() + sourceRank);
  pattern.resultStart.assign(array.begin() + sourceRank, array.end());
  return pattern;
}

} // namespace ashlar::npu
