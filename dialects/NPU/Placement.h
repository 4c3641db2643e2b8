// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wishes of a module about where memory planning places results.

#ifndef ASHLAR_DIALECTS_NPU_PLACEMENT_H
#define ASHLAR_DIALECTS_NPU_PLACEMENT_H

#include "llvm/ADT/StringRef.h"

namespace ashlar::npu {

/// Unit attribute of a module: where there is room, a result lies in other
/// banks of the state buffer than what its operation reads. No bit of a result
/// depends on it.
inline constexpr llvm::StringLiteral kBanksApartAttr = "npu.banks_apart";

/// Of a module: why it has that attribute or not, a decision for reports.
inline constexpr llvm::StringLiteral kBanksDecisionAttr =
    "ashlar.decision.banks";

/// Of a module: which choices were not made by whole programs, and why; a
/// decision for reports.
inline constexpr llvm::StringLiteral kComparisonsDecisionAttr =
    "ashlar.decision.comparisons";

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_PLACEMENT_H
