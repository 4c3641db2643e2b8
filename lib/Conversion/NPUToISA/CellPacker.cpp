// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of the exponents of weights. In DRAM lies one row of cells per block,
// or per row of XM where blocks of one column begin inside a row: as distances
// from the largest, in up to five bits, or as bytes; of elements of two bytes
// with the byte between them, where rows are read sooner than single cells. Of
// formats whose output channels share exponents a row has one cell for all
// neighbouring columns with equal cells; a column without weights takes any.

#include "CellPacker.h"

#include "LoopOrder.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Numerics/Encode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace ashlar::codegen {

using analysis::ColumnTile;
using analysis::StationaryTile;

Pitches pitchesOf(const ProgramBuilder &builder, const StreamedProduct &product,
                  const ColumnTile &column) {
  const auto tile = static_cast<int64_t>(
      llvm::alignTo(column.cols * product.elementBytes, 8));
  return {tile, static_cast<int64_t>(builder.machine.sb.bytesPerPartition),
          product.elementBytes};
}

isa::DmaCopy weightCopy(const ProgramBuilder &builder, isa::Memory target) {
  isa::DmaCopy copy{};
  copy.queue = builder.weightQueue();
  copy.elemBytes = 1;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = target;
  return copy;
}

namespace {

/// The queue holds a row of cells and writes it, or each of its cells, more
/// than once.
bool repeatsRows(const CellRun &cells, bool once) {
  return cells.share > 1 || (!once && cells.repeat > 1);
}

/// Exponents of a run that are stored in few bits to byte `target` of XM: rows
/// of the queue repeat them over the rows of XM, and over the columns that
/// share them.
isa::DmaUnpack cellUnpack(const ProgramBuilder &builder, const TileRun &run,
                          const CellRun &cells, int64_t target,
                          const Pitches &pitches, bool once) {
  isa::DmaUnpack unpack{};
  unpack.queue = builder.weightQueue();
  unpack.elemBytes = pitches.element;
  unpack.form = isa::CodeForm::Exponents;
  unpack.mantissa = cells.codes->width;
  unpack.zero = cells.codes->zero;
  unpack.srcBase = cells.address;
  unpack.dstBase =
      target + cells.firstRow * pitches.row + cells.firstCol * pitches.element;
  const int64_t repeat = once ? 1 : cells.repeat;
  if (cells.share > 1) {
    unpack.unit = 2;
    unpack.n0 = run.count, unpack.n1 = cells.blocks, unpack.n2 = repeat;
    unpack.n3 = cells.stored, unpack.n4 = cells.share;
    unpack.dstStride0 = pitches.tile;
    unpack.dstStride1 = cells.repeat * pitches.row;
    unpack.dstStride2 = pitches.row;
    unpack.dstStride3 = cells.share * pitches.element;
    unpack.dstStride4 = pitches.element;
    return unpack;
  }
  unpack.unit = repeat > 1;
  unpack.n1 = run.count, unpack.n2 = cells.blocks;
  unpack.n3 = repeat, unpack.n4 = cells.stored;
  unpack.dstStride1 = pitches.tile;
  unpack.dstStride2 = cells.repeat * pitches.row;
  unpack.dstStride3 = pitches.row;
  unpack.dstStride4 = pitches.element;
  return unpack;
}

/// Exponents that columns share: each is a whole element, read once.
isa::DmaCopy sharedCopy(const ProgramBuilder &builder, const TileRun &run,
                        const CellRun &cells, int64_t target,
                        const Pitches &pitches, bool once) {
  isa::DmaCopy copy = weightCopy(builder, isa::Memory::Xm);
  copy.elemBytes = cells.bytes;
  copy.srcBase = cells.address;
  copy.dstBase =
      target + cells.firstRow * pitches.row + cells.firstCol * pitches.element;
  copy.n0 = run.count, copy.n1 = cells.blocks;
  copy.n2 = once ? 1 : cells.repeat;
  copy.n3 = cells.stored, copy.n4 = cells.share;
  copy.srcStride0 = cells.blocks * cells.stored * cells.bytes;
  copy.srcStride1 = cells.stored * cells.bytes;
  copy.srcStride3 = cells.bytes;
  copy.dstStride0 = pitches.tile;
  copy.dstStride1 = cells.repeat * pitches.row;
  copy.dstStride2 = pitches.row;
  copy.dstStride3 = cells.share * pitches.element;
  copy.dstStride4 = pitches.element;
  orderForRuns(builder.machine, copy);
  return copy;
}

/// Exponents of a run to byte `target` of XM. The repetition of a cell is the
/// innermost dimension: DRAM reads it once, unless writing cells one by one
/// would take longer than reading them again.
isa::DmaCopy cellCopy(const ProgramBuilder &builder, const TileRun &run,
                      const CellRun &cells, int64_t target,
                      const Pitches &pitches, bool once) {
  if (cells.share > 1)
    return sharedCopy(builder, run, cells, target, pitches, once);
  // Cells that are stored as far apart as they lie are bytes of a row.
  const bool rows = cells.bytes == pitches.element;
  const int64_t rowBytes = cells.stored * cells.bytes;
  isa::DmaCopy copy = weightCopy(builder, isa::Memory::Xm);
  copy.srcBase = cells.address;
  copy.dstBase =
      target + cells.firstRow * pitches.row + cells.firstCol * pitches.element;
  copy.n1 = run.count, copy.n2 = cells.blocks;
  copy.n3 = rows ? rowBytes : cells.stored;
  copy.n4 = once ? 1 : cells.repeat;
  copy.srcStride1 = cells.blocks * rowBytes, copy.srcStride2 = rowBytes;
  copy.srcStride3 = 1;
  copy.dstStride1 = pitches.tile;
  copy.dstStride2 = cells.repeat * pitches.row;
  copy.dstStride3 = rows ? 1 : pitches.element;
  copy.dstStride4 = pitches.row;
  orderForRuns(builder.machine, copy);
  return copy;
}

/// Bytes of DRAM and queue cycles of a load.
struct LoadCost {
  uint64_t bytes = 0, cycles = 0;
  auto operator<=>(const LoadCost &) const = default;
};

LoadCost costOf(const machine::Description &machine,
                const isa::DmaUnpack &unpack) {
  const isa::LinearOperand to = operandDst(unpack);
  const llvm::SmallVector<uint64_t, 5> counts = to.counts();
  const llvm::SmallVector<int64_t, 5> strides = to.strides();
  machine::DmaSide side{false, counts, strides, unpack.elemBytes, 0, 0};
  side.rowBytes = machine.sb.bytesPerPartition;
  const numerics::CodeStream codes = operandSrc(unpack).stream();
  const machine::StreamSide stream{codes.bytes(), codes.decoded(),
                                   unpack.srcBase};
  const machine::Timing timing = machine::dmaUnpack(machine, stream, side);
  return {machine::streamTraffic(machine, stream).burstBytes,
          std::max(timing.issue, timing.dram)};
}

/// The cells of some columns of a run, and how they are to be stored.
struct PackedCells {
  CellRun run;
  std::vector<int16_t> cells;
  LoadCost cost;
};

/// Chooses how cells are stored. Cells of elements of two bytes lie two bytes
/// apart: a run of a byte each, or, stored with the bytes between them, twice
/// the bytes in runs of a row; takes what the queue does sooner. Few bits where
/// loading them then takes neither more cycles nor as many bytes of DRAM.
void chooseForm(const ProgramBuilder &builder, const TileRun &run,
                PackedCells &packed, const Pitches &pitches, bool once) {
  const machine::Description &machine = builder.machine;
  auto copyOf = [&](int64_t bytes) {
    packed.run.bytes = bytes;
    return cellCopy(builder, run, packed.run, 0, pitches, once);
  };
  if (copyCycles(machine, copyOf(pitches.element)) >=
      copyCycles(machine, copyOf(1)))
    packed.run.bytes = 1;
  else
    packed.run.bytes = pitches.element;
  const isa::DmaCopy copy = copyOf(packed.run.bytes);
  packed.cost = {copiedBytes(machine, copy), copyCycles(machine, copy)};
  const bool asked = builder.weightForm == WeightForm::Exponents;
  if ((builder.weightForm != WeightForm::AutoExponents && !asked) ||
      machine.dma.decodedCodesPerCycle == 0)
    return;
  // A queue holds a row of cells that it repeats.
  if (repeatsRows(packed.run, once) &&
      packed.run.stored > static_cast<int64_t>(machine.pe.columns))
    return;
  CellRun few = packed.run;
  few.codes = numerics::exponentStream(packed.cells);
  few.bytes = pitches.element;
  if (!few.codes)
    return;
  const LoadCost own =
      costOf(machine, cellUnpack(builder, run, few, 0, pitches, once));
  if (own.bytes < packed.cost.bytes &&
      (asked || own.cycles <= packed.cost.cycles)) {
    packed.run = few;
    packed.cost = own;
  }
}

/// Bytes of cells as they are stored without a form of their own.
std::vector<uint8_t> cellBytes(llvm::ArrayRef<int16_t> all, int64_t pitch) {
  std::vector<uint8_t> bytes;
  bytes.reserve(all.size() * pitch);
  for (int16_t cell : all) {
    bytes.push_back(static_cast<uint8_t>(cell));
    bytes.resize(bytes.size() + pitch - 1);
  }
  return bytes;
}

/// The cells of whole rows of a run, in the order in which they are stored;
/// nothing where a column has no weights.
std::vector<std::optional<int8_t>> cellsOf(const ProgramBuilder &builder,
                                           llvm::ArrayRef<StationaryTile> tiles,
                                           const ColumnTile &column,
                                           const TileReader &reader,
                                           const CellRun &cells) {
  std::vector<std::optional<int8_t>> all;
  all.reserve(tiles.size() * cells.blocks * column.cols);
  const int64_t group = builder.machine.xmGroup, rows = group * cells.repeat;
  for (const StationaryTile &tile : tiles)
    for (int64_t i = 0; i < cells.blocks; ++i)
      for (int64_t col = 0; col < column.cols; ++col)
        all.push_back(
            reader.cell(tile, cells.firstRow * group + i * rows, rows, col));
  return all;
}

/// The cells of rows of `cols` columns. A column without weights, which any
/// cell suits, is a block of zeros; or, if cells are `shared`, it has that of
/// the column before, or of the first one with weights.
std::vector<int16_t> withGaps(llvm::ArrayRef<std::optional<int8_t>> cells,
                              int64_t cols, bool shared) {
  std::vector<int16_t> all;
  all.reserve(cells.size());
  for (; !cells.empty(); cells = cells.drop_front(cols)) {
    const auto row = cells.take_front(cols);
    const auto *first =
        llvm::find_if(row, [](const std::optional<int8_t> &cell) {
          return cell.has_value();
        });
    int8_t last = first == row.end() ? numerics::kZeroBlock : **first;
    for (const std::optional<int8_t> &cell : row) {
      last = cell.value_or(shared ? last : numerics::kZeroBlock);
      all.push_back(last);
    }
  }
  return all;
}

/// Columns, but for the first, whose cells differ from those of the column
/// before in any of the rows of `cols` cells.
std::vector<int64_t> findSteps(llvm::ArrayRef<int16_t> rows, int64_t cols) {
  std::vector<bool> steps(cols);
  for (size_t first = 0; first < rows.size(); first += cols)
    for (int64_t col = 1; col < cols; ++col)
      if (rows[first + col] != rows[first + col - 1])
        steps[col] = true;
  std::vector<int64_t> found;
  for (int64_t col = 1; col < cols; ++col)
    if (steps[col])
      found.push_back(col);
  return found;
}

/// Neighbouring columns as groups of equally many, each with one cell.
struct ColumnGroups {
  int64_t first, groups, share;
};

/// A cell for each column.
llvm::SmallVector<ColumnGroups, 3> apart(int64_t cols) {
  return {{0, cols, 1}};
}

/// All columns in groups that no step divides: of the same width throughout.
llvm::SmallVector<ColumnGroups, 3> evenGroups(llvm::ArrayRef<int64_t> steps,
                                              int64_t cols) {
  int64_t share = cols;
  for (int64_t step : steps)
    share = std::gcd(share, step);
  return {{0, cols / share, share}};
}

/// Groups of columns [begin, end), of which the first and the last may be
/// smaller, so that channels that share exponents need not begin or end with
/// the columns.
void addUneven(llvm::ArrayRef<int64_t> steps, int64_t begin, int64_t end,
               llvm::SmallVector<ColumnGroups, 3> &groups) {
  const int64_t *first = llvm::upper_bound(steps, begin);
  const int64_t *last = llvm::lower_bound(steps, end);
  if (first == last) {
    groups.push_back({begin, 1, end - begin});
    return;
  }
  int64_t share = last - first == 1 ? *first - begin : 0;
  for (const int64_t *step = first + 1; step < last; ++step)
    share = std::gcd(share, *step - *(step - 1));
  const int64_t head = (*first - begin) % share;
  const int64_t body = (end - begin - head) / share;
  const int64_t tail = (end - begin - head) % share;
  if (head > 0)
    groups.push_back({begin, 1, head});
  if (body > 0)
    groups.push_back({begin + head, body, share});
  if (tail > 0)
    groups.push_back({end - tail, 1, tail});
}

/// Such groups of all columns, or of those of each row of results that the
/// columns hold.
llvm::SmallVector<ColumnGroups, 3> unevenGroups(llvm::ArrayRef<int64_t> steps,
                                                const ColumnTile &column) {
  const int64_t width =
      column.packing.packs() ? column.packing.outputs : column.cols;
  llvm::SmallVector<ColumnGroups, 3> groups;
  for (int64_t begin = 0; begin < column.cols; begin += width)
    addUneven(steps, begin, std::min(begin + width, column.cols), groups);
  return groups;
}

/// The cells of a run in a form of its own for each of the groups.
llvm::SmallVector<PackedCells, 3>
packGroups(const ProgramBuilder &builder, const TileRun &run,
           const CellRun &cells, llvm::ArrayRef<int16_t> all, int64_t cols,
           llvm::ArrayRef<ColumnGroups> groups, const Pitches &pitches,
           bool once) {
  llvm::SmallVector<PackedCells, 3> parts;
  for (const ColumnGroups &group : groups) {
    PackedCells &part = parts.emplace_back();
    part.run = cells;
    part.run.firstCol = group.first;
    part.run.stored = group.groups, part.run.share = group.share;
    for (size_t row = 0; row < all.size(); row += cols)
      for (int64_t i = 0; i < group.groups; ++i)
        part.cells.push_back(all[row + group.first + i * group.share]);
    chooseForm(builder, run, part, pitches, once);
  }
  return parts;
}

LoadCost total(llvm::ArrayRef<PackedCells> parts) {
  LoadCost cost;
  for (const PackedCells &part : parts)
    cost.bytes += part.cost.bytes, cost.cycles += part.cost.cycles;
  return cost;
}

/// The exponents of a run as even or uneven groups of columns, or one for each
/// column: whatever takes the fewest bytes of DRAM, then the fewest cycles.
/// Short rows of cells that are read again for every row of XM may take more
/// bytes than long ones.
llvm::SmallVector<PackedCells, 3>
shareCells(const ProgramBuilder &builder, const TileRun &run,
           const CellRun &cells, llvm::ArrayRef<int16_t> all,
           const ColumnTile &column, const Pitches &pitches, bool once) {
  const int64_t cols = column.cols;
  const std::vector<int64_t> steps = findSteps(all, cols);
  llvm::SmallVector<PackedCells, 3> best;
  for (const auto &groups :
       {unevenGroups(steps, column), evenGroups(steps, cols), apart(cols)}) {
    auto parts =
        packGroups(builder, run, cells, all, cols, groups, pitches, once);
    if (best.empty() || total(parts) < total(best))
      best = std::move(parts);
  }
  return best;
}

/// Writes cells to the DRAM image.
CellRun storeCells(ProgramBuilder &builder, const StreamedProduct &product,
                   PackedCells packed) {
  CellRun run = packed.run;
  const std::vector<uint8_t> bytes = cellBytes(packed.cells, run.bytes);
  if (!run.codes) {
    run.address =
        builder.addConstant(bytes, &NodeStorage::exponents, product.node);
    return run;
  }
  run.address =
      builder.addConstant(numerics::packSparse(packed.cells, *run.codes),
                          &NodeStorage::exponents, product.node);
  builder.storage[product.node].omitted +=
      static_cast<int64_t>(bytes.size()) -
      static_cast<int64_t>(run.codes->bytes());
  return run;
}

} // namespace

void packCells(ProgramBuilder &builder, const StreamedProduct &product,
               const ColumnTile &column, const TileReader &reader,
               TileRun &run) {
  const Pitches pitches = pitchesOf(builder, product, column);
  const bool once = product.awaitsDram;
  const bool shares = product.shape.weightFormat.rows > 1;
  llvm::SmallVector<CellRun, 3> stored;
  for (const CellRun &cells : run.cells) {
    const std::vector<int16_t> all = withGaps(
        cellsOf(builder,
                llvm::ArrayRef(column.tiles).slice(run.firstTile, run.count),
                column, reader, cells),
        column.cols, shares);
    auto parts =
        shares ? shareCells(builder, run, cells, all, column, pitches, once)
               : packGroups(builder, run, cells, all, column.cols,
                            apart(column.cols), pitches, once);
    for (PackedCells &part : parts)
      stored.push_back(storeCells(builder, product, std::move(part)));
  }
  run.cells = std::move(stored);
}

void emitCells(ProgramBuilder &builder, const TileRun &run,
               const CellRun &cells, int64_t target, const Pitches &pitches,
               bool once) {
  if (cells.codes)
    builder.emitWeights(cellUnpack(builder, run, cells, target, pitches, once));
  else
    builder.emitWeights(cellCopy(builder, run, cells, target, pitches, once));
}

void emitRepeatedCells(ProgramBuilder &builder, const StreamedProduct &product,
                       size_t index, const PackedChunk &chunk, int64_t offset) {
  const ColumnTile &column = product.columns[index];
  const Pitches pitches = pitchesOf(builder, product, column);
  const int64_t group = builder.machine.xmGroup;
  for (const TileRun &run : chunk.runs)
    for (const CellRun &cells : run.cells) {
      if (cells.repeat == 1)
        continue;
      const bool rows = cells.bytes == pitches.element;
      isa::DmaCopy copy{};
      copy.queue = builder.nextMovementQueue();
      copy.elemBytes = 1;
      copy.srcMem = copy.dstMem = isa::Memory::Xm;
      copy.srcBase = (run.part / group + cells.firstRow) * pitches.row +
                     offset + cells.firstCol * pitches.element +
                     static_cast<int64_t>(run.firstTile) * pitches.tile;
      copy.dstBase = copy.srcBase + pitches.row;
      copy.n1 = run.count, copy.n2 = cells.blocks, copy.n3 = cells.repeat - 1;
      copy.n4 = cells.stored * cells.share * (rows ? cells.bytes : 1);
      copy.srcStride1 = copy.dstStride1 = pitches.tile;
      copy.srcStride2 = copy.dstStride2 = cells.repeat * pitches.row;
      copy.dstStride3 = pitches.row;
      copy.srcStride4 = copy.dstStride4 = rows ? 1 : pitches.element;
      orderForRuns(builder.machine, copy);
      builder.emitWeights(copy);
    }
}

} // namespace ashlar::codegen
