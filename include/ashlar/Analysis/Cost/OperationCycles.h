// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of an operation on the vector unit and the copy queues,
// before addresses and tiles exist. The prediction applies the formulas of
// lib/Machine to the copies and loops that code generation would emit if the
// operation were a single tile.
//
// Assumptions: the results of other operations are in the state buffer, graph
// inputs and constants in DRAM. Feature maps are dense and contiguous from byte
// 0 of every partition on, which decides the banks that they share. Nothing
// else uses queues or ports at the same time.

#ifndef ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H
#define ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// Cycles of one operation, engine by engine.
struct OperationCycles {
  int64_t vector = 0; ///< all instructions of VEC
  machine::TransferCost copies;
  /// Cycles from the last byte of the copies to their completion.
  int64_t latency = 0;

  /// Cycles of the copies, shared by the queues, up to their completion.
  int64_t copied(const machine::Description &machine) const;
};

/// The cost of copying \p pattern, including its exponent cells.
machine::TransferCost copyCost(const View &source, const View &result,
                               const npu::AccessPattern &pattern,
                               machine::TransferCosts &costs);

/// Cycles of one pass of the vector unit over \p result: a function of class
/// \p cost on \p operands, which are broadcast as in numpy and have the same
/// partition axis. \p store is the conversion of the result.
int64_t mapCycles(llvm::ArrayRef<View> operands, const View &result,
                  machine::VecCost cost, machine::VecStore store,
                  const machine::Description &machine);

/// The conversion that a pass does to store a value of type \p from as \p to.
machine::VecStore storeOf(const StorageType &from, const StorageType &to);

/// Cycles of VEC for an operation that runs on VEC, computed in \p lanes (see
/// workLanesOf() for those of its layout); 0 for all other operations.
int64_t vectorCycles(mlir::Operation *op, const Lanes &lanes,
                     const machine::Description &machine);

/// Cycles of VEC to decode \p map into floats.
int64_t decodeCycles(mlir::Value map, const machine::Description &machine);

/// Cycles of the copies and fills of a data movement whose result is folded by
/// \p lanes, and of its encoding or conversion on VEC; zero if the result is a
/// view. Encoded operands of a plain result are assumed to be decoded already.
OperationCycles moveCycles(npu::DmaMoveOp op, const Lanes &lanes,
                           const machine::Description &machine);
/// The same for callers that compare many: \p costs knows earlier transfers.
OperationCycles moveCycles(npu::DmaMoveOp op, const Lanes &lanes,
                           machine::TransferCosts &costs);

/// Cycles of the queues to copy \p value from fold \p from to fold \p to, up to
/// completion.
int64_t relayCycles(mlir::Value value, int64_t axis, const Lanes &from,
                    const Lanes &to, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H
