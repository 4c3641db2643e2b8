// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of windows along the partition dimension: the neighbours of a channel
// lie in other partitions, and the vector unit reads each operand from a
// partition of its own. An operand of several channel tiles begins with one, so
// what lies in the tile before or after is copied first. The first instruction
// adds two taps, each further one another tap to the sums, in the order in
// which a pool adds them. Channels whose first taps lie outside get their start
// from copies.

#include "../Copy.h"
#include "../Generator.h"

#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::codegen {
namespace {

/// True if no element of the value is -0, to which a pool adds its 0 first.
bool hasNoNegativeZero(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto move = dyn_cast_if_present<npu::DmaMoveOp>(op)) {
    if (move.getInputs().size() != 1 || move.getFill())
      return false;
    op = move.getInputs()[0].getDefiningOp();
  }
  auto map = dyn_cast_if_present<npu::VecMapOp>(op);
  if (!map || map.getScale() || map.getBias())
    return false;
  return map.getOp() == "abs" ||
         (map.getOp() == "mul" && map.getInputs().size() == 2 &&
          map.getInputs()[0] == map.getInputs()[1]);
}

class WindowSums {
public:
  WindowSums(Generator &generator, const TileContext &tile)
      : generator(generator), tile(tile), pool(cast<npu::VecPoolOp>(tile.op)),
        x(tile.operands[0]), y(tile.result), count(y.channels()),
        partitions(static_cast<int64_t>(generator.machine.sb.partitions)) {
    const auto spatial = static_cast<int64_t>(pool.getKernel().size());
    const int64_t s = y.axis - (y.rank() - spatial);
    taps = pool.getKernel()[s];
    dilation = pool.getDilations()[s];
    pad = pool.getPads()[s];
  }

  void run();

private:
  /// Partitions from a channel to one of its taps.
  int64_t shift(int64_t tap) const { return tap * dilation - pad; }
  /// Channels [first, last) of a view.
  View channels(const View &view, int64_t first, int64_t last) const {
    return channelsOf(view, first, last - first, generator.machine);
  }
  View aligned(int64_t first, int64_t last, int64_t by);
  void clear(int64_t last) const;
  void addFirstTaps();
  void add(int64_t tap);
  void addPart(const View &a, const View &b, int64_t first, int64_t last) const;

  Generator &generator;
  const TileContext &tile;
  npu::VecPoolOp pool;
  const View &x, &y;
  int64_t count, partitions;
  int64_t taps = 1, dilation = 1, pad = 0;
  size_t copies = 0; ///< that scratch memory has taken
};

void WindowSums::clear(int64_t last) const {
  if (last > 0)
    emitFill(generator.builder, channels(y, 0, last), 0);
}

/// The operand `by` partitions beyond channels [first, last), which begin a
/// channel tile and end one or the map: where it lies, or copied to the
/// partitions of those channels. An operand of several tiles begins with one.
View WindowSums::aligned(int64_t first, int64_t last, int64_t by) {
  const View source = channels(x, first + by, last + by);
  if (by == 0)
    return source;
  const View copy = channels(tile.scratch[copies++ % 2], 0, last - first);
  emitCopy(generator.builder, source, copy);
  return copy;
}

/// Channels [first, last) become the sums of two operands.
void WindowSums::addPart(const View &a, const View &b, int64_t first,
                         int64_t last) const {
  emitMap(generator, a, &b, channels(y, first, last), {isa::Function::Add});
}

/// Sums of the first two taps. Channels without the first one start with their
/// second one, or with 0.
void WindowSums::addFirstTaps() {
  const int64_t both = -shift(0), second = -shift(1);
  clear(second);
  if (second < both)
    emitCopy(generator.builder, channels(x, 0, both - second),
             channels(y, second, both));
  const int64_t last = std::min(count, partitions);
  addPart(channels(x, 0, last - both),
          channels(x, both - second, last - second), both, last);
  if (last == count)
    return;
  const View first = aligned(last, count, -both);
  addPart(first, aligned(last, count, -second), last, count);
}

/// Adds a tap to the sums of the channels that have it.
void WindowSums::add(int64_t tap) {
  const int64_t by = shift(tap);
  const int64_t begin = std::max<int64_t>(-by, 0);
  const int64_t end = std::min(count, count - by);
  if (begin >= end)
    return;
  // Taps of other channels lie in the same tile, or the next one has some.
  const int64_t whole = (count - 1) / partitions * partitions;
  const int64_t cut = whole == 0 || by == 0 ? begin
                      : by < 0              ? partitions
                                            : std::min(whole, end);
  auto addDirect = [&](int64_t first, int64_t last) {
    if (first < last)
      addPart(channels(y, first, last), channels(x, first + by, last + by),
              first, last);
  };
  auto addCopied = [&](int64_t first, int64_t last) {
    const View more = aligned(first, last, by);
    addPart(channels(y, first, last), more, first, last);
  };
  if (by < 0 && whole > 0) {
    addDirect(begin, cut);
    addCopied(cut, end);
  } else {
    if (begin < cut)
      addCopied(begin, cut);
    addDirect(cut, end);
  }
}

void WindowSums::run() {
  int64_t next = 0;
  if (shift(1) <= 0 && -shift(0) < std::min(count, partitions) &&
      hasNoNegativeZero(pool.getX())) {
    addFirstTaps();
    next = 2;
  } else {
    clear(count);
  }
  for (; next < taps; ++next)
    add(next);
  if (pool.getKind() != "avg")
    return;
  MapParameters divide{isa::Function::Div};
  divide.immediate = true;
  divide.beta = static_cast<float>(taps);
  emitMap(generator, y, nullptr, y, divide);
}

} // namespace

llvm::Error emitWindowSums(Generator &generator, const TileContext &tile) {
  WindowSums(generator, tile).run();
  return llvm::Error::success();
}

} // namespace ashlar::codegen
