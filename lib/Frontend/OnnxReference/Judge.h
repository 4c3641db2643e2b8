// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a value is not what a node defines.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_JUDGE_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_JUDGE_H

#include "Call.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::onnxref {

/// The outcome for one value.
struct Judgement {
  /// Largest difference of floats relative to the largest element of what is
  /// defined, where nothing explains it.
  double worst = 0;
  /// What differs beyond the tolerance; empty if nothing does.
  std::string text;
};

/// Judges `found` against `defined`. `variants` gives what the node defines for
/// operands that are moved a little (moved()); it is asked only if something
/// differs. A difference within what these give, widened by the tolerance, is
/// the rounding of operands: a sum that is nearly 0, a number nearly between
/// two integers.
Judgement judge(const Tensor &defined, const Tensor &found, double tolerance,
                llvm::function_ref<std::vector<Tensor>()> variants);

/// Ways in which operands are moved.
inline constexpr int numMoves = 4;

/// `x` with every float moved by 2^-22 of itself, a few roundings to binary32:
/// all up, all down, or by chance, as `move` says; `salt` tells operands apart.
Tensor moved(const Tensor &x, int move, uint64_t salt);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_JUDGE_H
