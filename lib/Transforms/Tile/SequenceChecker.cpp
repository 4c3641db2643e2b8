// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers, regions and tiles of one sequence.

#include "SequenceChecker.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::tile {

using analysis::Lanes;
using analysis::LoopIndices;
using analysis::Region;
using analysis::Shape;

/// Tiles of a plan, and steps of a sequence, at most.
static constexpr int64_t kMostTiles = int64_t(1) << 24;
static constexpr int64_t kMostSteps = int64_t(1) << 28;
/// Elements of a buffer at most, far from the ends of 64 bits.
static constexpr int64_t kMostElements = int64_t(1) << 32;

//===----------------------------------------------------------------------===//
// TileSet
//===----------------------------------------------------------------------===//

TileSet::TileSet(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> extents)
    : shape(shape), extents(extents) {
  if (shape.size() != extents.size()) {
    count = -1;
    return;
  }
  for (auto [whole, extent] : llvm::zip(shape, extents)) {
    if (extent < (whole > 0 ? 1 : 0) || count > kMostTiles) {
      count = -1;
      return;
    }
    count *= whole > 0 ? llvm::divideCeilSigned(whole, extent) : 1;
  }
  if (count > kMostTiles)
    count = -1;
  else
    tiles.resize(static_cast<unsigned>(count));
}

std::optional<int64_t> TileSet::indexOf(const Region &region) const {
  if (region.start.size() != shape.size())
    return std::nullopt;
  int64_t index = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t start = region.start[axis], extent = extents[axis];
    if (start < 0 || (start > 0 && start >= shape[axis]) ||
        (extent > 0 && start % extent != 0) ||
        region.size[axis] != std::min(extent, shape[axis] - start))
      return std::nullopt;
    if (shape[axis] > 0)
      index =
          index * llvm::divideCeilSigned(shape[axis], extent) + start / extent;
  }
  return index;
}

bool TileSet::insert(int64_t index) {
  if (tiles.test(static_cast<unsigned>(index)))
    return false;
  tiles.set(static_cast<unsigned>(index));
  ++found;
  return true;
}

//===----------------------------------------------------------------------===//
// SequenceChecker
//===----------------------------------------------------------------------===//

static std::string textOf(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : " x ") + std::to_string(number);
  return text.empty() ? "one element" : text;
}

static std::string textOf(const Region &region) {
  return "[" + textOf(region.size) + "] at [" + textOf(region.start) + "]";
}

static bool isInside(const Region &region, llvm::ArrayRef<int64_t> shape) {
  if (region.start.size() != shape.size())
    return false;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (region.start[axis] < 0 || region.start[axis] > shape[axis] ||
        region.size[axis] > shape[axis] - region.start[axis])
      return false;
  return true;
}

SequenceChecker::SequenceChecker(SequenceOp sequence,
                                 const analysis::Residents &residents,
                                 const machine::Description &machine)
    : sequence(sequence), node(sequence.getNode().getDefiningOp()),
      residents(residents), machine(machine),
      model(analysis::buildTilingModel(node, machine)),
      tiling(npu::tilingOf(node)),
      measured(model.resultShape, tiling.getTile().asArrayRef()),
      computed(measured), stored(measured) {}

LogicalResult SequenceChecker::run() {
  if (!computed.valid() || !model.scratch)
    return node->emitOpError("has no plan of its tiles");
  if (analysis::countSteps(sequence, kMostSteps) >= kMostSteps)
    return sequence.emitOpError("has ")
           << kMostSteps << " or more steps with its loops unrolled";
  if (npu::isAliased(node))
    return sequence.getBody().getOps().empty()
               ? success()
               : sequence.emitOpError(
                     "makes a result that lies in the memory of others, which "
                     "takes no tile operation");
  if (!analysis::forEachStep(sequence,
                             [&](Operation *op, const LoopIndices &loops) {
                               return step(op, loops);
                             }))
    return failure();
  return checkComplete();
}

bool SequenceChecker::step(Operation *op, const LoopIndices &loops) {
  return succeeded(
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](AllocOp alloc) { return check(alloc, loops); })
          .Case([&](FreeOp free) { return check(free); })
          .Case([&](LoadOp load) {
            return checkCopy(load, loops.regionOf(load), load.getPadded());
          })
          .Case([&](FillOp fill) {
            return success(succeeded(checkUniform(fill)) &&
                           succeeded(checkCopy(fill, loops.regionOf(fill),
                                               /*padded=*/false)));
          })
          .Case([&](ViewOp view) { return check(view, loops); })
          .Case([&](TensorOp tensor) { return check(tensor); })
          .Case([&](ComputeOp compute) { return check(compute, loops); })
          .Case([&](StoreOp store) { return check(store, loops); })
          .Case([&](ReleaseWeightsOp release) { return check(release); })
          .Default([](Operation *other) {
            return other->emitOpError("is not a step of a sequence");
          }));
}

bool SequenceChecker::isAlive(Value buffer) const {
  auto found = places.find(buffer);
  return found != places.end() && found->second.alive;
}

bool SequenceChecker::isType(BufferType type,
                             const analysis::StorageType &storage, int64_t axis,
                             const Lanes &lanes) const {
  auto own = analysis::storageOf(type);
  // One lane is no fold, whatever else is said of it.
  const Lanes fold = analysis::lanesOf(type);
  return own && *own == storage && type.getAxis() == axis &&
         (fold == lanes || (!fold.folded() && !lanes.folded()));
}

LogicalResult SequenceChecker::checkOperandNumber(Operation *op,
                                                  int64_t operand) {
  if (operand >= 0 && operand < static_cast<int64_t>(model.operands.size()) &&
      !model.operands[operand].streamed)
    return success();
  return op->emitOpError("names operand ")
         << operand << ", which the tiles of '"
         << node->getName().getStringRef() << "' do not read";
}

LogicalResult SequenceChecker::check(AllocOp op, const LoopIndices &loops) {
  Place place;
  place.begin = loops.evaluate(op.getAddress(), op.getIndices())[0];
  const auto bytes = static_cast<int64_t>(op.getBytes());
  const int64_t from = place.begin - tiling.getScratch();
  const int64_t slot = std::max<int64_t>(tiling.getSlot(), 1);
  auto wrong = [&](const llvm::Twine &why) {
    return op.emitOpError("takes ")
           << bytes << " bytes of every partition from byte " << place.begin
           << " on, " << why;
  };
  if (isAlive(op.getBuffer()))
    return wrong("while its buffer of the iteration before is alive");
  if (place.begin % 8 != 0)
    return wrong("which is no multiple of 8");
  if (from < 0 || bytes > tiling.getSlot() ||
      from > slot * tiling.getSlots() - bytes ||
      (bytes > 0 && from / slot != (from + bytes - 1) / slot))
    return wrong("not within one of the " + llvm::Twine(tiling.getSlots()) +
                 " slots of " + llvm::Twine(tiling.getSlot()) +
                 " bytes from byte " + llvm::Twine(tiling.getScratch()) +
                 " on");
  auto storage = analysis::storageOf(op.getBuffer().getType());
  if (!storage)
    return wrong("for elements that no memory holds");
  const BufferType type = op.getBuffer().getType();
  int64_t elements = 1;
  for (int64_t extent : type.getTensor().getShape())
    if (llvm::MulOverflow(elements, std::max<int64_t>(extent, 1), elements) ||
        elements > kMostElements)
      return wrong("no memory holds as many elements as it has");
  const int64_t needed =
      analysis::bufferBytes(*storage,
                            analysis::storedShape(type.getTensor().getShape(),
                                                  analysis::lanesOf(type)),
                            type.getAxis(), machine);
  if (bytes < needed)
    return wrong("its elements take " + llvm::Twine(needed));
  place.end = place.begin + bytes;
  for (Value other : alive) {
    const Place &there = places[other];
    if (place.begin < there.end && there.begin < place.end)
      return wrong("where bytes " + llvm::Twine(there.begin) + " to " +
                   llvm::Twine(there.end) + " are those of a buffer in use");
  }
  place.alive = true;
  alive.push_back(op.getBuffer());
  places[op.getBuffer()] = std::move(place);
  return success();
}

LogicalResult SequenceChecker::check(FreeOp op) {
  for (Value buffer : op.getBuffers()) {
    if (!isAlive(buffer) || places[buffer].view)
      return op.emitOpError("frees what is no buffer in use");
    places[buffer].alive = false;
    llvm::erase(alive, buffer);
  }
  return success();
}

/// A part of an operand into a buffer.
template <typename Op>
LogicalResult SequenceChecker::checkCopy(Op op, const Region &region,
                                         bool padded) {
  const auto index = static_cast<int64_t>(op.getOperand());
  if (failed(checkOperandNumber(op, index)))
    return failure();
  const analysis::OperandModel &operand = model.operands[index];
  Value value = node->getOperand(index);
  auto wrong = [&](const llvm::Twine &why) {
    return op.emitOpError("copies region ")
           << textOf(region) << " of operand " << index << ", " << why;
  };
  if (operand.direct)
    return wrong("which is read where it lies");
  if (padded && !operand.padded)
    return wrong("which is not read with zeros around it");
  if (!padded && !isInside(region, analysis::shapeOf(value)))
    return wrong("which has the extents " + textOf(analysis::shapeOf(value)));
  if (region.start.size() != analysis::shapeOf(value).size())
    return wrong("which has another rank");
  if (!isAlive(op.getBuffer()) || places[op.getBuffer()].view)
    return wrong("to what is no buffer in use");
  if (!isType(op.getBuffer().getType(), analysis::storageOf(value),
              operand.axis, operand.lanes))
    return wrong("which is read in another layout");
  Place &place = places[op.getBuffer()];
  place.holds = Place::Holds::Operand;
  place.operand = index;
  place.region = region;
  return success();
}

LogicalResult SequenceChecker::checkUniform(FillOp op) {
  const auto index = static_cast<int64_t>(op.getOperand());
  if (failed(checkOperandNumber(op, index)))
    return failure();
  auto [entry, inserted] = uniform.insert({index, 0});
  if (inserted) {
    auto bits = analysis::uniformBits(node->getOperand(index));
    if (!bits) {
      uniform.erase(index);
      return op.emitOpError("fills for operand ")
             << index << ", whose elements are not known to be equal";
    }
    uniform[index] = *bits;
  }
  if (uniform[index] != op.getBits())
    return op.emitOpError("fills with bits ")
           << op.getBits() << ", the elements of operand " << index << " are "
           << uniform[index];
  return success();
}

LogicalResult SequenceChecker::check(ViewOp op, const LoopIndices &loops) {
  const Region region = loops.regionOf(op);
  const BufferType type = op.getView().getType();
  Place place;
  place.view = place.alive = true;
  place.region = region;
  auto wrong = [&](const llvm::Twine &what, const llvm::Twine &why) {
    return op.emitOpError("reads region ")
           << textOf(region) << " of " << what << " in place, " << why;
  };
  if (auto number = op.getOperand()) {
    const auto index = static_cast<int64_t>(*number);
    if (failed(checkOperandNumber(op, index)))
      return failure();
    const analysis::OperandModel &operand = model.operands[index];
    Value value = node->getOperand(index);
    const std::string what = "operand " + std::to_string(index);
    if (!isInside(region, analysis::shapeOf(value)))
      return wrong(what,
                   "which has the extents " + textOf(analysis::shapeOf(value)));
    if (operand.direct || operand.padded ||
        !residents.holds(value, operand.axis, operand.lanes) ||
        !isType(type, analysis::storageOf(value), operand.axis, operand.lanes))
      return wrong(what, "but it does not lie in the state buffer as it is "
                         "read");
    place.holds = Place::Holds::Operand;
    place.operand = index;
  } else {
    Value value = node->getResult(0);
    if (!isInside(region, model.resultShape))
      return wrong("the result",
                   "which has the extents " + textOf(model.resultShape));
    if (model.directResult ||
        !residents.holds(value, model.resultAxis, model.lanes) ||
        !isType(type, model.resultType, model.resultAxis, model.homeLanes))
      return wrong("the result", "but it does not lie in the state buffer as "
                                 "it is made");
    place.holds = Place::Holds::Result;
  }
  places[op.getView()] = std::move(place);
  return success();
}

LogicalResult SequenceChecker::check(TensorOp op) {
  Place place;
  place.view = place.alive = true;
  Value value = node->getResult(0);
  bool direct = model.directResult;
  place.holds = Place::Holds::Result;
  if (auto number = op.getOperand()) {
    place.operand = static_cast<int64_t>(*number);
    if (failed(checkOperandNumber(op, place.operand)))
      return failure();
    value = node->getOperand(place.operand);
    direct = model.operands[place.operand].direct;
    place.holds = Place::Holds::Operand;
  }
  if (!direct || op.getTensor().getType() != value.getType())
    return op.emitOpError("is not what '") << node->getName().getStringRef()
                                           << "' takes whole, wherever it lies";
  places[op.getTensor()] = std::move(place);
  return success();
}

LogicalResult SequenceChecker::check(StoreOp op, const LoopIndices &loops) {
  const Region region = loops.regionOf(op);
  auto wrong = [&](const llvm::Twine &why) {
    return op.emitOpError("stores region ") << textOf(region) << ", " << why;
  };
  if (!isAlive(op.getBuffer()) || places[op.getBuffer()].view)
    return wrong("but not from a buffer in use");
  const Place &place = places[op.getBuffer()];
  if (place.holds != Place::Holds::Result || place.region != region)
    return wrong("which its buffer does not hold");
  auto index = stored.indexOf(region);
  if (!index || !stored.insert(*index))
    return wrong("which is written twice");
  return success();
}

LogicalResult SequenceChecker::check(ReleaseWeightsOp op) {
  if (!analysis::isProduct(node))
    return op.emitOpError("is in the sequence of '")
           << node->getName().getStringRef() << "', which streams no weights";
  outputs.reset();
  return success();
}

} // namespace ashlar::tile
