// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation: planned npu operations to a program of the machine.

#ifndef ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
#define ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace ashlar {

/// What the weights of a program take in DRAM, with the zeros that the tiles of
/// grouped convolutions add and the padding between chunks.
struct WeightStorage {
  int64_t weights = 0; ///< elements of the streamed weight tensors
  int64_t mantissaBytes = 0;
  int64_t exponentBytes = 0;
  int64_t parameterBytes = 0; ///< ACT records: scale, bias, exponent, alpha

  int64_t weightBytes() const { return mantissaBytes + exponentBytes; }
  /// 0 without weights.
  double bitsPerWeight() const {
    return weights > 0 ? 8.0 * static_cast<double>(weightBytes()) /
                             static_cast<double>(weights)
                       : 0;
  }
};

/// Replaces the function `main` of a module that has left the plan phase by an
/// `isa.program`, right when executed in program order; semaphores are the
/// matter of ashlar-isa-insert-semaphores. Errors: Capacity for what the
/// machine has too little of, Unsupported for what no instruction expresses;
/// both name the ONNX node.
/// \p storage, if given, receives what the weights take.
llvm::Error convertNPUToISA(mlir::ModuleOp module,
                            WeightStorage *storage = nullptr);

/// The same as the pass `ashlar-convert-npu-to-isa`.
std::unique_ptr<mlir::Pass> createConvertNPUToISAPass();
void registerConvertNPUToISAPass();

} // namespace ashlar

#endif // ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
