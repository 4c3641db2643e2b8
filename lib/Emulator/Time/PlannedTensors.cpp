// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which instructions write the memory of planned tensors. A tensor is taken to
// fill all between its first and its last byte.

#include "PlannedTensors.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Support/ElementType.h"
#include "llvm/ADT/STLExtras.h"

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
  // Of a compressed map the strides are those of cells, which need their room.
  add(tensor.baseOffset, tensor.strides,
      std::max<int64_t>({bytes, static_cast<int64_t>(tensor.cellBytes),
                         static_cast<int64_t>(tensor.cellPitch)}));
  if (tensor.encoded && !tensor.exponentStrides.empty())
    add(tensor.exponentBase, tensor.exponentStrides, 1);
  return boxes;
}

Boxes inStateBuffer(const TensorPlacement &tensor, int64_t bytes,
                    const machine::Description &machine) {
  auto [low, high] = reach(tensor, tensor.strides, tensor.channelAxis);
  const uint64_t partitions = machine.sb.partitions;
  uint64_t channels = 1;
  if (tensor.channelAxis >= 0)
    channels = static_cast<uint64_t>(
        std::max<int64_t>(tensor.shape[tensor.channelAxis], 1));
  const uint64_t last = tensor.basePartition + channels - 1 +
                        uint64_t(tensor.lanes - 1) * tensor.lanePitch;
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
  const auto bytes =
      static_cast<int64_t>(tensor.encoded ? (tensor.mantissa <= 8 ? 1 : 2)
                                          : support::byteSize(tensor.type));
  Boxes boxes = tensor.memory == container::PlacementMemory::Dram
                    ? inDram(tensor, bytes)
                    : inStateBuffer(tensor, bytes, machine);
  if (tensor.encoded)
    boxes.push_back({Space::Xr, 0, 1, tensor.xr, int64_t(tensor.xr) + 1});
  return boxes;
}

} // namespace

PlannedTensors::PlannedTensors(const LoadedProgram::Impl &impl) {
  const std::vector<TensorPlacement> &tensors = impl.program.dumps;
  missing.assign(tensors.size(), 0);
  places.assign(tensors.size(), 0);
  if (tensors.empty())
    return;
  llvm::SmallVector<std::pair<Box, uint32_t>, 0> boxes;
  for (uint32_t t = 0; t < tensors.size(); ++t)
    for (const Box &box : boxesOf(tensors[t], impl.program.machine))
      boxes.push_back({box, t});
  llvm::SmallVector<Access, 16> accesses;
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    accesses.clear();
    isa::footprints(impl.code[i], impl.program.machine, accesses);
    for (const Access &access : accesses)
      if (access.write)
        for (const auto &[box, tensor] : boxes)
          if (box.meets(access))
            (i <= tensors[tensor].afterInstruction ? makers : overwriters)
                .push_back({i, tensor});
  }
  // The instruction after which it is copied out now belongs to it anyway.
  for (uint32_t t = 0; t < tensors.size(); ++t)
    if (tensors[t].afterInstruction < impl.code.size())
      makers.push_back({tensors[t].afterInstruction, t});
  for (Pairs *pairs : {&makers, &overwriters}) {
    llvm::sort(*pairs);
    pairs->erase(llvm::unique(*pairs), pairs->end());
  }
  for (const auto &[instruction, tensor] : makers)
    ++missing[tensor];
}

/// The pairs of one instruction.
static auto pairsOf(const std::vector<std::pair<uint32_t, uint32_t>> &pairs,
                    uint32_t index) {
  auto begin = llvm::partition_point(
      pairs, [&](const auto &pair) { return pair.first < index; });
  auto end = begin;
  while (end != pairs.end() && end->first == index)
    ++end;
  return llvm::make_range(begin, end);
}

bool PlannedTensors::mayRun(uint32_t index) const {
  return llvm::all_of(pairsOf(overwriters, index), [&](const auto &pair) {
    return missing[pair.second] == 0;
  });
}

void PlannedTensors::ran(uint32_t index, uint32_t place) {
  for (const auto &[instruction, tensor] : pairsOf(makers, index)) {
    --missing[tensor];
    places[tensor] = std::max(places[tensor], place);
  }
}
