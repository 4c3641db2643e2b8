// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which instructions write the memory of planned tensors. A tensor is taken to
// fill all between its first and its last byte.

#include "PlannedTensors.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Support/ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

using namespace ashlar;
using namespace ashlar::emulator;
using container::TensorPlacement;
using isa::Access;
using isa::Space;

namespace {

/// Everything between two places of a memory.
struct Box {
  Space space = Space::Sb;
  uint64_t partBegin = 0, partEnd = 1;
  int64_t begin = 0, end = 0;

  auto operator<=>(const Box &) const = default;
  bool meets(const Access &access) const {
    return access.space == space && access.partBegin < partEnd &&
           partBegin < access.partEnd && access.begin < end &&
           begin < access.end;
  }
};

using Boxes = llvm::SmallVector<Box, 3>;

/// First and last offset of strides over a shape, without one axis.
std::pair<int64_t, int64_t> reach(const TensorPlacement &tensor,
                                  const std::vector<int64_t> &strides,
                                  int without) {
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < strides.size() && d < tensor.shape.size(); ++d)
    if (static_cast<int>(d) != without)
      (strides[d] < 0 ? low : high) +=
          strides[d] * std::max<int64_t>(tensor.shape[d] - 1, 0);
  return {low, high};
}

Boxes inDram(const TensorPlacement &tensor, int64_t bytes) {
  Boxes boxes;
  auto add = [&](uint64_t base, const std::vector<int64_t> &strides,
                 int64_t last) {
    auto [low, high] = reach(tensor, strides, -1);
    const auto first = static_cast<int64_t>(base);
    boxes.push_back({Space::Dram, 0, 1, first + low, first + high + last});
  };
  if (tensor.cellPitch)
    add(tensor.baseOffset, {},
        tensor.cells() * static_cast<int64_t>(tensor.cellPitch));
  else
    add(tensor.baseOffset, tensor.strides, bytes);
  if (tensor.encoded && !tensor.exponentStrides.empty())
    add(tensor.exponentBase, tensor.exponentStrides, 1);
  return boxes;
}

Boxes inStateBuffer(const TensorPlacement &tensor, int64_t bytes,
                    const machine::Description &machine) {
  auto [low, high] = reach(tensor, tensor.strides, tensor.channelAxis);
  const uint64_t partitions = machine.sb.partitions;
  const uint64_t last = tensor.basePartition + tensor.partitionsSpanned() - 1;
  const int64_t tiles =
      static_cast<int64_t>(last / partitions) * tensor.tileStride;
  const auto base = static_cast<int64_t>(tensor.baseOffset);
  Box box{Space::Sb, tensor.basePartition, last + 1,
          base + low + std::min<int64_t>(tiles, 0),
          base + high + std::max<int64_t>(tiles, 0) + bytes};
  if (last >= partitions)
    box.partBegin = 0, box.partEnd = partitions;
  Boxes boxes{box};
  if (!tensor.encoded)
    return boxes;
  box.space = Space::Xm;
  box.partBegin /= machine.xmGroup;
  box.partEnd = (box.partEnd + machine.xmGroup - 1) / machine.xmGroup;
  boxes.push_back(box);
  return boxes;
}

Boxes boxesOf(const TensorPlacement &tensor,
              const machine::Description &machine) {
  const auto bytes = static_cast<int64_t>(tensor.elementBytes());
  Boxes boxes = tensor.memory == container::PlacementMemory::Dram
                    ? inDram(tensor, bytes)
                    : inStateBuffer(tensor, bytes, machine);
  if (tensor.encoded)
    boxes.push_back({Space::Xr, 0, 1, tensor.xr, int64_t(tensor.xr) + 1});
  return boxes;
}

/// Boxes by where they begin: a balanced tree over the sorted boxes, whose
/// nodes know the greatest end below them. What an access meets is found
/// without a look at all others.
class BoxIndex {
public:
  explicit BoxIndex(const std::map<Box, uint32_t> &known)
      : boxes(known.begin(), known.end()), greatestEnd(boxes.size()) {
    llvm::sort(boxes, [](const Entry &a, const Entry &b) {
      return std::tuple(a.first.space, a.first.begin, a.second) <
             std::tuple(b.first.space, b.first.begin, b.second);
    });
    for (auto at = boxes.begin(); at != boxes.end();) {
      auto next = std::find_if(at, boxes.end(), [&](const Entry &entry) {
        return entry.first.space != at->first.space;
      });
      const Range range{size_t(at - boxes.begin()),
                        size_t(next - boxes.begin())};
      spaces[at->first.space] = range;
      setEnds(range);
      at = next;
    }
  }

  /// Adds the rooms that `access` meets.
  void find(const Access &access,
            llvm::SmallVectorImpl<uint32_t> &rooms) const {
    if (auto at = spaces.find(access.space); at != spaces.end())
      find(access, at->second, rooms);
  }

private:
  using Entry = std::pair<Box, uint32_t>;
  struct Range {
    size_t first = 0, end = 0;

    bool isEmpty() const { return first == end; }
    size_t root() const { return (first + end) / 2; }
    Range below() const { return {first, root()}; }
    Range above() const { return {root() + 1, end}; }
  };

  int64_t setEnds(Range range) {
    if (range.isEmpty())
      return std::numeric_limits<int64_t>::min();
    return greatestEnd[range.root()] =
               std::max({boxes[range.root()].first.end, setEnds(range.below()),
                         setEnds(range.above())});
  }

  void find(const Access &access, Range range,
            llvm::SmallVectorImpl<uint32_t> &rooms) const {
    if (range.isEmpty() || greatestEnd[range.root()] <= access.begin)
      return;
    find(access, range.below(), rooms);
    const auto &[box, room] = boxes[range.root()];
    if (box.begin >= access.end)
      return;
    if (box.meets(access))
      rooms.push_back(room);
    find(access, range.above(), rooms);
  }

  std::vector<Entry> boxes;
  std::vector<int64_t> greatestEnd;
  std::map<Space, Range> spaces;
};

} // namespace

TensorRooms::TensorRooms(const LoadedProgram::Impl &impl) {
  std::map<Box, uint32_t> known;
  for (const TensorPlacement &tensor : impl.program.dumps) {
    lies.emplace_back();
    for (const Box &box : boxesOf(tensor, impl.program.machine))
      lies.back().push_back(
          known.try_emplace(box, static_cast<uint32_t>(known.size()))
              .first->second);
  }
  numRooms = static_cast<uint32_t>(known.size());
  const BoxIndex index(known);
  firstWritten.assign(impl.code.size() + 1, 0);
  llvm::SmallVector<Access, 16> accesses;
  llvm::SmallVector<uint32_t, 8> own;
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    accesses.clear();
    own.clear();
    if (!known.empty())
      isa::footprints(impl.code[i], impl.program.machine, accesses);
    for (const Access &access : accesses)
      if (access.write)
        index.find(access, own);
    llvm::sort(own);
    own.erase(llvm::unique(own), own.end());
    llvm::append_range(written, own);
    firstWritten[i + 1] = static_cast<uint32_t>(written.size());
  }
}

PlannedTensors::PlannedTensors(const LoadedProgram::Impl &impl,
                               const TensorRooms &known,
                               llvm::ArrayRef<uint32_t> origins) {
  const std::vector<TensorPlacement> &tensors = impl.program.dumps;
  places.assign(impl.code.size(), notYet);
  rooms.resize(known.count());
  for (uint32_t t = 0; t < tensors.size(); ++t) {
    after.push_back(static_cast<uint32_t>(tensors[t].afterInstruction));
    lies.emplace_back(known.of(t));
    for (uint32_t room : known.of(t))
      rooms[room].tensors.push_back(t);
  }
  firstRoom.assign(impl.code.size() + 1, 0);
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    const uint32_t origin = origins.empty() ? i : origins[i];
    if (origin != noInstruction)
      for (uint32_t room : known.writtenBy(origin)) {
        rooms[room].writers.push_back(i);
        roomsWritten.push_back(room);
      }
    firstRoom[i + 1] = static_cast<uint32_t>(roomsWritten.size());
  }
  for (uint32_t t = 0; t < tensors.size(); ++t)
    waitForMakers(t);
  for (Room &room : rooms)
    llvm::sort(room.tensors, [&](uint32_t a, uint32_t b) {
      return std::pair(after[a], a) < std::pair(after[b], b);
    });
}

/// The program may copy a tensor out long after it is made, past instructions
/// that have nothing to do with it: they need not come first.
void PlannedTensors::waitForMakers(uint32_t tensor) {
  std::optional<uint32_t> last;
  for (uint32_t index : lies[tensor]) {
    const std::vector<uint32_t> &writers = rooms[index].writers;
    auto end = llvm::upper_bound(writers, after[tensor]);
    if (end != writers.begin())
      last = std::max(last.value_or(0), *std::prev(end));
  }
  after[tensor] = last.value_or(after[tensor]);
}

/// One that nothing writes is complete with the instruction after which it is
/// copied out.
bool PlannedTensors::isComplete(uint32_t tensor) {
  const uint32_t last = after[tensor];
  if (last < places.size() && places[last] == notYet)
    return false;
  return llvm::all_of(lies[tensor], [&](uint32_t index) {
    Room &room = rooms[index];
    while (room.written < room.writers.size() &&
           places[room.writers[room.written]] != notYet)
      ++room.written;
    return room.written == room.writers.size() ||
           room.writers[room.written] > last;
  });
}

bool PlannedTensors::mayRun(uint32_t index) {
  for (uint32_t written : writtenBy(index)) {
    Room &room = rooms[written];
    while (room.complete < room.tensors.size() &&
           after[room.tensors[room.complete]] < index) {
      if (!isComplete(room.tensors[room.complete]))
        return false;
      ++room.complete;
    }
  }
  return true;
}

/// Of one room only neighbours need to know each other: makers come before
/// their tensor, and a tensor before the makers of the next one.
void PlannedTensors::addDependences(
    uint32_t first, std::vector<Dependences::Pair> &pairs) const {
  for (const Room &room : rooms) {
    size_t next = 0;
    std::optional<uint32_t> before;
    auto follow = [&](uint32_t step) {
      if (before)
        pairs.push_back({*before, step, false});
    };
    for (uint32_t tensor : room.tensors) {
      const uint32_t step = first + tensor;
      for (; next < room.writers.size() && room.writers[next] <= after[tensor];
           ++next) {
        follow(room.writers[next]);
        pairs.push_back({room.writers[next], step, true});
      }
      follow(step);
      before = step;
    }
    for (; next < room.writers.size(); ++next)
      follow(room.writers[next]);
  }
  for (uint32_t tensor = 0; tensor < after.size(); ++tensor)
    if (after[tensor] < places.size())
      pairs.push_back({after[tensor], first + tensor, true});
}

std::vector<uint32_t> PlannedTensors::take() const {
  std::vector<uint32_t> last(after.size(), 0);
  for (uint32_t t = 0; t < after.size(); ++t)
    if (after[t] < places.size())
      last[t] = places[after[t]];
  for (const Room &room : rooms) {
    size_t next = 0;
    uint32_t latest = 0;
    for (uint32_t tensor : room.tensors) {
      for (; next < room.writers.size() && room.writers[next] <= after[tensor];
           ++next)
        latest = std::max(latest, places[room.writers[next]]);
      last[tensor] = std::max(last[tensor], latest);
    }
  }
  return last;
}
