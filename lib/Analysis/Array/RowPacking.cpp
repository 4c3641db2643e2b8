// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of results in the columns of the array: where the taps of a row are, and
// what every number of rows costs.

#include "ashlar/Analysis/Array/RowPacking.h"

#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Dram.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

namespace ashlar::analysis {

int64_t RowPacking::firstStep() const {
  return apart ? llvm::divideFloorSigned(-pad, rows) : 0;
}

int64_t RowPacking::height() const {
  const int64_t last = (rows - 1) * stride + (kernel - 1) * dilation;
  return apart ? llvm::divideFloorSigned(last - pad, rows) - firstStep() + 1
               : last + 1;
}

std::optional<int64_t> RowPacking::tapOf(int64_t row, int64_t tap,
                                         int64_t group) const {
  const int64_t x = tap % width, step = tap / width % height();
  const int64_t y = apart ? (firstStep() + step) * rows + group + pad : step;
  const int64_t offset = y - row * stride;
  if (offset < 0 || offset % dilation != 0 || offset / dilation >= kernel)
    return std::nullopt;
  const int64_t depth = tap / width / height();
  return (depth * kernel + offset / dilation) * width + x;
}

RowPacking rowPacking(npu::PeConvOp conv, int64_t rows, bool apart) {
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
  packing.apart = apart;
  packing.channels = w[1];
  packing.pad = conv.getPads()[height];
  return packing;
}

/// More rows gain little: of a kernel of 3 rows, 8 take 42 % of the steps.
static constexpr int64_t kMostRows = 8;
/// The part of the memory that the copy of an operand with its rows apart may
/// take: it lies next to the operand itself and to the result.
static constexpr int64_t kRoomApart = 8;

/// True if a copy of the operand in `lanes` leaves room for what else is
/// needed.
static bool hasRoomApart(npu::PeConvOp conv, const Lanes &lanes,
                         const machine::Description &machine) {
  const Shape stored = storedShape(shapeOf(conv.getX()), lanes);
  return bufferBytes(storageOf(conv.getX()), stored, lanes.across, machine) *
             kRoomApart <=
         static_cast<int64_t>(machine.sb.bytesPerPartition);
}

bool mayReadApart(npu::PeConvOp conv, int64_t rows,
                  const machine::Description &machine) {
  const StorageType type = storageOf(conv.getX());
  const auto shape = shapeOf(conv.getX());
  if (shape.size() < 4 || rows < 2 || shape[shape.size() - 2] % rows != 0)
    return false;
  const Lanes lanes = lanesApart(conv, rows);
  if (type.encoded && (type.blockAxis != lanes.across ||
                       lanes.pitch % static_cast<int64_t>(machine.xmGroup)))
    return false;
  ProductShape product = productShape(conv);
  product.packing = rowPacking(conv, rows, /*apart=*/true);
  return packingOf(product, machine).packs();
}

llvm::SmallVector<RowPacking, 8>
rowPackings(npu::PeConvOp conv, const Lanes &lanes,
            const machine::Description &machine) {
  llvm::SmallVector<RowPacking, 8> all{RowPacking()};
  auto shape = shapeOf(conv.getY());
  if (shape.size() < 4 || conv.getGroup() != 1 ||
      npu::hasStationaryActivations(conv) || !hasStreamedWeights(conv) ||
      npu::patternOf(conv) || npu::poolingOf(conv))
    return all;
  if (npu::tuningOf(conv).getPackRows() == npu::RowPackingMode::Off)
    return all;
  ProductShape product = productShape(conv);
  const int64_t most = std::min(kMostRows, shape[shape.size() - 2]);
  for (int64_t rows = 2; rows <= most; ++rows) {
    product.packing = rowPacking(conv, rows);
    if (packingOf(product, machine).packs())
      all.push_back(product.packing);
  }
  for (int64_t rows = 2; rows <= most && !lanes.folded(); ++rows)
    if (mayReadApart(conv, rows, machine) &&
        hasRoomApart(conv, lanesApart(conv, rows), machine))
      all.push_back(rowPacking(conv, rows, /*apart=*/true));
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
  choice.mode = npu::tuningOf(conv).getPackRows();
  for (const RowPacking &packing : rowPackings(conv, lanes, machine)) {
    // Columns of several rows do not end where blocks of channels do.
    if (packing.packs() && inBlocks)
      continue;
    product.packing = packing;
    std::vector<ColumnTile> columns = planStationary(product, machine);
    if (weights)
      dropZeroTiles(columns, conv, *weights);
    PackedRows own{packing.rows, packing.apart,
                   denseCycles(conv, lanes, columns, machine, result),
                   fetchCycles(conv, columns, machine)};
    if (packing.apart)
      own.copies = relayCycles(conv.getX(), /*axis=*/1, Lanes(),
                               lanesApart(conv, packing.rows), machine);
    auto rank = [&](const PackedRows &packed) {
      return std::tuple(choice.mode == npu::RowPackingMode::Apart &&
                            !packed.apart,
                        packed.total(), packed.cycles.array);
    };
    choice.alternatives.push_back(own);
    if (choice.allows(own) && rank(own) < rank(choice.chosen()))
      choice.best = choice.alternatives.size() - 1;
  }
  return choice;
}

} // namespace ashlar::analysis
