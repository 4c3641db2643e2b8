// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the actions of one instruction go, and what several kinds of
// instructions count alike.

#ifndef ASHLAR_LIB_ENERGY_SINK_H
#define ASHLAR_LIB_ENERGY_SINK_H

#include "ashlar/Energy/Counter.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::energy {

/// Elements that pass when a pattern is walked, outermost dimension first.
/// Innermost dimensions of stride 0 cost nothing: the element stays.
inline uint64_t streamed(llvm::ArrayRef<isa::AccessDim> steps) {
  while (!steps.empty() && steps.back().stride == 0)
    steps = steps.drop_back();
  uint64_t product = 1;
  for (const isa::AccessDim &step : steps)
    product = times(product, step.count);
  return product;
}

/// As a visitor of operands: counts tensors as they are walked, and the
/// register of a result's scale exponent.
struct ActionCounter::Sink : isa::OperandVisitor<ActionCounter::Sink> {
  const machine::Description &machine;
  const Measured &measured;
  ActionCounts &counts;

  Sink(const machine::Description &machine, const Measured &measured,
       ActionCounts &counts)
      : machine(machine), measured(measured), counts(counts) {}

  void add(Action action, uint64_t count) { counts.add(action, count); }

  /// Rows of exponent memory beside \p channels channels from partition
  /// \p part on. Channel tiles continue in further cells of the same rows.
  uint64_t cellRows(uint64_t part, uint64_t channels) const {
    const uint64_t group = machine.xmGroup;
    return channels == 0 ? 0 : (part + channels - 1) / group - part / group + 1;
  }

  /// A tensor in SB. An encoded element comes with its cell, which the
  /// partitions of a group share.
  void transfer(const isa::TensorOperand &operand, uint64_t positions) {
    const bool write = operand.writes();
    add(write ? Action::SbWrite : Action::SbRead,
        times(times(positions, operand.ownChannels()), operand.bytes()));
    if (operand.encoded())
      add(write ? Action::XmWrite : Action::XmRead,
          times(positions, cellRows(operand.part, operand.ownChannels())));
  }
  void transfer(const isa::TensorOperand &operand) {
    transfer(operand, streamed(operand.loops));
  }

  /// One side of a copy; DRAM counts whole bursts instead.
  void transfer(const isa::LinearOperand &side);

  /// The register that an encode merges into, or takes its exponent from.
  /// Where both happen, \p keepOwn, those are two registers.
  void encodeRegister(isa::ElemType type, bool given, bool keepOwn = false) {
    if (!isa::isBlock(type))
      return;
    add(Action::XrRead, keepOwn ? 4 : 2);
    if (!given || keepOwn)
      add(Action::XrWrite, 2);
  }

  void tensor(const isa::TensorOperand &operand) { transfer(operand); }
  void scale(const isa::ScaleOperand &operand) {
    encodeRegister(operand.type, operand.given, operand.keepOwn);
  }
  /// Windows overlap: their instruction counts what it reads.
  void pooled(const isa::VecPool &, const isa::TensorOperand &) {}

  /// Operations of ACT or VEC, whose cheap ones are \p cheapest.
  void operations(Action cheapest, machine::VecCost cost, uint64_t count) {
    add(static_cast<Action>(static_cast<unsigned>(cheapest) +
                            static_cast<unsigned>(cost)),
        count);
  }
};

/// The class of a function or reduction; what has no class counts as the most
/// expensive.
machine::VecCost costOf(isa::Function function);
machine::VecCost costOf(isa::ReduceKind kind);

/// What the epilogue of a drain does to \p results results.
void addEpilogue(const isa::ActDrain &op, uint64_t results,
                 ActionCounts &counts);

} // namespace ashlar::energy

#endif // ASHLAR_LIB_ENERGY_SINK_H
