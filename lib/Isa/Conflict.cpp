// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two accesses meet. Boxes first; then the patterns, exactly where the
// question is small, with "yes" as the answer where it is not.

#include "ashlar/Isa/Footprint.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <optional>

namespace ashlar::isa {

namespace {
/// Whether the pattern of \p access has a run that meets [begin, end). Walks
/// dimensions from the largest stride down; \p budget limits the work.
bool patternMeets(const Access &access, unsigned dims, int64_t base,
                  int64_t begin, int64_t end, unsigned &budget) {
  int64_t reach = static_cast<int64_t>(access.runLength);
  for (unsigned d = 0; d < dims; ++d)
    reach +=
        static_cast<int64_t>(access.dims[d].count - 1) * access.dims[d].stride;
  if (base >= end || base + reach <= begin)
    return false;
  if (dims == 0 || budget == 0)
    return true;
  const AccessDim &dim = access.dims[dims - 1];
  int64_t inner = reach - static_cast<int64_t>(dim.count - 1) * dim.stride;
  // Index i covers [base + i*stride, + inner): only a window of i can meet.
  int64_t count = static_cast<int64_t>(dim.count);
  int64_t lowest = begin - base - inner + 1;
  int64_t first = lowest <= 0 ? 0 : (lowest + dim.stride - 1) / dim.stride;
  int64_t last = std::min(count - 1, (end - base - 1) / dim.stride);
  for (int64_t i = first; i <= last; ++i) {
    if (budget == 0)
      return true;
    --budget;
    if (patternMeets(access, dims - 1, base + i * dim.stride, begin, end,
                     budget))
      return true;
  }
  return false;
}

/// Number of runs of a pattern, saturating.
uint64_t runCount(const Access &access) {
  uint64_t runs = 1;
  for (unsigned d = 0; d < access.numDims; ++d) {
    if (access.dims[d].count > (uint64_t(1) << 32) / runs)
      return uint64_t(1) << 32;
    runs *= access.dims[d].count;
  }
  return runs;
}

/// Whether the patterns can meet as far as places modulo `period` tell.
/// Everything but multiples of the period is taken as one interval each.
bool residuesMeet(const Access &a, const Access &b, int64_t period) {
  // Schedules of long programs ask this a billion times: most strides are the
  // period or less, which needs no division.
  auto leaves = [period](int64_t stride) {
    return stride > 0 && stride <= period ? stride != period
                                          : stride % period != 0;
  };
  auto span = [leaves](const Access &x) {
    int64_t width = static_cast<int64_t>(x.runLength);
    for (unsigned d = 0; d < x.numDims; ++d)
      if (leaves(x.dims[d].stride))
        width += static_cast<int64_t>(x.dims[d].count - 1) * x.dims[d].stride;
    return width;
  };
  int64_t widthA = span(a), widthB = span(b);
  int64_t distance = (b.base - a.base) % period;
  if (distance < 0)
    distance += period;
  return widthA > distance || widthB > period - distance;
}

/// The same for every stride that both have.
bool commonResiduesMeet(const Access &a, const Access &b) {
  for (unsigned i = 0; i < a.numDims; ++i)
    for (unsigned j = 0; j < b.numDims; ++j)
      if (a.dims[i].stride == b.dims[j].stride &&
          !residuesMeet(a, b, a.dims[i].stride))
        return false;
  return true;
}

/// The same for the common divisors of all strides from some size on.
bool divisorResiduesMeet(const Access &a, const Access &b) {
  int64_t strides[2 * Access::maxDims];
  unsigned count = 0;
  for (const Access *x : {&a, &b})
    for (unsigned d = 0; d < x->numDims; ++d)
      strides[count++] = x->dims[d].stride;
  std::sort(strides, strides + count, std::greater<>());
  int64_t divisor = 0;
  for (unsigned i = 0; i < count; ++i) {
    divisor = std::gcd(divisor, strides[i]);
    if (divisor > 1 && !residuesMeet(a, b, divisor))
      return false;
  }
  return true;
}

/// Walks the runs of the smaller pattern against the other one. Adds the
/// comparisons that this takes to `steps`.
bool runsMeet(const Access &a, const Access &b, uint64_t &steps) {
  const Access &few = runCount(a) <= runCount(b) ? a : b;
  const Access &many = &few == &a ? b : a;
  constexpr uint64_t maxRuns = 4096;
  const uint64_t runs = runCount(few);
  if (runs > maxRuns)
    return true;
  constexpr unsigned mostWindows = 1u << 16;
  unsigned budget = mostWindows;
  std::array<uint64_t, Access::maxDims> index = {};
  bool meet = false;
  uint64_t run = 0;
  for (; run < runs && !meet; ++run) {
    int64_t base = few.base;
    for (unsigned d = 0; d < few.numDims; ++d)
      base += static_cast<int64_t>(index[d]) * few.dims[d].stride;
    meet = patternMeets(many, many.numDims, many.base, base,
                        base + static_cast<int64_t>(few.runLength), budget);
    for (unsigned d = 0; d < few.numDims; ++d) {
      if (++index[d] < few.dims[d].count)
        break;
      index[d] = 0;
    }
  }
  steps += run + (mostWindows - budget);
  return meet;
}
} // namespace

/// What is settled without looking at patterns.
static std::optional<bool> boxConflict(const Access &a, const Access &b) {
  if (a.space != b.space || (!a.write && !b.write) || (a.merge && b.merge))
    return false;
  if (a.partBegin >= b.partEnd || b.partBegin >= a.partEnd)
    return false;
  if (a.begin >= b.end || b.begin >= a.end)
    return false;
  if (a.numDims == 0 && b.numDims == 0)
    return true;
  return std::nullopt;
}

bool mayConflict(const Access &a, const Access &b) {
  uint64_t steps = 0;
  if (std::optional<bool> known = boxConflict(a, b))
    return *known;
  return commonResiduesMeet(a, b) && runsMeet(a, b, steps);
}

bool conflict(const Access &a, const Access &b, uint64_t &steps) {
  ++steps;
  if (std::optional<bool> known = boxConflict(a, b))
    return *known;
  steps += a.numDims + b.numDims;
  return commonResiduesMeet(a, b) && divisorResiduesMeet(a, b) &&
         runsMeet(a, b, steps);
}

bool conflict(const Access &a, const Access &b) {
  uint64_t steps = 0;
  return conflict(a, b, steps);
}

llvm::StringRef spaceName(Space space) {
  static constexpr llvm::StringLiteral names[] = {
      "dram", "sb",  "xm",    "psum",   "xr",     "sr",    "fmu",
      "wm",   "acc", "tiles", "counts", "shadow", "active"};
  return names[static_cast<unsigned>(space)];
}

std::string describe(const Access &access) {
  return fmt::format("{} {}[{}..{})[{}..{})",
                     access.merge   ? "merges into"
                     : access.write ? "writes"
                                    : "reads",
                     spaceName(access.space).str(), access.partBegin,
                     access.partEnd, access.begin, access.end);
}

} // namespace ashlar::isa
