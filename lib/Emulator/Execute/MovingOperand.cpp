// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the moving operand: straight from SB where they are dense, gathered
// otherwise.

#include "MovingOperand.h"
#include "LaneTurns.h"
#include "ShortCopy.h"
#include "WordArray.h"
#include "llvm/ADT/SmallVector.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::OperandMode;

isa::PeMatmul emulator::perResult(const isa::PeMatmul &op) {
  isa::PeMatmul result = op;
  if (op.groups > 1) {
    // The first result whose pixel is not before `pixel`.
    const int32_t advance = 1 + static_cast<int32_t>(op.skip);
    auto resultFrom = [&](int32_t pixel) {
      const int32_t from = pixel - op.shift;
      return from > 0 ? (from + advance - 1) / advance : from / advance;
    };
    result.n2 = op.validW;
    result.lo2 = resultFrom(op.lo2);
    result.hi2 = resultFrom(op.hi2);
  }
  return result;
}

Window emulator::windowOf(const isa::PeMatmul &op, unsigned bytes) {
  Window window;
  Pattern pattern{{op.n0, op.n1, op.n2}, {op.stride0, op.stride1, op.stride2}};
  window.steps = pattern.size();
  window.dense = op.groups == 1 && pattern.isDense(bytes);
  uint64_t valid = 0;
  window.first = window.steps;
  forValidRuns(op, [&](uint64_t step, int64_t, uint64_t n) {
    window.first = std::min(window.first, step);
    window.last = step + n;
    valid += n;
  });
  if (valid == 0)
    window.first = window.last = 0;
  window.masked = valid != window.last - window.first;
  return window;
}

namespace {

/// Builds aligned rows of a step range into scratch.
class MovingRows {
public:
  MovingRows(Engine &engine, const isa::PeMatmul &op, const Fetch &fetch,
             const Window &window, uint64_t begin, uint64_t end)
      : engine(engine), op(op), fetch(fetch), window(window), begin(begin),
        end(end), pitch((end - begin + 31) / 32 * 32),
        elementBytes(widthBytes(fetch.width())), bytes(fetch.bytes()) {}

  /// Packs the rows; steps without memory are zero.
  void pack(uint64_t row, numerics::PackedMoving &packed, uint64_t &saturated) {
    if (!packsStored()) {
      engine.kernels->packMoving(build(saturated),
                                 {row, op.rows, begin, end - begin}, packed);
      return;
    }
    const uint32_t *valid = validSteps();
    const uint64_t most =
        std::min<uint64_t>(op.rows, engine.memory.partitionsPerCell());
    const uint64_t n = end - begin;
    Scratch &scratch = Scratch::ofThisThread();
    auto *raw = scratch.get<uint8_t>(Scratch::GatherA, most * n);
    auto *cells = scratch.get<uint8_t>(Scratch::GatherB, n);
    const int64_t start = op.offset + static_cast<int64_t>(begin);
    for (uint64_t i = 0, count; i < op.rows; i += count) {
      const uint64_t p = op.part + i;
      count = groupRows(engine.memory, p, op.rows - i);
      numerics::StoredRows rows;
      if (window.dense) {
        rows.mant =
            reinterpret_cast<const int8_t *>(engine.memory.sb(p, start));
        rows.pitch = static_cast<ptrdiff_t>(engine.memory.pitch());
        rows.cells = engine.memory.cell(p, start);
      } else {
        gatherGroup(p, count, raw, cells);
        rows.mant = reinterpret_cast<const int8_t *>(raw);
        rows.pitch = static_cast<ptrdiff_t>(n);
        rows.cells = reinterpret_cast<const int8_t *>(cells);
      }
      rows.valid = valid;
      rows.alignment = fetch.alignment;
      engine.kernels->packStored(rows, {row + i, count, begin, n}, packed,
                                 &saturated);
    }
  }

  /// Whether groups of rows can go from memory into the packed operand at
  /// once: no group of cells starts at a row where no range may start.
  bool packsStored() const {
    if (!usesCells() || fetch.type != isa::ElemType::Bfp || bytes != 1 ||
        elementBytes != 2 || alongFreeAxis() ||
        (!window.dense && !sharesCells()))
      return false;
    const uint64_t first = groupRows(engine.memory, op.part, op.rows);
    return first == op.rows ||
           (first % numerics::kMovingRowUnit == 0 &&
            engine.memory.partitionsPerCell() % numerics::kMovingRowUnit == 0);
  }

  /// Whether they may become blocks, if the cells of each 16 rows agree.
  bool packsBlocks() const {
    return engine.kernels->startBlocks && packsStored() &&
           fetch.alignment.range <= numerics::kBlockRange;
  }

  /// Rows x pitch aligned integers; steps without memory are zero.
  numerics::IntegerMatrix build(uint64_t &saturated) {
    Scratch &scratch = Scratch::ofThisThread();
    uint8_t *rows =
        scratch.get<uint8_t>(Scratch::Moving, op.rows * pitch * elementBytes);
    uint64_t first = std::max(begin, window.first);
    uint64_t last = std::max(first, std::min(end, window.last));
    bool direct = window.dense && first < last &&
                  (bytes == 1 || !usesCells()) && !alongFreeAxis();
    if (direct && !window.masked)
      buildDirect(rows, first, last, saturated);
    else if (!(direct && buildMasked(rows, first, last, saturated)))
      buildGathered(rows, saturated);
    return {fetch.width(), rows, pitch};
  }

private:
  bool usesCells() const { return fetch.mode == OperandMode::Bfp; }
  /// Every partition has exponent cells of its own.
  bool alongFreeAxis() const {
    return usesCells() && op.orientation == isa::Orientation::F;
  }

  /// The groups of partitions that row groups read divide into cells alike.
  bool sharesCells() const {
    return lanePitch() % engine.memory.partitionsPerCell() == 0;
  }

  /// A bit for every step that reads memory.
  const uint32_t *validSteps() const {
    const uint64_t words = (end - begin + 31) / 32;
    auto *valid = Scratch::ofThisThread().get<uint32_t>(Scratch::Zeroed, words);
    std::fill_n(valid, words, 0);
    forValidRuns(op, [&](uint64_t step, int64_t, uint64_t n) {
      const uint64_t to = std::min(step + n, end);
      for (uint64_t k = std::max(step, begin); k < to;) {
        const uint64_t at = (k - begin) % 32, count = std::min(32 - at, to - k);
        valid[(k - begin) / 32] |= (~uint32_t(0) >> (32 - count)) << at;
        k += count;
      }
    });
    return valid;
  }

  /// Aligns [first, last) of every row straight from SB and zeroes the rest.
  void buildDirect(uint8_t *rows, uint64_t first, uint64_t last,
                   uint64_t &saturated) {
    // Offsets of first steps may be negative; those that are read never are.
    const int64_t start = op.offset + static_cast<int64_t>(first * bytes);
    for (uint64_t i = 0, count; i < op.rows; i += count) {
      const uint64_t p = op.part + i;
      count = groupRows(engine.memory, p, op.rows - i);
      fetchRows(*engine.kernels, fetch,
                {engine.memory.sb(p, start), engine.memory.pitch(), count,
                 engine.memory.cell(p, start)},
                last - first,
                {rows + (i * pitch + first - begin) * elementBytes,
                 static_cast<ptrdiff_t>(pitch)},
                saturated);
    }
    if (begin == first && last == end)
      return;
    for (uint64_t i = 0; i < op.rows; ++i) {
      uint8_t *out = rows + i * pitch * elementBytes;
      std::memset(out, 0, (first - begin) * elementBytes);
      std::memset(out + (last - begin) * elementBytes, 0,
                  (end - last) * elementBytes);
    }
  }

  /// As buildDirect, with the steps inside the window's holes zeroed
  /// afterwards. False if something saturated: then the holes may have been
  /// counted too, and the rows must be built again.
  bool buildMasked(uint8_t *rows, uint64_t first, uint64_t last,
                   uint64_t &saturated) {
    uint64_t count = 0;
    buildDirect(rows, first, last, count);
    if (count != 0)
      return false;
    (void)saturated;
    uint32_t *mask = Scratch::ofThisThread().get<uint32_t>(
        Scratch::Zeroed, (end - begin + 1) * 2);
    uint64_t pairs = holes(mask);
    for (uint64_t i = 0; i < op.rows; ++i) {
      uint8_t *out = rows + i * pitch * elementBytes;
      if (elementBytes == 2)
        zeroRuns(reinterpret_cast<uint16_t *>(out), mask, pairs);
      else
        zeroRuns(reinterpret_cast<uint32_t *>(out), mask, pairs);
    }
    return true;
  }

  /// Most holes are the one or two steps of a padding column: a store each is
  /// cheaper than a call.
  template <typename T>
  static void zeroRuns(T *row, const uint32_t *runs, uint64_t pairs) {
    for (uint64_t h = 0; h < pairs; ++h) {
      T *from = row + runs[2 * h];
      const uint32_t n = runs[2 * h + 1];
      if (n > 4) {
        std::memset(from, 0, n * sizeof(T));
        continue;
      }
      from[0] = 0;
      if (n > 1)
        from[n - 1] = from[1] = 0;
      if (n > 2)
        from[2] = 0;
    }
  }

  /// Runs of steps, relative to begin, that read nothing: (start, length).
  uint64_t holes(uint32_t *out) const {
    uint64_t pairs = 0, next = begin;
    auto add = [&](uint64_t from, uint64_t to) {
      if (from >= to)
        return;
      out[2 * pairs] = static_cast<uint32_t>(from - begin);
      out[2 * pairs + 1] = static_cast<uint32_t>(to - from);
      ++pairs;
    };
    forValidRuns(op, [&](uint64_t step, int64_t, uint64_t n) {
      add(next, std::min(step, end));
      next = std::max(next, std::min(step + n, end));
    });
    add(next, end);
    return pairs;
  }

  /// Gathers all runs of a row, then aligns the row at once.
  void buildGathered(uint8_t *rows, uint64_t &saturated) {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t n = end - begin;
    const uint64_t most =
        std::min<uint64_t>(op.rows, engine.memory.partitionsPerCell());
    auto *raw = scratch.get<uint8_t>(Scratch::GatherA, most * n * bytes);
    auto *cells = scratch.get<uint8_t>(Scratch::GatherB, n);
    // What is not read becomes zero: a zero point is one byte.
    std::memset(raw, fetch.zero & 0xff, most * n * bytes);
    std::memset(cells, 0x80, n); // cell of a zero block: no saturation counted
    for (uint64_t i = 0, count; i < op.rows; i += count) {
      const uint64_t p = op.part + i;
      count = groupRows(engine.memory, p, op.rows - i);
      if (!sharesCells() || alongFreeAxis())
        count = 1; // the groups of partitions divide differently into cells
      gatherGroup(p, count, raw, cells);
      fetchRows(
          *engine.kernels, fetch,
          {raw, n * bytes, count, reinterpret_cast<const int8_t *>(cells)}, n,
          {rows + i * pitch * elementBytes, static_cast<ptrdiff_t>(pitch)},
          saturated);
    }
  }

  /// Gathers the elements of partitions from `p` on and their common cells.
  void gatherGroup(uint64_t p, uint64_t count, uint8_t *raw, uint8_t *cells) {
    const Memory &memory = engine.memory;
    gatherRows(
        [&](uint64_t lane) { return memory.sb(p + lane * lanePitch(), 0); },
        bytes, count, memory.pitch(), raw);
    if (alongFreeAxis())
      gatherCells(p, cells);
    else if (usesCells())
      gatherRows(
          [&](uint64_t lane) {
            return reinterpret_cast<const uint8_t *>(
                memory.cell(p + lane * lanePitch(), 0));
          },
          1, 1, 0, cells);
  }

  /// Rows that are `pitch` bytes apart; baseOf(lane) is byte 0 of the partition
  /// that a row group reads of the first.
  template <typename BaseOf>
  void gatherRows(BaseOf baseOf, unsigned size, uint64_t count, uint64_t pitch,
                  uint8_t *out) {
    const uint64_t rowBytes = (end - begin) * size;
    const uint8_t *const base = baseOf(0);
    if (op.groups == 1) {
      const StepRuns runs = stepRuns(size);
      for (uint64_t k = 0; k < count; ++k)
        gatherRuns(base + k * pitch, runs, size, out + k * rowBytes);
    } else if (takesTurns(op.groups) && op.skip == 0 && size == 1 &&
               op.stride2 == 1) {
      const LanePlaces lanes = lanePlaces(baseOf);
      forLaneRows(
          [&](uint64_t from, uint64_t to, uint64_t lane, int64_t start) {
            for (uint64_t k = 0; k < count; ++k)
              takeTurns(base + k * pitch, lanes, lane, start, to - from,
                        out + k * rowBytes + from);
          });
    } else {
      const LaneSteps steps = laneSteps(baseOf);
      for (uint64_t k = 0; k < count; ++k)
        if (size == 1)
          gatherSteps<uint8_t>(steps, base + k * pitch, out + k * rowBytes);
        else
          gatherSteps<uint16_t>(steps, base + k * pitch, out + k * rowBytes);
    }
  }

  /// The cells of one partition whose blocks run along the free axis.
  void gatherCells(uint64_t partition, uint8_t *out) const {
    forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
      const uint64_t to = std::min(step + n, end);
      for (uint64_t k = std::max(step, begin); k < to; ++k)
        out[k - begin] = static_cast<uint8_t>(*cellOf(
            engine.memory, op.orientation, bytes, partition,
            op.offset + offset + static_cast<int64_t>(k - step) * op.stride2));
    });
  }

  uint64_t lanePitch() const {
    return op.groups == 1 ? 0 : engine.machine->pe.rows / op.groups;
  }

  /// Where the steps of a row that row groups read lie: from the first lane's
  /// byte 0, and the ranges of steps, from `begin`, that read memory.
  struct LaneSteps {
    const int64_t *offsets;
    llvm::SmallVector<std::pair<uint64_t, uint64_t>, 32> ranges;
  };

  using LanePlaces = llvm::SmallVector<int64_t, 16>;
  /// The lanes, from where the first one is.
  template <typename BaseOf>
  LanePlaces lanePlaces(BaseOf baseOf) const {
    LanePlaces lanes;
    for (uint64_t lane = 0; lane < op.groups; ++lane)
      lanes.push_back(baseOf(lane) - baseOf(0));
    return lanes;
  }

  /// The lanes of a row of results take turns, all at the same addresses: found
  /// once for all rows of the operand.
  template <typename BaseOf>
  LaneSteps laneSteps(BaseOf baseOf) const {
    const LanePlaces lanes = lanePlaces(baseOf);
    auto *offsets =
        Scratch::ofThisThread().get<int64_t>(Scratch::Column, end - begin);
    LaneSteps steps{offsets, {}};
    forLaneRows([&](uint64_t from, uint64_t to, uint64_t lane, int64_t start) {
      steps.ranges.push_back({from, to});
      for (uint64_t k = from; k < to; ++k) {
        offsets[k] = lanes[lane] + start;
        lane += 1 + op.skip;
        for (; lane >= op.groups; lane -= op.groups)
          start += op.stride2;
      }
    });
    return steps;
  }

  template <typename T>
  static void gatherSteps(const LaneSteps &steps, const uint8_t *base,
                          uint8_t *out) {
    for (auto [from, to] : steps.ranges)
      for (uint64_t k = from; k < to; ++k)
        std::memcpy(out + k * sizeof(T), base + steps.offsets[k], sizeof(T));
  }

  /// Calls fn(from, to, lane, offset) for the ranges of steps, from `begin`,
  /// that read memory: the first one reads that lane at that offset.
  template <typename Fn>
  void forLaneRows(Fn fn) const {
    forValidRows(
        op, [&](uint64_t step, int64_t offset, uint64_t b, uint64_t e) {
          const uint64_t row = step - b;
          const uint64_t from = std::max(row + b, begin),
                         to = std::min(row + e, end);
          if (from >= to)
            return;
          // The first pixel is not negative: it is read.
          const auto pixel = static_cast<uint64_t>(
              static_cast<int64_t>((from - row) * (1 + op.skip)) + op.shift);
          fn(from - begin, to - begin, pixel % op.groups,
             op.offset + offset +
                 static_cast<int64_t>(pixel / op.groups) * op.stride2);
        });
  }

  /// `count` steps that read memory: from a byte of the partition to a byte of
  /// the row.
  struct StepRun {
    int64_t from;
    uint64_t to, count;
  };
  using StepRuns = llvm::SmallVector<StepRun, 32>;
  StepRuns stepRuns(unsigned size) const {
    StepRuns runs;
    forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
      const uint64_t from = std::max(step, begin), to = std::min(step + n, end);
      if (from < to)
        runs.push_back({op.offset + offset +
                            static_cast<int64_t>(from - step) * op.stride2,
                        (from - begin) * size, to - from});
    });
    return runs;
  }

  void gatherRuns(const uint8_t *base, llvm::ArrayRef<StepRun> runs,
                  unsigned size, uint8_t *out) const {
    if (op.stride2 == static_cast<int64_t>(size)) {
      for (const StepRun run : runs)
        copyShort(base + run.from, run.count * size, out + run.to);
      return;
    }
    for (const StepRun run : runs)
      gatherElements(*engine.kernels, base + run.from,
                     Pattern{{1, 1, run.count}, {0, 0, op.stride2}}, size, 0,
                     run.count, out + run.to);
  }

  Engine &engine;
  const isa::PeMatmul &op;
  const Fetch &fetch;
  const Window &window;
  uint64_t begin, end, pitch, elementBytes;
  unsigned bytes;
};

} // namespace

numerics::IntegerMatrix
emulator::buildMoving(Engine &engine, const isa::PeMatmul &op,
                      const Fetch &fetch, const Window &window, uint64_t begin,
                      uint64_t end, uint64_t &saturated) {
  return MovingRows(engine, op, fetch, window, begin, end).build(saturated);
}

bool emulator::packsBlocks(Engine &engine, const isa::PeMatmul &op,
                           const Fetch &fetch) {
  const Window window = windowOf(op, fetch.bytes());
  return MovingRows(engine, op, fetch, window, 0, window.steps).packsBlocks();
}

/// Steps that are gathered or aligned at a time: they stay in the first cache
/// level of the host in between. Operands of few rows take more steps for the
/// same memory: their rows are gathered in longer runs.
static uint64_t packStepsFor(uint64_t rows, bool stored) {
  if (stored)
    return 1024;
  return 64 * std::max<uint64_t>(1, std::min<uint64_t>(8, 64 / rows));
}

void emulator::packMoving(Engine &engine, const isa::PeMatmul &op,
                          const Fetch &fetch, const Window &window,
                          uint64_t begin, uint64_t end, uint64_t row,
                          numerics::PackedMoving &packed, uint64_t &saturated) {
  const bool stored =
      MovingRows(engine, op, fetch, window, begin, end).packsStored();
  const uint64_t chunk = packStepsFor(op.rows, stored);
  for (uint64_t k = begin; k < end; k += chunk)
    MovingRows(engine, op, fetch, window, k, std::min(end, k + chunk))
        .pack(row, packed, saturated);
}
