// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tap t at position p reads element t * a + p * b of the operand, as tap
// t + b / g does at position p - a / g, where g is the greatest common divisor.
// So the last b / g taps fetch all their positions, and a tap m times b / g
// before one of them only its first m * a / g; the others are there.

#include "ashlar/Analysis/Cost/WindowCopies.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

namespace ashlar::analysis {
namespace {

using npu::AccessPattern;
using npu::PatternDim;

/// Iterations [first, first + count) of a loop.
void narrow(AccessPattern &pattern, size_t dim, int64_t first, int64_t count) {
  PatternDim &loop = pattern.dims[dim];
  if (loop.sourceAxis >= 0)
    pattern.sourceStart[loop.sourceAxis] += first * loop.sourceStep;
  pattern.resultStart[loop.resultAxis] += first * loop.resultStep;
  loop.extent = count;
}

/// The elements that `pattern` writes, from where they lie `taps` and
/// `-positions` iterations of the two loops away.
AccessPattern repeat(const AccessPattern &pattern, size_t tap, int64_t taps,
                     size_t position, int64_t positions) {
  AccessPattern copy = pattern;
  copy.operand = 0;
  copy.sourceStart = pattern.resultStart;
  for (PatternDim &loop : copy.dims) {
    loop.sourceAxis = loop.resultAxis;
    loop.sourceStep = loop.resultStep;
  }
  const PatternDim &t = copy.dims[tap], &p = copy.dims[position];
  copy.sourceStart[t.resultAxis] += taps * t.resultStep;
  copy.sourceStart[p.resultAxis] -= positions * p.resultStep;
  return copy;
}

/// The copies where loop `tap` takes from other taps what these have fetched at
/// other iterations of loop `position`; nothing if no two read one element.
std::optional<WindowCopies> sharedTaps(const AccessPattern &pattern, size_t tap,
                                       size_t position) {
  const PatternDim &t = pattern.dims[tap], &p = pattern.dims[position];
  if (tap == position || t.sourceAxis < 0 || t.sourceAxis != p.sourceAxis ||
      t.resultAxis == p.resultAxis || t.sourceStep <= 0 || p.sourceStep <= 0)
    return std::nullopt;
  const int64_t common = std::gcd(t.sourceStep, p.sourceStep);
  const int64_t taps = p.sourceStep / common, back = t.sourceStep / common;
  if (taps >= t.extent || back >= p.extent)
    return std::nullopt;
  WindowCopies copies;
  for (int64_t end = t.extent, before = 0; end > 0; ++before) {
    const int64_t first = std::max<int64_t>(end - taps, 0);
    const int64_t own =
        before == 0 ? p.extent : std::min(before * back, p.extent);
    AccessPattern part = pattern;
    narrow(part, tap, first, end - first);
    AccessPattern fetch = part;
    narrow(fetch, position, 0, own);
    copies.fetched.push_back(std::move(fetch));
    if (own < p.extent) {
      narrow(part, position, own, p.extent - own);
      copies.repeated.push_back(
          repeat(part, tap, before * taps, position, own));
    }
    end = first;
  }
  return copies;
}

/// Cycles of `copies`; a sum over `limit` is not followed to its end: a window
/// of thousands of taps may be as many copies, and the first few say enough.
uint64_t cyclesOf(const WindowCopies &copies, const View &source,
                  const View &result, machine::TransferCosts &costs,
                  uint64_t limit = std::numeric_limits<uint64_t>::max()) {
  const machine::Description &machine = costs.description();
  const auto queues = static_cast<uint64_t>(movementQueues(machine));
  machine::TransferCost cost;
  // Once every queue has a descriptor, more of them never take fewer cycles.
  const auto isOver = [&] {
    return cost.descriptors >= queues && cost.cycles(queues) > limit;
  };
  for (const AccessPattern &copy : copies.fetched)
    if (!isOver())
      cost.add(copyCost(source, result, copy, costs));
  for (const AccessPattern &copy : copies.repeated)
    if (!isOver())
      cost.add(copyCost(result, result, copy, costs));
  // The second ones wait for the first.
  return cost.cycles(queues) +
         (copies.repeated.empty() ? 0 : machine.dma.onchipLatency);
}

} // namespace

WindowCopies windowCopies(const View &source, const View &result,
                          const AccessPattern &pattern,
                          machine::TransferCosts &costs) {
  WindowCopies best;
  best.fetched.push_back(pattern);
  if (result.type.encoded || !result.inStateBuffer())
    return best;
  uint64_t least = cyclesOf(best, source, result, costs);
  for (size_t tap = 0; tap < pattern.dims.size(); ++tap)
    for (size_t position = 0; position < pattern.dims.size(); ++position) {
      auto shared = sharedTaps(pattern, tap, position);
      if (!shared)
        continue;
      const uint64_t own = cyclesOf(*shared, source, result, costs, least);
      if (own < least) {
        least = own;
        best = std::move(*shared);
      }
    }
  return best;
}

bool sharesTaps(const AccessPattern &pattern, int64_t axis) {
  std::optional<size_t> tap, position;
  for (auto [i, loop] : llvm::enumerate(pattern.dims)) {
    if (loop.sourceAxis != axis || loop.extent == 1)
      continue;
    std::optional<size_t> &kind = loop.resultAxis == axis ? position : tap;
    if (kind)
      return false;
    kind = i;
  }
  return tap && position && sharedTaps(pattern, *tap, *position).has_value();
}

} // namespace ashlar::analysis
