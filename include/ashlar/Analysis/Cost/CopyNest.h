// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between views as transfers of lib/Machine, ordered and cut into parts.
// Code generation turns them into descriptors, predictors add up their cycles,
// so that both see the same runs, bursts, ports and parts.

#ifndef ASHLAR_ANALYSIS_COST_COPYNEST_H
#define ASHLAR_ANALYSIS_COST_COPYNEST_H

#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::analysis {

/// A copy of elements, or of exponent cells, with its loops in order.
struct CopyNest {
  machine::Transfer transfer;
  isa::Memory memory[2]; ///< of source and result
  /// Number of parts into which cutting pays: at most one for each queue,
  /// except for stores.
  int64_t parts = 1;
  /// The loop that is cut into parts; the number of loops if there is none.
  size_t cut = 0;
  bool inOneQueue = false; ///< All parts go to the same queue.
  /// A fill: nothing is read, only the written side counts.
  bool fills = false;

  bool isCut() const { return parts > 1 && cut < transfer.loops.size(); }
};

/// Called for every nest of a copy, in order; returns false to end the walk.
using CopyVisitor = llvm::function_ref<bool(const CopyNest &)>;

/// One side of a copy, at address \p base of \p memory.
machine::TransferSide transferSide(isa::Memory memory, int64_t base,
                                   const machine::Description &machine);

/// The pattern that copies a whole tensor of \p shape to another.
npu::AccessPattern identityPattern(llvm::ArrayRef<int64_t> shape);

/// Visits the copies that perform \p pattern from \p source to \p result: first
/// the elements, then the exponent cells if they are encoded. All indices of
/// the pattern must be inside both views, which have the same storage type. \p
/// costs orders and cuts them.
void forEachCopy(const View &source, const View &result,
                 const npu::AccessPattern &pattern,
                 machine::TransferCosts &costs, CopyVisitor visit);

/// Visits only the copies of exponent cells, index by index; none for plain
/// elements.
void forEachCellCopy(const View &source, const View &result,
                     const npu::AccessPattern &pattern,
                     machine::TransferCosts &costs, CopyVisitor visit);

/// Visits the fills of all elements of \p view, or of its exponent cells.
void forEachFill(const View &view, bool cells, machine::TransferCosts &costs,
                 CopyVisitor visit);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_COPYNEST_H
