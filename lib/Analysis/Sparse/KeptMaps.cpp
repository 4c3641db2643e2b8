// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which results of convolutions can stay in the feature-map units.

#include "ashlar/Analysis/Sparse/KeptMaps.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/BFP/EncodeEvents.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

npu::TcuConvOp keptReader(Operation *op) {
  if (!mlir::isa<npu::TcuConvOp>(op))
    return {};
  for (OpOperand &use : op->getResult(0).getUses())
    if (auto reader = dyn_cast<npu::TcuConvOp>(use.getOwner());
        reader && use.getOperandNumber() == 0 && reader.getKeptAttr())
      return reader;
  return {};
}

bool isUnstored(Operation *op) {
  npu::TcuConvOp reader = keptReader(op);
  return reader && !reader.getKeptAttr().getStored();
}

bool needsNoCopy(npu::TcuConvOp reader) {
  Operation *producer = reader.getX().getDefiningOp();
  // Policies with a state sample the stored result.
  return producer && reader.getX().hasOneUse() &&
         !bfp::getScalePolicy(producer).isStateful();
}

/// The result is one tile of the state buffer.
static bool isWhole(npu::TcuConvOp conv) {
  npu::TilingAttr tiling = conv.getTilingAttr();
  return tiling && tiling.getTile() &&
         llvm::equal(tiling.getTile().asArrayRef(), shapeOf(conv.getY()));
}

/// Cuts at run time, or tiles of the operand, that were asked for.
static bool cutsByRequest(npu::TcuConvOp conv) {
  npu::ScatterAttr scatter = conv.getScatterAttr();
  if (!scatter)
    return false;
  auto time = partition::parseCutTime(scatter.getTime().getValue());
  auto halo = partition::parseHaloMode(scatter.getHalo().getValue());
  // The attribute's verifier has read both.
  return partition::isForced(llvm::cantFail(std::move(time))) ||
         llvm::cantFail(std::move(halo)) == partition::HaloMode::Disjoint;
}

std::string keepObstacle(npu::TcuConvOp producer, npu::TcuConvOp reader,
                         const machine::Description &machine) {
  if (reader.getX() != producer.getY())
    return "its operand comes from elsewhere";
  if (machine.sparse.fmuSets < 2)
    return "the machine has one buffer set";
  if (npu::poolingOf(producer) || npu::poolingOf(reader))
    return "a drain pools";
  if (cutsByRequest(producer) || cutsByRequest(reader))
    return "cuts of its tiles were asked for";
  npu::MemoryAttr memory = producer.getMemoryAttr();
  if (!isWhole(producer) || !isWhole(reader))
    return "a result is made in several tiles of the state buffer";
  if (!memory || !memory.inStateBuffer() || memory.getPart())
    return "the map is in DRAM or a part of another one";
  if (shapeOf(reader.getW()).size() > 4 || shapeOf(producer.getW()).size() > 4)
    return "a kernel has depth";
  const TilingModel writes = buildTilingModel(producer, machine);
  const TilingModel model = buildTilingModel(reader, machine);
  const OperandModel &reads = model.operands[0];
  if (!writes.scratch(Region::whole(shapeOf(producer.getY()))).empty())
    return "the drain does not encode the result";
  if (reads.streamed || reads.direct || reads.padded ||
      reads.axis != writes.resultAxis || !(reads.lanes == writes.homeLanes) ||
      !(writes.lanes == writes.homeLanes))
    return "the reader takes the map in another layout";
  return "";
}

TileProblem plannedProblem(npu::TcuConvOp conv,
                           const machine::Description &machine) {
  auto tile = conv.getTilingAttr().getTile().asArrayRef();
  Shape extent{tile[0]};
  extent.append(tile.begin() + 2, tile.end());
  return tileProblem(conv, tilePattern(conv, machine), extent, machine);
}

int64_t keptPortCycles(const TileProblem &problem, const TilePlan &plan,
                       const machine::Description &machine) {
  if (machine.sparse.fmuWriteBytes == 0 || problem.columns.empty())
    return 0;
  const int64_t channels = channelsOf(problem, 0).count;
  ColumnWave wave;
  return llvm::divideCeilSigned(
      chunkBytes(problem, plan, wave, {0, channels},
                 static_cast<int64_t>(plan.geometry(problem).slotElements())),
      static_cast<int64_t>(machine.sparse.fmuWriteBytes));
}

} // namespace ashlar::analysis
