// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of every instruction as they are streamed.

#include "SbStreams.h"

namespace ashlar::isa {

static machine::PortPattern patternOf(int64_t base, unsigned bytes,
                                      const Dims &dims) {
  machine::PortPattern pattern;
  pattern.base = base;
  pattern.elementBytes = bytes;
  for (const AccessDim &dim : dims)
    pattern.add(dim.count, dim.stride);
  return pattern;
}

void StreamCollector::stream(uint64_t begin, uint64_t end, int64_t base,
                             unsigned bytes, const Dims &dims, uint64_t reach) {
  SbStream stream;
  stream.pattern = patternOf(base, bytes, dims);
  stream.pattern.reach = reach;
  stream.partBegin = static_cast<uint32_t>(begin);
  stream.partEnd = static_cast<uint32_t>(end);
  out.push_back(std::move(stream));
}

void StreamCollector::tensor(const TensorOperand &o) {
  // Data may choose any element along the axis.
  const int64_t last = static_cast<int64_t>(o.axis.count - 1) * o.axis.stride;
  const int64_t base =
      static_cast<int64_t>(o.offset) + std::min<int64_t>(0, last);
  const auto reach = static_cast<uint64_t>(last < 0 ? -last : last);
  const uint64_t partitions = machine.sb.partitions;
  const uint64_t end = o.part + o.ownChannels();
  auto tiles = [&](uint64_t begin, uint64_t rowsEnd, uint64_t tile,
                   uint64_t count) {
    Dims all = {{count, o.tileStride}};
    all.append(o.loops.begin(), o.loops.end());
    stream(begin, rowsEnd, base + static_cast<int64_t>(tile) * o.tileStride,
           o.bytes(), all, reach);
  };
  if (end <= partitions)
    return tiles(o.part, end, 0, 1);
  // First tile from `part`, whole tiles, and the rest of the last one.
  tiles(o.part, partitions, 0, 1);
  const uint64_t whole = end / partitions;
  if (whole > 1)
    tiles(0, partitions, 1, whole - 1);
  if (end % partitions)
    tiles(0, end % partitions, whole, 1);
}

void StreamCollector::linear(const LinearOperand &o) {
  if (o.mem != Memory::Sb)
    return;
  SbStream stream;
  stream.pattern = patternOf(static_cast<int64_t>(o.base), o.bytes, o.loops);
  stream.linear = true;
  out.push_back(std::move(stream));
}

void StreamCollector::tiles(const DmaTile &, const TensorOperand &o) {
  TensorOperand source = o;
  const uint64_t partitions = machine.sb.partitions;
  source.part = static_cast<uint32_t>(o.part % partitions);
  source.offset += o.part / partitions * static_cast<uint64_t>(o.tileStride);
  tensor(source);
}

void sbStreams(const Instruction &inst, const machine::Description &machine,
               llvm::SmallVectorImpl<SbStream> &out) {
  StreamCollector collector(machine, out);
  std::visit([&](const auto &x) { visitOperands(x, collector); }, inst);
}

} // namespace ashlar::isa
