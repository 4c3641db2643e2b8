// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Consistency of a program's tables. The writer asks before it writes, the
// reader before it returns, so users may index without further checks.

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::container {

namespace {
// Far above any machine, and small enough that sums of rank products of two of
// them cannot leave 128 bits.
constexpr int64_t maxExtent = int64_t(1) << 40;
constexpr size_t maxRank = 16;
constexpr uint32_t maxSemaphores = 256;

template <typename... Args>
llvm::Error malformed(fmt::format_string<Args...> format, Args &&...args) {
  return support::makeErrorFromText(
      ErrorClass::Malformed,
      fmt::vformat(format, fmt::make_format_args(args...)));
}

/// Bytes of a dense tensor.
llvm::Expected<uint64_t> denseBytes(const std::string &name,
                                    llvm::ArrayRef<int64_t> shape,
                                    unsigned elementBytes) {
  if (shape.size() > maxRank)
    return malformed("tensor '{}' has rank {}, at most {} is allowed", name,
                     shape.size(), maxRank);
  unsigned __int128 bytes = elementBytes;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > maxExtent)
      return malformed("tensor '{}' has a dimension of {}", name, extent);
    bytes *= static_cast<uint64_t>(extent);
    if (bytes > static_cast<uint64_t>(INT64_MAX))
      return makeError(ErrorClass::Capacity, "tensor '{}' is too large", name);
  }
  return static_cast<uint64_t>(bytes);
}

llvm::Error checkDram(const std::string &what, uint64_t offset, uint64_t bytes,
                      const Program &program) {
  if (offset > program.dramBytes || bytes > program.dramBytes - offset)
    return malformed("{}: {} bytes at {} lie outside the {} bytes of DRAM "
                     "that the program uses",
                     what, bytes, offset, program.dramBytes);
  return llvm::Error::success();
}

/// Arrays are found by these names.
llvm::Error checkNames(const char *kind,
                       const std::vector<TensorBinding> &list) {
  llvm::StringSet<> seen;
  for (const TensorBinding &binding : list)
    if (!seen.insert(binding.name).second)
      return malformed("{} '{}' is declared twice, expected one of each name",
                       kind, binding.name);
  return llvm::Error::success();
}

/// A data-dependent extent.
llvm::Error checkExtent(const TensorBinding &binding, bool input,
                        const Program &program) {
  if (binding.extentAxis == -1)
    return binding.extentOffset == 0
               ? llvm::Error::success()
               : malformed("tensor '{}' has the address of an extent and no "
                           "axis for it",
                           binding.name);
  if (input)
    return malformed("input '{}' has a data-dependent extent", binding.name);
  if (binding.extentAxis < 0 ||
      static_cast<size_t>(binding.extentAxis) >= binding.shape.size())
    return malformed("output '{}' of rank {} has a data-dependent extent on "
                     "axis {}",
                     binding.name, binding.shape.size(), binding.extentAxis);
  return checkDram("extent of '" + binding.name + "'", binding.extentOffset,
                   sizeof(int64_t), program);
}

/// A kept tensor alone.
llvm::Error checkKept(const KeptTensor &kept, const Program &program) {
  llvm::Expected<uint64_t> bytes =
      denseBytes(kept.name, kept.shape, byteSize(kept.type));
  if (!bytes)
    return bytes.takeError();
  const auto rank = static_cast<int32_t>(kept.shape.size());
  const bool whole = kept.axis == -1 && kept.rows == 0;
  if (!whole && (kept.axis < 0 || kept.axis >= rank || kept.rows < 1 ||
                 kept.rows > kept.shape[static_cast<size_t>(kept.axis)]))
    return malformed("kept tensor '{}' of rank {} gets {} rows on axis {}",
                     kept.name, rank, kept.rows, kept.axis);
  return checkDram("kept tensor '" + kept.name + "'", kept.dramOffset, *bytes,
                   program);
}

/// The cache: names apart from those of the inputs, and a position that is an
/// input of one i64.
llvm::Error checkCache(const Program &program) {
  llvm::StringSet<> names;
  for (const TensorBinding &binding : program.inputs)
    names.insert(binding.name);
  bool grows = false;
  for (const KeptTensor &kept : program.cache.tensors) {
    if (!names.insert(kept.name).second)
      return malformed("kept tensor '{}' has the name of another input",
                       kept.name);
    if (llvm::Error error = checkKept(kept, program))
      return error;
    grows |= kept.axis >= 0;
  }
  if (program.cache.position.empty())
    return llvm::Error::success();
  for (const TensorBinding &binding : program.inputs)
    if (grows && binding.name == program.cache.position &&
        binding.type == support::ElementType::I64 &&
        llvm::equal(binding.shape, llvm::ArrayRef<int64_t>{1}))
      return llvm::Error::success();
  return malformed("the position '{}' of the cache is not an input of one i64",
                   program.cache.position);
}

llvm::Error checkBindings(const Program &program) {
  if (llvm::Error error = checkNames("input", program.inputs))
    return error;
  if (llvm::Error error = checkNames("output", program.outputs))
    return error;
  for (const auto *list : {&program.inputs, &program.outputs})
    for (const TensorBinding &binding : *list) {
      llvm::Expected<uint64_t> bytes =
          denseBytes(binding.name, binding.shape, byteSize(binding.type));
      if (!bytes)
        return bytes.takeError();
      if (llvm::Error error = checkDram("tensor '" + binding.name + "'",
                                        binding.dramOffset, *bytes, program))
        return error;
      if (llvm::Error error =
              checkExtent(binding, list == &program.inputs, program))
        return error;
    }
  if (llvm::Error error = checkCache(program))
    return error;
  return checkDram("state", program.state.dramOffset,
                   2 * program.state.initial.size(), program);
}

llvm::Error checkConstants(const Program &program) {
  uint64_t end = 0;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Segment &segment = program.constants[i];
    if (segment.dramOffset < end)
      return malformed("constant segment {} at {} overlaps or precedes the one "
                       "before, which ends at {}",
                       i, segment.dramOffset, end);
    if (llvm::Error error =
            checkDram(fmt::format("constant segment {}", i), segment.dramOffset,
                      segment.bytes.size(), program))
      return error;
    end = segment.dramOffset + segment.bytes.size();
  }
  return llvm::Error::success();
}

/// Number of instructions, by the length bytes alone.
llvm::Expected<uint64_t> countInstructions(llvm::ArrayRef<uint64_t> code) {
  uint64_t count = 0;
  for (size_t pos = 0; pos < code.size(); ++count) {
    uint64_t length = code[pos] >> 56;
    if (length == 0 || length > code.size() - pos)
      return malformed("word {}: instruction of {} words, the code ends after "
                       "{}",
                       pos, length, code.size() - pos);
    pos += length;
  }
  if (count >= Program::noNode)
    return makeError(ErrorClass::Capacity, "{} instructions are too many",
                     count);
  return count;
}

llvm::Error checkDebugMap(const Program &program, uint64_t count) {
  const auto &map = program.nodeOfInstruction;
  if (!map.empty() && map.size() != count)
    return malformed("debug map has {} entries, the code {} instructions",
                     map.size(), count);
  for (size_t i = 0; i < map.size(); ++i)
    if (map[i] != Program::noNode && map[i] >= program.nodes.size())
      return malformed("instruction {} belongs to node {} of {}", i, map[i],
                       program.nodes.size());
  return llvm::Error::success();
}

/// Smallest and largest value of base + sum over d of i[d] * strides[d],
/// omitting dimension \p skip.
void extremes(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
              int skip, __int128 &low, __int128 &high) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int>(d) == skip)
      continue;
    __int128 reach = static_cast<__int128>(shape[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
}

llvm::Error checkStrides(const TensorPlacement &p,
                         llvm::ArrayRef<int64_t> strides) {
  if (strides.size() != p.shape.size())
    return malformed("tensor '{}' has rank {} and {} strides", p.name,
                     p.shape.size(), strides.size());
  for (int64_t stride : strides)
    if (stride < -maxExtent || stride > maxExtent)
      return malformed("tensor '{}' has a stride of {}", p.name, stride);
  return llvm::Error::success();
}

llvm::Error checkEncoding(const TensorPlacement &p, const Program &program) {
  if (!p.encoded)
    return llvm::Error::success();
  bool knownBlock =
      p.block >= -1 && p.block <= 64 && (p.block <= 0 || p.block % 8 == 0);
  if (p.mantissa < 3 || p.mantissa > 16 || !knownBlock || p.range > 15)
    return malformed("tensor '{}' has the format w={},block={},range={}",
                     p.name, p.mantissa, p.block, p.range);
  if (!p.storesSigns() && (p.mantissa < 4 || p.mantissa > 9))
    return malformed("tensor '{}' stores mantissas of {} bits without signs, "
                     "expected 4 to 9",
                     p.name, p.mantissa);
  if (p.blockAxis < 0 || static_cast<size_t>(p.blockAxis) >= p.shape.size())
    return malformed("tensor '{}' has block axis {} and rank {}", p.name,
                     p.blockAxis, p.shape.size());
  if (p.xr >= program.machine.xr.registers)
    return malformed("tensor '{}' uses register {} of {}", p.name, p.xr,
                     program.machine.xr.registers);
  return llvm::Error::success();
}

llvm::Error checkReach(const TensorPlacement &p, __int128 low, __int128 high,
                       uint64_t limit) {
  if (low >= 0 && high < static_cast<__int128>(limit))
    return llvm::Error::success();
  return malformed("tensor '{}' reaches outside its memory of {} bytes", p.name,
                   limit);
}

llvm::Error checkPlacementSb(const TensorPlacement &p, unsigned bytes,
                             const Program &program) {
  const machine::StateBuffer &sb = program.machine.sb;
  if (p.basePartition >= sb.partitions)
    return malformed("tensor '{}' starts at partition {} of {}", p.name,
                     p.basePartition, sb.partitions);
  if (p.channelAxis < -1 ||
      p.channelAxis >= static_cast<int64_t>(p.shape.size()))
    return malformed("tensor '{}' has channel axis {} and rank {}", p.name,
                     p.channelAxis, p.shape.size());
  if (p.tileStride < -maxExtent || p.tileStride > maxExtent)
    return malformed("tensor '{}' has a tile stride of {}", p.name,
                     p.tileStride);
  int64_t channels = p.channelAxis < 0 ? 1 : p.shape[p.channelAxis];
  std::vector<int64_t> pixels = p.shape;
  if (p.lanes != 1) {
    const auto rank = static_cast<int64_t>(p.shape.size());
    const bool last = p.laneAxis < 0;
    const int64_t axis = last ? rank - 1 : p.laneAxis;
    if (p.lanes == 0 || p.shape.empty() || p.laneAxis < -1 || axis >= rank ||
        p.channelAxis == axis || (!last && p.channelAxis < 0) ||
        p.lanePitch == 0 ||
        (last ? sb.partitions < uint64_t(p.lanes) * p.lanePitch ||
                    (p.channelBlocks() > 1 &&
                     sb.partitions % (uint64_t(p.lanes) * p.lanePitch) != 0)
              : p.channelBlocks() > 1 || p.lanes > p.shape[axis]))
      return malformed(
          "tensor '{}' lies in {} lanes of {} partitions, {} of {}", p.name,
          p.lanes, p.lanePitch, channels, sb.partitions);
    channels = static_cast<int64_t>(p.partitionsSpanned());
    pixels[axis] = (pixels[axis] + p.lanes - 1) / p.lanes;
  }
  uint64_t lastTile = (p.basePartition + channels - 1) / sb.partitions;
  __int128 low = p.baseOffset, high = low + bytes - 1;
  __int128 reach = static_cast<__int128>(lastTile) * p.tileStride;
  (reach < 0 ? low : high) += reach;
  extremes(pixels, p.strides, p.channelAxis, low, high);
  return checkReach(p, low, high, sb.bytesPerPartition);
}

/// Cells are contiguous.
llvm::Error checkCells(const TensorPlacement &p, unsigned bytes,
                       const Program &program) {
  const size_t rank = p.shape.size();
  if ((rank != 3 && rank != 4) || bytes > 4 || p.cellChannels == 0 ||
      p.cellBytes == 0 || p.cellBytes > p.cellPitch ||
      p.cellPitch > program.dramBytes)
    return malformed("tensor '{}' of rank {} with elements of {} bytes lies in "
                     "cells of {} channels and {} bytes, {} bytes apart",
                     p.name, rank, bytes, p.cellChannels, p.cellBytes,
                     p.cellPitch);
  const __int128 low = p.baseOffset, cells = p.cells();
  return checkReach(p, low, low + (cells - 1) * p.cellPitch + p.cellBytes - 1,
                    program.dramBytes);
}

llvm::Error checkPlacementDram(const TensorPlacement &p, unsigned bytes,
                               const Program &program) {
  __int128 low = p.baseOffset, high = low + bytes - 1;
  extremes(p.shape, p.strides, -1, low, high);
  if (llvm::Error error = p.cellPitch
                              ? checkCells(p, bytes, program)
                              : checkReach(p, low, high, program.dramBytes))
    return error;
  if (!p.encoded)
    return llvm::Error::success();
  if (llvm::Error error = checkStrides(p, p.exponentStrides))
    return error;
  low = high = p.exponentBase;
  std::vector<int64_t> cells = p.shape;
  if (p.blockAxis >= 0 && static_cast<size_t>(p.blockAxis) < cells.size())
    cells[p.blockAxis] = llvm::divideCeil(
        cells[p.blockAxis], static_cast<int64_t>(program.machine.xmGroup));
  extremes(cells, p.exponentStrides, -1, low, high);
  return checkReach(p, low, high, program.dramBytes);
}

llvm::Error checkPlacement(const TensorPlacement &p, uint64_t count,
                           const Program &program) {
  unsigned bytes = p.elementBytes();
  llvm::Expected<uint64_t> dense = denseBytes(p.name, p.shape, bytes);
  if (!dense)
    return dense.takeError();
  if (p.afterInstruction >= count)
    return malformed("tensor '{}' is complete after instruction {} of {}",
                     p.name, p.afterInstruction, count);
  if (llvm::Error error = checkEncoding(p, program))
    return error;
  if (llvm::Error error = checkStrides(p, p.strides))
    return error;
  if (p.cellPitch && p.memory != PlacementMemory::Dram)
    return malformed("tensor '{}' has cells outside DRAM", p.name);
  if (*dense == 0)
    return llvm::Error::success();
  return p.memory == PlacementMemory::Sb
             ? checkPlacementSb(p, bytes, program)
             : checkPlacementDram(p, bytes, program);
}
} // namespace

/// Extent of the axis that lies across partitions.
static uint64_t channelsOf(const TensorPlacement &placement) {
  return placement.channelAxis < 0
             ? 1
             : static_cast<uint64_t>(std::max<int64_t>(
                   placement.shape[placement.channelAxis], 1));
}

uint64_t TensorPlacement::channelBlocks() const {
  return lanes == 1 ? 1 : (channelsOf(*this) + lanePitch - 1) / lanePitch;
}

uint64_t TensorPlacement::partitionOf(uint64_t channel) const {
  if (lanes == 1)
    return channel;
  return channel / lanePitch * lanes * lanePitch + channel % lanePitch;
}

uint64_t TensorPlacement::partitionsSpanned() const {
  return partitionOf(channelsOf(*this) - 1) + uint64_t(lanes - 1) * lanePitch +
         1;
}

int64_t TensorPlacement::cells() const {
  return shape[0] * llvm::divideCeil(shape[1], int64_t(cellChannels)) *
         (shape.size() == 4 ? shape[2] : int64_t(1));
}

llvm::Error check(const Program &program) {
  if (llvm::Error error = program.machine.validate())
    return error;
  if (program.dramBytes > program.machine.dram.bytes)
    return makeError(ErrorClass::Capacity,
                     "program uses {} bytes of DRAM, the machine has {}",
                     program.dramBytes, program.machine.dram.bytes);
  if (program.semaphores > maxSemaphores)
    return malformed("program uses {} semaphores, at most {} exist",
                     program.semaphores, maxSemaphores);
  if (llvm::Error error = checkBindings(program))
    return error;
  if (llvm::Error error = checkConstants(program))
    return error;
  llvm::Expected<uint64_t> count = countInstructions(program.code);
  if (!count)
    return count.takeError();
  if (llvm::Error error = checkDebugMap(program, *count))
    return error;
  for (const TensorPlacement &placement : program.dumps)
    if (llvm::Error error = checkPlacement(placement, *count, program))
      return error;
  return llvm::Error::success();
}

} // namespace ashlar::container
