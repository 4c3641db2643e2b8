// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers of tiles. Padding makes tiles differ: what is clipped at one border
// is not at another, and the largest tile may be any of them.

#include "ashlar/Analysis/Tiles/TileBuffers.h"

#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

/// Tiles that are looked at for the largest operand at most; where more would
/// be needed, what the whole result reads is an upper bound.
static constexpr int64_t kMostProbes = 4096;

std::string TileBuffer::name() const {
  if (role == Role::Result)
    return "the result";
  return (role == Role::Operand ? "operand " : "scratch buffer ") +
         std::to_string(index);
}

Residents::Residents(ModuleOp module, const machine::Description &machine) {
  auto area = module->getAttrOfType<npu::RegionAttr>(npu::kConstantsAttr);
  if (!area)
    return;
  for (const ResidentConstant &constant :
       residentConstants(module, machine, area.getBegin(), area.getBytes()))
    constants.insert({constant.value, constant.axis});
}

bool Residents::holds(Value value, int64_t axis, const Lanes &lanes) const {
  if (!lanes.folded() && constants.contains({value, axis}))
    return true;
  Operation *def = value.getDefiningOp();
  return npu::isResident(def) && npu::axisOf(def) == axis &&
         lanesOf(def) == lanes;
}

Staging Residents::stagingOf(Operation *op, const TilingModel &model) const {
  Staging staging;
  for (auto [value, operand] : llvm::zip(op->getOperands(), model.operands))
    staging.operands.push_back(
        !operand.streamed && !operand.direct &&
        (operand.padded || !holds(value, operand.axis, operand.lanes)));
  staging.result = !model.directResult &&
                   !holds(op->getResult(0), model.resultAxis, model.lanes);
  return staging;
}

llvm::SmallVector<TileBuffer, 6>
tileBuffers(Operation *op, const TilingModel &model, const Staging &staging,
            const Region &out, int64_t base,
            const machine::Description &machine) {
  llvm::SmallVector<TileBuffer, 6> buffers;
  auto add = [&](TileBuffer::Role role, unsigned index, Region region,
                 const StorageType &type, const Shape &shape, int64_t axis) {
    TileBuffer buffer;
    buffer.role = role;
    buffer.index = index;
    buffer.region = std::move(region);
    buffer.view = denseBufferView(type, shape, axis, base, machine);
    buffer.bytes = llvm::alignTo(bufferBytes(type, shape, axis, machine), 64);
    base += buffer.bytes;
    buffers.push_back(std::move(buffer));
  };
  for (auto [i, operand] : llvm::enumerate(model.operands)) {
    if (!staging.operands[i])
      continue;
    Region region = operand.region(out);
    add(TileBuffer::Role::Operand, i, region, storageOf(op->getOperand(i)),
        storedShape(region.size, operand.lanes), operand.axis);
  }
  if (staging.result)
    add(TileBuffer::Role::Result, 0, out, model.resultType,
        storedShape(out.size, model.lanes), model.resultAxis);
  for (auto [i, buffer] : llvm::enumerate(model.scratch(out)))
    add(TileBuffer::Role::Scratch, i, {}, buffer.type, buffer.shape,
        buffer.axis);
  return buffers;
}

/// Starts along one axis, in steps of `size`, of the tiles that may read the
/// most: the first, the second or a full one at the end, and those around the
/// places where the operand or one of its parts begins or ends.
static llvm::SmallVector<int64_t, 8> probesOf(llvm::ArrayRef<int64_t> edges,
                                              int64_t extent, int64_t size) {
  llvm::SmallVector<int64_t, 8> starts{0};
  if (size >= extent || size <= 0)
    return starts;
  starts.push_back(std::min(size, extent - size));
  for (int64_t edge : edges)
    for (int64_t at : {edge / size - 1, edge / size, edge / size + 1})
      if (at > 0 && at * size < extent)
        starts.push_back(at * size);
  llvm::sort(starts);
  starts.erase(llvm::unique(starts), starts.end());
  return starts;
}

/// Extents along every axis of an operand that no tile exceeds.
static Shape largestRegion(const OperandModel &operand,
                           llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> extents) {
  const size_t rank = shape.size();
  llvm::SmallVector<llvm::SmallVector<int64_t, 8>, 6> starts;
  int64_t probes = 1;
  for (size_t axis = 0; axis < rank && probes <= kMostProbes; ++axis) {
    llvm::ArrayRef<int64_t> edges;
    if (axis < operand.edges.size())
      edges = operand.edges[axis];
    starts.push_back(probesOf(edges, shape[axis], extents[axis]));
    probes *= static_cast<int64_t>(starts.back().size());
  }
  if (probes > kMostProbes)
    return operand.region(Region::whole(shape)).size;
  Shape largest;
  for (int64_t probe = 0; probe < probes; ++probe) {
    Region out{Shape(rank, 0), Shape(extents)};
    int64_t rest = probe;
    for (size_t axis = 0; axis < rank; ++axis) {
      const auto count = static_cast<int64_t>(starts[axis].size());
      out.start[axis] = starts[axis][rest % count];
      out.size[axis] = std::min(out.size[axis], shape[axis] - out.start[axis]);
      rest /= count;
    }
    const Shape size = operand.region(out).size;
    largest.resize(size.size(), 0);
    for (auto [most, extent] : llvm::zip(largest, size))
      most = std::max(most, extent);
  }
  return largest;
}

int64_t slotBytes(Operation *op, const TilingModel &model,
                  const Staging &staging, llvm::ArrayRef<int64_t> extents,
                  const machine::Description &machine) {
  int64_t bytes = 0;
  auto add = [&](const StorageType &type, const Shape &shape, int64_t axis) {
    bytes += llvm::alignTo(bufferBytes(type, shape, axis, machine), 64);
  };
  for (auto [i, operand] : llvm::enumerate(model.operands))
    if (staging.operands[i])
      add(storageOf(op->getOperand(i)),
          storedShape(largestRegion(operand, model.resultShape, extents),
                      operand.lanes),
          operand.axis);
  // The first tile has the full extents: of results, no other is larger.
  const Region first{Shape(extents.size(), 0), Shape(extents)};
  if (staging.result)
    add(model.resultType, storedShape(first.size, model.lanes),
        model.resultAxis);
  for (const ScratchBuffer &buffer : model.scratch(first))
    add(buffer.type, buffer.shape, buffer.axis);
  return bytes;
}

} // namespace ashlar::analysis
