// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the loops of an operand reach every byte at most once.

#include "FieldRules.h"

#include "llvm/ADT/STLExtras.h"
#include <cstdlib>

using namespace ashlar;

bool emulator::isInjective(llvm::ArrayRef<isa::AccessDim> loops,
                           uint64_t bytes) {
  llvm::SmallVector<std::pair<uint64_t, uint64_t>, 5> dims;
  for (const isa::AccessDim &loop : loops)
    if (loop.count > 1)
      dims.push_back(
          {static_cast<uint64_t>(std::abs(loop.stride)), loop.count});
  llvm::sort(dims);
  uint64_t span = bytes;
  for (auto [stride, count] : dims) {
    if (stride < span)
      return false;
    span += stride * (count - 1);
  }
  return true;
}
