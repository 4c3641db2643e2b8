// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A drain that computes the products it waits for. A part of the entries is
// multiplied and encoded by one thread before the next part: its sums are still
// in the cache when they are read, and the threads meet once instead of twice.

#include "Drain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// Steps of a part: the sums of 64 columns take 64 KiB, a fraction of a host's
/// second cache level, and the parameters of a block are read once for all.
static constexpr uint64_t partSteps = 128;

/// Whether threads share the columns, as the batch does with few steps.
static bool sharesColumns(const Engine &engine, uint64_t steps) {
  return engine.columnSharers > 1 && steps < splitSteps;
}

static uint64_t blockOf(const EncodeTarget &target, uint64_t lanes) {
  return target.block ? target.block : lanes;
}

/// Columns of a planned sum start at multiples of this.
static constexpr uint64_t plannedColumns = 8;

bool Drain::takesSums(const MatmulBatch::Target &products,
                      uint64_t block) const {
  return !engine.needsSums() && engine.kernels->drainSums &&
         products.isOneSum() &&
         (block % plannedColumns == 0 || block >= op.cols) &&
         // No block may need columns of two parts.
         llvm::all_of(products.parts(), [&](const StationarySet::Part &part) {
           return part.first % block == 0;
         });
}

MatmulBatch::Target *Drain::openProducts(const EncodeTarget &target) const {
  const uint64_t steps = entries.size(), block = blockOf(target, op.cols);
  if (op.fromTcu || op.mode != isa::DrainMode::F32 || op.mapped ||
      op.dstOrientation == isa::Orientation::F || !hasDenseEntries() ||
      !hasShortBlocks(target))
    return nullptr;
  if (group.columns != 0) {
    MatmulBatch::Target *products =
        engine.batch.open(engine, op.psum, group.steps, group.columns);
    // Nothing of them goes to PSUM, so that the next result finds them.
    return products && steps <= group.steps && products->parts().size() == 1 &&
                   group.column % plannedColumns == 0 &&
                   takesSums(*products, block)
               ? products
               : nullptr;
  }
  MatmulBatch::Target *products =
      engine.batch.open(engine, op.psum, steps, op.cols);
  // A block must not need columns of two parts.
  if (products && sharesColumns(engine, steps) &&
      !llvm::all_of(products->parts(), [&](const StationarySet::Part &part) {
        return part.first % block == 0;
      }))
    return nullptr;
  return products;
}

bool Drain::drainSums(const MatmulBatch::Target &products, size_t part,
                      uint64_t last, uint64_t block, uint64_t k0, uint64_t k1,
                      numerics::EncodeStats &stats) const {
  const uint64_t base = products.parts()[part].first;
  numerics::PlannedSums &sums = Scratch::ofThisThread().sums;
  llvm::SmallVector<numerics::PackedProduct, 64> list;
  products.productsOf(part, list);
  if (!engine.kernels->planSums(list.data(), list.size(), products.done + k0,
                                k1 - k0, sums))
    return false;
  for (uint64_t lane = base; lane < last; lane += block) {
    const uint64_t count = std::min(block, last - lane);
    const numerics::EpilogueRow *rows = blockRows(lane, count, k0, k1);
    const BlockRows<int8_t> to =
        startBlock<int8_t>(engine, result, lane, count, k0, k1);
    engine.kernels->drainSums(sums, group.column + lane - base, rows,
                              {count, static_cast<int>(op.dstMantissa),
                               to.mantissas, to.cells, &stats});
    finishBlock(engine, result, lane, count, k0, k1, to);
  }
  return true;
}

void Drain::encodeProducts(const EncodeTarget &target,
                           MatmulBatch::Target &products) const {
  const MatmulBatch &batch = engine.batch;
  const uint64_t steps = entries.size(), block = blockOf(target, op.cols);
  const bool byColumns = sharesColumns(engine, steps);
  const llvm::ArrayRef<StationarySet::Part> parts = products.parts();
  const uint64_t threads = engine.pool ? engine.pool->size() : 1;
  const uint64_t size = std::min(
      llvm::alignTo(llvm::divideCeil(steps, threads), numerics::kMovingUnit),
      partSteps);
  const auto encodeLanes = [&](uint64_t first, uint64_t last, uint64_t k0,
                               uint64_t k1, numerics::EncodeStats &stats) {
    for (uint64_t lane = first; lane < last; lane += block)
      encodeBlock(lane, std::min(block, last - lane), k0, k1, stats);
  };
  const auto endOf = [&](size_t part) {
    return part + 1 < parts.size() ? parts[part + 1].first : op.cols;
  };
  const bool direct = takesSums(products, block);
  const auto runPart = [&](size_t part, uint64_t k0, uint64_t k1,
                           numerics::EncodeStats &stats) {
    if (direct && drainSums(products, part, endOf(part), block, k0, k1, stats))
      return;
    batch.compute(engine, products, k0, k1, part);
    encodeLanes(parts[part].first, endOf(part), k0, k1, stats);
  };
  const auto runUnit = [&](uint64_t unit, numerics::EncodeStats &stats) {
    if (byColumns)
      return runPart(unit, 0, steps, stats);
    const uint64_t k0 = unit * size, k1 = std::min(steps, k0 + size);
    for (size_t part = 0; direct && part < parts.size(); ++part)
      runPart(part, k0, k1, stats);
    if (direct)
      return;
    batch.compute(engine, products, k0, k1);
    encodeLanes(0, op.cols, k0, k1, stats);
  };
  engine.beginEncode(target);
  engine.split(byColumns ? parts.size() : llvm::divideCeil(steps, size),
               products.work(steps) + steps * op.cols * drainCost,
               [&](uint64_t begin, uint64_t end) {
                 numerics::EncodeStats stats;
                 for (uint64_t unit = begin; unit < end; ++unit)
                   runUnit(unit, stats);
                 engine.finishEncode(stats, target);
               });
  if (group.isLast)
    engine.batch.finish(engine, products,
                        group.columns != 0 ? group.steps : steps);
}
