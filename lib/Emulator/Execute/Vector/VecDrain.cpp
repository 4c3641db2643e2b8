// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.drain and act.pool: entries of PSUM, or sums of the sparse cluster,
// through the epilogue, rounded as a drain would store them, and reduced over
// windows as vec.pool would reduce what it stored.

#include "../Drain.h"
#include "WindowAxis.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Numerics/Encode.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::PoolKind;

namespace {

/// One instruction with the values of its entries, lane by lane.
struct PooledDrain {
  Engine &engine;
  const isa::VecDrain &op;
  WindowAxis h, w;
  numerics::Reduction step;
  std::vector<float> values = {};

  uint64_t entries() const { return uint64_t(op.inH) * op.inW; }
  float *rowOf(uint64_t lane) { return values.data() + lane * entries(); }

  void evaluate(const Drain &drain);
  void evaluate(const Drain &drain, const TileEntry &tile);
  void round();
  void evaluateLane(const Drain &drain, uint64_t lane, uint64_t count,
                    float *out) const;
  template <typename T>
  void roundBlocks();
  /// The reduced row oh of a lane.
  void reduce(uint64_t lane, int64_t oh, float *out) const;
};

/// The first values of a lane before they are encoded.
void PooledDrain::evaluateLane(const Drain &drain, uint64_t lane,
                               uint64_t count, float *out) const {
  if (op.mode != isa::DrainMode::Int) {
    drain.floatRow(lane, 0, count, out);
    roundElements(op.srcType, out, count);
    return;
  }
  std::vector<int64_t> row(count);
  drain.integers(lane, 0, count, row.data());
  for (uint64_t k = 0; k < count; ++k)
    out[k] = numerics::fromSigned(row[k]);
}

/// The values of all entries.
void PooledDrain::evaluate(const Drain &drain) {
  engine.split(op.cols, values.size() * drainCost,
               [&](uint64_t begin, uint64_t end) {
                 for (uint64_t lane = begin; lane < end; ++lane)
                   evaluateLane(drain, lane, entries(), rowOf(lane));
               });
}

/// The values of the entries that a tile of the sparse cluster has.
void PooledDrain::evaluate(const Drain &drain, const TileEntry &tile) {
  const uint64_t results = tile.results();
  engine.split(op.cols, op.cols * results * drainCost,
               [&](uint64_t begin, uint64_t end) {
                 std::vector<float> own(results);
                 for (uint64_t lane = begin; lane < end; ++lane) {
                   evaluateLane(drain, lane, results, own.data());
                   for (uint64_t y = 0; y < tile.rows; ++y)
                     std::copy_n(own.data() + y * tile.cols, tile.cols,
                                 rowOf(lane) + (tile.y + y) * op.inW + tile.x);
                 }
               });
}

/// The values as they would be stored.
void PooledDrain::round() {
  if (isa::isBlock(op.srcType))
    op.srcMantissa <= 8 ? roundBlocks<int8_t>() : roundBlocks<int16_t>();
  if (op.srcType == ElemType::Ubfp)
    for (float &value : values)
      value = value < 0.0f ? 0.0f : value;
}

/// Blocks of lanes at each entry, encoded and decoded.
template <typename T>
void PooledDrain::roundBlocks() {
  const uint64_t n = entries(), blocks = llvm::divideCeil(op.cols, op.srcBlock);
  const auto width = static_cast<int>(op.srcMantissa);
  engine.split(blocks, values.size() * 2, [&](uint64_t begin, uint64_t end) {
    numerics::EncodeStats stats;
    std::vector<T> words(op.srcBlock * n);
    std::vector<int8_t> cells(n);
    std::vector<const float *> rows(op.srcBlock);
    std::vector<T *> mantissas(op.srcBlock);
    for (uint64_t block = begin; block < end; ++block) {
      const uint64_t first = block * op.srcBlock;
      const uint64_t count = std::min<uint64_t>(op.srcBlock, op.cols - first);
      for (uint64_t i = 0; i < count; ++i) {
        rows[i] = rowOf(first + i);
        mantissas[i] = words.data() + i * n;
      }
      const numerics::BlockColumns<T> columns{count, width, mantissas.data(),
                                              cells.data(), &stats};
      if constexpr (sizeof(T) == 1)
        engine.kernels->encode8(rows.data(), n, columns);
      else
        engine.kernels->encode16(rows.data(), n, columns);
      for (uint64_t i = 0; i < count; ++i)
        decodeElements(engine, ElemType::Bfp, op.srcMantissa,
                       reinterpret_cast<const uint8_t *>(mantissas[i]),
                       cells.data(), n, rowOf(first + i));
    }
    std::lock_guard<std::mutex> lock(engine.mutex);
    engine.counters.add(stats.counters);
  });
}

void PooledDrain::reduce(uint64_t lane, int64_t oh, float *out) const {
  const auto width = static_cast<uint64_t>(w.out);
  auto *taken = Scratch::ofThisThread().get<float>(Scratch::RowB, width);
  std::fill_n(out, width, numerics::reduceInit(step));
  for (int64_t kh = 0; kh < h.kernel; ++kh) {
    const int64_t y = h.coordinate(oh, kh);
    if (y < 0 || y >= h.in)
      continue;
    const float *line = values.data() + lane * entries() + y * w.in;
    for (int64_t kw = 0; kw < w.kernel; ++kw) {
      const auto [begin, end] = w.validResults(kw);
      const auto count = static_cast<uint64_t>(end - begin);
      if (count == 0)
        continue;
      const float *from = line + w.coordinate(begin, kw);
      if (w.step != 1) {
        engine.kernels->gather32(from, w.step * 4, count, taken);
        from = taken;
      }
      engine.kernels->reduceStep(step, from, count, out + begin);
    }
  }
  if (op.kind != PoolKind::Avg)
    return;
  for (int64_t ow = 0; ow < w.out; ++ow)
    taken[ow] = numerics::fromSigned(divisorOf(h.counted(oh) * w.counted(ow)));
  engine.kernels->binary(numerics::BinaryFunction::Div, out, taken, width, out);
}

/// Stores the maxima or means of all windows.
void store(PooledDrain &pooled, TensorView result, const EncodeTarget &target) {
  const isa::VecDrain &op = pooled.op;
  const uint64_t width = op.outW;
  produceFloats(
      pooled.engine, result, target, op.cols, uint64_t(op.kH) * op.kW + 1,
      [&](uint64_t lane, uint64_t k0, uint64_t k1, float *out) {
        // A chunk of flat results may start and end inside a row.
        for (uint64_t k = k0; k < k1;) {
          const uint64_t row = k / width, from = k % width;
          const uint64_t n = std::min(width - from, k1 - k);
          auto *whole =
              Scratch::ofThisThread().get<float>(Scratch::Accums, width);
          pooled.reduce(lane, static_cast<int64_t>(row), whole);
          std::copy_n(whole + from, n, out + (k - k0));
          k += n;
        }
      });
}

/// The windows of a drain of the cluster.
isa::VecDrain windowsOf(const isa::ActPool &op) {
  isa::VecDrain windows{};
  windows.kind = PoolKind::Max;
  windows.mode = op.mode;
  windows.cols = op.cols;
  windows.inH = op.inH, windows.inW = op.inW;
  windows.srcType = op.srcType;
  windows.srcMantissa = op.srcMantissa, windows.srcBlock = op.srcBlock;
  windows.outH = op.outH, windows.outW = op.outW;
  windows.kH = op.kH, windows.kW = op.kW;
  windows.sH = op.sH, windows.sW = op.sW;
  windows.pH = op.pH, windows.pW = op.pW;
  return windows;
}

/// Power of two of an entry without EW.
int exponentOf(Engine &engine, const isa::ActDrain &entries) {
  return entries.mode == isa::DrainMode::F32
             ? scaleOf(engine.memory, entries.xrA) +
                   scaleOf(engine.memory, entries.xrS) + entries.shift
             : 0;
}

PooledDrain pooledDrain(Engine &engine, const isa::VecDrain &op) {
  PooledDrain pooled{
      engine,
      op,
      {op.inH, op.outH, op.kH, op.sH, op.dH, op.pH, op.cloH, op.chiH},
      {op.inW, op.outW, op.kW, op.sW, op.dW, op.pW, op.cloW, op.chiW},
      op.kind == PoolKind::Max ? numerics::Reduction::Max
                               : numerics::Reduction::Sum};
  pooled.values.resize(op.cols * pooled.entries());
  return pooled;
}

} // namespace

void Engine::execute(const isa::VecDrain &op) {
  const isa::ActDrain entries = isa::entriesDrain(op);
  Drain drain{*this, entries, {}, {}, {}};
  drain.entries = patternOf(operandPsum(entries)).merged();
  drain.exponent = exponentOf(*this, entries);
  batch.flush(*this);
  PooledDrain pooled = pooledDrain(*this, op);
  pooled.evaluate(drain);
  pooled.round();
  store(pooled, viewOf(operandDst(op)), encodeTarget(op));
}

void Engine::execute(const isa::ActPool &op) {
  const isa::ActDrain entries = isa::entriesDrain(op);
  reject(checkMap(*this, entries));
  if (finding)
    return;
  const isa::VecDrain windows = windowsOf(op);
  PooledDrain pooled = pooledDrain(*this, windows);
  const TileTable &table = tables[op.table];
  // The loader has seen that the groups have equal tiles.
  const std::vector<std::vector<uint64_t>> units = drainedUnits(entries, table);
  std::vector<uint64_t> sources(units.size());
  for (size_t i = 0; i < units.front().size(); ++i) {
    for (auto [source, group] : llvm::zip(sources, units))
      source = group[i];
    const TileEntry &tile = table[sources.front()];
    const isa::ActDrain part = unitDrain(entries, tile);
    Drain drain{*this, part, {}, {}, {}, 0, sources};
    drain.entries = patternOf(operandPsum(part)).merged();
    drain.exponent = exponentOf(*this, part);
    pooled.evaluate(drain, tile);
  }
  pooled.round();
  store(pooled, viewOf(operandDst(op)), encodeTarget(op));
}
