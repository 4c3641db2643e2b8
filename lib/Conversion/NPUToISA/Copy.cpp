// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors of the copies that lib/Analysis orders and cuts: what does not
// fit the five loops of one is taken apart here.

#include "Copy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::codegen {

using analysis::CopyNest;

namespace {

/// The descriptors of one nest.
class NestEmitter {
public:
  NestEmitter(ProgramBuilder &builder, const CopyNest &nest, uint64_t bits)
      : builder(builder), nest(nest), bits(bits) {}

  void run();

private:
  void emitLoops(const machine::Transfer &transfer);
  void emitParts(size_t cut, int64_t chunk, const machine::Transfer &transfer);
  void emitDescriptor(const machine::Transfer &transfer);

  ProgramBuilder &builder;
  const CopyNest &nest;
  uint64_t bits; ///< of a fill
};

/// The fill of what `copy` writes.
isa::DmaFill fillOf(const isa::DmaCopy &copy, uint64_t bits) {
  isa::DmaFill fill{};
  fill.queue = copy.queue;
  fill.elemBytes = copy.elemBytes;
  fill.dstMem = copy.dstMem;
  fill.dstBase = copy.dstBase;
  fill.n0 = copy.n0, fill.n1 = copy.n1, fill.n2 = copy.n2, fill.n3 = copy.n3,
  fill.n4 = copy.n4;
  fill.dstStride0 = copy.dstStride0, fill.dstStride1 = copy.dstStride1,
  fill.dstStride2 = copy.dstStride2, fill.dstStride3 = copy.dstStride3,
  fill.dstStride4 = copy.dstStride4;
  fill.value = bits;
  return fill;
}

/// Cuts a copy into its parts along one of its loops.
void NestEmitter::run() {
  if (!nest.isCut())
    return emitLoops(nest.transfer);
  const ProgramBuilder::OneQueue store(builder, nest.inOneQueue);
  const int64_t extent = nest.transfer.loops[nest.cut].extent;
  emitParts(nest.cut, llvm::divideCeil(extent, nest.parts), nest.transfer);
}

/// Parts of at most `chunk` iterations of loop `cut`, one after the other.
void NestEmitter::emitParts(size_t cut, int64_t chunk,
                            const machine::Transfer &transfer) {
  const machine::TransferLoop &loop = transfer.loops[cut];
  for (int64_t i = 0; i < loop.extent && !builder.full(); i += chunk) {
    machine::Transfer part = transfer;
    for (int s : {0, 1})
      part.sides[s].base += i * loop.stride[s];
    part.loops[cut].extent = std::min(chunk, loop.extent - i);
    if (part.loops[cut].extent == 1)
      part.loops.erase(part.loops.begin() + static_cast<ptrdiff_t>(cut));
    emitLoops(part);
  }
}

/// Loops that a descriptor cannot hold are taken apart here, for every copy and
/// fill: those beyond its five, and those of more iterations than a field
/// counts.
void NestEmitter::emitLoops(const machine::Transfer &transfer) {
  const machine::TransferLoops &loops = transfer.loops;
  const size_t rank = loops.size();
  if (const auto *loop = llvm::find_if(
          loops,
          [](const machine::TransferLoop &l) { return l.extent > kMostCount; });
      loop != loops.end())
    return emitParts(loop - loops.begin(), kMostCount, transfer);
  if (rank > machine::transferDims)
    return emitParts(0, 1, transfer);
  emitDescriptor(transfer);
}

void NestEmitter::emitDescriptor(const machine::Transfer &transfer) {
  const machine::TransferLoops &loops = transfer.loops;
  const size_t rank = loops.size();
  int64_t n[5] = {1, 1, 1, 1, 1}, from[5] = {}, to[5] = {};
  for (size_t i = 0; i < rank; ++i) {
    n[5 - rank + i] = loops[i].extent;
    from[5 - rank + i] = loops[i].stride[0];
    to[5 - rank + i] = loops[i].stride[1];
  }
  isa::DmaCopy copy{};
  copy.queue = builder.nextMovementQueue(builder.costs.of(transfer).issue);
  copy.elemBytes = static_cast<uint32_t>(transfer.elementBytes);
  copy.srcMem = nest.memory[0];
  copy.dstMem = nest.memory[1];
  copy.srcBase = transfer.sides[0].base;
  copy.dstBase = transfer.sides[1].base;
  copy.n0 = n[0], copy.n1 = n[1], copy.n2 = n[2], copy.n3 = n[3],
  copy.n4 = n[4];
  copy.srcStride0 = from[0], copy.srcStride1 = from[1],
  copy.srcStride2 = from[2], copy.srcStride3 = from[3],
  copy.srcStride4 = from[4];
  copy.dstStride0 = to[0], copy.dstStride1 = to[1], copy.dstStride2 = to[2],
  copy.dstStride3 = to[3], copy.dstStride4 = to[4];
  if (nest.fills)
    builder.emit(fillOf(copy, bits));
  else
    builder.emit(copy);
}

} // namespace

/// Emits what a walk visits, until the program is full.
static auto emitter(ProgramBuilder &builder, uint64_t bits = 0) {
  return [&builder, bits](const CopyNest &nest) {
    NestEmitter(builder, nest, bits).run();
    return !builder.full();
  };
}

void emitPattern(ProgramBuilder &builder, const View &source,
                 const View &result, const npu::AccessPattern &pattern) {
  analysis::forEachCopy(source, result, pattern, builder.costs,
                        emitter(builder));
}

void emitExponents(ProgramBuilder &builder, const View &source,
                   const View &result) {
  analysis::forEachCellCopy(source, result,
                            analysis::identityPattern(result.shape),
                            builder.costs, emitter(builder));
}

void emitCopy(ProgramBuilder &builder, const View &source, const View &result) {
  emitPattern(builder, source, result, analysis::identityPattern(result.shape));
}

void emitRelaid(ProgramBuilder &builder, const FoldedMap &source,
                const FoldedMap &result, llvm::ArrayRef<int64_t> size) {
  analysis::forEachRelaid(source, result, size, builder.costs,
                          emitter(builder));
}

void emitFill(ProgramBuilder &builder, const View &view, uint64_t bits) {
  analysis::forEachFill(view, /*cells=*/false, builder.costs,
                        emitter(builder, bits));
  if (view.type.encoded)
    analysis::forEachFill(view, /*cells=*/true, builder.costs,
                          emitter(builder, 0x80));
}

} // namespace ashlar::codegen
