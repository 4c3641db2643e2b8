// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the vector unit does for drains that leave it their function.

#include "SharedDrains.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Tiles/SharedScratch.h"
#include "ashlar/Support/Error.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace mlir;

namespace ashlar::codegen {

/// Bytes of a binary32 value.
static constexpr int64_t kBytes = 4;

/// Positions of the ring of a product that shares its function, or 0.
static int64_t capacityOf(const Generator &generator, const TileContext &tile) {
  return npu::vectorShareOf(tile.op) > 0
             ? analysis::sharedCapacity(tile.op, generator.machine)
             : 0;
}

SharedDrains::SharedDrains(Generator &generator, const TileContext &tile,
                           int64_t lanes)
    : generator(generator), tile(tile), lanes(lanes),
      share(npu::vectorShareOf(tile.op)), ring(capacityOf(generator, tile) > 0),
      dealt(share, capacityOf(generator, tile)) {}

void SharedDrains::beginPiece(const partition::Window &piece) {
  rowPositions = llvm::divideCeilSigned(piece.size[3], lanes);
  slot = dealt.next(piece.positions(), partition::slotOf(piece, lanes));
}

void SharedDrains::leave(isa::ActDrain &drain,
                         const analysis::StorageType &type) {
  isa::VecMap map{};
  map.op = drain.function;
  map.alpha = drain.alpha, map.beta = drain.beta;
  map.channels = drain.cols;
  map.n0 = drain.n0, map.n1 = drain.n1, map.n2 = drain.n2;
  map.dstType = static_cast<isa::ElemType>(type.isaType());
  if (type.encoded) {
    map.dstMantissa = type.format.mantissa;
    map.dstBlock = std::max(type.format.block, 0);
  }
  map.dstPart = drain.dstPart, map.dstOffset = drain.dstOffset;
  map.dstStride0 = drain.dstStride0, map.dstStride1 = drain.dstStride1,
  map.dstStride2 = drain.dstStride2;
  drain.function = isa::Function::Copy;
  drain.alpha = drain.beta = 0;
  drain.dstType = isa::ElemType::F32;
  drain.dstOffset =
      static_cast<uint32_t>(tile.scratch[0].base + (first + *slot) * kBytes);
  drain.dstStride2 = kBytes;
  drain.dstStride1 = static_cast<int32_t>(rowPositions * kBytes);
  drain.dstStride0 = static_cast<int32_t>(drain.n1 * rowPositions * kBytes);
  map.aType = isa::ElemType::F32;
  map.aPart = drain.dstPart, map.aOffset = drain.dstOffset;
  map.aStride0 = drain.dstStride0, map.aStride1 = drain.dstStride1,
  map.aStride2 = drain.dstStride2;
  maps.push_back(map);
}

/// What two instructions have in common if one can have the channels of both.
static auto placeOf(const isa::VecMap &map) {
  return std::tie(map.aOffset, map.dstOffset, map.n0, map.n1, map.n2);
}

/// Channels of `b` are blocks that follow those of `a`.
static bool continues(const isa::VecMap &a, const isa::VecMap &b) {
  return placeOf(a) == placeOf(b) && a.dstPart + a.channels == b.dstPart &&
         (a.dstBlock == 0 || a.channels % a.dstBlock == 0) &&
         (a.dstType != isa::ElemType::Bfp || a.dstBlock > 0);
}

llvm::Error SharedDrains::endChannelTile() {
  finish();
  if (ring || !active())
    return llvm::Error::success();
  const int64_t room = tile.scratch[0].shape[1], used = dealt.used();
  if (used > room)
    return makeError(ErrorClass::Internal,
                     "node '{}' leaves {} positions to the vector unit, "
                     "memory was planned for {}",
                     analysis::getNodeName(tile.op->getLoc()), used, room);
  first = first == 0 && 2 * used <= room ? used : 0;
  return llvm::Error::success();
}

void SharedDrains::finish() {
  llvm::sort(maps, [](const isa::VecMap &a, const isa::VecMap &b) {
    return std::make_pair(placeOf(a), a.dstPart) <
           std::make_pair(placeOf(b), b.dstPart);
  });
  for (size_t i = 0; i < maps.size();) {
    isa::VecMap map = maps[i];
    for (++i; i < maps.size() && continues(map, maps[i]); ++i)
      map.channels += maps[i].channels;
    if (map.dstType == isa::ElemType::Bfp)
      generator.resultScale(tile.op).set(map);
    generator.builder.emit(map);
  }
  maps.clear();
}

} // namespace ashlar::codegen
