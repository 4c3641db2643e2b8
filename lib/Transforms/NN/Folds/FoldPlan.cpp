// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Geometry and costs of the folds. Cycle model: the array streams every row of
// results once per tap, row tile and column tile, Ws results a step, while the
// drain takes a cycle per position and group of lanes. The scale exponent of
// the input is known only after its last encode, so the array waits for it;
// reading, copies and encode continue side by side, tile after tile.

#include "FoldPlan.h"

#include "ashlar/Partition/Windows.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace ashlar::nn {

static int64_t divideUp(int64_t a, int64_t b) {
  return llvm::divideCeilSigned(a, b);
}

llvm::StringRef name(const FoldAlternative &alternative) {
  switch (alternative.kind) {
  case FoldKind::Plain:
    return "plain";
  case FoldKind::Width:
    if (alternative.fold.stride == 1)
      return "lane-fold";
    if (alternative.fold.phases == 1)
      return "strided-slice";
    return alternative.fold.phases == alternative.fold.stride ? "stride-fold"
                                                              : "phase-fold";
  case FoldKind::HeightWidth:
    return "rows-and-stride-fold";
  case FoldKind::PackTaps:
    return "pack-taps";
  }
  return "plain";
}

static int64_t padBegin(const FoldConv &conv) {
  return conv.pads[conv.kernel.size() - 1];
}

/// Which columns become channels, and the kernel on them; `leading` zero taps
/// come before it.
static StrideFold foldedKernel(const FoldConv &conv, int64_t leading,
                               Phases phases) {
  int64_t taps = conv.kernel.back(), dilation = conv.dilations.back();
  StrideFold fold;
  fold.stride = conv.strides.back();
  bool select = phases == Phases::Selected;
  int64_t step = 1;
  if (select)
    step = taps == 1 ? fold.stride : std::gcd(fold.stride, dilation);
  fold.phaseStep = step;
  fold.phases = fold.stride / step;
  fold.leadingTaps = leading / step;
  if (fold.phases == 1) {
    fold.phaseStep = 1;
    fold.kernel = taps;
    fold.dilation = taps == 1 ? 1 : dilation / fold.stride;
    return fold;
  }
  int64_t span = fold.leadingTaps + (taps - 1) * (dilation / step) + 1;
  fold.kernel = divideUp(span, fold.phases);
  fold.interiorTaps = dilation / step - 1;
  if (select && leading == 0 && fold.kernel == 1) {
    // All taps lie in one step: columns between them are omitted.
    fold.phases = taps;
    fold.phaseStep = dilation;
    fold.interiorTaps = 0;
  }
  return fold;
}

StrideFold trailingFold(const FoldConv &conv, Phases phases) {
  StrideFold fold = foldedKernel(conv, 0, phases);
  fold.width = conv.output.back() + (fold.kernel - 1) * fold.dilation;
  fold.padLow = padBegin(conv);
  fold.padHigh = (fold.width - 1) * fold.stride +
                 (fold.phases - 1) * fold.phaseStep + 1 - fold.padLow -
                 conv.width();
  return fold;
}

StrideFold leadingFold(const FoldConv &conv, bool &valid, Phases phases) {
  int64_t stride = conv.strides.back();
  int64_t low = divideUp(padBegin(conv), stride);
  int64_t leading = low * stride - padBegin(conv);
  StrideFold fold = foldedKernel(conv, leading, phases);
  fold.foldedLow = low;
  fold.width = divideUp(conv.width(), stride);
  fold.foldedHigh = conv.output.back() + (fold.kernel - 1) * fold.dilation -
                    fold.foldedLow - fold.width;
  // Leading zeros must keep the taps in the columns that are folded; a slice
  // has none.
  bool aligned = fold.phases == 1
                     ? leading == 0
                     : fold.leadingTaps * fold.phaseStep == leading;
  valid = aligned && fold.foldedHigh >= 0 &&
          (fold.phases == 1 || conv.width() % stride == 0);
  return fold;
}

int64_t lanesFor(int64_t channels, int64_t width, const MachineView &machine) {
  int64_t best = 1;
  for (int64_t count = 2; count <= machine.rows && count <= width; ++count) {
    int64_t pitch = machine.rows / count;
    if (machine.rows % count == 0 && pitch % machine.laneUnit == 0 &&
        pitch >= channels && count < 256)
      best = count;
  }
  return best;
}

/// The forms of the stride fold. With W stride 1 there is nothing to fold: the
/// input is viewed as it is, and dilated taps stay apart.
static llvm::SmallVector<StrideFold, 2> forms(const FoldConv &conv,
                                              Phases phases) {
  if (conv.strides.back() == 1) {
    StrideFold fold;
    fold.kernel = conv.kernel.back();
    fold.dilation = conv.dilations.back();
    fold.width = conv.width();
    fold.foldedLow = padBegin(conv);
    fold.foldedHigh = conv.pads.back();
    return {fold};
  }
  bool valid = false;
  StrideFold leading = leadingFold(conv, valid, phases);
  if (valid)
    return {leading, trailingFold(conv, phases)};
  return {trailingFold(conv, phases)};
}

/// More rows of results in the columns gain little.
static constexpr int64_t kMostRows = 8;

/// True if the rows of the kernel are taps, not rows of the array.
static bool hasKernelRows(const FoldAlternative &plan) {
  return plan.kind == FoldKind::Plain || plan.kind == FoldKind::Width;
}

/// Taps of the kernel that covers the windows of `plan.rows` rows of results.
static int64_t tapsOf(const FoldConv &conv, const FoldAlternative &plan) {
  const size_t height = conv.kernel.size() - 2;
  if (plan.rows == 1)
    return plan.taps;
  if (!hasKernelRows(plan))
    return plan.taps * plan.rows;
  llvm::SmallDenseSet<int64_t, 32> offsets;
  for (int64_t row = 0; row < plan.rows; ++row)
    for (int64_t tap = 0; tap < conv.kernel[height]; ++tap)
      offsets.insert(row * conv.strides[height] + tap * conv.dilations[height]);
  return plan.taps / conv.kernel[height] * static_cast<int64_t>(offsets.size());
}

/// Results of a column, `plan.rows` rows of them in a step.
static llvm::SmallVector<int64_t, 3> stepsOf(const FoldConv &conv,
                                             const FoldAlternative &plan) {
  llvm::SmallVector<int64_t, 3> steps(conv.output);
  if (plan.rows > 1)
    steps[steps.size() - 2] = divideUp(steps[steps.size() - 2], plan.rows);
  return steps;
}

/// Cycles of the array for an alternative's channels, taps, rows and lanes.
static int64_t arrayCycles(const FoldConv &conv, const FoldAlternative &plan,
                           const MachineView &machine) {
  int64_t rows = conv.batch *
                 llvm::product_of(
                     llvm::ArrayRef<int64_t>(stepsOf(conv, plan)).drop_back());
  int64_t steps = divideUp(conv.output.back(), plan.lanes);
  if (machine.writePorts > 0)
    steps *= divideUp(plan.lanes, machine.writePorts);
  return rows * steps * tapsOf(conv, plan) *
         divideUp(plan.channels, machine.rows) *
         divideUp(conv.outputs, machine.columns) * machine.passes;
}

FoldAlternative plainAlternative(const FoldConv &conv) {
  FoldAlternative plan;
  plan.channels = conv.channels;
  plan.taps = llvm::product_of(conv.kernel);
  return plan;
}

static FoldAlternative packedPlan(const FoldConv &conv) {
  FoldAlternative plan;
  plan.kind = FoldKind::PackTaps;
  plan.channels = conv.channels * llvm::product_of(conv.kernel);
  return plan;
}

/// Folded taps that hold one of the kernel's; the others are inserted zeros and
/// are never issued, unless only the run knows the kernel.
static int64_t liveTaps(const FoldConv &conv, const StrideFold &fold) {
  if (conv.computesKernel())
    return fold.kernel;
  int64_t live = 0, last = -1;
  for (int64_t tap = 0; tap < conv.kernel.back(); ++tap) {
    int64_t folded =
        (fold.leadingTaps + tap * (fold.interiorTaps + 1)) / fold.phases;
    live += folded != last;
    last = folded;
  }
  return live;
}

static FoldAlternative widthPlan(const FoldConv &conv, const StrideFold &fold,
                                 bool rows) {
  FoldAlternative plan;
  plan.kind = rows ? FoldKind::HeightWidth : FoldKind::Width;
  plan.fold = fold;
  int64_t kernelRows =
      llvm::product_of(llvm::ArrayRef(conv.kernel).drop_back());
  plan.channels = conv.channels * fold.phases * (rows ? kernelRows : 1);
  plan.taps = liveTaps(conv, fold) * (rows ? 1 : kernelRows);
  return plan;
}

std::pair<int64_t, int64_t> encodedMap(const FoldConv &conv,
                                       const FoldAlternative &plan) {
  int64_t inputRows = llvm::product_of(llvm::ArrayRef(conv.input).drop_back());
  int64_t outputRows =
      llvm::product_of(llvm::ArrayRef(conv.output).drop_back());
  switch (plan.kind) {
  case FoldKind::Plain:
    return {inputRows, conv.width()};
  case FoldKind::Width:
    return {inputRows, plan.fold.width};
  case FoldKind::HeightWidth:
    return {outputRows, plan.fold.width};
  case FoldKind::PackTaps:
    return {outputRows, conv.output.back()};
  }
  return {0, 0};
}

/// Cycles of DRAM. A feature map that is read whole is one run. Where a fold
/// leaves columns of a row out, or reads those at its ends on their own, every
/// run is a number of bursts of its own.
static int64_t readCycles(const FoldConv &conv, const FoldAlternative &plan,
                          int64_t rows, const MachineView &machine) {
  int64_t lines = conv.batch * conv.channels * rows;
  int64_t bytes =
      conv.batch * conv.channels * llvm::product_of(conv.input) * kFloatBytes;
  // A run begins anywhere in a burst.
  auto bursts = [&](int64_t elements) {
    int64_t run = elements * kFloatBytes;
    return (divideUp(run, machine.burstBytes) +
            (run % machine.burstBytes != 0 && run > machine.burstBytes)) *
           machine.burstBytes;
  };
  const StrideFold &fold = plan.fold;
  if (plan.kind == FoldKind::Width && fold.phases < fold.stride) {
    bool adjacent = fold.phaseStep == 1;
    bytes = lines * fold.width * (adjacent ? 1 : fold.phases) *
            bursts(adjacent ? fold.phases : 1);
  } else if (plan.kind == FoldKind::Width) {
    int64_t before = fold.padLow % fold.stride;
    int64_t begin = before ? fold.stride - before : 0;
    int64_t end = fold.padHigh > 0 ? conv.width() + fold.padLow -
                                         (conv.width() + fold.padLow) /
                                             fold.stride * fold.stride
                                   : 0;
    int64_t unread = std::max<int64_t>(-fold.padHigh, 0);
    if (begin || end || unread)
      bytes = lines * (bursts(conv.width() - begin - end - unread) +
                       (begin ? bursts(begin) : 0) + (end ? bursts(end) : 0));
  }
  return machine.dramCycles(bytes);
}

/// The largest window of results that is summed up at a time.
static partition::Window windowOf(const FoldConv &conv,
                                  const FoldAlternative &plan,
                                  const MachineView &machine) {
  partition::Positions4 extent{conv.batch, 1, 1, 1};
  for (auto [i, steps] : llvm::enumerate(stepsOf(conv, plan)))
    extent[4 - conv.output.size() + i] = steps;
  return {{}, partition::windowSize(extent, plan.lanes, machine.bankEntries)};
}

/// Results of the first piece in which those of `window` are drained.
static int64_t firstPiece(const partition::Window &window,
                          const FoldAlternative &plan) {
  int64_t first = 0;
  partition::forEachPiece(window, plan.lanes > 1,
                          [&](const partition::Window &piece, int64_t at) {
                            if (at == 0)
                              first = piece.positions();
                          });
  return first;
}

/// What does not overlap at the ends of the phases.
static void addEnds(const FoldConv &conv, const MachineView &machine,
                    FoldAlternative &plan) {
  int64_t positions = conv.batch * llvm::product_of(stepsOf(conv, plan));
  int64_t columnTiles = divideUp(conv.outputs, machine.columns);
  const partition::Window window = windowOf(conv, plan, machine);
  const int64_t piece = firstPiece(window, plan);
  int64_t group = std::min(
      positions,
      window.positions() *
          std::max<int64_t>(machine.psumEntries / machine.bankEntries, 1));
  plan.latency = machine.latency;
  // A tile is cleared, read and copied one after the other.
  if (plan.tiles > 0)
    plan.readLatency = machine.copyLatency * (plan.fill > 0 ? 2 : 1);
  // Every tile that is gathered waits for DRAM.
  if (plan.tiles > 0 && conv.inputInDram) {
    plan.readLatency += machine.dramLatency;
    plan.latency -= machine.dramLatency;
  } else if (plan.tiles > 0) {
    // A second way through copy and encode, after that of the producer.
    plan.latency *= 2;
  }
  // The weights of one column tile: mantissas of a byte, cells, records.
  plan.weights = conv.computesKernel()
                     ? kernelCycles(conv, plan, machine)
                     : machine.dramCycles(
                           (plan.channels * tapsOf(conv, plan) + 16) *
                           std::min(conv.outputs * plan.rows, machine.columns));
  // The first sums are drained in pieces while the last stationary tile of
  // their group still streams.
  int64_t stationaryTiles =
      tapsOf(conv, plan) * divideUp(plan.channels, machine.rows);
  plan.first = plan.array / columnTiles * group / positions;
  const int64_t last = plan.first / stationaryTiles;
  plan.first -= last - last * std::min(piece, group) / group;
  // The last results leave one by one, lanes came together.
  int64_t left = positions % group ? positions % group : group;
  plan.last = left * (plan.lanes - 1) / plan.lanes + std::min(left, piece);
  plan.last *= machine.drainCycles;
}

/// What the array and the drain take with the rows of results side by side that
/// end first (`ashlar-npu-pack-rows` compares the same); fewer among equals.
static void addResults(const FoldConv &conv, const MachineView &machine,
                       FoldAlternative &plan) {
  int64_t most = 1;
  // Columns of several rows of results hold copies of the kernel.
  if (conv.output.size() >= 2 && !conv.computesKernel())
    most = std::min({kMostRows, conv.output[conv.output.size() - 2],
                     machine.columns / conv.outputs});
  const FoldAlternative bare = plan;
  std::optional<std::pair<int64_t, int64_t>> least;
  for (int64_t rows = 1; rows <= std::max<int64_t>(most, 1); ++rows) {
    FoldAlternative own = bare;
    own.rows = rows;
    own.array = arrayCycles(conv, own, machine);
    own.drain = conv.batch * llvm::product_of(stepsOf(conv, own)) *
                divideUp(conv.outputs, machine.columns) * machine.drainCycles;
    addEnds(conv, machine, own);
    const std::pair cost(
        std::max({own.array + own.last, own.drain + own.first, own.weights}),
        own.array);
    if (!least || cost < *least)
      least = cost, plan = own;
  }
}

/// Cycles in which the results go to DRAM if their partitions cannot hold them
/// beside an eighth of the memory for weights.
static int64_t leaveCycles(const FoldConv &conv, const MachineView &machine) {
  const int64_t positions = conv.batch * llvm::product_of(conv.output);
  if (positions * divideUp(conv.outputs, machine.partitions) <=
      machine.partitionBytes - machine.partitionBytes / 8)
    return 0;
  // Mantissas and a cell for eight of them.
  const int64_t elements = positions * conv.outputs;
  return machine.dramCycles(elements + elements / 8);
}

/// A load gathers what stays in the chip without a copy of the operand, where
/// that takes fewer cycles. `encoded` has the costs of encoding alone.
static void preferWindowLoad(const FoldConv &conv, const MachineView &machine,
                             const FoldAlternative &encoded,
                             FoldAlternative &plan) {
  if (!conv.inputInDram || plan.kind != FoldKind::HeightWidth || plan.spilled ||
      plan.lanes != encoded.lanes || plan.fold.padHigh <= -plan.fold.stride)
    return;
  FoldAlternative loaded = encoded;
  if (!addWindowLoad(conv, machine, loaded))
    return;
  addResults(conv, machine, loaded);
  if (loaded.total() < plan.total())
    plan = loaded;
}

/// Positions that the vector unit encodes one after the other of a map that a
/// load brings as it is: those of the last channel tile go side by side
/// (analysis::tailParts(), which knows the views).
static int64_t encodedPositions(int64_t positions, int64_t channels,
                                const MachineView &machine) {
  const int64_t last = channels % machine.partitions;
  const int64_t whole = channels / machine.partitions * positions;
  if (last == 0)
    return whole;
  const int64_t pitch = divideUp(last, machine.laneUnit) * machine.laneUnit;
  const int64_t parts = (machine.partitions - last) / pitch + 1;
  return whole + divideUp(positions, std::max<int64_t>(parts, 1));
}

static void addCosts(const FoldConv &conv, const MachineView &machine,
                     bool lanes, FoldAlternative &plan) {
  const FoldAlternative bare = plan;
  auto [rows, columns] = encodedMap(conv, plan);
  // Row groups read what a move has laid into lanes.
  if (lanes && plan.kind != FoldKind::Plain)
    plan.lanes = lanesFor(plan.channels, conv.output.back(), machine);
  int64_t tiles =
      plan.lanes > 1 ? 1 : divideUp(plan.channels, machine.partitions);
  bool converts = conv.inputIsFloat || plan.kind != FoldKind::Plain;
  if (converts)
    plan.encode =
        (plan.kind == FoldKind::Plain
             ? encodedPositions(conv.batch * rows * columns, plan.channels,
                                machine)
             : conv.batch * rows * divideUp(columns, plan.lanes) * tiles) *
        machine.encodeCycles;
  // Mantissas of a byte; the floats of a tile are at least as many again.
  plan.serial = 2 * conv.batch * rows * divideUp(columns, plan.lanes) * tiles >
                machine.partitionBytes;
  if (converts && conv.inputInDram)
    plan.read = readCycles(conv, plan, rows, machine);
  // Windows that overlap, and what is in the chip already, are gathered inside
  // the chip; a load from DRAM folds on its own, borders included.
  bool direct = plan.kind == FoldKind::Plain ||
                (conv.inputInDram && plan.kind == FoldKind::Width &&
                 plan.fold.padHigh > -plan.fold.stride);
  plan.leave = leaveCycles(conv, machine);
  const FoldAlternative encoded = plan;
  if (!direct && addGatherCosts(conv, machine, plan)) {
    plan.copiedBytes =
        conv.batch * plan.channels * rows * columns * kFloatBytes;
    const int64_t lines = conv.batch * rows;
    const int64_t perTile = divideUp(lines, plan.tiles);
    plan.copy +=
        transferCycles(foldTransfer(conv, plan, perTile, columns, machine),
                       machine) *
        lines / perTile;
  } else if (converts && conv.inputInDram && plan.kind != FoldKind::Plain) {
    // The columns of a step go to partitions of their own.
    const int64_t lines = conv.batch * rows;
    const int64_t inside = transferCycles(
        foldTransfer(conv, plan, lines, columns, machine), machine);
    plan.read = std::max(
        {plan.read, inside, clearCycles(plan, lines, columns, machine)});
  }
  if (plan.spilled && plan.lanes > 1) {
    // Only maps in the chip lie in lanes.
    plan = bare;
    addCosts(conv, machine, /*lanes=*/false, plan);
  } else {
    addResults(conv, machine, plan);
  }
  preferWindowLoad(conv, machine, encoded, plan);
}

llvm::SmallVector<FoldAlternative, 4>
foldAlternatives(const FoldConv &conv, const MachineView &machine, bool lanes) {
  llvm::SmallVector<FoldAlternative, 4> plans;
  // Of both forms the cheaper; form B, the first, of equal ones.
  auto addCheapest = [&](llvm::ArrayRef<FoldAlternative> candidates) {
    std::optional<FoldAlternative> best;
    for (FoldAlternative plan : candidates) {
      addCosts(conv, machine, lanes, plan);
      if (!best || plan.total() < best->total())
        best = plan;
    }
    plans.push_back(*best);
  };
  auto addFolds = [&](bool rows, Phases phases) {
    llvm::SmallVector<FoldAlternative, 2> candidates;
    for (const StrideFold &fold : forms(conv, phases))
      candidates.push_back(widthPlan(conv, fold, rows));
    addCheapest(candidates);
  };
  addCheapest(plainAlternative(conv));
  bool oneRow = llvm::product_of(llvm::ArrayRef(conv.kernel).drop_back()) == 1;
  int64_t stride = conv.strides.back();
  if (stride > 1 || lanes)
    addFolds(/*rows=*/false, Phases::All);
  if (stride > 1 && trailingFold(conv, Phases::Selected).phases < stride)
    addFolds(/*rows=*/false, Phases::Selected);
  if (!oneRow && stride > 1)
    addFolds(/*rows=*/true, Phases::All);
  if (llvm::product_of(conv.kernel) > 1)
    addCheapest(packedPlan(conv));
  return plans;
}

int64_t resultCycles(const FoldConv &conv, const MachineView &machine) {
  FoldAlternative plan = plainAlternative(conv);
  addResults(conv, machine, plan);
  return std::max(plan.array, plan.drain);
}

int64_t leastOnCluster(const FoldConv &conv, const FoldAlternative &plain,
                       int64_t nonZeros, const MachineView &machine) {
  if (machine.clusterMultipliers == 0)
    return 0;
  FoldAlternative least = plain;
  // Every weight is multiplied for each result of its output.
  least.array = nonZeros * conv.batch * llvm::product_of(conv.output) *
                machine.passes / machine.clusterMultipliers;
  least.first = least.last = least.weights = 0;
  return least.total();
}

FoldUtilisation utilisation(const FoldConv &conv, const FoldAlternative &plan,
                            const MachineView &machine) {
  auto share = [](int64_t useful, int64_t all) {
    return all ? static_cast<double>(useful) / static_cast<double>(all) : 0.0;
  };
  FoldUtilisation result;
  int64_t useful = conv.channels * llvm::product_of(conv.kernel);
  result.tap = share(useful, plan.channels * plan.taps);
  int64_t rows = divideUp(plan.channels, machine.rows) * machine.rows;
  result.lane = share(plan.channels * plan.lanes, rows);
  int64_t width = conv.output.back();
  result.width = share(width, plan.lanes * divideUp(width, plan.lanes));
  result.channel = share(
      conv.outputs, machine.columns * divideUp(conv.outputs, machine.columns));
  return result;
}

} // namespace ashlar::nn
