// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the weights of products are not zero: a bit for each, so that what
// asks only for this need not read and encode large constants again.

#ifndef ASHLAR_DIALECTS_NPU_NPUPATTERNS_H
#define ASHLAR_DIALECTS_NPU_NPUPATTERNS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/Support/RWMutex.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace ashlar::npu {

/// The patterns of a context; the `npu` dialect owns it.
class WeightPatterns : public mlir::DialectInterface::Base<WeightPatterns> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WeightPatterns)

  /// A bit for each weight, by what the key says.
  using Bits = std::shared_ptr<const std::vector<uint64_t>>;
  /// The constant, how it is stored, and the product's sizes and format.
  using Key =
      std::pair<std::pair<const void *, const void *>, std::array<int64_t, 8>>;

  explicit WeightPatterns(mlir::Dialect *dialect) : Base(dialect) {}

  /// That of \p context, which must have loaded the dialect.
  static WeightPatterns &of(mlir::MLIRContext *context);

  /// Null for what is not known.
  Bits find(const Key &key) const;
  /// Does nothing once kMostBytes are kept.
  void keep(const Key &key, Bits bits);

  static constexpr size_t kMostBytes = size_t(32) << 20;

private:
  mutable llvm::sys::RWMutex mutex;
  std::map<Key, Bits> known;
  size_t bytes = 0;
};

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUPATTERNS_H
