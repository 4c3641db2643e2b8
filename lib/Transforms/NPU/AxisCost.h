// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What work costs across one axis or another: estimates of the passes that
// assign axes, before any tensor has a layout. Private to the passes of `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_AXISCOST_H
#define ASHLAR_LIB_TRANSFORMS_NPU_AXISCOST_H

#include "ashlar/Machine/Description.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

/// The longest of the allowed axes; -1 if there is none. Ties go to the first.
int64_t longestAxis(llvm::ArrayRef<int64_t> shape,
                    llvm::function_ref<bool(int64_t)> allowed);

/// Elements per partition of a tensor whose partition dimension is \p axis.
int64_t depthAcross(llvm::ArrayRef<int64_t> shape, int64_t axis,
                    int64_t partitions);

/// Cycles of laying \p elements floats anew across another axis, one by one.
int64_t anewCycles(int64_t elements, const machine::Description &machine);

/// True if the vector unit applies \p function to a tensor of \p shape that
/// lies in one partition in fewer cycles across the longest axis, with copies
/// there and back.
bool isWorthSpreading(llvm::ArrayRef<int64_t> shape, llvm::StringRef function,
                      const machine::Description &machine);

/// True if \p op reduces axis \p own of its operand, which lies across
/// partitions, in fewer cycles through the partitions than within those of
/// another axis, with a copy of the operand.
bool reducesThrough(VecReduceOp op, int64_t own,
                    const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_AXISCOST_H
