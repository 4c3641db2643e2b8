// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between views as transfers of lib/Machine, ordered and cut: code
// generation makes descriptors of them, predictors add up what they take. So
// both see the same runs, bursts, ports and parts.

#ifndef ASHLAR_ANALYSIS_COST_COPYNEST_H
#define ASHLAR_ANALYSIS_COST_COPYNEST_H

#include "ashlar/Analysis/View.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::analysis {

/// A copy of elements, or of exponent cells, with its loops in their order.
struct CopyNest {
  machine::Transfer transfer;
  isa::Memory memory[2]; ///< of source and result
  /// Parts that it is worth, at most one for each queue but for stores.
  int64_t parts = 1;
  /// The loop that is cut into parts; the number of loops if there is none.
  size_t cut = 0;
  bool inOneQueue = false; ///< All its parts, one after the other.
  /// Elements of a fill do not move: only the side that is written counts.
  bool fills = false;

  bool isCut() const { return parts > 1 && cut < transfer.loops.size(); }
};

/// Told every nest of a copy in order; false ends the walk.
using CopyVisitor = llvm::function_ref<bool(const CopyNest &)>;

/// One side of a copy at address \p base of \p memory.
machine::TransferSide transferSide(isa::Memory memory, int64_t base,
                                   const machine::Description &machine);

/// The pattern that copies a whole tensor of \p shape onto an equal one.
npu::AccessPattern identityPattern(llvm::ArrayRef<int64_t> shape);

/// Visits the copies that do \p pattern from \p source to \p result, the
/// elements first, then the exponent cells of encoded ones. Every index of the
/// pattern lies inside both views, which have the same storage type.
void forEachCopy(const View &source, const View &result,
                 const npu::AccessPattern &pattern,
                 const machine::Description &machine, CopyVisitor visit);

/// The exponent cells of encoded elements alone, index by index; none of plain
/// elements.
void forEachCellCopy(const View &source, const View &result,
                     const npu::AccessPattern &pattern,
                     const machine::Description &machine, CopyVisitor visit);

/// Visits the fills of all elements of \p view, or of its exponent cells.
void forEachFill(const View &view, bool cells,
                 const machine::Description &machine, CopyVisitor visit);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_COPYNEST_H
