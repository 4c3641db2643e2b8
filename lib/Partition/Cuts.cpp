// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts by area, by running sums (P2, rows) and of least maximum.

#include "Cuts.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace ashlar::partition {

/// Where the cut after part `i` of `parts` may be: this part and each that
/// follows has at least a line and at most `limit`.
static Range roomFor(int64_t size, int64_t limit, size_t i, size_t parts,
                     int64_t before) {
  const int64_t after = int64_t(parts - 1 - i);
  return {std::max(before + 1, size - after * limit),
          std::min(size - after, before + limit)};
}

/// Near-equal cuts of [0, size) with the given shares.
static std::vector<int64_t> evenCuts(int64_t size, int64_t limit,
                                     llvm::ArrayRef<int64_t> shares) {
  int64_t total = std::accumulate(shares.begin(), shares.end(), int64_t(0));
  std::vector<int64_t> cuts{0};
  int64_t sum = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    sum += shares[i];
    const Range room = roomFor(size, limit, i, shares.size(), cuts.back());
    const int64_t cut = (size * sum + total / 2) / total;
    cuts.push_back(std::clamp(cut, room.begin, room.end));
  }
  return cuts;
}

/// Cuts of [0, size) so that the running sum `sumTo(cut)` comes closest to the
/// shares of the total; every part keeps a line.
template <typename SumTo>
static std::vector<int64_t> quantileCuts(int64_t size, int64_t limit,
                                         llvm::ArrayRef<int64_t> shares,
                                         SumTo sumTo) {
  uint64_t total = sumTo(size);
  if (total == 0)
    return evenCuts(size, limit, shares);
  uint64_t parts =
      uint64_t(std::accumulate(shares.begin(), shares.end(), int64_t(0)));
  std::vector<int64_t> cuts{0};
  uint64_t share = 0;
  for (size_t i = 0; i + 1 < shares.size(); ++i) {
    share += uint64_t(shares[i]);
    const Range room = roomFor(size, limit, i, shares.size(), cuts.back());
    // Smallest cut whose sum reaches the share, or the one before it.
    auto reaches = [&](int64_t c) { return sumTo(c) * parts >= share * total; };
    int64_t a = room.begin, b = room.end;
    while (a < b) {
      int64_t middle = (a + b) / 2;
      if (reaches(middle))
        b = middle;
      else
        a = middle + 1;
    }
    auto distance = [&](int64_t c) {
      uint64_t have = sumTo(c) * parts, want = share * total;
      return have > want ? have - want : want - have;
    };
    if (a > room.begin && distance(a - 1) <= distance(a))
      --a;
    cuts.push_back(a);
  }
  cuts.push_back(size);
  return cuts;
}

/// Shares of whole bands.
static std::vector<int64_t> sums(llvm::ArrayRef<std::vector<int64_t>> shares) {
  std::vector<int64_t> sums;
  for (const std::vector<int64_t> &band : shares)
    sums.push_back(std::accumulate(band.begin(), band.end(), int64_t(0)));
  return sums;
}

Cuts uniformCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands) {
  const std::vector<std::vector<int64_t>> shares = model.shares(bands);
  Cuts cuts;
  cuts.rows = evenCuts(model.rowUnits(), model.rowLimit(), sums(shares));
  for (const std::vector<int64_t> &band : shares)
    cuts.cols.push_back(evenCuts(model.colUnits(), model.colLimit(), band));
  return cuts;
}

Cuts guillotineCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands) {
  const std::vector<std::vector<int64_t>> shares = model.shares(bands);
  Cuts cuts;
  cuts.rows = quantileCuts(
      model.rowUnits(), model.rowLimit(), sums(shares),
      [&](int64_t cut) { return model.work({0, cut}, {0, model.colUnits()}); });
  for (size_t b = 0; b < bands.size(); ++b) {
    Range band{cuts.rows[b], cuts.rows[b + 1]};
    cuts.cols.push_back(
        quantileCuts(model.colUnits(), model.colLimit(), shares[b],
                     [&](int64_t cut) { return model.work(band, {0, cut}); }));
  }
  return cuts;
}

namespace {

/// Looks for guillotine cuts whose cells all have at most a given work. Work
/// grows with a cell, so taking as much as fits from left to right, and as
/// many rows as fit from top to bottom, finds cuts whenever there are any.
class Feasible {
public:
  Feasible(const WorkModel &model, llvm::ArrayRef<int64_t> bands,
           uint64_t limit)
      : model(model), bands(bands), limit(limit) {}

  bool find(Cuts &cuts) const {
    cuts = {};
    cuts.rows.push_back(0);
    for (size_t b = 0; b < bands.size(); ++b) {
      int64_t begin = cuts.rows.back();
      int64_t end =
          longest(begin + 1,
                  std::min(begin + model.rowLimit(),
                           model.rowUnits() - int64_t(bands.size() - 1 - b)),
                  [&](int64_t e) {
                    std::vector<int64_t> ignored;
                    return columns({begin, e}, bands[b], ignored);
                  });
      if (end < 0)
        return false;
      cuts.rows.push_back(end);
      cuts.cols.emplace_back();
      columns({begin, end}, bands[b], cuts.cols.back());
    }
    return cuts.rows.back() == model.rowUnits();
  }

private:
  /// Largest value in [low, high] that satisfies a predicate which turns
  /// false once; -1 if none does.
  template <typename Fits>
  static int64_t longest(int64_t low, int64_t high, Fits fits) {
    if (!fits(low))
      return -1;
    while (low < high) {
      int64_t middle = low + (high - low + 1) / 2;
      if (fits(middle))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  bool columns(Range band, int64_t cells, std::vector<int64_t> &cuts) const {
    cuts.assign(1, 0);
    for (int64_t c = 0; c < cells; ++c) {
      int64_t begin = cuts.back();
      int64_t end = longest(
          begin + 1,
          std::min(begin + model.colLimit(),
                   model.colUnits() - (cells - 1 - c)),
          [&](int64_t e) { return model.work(band, {begin, e}) <= limit; });
      if (end < 0)
        return false;
      cuts.push_back(end);
    }
    return cuts.back() == model.colUnits();
  }

  const WorkModel &model;
  llvm::ArrayRef<int64_t> bands;
  uint64_t limit;
};

} // namespace

Cuts leastMaximumCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands,
                      const Cuts &start) {
  uint64_t high = 0;
  for (size_t b = 0; b < start.bands(); ++b)
    for (size_t c = 0; c < start.cells(b); ++c)
      high =
          std::max(high, model.work({start.rows[b], start.rows[b + 1]},
                                    {start.cols[b][c], start.cols[b][c + 1]}));
  Cuts best = start, found;
  uint64_t low = 0;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (Feasible(model, bands, middle).find(found)) {
      best = found;
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

} // namespace ashlar::partition
