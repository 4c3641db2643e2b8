// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes that hold the plan of the state buffer.

#ifndef ASHLAR_ANALYSIS_PLANATTRIBUTES_H
#define ASHLAR_ANALYSIS_PLANATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace ashlar::npu {

/// First byte of every partition that weights loaded during an operation may
/// use: the ring reaches from there to the end of the partition.
inline constexpr llvm::StringLiteral kRingAttr = "npu.ring";
/// Byte offset of a resident result in every partition; -1: DRAM.
inline constexpr llvm::StringLiteral kPlacementAttr = "npu.placement";
/// Why a result that is not resident lies in DRAM, as text.
inline constexpr llvm::StringLiteral kInDramAttr = "npu.in_dram";
/// Extents of one tile of the result.
inline constexpr llvm::StringLiteral kTileAttr = "npu.tile";
/// [base, bytes of one slot, slots]: scratch memory of the operation.
inline constexpr llvm::StringLiteral kScratchAttr = "npu.scratch";

} // namespace ashlar::npu

#endif // ASHLAR_ANALYSIS_PLANATTRIBUTES_H
