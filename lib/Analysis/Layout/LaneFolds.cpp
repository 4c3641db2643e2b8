// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lane folds that array, memories and formats allow.

#include "ashlar/Analysis/Layout/LaneFolds.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::analysis {

bool mayReadLanes(npu::PeConvOp conv) {
  // The instruction counts the pixels that it leaves out in 4 bits.
  constexpr int64_t kMostAdvance = 16;
  return !npu::hasStationaryActivations(conv) &&
         conv.getStrides().back() <= kMostAdvance;
}

/// The folds whose lanes have `pitches` partitions.
static llvm::SmallVector<Lanes, 6>
foldsOfRows(int64_t width, const machine::Description &machine,
            llvm::function_ref<bool(int64_t)> pitches) {
  int64_t rows = machine.pe.rows;
  llvm::SmallVector<Lanes, 6> lanes;
  if (rows > static_cast<int64_t>(machine.sb.partitions))
    return lanes;
  auto unit = static_cast<int64_t>(
      std::max<uint64_t>(machine.pe.rowGroupGranularity, 1));
  for (int64_t count = 2; count <= rows; ++count) {
    int64_t pitch = rows / count;
    if (rows % count == 0 && pitch % unit == 0 &&
        pitch % static_cast<int64_t>(machine.xmGroup) == 0 && pitches(pitch) &&
        count <= width && count < 256)
      lanes.push_back({count, pitch});
  }
  return lanes;
}

llvm::SmallVector<Lanes, 6> laneFolds(int64_t channels, int64_t width,
                                      const machine::Description &machine) {
  return foldsOfRows(width, machine,
                     [&](int64_t pitch) { return pitch >= channels; });
}

/// True if `conv` may take fewer steps in blocks of channels than with whole
/// columns of the array. Of several groups a column uses a part of the rows.
static bool blocksMayGain(npu::PeConvOp conv, const Lanes &lanes,
                          const machine::Description &machine) {
  const int64_t channels = shapeOf(conv.getX())[1];
  return mayReadLanes(conv) &&
         (conv.getGroup() > 1 ||
          lanes.blocks(channels) <
              lanes.count * static_cast<int64_t>(
                                llvm::divideCeil(channels, machine.pe.rows)));
}

llvm::SmallVector<Lanes, 6> blockFolds(mlir::Value map,
                                       const machine::Description &machine) {
  const auto shape = shapeOf(map);
  const StorageType type = storageOf(map);
  if (machine.sb.partitions % machine.pe.rows != 0)
    return {};
  llvm::SmallVector<Lanes, 6> lanes =
      foldsOfRows(shape.back(), machine, [&](int64_t pitch) {
        return pitch < shape[1] &&
               2 * pitch >= static_cast<int64_t>(machine.pe.columns) &&
               (!type.encoded ||
                (type.format.block > 0 && pitch % type.format.block == 0));
      });
  llvm::erase_if(lanes, [&](const Lanes &fold) {
    return llvm::none_of(map.getUsers(), [&](mlir::Operation *user) {
      auto conv = mlir::dyn_cast<npu::PeConvOp>(user);
      return conv && conv.getX() == map && blocksMayGain(conv, fold, machine);
    });
  });
  return lanes;
}

} // namespace ashlar::analysis
