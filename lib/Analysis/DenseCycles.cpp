// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array cycles of convolutions with stationary weights.

#include "ashlar/Analysis/DenseCycles.h"

#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

int64_t arrayCycles(npu::PeConvOp conv, const Lanes &lanes,
                    const machine::Description &machine) {
  auto out = shapeOf(conv.getY());
  StorageType x = storageOf(conv.getX()), w = weightStorage(conv);
  int64_t passes = machine::pePasses(machine, x.digitBits(), w.digitBits());
  int64_t positions = out[0];
  for (int64_t extent : out.drop_front(2))
    positions *= extent;
  int64_t width = out.back();
  int64_t group = std::max<int64_t>(machine.psum.banks / 2, 1) *
                  static_cast<int64_t>(machine.psum.entriesPerBank);
  int64_t cycles = 0;
  ProductShape product = productShape(conv);
  for (const auto &column : planStationary(product, machine))
    for (const auto &tile : column.tiles)
      for (int64_t at = 0; at < positions; at += group) {
        int64_t part = std::min(group, positions - at);
        // Rows end with a step of their own.
        int64_t steps = llvm::divideCeil(part, width) *
                        llvm::divideCeil(std::min(part, width), lanes.count);
        int64_t load =
            llvm::divideCeil(tile.rows, machine.pe.loadRowsPerCycle) *
            w.bytes();
        cycles += static_cast<int64_t>(
            machine::peTile(machine, steps * passes, load));
      }
  return cycles;
}

llvm::SmallVector<Lanes, 6> laneFolds(int64_t channels, int64_t width,
                                      const machine::Description &machine) {
  int64_t rows = machine.pe.rows;
  llvm::SmallVector<Lanes, 6> lanes;
  if (rows > static_cast<int64_t>(machine.sb.partitions))
    return lanes;
  auto unit = static_cast<int64_t>(
      std::max<uint64_t>(machine.pe.rowGroupGranularity, 1));
  for (int64_t count = 2; count <= rows; ++count) {
    int64_t pitch = rows / count;
    if (rows % count == 0 && pitch % unit == 0 &&
        pitch % static_cast<int64_t>(machine.xmGroup) == 0 &&
        pitch >= channels && count <= width && count < 256)
      lanes.push_back({count, pitch});
  }
  return lanes;
}

} // namespace ashlar::analysis
