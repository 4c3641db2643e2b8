// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the operands of one instruction in SB.

#ifndef ASHLAR_LIB_ISA_SBSTREAMS_H
#define ASHLAR_LIB_ISA_SBSTREAMS_H

#include "Collector.h"
#include "ashlar/Isa/Ports.h"

namespace ashlar::isa {

/// Collects the streams of one instruction: the operand visitor of ports.
class StreamCollector : public OperandVisitor<StreamCollector> {
public:
  StreamCollector(const machine::Description &machine,
                  llvm::SmallVectorImpl<SbStream> &out)
      : machine(machine), out(out) {}

  void tensor(const TensorOperand &o);
  void rows(const RowsOperand &o) {
    stream(o.part, o.part + o.rows, o.offset, o.elementSize(), o.loops);
  }
  void linear(const LinearOperand &o);

  void pooled(const VecPool &x, const TensorOperand &o);
  void moving(const PeMatmul &x, const RowsOperand &o) {
    forMovingRows(x, o, static_cast<int64_t>(machine.pe.rows),
                  [&](const RowsOperand &read) { rows(read); });
  }
  void compressed(const DmaCompress &x, const LinearOperand &o) {
    // A tree is counted first and then written.
    for (unsigned pass = 0; pass < (x.levels ? 2u : 1u); ++pass)
      linear(o);
  }
  void tiles(const DmaTile &x, const TensorOperand &o);

private:
  /// The same pattern in partitions [begin, end), in step.
  void stream(uint64_t begin, uint64_t end, int64_t base, unsigned bytes,
              const Dims &dims, uint64_t reach = 0);

  const machine::Description &machine;
  llvm::SmallVectorImpl<SbStream> &out;
};

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_SBSTREAMS_H
