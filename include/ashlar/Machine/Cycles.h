// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long an instruction takes: pure functions of counts and a machine
// description. The compiler predicts with them and the emulator times with
// them, so both always agree. docs/Machine.md prints every formula.
//
// Two properties hold for every function here and are tested: raising a
// bandwidth, a rate or a lane count, or lowering a latency, never raises the
// result; and the result never wraps (it saturates at `maxCycles`).

#ifndef ASHLAR_MACHINE_CYCLES_H
#define ASHLAR_MACHINE_CYCLES_H

#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::machine {

/// Results saturate here, far above any real run; sums of 100 of them still
/// fit 64 bits.
inline constexpr uint64_t maxCycles = uint64_t(1) << 56;

/// Time of one instruction, in cycles after its start.
struct Timing {
  /// The queue may start its next instruction this many cycles later.
  uint64_t issue = 0;
  /// Results are readable (and signals fire) this many cycles later.
  uint64_t complete = 0;
  /// The DRAM server is taken for this many cycles.
  uint64_t dram = 0;
  /// Servers, DRAM and the banks of SB, are taken this many cycles after the
  /// start: the set-up of a copy.
  uint64_t setup = 0;
  bool operator==(const Timing &) const = default;
};

//===- DMA ---------------------------------------------------------------===//

/// One side of a DMA descriptor: outermost dimension first.
struct DmaSide {
  bool inDram = false;
  llvm::ArrayRef<uint64_t> counts; ///< Elements per dimension, >= 1.
  llvm::ArrayRef<int64_t> strides; ///< Bytes per dimension.
  uint64_t elementBytes = 1;
  /// Of a memory of partitions, the bytes from one to the next, which are no
  /// neighbours; 0: addresses are all that counts.
  uint64_t rowBytes = 0;
  /// Of the first element, in DRAM. Where a predictor has none yet, 0: tensors
  /// start where a burst does.
  uint64_t address = 0;
};

/// Merges the innermost dimensions while each continues where the one inside
/// it ends; innermost dimensions of stride 0 cost nothing (the element stays in
/// the engine), and steps of whole \p rowBytes never continue a run. \p run,
/// bytes of an element, becomes those of a run; returns how many dimensions are
/// left outside of it.
size_t innerRun(llvm::ArrayRef<uint64_t> counts,
                llvm::ArrayRef<int64_t> strides, uint64_t rowBytes,
                uint64_t &run);

/// Runs that the byte network of a queue gathers or scatters for \p side, each
/// within a partition; 0 for a side in DRAM.
uint64_t onchipRuns(const DmaSide &side);

/// DRAM traffic of one side.
struct DramTraffic {
  uint64_t runs = 0;        ///< Maximal contiguous runs in iteration order.
  uint64_t runBytes = 0;    ///< Bytes of one run.
  uint64_t usefulBytes = 0; ///< runs * runBytes.
  uint64_t burstBytes = 0;  ///< With each run in whole bursts.
  uint64_t rows = 0;        ///< Rows that the runs visit (rowVisits()).
};

/// The runs of a side (innerRun) as bursts. All zeros for a side that is not in
/// DRAM.
DramTraffic dramTraffic(const Description &machine, const DmaSide &side);

/// A stream of codes in DRAM: one run.
struct StreamSide {
  uint64_t bytes = 0;
  uint64_t decoded = 0; ///< Codes of a stream that leaves zeros out.
  uint64_t address = 0;
};

/// DRAM traffic of a stream of codes.
DramTraffic streamTraffic(const Description &machine, const StreamSide &stream);

/// dma.copy. Each side in DRAM adds its bursts to the server's time and its
/// latency to the completion; the queue itself moves `onchipBytesPerCycle` and
/// forms `runsPerCycle` runs after `setupCycles`. Without a side in DRAM
/// `onchipLatency` passes.
Timing dmaCopy(const Description &machine, const DmaSide &source,
               const DmaSide &destination);

/// dma.fill: a copy without a source.
Timing dmaFill(const Description &machine, const DmaSide &destination);

/// dma.unpack to \p destination: DRAM gives the packed stream, the queue moves
/// the unpacked elements and decodes `decodedCodesPerCycle` of those that are
/// stored without their zeros.
Timing dmaUnpack(const Description &machine, const StreamSide &stream,
                 const DmaSide &destination);

/// dma.gather: which dimensions an index moves, and the bytes of one index.
struct GatherIndices {
  llvm::ArrayRef<int64_t> strides; ///< As the source's; 0: the index stays.
  uint64_t elementBytes = 8;
};

/// DRAM traffic of rows that indices choose: wherever a row lies, its runs are
/// rounded up to bursts as if nothing before it were a neighbour, and as if it
/// started where a burst does.
DramTraffic gatherTraffic(const Description &machine, const DmaSide &source,
                          const GatherIndices &indices);

/// dma.gather from \p source in DRAM to \p destination on the chip: the queue
/// moves each index once per row in addition to the elements; DRAM gives whole
/// rows. No cycle depends on the indices.
Timing dmaGather(const Description &machine, const DmaSide &source,
                 const GatherIndices &indices, const DmaSide &destination);

/// \p bytes in whole bursts.
uint64_t wholeBursts(const Description &machine, uint64_t bytes);

/// A feature map in SB that is compressed or expanded.
struct MapSide {
  uint64_t bytes = 0;
  uint64_t runs = 1; ///< onchipRuns of its loops.
};

/// dma.compress of \p map into cells of \p burstBytes bytes of whole bursts
/// altogether; the feature map is read \p passes times.
Timing dmaCompress(const Description &machine, uint64_t burstBytes,
                   const MapSide &map, uint64_t passes);

/// dma.expand: the first burst of each cell says how many follow, so DRAM's
/// latency passes twice.
Timing dmaExpand(const Description &machine, uint64_t burstBytes,
                 const MapSide &map);

/// A contiguous transfer of \p bytes between DRAM and on-chip memory; what the
/// planner uses before addresses exist.
Timing dmaContiguous(const Description &machine, uint64_t bytes);

/// Cycles of a queue that moves \p bytes inside the chip in \p runs runs on
/// the side that has more of them, in \p descriptors instructions: what
/// predictions use before instructions exist.
uint64_t dmaInside(const Description &machine, uint64_t bytes, uint64_t runs,
                   uint64_t descriptors = 1);

//===- PE array ----------------------------------------------------------===//

/// Passes of one matmul: ceil(moving / digit) * ceil(stationary / digit), at
/// least one. Bits are those of magnitudes: cells multiply digits with a sign.
uint64_t pePasses(const Description &machine, uint64_t movingBits,
                  uint64_t stationaryBits);

/// pe.load: ceil(rows / loadRowsPerCycle) * elementBytes; with \p pattern, of
/// N:M weights, patternRowsPerCycle.
Timing peLoad(const Description &machine, uint64_t rows, uint64_t elementBytes,
              bool pattern = false);

/// Steps of a stream of \p rows rows of \p positions each through N:M weights:
/// patternPositions() neighbours of a row at a time.
uint64_t patternSteps(const Description &machine, uint64_t rows,
                      uint64_t positions);

/// Words of a column that cells keep of \p rows rows of N:M weights: N of M
/// rows, of a last group of fewer rows at most as many.
uint64_t patternWords(const Description &machine, uint64_t rows);

/// Cycles in which a column's accumulators take the results of one pass of a
/// step of \p groups row groups: ceil(groups / psum.writePorts), 1 without
/// limit.
uint64_t psumWriteCycles(const Description &machine, uint64_t groups);

/// Positions of dimension 2 that a step takes side by side: as many as the
/// array has copies of N:M weights (\p pattern), twice as many where cells
/// multiply two of them (\p narrow).
uint64_t stepPositions(const Description &machine, bool pattern, bool narrow);

/// True if cells multiply two moving mantissas of \p moving bits, sign
/// included, by a stationary one of \p stationary bits in a cycle.
bool isNarrow(const Description &machine, uint64_t moving, uint64_t stationary);

/// Cycles of one pass of a step of \p groups row groups whose results are \p
/// advance pixels apart, and which takes \p positions side by side: those in
/// which PSUM takes the results, and those in which each partition gives one
/// element (of neighbours: all of them) after the other to the groups that read
/// it, gcd(groups, advance), whichever are more.
uint64_t peStepCycles(const Description &machine, uint64_t groups,
                      uint64_t advance = 1, uint64_t positions = 1);

/// Cycles of a stream of \p steps moving vectors into \p groups row groups:
/// steps * passes * peStepCycles(groups, advance, positions).
uint64_t peStream(const Description &machine, uint64_t steps, uint64_t passes,
                  uint64_t groups = 1, uint64_t advance = 1,
                  uint64_t positions = 1);

/// A stream as the compiler plans it.
struct PeStreamShape {
  uint64_t rows = 1;      ///< Of dimensions 0 and 1.
  uint64_t positions = 1; ///< Of dimension 2.
  uint64_t passes = 1;
  uint64_t groups = 1, advance = 1;
  bool pattern = false; ///< Through N:M weights.
  bool narrow = false;  ///< Both operands are (isNarrow()).
};
struct PeSteps {
  uint64_t steps = 0, cycles = 0;
  bool narrow = false; ///< Two positions at a time.
};

/// The steps of a stream of \p shape in the way that takes fewer cycles: one
/// position at a time or, of narrow operands, two.
PeSteps peSteps(const Description &machine, const PeStreamShape &shape);

/// pe.matmul of \p steps moving vectors into \p columns columns: the stream
/// takes peStream(); the last entry of the last column is written at the end of
/// cycle peStream() - 1 + (columns - 1) + (R - 1).
Timing peMatmul(const Description &machine, uint64_t steps, uint64_t passes,
                uint64_t columns, uint64_t groups = 1, uint64_t advance = 1,
                uint64_t positions = 1);

/// Cycles from the end of a stream into \p before row groups to the start of
/// one into \p groups: row r of a column gets an element r cycles late, of a
/// group of R / groups rows r mod (R / groups) cycles, so a stream of more
/// groups would meet the one before it in R / before - R / groups cycles. 0
/// without pe.groupsWait.
uint64_t groupPause(const Description &machine, uint64_t before,
                    uint64_t groups);

/// Cycles of a stream and the load of the next stationary tile: side by side
/// with a shadow set, one after the other without.
uint64_t peTile(const Description &machine, uint64_t stream, uint64_t nextLoad);

//===- Classes of functions ----------------------------------------------===//

/// Cost classes of the functions of ACT and VEC; the description has the cycles
/// of each engine.
enum class VecCost : uint8_t { Cheap, Medium, Expensive, VeryExpensive };

/// The class of an operation by its instruction-set name ("copy", "leakyRelu",
/// "prelu", "sum", ...), or nothing for a name that no instruction has.
std::optional<VecCost> vecCostOf(llvm::StringRef operation);

//===- ACT ---------------------------------------------------------------===//

/// Cycles per result and lane of a drain with a function of class \p cost.
/// Scale, bias, residual and limits are stages of the pipeline and take no
/// cycles.
uint64_t actClassCycles(const Description &machine, VecCost cost);

/// Cycles in which PSUM gives \p entries entries of \p columns columns:
/// ceil(columns * entries * 8 / psum.readBytesPerCycle), 0 without limit.
uint64_t psumReadCycles(const Description &machine, uint64_t columns,
                        uint64_t entries);

/// act.drain of \p entries entries of \p columns columns of PSUM:
/// max(ceil(columns / lanes) * entries * class, psumReadCycles()), plus the
/// latency.
Timing actDrain(const Description &machine, uint64_t columns, uint64_t entries,
                VecCost cost = VecCost::Cheap);

/// act.drain of \p results accumulators of each of \p columns columns of the
/// sparse cluster: as actDrain(), but they do not lie in PSUM.
Timing tileDrain(const Description &machine, uint64_t columns, uint64_t results,
                 VecCost cost = VecCost::Cheap);

/// Tiles whose \p columns columns the lanes of ACT take side by side; at least
/// one.
uint64_t tilesSideBySide(const Description &machine, uint64_t columns);

/// Results that a drain takes of tiles of \p results results each, \p tiles of
/// them side by side: the largest of these counts.
uint64_t resultsSideBySide(llvm::ArrayRef<uint64_t> results, uint64_t tiles);

//===- Sparse cluster, tile mode -----------------------------------------===//

/// dma.tile: \p bytes on the way to the feature-map units, \p mostBytes of them
/// to one unit, read from SB in \p runs runs. Units that take the same data
/// share one multicast, which counts once; the port of a unit takes
/// fmuWriteBytes per cycle.
Timing tileLoad(const Description &machine, uint64_t bytes, uint64_t runs,
                uint64_t mostBytes);
/// dma.tile with `drained`: zeros, \p mostBytes of them to one unit.
Timing tileOpen(const Description &machine, uint64_t mostBytes);
/// act.drain with `kept`: \p drain writes \p mostBytes to one unit.
Timing tileKeep(const Description &machine, Timing drain, uint64_t mostBytes);

/// How a unit takes the coefficients of a run.
struct TileStep {
  uint64_t steps = 1;        ///< Cycles of one pass over the tile.
  uint64_t coefficients = 1; ///< That go side by side.
  /// Neighbouring accumulators that a step adds to for each coefficient.
  uint64_t window = 1;
  bool operator==(const TileStep &) const = default;
};

/// One coefficient over \p lines rows (of all images of the tile) of \p cols
/// results, rows \p pitch lanes apart, on \p lanes multipliers:
/// R = max(1, floor(lanes / pitch)) rows at a time, steps = ceil(cols / lanes)
/// * ceil(lines / R). As many whole tiles as fit the lanes go side by side, at
/// most coefficientsPerStep.
TileStep tileStep(const Description &machine, uint64_t lanes, uint64_t lines,
                  uint64_t cols, uint64_t pitch);

/// Most sums that \p windows of \p width neighbouring accumulators, beginning
/// at the given entries, have in one of the machine's accumulator banks; 1 if
/// sums never compete.
uint64_t bankSums(const Description &machine, llvm::ArrayRef<uint64_t> windows,
                  uint64_t width);

/// Cycles of a single coefficient: steps * passes, times the sums that a window
/// has in one bank.
uint64_t tilePeriod(const Description &machine, const TileStep &step,
                    uint64_t passes);

/// Sums of one unit, coefficient after coefficient, in order. A coefficient
/// starts no sooner than the one before it, a step after the one that is
/// \p step.coefficients before it, a period after any other whose sums share an
/// accumulator bank with its own, and accumulateLatency cycles after the last
/// one of its region, if that is longer than a period. Products of one region
/// in one step are added before the accumulator.
class TileIssue {
public:
  /// Sums of region z begin at entry z * \p regionStride.
  TileIssue(const Description &machine, const TileStep &step, uint64_t passes,
            uint64_t regions, uint64_t regionStride);

  void issue(uint32_t region);
  /// Coefficients of the next channel start after all of this one.
  void endChannel();
  /// Cycles up to the end of what was issued. Without latency or banks in the
  /// way: sum over channels of ceil(entries / coefficients) * steps * passes
  /// (docs/Machine.md 7).
  uint64_t cycles() const { return time; }

private:
  /// A coefficient that has started, and where its sums begin.
  struct Started {
    uint64_t start, first;
  };
  bool share(uint64_t a, uint64_t b) const;

  const Description &machine;
  TileStep step;
  uint64_t passes, period, stride;
  uint64_t time = 0;                    ///< End of all that has started.
  llvm::SmallVector<Started, 8> recent; ///< Those that others may wait for.
  std::vector<uint64_t> ready; ///< Per region, when its next sum may start.
};

/// The properties of a channel's coefficients that its time depends on.
struct ChannelCrowd {
  uint64_t entries = 0; ///< All of them.
  uint64_t kernels = 0; ///< Kernels that have any.
  uint64_t most = 0;    ///< Of one kernel.
  uint64_t fullest = 0; ///< Kernels that have so many.
  bool operator==(const ChannelCrowd &) const = default;
};

/// Cycles to expect of a channel in tile mode: its entries at the rate at which
/// they start side by side, given the chance that the windows of two kernels
/// share a bank; where the latency of the sums is longer, at least
/// (most - 1) * latency + ceil(fullest / coefficients) * period.
uint64_t tileChannel(const Description &machine, const TileStep &step,
                     uint64_t passes, const ChannelCrowd &crowd);

/// True if the sums of a kernel have to be further apart than steps * passes
/// cycles: then its coefficients alternate with those of others.
bool kernelsAlternate(const Description &machine, const TileStep &step,
                      uint64_t passes);

/// Periods from one sum of a kernel to its next: as many as the latency takes.
uint64_t kernelGap(const Description &machine, const TileStep &step,
                   uint64_t passes);

/// Cycles of a run on tiles that lie in other memory units: each of \p routes
/// gives the bytes that a link carries, the farthest data arrive \p hops later.
uint64_t routedRun(const Description &machine, uint64_t cycles, uint64_t hops,
                   uint64_t linkBytes);

/// Cycles that a bank of weight memory needs for \p entries coefficients.
uint64_t tileDecode(const Description &machine, uint64_t entries);

/// tcc.init: one cycle for zeros; values from memory are written a vector of
/// lanes at a time, \p count entries into each of \p regions regions.
Timing tileInit(const Description &machine, uint64_t regions, uint64_t count,
                bool fromMemory);

/// tcc.tile: one cycle.
Timing tileTable();

/// tcc.nnz: \p bytes of a feature map read at the rate of an on-chip transfer.
Timing countPass(const Description &machine, uint64_t bytes);

/// tcc.part: one pass over \p counters counters, a cycle for each of \p probes
/// boxes whose non-zeros are looked up, and partCycles.
Timing cutTiles(const Description &machine, uint64_t counters, uint64_t probes);

//===- VEC ---------------------------------------------------------------===//

/// What storing the result adds.
enum class VecStore : uint8_t {
  Same,    ///< The operation's own type.
  Convert, ///< Another plain type.
  Encode,  ///< Block floating point: a second pass writes the mantissas.
};

/// Cycles per element of a class.
uint64_t vecClassCycles(const Description &machine, VecCost cost);

/// Cycles per element and lane: Same c; Convert max(c, medium); Encode
/// max(c + cheap, medium).
uint64_t vecElementCycles(const Description &machine, VecCost cost,
                          VecStore store);

/// Lane steps that cover \p channels channels at one position:
/// full tiles * ceil(P / lanes) + ceil(rest / lanes).
uint64_t vecLaneSteps(const Description &machine, uint64_t channels);

/// vec.map over channels x \p positions elements.
Timing vecMap(const Description &machine, VecCost cost, VecStore store,
              uint64_t channels, uint64_t positions);

/// Shape of a window reduction; depth, height, width.
struct PoolShape {
  uint64_t in[3] = {1, 1, 1};
  uint64_t out[3] = {1, 1, 1};
  uint64_t kernel[3] = {1, 1, 1};
};

enum class PoolKind : uint8_t { Max, Average, Sum };
/// The kind that npu.vec.pool calls so; sum unless it is max or avg.
PoolKind poolKindOf(llvm::StringRef name);

/// vec.pool. Sums and averages visit every window position (their order is
/// fixed); a maximum is separable and takes the cheaper of the direct and the
/// three-pass way. Averages add one division per result.
Timing vecPool(const Description &machine, PoolKind kind, VecStore store,
               uint64_t channels, const PoolShape &shape);

/// Entries of each column that vec.drain reads: every position of every window,
/// of a maximum that is taken one axis after the other those of the first.
uint64_t pooledEntries(PoolKind kind, const PoolShape &shape);

/// vec.drain of \p columns columns with a function of class \p function: the
/// slowest of vecPool(), the epilogue of the entries that are read, on
/// vec.psumLanes columns at a time, and psumReadCycles() of them. Completes
/// with the latencies of both pipelines.
Timing vecDrain(const Description &machine, PoolKind kind, VecStore store,
                VecCost function, uint64_t columns, const PoolShape &shape);

/// Steps in which act.pool takes the entries of one lane of `shape`: one for
/// each, and as many as the windows that end with it. \p pad is that before the
/// rows and columns.
uint64_t tilePoolSteps(const PoolShape &shape, std::array<uint64_t, 2> stride,
                       std::array<int64_t, 2> pad);

/// act.pool of \p columns lanes that take \p steps steps each.
Timing tilePool(const Description &machine, uint64_t columns, uint64_t steps,
                VecCost cost);

/// vec.reduce of \p reduced elements into each of \p outer results; \p divides
/// says that the result is divided once (mean).
Timing vecReduce(const Description &machine, VecCost cost, VecStore store,
                 uint64_t channels, uint64_t outer, uint64_t reduced,
                 bool divides);

/// vec.reduce_channels: a chain through the partitions in channel order, one
/// position entering per step; its length adds to the latency.
Timing vecReduceChannels(const Description &machine, VecCost cost,
                         VecStore store, uint64_t channels, uint64_t positions,
                         bool divides);

/// vec.stat and vec.measure of channels x \p positions elements: one cheap pass
/// into a register.
Timing vecScan(const Description &machine, uint64_t channels,
               uint64_t positions);

/// vec.gather of channels x \p positions elements: a fetch of the index, then
/// one of the element.
Timing vecGather(const Description &machine, uint64_t channels,
                 uint64_t positions);

/// xr.set, xr.merge and xr.pick: one cycle of the vector queue.
Timing vecRegister();

/// xr.select (\p window 0) and xr.predict (its depth): one very expensive
/// operation after a cheap one for each entry of the history.
Timing vecSelect(const Description &machine, uint64_t window);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_CYCLES_H
