// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small constant operands that stay in the state buffer from the start: slopes,
// scales and biases of vector operations. Loaded where they are needed they
// would cost the latency of DRAM each time. Memory planning and code generation
// share the list.

#ifndef ASHLAR_ANALYSIS_RESIDENTCONSTANTS_H
#define ASHLAR_ANALYSIS_RESIDENTCONSTANTS_H

#include "ashlar/Analysis/View.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace ashlar::analysis {

/// Attribute of the module: first byte of every partition that they take, and
/// how many. Without it there are none.
inline constexpr llvm::StringLiteral kConstantsAttr = "npu.constants";

/// A constant as one operand reads it.
struct ResidentConstant {
  mlir::Value value;
  int64_t axis = -1; ///< across partitions
  View view;
};

/// The constants that staged operands of the module read, in program order, as
/// far as they fit `limit` bytes of every partition from `begin` on. Not those
/// of one bit pattern: these are filled without DRAM.
std::vector<ResidentConstant>
residentConstants(mlir::ModuleOp module, const machine::Description &machine,
                  int64_t begin, int64_t limit);

/// End of the last one; `begin` if there are none.
int64_t endOf(llvm::ArrayRef<ResidentConstant> constants, int64_t begin,
              const machine::Description &machine);

/// The bits of one element of a constant that has the same ones everywhere.
std::optional<uint64_t> uniformBits(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_RESIDENTCONSTANTS_H
