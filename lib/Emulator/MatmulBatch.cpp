// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deferred matmuls.

#include "MatmulBatch.h"
#include "Engine.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

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
  for (Pointer &set : retired)
    unused.push_back(std::move(set));
  retired.clear();
}

/// More than a layer accumulates between two drains; bounds the memory of
/// programs that never drain.
static constexpr unsigned maxPending = 512;

bool MatmulBatch::add(uint64_t entry, uint64_t steps, const Matmul &matmul) {
  if (pending == maxPending)
    return false;
  ++pending;
  for (Target &target : targets) {
    if (target.entry == entry && target.steps == steps) {
      target.matmuls.push_back(matmul);
      return true;
    }
    if (target.entry < entry + steps && entry < target.entry + target.steps) {
      --pending;
      return false;
    }
  }
  targets.push_back({entry, steps, {matmul}});
  return true;
}

void MatmulBatch::flush(Engine &engine) {
  // A unit of steps takes all its products before the next unit: its
  // accumulators, 64 columns of it, are then read and written in cache.
  struct Unit {
    const Target *target;
    uint64_t begin, end;
  };
  llvm::SmallVector<Unit, 64> units;
  uint64_t work = 0;
  for (const Target &target : targets) {
    const uint64_t unit = numerics::kMovingUnit * (target.steps < 256 ? 1 : 2);
    for (uint64_t k = 0; k < target.steps; k += unit)
      units.push_back({&target, k, std::min(target.steps, k + unit)});
    for (const Matmul &matmul : target.matmuls)
      work += target.steps * matmul.set->rows * 4;
  }
  engine.split(units.size(), work, [&](uint64_t first, uint64_t last) {
    for (const Unit &unit :
         llvm::ArrayRef<Unit>(units).slice(first, last - first))
      for (const Matmul &matmul : unit.target->matmuls)
        engine.kernels->gemmPacked(
            matmul.set->packed, matmul.operand->packed, unit.begin,
            unit.end - unit.begin,
            engine.memory.psum(0, unit.target->entry + unit.begin),
            engine.memory.columnPitch(), matmul.accumulate);
  });
  for (const Target &target : targets)
    for (const Matmul &matmul : target.matmuls)
      engine.operands.release(*matmul.operand);
  targets.clear();
  pending = 0;
  engine.sets.recycle();
}
