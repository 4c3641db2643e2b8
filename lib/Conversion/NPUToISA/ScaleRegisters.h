// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which scale-exponent registers encoded values use (docs/Numerics.md 5).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H

#include "ProgramBuilder.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"

#include <deque>
#include <map>
#include <optional>
#include <set>

namespace ashlar::codegen {

/// Register 0 holds 0, the scale of pre-aligned weights; encoded values get
/// the others, reused after the last reader: the longest unused one first, so
/// that no operation waits for the readers of a register's former value.
/// Constant scales have registers of their own at the end, one for each
/// exponent, set at the start of the program: those of the policy `fixed` by an
/// instruction each, those of `table` by one copy from DRAM. What their
/// producers merge goes to one register that nothing reads.
class ScaleRegisters {
public:
  explicit ScaleRegisters(const machine::Description &machine)
      : machine(machine) {}

  /// Assigns registers to the results of `nodes`, which are in program order.
  /// Errors: Capacity if the machine has too few.
  llvm::Error assign(llvm::ArrayRef<mlir::Operation *> nodes);

  /// The register that the readers of a value read.
  unsigned of(mlir::Value value) const { return readers.lookup(value); }
  /// The register that encoding the result of `op` merges into; `clear` is
  /// true the first time. Blocks of a whole tensor take their exponent from it,
  /// whatever the scale.
  unsigned resultOf(mlir::Operation *op, bool &clear);
  /// Sets all registers that are constants.
  void emitConstants(ProgramBuilder &builder);
  /// Code generation begins anew: nothing has been cleared.
  void restart() { cleared.clear(); }

private:
  llvm::Error reserveConstants(llvm::ArrayRef<mlir::Operation *> nodes);
  llvm::Error tooFew() const;
  void emitTable(ProgramBuilder &builder);

  const machine::Description &machine;
  std::deque<unsigned> free;
  llvm::DenseMap<mlir::Value, unsigned> readers;
  /// Whole-tensor blocks under constant scales.
  llvm::DenseMap<mlir::Value, unsigned> measured;
  llvm::DenseSet<mlir::Value> cleared;
  /// By exponent. The registers of the table are consecutive.
  std::map<int, unsigned> fixed, table;
  std::optional<unsigned> unread;
  std::optional<int64_t> tableAddress; ///< in DRAM
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H
