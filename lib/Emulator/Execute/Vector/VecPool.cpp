// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.pool: window reductions in ascending (d, h, w) order of the window.

#include "../Engine.h"
#include "../TensorRows.h"
#include "WindowAxis.h"
#include "ashlar/Isa/ElementBytes.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::PoolKind;

namespace {

/// Maxima along the width of the source lines that the windows of one channel
/// have met last: windows that overlap need each line once.
class LineMaxima {
public:
  LineMaxima(int64_t depth, int64_t height, uint64_t width)
      : depth(depth), height(height), width(width),
        keys(static_cast<size_t>(depth * height), -1),
        values(Scratch::ofThisThread().get<float>(Scratch::Moving,
                                                  keys.size() * width)) {}

  /// The place of line y of plane x; `known` tells whether it is filled.
  float *find(int64_t x, int64_t y, int64_t line, bool &known) {
    const auto slot = static_cast<size_t>(x % depth * height + y % height);
    known = keys[slot] == line;
    keys[slot] = line;
    return values + slot * width;
  }

private:
  int64_t depth, height;
  uint64_t width;
  llvm::SmallVector<int64_t, 16> keys; ///< Lines; -1: none.
  float *values;
};

struct Pool {
  Engine &engine;
  const isa::VecPool &op;
  WindowAxis d, h, w;
  TensorView source; ///< Pattern: whole source (inD, inH, inW).
  numerics::Reduction step;
  /// Columns [first, last) of a source line that some window touches: nothing
  /// else may be read, because it may lie outside the memory.
  int64_t firstColumn = 0, lastColumn = 0;

  /// A position of the window along the width: the `count` results from
  /// `begin` on whose elements lie in the source, the first in column `from`.
  struct Tap {
    int64_t from;
    uint64_t begin, count;
  };
  llvm::SmallVector<Tap, 8> taps = {}; ///< Those with any result.
  /// The same for a kernel.
  llvm::SmallVector<numerics::WindowTap, 8> windowTaps = {};

  void findColumns() {
    firstColumn = w.in;
    for (int64_t k = 0; k < w.kernel; ++k) {
      auto [begin, end] = w.validResults(k);
      if (begin == end)
        continue;
      taps.push_back({w.coordinate(begin, k), static_cast<uint64_t>(begin),
                      static_cast<uint64_t>(end - begin)});
      firstColumn = std::min(firstColumn, w.coordinate(begin, k));
      lastColumn = std::max(lastColumn, w.coordinate(end - 1, k) + 1);
    }
    firstColumn = std::min(firstColumn, lastColumn);
    for (const Tap &tap : taps)
      windowTaps.push_back({static_cast<uint64_t>(tap.from - firstColumn),
                            tap.begin, tap.count});
  }

  /// Maxima of columns first and then of what is left of them: a step over the
  /// width gathers once for all lines of a window. Only where the order of
  /// equal numbers leaves no trace, as the sign of a zero would, and where
  /// windows share no line.
  bool takesColumns() const {
    return op.kind == PoolKind::Max && isa::isBlock(op.srcType) &&
           h.kernel * d.kernel > 1 && h.isDisjoint() && d.isDisjoint();
  }

  /// Whether a kernel takes the columns from their codes.
  bool takesCodes() const {
    return takesColumns() && op.srcType == isa::ElemType::Bfp &&
           op.srcMantissa <= 8 && source.pattern.count[0] == 1 &&
           source.pattern.count[1] == 1 && source.pattern.stride[2] == 1;
  }

  /// The same as rowOfColumns().
  void rowOfCodes(uint64_t channel, int64_t od, int64_t oh, float *out) const {
    const TensorView::Place place =
        source.place(channel, engine.machine->sb.partitions);
    const auto *elements = reinterpret_cast<const int8_t *>(
        engine.memory.sb(place.partition, place.offset));
    const int8_t *cells = engine.memory.cell(place.partition, place.offset);
    llvm::SmallVector<const int8_t *, 16> lines, cellLines;
    forLines(od, oh, [&](int64_t x, int64_t y) {
      const int64_t first = (x * h.in + y) * w.in + firstColumn;
      lines.push_back(elements + first);
      cellLines.push_back(cells + first);
    });
    const numerics::MaxWindows windows = {
        lines.size(),
        static_cast<uint64_t>(lastColumn - firstColumn),
        static_cast<uint64_t>(w.out),
        static_cast<uint64_t>(w.step),
        static_cast<int>(op.srcMantissa),
        windowTaps.data(),
        windowTaps.size()};
    auto *columns = Scratch::ofThisThread().get<float>(
        Scratch::Moving, windows.columns + 2 * numerics::kWindowSlack);
    engine.kernels->windowMaxima8(lines.data(), cellLines.data(), windows,
                                  columns + numerics::kWindowSlack, out);
  }

  /// The maxima of the window of result row (od, oh), by columns.
  void rowOfColumns(uint64_t channel, int64_t od, int64_t oh,
                    float *out) const {
    Scratch &scratch = Scratch::ofThisThread();
    const auto width = static_cast<uint64_t>(w.out);
    const auto n = static_cast<uint64_t>(lastColumn - firstColumn);
    auto *taken = scratch.get<float>(Scratch::RowB, width);
    auto *columns = scratch.get<float>(Scratch::Moving, n);
    std::fill_n(out, width, numerics::reduceInit(step));
    std::fill_n(columns, n, numerics::reduceInit(step));
    forLines(od, oh, [&](int64_t x, int64_t y) {
      if (n != 0)
        engine.kernels->reduceStep(step, loadLine(channel, x * h.in + y), n,
                                   columns);
    });
    for (const Tap &tap : taps)
      addTap(columns, tap, taken, out);
  }

  /// Reduces the window of result row (od, oh) into out[0 .. outW).
  void row(uint64_t channel, int64_t od, int64_t oh, LineMaxima &lines,
           float *out) const {
    Scratch &scratch = Scratch::ofThisThread();
    const auto width = static_cast<uint64_t>(w.out);
    auto *taken = scratch.get<float>(Scratch::RowB, width);
    std::fill_n(out, width, numerics::reduceInit(step));
    forLines(od, oh, [&](int64_t x, int64_t y) {
      // Of equal maxima the last one counts, by lines as by elements; sums
      // keep the order of the window.
      if (op.kind != PoolKind::Max)
        return addLine(channel, x * h.in + y, taken, out);
      bool known = false;
      float *most = lines.find(x, y, x * h.in + y, known);
      if (!known) {
        std::fill_n(most, width, numerics::reduceInit(step));
        addLine(channel, x * h.in + y, taken, most);
      }
      engine.kernels->reduceStep(step, most, width, out);
    });
    if (op.kind == PoolKind::Avg)
      divide(od, oh, taken, out);
  }

private:
  /// Calls fn(plane, line) for those of a window that lie in the source.
  template <typename Fn>
  void forLines(int64_t od, int64_t oh, Fn fn) const {
    for (int64_t kd = 0; kd < d.kernel; ++kd)
      for (int64_t kh = 0; kh < h.kernel; ++kh) {
        const int64_t x = d.coordinate(od, kd), y = h.coordinate(oh, kh);
        if (d.valid(x) && h.valid(y))
          fn(x, y);
      }
  }

  /// The columns of a source line that some window touches.
  const float *loadLine(uint64_t channel, int64_t line) const {
    const auto first = static_cast<uint64_t>(line * w.in + firstColumn);
    const auto n = static_cast<uint64_t>(lastColumn - firstColumn);
    return loadFloats(engine, source, channel, first, first + n,
                      Scratch::ofThisThread().get<float>(Scratch::RowA, n));
  }

  /// Adds a source line at every position of the window along the width.
  void addLine(uint64_t channel, int64_t line, float *taken, float *out) const {
    if (firstColumn == lastColumn)
      return;
    const float *from = loadLine(channel, line);
    for (const Tap &tap : taps)
      addTap(from, tap, taken, out);
  }

  void addTap(const float *line, const Tap &tap, float *taken,
              float *out) const {
    const float *from = line + (tap.from - firstColumn);
    // All taps of a window that is the whole width: not worth a kernel's call.
    if (tap.count == 1) {
      out[tap.begin] = numerics::reduceStep(step, out[tap.begin], *from);
      return;
    }
    if (w.step != 1) {
      engine.kernels->gather32(from, w.step * 4, tap.count, taken);
      from = taken;
    }
    engine.kernels->reduceStep(step, from, tap.count, out + tap.begin);
  }

  void divide(int64_t od, int64_t oh, float *counts, float *out) const {
    const int64_t outer = d.counted(od) * h.counted(oh);
    for (int64_t ow = 0; ow < w.out; ++ow)
      counts[ow] = numerics::fromSigned(divisorOf(outer * w.counted(ow)));
    engine.kernels->binary(numerics::BinaryFunction::Div, out, counts,
                           static_cast<uint64_t>(w.out), out);
  }
};

} // namespace

static WindowAxis axis(int64_t in, int64_t out, int64_t kernel, int64_t step,
                       int64_t dilation, int64_t pad, int64_t low,
                       int64_t high) {
  return {in, out, kernel, step, dilation, pad, low, high};
}

void Engine::execute(const isa::VecPool &op) {
  Pool pool{*this,
            op,
            axis(op.inD, op.outD, op.kD, op.sD, op.dD, op.pD, op.cloD, op.chiD),
            axis(op.inH, op.outH, op.kH, op.sH, op.dH, op.pH, op.cloH, op.chiH),
            axis(op.inW, op.outW, op.kW, op.sW, op.dW, op.pW, op.cloW, op.chiW),
            {},
            op.kind == PoolKind::Max ? numerics::Reduction::Max
                                     : numerics::Reduction::Sum,
            0,
            0};
  pool.findColumns();
  // Merging keeps flat indices, so a line is a range of flat indices.
  pool.source = viewOf(operandSrc(op));
  const TensorView dst = viewOf(operandDst(op));
  const uint64_t width = op.outW, height = op.outH;
  const bool byColumns = pool.takesColumns(), byCodes = pool.takesCodes();
  // A chunk of flat results may start and end inside a line.
  auto compute = [&](uint64_t channel, uint64_t k0, uint64_t k1, float *out) {
    const bool byLines = op.kind == PoolKind::Max && !byColumns;
    LineMaxima lines(byLines ? op.kD : 0, op.kH, width);
    auto row = [&](int64_t od, int64_t oh, float *to) {
      if (byCodes)
        pool.rowOfCodes(channel, od, oh, to);
      else if (byColumns)
        pool.rowOfColumns(channel, od, oh, to);
      else
        pool.row(channel, od, oh, lines, to);
    };
    for (uint64_t k = k0; k < k1;) {
      const uint64_t line = k / width, from = k % width;
      const uint64_t n = std::min(width - from, k1 - k);
      const auto od = static_cast<int64_t>(line / height);
      const auto oh = static_cast<int64_t>(line % height);
      if (n == width) {
        row(od, oh, out + (k - k0));
      } else {
        auto *whole =
            Scratch::ofThisThread().get<float>(Scratch::Accums, width);
        row(od, oh, whole);
        std::copy_n(whole + from, n, out + (k - k0));
      }
      k += n;
    }
  };
  produceFloats(*this, dst, encodeTarget(op), op.channels,
                uint64_t(op.kD) * op.kH * op.kW + 1, compute);
}
