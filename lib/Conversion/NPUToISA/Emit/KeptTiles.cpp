// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that stay in the sparse cluster: the tiles of the next convolution
// are opened before anything of this one drains.

#include "KeptTiles.h"

#include "TileTables.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/KeptMaps.h"
#include "ashlar/Support/Error.h"
#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::shapeOf;
using analysis::storageOf;

/// The only tile of a convolution in the state buffer, as its emitter will see
/// it.
static TileContext wholeTile(Generator &generator, npu::TcuConvOp conv,
                             const analysis::TilingModel &model) {
  TileContext tile;
  tile.op = conv;
  tile.model = &model;
  tile.out = Region::whole(shapeOf(conv.getY()));
  for (auto [operand, value] : llvm::zip(model.operands, conv->getOperands())) {
    tile.operandRegions.push_back(Region::whole(shapeOf(value)));
    tile.operands.push_back(operand.streamed ? View()
                                             : generator.allocationOf(value));
  }
  tile.result = generator.allocations.lookup(conv.getY());
  return tile;
}

llvm::Error openKeptTiles(Generator &generator, Operation *op, unsigned set) {
  npu::TcuConvOp reader = analysis::keptReader(op);
  auto next = generator.tileProgram(reader);
  if (!next)
    return next.takeError();
  const TileProgram &program = **next;
  if (program.waves.empty() || program.waves.front().chunks.size() != 1)
    return makeError(ErrorClass::Internal,
                     "node '{}' finds its operand in the feature-map units and "
                     "takes it in several parts",
                     analysis::getNodeName(reader.getLoc()));
  const analysis::TilingModel model =
      analysis::buildTilingModel(reader, generator.machine);
  const TileContext tile = wholeTile(generator, reader, model);
  auto geometry = ProductGeometry::of(generator, tile);
  if (!geometry)
    return geometry.takeError();
  const LoadedMap map{tile, *geometry, program.problem, generator.machine};
  TileTables tables(generator, map, program);
  const WaveStreams &wave = program.waves.front();
  const int64_t copies = wave.wave.count;
  const analysis::StorageType x = storageOf(reader.getX());
  const analysis::TilePlan &plan = program.plan;
  isa::DmaTile open{};
  open.drained = true;
  open.queue = generator.builder.nextMovementQueue();
  open.table = tables.of(0, copies);
  open.set = set;
  open.type = static_cast<isa::ElemType>(x.isaType());
  open.mantissa = x.encoded ? x.format.mantissa : 0;
  open.block = plan.cellBlock;
  map.setOperand(open);
  open.images = plan.images;
  open.tileH = plan.rows, open.tileW = plan.cols;
  open.inN = geometry->extent[0];
  open.channels = wave.chunks.front().chunk.count;
  open.groups = copies;
  open.groupStep = wave.wave.groupStep;
  const auto slotBytes = static_cast<int64_t>(
      plan.geometry(program.problem).slotElements() * x.bytes());
  open.exponents = x.encoded ? open.channels * slotBytes : 0;
  generator.builder.emit(open);
  return llvm::Error::success();
}

void keepDrained(Operation *op, unsigned set, int64_t firstOutput,
                 isa::ActDrain &drain) {
  drain.kept = true;
  drain.set = set;
  drain.slot = firstOutput;
  if (!analysis::isUnstored(op))
    return;
  drain.unstored = true;
  drain.dstPart = drain.dstOffset = 0;
  drain.dstStride0 = drain.dstStride1 = drain.dstStride2 = 0;
}

} // namespace ashlar::codegen
