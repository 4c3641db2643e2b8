// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of transposes and their predicted cycles.

#include "ashlar/Analysis/Array/TransposePlan.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Machine/Ports.h"
#include "ashlar/Machine/Transposes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

using npu::PatternDim;

int64_t TransposePlan::count(llvm::ArrayRef<PatternDim> dims) {
  int64_t product = 1;
  for (const PatternDim &dim : dims)
    product *= dim.extent;
  return product;
}

namespace {

/// The longest segment from `begin` of at most `limit` indices that is a nest
/// of loops of `dims` without remainder. `joins(outer, inner)` says whether
/// both loops may be in one segment.
template <typename Joins>
Segment segmentFrom(llvm::ArrayRef<PatternDim> dims, int64_t begin,
                    int64_t limit, Joins joins) {
  Segment segment{begin, 1, {}, {}};
  for (size_t i = dims.size(); i-- > 0;) {
    bool more = segment.loops.size() < 3 &&
                (segment.loops.empty() || joins(i, segment.loops.front()));
    if (!more)
      break;
    int64_t index = begin / segment.size % dims[i].extent;
    int64_t fits = std::min(dims[i].extent - index, limit / segment.size);
    segment.dims.insert(segment.dims.begin(), fits);
    segment.loops.insert(segment.loops.begin(), i);
    segment.size *= fits;
    if (fits != dims[i].extent)
      break;
  }
  return segment;
}

template <typename Joins>
llvm::SmallVector<Segment>
segments(llvm::ArrayRef<PatternDim> dims, int64_t size, int64_t limit,
         int64_t partitions, int64_t first, Joins joins) {
  llvm::SmallVector<Segment> list;
  for (int64_t at = 0; at < size; at += list.back().size) {
    int64_t room = partitions - (first + at) % partitions;
    list.push_back(
        segmentFrom(dims, at, std::min({limit, room, size - at}), joins));
  }
  return list;
}

/// True if the loops, sorted outermost first, count an axis without gaps.
bool isDense(llvm::ArrayRef<PatternDim> dims, int64_t PatternDim::*step) {
  int64_t expected = 1;
  for (const PatternDim &dim : llvm::reverse(dims)) {
    if (dim.*step != expected)
      return false;
    expected *= dim.extent;
  }
  return true;
}

} // namespace

llvm::SmallVector<Segment> TransposePlan::rowSegments(int64_t limit,
                                                      int64_t partitions,
                                                      int64_t first) const {
  return segments(rows, rowCount(), limit, partitions, first,
                  [](size_t, size_t) { return true; });
}

llvm::SmallVector<Segment> TransposePlan::columnSegments(int64_t limit,
                                                         int64_t partitions,
                                                         int64_t first) const {
  return segments(columns, columnCount(), limit, partitions, first,
                  [&](size_t outer, size_t inner) {
                    const PatternDim &o = columns[outer], &i = columns[inner];
                    return o.sourceAxis == i.sourceAxis &&
                           o.sourceStep == i.sourceStep * i.extent;
                  });
}

std::optional<TransposePlan> planTranspose(const npu::AccessPattern &pattern,
                                           int64_t sourceAxis,
                                           int64_t resultAxis) {
  TransposePlan plan;
  for (const PatternDim &dim : pattern.dims) {
    if (dim.extent == 1)
      continue;
    bool row = dim.sourceAxis == sourceAxis;
    bool column = dim.resultAxis == resultAxis;
    if (dim.sourceAxis < 0 || (row && column) || dim.sourceStep <= 0)
      return std::nullopt;
    (row ? plan.rows : column ? plan.columns : plan.others).push_back(dim);
  }
  llvm::sort(plan.rows, [](const PatternDim &a, const PatternDim &b) {
    return a.sourceStep > b.sourceStep;
  });
  llvm::sort(plan.columns, [](const PatternDim &a, const PatternDim &b) {
    return a.resultStep > b.resultStep;
  });
  if (!isDense(plan.rows, &PatternDim::sourceStep) ||
      !isDense(plan.columns, &PatternDim::resultStep))
    return std::nullopt;
  // The axis along which elements of a partition are neighbours.
  auto inner = [](size_t rank, int64_t across) {
    auto last = static_cast<int64_t>(rank) - 1;
    return last == across ? last - 1 : last;
  };
  for (const PatternDim &dim : plan.others)
    if (dim.sourceAxis == inner(pattern.sourceStart.size(), sourceAxis) &&
        dim.resultAxis == inner(pattern.resultStart.size(), resultAxis) &&
        dim.sourceStep == 1 && dim.resultStep == 1)
      plan.together = dim.extent;
  return plan;
}

namespace {

/// Predicts the ways of one movement.
class Predictor {
public:
  Predictor(const TransposePlan &plan, int64_t elementBytes,
            const machine::Description &machine, const TransposeEnds &ends)
      : plan(plan), machine(machine), ends(ends), element(elementBytes),
        elements(plan.rowCount() * plan.columnCount() * plan.planes()) {}

  int64_t onArray(machine::TransposeMode mode) const;
  int64_t byCopy() const;
  int64_t throughDram() const {
    return static_cast<int64_t>(machine::transposeRoundTrip(
        machine, plan.rowCount(), elements / plan.rowCount() / plan.together,
        element * plan.together));
  }

private:
  int64_t bytes() const { return elements * element; }
  int64_t dram(int64_t transferred) const {
    return static_cast<int64_t>(
        machine::dmaContiguous(machine, transferred).dram);
  }
  /// A load or store of the tensor as it lies, without latency.
  int64_t asItLies(int64_t run) const {
    const auto setup = static_cast<int64_t>(machine.dma.setupCycles);
    return std::max(setup + dram(bytes()),
                    static_cast<int64_t>(
                        machine::dmaInside(machine, bytes(), bytes() / run)));
  }
  /// The part of `cycles` of a load or store that the array cannot hide: that
  /// of the first tile, for which it waits, or of the last.
  int64_t notHidden(int64_t cycles) const {
    // Loads would wait for the stores before them.
    if (ends.loaded > 0 && ends.stored > 0)
      return cycles;
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    const int64_t whole = plan.rowCount() * plan.columnCount();
    const int64_t tile = std::min(plan.rowCount(), partitions) *
                         std::min(plan.columnCount(), 2 * partitions);
    // No more tiles than are worth their descriptors.
    return std::max(
        static_cast<int64_t>(llvm::divideCeil(static_cast<uint64_t>(cycles) *
                                                  static_cast<uint64_t>(tile),
                                              static_cast<uint64_t>(whole))),
        cycles / kOverlapTiles);
  }
  int64_t portsOfCopy() const;
  int64_t inside(int64_t queues) const;

  const TransposePlan &plan;
  const machine::Description &machine;
  const TransposeEnds &ends;
  int64_t element, elements;
};

int64_t Predictor::onArray(machine::TransposeMode mode) const {
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  auto sizes = [](llvm::ArrayRef<Segment> segments) {
    llvm::SmallVector<uint64_t> list;
    for (const Segment &segment : segments)
      list.push_back(static_cast<uint64_t>(segment.size));
    return list;
  };
  const llvm::SmallVector<uint64_t> rows = sizes(plan.rowSegments(
      static_cast<int64_t>(machine::transposeRows(machine)), partitions, 0));
  // The last drain follows its stream; where loads or stores continue in
  // parallel with the array that does not show.
  const bool inside = ends.loaded == 0 && ends.stored == 0;
  const auto lead =
      static_cast<int64_t>(inside ? machine::rowLead(rows.back()) : 0);
  const int64_t array =
      static_cast<int64_t>(machine::transposeTiles(
          machine, rows,
          sizes(plan.columnSegments(machine.pe.columns, partitions, 0)),
          element, plan.planes(), mode)) -
      lead;
  // Tile by tile: the slowest of load, array and store hides the others but for
  // one tile.
  const auto latency = static_cast<int64_t>(machine.dram.latency);
  int64_t sum = array, slowest = array, waits = 0;
  for (int64_t run : {ends.loaded, ends.stored}) {
    if (run == 0)
      continue;
    sum += asItLies(run);
    slowest = std::max(slowest, asItLies(run));
    waits += latency;
  }
  const int64_t cycles = slowest + notHidden(sum - slowest) + waits;
  return ends.evicted ? cycles + 2 * (dram(bytes()) + latency) : cycles;
}

/// Cycles of the busiest bank of SB: a partition reads runs and writes single
/// elements. Tensors that fill several banks spread their accesses.
int64_t Predictor::portsOfCopy() const {
  if (machine.sb.banks == 0)
    return 0;
  auto accesses = [&](int64_t count, int64_t run) {
    const auto partitions =
        std::min(count, static_cast<int64_t>(machine.sb.partitions));
    const int64_t here = llvm::divideCeil(bytes(), partitions);
    const auto banks = std::max<int64_t>(
        here / static_cast<int64_t>(machine.sb.bankBytes()), 1);
    return llvm::divideCeil(
        here / run * llvm::divideCeil(run, machine.sb.portBytes), banks);
  };
  const int64_t run = element * plan.together;
  int64_t sum = 0;
  if (ends.loaded == 0)
    sum += accesses(plan.rowCount(), run);
  if (ends.stored == 0)
    sum += accesses(plan.columnCount(), run);
  return static_cast<int64_t>(machine::bankCycles(machine, sum));
}

/// Of `queues` queues that share the copy.
int64_t Predictor::inside(int64_t queues) const {
  // Only what neither side moves stays together.
  const int64_t runs = elements / plan.together;
  const int64_t parts = mayShareQueues(machine, bytes(), runs) ? queues : 1;
  return std::max(static_cast<int64_t>(machine::dmaInside(
                      machine, llvm::divideCeil(bytes(), parts),
                      llvm::divideCeil(runs, parts))),
                  portsOfCopy());
}

int64_t Predictor::byCopy() const {
  const auto latency = static_cast<int64_t>(machine.dram.latency);
  const int64_t run = element * plan.together;
  if (ends.loaded > 0 && ends.stored > 0) {
    // From DRAM to DRAM: on one side every run has bursts of its own.
    const auto burst = static_cast<int64_t>(machine.dram.burstBytes);
    return std::max(dram(bytes()) +
                        dram(bytes() / run * llvm::alignTo(run, burst)),
                    static_cast<int64_t>(
                        machine::dmaInside(machine, bytes(), /*runs=*/0))) +
           2 * latency;
  }
  const int64_t queues = movementQueues(machine);
  // One queue stores in the order of the program, unless it takes longer than
  // DRAM; shares of several pass DRAM one after the other.
  if (ends.stored > 0) {
    const int64_t shares = std::clamp<int64_t>(
        inside(1) / std::max<int64_t>(dram(bytes()), 1), 1, queues);
    const int64_t before = dram(bytes()) * (shares - 1) / shares;
    return std::max(dram(bytes()), before + inside(shares)) + latency;
  }
  // The queues' shares pass DRAM one after the other, and the last one's
  // elements are put in place when it has passed. What is left of whole
  // partitions is shared after the rest.
  if (ends.loaded > 0) {
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    const int64_t columns = plan.columnCount();
    const int64_t first =
        columns > partitions ? columns / partitions * partitions : columns;
    const int64_t before =
        dram(bytes()) * first / columns * (queues - 1) / queues;
    return std::max(dram(bytes()), before + inside(queues)) + latency;
  }
  if (ends.evicted && !ends.changesPlaces)
    return throughDram();
  return inside(queues) + static_cast<int64_t>(machine.dma.onchipLatency);
}

} // namespace

TransposeCycles predictTranspose(const TransposePlan &plan,
                                 int64_t elementBytes,
                                 const machine::Description &machine,
                                 const TransposeEnds &ends,
                                 uint64_t significand) {
  const Predictor predictor(plan, elementBytes, machine, ends);
  TransposeCycles cycles;
  cycles.identity = predictor.onArray({});
  cycles.planes = predictor.onArray({.byPlanes = true, .significand = 0});
  if (significand > 0)
    cycles.floats =
        predictor.onArray({.byPlanes = false, .significand = significand});
  cycles.copy = predictor.byCopy();
  // What is in DRAM anyway goes there only once.
  cycles.dma = ends.loaded > 0 || ends.stored > 0 ? cycles.copy
                                                  : predictor.throughDram();
  return cycles;
}

} // namespace ashlar::analysis
