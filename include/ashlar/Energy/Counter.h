// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The actions of an instruction, in closed form from its fields. docs/Energy.md
// has the formulas; nothing here depends on time or prices.

#ifndef ASHLAR_ENERGY_COUNTER_H
#define ASHLAR_ENERGY_COUNTER_H

#include "ashlar/Energy/Actions.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"

namespace ashlar::energy {

/// What the fields of an instruction do not tell: traffic of DRAM, and what
/// tables, coefficients and data of the sparse cluster decide.
struct Measured {
  uint64_t dramRead = 0, dramWrite = 0; ///< Bytes, whole bursts.
  /// Rows of DRAM that were opened; 0 for models without rows.
  uint64_t rowActivations = 0;
  /// dma.*: bytes moved; act.drain: columns times entries read; host.*: steps.
  uint64_t work = 0;
  /// tcc.run: products of operands, and of their digits.
  uint64_t products = 0, digitProducts = 0;
  /// Bytes that dma.tile writes to or tcc.run reads of all feature-map
  /// memories.
  uint64_t fmuBytes = 0;
  uint64_t streamBytes = 0; ///< Of weight memory that tcc.run reads.
  uint64_t weightBits = 0;  ///< Of its coefficients.
};

/// Walks a program in order: products depend on the stationary set before them.
class ActionCounter {
public:
  explicit ActionCounter(const machine::Description &machine)
      : machine(machine) {}

  /// Adds the actions of \p inst, its fetch included, to \p counts.
  void count(const isa::Instruction &inst, const Measured &measured,
             ActionCounts &counts);

private:
  struct Sink;

  template <typename Op>
  void of(const Op &, Sink &) {}
  void of(const isa::XrSet &, Sink &sink);
  void of(const isa::XrMerge &, Sink &sink);
  void of(const isa::XrSelect &, Sink &sink);
  void of(const isa::XrPick &, Sink &sink);
  void of(const isa::XrPredict &op, Sink &sink);
  void of(const isa::DmaCopy &op, Sink &sink);
  void of(const isa::DmaFill &op, Sink &sink);
  void of(const isa::DmaUnpack &op, Sink &sink);
  void of(const isa::DmaGather &op, Sink &sink);
  void of(const isa::DmaPut &op, Sink &sink);
  void of(const isa::DmaCompress &op, Sink &sink);
  void of(const isa::DmaExpand &op, Sink &sink);
  void of(const isa::DmaTile &op, Sink &sink);
  void of(const isa::PeLoad &op, Sink &sink);
  void of(const isa::PeSwap &op, Sink &sink);
  void of(const isa::PeMatmul &op, Sink &sink);
  void of(const isa::ActDrain &op, Sink &sink);
  void of(const isa::VecMap &op, Sink &sink);
  void of(const isa::VecPool &op, Sink &sink);
  void of(const isa::VecDrain &op, Sink &sink);
  void of(const isa::ActPool &op, Sink &sink);
  void of(const isa::VecReduce &op, Sink &sink);
  void of(const isa::VecReduceChannels &op, Sink &sink);
  void of(const isa::VecStat &op, Sink &sink);
  void of(const isa::VecMeasure &op, Sink &sink);
  void of(const isa::VecGather &op, Sink &sink);
  void of(const isa::TccInit &op, Sink &sink);
  void of(const isa::TccRun &op, Sink &sink);
  void of(const isa::TccNnz &op, Sink &sink);
  void of(const isa::TccPart &op, Sink &sink);
  void of(const isa::HostNonzero &, Sink &sink);
  void of(const isa::HostSort &, Sink &sink);
  void of(const isa::HostUnique &, Sink &sink);
  void of(const isa::HostNms &, Sink &sink);

  const machine::Description &machine;
  /// Bits of an element and those that pass the multipliers, of either set.
  struct Width {
    uint32_t bits = 8, digits = 8;
  };
  Width shadow, active;
};

} // namespace ashlar::energy

#endif // ASHLAR_ENERGY_COUNTER_H
