// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of windows that stream while the ones before them drain.

#include "DensePipeline.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Cost/FunctionCycles.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <numeric>
#include <utility>

namespace ashlar::analysis {

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

void DensePipeline::add(const ColumnTile &column, bool last) {
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

} // namespace ashlar::analysis
