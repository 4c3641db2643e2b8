// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls by the entries of PSUM that they add to.

#include "Products.h"
#include "Dependencies.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

bool Products::step(uint32_t index, const isa::Instruction &inst,
                    llvm::ArrayRef<Access> accesses) {
  // A program whose sums stay alive for long costs a look at all of them for
  // each drain.
  constexpr uint64_t stepsPerInstruction = 256;
  if (steps > stepsPerInstruction * sets.size())
    return false;
  if (std::holds_alternative<isa::PeLoad>(inst)) {
    shadow = index;
  } else if (std::holds_alternative<isa::PeSwap>(inst)) {
    if (shadow != none)
      swaps[shadow] = index;
    active = shadow;
    shadow = none;
  } else if (const auto *op = std::get_if<isa::PeMatmul>(&inst)) {
    sets[index] = active;
    matmul(index, op->accumulate, accesses);
  } else {
    return reads(index, accesses);
  }
  return true;
}

void Products::matmul(uint32_t index, bool accumulates,
                      llvm::ArrayRef<Access> accesses) {
  const bool starts = !accumulates;
  for (const Access &access : accesses) {
    if (access.space != Space::Psum || !access.write)
      continue;
    steps += live.size();
    if (starts && fillsBox(access))
      forget(access);
    live.push_back(
        {index, access.begin, access.end, access.partBegin, access.partEnd});
  }
}

/// What lies before, after and, in the columns from the last one on, beside the
/// sums that are replaced.
void Products::forget(const Access &replaced) {
  std::vector<Live> kept;
  for (const Live &sums : live) {
    if (!sums.meets(replaced) || sums.partBegin < replaced.partBegin) {
      kept.push_back(sums);
      continue;
    }
    const int64_t begin = std::max(sums.begin, replaced.begin),
                  end = std::min(sums.end, replaced.end);
    const auto keep = [&](int64_t from, int64_t to, uint32_t firstColumn) {
      if (from < to && firstColumn < sums.partEnd)
        kept.push_back({sums.matmul, from, to, firstColumn, sums.partEnd});
    };
    keep(sums.begin, begin, sums.partBegin);
    keep(begin, end, replaced.partEnd);
    keep(end, sums.end, sums.partBegin);
  }
  live = std::move(kept);
}

bool Products::reads(uint32_t index, llvm::ArrayRef<Access> accesses) {
  llvm::SmallVector<uint32_t, 8> matmuls;
  bool any = false;
  for (const Access &access : accesses) {
    if (access.space != Space::Psum)
      continue;
    if (access.write)
      return false;
    any = true;
    steps += live.size();
    for (const Live &sums : live)
      if (sums.meets(access))
        matmuls.push_back(sums.matmul);
  }
  if (!any)
    return true;
  llvm::sort(matmuls);
  matmuls.erase(llvm::unique(matmuls), matmuls.end());
  steps += matmuls.size();
  found.push_back({index, std::move(matmuls)});
  return true;
}
