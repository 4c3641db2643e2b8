// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of two modules of one network, matched by the nodes or planned tensors
// that they carry the names of.

#ifndef ASHLAR_LIB_PIPELINES_MODULECOMPARISON_H
#define ASHLAR_LIB_PIPELINES_MODULECOMPARISON_H

#include "ExactValues.h"
#include "Verify.h"

namespace ashlar::pipelines {

/// Element \p index; 64-bit integers round.
inline double elementOf(const Tensor &tensor, int64_t index) {
  return tensor.isFloat() ? tensor.floats[index]
                          : static_cast<double>(tensor.ints[index]);
}

/// |found - right|; 0 for equal infinities and two NaN, infinite for one NaN.
double differenceOf(double right, double found);

/// Raises `check` to what \p found, values of the module \p later, shows
/// against \p right. Compared are the graph outputs and, per node name, the
/// last value that carries it in both modules, if they have equally many
/// elements; a fused operation may be any of its nodes. Values whose channels a
/// pass has put in another order, and those that depend on no input, are left
/// to their readers. Values after a rounding to integers are not compared: a
/// difference in the last place moves them by a whole step.
void compareModules(const ExactValues &right, mlir::ModuleOp later,
                    const ValueMap &found, PhaseCheck &check);

/// The same after quantise, by name of the planned tensor: each value of an
/// engine in \p later against that of the module after quantise, whose values
/// \p right are.
void comparePlanned(const ExactValues &right, mlir::ModuleOp later,
                    const ValueMap &found, PhaseCheck &check);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MODULECOMPARISON_H
