// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of results in the columns of the array: where the taps of a row are, and
// what every number of rows costs.

#include "ashlar/Analysis/Array/RowPacking.h"

#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Dram.h"

#include <algorithm>
#include <tuple>

namespace ashlar::analysis {

std::optional<int64_t> RowPacking::tapOf(int64_t row, int64_t tap) const {
  const int64_t x = tap % width, y = tap / width % height();
  const int64_t offset = y - row * stride;
  if (offset < 0 || offset % dilation != 0 || offset / dilation >= kernel)
    return std::nullopt;
  const int64_t depth = tap / width / height();
  return (depth * kernel + offset / dilation) * width + x;
}

RowPacking rowPacking(npu::PeConvOp conv, int64_t rows) {
  RowPacking packing;
  auto w = shapeOf(conv.getW());
  if (rows <= 1 || w.size() < 4)
    return packing;
  packing.rows = rows;
  packing.outputs = w[0];
  packing.kernel = w[w.size() - 2];
  packing.width = w.back();
  const size_t height = w.size() - 4;
  packing.stride = conv.getStrides()[height];
  packing.dilation = conv.getDilations()[height];
  return packing;
}

/// More rows gain little: of a kernel of 3 rows, 8 take 42 % of the steps.
static constexpr int64_t kMostRows = 8;

llvm::SmallVector<int64_t, 8>
packableRows(npu::PeConvOp conv, const machine::Description &machine) {
  llvm::SmallVector<int64_t, 8> all{1};
  auto shape = shapeOf(conv.getY());
  if (shape.size() < 4 || conv.getGroup() != 1 ||
      npu::hasStationaryActivations(conv) || !hasStreamedWeights(conv) ||
      npu::patternOf(conv) || npu::poolingOf(conv))
    return all;
  ProductShape product = productShape(conv);
  for (int64_t rows = 2; rows <= std::min(kMostRows, shape[shape.size() - 2]);
       ++rows) {
    product.packing = rowPacking(conv, rows);
    if (packingOf(product, machine).packs())
      all.push_back(rows);
  }
  return all;
}

/// Cycles of DRAM for all tiles with their exponents and records.
static int64_t fetchCycles(npu::PeConvOp conv,
                           llvm::ArrayRef<ColumnTile> columns,
                           const machine::Description &machine) {
  const StorageType type = weightStorage(conv);
  const auto cell = static_cast<int64_t>(machine.xmGroup);
  const int64_t block = std::max<int64_t>(type.format.block, cell);
  int64_t bits = 0;
  for (const ColumnTile &column : columns) {
    for (const StationaryTile &tile : column.tiles)
      bits += tile.rows * column.cols *
              (type.storedBits() + (type.encoded ? 8 / block + 1 : 0));
    bits += column.cols * kParameterBytes * 8;
  }
  return static_cast<int64_t>(machine::dramStreamCycles(
      machine, static_cast<uint64_t>((bits + 7) / 8)));
}

PackingChoice choosePacking(npu::PeConvOp conv, const Lanes &lanes,
                            const machine::Description &machine,
                            const Lanes &result, const WeightPattern *weights) {
  PackingChoice choice;
  ProductShape product = productShape(conv);
  bool inBlocks = product.channelBlock > 0 || product.outputBlock > 0;
  setBlocks(product, lanes, result);
  inBlocks |= product.channelBlock > 0 || product.outputBlock > 0;
  for (int64_t rows : packableRows(conv, machine)) {
    // Columns of several rows do not end where blocks of channels do.
    if (rows > 1 && inBlocks)
      continue;
    product.packing = rowPacking(conv, rows);
    std::vector<ColumnTile> columns = planStationary(product, machine);
    if (weights)
      dropZeroTiles(columns, conv, *weights);
    PackedRows own{rows, denseCycles(conv, lanes, columns, machine, result),
                   fetchCycles(conv, columns, machine)};
    auto rank = [](const PackedRows &packed) {
      return std::tuple(packed.total(), packed.cycles.array);
    };
    choice.alternatives.push_back(own);
    if (rank(own) < rank(choice.chosen()))
      choice.best = choice.alternatives.size() - 1;
  }
  return choice;
}

} // namespace ashlar::analysis
