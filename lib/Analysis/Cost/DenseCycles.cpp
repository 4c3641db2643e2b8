// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array cycles of convolutions with stationary weights.

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/FunctionCycles.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/RowPacking.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Machine/Ports.h"
#include "ashlar/Partition/Windows.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace ashlar::analysis {
namespace {

/// Array and drain as the emitted program uses them (EmitProduct.cpp): groups
/// of windows fill banks of PSUM by turns while others drain.
class DensePipeline {
  /// Banks that are told apart. More would never be waited for.
  static constexpr size_t kMostBanks = 8;

public:
  /// `rows`: of results in a step; `result`: the fold in which the drain
  /// writes. Windows take `entries` entries of a bank at most.
  DensePipeline(npu::PeConvOp conv, int64_t rows, const Lanes &lanes,
                const Lanes &result, int64_t entries,
                const machine::Description &machine);

  /// Continues where `other` ends: the array streams while ACT drains the last
  /// sums of the product before.
  void follow(const DensePipeline &other) { state = other.state; }

  void add(llvm::ArrayRef<ColumnTile> columns) {
    for (size_t i = 0; i < columns.size(); ++i)
      add(columns[i], i + 1 == columns.size());
  }

  DenseCycles take() const { return state.cycles; }

private:
  /// `last`: no column follows. Groups of equal windows soon repeat: two of
  /// them then move every time by as much as the two before did, so that the
  /// time of very many is known without counting each.
  void add(const ColumnTile &column, bool last) {
    if (column.tiles.empty())
      return;
    // One pass keeps pace with the drain, piece by piece.
    const bool paced = column.tiles.size() == 1 && passes == 1;
    for (const Run &run : groups) {
      std::array<State, 2> before{state, state};
      for (int64_t i = 0; i < run.count; ++i) {
        const bool ends = last && &run == &groups.back() && i + 1 == run.count;
        addGroup(column, run.windows, paced || ends || !started);
        const State old = std::exchange(before[i % 2], state);
        // The very last group is drained otherwise.
        const int64_t pairs = (run.count - i - 2) / 2;
        if (i < 3 || pairs < 1 || !state.repeats(old))
          continue;
        state.repeat(old, pairs);
        i += 2 * pairs;
      }
    }
  }

  /// Rows of results and their width, and the rows that they are reduced to.
  struct Box {
    int64_t rows = 0, width = 0, pooled = 0;
    bool operator==(const Box &) const = default;
    int64_t positions() const { return rows * width; }
  };
  /// A window and the pieces that it may be drained in.
  struct Part {
    Box whole;
    llvm::SmallVector<Box, 8> pieces;
    bool operator==(const Part &) const = default;
  };
  /// Groups of equal windows, one after the other.
  struct Run {
    llvm::SmallVector<Part, 2> windows;
    int64_t count = 0;
  };

  /// What two groups ago decides about the next one, and the sums.
  struct State {
    /// When banks of PSUM are free again, the next one first.
    llvm::SmallVector<int64_t, kMostBanks> free;
    int64_t arrayFree = 0, actFree = 0;
    DenseCycles cycles;

    bool repeats(const State &old) const {
      const int64_t step = arrayFree - old.arrayFree;
      return actFree - old.actFree == step &&
             llvm::all_of(llvm::zip_equal(free, old.free), [&](auto banks) {
               return std::get<0>(banks) - std::get<1>(banks) == step;
             });
    }

    /// What has happened since `old` happens `times` more.
    void repeat(const State &old, int64_t times) {
      const int64_t step = times * (arrayFree - old.arrayFree);
      for (int64_t &bank : free)
        bank += step;
      for (int64_t *time : {&arrayFree, &actFree, &cycles.total})
        *time += step;
      cycles.stream += times * (cycles.stream - old.cycles.stream);
      cycles.array += times * (cycles.array - old.cycles.array);
      cycles.drain += times * (cycles.drain - old.cycles.drain);
    }
  };

  Part partOf(const partition::Window &window) const;
  void findGroups(const partition::Positions4 &extent, int64_t entries);
  void findPooledGroups(npu::PeConvOp conv, int64_t images, int64_t width);
  int64_t accesses(const Box &box, int64_t bytes, int64_t step,
                   int64_t pixels) const;
  /// Cycles of one bank; none where banks have no price.
  int64_t claim(int64_t count) const {
    return machine.sb.banks == 0 ? 0
                                 : static_cast<int64_t>(machine::bankCycles(
                                       machine, static_cast<uint64_t>(count)));
  }
  /// Steps and cycles of a stream; `pattern`: through N:M weights.
  machine::PeSteps stepsOf(const Box &box, bool pattern) const;
  uint64_t groupsOf(bool pattern) const;
  int64_t streamOf(const Box &box, bool pattern) const;
  int64_t drainOf(const Box &box, int64_t columns) const;
  void addGroup(const ColumnTile &column, llvm::ArrayRef<Part> windows,
                bool inPieces);
  size_t banksOf(size_t windows) const;

  const machine::Description &machine;
  int64_t rows;                                ///< of results in a step
  int64_t lanes, drained, passes, weightBytes; ///< of x, of drains
  int64_t xBytes, stride, residual; ///< bytes, elements, bytes (0: none)
  StorageType stored;
  machine::VecCost function;
  int64_t share;            ///< of the vector unit
  npu::PoolingAttr pooling; ///< of the drain, or null
  StorageType result;       ///< of reduced windows
  int64_t pooledColumns = 1;
  std::vector<Run> groups;
  bool started = false;      ///< some group is
  bool pointwise = false;    ///< positions follow each other in the input
  bool narrow = false;       ///< cells may take two positions at a time
  bool usesPattern = false;  ///< tiles that have it are N:M weights
  bool afterPattern = false; ///< the last stream was through N:M weights
  State state;
};

DensePipeline::DensePipeline(npu::PeConvOp conv, int64_t rows,
                             const Lanes &lanes, const Lanes &result,
                             int64_t entries,
                             const machine::Description &machine)
    : machine(machine), rows(rows), lanes(lanes.count), drained(result.count),
      function(drainFunction(conv)), share(npu::vectorShareOf(conv)),
      pooling(conv.getPoolingAttr()), result(storageOf(conv.getY())) {
  const StorageType x = activationStorage(conv), w = weightStorage(conv);
  passes = static_cast<int64_t>(
      machine::pePasses(machine, x.digitBits(), w.digitBits()));
  narrow = isNarrow(x, w, machine);
  weightBytes = w.bytes();
  xBytes = x.bytes();
  stride = conv.getStrides().back();
  stored = storageOf(conv.getMapType());
  pointwise = lanes.count == 1 && isPointwise(conv);
  state.free.assign(std::clamp<size_t>(machine.psum.banks, 1, kMostBanks), 0);
  usesPattern = analysis::usesPattern(conv, lanes, machine);
  residual = 0;
  if (mlir::Value added = conv.getResidual()) {
    residual = storageOf(added).bytes();
    drained = std::max(drained, widthLanesOf(added).count);
  }
  auto out = conv.getMapType().getShape();
  partition::Positions4 extent{out[0], 1, 1, 1};
  for (size_t i = 2; i < out.size(); ++i)
    extent[4 - out.size() + i] = out[i];
  extent[2] = llvm::divideCeilSigned(extent[2], rows);
  if (pooling)
    findPooledGroups(conv, extent[0], extent[3]);
  else
    findGroups(extent, entries);
}

/// Windows whose sums fill half of PSUM.
void DensePipeline::findPooledGroups(npu::PeConvOp conv, int64_t images,
                                     int64_t width) {
  pooledColumns = pooledAxis(conv, 1).out;
  partition::forEachPooledWindow(
      images, pooledAxis(conv, 0), width, pooledEntries(machine),
      [&](const partition::Window &window) {
        Part part;
        part.whole = {window.rows(), width, window.results};
        part.pieces.push_back(part.whole);
        llvm::SmallVector<Part, 2> group{part};
        if (groups.empty() || groups.back().windows != group)
          groups.push_back({group, 0});
        ++groups.back().count;
      });
}

/// A window and its pieces, wherever it begins.
DensePipeline::Part
DensePipeline::partOf(const partition::Window &window) const {
  auto boxOf = [](const partition::Window &box) {
    return Box{box.rows(), box.size[3]};
  };
  Part part;
  part.whole = boxOf(window);
  partition::forEachPiece(window, lanes > 1 || drained > 1,
                          [&](const partition::Window &piece, int64_t) {
                            part.pieces.push_back(boxOf(piece));
                          });
  return part;
}

/// The windows that half of the banks of PSUM hold at a time.
void DensePipeline::findGroups(const partition::Positions4 &extent,
                               int64_t entries) {
  const size_t most = std::max<size_t>(machine.psum.banks / 2, 1);
  // Windows of a batch have few sizes, which alone decide their pieces.
  std::vector<Part> parts;
  llvm::SmallVector<std::pair<partition::Positions4, size_t>, 8> known;
  auto numberOf = [&](const partition::Window &window) {
    for (const auto &[size, number] : known)
      if (size == window.size)
        return number;
    Part part = partOf(window);
    const auto number =
        static_cast<size_t>(llvm::find(parts, part) - parts.begin());
    if (number == parts.size())
      parts.push_back(std::move(part));
    known.push_back({window.size, number});
    return number;
  };
  llvm::SmallVector<size_t, 2> group, last;
  auto close = [&] {
    if (group.empty())
      return;
    if (groups.empty() || last != group) {
      Run &run = groups.emplace_back();
      for (size_t number : group)
        run.windows.push_back(parts[number]);
      last = group;
    }
    ++groups.back().count;
    group.clear();
  };
  partition::forEachWindow(extent, lanes, entries,
                           [&](const partition::Window &window) {
                             group.push_back(numberOf(window));
                             if (group.size() == most)
                               close();
                           });
  close();
}

/// Accesses of a partition to `pixels` elements of each row of `box`, `bytes`
/// bytes long and `step` elements apart; rows begin each with a run of its own
/// unless they lie without gaps.
int64_t DensePipeline::accesses(const Box &box, int64_t bytes, int64_t step,
                                int64_t pixels) const {
  machine::PortPattern pattern;
  pattern.elementBytes = static_cast<uint64_t>(bytes);
  pattern.add(static_cast<uint64_t>(box.rows), (pixels + 1) * step * bytes);
  pattern.add(static_cast<uint64_t>(pixels), step * bytes);
  return static_cast<int64_t>(machine::portAccesses(machine, pattern));
}

machine::PeSteps DensePipeline::stepsOf(const Box &box, bool pattern) const {
  const int64_t pixels = llvm::divideCeilSigned(box.width, lanes);
  const int64_t rows = pointwise ? 1 : box.rows;
  machine::PeStreamShape shape;
  shape.rows = static_cast<uint64_t>(rows);
  shape.positions = static_cast<uint64_t>(box.rows / rows * pixels);
  shape.passes = static_cast<uint64_t>(passes);
  shape.groups = static_cast<uint64_t>(lanes);
  shape.advance = lanes > 1 ? static_cast<uint64_t>(stride) : 1;
  shape.pattern = pattern;
  shape.narrow = narrow;
  return machine::peSteps(machine, shape);
}

uint64_t DensePipeline::groupsOf(bool pattern) const {
  return static_cast<uint64_t>(lanes) *
         (pattern ? machine.pe.patternPositions() : 1);
}

int64_t DensePipeline::streamOf(const Box &box, bool pattern) const {
  // A partition gives a pixel to every `turns`-th result of a row.
  const int64_t common = std::gcd(lanes, stride), turns = lanes / common;
  return std::max(
      static_cast<int64_t>(stepsOf(box, pattern).cycles),
      claim(passes * accesses(box, xBytes, stride / common,
                              llvm::divideCeilSigned(box.width, turns))));
}

int64_t DensePipeline::drainOf(const Box &box, int64_t columns) const {
  if (pooling) {
    const auto width = static_cast<uint64_t>(box.width);
    const machine::PoolShape shape{
        {1, static_cast<uint64_t>(box.rows), width},
        {1, static_cast<uint64_t>(box.pooled),
         static_cast<uint64_t>(pooledColumns)},
        {1, static_cast<uint64_t>(pooling.getKernel()[0]),
         static_cast<uint64_t>(pooling.getKernel()[1])}};
    const auto kind = pooling.getKind() == "max" ? machine::PoolKind::Max
                                                 : machine::PoolKind::Average;
    return static_cast<int64_t>(
        machine::vecDrain(machine, kind, storeOf(stored, result), function,
                          static_cast<uint64_t>(columns), shape)
            .issue);
  }
  const Box line{1, box.positions() * rows};
  return std::max(
      sharedDrain(machine, columns, box.positions(), function, share),
      claim(accesses(line, stored.bytes(), 1, line.width) +
            (residual > 0 ? accesses(line, residual, 1, line.width) : 0)));
}

/// The banks of State::free that the sums of so many windows take.
size_t DensePipeline::banksOf(size_t windows) const {
  const size_t all = std::max<size_t>(machine.psum.banks, 1);
  const size_t own = pooling ? std::max<size_t>(all / 2, 1) : windows;
  return llvm::divideCeil(own * state.free.size(), all);
}

/// `inPieces`: sums are drained piece by piece while the last stationary tile
/// streams, otherwise window by window.
void DensePipeline::addGroup(const ColumnTile &column,
                             llvm::ArrayRef<Part> windows, bool inPieces) {
  llvm::SmallVector<Box, 16> boxes;
  int64_t busy = 0, last = 0;
  for (const Part &window : windows) {
    if (inPieces)
      boxes.append(window.pieces.begin(), window.pieces.end());
    else
      boxes.push_back(window.whole);
  }
  const bool patternEnds = usesPattern && column.tiles.back().pattern;
  for (const Box &box : boxes)
    last += streamOf(box, patternEnds);
  // Of tiles with and without N:M weights.
  std::array<int64_t, 2> stream{0, 0};
  for (const Part &window : windows) {
    stream[0] += streamOf(window.whole, false);
    if (usesPattern)
      stream[1] += streamOf(window.whole, true);
  }
  for (const StationaryTile &tile : column.tiles) {
    const bool pattern = usesPattern && tile.pattern;
    const int64_t own = &tile == &column.tiles.back() ? last : stream[pattern];
    state.cycles.stream += own;
    busy += static_cast<int64_t>(machine::peTile(
        machine, own,
        machine::peLoad(machine, tile.rows, weightBytes, pattern).issue));
    if (pattern && !afterPattern)
      busy += static_cast<int64_t>(
          machine::groupPause(machine, groupsOf(false), groupsOf(true)));
    afterPattern = pattern;
  }
  const auto skew = static_cast<int64_t>(machine.pe.rows) + column.cols - 2;
  started = true;
  const size_t taken = banksOf(windows.size());
  const auto *waited =
      std::max_element(state.free.begin(), state.free.begin() + taken);
  const int64_t end = std::max(state.arrayFree, *waited) + busy;
  int64_t streamed = end - last;
  for (const Box &box : boxes) {
    streamed += streamOf(box, patternEnds);
    const int64_t drain = drainOf(box, column.cols);
    // A drain of neighbours in PSUM follows its stream by a row.
    // One of reduced windows is cut into four, the first of which waits for its
    // share of the stream.
    const auto steps =
        static_cast<int64_t>(stepsOf(box, patternEnds).steps) - 1;
    const int64_t early = pooling                    ? steps * 3 / 4
                          : lanes > 1 || drained > 1 ? 0
                                                     : steps;
    state.actFree = std::max(state.actFree, streamed + skew - early) + drain;
    state.cycles.drain += drain;
  }
  state.arrayFree = end;
  state.cycles.array += busy;
  state.cycles.total =
      state.actFree +
      static_cast<int64_t>(machine.act.latency +
                           (pooling ? machine.vec.latency : uint64_t(0)));
  state.free.erase(state.free.begin(), state.free.begin() + taken);
  state.free.append(taken, state.cycles.total);
}

/// Windows that are tried have so many positions at least: two of them cover
/// the load of weights four times. With 128 SqueezeNet is faster still, but
/// engines wait for larger banks of the state buffer more than for smaller
/// ones.
constexpr int64_t kLeastWindow = 256;
/// The part of its cycles that smaller windows have to gain: their instructions
/// are more.
constexpr int64_t kWindowGain = 100;

int64_t bankEntries(const machine::Description &machine) {
  return static_cast<int64_t>(machine.psum.entriesPerBank);
}

} // namespace

int64_t pooledEntries(const machine::Description &machine) {
  return static_cast<int64_t>(machine.psum.entriesPerBank *
                              std::max<uint64_t>(machine.psum.banks / 2, 1));
}

partition::PoolAxis pooledAxis(Operation *op, int64_t i) {
  const npu::PoolingAttr pooling = npu::poolingOf(op);
  partition::PoolAxis axis;
  axis.in = pooling.getMap().getShape()[2 + i];
  axis.kernel = pooling.getKernel()[i];
  axis.step = pooling.getStrides()[i];
  axis.dilation = pooling.getDilations()[i];
  axis.pad = pooling.getPads()[i];
  axis.out = shapeOf(op->getResult(0))[2 + i];
  return axis;
}

int64_t windowEntries(npu::PeConvOp conv, const Lanes &lanes,
                      const Lanes &result,
                      const machine::Description &machine) {
  const ProductShape product = productShape(conv);
  const auto columns = planStationary(product, machine);
  auto totalOf = [&](int64_t entries) {
    DensePipeline pipeline(conv, product.packing.rows, lanes, result, entries,
                           machine);
    pipeline.add(columns);
    return pipeline.take().total;
  };
  int64_t best = bankEntries(machine), least = totalOf(best);
  // Powers of two: a larger memory has the windows of every smaller one.
  const uint64_t below = static_cast<uint64_t>(std::max<int64_t>(best - 1, 1));
  for (auto entries = static_cast<int64_t>(llvm::bit_floor(below));
       entries >= kLeastWindow; entries /= 2)
    if (const int64_t total = totalOf(entries);
        total < least - least / kWindowGain)
      best = entries, least = total;
  return best;
}

DenseCycles denseCycles(npu::PeConvOp conv, const Lanes &lanes,
                        llvm::ArrayRef<ColumnTile> columns,
                        const machine::Description &machine,
                        const Lanes &result) {
  const int64_t rows = columns.empty() ? 1 : columns.front().packing.rows;
  DensePipeline pipeline(conv, rows, lanes, result, bankEntries(machine),
                         machine);
  pipeline.add(columns);
  return pipeline.take();
}

DenseCycles denseCycles(llvm::ArrayRef<npu::PeConvOp> convs, const Lanes &lanes,
                        const machine::Description &machine,
                        const Lanes &result) {
  std::optional<DensePipeline> before;
  int64_t copies = 0;
  for (npu::PeConvOp conv : convs) {
    ProductShape product = productShape(conv);
    if (rowPackings(conv, lanes, machine).size() > 1) {
      const PackingChoice choice = choosePacking(conv, lanes, machine, result);
      const PackedRows &own = choice.chosen();
      product.packing = rowPacking(conv, own.rows, own.apart);
      copies += own.copies;
    }
    DensePipeline pipeline(conv, product.packing.rows, lanes, result,
                           bankEntries(machine), machine);
    if (before)
      pipeline.follow(*before);
    setBlocks(product, lanes, result);
    auto columns = planStationary(product, machine);
    if (usesPattern(conv, lanes, machine))
      markPatterns(columns, conv, WeightPattern(conv), machine);
    pipeline.add(columns);
    before.emplace(std::move(pipeline));
  }
  DenseCycles cycles = before ? before->take() : DenseCycles();
  cycles.total += copies;
  return cycles;
}

bool mayReadLanes(npu::PeConvOp conv) {
  // The instruction counts the pixels that it leaves out in 4 bits.
  constexpr int64_t kMostAdvance = 16;
  return !npu::hasStationaryActivations(conv) &&
         conv.getStrides().back() <= kMostAdvance;
}

machine::VecCost drainFunction(mlir::Operation *product) {
  llvm::StringRef name =
      llvm::TypeSwitch<mlir::Operation *, llvm::StringRef>(product)
          .Case<npu::PeConvOp, npu::TcuConvOp, npu::PeMatmulOp>(
              [](auto op) { return op.getFunction(); })
          .Default([](mlir::Operation *) { return llvm::StringRef("copy"); });
  return machine::vecCostOf(name).value_or(machine::VecCost::VeryExpensive);
}

int64_t makingCycles(mlir::Value x, const Lanes &lanes,
                     machine::TransferCosts &costs) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move)
    return 0;
  const OperationCycles own = moveCycles(move, lanes, costs);
  const int64_t copied = own.copied(costs.description());
  return std::max(copied, own.vector) +
         llvm::divideCeil(std::min(copied, own.vector), kOverlapTiles);
}

int64_t encodeCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move || !storageOf(x).encoded ||
      llvm::any_of(move.getInputs(),
                   [](mlir::Value input) { return storageOf(input).encoded; }))
    return 0;
  return moveCycles(move, lanes, machine).vector;
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
