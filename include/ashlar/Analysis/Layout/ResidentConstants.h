// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small constant operands that stay in the state buffer for the whole run:
// slopes, scale factors and biases of vector operations. Loading them on demand
// would cost the DRAM latency each time. Memory planning and code generation
// share this list.

#ifndef ASHLAR_ANALYSIS_LAYOUT_RESIDENTCONSTANTS_H
#define ASHLAR_ANALYSIS_LAYOUT_RESIDENTCONSTANTS_H

#include "ashlar/Analysis/Layout/View.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace ashlar::analysis {

/// A constant in the layout in which an operand reads it.
struct ResidentConstant {
  mlir::Value value;
  int64_t axis = -1; ///< across partitions
  View view;
};

/// The constants that staged operands of the module read, in program order, up
/// to `limit` bytes of every partition from `begin` on. Constants of one
/// repeated bit pattern are left out: fills make them without reading DRAM.
std::vector<ResidentConstant>
residentConstants(mlir::ModuleOp module, const machine::Description &machine,
                  int64_t begin, int64_t limit);

/// End of the last one; `begin` if there are none.
int64_t endOf(llvm::ArrayRef<ResidentConstant> constants, int64_t begin,
              const machine::Description &machine);

/// The bits of an element of a constant whose elements are all equal; nothing
/// for any other value.
std::optional<uint64_t> uniformBits(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_RESIDENTCONSTANTS_H
