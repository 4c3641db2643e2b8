// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation: planned npu operations to a program of the machine.

#ifndef ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
#define ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ashlar {

/// What the constants of a node take in DRAM, in bytes by kind.
struct NodeStorage {
  std::string node;         ///< empty: belongs to the program
  int64_t weights = 0;      ///< elements of these constants in the model
  int64_t mantissas = 0;    ///< with zeros that tiles of groups and folds add
  int64_t exponents = 0;    ///< of blocks
  int64_t coefficients = 0; ///< streams of the sparse cluster
  int64_t parameters = 0;   ///< ACT records: scale, bias, exponent, alpha
  int64_t tensors = 0;      ///< as they are in the model
  int64_t padding = 0;      ///< until the next constant may begin
  int64_t omitted = 0;      ///< zeros among mantissas that are not stored

  /// Of constant segments; padding lies between them.
  int64_t segments() const {
    return mantissas + exponents + coefficients + parameters + tensors;
  }
  /// Of everything; 0 without weights.
  double bitsPerWeight() const {
    return weights > 0 ? 8.0 * static_cast<double>(segments() + padding) /
                             static_cast<double>(weights)
                       : 0;
  }
  NodeStorage &operator+=(const NodeStorage &other);
};

/// What the constants of a program take.
struct WeightStorage {
  /// Nodes with constants, in program order.
  std::vector<NodeStorage> nodes;
  NodeStorage total() const;
};

/// The streams of weights that leave their zeros out, or store exponents in few
/// bits (`form` of dma.unpack).
enum class WeightForm {
  Auto, ///< the shortest of each chunk, if the machine has a decoder
  Dense,
  Bitmap, ///< bitmaps where they are shorter than dense streams
  Runs,   ///< the same of runs
  /// As auto, and exponents where that takes fewer bytes and no more cycles.
  AutoExponents,
  Exponents, ///< as auto, and exponents wherever that takes fewer bytes
};

/// Instructions after which a program that need not be made is given up.
struct InstructionLimit {
  uint64_t most;
  bool exceeded = false; ///< It would have more.
};

/// Replaces the function `main` of a module that has left the tile phase by an
/// `isa.program` that is correct when executed in program order;
/// ashlar-isa-insert-semaphores adds the semaphores. Errors: Capacity if the
/// machine has too little of a resource, Unsupported for what no instruction
/// expresses. Both name the ONNX node. \p storage, if given, receives what the
/// constants take. The resources of the context that hold them are named \p
/// dataName and their address. A program beyond \p limit, if given, is a
/// Capacity error.
llvm::Error convertNPUToISA(mlir::ModuleOp module,
                            WeightStorage *storage = nullptr,
                            WeightForm form = WeightForm::Auto,
                            llvm::StringRef dataName = "data",
                            InstructionLimit *limit = nullptr);

/// The same as the pass `ashlar-convert-npu-to-isa`.
std::unique_ptr<mlir::Pass> createConvertNPUToISAPass();
void registerConvertNPUToISAPass();

} // namespace ashlar

#endif // ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
