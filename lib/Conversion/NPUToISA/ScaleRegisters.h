// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which scale-exponent registers encoded values use (docs/Numerics.md 5).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H

#include "ProgramBuilder.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Numerics/ScalePolicy.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"

#include <deque>
#include <map>
#include <optional>

namespace ashlar::codegen {

/// An event whose exponent depends on earlier runs (stats, predict, error). Its
/// registers of the state hold what the program loads when it starts and stores
/// when it ends.
struct StatefulScale {
  numerics::ScalePolicy policy;
  numerics::BlockFormat format;
  unsigned observed = 0; ///< what its producers merge into
  unsigned state = 0;    ///< E, and for predict also the history
};

/// How an encoded result finds and leaves exponents.
struct EncodeRegisters {
  unsigned xr = 0; ///< Merged into, or, if `given`, where exponents are from.
  bool clear = false; ///< What is merged into starts anew.
  bool given = false;
  isa::Overflow overflow = isa::Overflow::Saturate;
  bool repair = false;
  /// Under a given exponent: what collects the blocks' own.
  std::optional<unsigned> own;

  /// Writes the fields of an instruction.
  template <typename Instruction>
  void set(Instruction &inst) const {
    inst.dstXr = xr;
    inst.dstXrClear = clear;
    inst.cellFromXr = given;
    inst.overflow = overflow;
    inst.repair = repair;
    inst.keepOwn = own.has_value();
    inst.ownXr = own.value_or(0);
  }
};

/// Register 0 holds 0, the scale of pre-aligned weights; encoded values get
/// the others, reused after the last reader: the longest unused one first, so
/// that no operation waits for the readers of a register's former value.
/// Constant scales have registers of their own at the end, one for each
/// exponent, set at the start of the program: those of the policy `fixed` by an
/// instruction each, those of `table` by one copy from DRAM. What their
/// producers merge goes to one register that nothing reads. Stateful events
/// have a register for what is observed and, next to each other, those of the
/// state. Where a policy sets the stored exponents, results take them from the
/// register of the constant or of the state.
class ScaleRegisters {
public:
  explicit ScaleRegisters(const machine::Description &machine)
      : machine(machine) {}

  /// Assigns registers to the results of `nodes`, which are in the order of
  /// their code. Errors: Capacity if the machine has too few.
  llvm::Error assign(llvm::ArrayRef<mlir::Operation *> nodes);

  /// The register that the readers of a value read.
  unsigned of(mlir::Value value) const { return readers.lookup(value); }
  /// The registers for encoding the result of `op`; `clear` is true the first
  /// time. Blocks of a whole tensor take their exponent from `xr` whatever the
  /// scale.
  EncodeRegisters resultOf(mlir::Operation *op);
  /// Sets all registers that are constants.
  void emitConstants(ProgramBuilder &builder);
  /// The state of the event that `op` makes, or null.
  const StatefulScale *stateOf(mlir::Operation *op) const;
  /// True the first time: the samples of `op` begin.
  bool beginsSamples(mlir::Operation *op) { return sampled.insert(op).second; }
  /// The result of `op` is complete and sampled: chooses the exponent that its
  /// readers take, and the one of the next run.
  void finish(ProgramBuilder &builder, mlir::Operation *op);
  /// Stores the state; nothing without one.
  void storeState(ProgramBuilder &builder);
  /// The state before the first run, and where it lies in DRAM.
  std::vector<int16_t> initialState() const;
  int64_t stateAddress() const { return address.value_or(0); }

  /// Code generation begins anew: nothing has been cleared.
  void restart() {
    cleared.clear();
    sampled.clear();
  }
  /// The register of all samples: they are taken and used in one queue.
  static constexpr unsigned sampleRegister = 0;

private:
  llvm::Error reserveConstants(llvm::ArrayRef<mlir::Operation *> nodes);
  llvm::Error tooFew() const;
  void reserveState(llvm::ArrayRef<mlir::Operation *> nodes);
  EncodeRegisters storedResultOf(mlir::Operation *op,
                                 const numerics::ScalePolicy &policy);
  unsigned constantOf(const numerics::ScalePolicy &policy) const;
  void finishReaders(ProgramBuilder &builder, mlir::Operation *op,
                     const numerics::ScalePolicy &policy);
  void emitTable(ProgramBuilder &builder);
  void copyState(ProgramBuilder &builder, bool load);

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
  llvm::MapVector<mlir::Operation *, StatefulScale> stateful;
  llvm::DenseSet<mlir::Operation *> sampled;
  unsigned stateBegin = 0, stateSize = 0; ///< registers
  std::optional<int64_t> address;         ///< of the state in DRAM
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_SCALEREGISTERS_H
