// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the operands of one instruction in SB.

#ifndef ASHLAR_LIB_ISA_SBSTREAMS_H
#define ASHLAR_LIB_ISA_SBSTREAMS_H

#include "Collector.h"
#include "ashlar/Isa/Ports.h"

namespace ashlar::isa {

/// Collects the streams of one instruction. Dimensions are outermost first.
class StreamCollector {
public:
  StreamCollector(const machine::Description &machine,
                  llvm::SmallVectorImpl<SbStream> &out)
      : machine(machine), out(out) {}

  uint64_t partitions() const { return machine.sb.partitions; }
  uint64_t arrayRows() const { return machine.pe.rows; }

  /// The same pattern in partitions [begin, end), in step.
  void rows(uint64_t begin, uint64_t end, int64_t base, unsigned bytes,
            const Dims &dims, uint64_t reach = 0);
  /// A tensor whose channels run over partitions and then over tiles.
  void tensor(const SbOperand &x, const Dims &dims, uint64_t reach = 0);
  /// A pattern by address.
  void linear(uint64_t base, unsigned bytes, const Dims &dims);

private:
  const machine::Description &machine;
  llvm::SmallVectorImpl<SbStream> &out;
};

/// Reads of the source of vec.pool.
void poolSource(const VecPool &op, StreamCollector &c);

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_SBSTREAMS_H
