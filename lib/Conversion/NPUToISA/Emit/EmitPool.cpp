// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Window reductions on the vector unit. A feature map of few channels leaves
// lanes idle: parts of its rows are then copied to the following partitions,
// where its own bytes are free, one instruction reduces all parts at once, and
// their results are copied back. Each part begins with a block of the result;
// zeros fill what its channels leave of the last one. Windows that reach into
// the padding are reduced where they lie. Rows go band by band, and tiles of
// channels one after the other where the feature map is made so: the first
// follow the producer while it makes the others. No bit depends on it.

#include "../Generator.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Partition/PoolAxis.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace ashlar::codegen {

using partition::PoolAxis;

namespace {

/// Bands of a pool at most, and latencies of the vector unit that one is worth.
constexpr int64_t kMostBands = 28, kBandLatencies = 4;

/// Largest step and dilation of an instruction.
constexpr int64_t kMostStep = 4095;

PoolAxis poolAxis(npu::VecPoolOp pool, const TileContext &tile, int64_t axis,
                  int64_t spatial) {
  int64_t rank = tile.out.size.size(), first = rank - spatial;
  int64_t s = axis - first;
  const Region &held = tile.operandRegions[0];
  int64_t padBegin = pool.getPads()[s], padEnd = pool.getPads()[spatial + s];
  int64_t extent = analysis::shapeOf(pool.getX())[axis];
  PoolAxis result;
  result.in = held.size[axis];
  result.out = tile.out.size[axis];
  result.kernel = pool.getKernel()[s];
  result.step = pool.getStrides()[s];
  result.dilation = pool.getDilations()[s];
  result.pad =
      held.start[axis] - (tile.out.start[axis] * result.step - padBegin);
  bool include = pool.getCountIncludePad();
  result.countLow = (include ? -padBegin : 0) - held.start[axis];
  result.countHigh = extent + (include ? padEnd : 0) - held.start[axis];
  result.sourceStride = tile.operands[0].strides[axis];
  result.resultStride = tile.result.strides[axis];
  return result;
}

void setPoolAxes(isa::VecPool &inst, const PoolAxis &d, const PoolAxis &h,
                 const PoolAxis &w) {
  inst.inD = d.in, inst.inH = h.in, inst.inW = w.in;
  inst.outD = d.out, inst.outH = h.out, inst.outW = w.out;
  inst.kD = d.kernel, inst.kH = h.kernel, inst.kW = w.kernel;
  // One window has no step, one tap no dilation: what no field holds is 1.
  auto step = [](const PoolAxis &axis) {
    return axis.out > 1 || axis.step <= kMostStep ? axis.step : 1;
  };
  auto dilation = [](const PoolAxis &axis) {
    return axis.kernel > 1 || axis.dilation <= kMostStep ? axis.dilation : 1;
  };
  inst.sD = step(d), inst.sH = step(h), inst.sW = step(w);
  inst.dD = dilation(d), inst.dH = dilation(h), inst.dW = dilation(w);
  inst.pD = d.pad, inst.pH = h.pad, inst.pW = w.pad;
  inst.cloD = d.countLow, inst.chiD = d.countHigh;
  inst.cloH = h.countLow, inst.chiH = h.countHigh;
  inst.cloW = w.countLow, inst.chiW = w.countHigh;
  inst.srcStrideD = d.sourceStride, inst.srcStrideH = h.sourceStride;
  inst.srcStrideW = w.sourceStride;
  inst.dstStrideD = d.resultStride, inst.dstStrideH = h.resultStride;
  inst.dstStrideW = w.resultStride;
}

/// Calls `body` with source and result byte offsets for every index of the
/// given axes.
void forEachIndex(const View &source, const View &result,
                  llvm::ArrayRef<int64_t> axes,
                  llvm::function_ref<void(int64_t, int64_t)> body,
                  int64_t sourceOffset = 0, int64_t resultOffset = 0) {
  if (axes.empty())
    return body(sourceOffset, resultOffset);
  int64_t axis = axes.front();
  for (int64_t i = 0; i < result.shape[axis]; ++i)
    forEachIndex(source, result, axes.drop_front(), body,
                 sourceOffset + i * source.strides[axis],
                 resultOffset + i * result.strides[axis]);
}

class PoolEmitter {
public:
  PoolEmitter(Generator &generator, const TileContext &tile);
  void run();

private:
  int64_t partCount() const;
  uint64_t cycles(const PoolAxis &rows, int64_t channels) const;
  uint64_t copyCycles(const View &view, int64_t rows, int64_t parts) const;
  /// Results [first, first + count) of each of `parts` consecutive ranges.
  struct Band {
    int64_t first, count, parts;
  };
  /// Channels of an instruction over so many parts.
  int64_t channelsOf(int64_t parts) const {
    return (parts - 1) * pitch + result.channels();
  }
  int64_t bandRows(int64_t rows, int64_t parts) const;
  llvm::SmallVector<Band, 16> bandsOf(int64_t parts) const;
  /// The rows of a band; `start` becomes the first one that it reads.
  PoolAxis rowsOf(const Band &band, int64_t &start) const {
    return axes[rowSlot].part(band.first, band.count, start);
  }
  void gather(const Band &band);
  bool keepsInputs(const Band &band, const Band &next) const;
  void clearBetween(const Band &band);
  void reduce(const Band &band);
  void spread(const Band &band);
  View rowsOf(const View &view, int64_t first, int64_t count,
              int64_t part) const;

  Generator &generator;
  const machine::Description &machine;
  const TileContext &tile;
  npu::VecPoolOp pool;
  const View &source, &result;
  int64_t rank, spatial, rowAxis;
  PoolAxis axes[3];
  int rowSlot;   ///< of the axis that is cut, in `axes`
  int64_t pitch; ///< partitions from one part to the next
  isa::VecPool inst{};
  bool clear = false;
};

PoolEmitter::PoolEmitter(Generator &generator, const TileContext &tile)
    : generator(generator), machine(generator.machine), tile(tile),
      pool(cast<npu::VecPoolOp>(tile.op)), source(tile.operands[0]),
      result(tile.result), rank(tile.result.rank()),
      spatial(pool.getKernel().size()), rowAxis(rank - spatial),
      rowSlot(static_cast<int>(3 - spatial)) {
  inst.kind = static_cast<isa::PoolKind>(machine::poolKindOf(pool.getKind()));
  inst.srcType = static_cast<isa::ElemType>(source.type.isaType());
  inst.srcMantissa = source.type.encoded ? source.type.format.mantissa : 0;
  inst.dstType = static_cast<isa::ElemType>(result.type.isaType());
  inst.dstMantissa = result.type.encoded ? result.type.format.mantissa : 0;
  inst.dstBlock = result.type.encoded ? result.type.format.block : 0;
  inst.srcPart = source.part, inst.srcTileStride = source.tileStride;
  inst.dstPart = result.part, inst.dstTileStride = result.tileStride;
  for (int64_t axis = rowAxis; axis < rank; ++axis)
    if (axis != result.axis)
      axes[3 - (rank - axis)] = poolAxis(pool, tile, axis, spatial);
  if (result.type.encoded) {
    generator.resultScale(tile.op).set(inst);
    clear = inst.dstXrClear;
  }
  pitch = llvm::alignTo(
      result.channels(),
      std::lcm<int64_t>(machine.xmGroup, std::max<int64_t>(inst.dstBlock, 1)));
}

/// Cycles of one instruction over `rows` of the cut axis.
uint64_t PoolEmitter::cycles(const PoolAxis &rows, int64_t channels) const {
  machine::PoolShape shape;
  for (int i = 0; i < 3; ++i) {
    const PoolAxis &axis = i == rowSlot ? rows : axes[i];
    shape.in[i] = axis.in, shape.out[i] = axis.out;
    shape.kernel[i] = axis.kernel;
  }
  machine::VecStore store =
      result.type.encoded ? machine::VecStore::Encode : machine::VecStore::Same;
  return machine::vecPool(machine, static_cast<machine::PoolKind>(inst.kind),
                          store, channels, shape)
      .issue;
}

/// Cycles of copying `rows` rows of every part but the first, shared by the
/// queues other than that of the weights.
uint64_t PoolEmitter::copyCycles(const View &view, int64_t rows,
                                 int64_t parts) const {
  int64_t bytes = (parts - 1) * rows * view.type.bytes();
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != rowAxis)
      bytes *= view.shape[axis];
  // The rows of a part follow each other in every partition.
  int64_t runs = parts - 1;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    runs *= view.shape[axis];
  int64_t queues = analysis::movementQueues(machine);
  return machine::dmaInside(machine, bytes / queues, runs / queues,
                            llvm::divideCeil(parts - 1, queues));
}

/// Parts that are reduced side by side; 1: as the feature map lies.
int64_t PoolEmitter::partCount() const {
  int64_t channels = result.channels();
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (source.axis != result.axis || result.axis >= rowAxis || result.axis < 0 ||
      pitch + channels > partitions || !ownsPartitions(tile, /*operands=*/1) ||
      channels % static_cast<int64_t>(machine.xmGroup) != 0 ||
      (result.type.encoded && inst.dstBlock == 0))
    return 1;
  const PoolAxis &rows = axes[rowSlot];
  auto [first, last] = rows.interior();
  int64_t parts = std::min((partitions - channels) / pitch + 1, last - first);
  if (parts < 2)
    return 1;
  int64_t ignored = 0, count = (last - first) / parts;
  const PoolAxis part = rows.part(first, count, ignored);
  View between = source;
  between.shape[source.axis] = pitch - channels;
  uint64_t cut =
      cycles(part, channelsOf(parts)) + copyCycles(source, part.in, parts) +
      copyCycles(between, part.in, parts) + copyCycles(result, part.out, parts);
  if ((last - first) % parts > 0)
    cut += cycles(rows.part(0, 1, ignored), channels);
  // What is left at the borders is not cut.
  if (int64_t rest = rows.out - (last - first))
    cut += cycles(rows.part(0, rest, ignored), channels);
  return cut < cycles(rows, channels) ? parts : 1;
}

/// Rows [first, first + count) of a view, from partition `part` on.
View PoolEmitter::rowsOf(const View &view, int64_t first, int64_t count,
                         int64_t part) const {
  View rows = view;
  rows.shape[rowAxis] = count;
  rows.base += first * view.strides[rowAxis];
  rows.part = part;
  return rows;
}

/// Copies the inputs of all parts but the first.
void PoolEmitter::gather(const Band &band) {
  int64_t start = 0;
  PoolAxis rows = rowsOf(band, start);
  for (int64_t part = 1; part < band.parts; ++part) {
    int64_t from =
        (band.first + part * band.count) * rows.step - axes[rowSlot].pad;
    emitCopy(generator.builder, rowsOf(source, from, rows.in, 0),
             rowsOf(source, start, rows.in, part * pitch));
  }
}

/// True if the copies of `next` leave the inputs of `band` in place. A part
/// holds rows from further on by as much as `count` says: bands of equal rows
/// copy what they share from the same place, others from another one.
bool PoolEmitter::keepsInputs(const Band &band, const Band &next) const {
  int64_t start = 0, nextStart = 0;
  const PoolAxis rows = rowsOf(band, start);
  rowsOf(next, nextStart);
  return band.parts == 1 || next.parts == 1 || band.count == next.count ||
         start + rows.in <= nextStart;
}

/// Clears the inputs between the channels of two parts.
void PoolEmitter::clearBetween(const Band &band) {
  const int64_t channels = result.channels();
  int64_t start = 0;
  PoolAxis rows = rowsOf(band, start);
  for (int64_t part = 1; part < band.parts && channels < pitch; ++part) {
    View between =
        rowsOf(source, start, rows.in, (part - 1) * pitch + channels);
    between.shape[source.axis] = pitch - channels;
    emitFill(generator.builder, between, 0);
  }
}

void PoolEmitter::reduce(const Band &band) {
  int64_t start = 0;
  PoolAxis all[3] = {axes[0], axes[1], axes[2]};
  all[rowSlot] = rowsOf(band, start);
  setPoolAxes(inst, all[0], all[1], all[2]);
  inst.channels = channelsOf(band.parts);
  llvm::SmallVector<int64_t, 4> leading;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    if (axis != result.axis)
      leading.push_back(axis);
  forEachIndex(source, result, leading, [&](int64_t from, int64_t to) {
    inst.srcOffset = source.base + start * source.strides[rowAxis] + from;
    inst.dstOffset = result.base + band.first * result.strides[rowAxis] + to;
    inst.dstXrClear = clear;
    clear = false;
    generator.builder.emit(inst);
  });
}

/// Copies the results of all parts but the first to their places.
void PoolEmitter::spread(const Band &band) {
  for (int64_t part = 1; part < band.parts; ++part)
    emitCopy(generator.builder,
             rowsOf(result, band.first, band.count, part * pitch),
             rowsOf(result, band.first + part * band.count, band.count, 0));
}

/// Rows of a band of each of `parts` parts that have `rows` results together.
/// Bands are worth some latencies of the vector unit. Short ones begin early:
/// the producer makes the first in their share of the time of all, which is
/// taken to be as long as the pool. Long ones reduce fewer lines twice.
int64_t PoolEmitter::bandRows(int64_t rows, int64_t parts) const {
  auto cyclesOf = [&](int64_t count) {
    int64_t ignored = 0;
    return cycles(axes[rowSlot].part(0, std::max<int64_t>(count, 1), ignored),
                  channelsOf(parts));
  };
  const auto work =
      static_cast<int64_t>(cycles(axes[rowSlot], result.channels()));
  const int64_t most = std::clamp<int64_t>(
      work / (kBandLatencies * std::max<int64_t>(machine.vec.latency, 1)), 1,
      kMostBands);
  const uint64_t whole = cyclesOf(rows / parts);
  int64_t best = 0;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (int64_t bands = most; bands >= 1; --bands) {
    const int64_t count = llvm::divideCeilSigned(rows, bands * parts);
    const uint64_t all = static_cast<uint64_t>(llvm::divideCeilSigned(
                             rows, std::max<int64_t>(count * parts, 1))) *
                         cyclesOf(count);
    if (const uint64_t cost = all + whole / static_cast<uint64_t>(bands);
        cost < least)
      least = cost, best = count;
  }
  return best;
}

/// Bands of rows; with parts, the rows at the borders that cannot be cut come
/// before and after.
llvm::SmallVector<PoolEmitter::Band, 16>
PoolEmitter::bandsOf(int64_t parts) const {
  int64_t out = axes[rowSlot].out;
  auto [first, last] =
      parts > 1 ? axes[rowSlot].interior() : std::pair(int64_t(0), out);
  const int64_t rows = bandRows(last - first, parts);
  llvm::SmallVector<Band, 16> bands;
  if (first > 0)
    bands.push_back({0, first, 1});
  while (first < last && last - first >= parts) {
    int64_t count = std::min(rows, (last - first) / parts);
    bands.push_back({first, count, parts});
    first += count * parts;
  }
  if (last - first > 1) {
    bands.push_back({first, 1, last - first});
    first = last;
  }
  if (first < out)
    bands.push_back({first, out - first, 1});
  return bands;
}

/// Inputs of a band are copied before the results of the one before it, which
/// wait for the vector unit, and where they may before it reads its own.
void PoolEmitter::run() {
  llvm::SmallVector<Band, 16> bands = bandsOf(partCount());
  // Zeros wait for nothing: they go first.
  for (const Band &band : bands)
    clearBetween(band);
  gather(bands.front());
  for (size_t i = 0; i < bands.size(); ++i) {
    const bool more = i + 1 < bands.size();
    const bool early = more && keepsInputs(bands[i], bands[i + 1]);
    if (early)
      gather(bands[i + 1]);
    reduce(bands[i]);
    if (more && !early)
      gather(bands[i + 1]);
    spread(bands[i]);
  }
}

} // namespace

llvm::Error emitPool(Generator &generator, const TileContext &tile) {
  if (cast<npu::VecPoolOp>(tile.op).reducesAlong(tile.result.axis))
    return emitWindowSums(generator, tile);
  const View &source = tile.operands[0];
  int64_t step = source.channels();
  if (comesByChannels(tile.op->getOperand(0).getDefiningOp()))
    step = channelStep(generator.machine, source, tile.result);
  for (int64_t first = 0; first < source.channels(); first += step) {
    int64_t count = std::min(step, source.channels() - first);
    TileContext part = tile;
    part.operands[0] = channelsOf(source, first, count, generator.machine);
    part.result = channelsOf(tile.result, first, count, generator.machine);
    PoolEmitter(generator, part).run();
  }
  return llvm::Error::success();
}

} // namespace ashlar::codegen
