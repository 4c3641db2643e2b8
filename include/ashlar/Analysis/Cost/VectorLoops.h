// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop nests of vector instructions over views with numpy broadcasting, which
// code generation emits and predictors count.

#ifndef ASHLAR_ANALYSIS_COST_VECTORLOOPS_H
#define ASHLAR_ANALYSIS_COST_VECTORLOOPS_H

#include "ashlar/Analysis/Layout/View.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::analysis {

/// An operand; its axes are aligned with those of the result from the right.
struct VectorOperand {
  const View *view;
};

/// Address of an operand in one instruction.
struct VectorAddress {
  int64_t part = 0;
  int64_t offset = 0;
  int64_t tileStride = 0;
  bool broadcast = false; ///< all channels read channel 0
  llvm::SmallVector<int64_t, 4> stride;
};

/// One instruction: channels and up to `maxDims` merged free dims.
struct VectorLoop {
  int64_t channels = 1;
  llvm::SmallVector<int64_t, 4> count;
  llvm::SmallVector<VectorAddress, 3> addresses; ///< as the operands
};

/// Called for every instruction, in order; returns false to end the walk.
using VectorVisitor = llvm::function_ref<bool(const VectorLoop &)>;

/// Visits every instruction needed to walk over all elements of `result`. The
/// operands have the same partition axis (aligned from the right) or a single
/// element along it. False if the visitor ended the walk.
bool walkVectorLoops(llvm::ArrayRef<VectorOperand> operands, const View &result,
                     const machine::Description &machine, unsigned maxDims,
                     VectorVisitor visit);

/// Calls \p body for every instruction.
inline void
forEachVectorLoop(llvm::ArrayRef<VectorOperand> operands, const View &result,
                  const machine::Description &machine, unsigned maxDims,
                  llvm::function_ref<void(const VectorLoop &)> body) {
  walkVectorLoops(operands, result, machine, maxDims,
                  [&](const VectorLoop &loop) {
                    body(loop);
                    return true;
                  });
}

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_VECTORLOOPS_H
