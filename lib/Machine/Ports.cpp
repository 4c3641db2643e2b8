// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses by bank. A pattern is followed from its longest stride inwards and
// divided only where a box of it crosses the boundary between two banks.

#include "ashlar/Machine/Ports.h"
#include "Saturating.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

namespace {

/// Boxes of one dimension that may cross one boundary, over all dimensions; a
/// pattern with more is not followed.
constexpr uint64_t mostCrossings = 4096;

struct Loop {
  uint64_t count;
  uint64_t stride;
};

/// A pattern with positive strides, longest first, runs merged.
struct Normal {
  int64_t base = 0;
  uint64_t run = 1;     ///< Contiguous bytes.
  uint64_t repeats = 1; ///< Each run is streamed so often.
  llvm::SmallVector<Loop, 8> loops;

  explicit Normal(const PortPattern &pattern, uint64_t rowBytes);
  uint64_t runs() const {
    uint64_t product = repeats;
    for (const Loop &loop : loops)
      product = mul(product, loop.count);
    return product;
  }
  /// Bytes from the first to the last of the loops from \p first on.
  uint64_t extent(size_t first) const {
    uint64_t bytes = run;
    for (const Loop &loop : llvm::drop_begin(loops, first))
      bytes = limited(bytes + mul(loop.count - 1, loop.stride));
    return bytes;
  }
  /// How many runs may cross a boundary, at most.
  uint64_t crossings() const {
    uint64_t product = 1;
    for (size_t i = 0; i < loops.size(); ++i)
      product = mul(product, std::min(loops[i].count,
                                      extent(i + 1) / loops[i].stride + 1));
    return product;
  }
};

Normal::Normal(const PortPattern &pattern, uint64_t rowBytes)
    : base(pattern.base), run(pattern.elementBytes) {
  // Where data chooses the place, every element is looked for on its own.
  const size_t dims =
      pattern.reach ? pattern.counts.size()
                    : innerRun(pattern.counts, pattern.strides, rowBytes, run);
  for (size_t i = 0; i < dims; ++i) {
    const uint64_t count = pattern.counts[i];
    const int64_t stride = pattern.strides[i];
    if (stride == 0)
      repeats = mul(repeats, count);
    else if (count > 1)
      loops.push_back(
          {count, static_cast<uint64_t>(stride < 0 ? -stride : stride)});
    if (stride < 0)
      base += static_cast<int64_t>(count - 1) * stride;
  }
  llvm::sort(loops,
             [](const Loop &a, const Loop &b) { return a.stride > b.stride; });
}

/// Patterns far beyond the state buffer belong to programs that are refused, or
/// to maps that will be cut into tiles: what lies after this many times its
/// size counts as one place.
constexpr uint64_t mostSizes = 16;

/// Bytes that belong to one bank of one partition.
struct Cell {
  uint64_t number; ///< partition * banks + bank
  uint64_t end;    ///< First address after it.
};

/// Follows a pattern through the banks of one partition, or of all of them by
/// address. `add(cell, accesses)` is told what a cell takes.
template <typename Add>
class Walk {
public:
  Walk(const Description &machine, const Normal &normal, Add add)
      : row(machine.sb.bytesPerPartition), banks(machine.sb.banks),
        bankBytes(machine.sb.bankBytes()), port(machine.sb.portBytes),
        last(mostSizes * row * machine.sb.partitions), normal(normal),
        add(std::move(add)) {
    const size_t loops = normal.loops.size();
    runs.resize(loops + 1, normal.repeats);
    extents.resize(loops + 1, normal.run);
    for (size_t i = loops; i-- > 0;) {
      runs[i] = mul(runs[i + 1], normal.loops[i].count);
      extents[i] = normal.extent(i);
    }
  }

  /// The first cell and the last one that the pattern may touch.
  std::pair<uint64_t, uint64_t> range() const {
    return {cellOf(base()).number,
            cellOf(limited(base() + extents[0]) - 1).number};
  }

  void run() {
    if (normal.crossings() > mostCrossings)
      return everywhere(base(), extents[0]);
    box(0, base());
  }

  /// All accesses in every cell of [base, base + bytes).
  void everywhere(uint64_t base, uint64_t bytes) {
    const uint64_t accesses = mul(runs[0], ceilDiv(normal.run, port));
    for (uint64_t at = base, end = std::min(base + bytes, last); at < end;) {
      const Cell cell = cellOf(at);
      add(cell.number, accesses);
      at = cell.end;
    }
  }

private:
  uint64_t base() const {
    return static_cast<uint64_t>(std::max<int64_t>(normal.base, 0));
  }

  Cell cellOf(uint64_t address) const {
    const uint64_t partition = std::min(address, last) / row,
                   byte = std::min(address, last) % row;
    const uint64_t bank = std::min(byte / bankBytes, banks - 1);
    const uint64_t end =
        bank == banks - 1 ? row : std::min(row, (bank + 1) * bankBytes);
    return {partition * banks + bank, partition * row + end};
  }

  /// The loops from `dim` on, the first element at `base`.
  void box(size_t dim, uint64_t base) {
    Cell cell = cellOf(base);
    if (base + extents[dim] <= cell.end || base >= last)
      return add(cell.number, mul(runs[dim], ceilDiv(normal.run, port)));
    if (dim == normal.loops.size())
      return cutRun(base);
    const Loop &loop = normal.loops[dim];
    for (uint64_t i = 0; i < loop.count;) {
      cell = cellOf(base);
      uint64_t whole = 0; // boxes from here on that lie inside the cell
      if (base >= last)
        whole = loop.count - i;
      else if (base + extents[dim + 1] <= cell.end)
        whole =
            std::min(loop.count - i,
                     (cell.end - base - extents[dim + 1]) / loop.stride + 1);
      if (whole == 0) {
        box(dim + 1, base);
        whole = 1;
      } else {
        add(cell.number,
            mul(whole, mul(runs[dim + 1], ceilDiv(normal.run, port))));
      }
      i += whole;
      base += whole * loop.stride;
    }
  }

  /// A run that boundaries cut.
  void cutRun(uint64_t base) {
    const uint64_t end = std::min(base + normal.run, last);
    while (base < end) {
      const Cell cell = cellOf(base);
      const uint64_t here = std::min(cell.end, end) - base;
      add(cell.number, mul(normal.repeats, ceilDiv(here, port)));
      base += here;
    }
  }

  const uint64_t row, banks, bankBytes, port;
  const uint64_t last; ///< From here on all is one place.
  const Normal &normal;
  Add add;
  /// From each loop on: runs with repeats, and bytes from first to last.
  llvm::SmallVector<uint64_t, 9> runs, extents;
};

/// Takes out the loops over partitions if each of their steps goes to another
/// partition and the rest stays inside one.
bool dropPartitionLoops(Normal &normal, uint64_t row) {
  Normal inner = normal;
  inner.loops.clear();
  uint64_t next = row; // the least stride that reaches new partitions
  for (const Loop &loop : llvm::reverse(normal.loops)) {
    if (loop.stride % row != 0) {
      inner.loops.insert(inner.loops.begin(), loop);
      continue;
    }
    if (loop.stride < next)
      return false;
    next = mul(loop.stride, loop.count);
  }
  inner.base %= static_cast<int64_t>(row);
  if (static_cast<uint64_t>(inner.base) + inner.extent(0) > row)
    return false;
  normal = std::move(inner);
  return true;
}

/// What each bank of the busiest partition takes, of \p count banks.
BankAccesses busiestPartition(const Description &machine, const Normal &normal,
                              uint64_t count) {
  llvm::SmallVector<uint64_t, 64> cells;
  uint64_t first = 0;
  Walk walk(machine, normal, [&](uint64_t cell, uint64_t accesses) {
    cells[cell - first] = limited(cells[cell - first] + accesses);
  });
  const auto [from, to] = walk.range();
  first = from;
  cells.assign(to - from + 1, 0);
  walk.run();
  BankAccesses most(count, 0);
  for (auto [i, accesses] : llvm::enumerate(cells))
    most[(first + i) % count] = std::max(most[(first + i) % count], accesses);
  return most;
}

/// Patterns that SlowPatterns holds at most.
constexpr size_t mostKnown = 256;

bool liesInside(const Description &machine, const Normal &normal) {
  const uint64_t bytes =
      mul(machine.sb.bytesPerPartition, machine.sb.partitions);
  return static_cast<uint64_t>(std::max<int64_t>(normal.base, 0)) +
             normal.extent(0) <=
         bytes;
}

/// Runs of a pattern: a walk may visit them one by one.
uint64_t runsOf(const Normal &normal) {
  uint64_t runs = 1;
  for (const Loop &loop : normal.loops)
    runs = mul(runs, loop.count);
  return runs;
}

/// Runs that are walked over in about the time of a lookup: a size of the
/// host's memo, no parameter of the machine. Without patterns of more runs in
/// it wide convolutions take half as long again to compile, or twice as long.
constexpr uint64_t fewRuns = 16;

SlowPatterns::Key keyOf(const Description &machine, const Normal &normal) {
  SlowPatterns::Key key{machine.sb.bytesPerPartition,
                        machine.sb.partitions,
                        machine.sb.banks,
                        machine.sb.bankBytes(),
                        machine.sb.portBytes,
                        static_cast<uint64_t>(normal.base),
                        normal.run,
                        normal.repeats};
  for (const Loop &loop : normal.loops)
    key.insert(key.end(), {loop.count, loop.stride});
  return key;
}

/// busiestPartition(), looked up in `slow` where it takes long.
BankAccesses busiestPartition(const Description &machine, const Normal &normal,
                              uint64_t count, SlowPatterns *slow) {
  if (!slow || (liesInside(machine, normal) && runsOf(normal) <= fewRuns))
    return busiestPartition(machine, normal, count);
  SlowPatterns::Key key = keyOf(machine, normal);
  if (const BankAccesses *found = slow->find(key))
    return *found;
  BankAccesses most = busiestPartition(machine, normal, count);
  slow->insert(std::move(key), most);
  return most;
}

} // namespace

const BankAccesses *SlowPatterns::find(const Key &key) const {
  auto found = known.find(key);
  return found == known.end() ? nullptr : &found->second;
}

void SlowPatterns::insert(Key key, const BankAccesses &accesses) {
  if (known.size() >= mostKnown)
    known.clear();
  known.emplace(std::move(key), accesses);
}

void ashlar::machine::addAccesses(const Description &machine,
                                  const PortPattern &pattern,
                                  llvm::MutableArrayRef<uint64_t> banks) {
  const Normal normal(pattern, 0);
  Walk walk(machine, normal, [&](uint64_t cell, uint64_t accesses) {
    // Bytes beyond the partition belong to a program that is refused.
    uint64_t &bank = banks[std::min<uint64_t>(cell, banks.size() - 1)];
    bank = limited(bank + accesses);
  });
  if (pattern.reach == 0)
    return walk.run();
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  const int64_t begin = std::clamp<int64_t>(normal.base, 0, row);
  walk.everywhere(
      begin, std::min<uint64_t>(row - begin, normal.extent(0) + pattern.reach));
}

void ashlar::machine::addLinearAccesses(const Description &machine,
                                        const PortPattern &pattern,
                                        llvm::MutableArrayRef<uint64_t> banks,
                                        SlowPatterns *slow) {
  const uint64_t row = machine.sb.bytesPerPartition;
  Normal normal(pattern, row);
  const uint64_t count = banks.size();
  if (dropPartitionLoops(normal, row))
    return Walk(machine, normal,
                [&](uint64_t cell, uint64_t accesses) {
                  uint64_t &bank = banks[std::min(cell, count - 1)];
                  bank = limited(bank + accesses);
                })
        .run();
  const BankAccesses most = busiestPartition(machine, normal, count, slow);
  for (uint64_t bank = 0; bank < count; ++bank)
    banks[bank] = limited(banks[bank] + most[bank]);
}

uint64_t ashlar::machine::portAccesses(const Description &machine,
                                       const PortPattern &pattern) {
  const Normal normal(pattern, 0);
  return mul(normal.runs(), ceilDiv(normal.run, machine.sb.portBytes));
}

uint64_t ashlar::machine::bankCycles(const Description &machine,
                                     uint64_t accesses) {
  return ceilDiv(accesses, machine.sb.ports);
}

Timing ashlar::machine::withPorts(Timing timing, uint64_t cycles) {
  const uint64_t issue = limited(timing.setup + cycles);
  if (cycles == 0 || issue <= timing.issue)
    return timing;
  timing.complete = limited(timing.complete + (issue - timing.issue));
  timing.issue = issue;
  return timing;
}
