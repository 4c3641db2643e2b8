// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merging and cutting of vector loops.

#include "ashlar/Analysis/Cost/VectorLoops.h"

#include "ashlar/Machine/Transfers.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::analysis {
namespace {

/// A free axis of the result with the stride of every operand.
struct FreeDim {
  int64_t extent;
  llvm::SmallVector<int64_t, 3> strides;
};

/// Axis of `view` that aligns with axis `axis` of a result of `rank`; -1 if
/// the view has fewer axes.
int64_t alignedAxis(const View &view, int64_t axis, int64_t rank) {
  return axis - (rank - view.rank());
}

/// Bytes per step along a result axis; 0 where the operand broadcasts.
int64_t strideOf(const View &view, int64_t axis, int64_t rank) {
  int64_t own = alignedAxis(view, axis, rank);
  return own < 0 || view.shape[own] == 1 ? 0 : view.strides[own];
}

llvm::SmallVector<FreeDim, 6> freeDims(llvm::ArrayRef<VectorOperand> operands,
                                       const View &result) {
  llvm::SmallVector<FreeDim, 6> dims;
  for (int64_t axis = 0; axis < result.rank(); ++axis) {
    if (axis == result.axis || result.shape[axis] == 1)
      continue;
    FreeDim dim{result.shape[axis], {}};
    for (const VectorOperand &operand : operands)
      dim.strides.push_back(strideOf(*operand.view, axis, result.rank()));
    bool merges = !dims.empty() &&
                  dims.back().extent * dim.extent <= machine::mostIterations;
    for (size_t i = 0; merges && i < operands.size(); ++i)
      merges = dims.back().strides[i] == dim.strides[i] * dim.extent;
    if (merges)
      dim.extent *= dims.back().extent, dims.pop_back();
    dims.push_back(std::move(dim));
  }
  return dims;
}

/// Positions of a channel tile from which on it is an instruction of its own:
/// its producer and its readers need not wait for the other tiles then, and an
/// instruction is fetched in a fraction of the cycles that it takes.
constexpr int64_t kOwnTile = 64;

/// True if what one instruction encodes or decodes may end with a channel tile:
/// the channels of a block have one exponent, which is found of all at once.
bool blocksEndWithTiles(llvm::ArrayRef<VectorOperand> operands,
                        int64_t partitions) {
  return llvm::all_of(operands, [&](const VectorOperand &operand) {
    const StorageType &type = operand.view->type;
    return !type.encoded ||
           (type.format.block > 0 && partitions % type.format.block == 0);
  });
}

/// Channels [first, first + count) that no operand wraps in mid-range: either
/// all operands start a channel tile at `first`, or none reaches its end. Whole
/// tiles of so many \p positions are runs of their own.
int64_t channelRun(llvm::ArrayRef<VectorOperand> operands, int64_t channels,
                   int64_t first, int64_t partitions, int64_t positions) {
  bool aligned = true;
  int64_t room = channels - first;
  for (const VectorOperand &operand : operands) {
    const View &view = *operand.view;
    if (view.channels() == 1 && channels > 1)
      continue;
    int64_t row = (view.part + first) % partitions;
    aligned &= row == 0;
    room = std::min(room, partitions - row);
  }
  if (aligned && positions >= kOwnTile &&
      blocksEndWithTiles(operands, partitions))
    return std::min(channels - first, partitions);
  // Whole channel tiles, as many as a field counts.
  if (aligned && channels - first > machine::mostIterations)
    return machine::mostIterations / partitions * partitions;
  return aligned ? channels - first : room;
}

VectorAddress channelAddress(const View &view, int64_t first, int64_t channels,
                             int64_t partitions) {
  VectorAddress address;
  address.broadcast = view.channels() == 1 && channels > 1;
  int64_t position = view.part + (address.broadcast ? 0 : first);
  address.part = position % partitions;
  address.offset = view.base + position / partitions * view.tileStride;
  address.tileStride = view.tileStride;
  return address;
}

bool runDims(llvm::ArrayRef<FreeDim> dims, VectorLoop loop, unsigned maxDims,
             VectorVisitor visit);

/// Runs dimension `cut` in parts of `chunk` iterations.
bool runParts(llvm::ArrayRef<FreeDim> dims, size_t cut, int64_t chunk,
              VectorLoop loop, unsigned maxDims, VectorVisitor visit) {
  for (int64_t i = 0; i < dims[cut].extent; i += chunk) {
    llvm::SmallVector<FreeDim, 6> part(dims);
    part[cut].extent = std::min(chunk, dims[cut].extent - i);
    if (part[cut].extent == 1)
      part.erase(part.begin() + static_cast<ptrdiff_t>(cut));
    if (!runDims(part, loop, maxDims, visit))
      return false;
    for (auto [address, stride] : llvm::zip(loop.addresses, dims[cut].strides))
      address.offset += chunk * stride;
  }
  return true;
}

/// Runs what an instruction cannot hold, loops beyond `maxDims` and longer ones
/// than a field counts, and visits the rest.
bool runDims(llvm::ArrayRef<FreeDim> dims, VectorLoop loop, unsigned maxDims,
             VectorVisitor visit) {
  if (const auto *dim = llvm::find_if(dims,
                                      [](const FreeDim &dim) {
                                        return dim.extent >
                                               machine::mostIterations;
                                      });
      dim != dims.end())
    return runParts(dims, dim - dims.begin(), machine::mostIterations,
                    std::move(loop), maxDims, visit);
  if (dims.size() > maxDims)
    return runParts(dims, 0, 1, std::move(loop), maxDims, visit);
  size_t missing = maxDims - dims.size();
  loop.count.assign(missing, 1);
  for (auto [i, address] : llvm::enumerate(loop.addresses)) {
    address.stride.assign(missing, 0);
    for (const FreeDim &dim : dims)
      address.stride.push_back(dim.strides[i]);
  }
  for (const FreeDim &dim : dims)
    loop.count.push_back(dim.extent);
  return visit(loop);
}

} // namespace

bool walkVectorLoops(llvm::ArrayRef<VectorOperand> operands, const View &result,
                     const machine::Description &machine, unsigned maxDims,
                     VectorVisitor visit) {
  auto dims = freeDims(operands, result);
  int64_t partitions = machine.sb.partitions;
  int64_t channels = result.channels(), positions = 1;
  for (const FreeDim &dim : dims)
    positions *= dim.extent;
  for (int64_t first = 0; first < channels;) {
    VectorLoop loop;
    loop.channels =
        channelRun(operands, channels, first, partitions, positions);
    for (const VectorOperand &operand : operands)
      loop.addresses.push_back(
          channelAddress(*operand.view, first, channels, partitions));
    const int64_t run = loop.channels;
    if (!runDims(dims, std::move(loop), maxDims, visit))
      return false;
    first += run;
  }
  return true;
}

} // namespace ashlar::analysis
