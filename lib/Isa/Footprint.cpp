// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses per instruction: those of its operands (dialects/ISA), one after the
// other.

#include "Collector.h"

#include <algorithm>

namespace ashlar::isa {

namespace {

/// The input coordinates that a pooling window dimension can read.
struct WindowReach {
  int64_t first;
  uint64_t count;
};

/// Collects what an instruction touches of SB and XM.
class MemoryCollector : public OperandVisitor<MemoryCollector> {
public:
  explicit MemoryCollector(Collector &collector) : collector(collector) {}
  void tensor(const TensorOperand &o) { collector.tensor(o); }
  void rows(const RowsOperand &o) { collector.rows(o); }

private:
  Collector &collector;
};

} // namespace

static WindowReach poolWindow(int64_t in, int64_t out, int64_t k, int64_t s,
                              int64_t p, int64_t d) {
  int64_t first = std::max<int64_t>(0, -p);
  int64_t last = std::min(in - 1, (out - 1) * s - p + (k - 1) * d);
  return {first, last < first ? 0 : static_cast<uint64_t>(last - first + 1)};
}

void Collector::pooled(const VecPool &x, const TensorOperand &o) {
  const WindowReach windows[] = {
      poolWindow(x.inD, x.outD, x.kD, x.sD, x.pD, x.dD),
      poolWindow(x.inH, x.outH, x.kH, x.sH, x.pH, x.dH),
      poolWindow(x.inW, x.outW, x.kW, x.sW, x.pW, x.dW)};
  // The first coordinate moves the base; an offset below zero stays visible
  // through the extra dimensions' base.
  TensorOperand read = o;
  for (unsigned d = 0; d < 3; ++d) {
    if (windows[d].count == 0)
      return;
    read.offset +=
        static_cast<uint64_t>(windows[d].first * read.loops[d].stride);
    read.loops[d].count = windows[d].count;
  }
  tensor(read);
}

void drainMemory(const ActDrain &op, const machine::Description &machine,
                 llvm::SmallVectorImpl<Access> &out) {
  Collector collector(machine, out);
  MemoryCollector memory(collector);
  visitOperands(op, memory);
}

void footprints(const Instruction &inst, const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out) {
  Collector collector(machine, out);
  std::visit([&](const auto &x) { visitOperands(x, collector); }, inst);
}

} // namespace ashlar::isa
