// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the actions of one instruction go, and what several kinds of
// instructions count alike.

#ifndef ASHLAR_LIB_ENERGY_SINK_H
#define ASHLAR_LIB_ENERGY_SINK_H

#include "ashlar/Energy/Counter.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::energy {

/// A dimension of a pattern: \p count steps of \p stride.
struct Step {
  uint64_t count;
  int64_t stride;
};

/// Elements that pass when a pattern is walked, outermost dimension first.
/// Innermost dimensions of stride 0 cost nothing: the element stays.
inline uint64_t streamed(llvm::ArrayRef<Step> steps) {
  while (!steps.empty() && steps.back().stride == 0)
    steps = steps.drop_back();
  uint64_t product = 1;
  for (const Step &step : steps)
    product = times(product, step.count);
  return product;
}

/// A tensor in SB: channels over partitions, a pattern in each.
struct Operand {
  isa::ElemType type;
  uint32_t mantissa;
  uint64_t part;
  uint64_t channels;
  llvm::ArrayRef<Step> steps;
};

struct ActionCounter::Sink {
  const machine::Description &machine;
  const Measured &measured;
  ActionCounts &counts;

  void add(Action action, uint64_t count) { counts.add(action, count); }

  /// Rows of exponent memory beside \p channels channels from partition
  /// \p part on. Channel tiles continue in further cells of the same rows.
  uint64_t cellRows(uint64_t part, uint64_t channels) const {
    const uint64_t group = machine.xmGroup;
    return channels == 0 ? 0 : (part + channels - 1) / group - part / group + 1;
  }

  void read(const Operand &operand) {
    transfer(operand, Action::SbRead, Action::XmRead);
  }
  void write(const Operand &operand) {
    transfer(operand, Action::SbWrite, Action::XmWrite);
  }

  /// The register that an encode merges into, or takes its exponent from.
  void encodeRegister(isa::ElemType type, bool given) {
    if (type != isa::ElemType::Bfp)
      return;
    add(Action::XrRead, 2);
    if (!given)
      add(Action::XrWrite, 2);
  }

  /// Operations of ACT or VEC, whose cheap ones are \p cheapest.
  void operations(Action cheapest, machine::VecCost cost, uint64_t count) {
    add(static_cast<Action>(static_cast<unsigned>(cheapest) +
                            static_cast<unsigned>(cost)),
        count);
  }

private:
  /// An encoded element comes with its cell, which the partitions of a group
  /// share.
  void transfer(const Operand &operand, Action bytes, Action cells) {
    const uint64_t positions = streamed(operand.steps);
    add(bytes, times(times(positions, operand.channels),
                     isa::elementBytes(operand.type, operand.mantissa)));
    if (operand.type == isa::ElemType::Bfp)
      add(cells, times(positions, cellRows(operand.part, operand.channels)));
  }
};

/// The class of a function or reduction; what has no class counts as the most
/// expensive.
machine::VecCost costOf(isa::Function function);
machine::VecCost costOf(isa::ReduceKind kind);

} // namespace ashlar::energy

#endif // ASHLAR_LIB_ENERGY_SINK_H
