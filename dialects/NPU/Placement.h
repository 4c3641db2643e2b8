// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of a module about where memory planning places results, and about
// the choices between whole programs.

#ifndef ASHLAR_DIALECTS_NPU_PLACEMENT_H
#define ASHLAR_DIALECTS_NPU_PLACEMENT_H

#include "llvm/ADT/StringRef.h"

namespace ashlar::npu {

/// Unit attribute of a module: where there is room, a result lies in other
/// banks of the state buffer than what its operation reads. No bit of a result
/// depends on it.
inline constexpr llvm::StringLiteral kBanksApartAttr = "npu.banks_apart";

/// #ashlar.decision of a module: why it has that attribute or not.
inline constexpr llvm::StringLiteral kBanksDecisionAttr = "npu.banks_decision";

/// Attribute of the module (unit): exponents of the array's weights lie in DRAM
/// in few bits where that takes no more cycles.
inline constexpr llvm::StringLiteral kPackedExponentsAttr =
    "npu.packed_exponents";
/// Attribute of the module: what decided about it, if both were compared.
inline constexpr llvm::StringLiteral kExponentsDecisionAttr =
    "npu.exponents_decision";

/// #ashlar.decision of a module: which choices were not made by comparing
/// whole programs, and why.
inline constexpr llvm::StringLiteral kComparisonsDecisionAttr =
    "npu.comparisons_decision";

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_PLACEMENT_H
