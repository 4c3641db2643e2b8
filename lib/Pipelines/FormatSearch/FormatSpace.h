// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a search for formats may vary: the operands of products, grouped by what
// the quantise phase forces to agree (a tensor with several readers, tensors
// tied by views, concats, pooling). The groups are found by asking that phase,
// so its rules are written down once.

#ifndef ASHLAR_LIB_PIPELINES_FORMATSPACE_H
#define ASHLAR_LIB_PIPELINES_FORMATSPACE_H

#include "../Samples/Evaluate.h"

namespace ashlar::pipelines {

inline numerics::BlockFormat makeFormat(int mantissa, int block = 16,
                                        int range = 7) {
  numerics::BlockFormat format;
  format.mantissa = mantissa;
  format.block = block;
  format.range = range;
  return format;
}

/// Bits of one weight in the program.
inline double storedBits(const numerics::BlockFormat &format) {
  return format.mantissa + 8.0 / format.block;
}

/// One format for all activations, and one for all weights.
numerics::FormatTable makeUniform(numerics::BlockFormat activations,
                                  numerics::BlockFormat weights);

/// What a candidate with two formats is called.
std::string operandsText(numerics::BlockFormat activations,
                         numerics::BlockFormat weights);

/// The table with activations of at most 8 bits and a sign stored without
/// signs where they can be; of 9 bits, in one byte instead of two.
numerics::FormatTable withoutSigns(numerics::FormatTable table);

/// The table with weights one bit narrower, down to `least` bits.
numerics::FormatTable withNarrowerWeights(numerics::FormatTable table,
                                          int least);

/// One operand of one product.
struct Slot {
  std::string node; ///< ONNX node name of the product.
  bool weights = false;
  bool operator==(const Slot &other) const = default;
};

/// Operands that share one format.
struct FormatGroup {
  std::vector<Slot> slots;
  /// Elements of weights known at compile time; 0 for activations.
  uint64_t weights = 0;
};

/// All groups in program order of their first operand; a group whose format
/// the quantise phase does not let go is omitted.
llvm::Expected<std::vector<FormatGroup>>
findFormatGroups(const Evaluator &evaluator);

/// A table of `formats`, one per group, on top of `base`.
numerics::FormatTable makeTable(const numerics::FormatTable &base,
                                llvm::ArrayRef<FormatGroup> groups,
                                llvm::ArrayRef<numerics::BlockFormat> formats);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATSPACE_H
