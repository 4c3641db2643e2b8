// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation takes of the vector unit and of the copy queues, before
// addresses and tiles exist: the copies and loops that code generation would
// make of it if it were one tile, by the formulas of lib/Machine. Maps lie
// dense, one after the other from the first byte of every partition on; so the
// banks that they share are those of a state buffer filled from its start.
//
// Assumptions: the results of other operations are in the state buffer, graph
// inputs and constants in DRAM; nothing else uses queues or ports meanwhile.

#ifndef ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H
#define ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H

#include "ashlar/Analysis/Lanes.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// Cycles of one operation, engine by engine.
struct OperationCycles {
  int64_t vector = 0; ///< VEC, all instructions
  machine::TransferCost copies;
  /// From the last byte of the copies to their completion.
  int64_t latency = 0;

  /// Of the queues that share the copies, up to their completion.
  int64_t copied(const machine::Description &machine) const;
};

/// The copy of \p pattern; exponent cells go along.
machine::TransferCost copyCost(const View &source, const View &result,
                               const npu::AccessPattern &pattern,
                               const machine::Description &machine);

/// One pass of the vector unit over \p result, a function of class \p cost on
/// \p operands: views with numpy broadcasting that lie across the same axis.
/// The result is written as \p store says.
int64_t mapCycles(llvm::ArrayRef<View> operands, const View &result,
                  machine::VecCost cost, machine::VecStore store,
                  const machine::Description &machine);

/// What storing a value of type \p from as \p to adds to a pass.
machine::VecStore storeOf(const StorageType &from, const StorageType &to);

/// Cycles of VEC for an operation of its own, working in \p lanes (its layout's
/// by default, workLanesOf()); 0 for all others.
int64_t vectorCycles(mlir::Operation *op, const Lanes &lanes,
                     const machine::Description &machine);

/// Cycles of VEC to decode \p map into floats.
int64_t decodeCycles(mlir::Value map, const machine::Description &machine);

/// Copies of a movement whose result lies in \p lanes, fills included, and what
/// VEC encodes or converts of it; nothing if the result is a view. Encoded
/// operands of a plain result are decoded already.
OperationCycles moveCycles(npu::DmaMoveOp op, const Lanes &lanes,
                           const machine::Description &machine);

/// Cycles of the queues, up to completion, that lay \p value anew between the
/// fold in which it lies and another one.
int64_t relayCycles(mlir::Value value, int64_t axis, const Lanes &from,
                    const Lanes &to, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_OPERATIONCYCLES_H
