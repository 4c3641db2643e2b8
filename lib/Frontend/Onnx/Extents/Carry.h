// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of the rules for operands with data-dependent extents, by what
// operators have in common. An operand that a step cannot mean is an error of
// the node.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_CARRY_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_CARRY_H

#include "lib/Frontend/Onnx/Node.h"
#include "lib/Frontend/Onnx/Registry.h"

namespace ashlar::frontend {

// The results have the extents of operands (Carry.cpp).

/// numpy broadcasting.
void carryBroadcast(Node &n);
void carryTranspose(Node &n);
/// The axis stays, or it is the outermost and takes in what is inside it.
void carryReshape(Node &n);
void carrySqueeze(Node &n);
void carryUnsqueeze(Node &n);
/// The operator works along attribute `axis`, which has to be another one.
void carryOtherAxis(Node &n);
/// Concat, along an axis with data-dependent extents too.
void joinExtents(Node &n);
/// The axes that a reduction leaves.
void carryReduce(Node &n);
/// Sample by sample: axis 0 of the first operand.
void carryBatch(Node &n);
/// Other axes whole; the first indices of the axis.
void carrySlice(Node &n);

// Work along the axis (Along.cpp).

/// Whether a reduction sums up, or searches, `axis`.
bool reducesAlong(Node &n, int64_t axis);
/// What lies beyond the extent becomes the number that changes nothing.
void prepareReduce(Node &n);
void prepareSoftmax(Node &n);
void prepareTopK(Node &n);
void prepareCumulation(Node &n);
void prepareMatMul(Node &n);
/// ReduceMean, which divides by the extent of the run.
void meanOfExtents(Node &n);
/// The extent of the first operand.
void carrySame(Node &n);
/// No more than the extent has.
void carryTopK(Node &n);
/// Rows of the first operand, columns of the second one, or what both sum up.
void carryMatMul(Node &n);

// Operands that choose (Choose.cpp).

/// Indices beyond the extent become 0. Those of Gather into a data-dependent
/// extent count from its end if negative, and an index outside it is one
/// outside the operand, which ends the run.
void prepareIndices(Node &n);
/// The results have the extents of the indices.
void carryIndices(Node &n);
/// Indices of updates beyond the extent become 0; the scatter leaves them out
/// (Scatter.cpp).
void prepareUpdates(Node &n);
/// The same of the boxes of RoiAlign.
void prepareRegions(Node &n);
void carryRegions(Node &n);
/// Boxes beyond the extent are not selected.
void prepareSuppression(Node &n);
/// What lies beyond the extent is zero, or not chosen.
void prepareZeros(Node &n);
void prepareCondition(Node &n);
/// Shape and Size, as values.
void shapeOfExtents(Node &n);
void sizeOfExtents(Node &n);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_CARRY_H
