// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/NPU/NPUPatterns.h"

#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/MLIRContext.h"

using namespace ashlar::npu;

WeightPatterns &WeightPatterns::of(mlir::MLIRContext *context) {
  return *context->getLoadedDialect<NPUDialect>()
              ->getRegisteredInterface<WeightPatterns>();
}

WeightPatterns::Bits WeightPatterns::find(const Key &key) const {
  llvm::sys::ScopedReader lock(mutex);
  auto found = known.find(key);
  return found == known.end() ? nullptr : found->second;
}

void WeightPatterns::keep(const Key &key, Bits bits) {
  llvm::sys::ScopedWriter lock(mutex);
  const size_t more = bits->size() * sizeof(uint64_t);
  if (bytes + more <= kMostBytes && known.try_emplace(key, bits).second)
    bytes += more;
}
