// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PE array: stationary loads, the swap, matmul. Operands are aligned to their
// scale exponent when they are fetched (docs/Numerics.md 3); the product runs
// in the GEMM kernel of the table, exact in 64 bits.

#include "Engine.h"
#include "Tensor.h"
#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;
using numerics::OperandWidth;

namespace {

/// How a row of stored elements becomes aligned integers.
struct Fetch {
  ElemType type = ElemType::Bfp;
  OperandMode mode = OperandMode::Bfp;
  int mantissa = 8, range = 0, scale = 0;

  unsigned bytes() const {
    return storedBytes(type, static_cast<unsigned>(mantissa));
  }
  OperandWidth width() const {
    if (mode == OperandMode::Bfp)
      return mantissa - 1 + range <= 15 ? OperandWidth::Int16
                                        : OperandWidth::Int32;
    return type == ElemType::I8 || type == ElemType::U8 ||
                   type == ElemType::Bool
               ? OperandWidth::Int16
               : OperandWidth::Int32;
  }
};

/// The part of a moving row that reads memory: steps [first, last) and, if the
/// window also leaves out steps inside, a mask.
struct Window {
  Pattern pattern; ///< Byte strides, merged where possible.
  uint64_t steps = 0;
  /// One contiguous run of memory covers [first, last).
  bool dense = false;
  uint64_t first = 0, last = 0;
  /// Steps inside [first, last) that read nothing.
  bool masked = false;
};

} // namespace

template <typename Op>
static Fetch fetchOf(const Op &op, Memory &memory) {
  Fetch fetch;
  fetch.type = op.type;
  fetch.mode = op.mode;
  fetch.mantissa = static_cast<int>(op.mantissa);
  fetch.range = static_cast<int>(op.range);
  if (fetch.mode == OperandMode::Bfp)
    fetch.scale = numerics::scaleOrDefault(memory.xr(op.xr), fetch.mantissa);
  return fetch;
}

template <typename From, typename To>
static void extend(const uint8_t *raw, uint64_t n, To *out) {
  for (uint64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, raw + i * sizeof(From), sizeof(From));
    out[i] = value;
  }
}

/// Integer mode: elements as stored. The verifier admits 8 and 16 bits only.
static void fetchIntegers(const Fetch &fetch, const uint8_t *raw, uint64_t n,
                          void *out) {
  switch (fetch.type) {
  case ElemType::I8:
    return extend<int8_t>(raw, n, static_cast<int16_t *>(out));
  case ElemType::U8:
  case ElemType::Bool:
    return extend<uint8_t>(raw, n, static_cast<int16_t *>(out));
  case ElemType::I16:
    return extend<int16_t>(raw, n, static_cast<int32_t *>(out));
  default:
    return extend<uint16_t>(raw, n, static_cast<int32_t *>(out));
  }
}

/// Aligns n gathered elements to `out` of the fetch's width.
static void fetchRow(const numerics::KernelTable &kernels, const Fetch &fetch,
                     const uint8_t *raw, const int8_t *cells, uint64_t n,
                     void *out, uint64_t &saturated) {
  if (fetch.mode != OperandMode::Bfp)
    return fetchIntegers(fetch, raw, n, out);
  const auto *narrow = reinterpret_cast<const int8_t *>(raw);
  const auto *wide = reinterpret_cast<const int16_t *>(raw);
  const bool narrowOut = fetch.width() == OperandWidth::Int16;
  if (fetch.mantissa <= 8 && narrowOut)
    kernels.align8To16(narrow, cells, n, fetch.scale, fetch.mantissa,
                       fetch.range, static_cast<int16_t *>(out), &saturated);
  else if (fetch.mantissa <= 8)
    kernels.align8To32(narrow, cells, n, fetch.scale, fetch.mantissa,
                       fetch.range, static_cast<int32_t *>(out), &saturated);
  else if (narrowOut)
    kernels.align16To16(wide, cells, n, fetch.scale, fetch.mantissa,
                        fetch.range, static_cast<int16_t *>(out), &saturated);
  else
    kernels.align16To32(wide, cells, n, fetch.scale, fetch.mantissa,
                        fetch.range, static_cast<int32_t *>(out), &saturated);
}

static uint64_t widthBytes(OperandWidth width) {
  return width == OperandWidth::Int16 ? 2 : 4;
}

/// Aligns rows that share their cells. Row i is raw + i * rawPitch bytes and
/// goes to out + i * outPitch elements.
static void fetchRows(const numerics::KernelTable &kernels, const Fetch &fetch,
                      const uint8_t *raw, uint64_t rawPitch, uint64_t rows,
                      const int8_t *cells, uint64_t n, uint8_t *out,
                      uint64_t outPitch, uint64_t &saturated) {
  if (fetch.mode == OperandMode::Bfp && fetch.mantissa <= 8 &&
      fetch.width() == OperandWidth::Int16) {
    kernels.alignGroup8To16(reinterpret_cast<const int8_t *>(raw),
                            static_cast<ptrdiff_t>(rawPitch), rows, cells, n,
                            fetch.scale, fetch.mantissa, fetch.range,
                            reinterpret_cast<int16_t *>(out),
                            static_cast<ptrdiff_t>(outPitch), &saturated);
    return;
  }
  for (uint64_t i = 0; i < rows; ++i)
    fetchRow(kernels, fetch, raw + i * rawPitch, cells, n,
             out + i * outPitch * widthBytes(fetch.width()), saturated);
}

/// Partitions from p on, at most `rows`, that lie in one group of cells.
static uint64_t groupRows(const Memory &memory, uint64_t p, uint64_t rows) {
  const uint64_t group = memory.partitionsPerCell();
  return std::min(rows, group - p % group);
}

//===- Stationary operand
//--------------------------------------------------===//

/// Select mode keeps the stored words, zero extended to 64 bits.
static void loadRaw(const isa::PeLoad &op, Memory &memory, unsigned bytes,
                    StationarySet &set) {
  set.raw.assign(op.rows * op.cols, 0);
  for (uint64_t i = 0; i < op.rows; ++i)
    for (uint64_t c = 0; c < op.cols; ++c)
      std::memcpy(&set.raw[i * op.cols + c],
                  memory.sb(op.part + i, op.offset) +
                      static_cast<int64_t>(c) * op.colStride,
                  bytes);
}

void Engine::execute(const isa::PeLoad &op) {
  Fetch fetch = fetchOf(op, memory);
  const unsigned bytes = fetch.bytes();
  StationarySet &shadow = sets.shadow();
  shadow.rows = op.rows;
  shadow.cols = op.cols;
  if (fetch.mode == OperandMode::Select)
    return loadRaw(op, memory, bytes, shadow);
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t elementBytes = widthBytes(fetch.width());
  auto *values =
      scratch.get<uint8_t>(Scratch::Moving, op.rows * op.cols * elementBytes);
  Pattern columns{{1, 1, op.cols}, {0, 0, op.colStride}};
  auto *raw = scratch.get<uint8_t>(Scratch::GatherA, op.cols * bytes);
  auto *cells = scratch.get<uint8_t>(Scratch::GatherB, op.cols);
  const bool dense = op.colStride == static_cast<int64_t>(bytes);
  for (uint64_t i = 0, rows; i < op.rows; i += rows) {
    const uint64_t p = op.part + i;
    const uint8_t *row = memory.sb(p, op.offset);
    rows = dense ? groupRows(memory, p, op.rows - i) : 1;
    if (!dense) {
      gatherElements(*kernels, row, columns, bytes, 0, op.cols, raw);
      row = raw;
    }
    const auto *exponents =
        reinterpret_cast<const uint8_t *>(memory.cell(p, op.offset));
    if (op.colStride != 1 && fetch.mode == OperandMode::Bfp) {
      gatherElements(*kernels, exponents, columns, 1, 0, op.cols, cells);
      exponents = cells;
    }
    fetchRows(*kernels, fetch, row, memory.pitch(), rows,
              reinterpret_cast<const int8_t *>(exponents), op.cols,
              values + i * op.cols * elementBytes, op.cols, counters.saturated);
  }
  kernels->packStationary({fetch.width(), values, op.cols}, op.rows, op.cols,
                          shadow.packed);
}

void Engine::execute(const isa::PeSwap &) {
  sets.swap();
  if (batch.empty())
    sets.recycle();
}

//===- Moving operand
//------------------------------------------------------===//

/// Indices [begin, end) of a dimension that read memory.
static std::pair<uint64_t, uint64_t> clip(int64_t lo, int64_t hi, uint64_t n) {
  int64_t limit = static_cast<int64_t>(n);
  int64_t begin = std::clamp<int64_t>(lo, 0, limit);
  int64_t end = std::clamp<int64_t>(hi, begin, limit);
  return {static_cast<uint64_t>(begin), static_cast<uint64_t>(end)};
}

/// Calls fn(step, address offset, count) for the runs of valid steps.
template <typename Fn>
static void forValidRuns(const isa::PeMatmul &op, Fn fn) {
  auto [b0, e0] = clip(op.lo0, op.hi0, op.n0);
  auto [b1, e1] = clip(op.lo1, op.hi1, op.n1);
  auto [b2, e2] = clip(op.lo2, op.hi2, op.n2);
  if (b2 == e2)
    return;
  for (uint64_t i0 = b0; i0 < e0; ++i0)
    for (uint64_t i1 = b1; i1 < e1; ++i1)
      fn((i0 * op.n1 + i1) * op.n2 + b2,
         static_cast<int64_t>(i0) * op.stride0 +
             static_cast<int64_t>(i1) * op.stride1 +
             static_cast<int64_t>(b2) * op.stride2,
         e2 - b2);
}

static Window windowOf(const isa::PeMatmul &op, unsigned bytes) {
  Window window;
  Pattern pattern{{op.n0, op.n1, op.n2}, {op.stride0, op.stride1, op.stride2}};
  window.steps = pattern.size();
  window.dense = pattern.isDense(bytes);
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

  /// Rows x pitch aligned integers; steps without memory are zero.
  numerics::IntegerMatrix build(uint64_t &saturated) {
    Scratch &scratch = Scratch::ofThisThread();
    uint8_t *rows =
        scratch.get<uint8_t>(Scratch::Moving, op.rows * pitch * elementBytes);
    uint64_t first = std::max(begin, window.first);
    uint64_t last = std::max(first, std::min(end, window.last));
    bool direct = window.dense && first < last && (bytes == 1 || !usesCells());
    if (direct && !window.masked)
      buildDirect(rows, first, last, saturated);
    else if (!(direct && buildMasked(rows, first, last, saturated)))
      buildGathered(rows, saturated);
    return {fetch.width(), rows, pitch};
  }

private:
  bool usesCells() const { return fetch.mode == OperandMode::Bfp; }

  /// Aligns [first, last) of every row straight from SB and zeroes the rest.
  void buildDirect(uint8_t *rows, uint64_t first, uint64_t last,
                   uint64_t &saturated) {
    // Offsets of first steps may be negative; those that are read never are.
    const int64_t start = op.offset + static_cast<int64_t>(first * bytes);
    for (uint64_t i = 0, count; i < op.rows; i += count) {
      const uint64_t p = op.part + i;
      count = groupRows(engine.memory, p, op.rows - i);
      fetchRows(*engine.kernels, fetch, engine.memory.sb(p, start),
                engine.memory.pitch(), count, engine.memory.cell(p, start),
                last - first, rows + (i * pitch + first - begin) * elementBytes,
                pitch, saturated);
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
    std::memset(raw, 0, most * n * bytes);
    std::memset(cells, 0x80, n); // cell of a zero block: no saturation counted
    for (uint64_t i = 0, count; i < op.rows; i += count) {
      const uint64_t p = op.part + i;
      count = groupRows(engine.memory, p, op.rows - i);
      for (uint64_t k = 0; k < count; ++k)
        gatherRuns(engine.memory.sb(p + k, 0), bytes, raw + k * n * bytes);
      if (usesCells())
        gatherRuns(reinterpret_cast<uint8_t *>(engine.memory.cell(p, 0)), 1,
                   cells);
      fetchRows(*engine.kernels, fetch, raw, n * bytes, count,
                reinterpret_cast<const int8_t *>(cells), n,
                rows + i * pitch * elementBytes, pitch, saturated);
    }
  }

  void gatherRuns(const uint8_t *base, unsigned size, uint8_t *out) {
    forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
      uint64_t from = std::max(step, begin), to = std::min(step + n, end);
      if (from >= to)
        return;
      Pattern run{{1, 1, to - from}, {0, 0, op.stride2}};
      gatherElements(*engine.kernels,
                     base + (op.offset + offset +
                             static_cast<int64_t>(from - step) * op.stride2),
                     run, size, 0, to - from, out + (from - begin) * size);
    });
  }

  Engine &engine;
  const isa::PeMatmul &op;
  const Fetch &fetch;
  const Window &window;
  uint64_t begin, end, pitch, elementBytes;
  unsigned bytes;
};

} // namespace

//===- Matmul
//--------------------------------------------------------------===//

/// Select mode: PSUM receives the sum of the stationary words that the moving
/// operand selects with a non-zero element; with an identity window, the word.
static void multiplySelect(Engine &engine, const isa::PeMatmul &op) {
  Memory &memory = engine.memory;
  Pattern target{{op.n0, op.n1, op.n2},
                 {op.psumStride0, op.psumStride1, op.psumStride2}};
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  if (!op.accumulate)
    target.forRuns(0, target.size(), [&](uint64_t, int64_t offset, uint64_t n) {
      for (uint64_t c = 0; c < op.cols; ++c)
        for (uint64_t k = 0; k < n; ++k)
          *memory.psum(c, op.psum + static_cast<uint64_t>(
                                        offset + static_cast<int64_t>(k) *
                                                     op.psumStride2)) = 0;
    });
  forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
    for (uint64_t k = 0; k < n; ++k) {
      int64_t entry = 0;
      target.forRuns(step + k, step + k + 1,
                     [&](uint64_t, int64_t at, uint64_t) { entry = at; });
      for (uint64_t i = 0; i < op.rows; ++i) {
        uint64_t word = 0;
        std::memcpy(
            &word,
            memory.sb(op.part + i, op.offset + offset +
                                       static_cast<int64_t>(k) * op.stride2),
            bytes);
        for (uint64_t c = 0; word != 0 && c < op.cols; ++c) {
          int64_t &cell =
              *memory.psum(c, op.psum + static_cast<uint64_t>(entry));
          cell = static_cast<int64_t>(
              static_cast<uint64_t>(cell) +
              engine.sets.active().raw[i * engine.sets.active().cols + c]);
        }
      }
    }
  });
}

/// Steps that are fetched and packed at a time: they stay in the first cache
/// level of the host in between.
static constexpr uint64_t packSteps = 64;

/// Fetches steps [begin, end) into a packed operand.
static void packSharedSteps(Engine &engine, const isa::PeMatmul &op,
                            const Fetch &fetch, const Window &window,
                            uint64_t begin, uint64_t end,
                            numerics::PackedMoving &packed,
                            uint64_t &saturated) {
  for (uint64_t k = begin; k < end; k += packSteps) {
    const uint64_t last = std::min(end, k + packSteps);
    MovingRows builder(engine, op, fetch, window, k, last);
    engine.kernels->packMoving(builder.build(saturated), k, last - k, packed);
  }
}

/// The packed moving operand of a matmul, fetched if no earlier matmul has
/// done so.
static OperandCache::Slot &packedOperand(Engine &engine,
                                         const isa::PeMatmul &op,
                                         const Fetch &fetch, uint64_t steps) {
  const uint32_t operand = engine.reuse.operandOf(engine.current);
  if (OperandCache::Slot *slot = engine.operands.find(operand))
    return *slot;
  const uint64_t bytes = op.rows * steps * widthBytes(fetch.width());
  // Operands that wait for their product must not be given up.
  if (engine.operands.isFull(bytes))
    engine.batch.flush(engine);
  OperandCache::Slot &slot =
      engine.operands.insert(operand, engine.reuse.usesOf(operand), bytes);
  engine.kernels->startMoving(op.rows, steps, fetch.width(), slot.packed);
  const Window window = windowOf(op, fetch.bytes());
  const uint64_t units = (steps + packSteps - 1) / packSteps;
  engine.split(units, steps * op.rows, [&](uint64_t first, uint64_t last) {
    uint64_t saturated = 0;
    packSharedSteps(engine, op, fetch, window, first * packSteps,
                    std::min(steps, last * packSteps), slot.packed, saturated);
    std::lock_guard<std::mutex> lock(engine.mutex);
    slot.saturated += saturated;
  });
  return slot;
}

/// Packs the operand now and leaves the product to the batch.
static void deferMatmul(Engine &engine, const isa::PeMatmul &op,
                        const Fetch &fetch) {
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  OperandCache::Slot &slot = packedOperand(engine, op, fetch, steps);
  engine.counters.saturated += slot.saturated;
  const MatmulBatch::Matmul matmul = {&engine.sets.active(), &slot,
                                      op.accumulate != 0};
  if (engine.batch.add(op.psum, steps, matmul))
    return;
  engine.batch.flush(engine);
  engine.batch.add(op.psum, steps, matmul);
}

/// Multiplies steps [begin, end) with the active set.
static void multiplySteps(Engine &engine, const isa::PeMatmul &op,
                          const Fetch &fetch, const Window &window,
                          const Pattern &target, uint64_t begin, uint64_t end,
                          uint64_t &saturated) {
  MovingRows builder(engine, op, fetch, window, begin, end);
  numerics::IntegerMatrix moving = builder.build(saturated);
  const uint64_t elementBytes = widthBytes(fetch.width());
  const uint64_t columnPitch = engine.memory.columnPitch();
  target.forRuns(begin, end, [&](uint64_t k, int64_t offset, uint64_t n) {
    numerics::IntegerMatrix part = moving;
    part.data =
        static_cast<const uint8_t *>(moving.data) + (k - begin) * elementBytes;
    int64_t *out =
        engine.memory.psum(0, op.psum + static_cast<uint64_t>(offset));
    if (target.stride[2] == 1 || n == 1) {
      engine.kernels->gemm(engine.sets.active().packed, part, n, out,
                           columnPitch, op.accumulate);
      return;
    }
    // Strided entries: multiply into a buffer, then add one by one.
    uint64_t cols = engine.sets.active().packed.cols;
    auto *sums =
        Scratch::ofThisThread().get<int64_t>(Scratch::Accums, cols * n);
    engine.kernels->gemm(engine.sets.active().packed, part, n, sums, n, false);
    for (uint64_t c = 0; c < cols; ++c)
      for (uint64_t t = 0; t < n; ++t) {
        int64_t &entry = out[static_cast<int64_t>(c * columnPitch) +
                             static_cast<int64_t>(t) * target.stride[2]];
        entry = sums[c * n + t] + (op.accumulate ? entry : 0);
      }
  });
}

void Engine::execute(const isa::PeMatmul &op) {
  Fetch fetch = fetchOf(op, memory);
  if (fetch.mode == OperandMode::Select) {
    batch.flush(*this);
    return multiplySelect(*this, op);
  }
  Pattern target = Pattern{
      {op.n0, op.n1, op.n2},
      {op.psumStride0, op.psumStride1,
       op.psumStride2}}.merged();
  if (target.isDense(1))
    return deferMatmul(*this, op, fetch);
  batch.flush(*this);
  const Window window = windowOf(op, fetch.bytes());
  // Threads take step ranges in units that fill the kernels' registers.
  const uint64_t unit = window.steps >= 256 ? 64 : 16;
  const uint64_t units = (window.steps + unit - 1) / unit;
  split(units, window.steps * op.rows * 8, [&](uint64_t b, uint64_t e) {
    uint64_t saturated = 0;
    multiplySteps(*this, op, fetch, window, target, b * unit,
                  std::min(window.steps, e * unit), saturated);
    if (saturated == 0)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    counters.saturated += saturated;
  });
}
