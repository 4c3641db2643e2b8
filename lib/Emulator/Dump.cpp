// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies planned tensors out of the memories in logical order.
// container::check() has verified that placements lie inside them.

#include "Execute/Compressed.h"
#include "Impl.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using container::PlacementMemory;
using container::TensorPlacement;

namespace {

/// Addresses of the elements of one placement.
class PlacementReader {
public:
  PlacementReader(const Memory &memory, const TensorPlacement &placement,
                  uint64_t partitions)
      : memory(memory), placement(placement), partitions(partitions),
        index(placement.shape.size(), 0) {}

  const uint8_t *element() const {
    if (placement.memory == PlacementMemory::Dram)
      return memory.dram(placement.baseOffset + flat(placement.strides));
    Place place = this->place();
    return memory.sb(place.partition, place.offset);
  }

  int8_t exponent() const {
    if (placement.memory == PlacementMemory::Dram)
      return static_cast<int8_t>(
          *memory.dram(placement.exponentBase + flatCell()));
    Place place = this->place();
    return *memory.cell(place.partition, place.offset);
  }

  /// Steps to the next element, dimension `axis` in steps of `step`; false
  /// after the last.
  bool next(int axis = -1, int64_t step = 1) {
    for (size_t d = index.size(); d-- > 0;) {
      index[d] += static_cast<int>(d) == axis ? step : 1;
      if (index[d] < placement.shape[d])
        return true;
      index[d] = 0;
    }
    return false;
  }

private:
  struct Place {
    uint64_t partition;
    int64_t offset;
  };

  uint64_t flat(const std::vector<int64_t> &strides) const {
    int64_t sum = 0;
    for (size_t d = 0; d < index.size(); ++d)
      sum += index[d] * strides[d];
    return static_cast<uint64_t>(sum);
  }

  /// Along the block axis DRAM keeps one cell for as many elements as share
  /// an XM cell.
  uint64_t flatCell() const {
    const auto group = static_cast<int64_t>(memory.partitionsPerCell());
    int64_t sum = 0;
    for (size_t d = 0; d < index.size(); ++d)
      sum += placement.exponentStrides[d] *
             (static_cast<int>(d) == placement.blockAxis ? index[d] / group
                                                         : index[d]);
    return static_cast<uint64_t>(sum);
  }

  Place place() const {
    int64_t offset = static_cast<int64_t>(placement.baseOffset);
    uint64_t lane = placement.basePartition;
    const size_t laneAxis = placement.laneAxis < 0
                                ? index.size() - 1
                                : static_cast<size_t>(placement.laneAxis);
    for (size_t d = 0; d < index.size(); ++d)
      if (static_cast<int>(d) == placement.channelAxis) {
        lane += placement.partitionOf(static_cast<uint64_t>(index[d]));
      } else if (d == laneAxis) {
        lane += static_cast<uint64_t>(index[d]) % placement.lanes *
                placement.lanePitch;
        offset += index[d] / placement.lanes * placement.strides[d];
      } else {
        offset += index[d] * placement.strides[d];
      }
    offset += static_cast<int64_t>(lane / partitions) * placement.tileStride;
    return {lane % partitions, offset};
  }

  const Memory &memory;
  const TensorPlacement &placement;
  uint64_t partitions;
  std::vector<int64_t> index;
};

} // namespace

/// Copies the elements of a compressed tensor; a finding of the run if a cell
/// is none.
static void copyCells(LoadedProgram::Impl &impl, const TensorPlacement &p,
                      unsigned bytes, uint8_t *out) {
  const auto images = static_cast<uint64_t>(p.shape[0]);
  const auto channels = static_cast<uint64_t>(p.shape[1]);
  const uint64_t rows = p.shape.size() == 4 ? p.shape[2] : 1;
  const auto cols = static_cast<uint64_t>(p.shape.back());
  const uint8_t *cell = impl.engine.memory.dram(p.baseOffset);
  for (uint64_t n = 0; n < images; ++n)
    for (uint64_t first = 0; first < channels; first += p.cellChannels)
      for (uint64_t h = 0; h < rows; ++h, cell += p.cellPitch) {
        const uint64_t planes =
            std::min<uint64_t>(p.cellChannels, channels - first);
        auto stored = readCell({cell, p.cellBytes}, planes, cols, bytes);
        if (!stored) {
          impl.engine.finding = RunFinding{
              FaultKind::BadData,
              "tensor '" + p.name + "': " + toString(stored.takeError())};
          return;
        }
        for (uint64_t c = 0; c < planes; ++c)
          for (uint64_t w = 0; w < cols; ++w) {
            const int32_t value = stored->plane.values[c * cols + w];
            const uint64_t at =
                ((n * channels + first + c) * rows + h) * cols + w;
            for (unsigned b = 0; b < bytes; ++b)
              out[at * bytes + b] = static_cast<uint8_t>(value >> 8 * b);
          }
      }
}

TensorDump emulator::copyOut(LoadedProgram::Impl &impl, uint32_t index) {
  const TensorPlacement &placement = impl.program.dumps[index];
  Memory &memory = impl.engine.memory;
  const uint64_t partitions = impl.program.machine.sb.partitions;
  TensorDump dump;
  dump.placement = index;
  const uint64_t count = *support::countElements(placement.shape);
  if (count == 0)
    return dump;
  const unsigned bytes = placement.elementBytes();
  dump.data.resize(count * bytes);
  PlacementReader reader(memory, placement, partitions);
  uint8_t *out = dump.data.data();
  if (placement.cellPitch)
    copyCells(impl, placement, bytes, out);
  else
    do {
      std::memcpy(out, reader.element(), bytes);
      out += bytes;
    } while (reader.next());
  if (!placement.encoded)
    return dump;
  const int axis = placement.blockAxis;
  const int64_t extent = placement.shape.empty() ? 1 : placement.shape[axis];
  const int64_t step = placement.block > 0 ? placement.block : extent;
  PlacementReader cells(memory, placement, partitions);
  do
    dump.exponents.push_back(cells.exponent());
  while (cells.next(axis, step));
  // One block for the tensor: cells of zeros alone do not show its exponent.
  if (placement.block < 0)
    dump.exponents.assign(
        1, *std::max_element(dump.exponents.begin(), dump.exponents.end()));
  dump.scaleExponent = numerics::scaleOrDefault(
      memory.xr(placement.xr), static_cast<int>(placement.mantissa));
  return dump;
}
