// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// P1: lines handed from a neighbour to a neighbour until no two partitions
// differ by more than the threshold. Columns move inside a band, rows move as
// whole bands: both keep every tile a rectangle. A move is taken only if it
// brings its pair closer, so the search ends; the round limit bounds it too.

#include "Cuts.h"

#include <algorithm>
#include <cmath>

namespace ashlar::partition {

namespace {

class Transfer {
public:
  Transfer(const WorkModel &model, const Options &options, Cuts &cuts)
      : model(model), options(options), cuts(cuts) {}

  unsigned run() {
    Cuts best = cuts;
    double least = spread();
    unsigned round = 0;
    for (; round < options.maxIterations && least > options.threshold;
         ++round) {
      bool moved = false;
      for (size_t b = 0; b < cuts.bands(); ++b)
        for (size_t c = 1; c < cuts.cells(b); ++c)
          moved |= moveColumns(b, c);
      if (options.moveBands)
        for (size_t b = 1; b < cuts.bands(); ++b)
          moved |= moveRows(b);
      if (!moved)
        break;
      // Pairs come closer, the whole may drift apart for a while: keep the
      // best round.
      if (double now = spread(); now < least) {
        least = now;
        best = cuts;
      }
    }
    cuts = best;
    return round;
  }

private:
  double cell(size_t b, size_t c) const {
    ++model.probes;
    return model.metric(model.tile({cuts.rows[b], cuts.rows[b + 1]},
                                   {cuts.cols[b][c], cuts.cols[b][c + 1]}));
  }

  /// Mean metric of a band's cells: bands with more cells carry more.
  double band(size_t b) const {
    double sum = 0;
    for (size_t c = 0; c < cuts.cells(b); ++c)
      sum += cell(b, c);
    return sum / double(cuts.cells(b));
  }

  double spread() const {
    double least = INFINITY, most = 0, sum = 0;
    size_t count = 0;
    for (size_t b = 0; b < cuts.bands(); ++b)
      for (size_t c = 0; c < cuts.cells(b); ++c, ++count) {
        double value = cell(b, c);
        least = std::min(least, value);
        most = std::max(most, value);
        sum += value;
      }
    double width = most - least;
    if (options.metric == Metric::Cycles)
      return sum == 0 ? 0 : width * double(count) / sum;
    return width;
  }

  /// Moves `line`, the cut between two parts, towards the part that has more:
  /// as many lines as half the difference needs at the giver's mean per line,
  /// fewer if that overshoots. `difference()` is low part minus high part.
  template <typename Difference>
  bool move(int64_t &line, int64_t low, int64_t high, int64_t limit,
            double lowValue, double highValue, Difference difference) {
    double before = lowValue - highValue;
    if (std::abs(before) == 0)
      return false;
    bool up = before < 0; // the part after the cut gives: the cut moves up
    double giver = up ? highValue : lowValue;
    int64_t lines = up ? high - line : line - low;
    double perLine = giver / double(lines);
    int64_t count =
        perLine > 0 ? int64_t(std::ceil(std::abs(before) / 2 / perLine)) : 1;
    // The giver keeps a line, the taker stays within the limit.
    int64_t room = limit - (up ? line - low : high - line);
    for (count = std::min({count, lines - 1, room}); count >= 1; count /= 2) {
      int64_t old = line;
      line += up ? count : -count;
      if (std::abs(difference()) < std::abs(before))
        return true;
      line = old;
    }
    return false;
  }

  bool moveColumns(size_t b, size_t c) {
    std::vector<int64_t> &line = cuts.cols[b];
    return move(line[c], line[c - 1], line[c + 1], model.colLimit(),
                cell(b, c - 1), cell(b, c),
                [&] { return cell(b, c - 1) - cell(b, c); });
  }

  bool moveRows(size_t b) {
    std::vector<int64_t> &line = cuts.rows;
    return move(line[b], line[b - 1], line[b + 1], model.rowLimit(),
                band(b - 1), band(b), [&] { return band(b - 1) - band(b); });
  }

  const WorkModel &model;
  const Options &options;
  Cuts &cuts;
};

} // namespace

unsigned transferLines(const WorkModel &model, const Options &options,
                       Cuts &cuts) {
  return Transfer(model, options, cuts).run();
}

} // namespace ashlar::partition
