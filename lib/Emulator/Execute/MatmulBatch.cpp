// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deferred matmuls.

#include "MatmulBatch.h"
#include "Engine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

//===- Stationary sets ----------------------------------------------------===//

void StationarySet::setShape(uint64_t newRows, uint64_t newCols,
                             unsigned count) {
  // Kernels work on groups of 16 columns.
  constexpr uint64_t unit = 16;
  rows = newRows;
  cols = newCols;
  const uint64_t units = llvm::divideCeil(cols, unit);
  parts.resize(std::clamp<uint64_t>(units, 1, count));
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i].first = units * i / parts.size() * unit;
}

void StationarySets::swap() {
  retired.push_back(std::move(activeSet));
  activeSet = std::move(shadowSet);
  if (unused.empty()) {
    shadowSet = std::make_unique<StationarySet>();
    return;
  }
  shadowSet = std::move(unused.back());
  unused.pop_back();
}

void StationarySets::recycle() {
  llvm::erase_if(retired, [&](Pointer &set) {
    if (set->waiting != 0)
      return false;
    unused.push_back(std::move(set));
    return true;
  });
}

//===- Collecting ---------------------------------------------------------===//

/// More than a layer accumulates between two drains; bounds the memory of
/// programs that never drain.
static constexpr unsigned maxPending = 512;

bool MatmulBatch::accepts(uint64_t entry, uint64_t steps) const {
  return pending < maxPending &&
         llvm::all_of(
             targets,
             [&](const Target &target) {
               return (target.entry == entry && target.steps == steps &&
                       target.done == 0) ||
                      target.entry >= entry + steps ||
                      entry >= target.entry + target.steps;
             });
}

void MatmulBatch::add(uint64_t entry, uint64_t steps, const Matmul &matmul) {
  ++pending;
  ++matmul.set->waiting;
  for (Target &target : targets)
    if (target.entry == entry && target.steps == steps) {
      target.matmuls.push_back(matmul);
      return;
    }
  targets.push_back({entry, steps, 0, {matmul}});
}

/// Appends the rows of `set`; rows up to the next one that an operand may start
/// at are zero.
static void appendRows(const StationarySet &set, StationarySet &to) {
  to.values.insert(to.values.end(), set.values.begin(), set.values.end());
  to.rows += llvm::alignTo(set.rows, numerics::kMovingRowUnit);
  to.values.resize(to.rows * to.cols, 0);
  to.isPacked = false;
}

void MatmulBatch::addMerged(const StationarySet &set,
                            OperandCache::Slot &operand, bool accumulate,
                            uint64_t entry, uint64_t steps) {
  if (unusedMerged.empty()) {
    merged.push_back(std::make_unique<StationarySet>());
    unusedMerged.push_back(merged.back().get());
  }
  StationarySet &started = *unusedMerged.back();
  unusedMerged.pop_back();
  started.setShape(0, set.cols, static_cast<unsigned>(set.parts.size()));
  started.values.clear();
  appendRows(set, started);
  add(entry, steps, {&started, &operand, accumulate, &started});
}

OperandCache::Slot *MatmulBatch::merge(const StationarySet &set, uint64_t entry,
                                       uint64_t steps, uint64_t &row) {
  for (const Target &target : targets) {
    if (target.entry != entry || target.steps != steps)
      continue;
    const Matmul &last = target.matmuls.back();
    if (target.done != 0 || !last.growing || last.growing->cols != set.cols ||
        last.growing->rows + set.rows > mergedRows)
      return nullptr;
    row = last.growing->rows;
    appendRows(set, *last.growing);
    return last.operand;
  }
  return nullptr;
}

//===- Computing ----------------------------------------------------------===//

void MatmulBatch::packMerged(Engine &engine, const Target &target) {
  for (const Matmul &matmul : target.matmuls) {
    if (!matmul.growing || matmul.growing->isPacked)
      continue;
    StationarySet &set = *matmul.growing;
    set.isPacked = true;
    for (size_t part = 0; part < set.parts.size(); ++part)
      engine.kernels->packStationary(
          {numerics::OperandWidth::Int16,
           set.values.data() + set.parts[part].first, set.cols},
          set.rows, set.colsOf(part), set.parts[part].packed);
  }
}

/// Steps whose accumulators stay in the first cache level while all products of
/// a sum are added.
static constexpr uint64_t unitSteps = numerics::kMovingUnit * 2;

llvm::SmallVector<MatmulBatch::Unit, 64>
MatmulBatch::unitsFor(llvm::ArrayRef<const Target *> some,
                      unsigned threads) const {
  llvm::SmallVector<Unit, 64> units;
  for (uint64_t share = 0; share < threads; ++share)
    for (const Target *target : some) {
      const uint64_t steps = target->steps - target->done;
      if (steps < splitSteps && threads > 1) {
        units.push_back({target, target->done, target->steps, share});
        continue;
      }
      const uint64_t count = llvm::divideCeil(steps, unitSteps);
      for (uint64_t k = count * share / threads;
           k < count * (share + 1) / threads; ++k) {
        const uint64_t begin = target->done + k * unitSteps;
        units.push_back(
            {target, begin, std::min(target->steps, begin + unitSteps)});
      }
    }
  return units;
}

void MatmulBatch::compute(Engine &engine, const Unit &unit) const {
  const Target &target = *unit.target;
  llvm::SmallVector<numerics::PackedProduct, 64> chain;
  // Matmuls that add to the same columns are one sum.
  for (size_t first = 0, last; first < target.matmuls.size(); first = last) {
    const StationarySet &set = *target.matmuls[first].set;
    for (last = first + 1; last < target.matmuls.size() &&
                           target.matmuls[last].accumulate &&
                           target.matmuls[last].set->hasColumnsOf(set);)
      ++last;
    const bool all = unit.part == allParts;
    for (size_t part = all ? 0 : unit.part;
         part <
         (all ? set.parts.size() : std::min(set.parts.size(), unit.part + 1));
         ++part) {
      chain.clear();
      for (size_t i = first; i < last; ++i)
        chain.push_back({&target.matmuls[i].set->parts[part].packed,
                         &target.matmuls[i].operand->packed});
      engine.kernels->gemmPacked(
          chain.data(), chain.size(), unit.begin, unit.end - unit.begin,
          engine.memory.psum(set.parts[part].first, target.entry + unit.begin),
          engine.memory.columnPitch(), target.matmuls[first].accumulate);
    }
  }
}

uint64_t MatmulBatch::Target::work(uint64_t count) const {
  uint64_t work = 0;
  for (const Matmul &matmul : matmuls)
    work += count * matmul.set->rows * 4;
  return work;
}

MatmulBatch::Target *MatmulBatch::open(Engine &engine, uint64_t entry,
                                       uint64_t steps, uint64_t cols) {
  for (Target &target : targets) {
    const uint64_t end = target.done + steps;
    if (target.entry + target.done != entry || end > target.steps ||
        (end != target.steps && end % numerics::kMovingUnit != 0))
      continue;
    const StationarySet &first = *target.matmuls.front().set;
    const bool alike = llvm::all_of(target.matmuls, [&](const Matmul &matmul) {
      return matmul.set->hasColumnsOf(first);
    });
    if (first.cols != cols || !alike)
      return nullptr;
    if (target.done == 0)
      packMerged(engine, target);
    return &target;
  }
  return nullptr;
}

void MatmulBatch::compute(Engine &engine, const Target &target, uint64_t begin,
                          uint64_t end, size_t part) const {
  begin += target.done;
  end += target.done;
  for (uint64_t k = begin; k < end; k += unitSteps)
    compute(engine, {&target, k, std::min(end, k + unitSteps), part});
}

void MatmulBatch::release(Engine &engine, const Target &target) {
  for (const Matmul &matmul : target.matmuls) {
    engine.operands.release(*matmul.operand);
    --matmul.set->waiting;
    --pending;
    if (matmul.growing)
      unusedMerged.push_back(matmul.growing);
  }
}

void MatmulBatch::finish(Engine &engine, Target &target, uint64_t steps) {
  target.done += steps;
  if (target.done != target.steps)
    return;
  release(engine, target);
  targets.erase(targets.begin() + (&target - targets.data()));
  engine.sets.recycle();
}

void MatmulBatch::flush(Engine &engine,
                        llvm::function_ref<bool(const Target &)> which) {
  llvm::SmallVector<const Target *, 8> some;
  uint64_t work = 0;
  for (const Target &target : targets) {
    if (!which(target))
      continue;
    if (target.done == 0)
      packMerged(engine, target);
    work += target.work(target.steps - target.done);
    some.push_back(&target);
  }
  const llvm::SmallVector<Unit, 64> units =
      unitsFor(some, engine.columnSharers);
  engine.split(units.size(), work, [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i)
      compute(engine, units[i]);
  });
  for (const Target *target : some)
    release(engine, *target);
  llvm::erase_if(targets, which);
  engine.sets.recycle();
}

void MatmulBatch::flush(Engine &engine) {
  flush(engine, [](const Target &) { return true; });
}

void MatmulBatch::flush(Engine &engine, uint64_t entry, uint64_t steps) {
  flush(engine, [&](const Target &target) {
    return target.entry < entry + steps && entry < target.entry + target.steps;
  });
}
