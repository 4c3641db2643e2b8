// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pattern per tile operation: loads and stores are copies, a computation
// goes to the emitter of its node. Which tiles there are, in which buffers and
// in which order, is what the sequence says. Emitters see only views, so
// resident, staged and spilled tensors need no separate code.

#include "EmitSequence.h"

#include "Generator.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Machine/Dram.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::LoopIndices;
using analysis::shapeOf;

/// Reads the region of `value`, which lies in `home`, into scratch in `lanes`.
/// Out-of-range parts become zero.
static void loadRegion(Generator &generator, Value value, const View &home,
                       const analysis::Lanes &lanes, const Region &region,
                       const View &target) {
  ProgramBuilder &builder = generator.builder;
  const auto shape = shapeOf(value);
  Region inside = region;
  bool padded = false;
  for (int64_t i = 0; i < home.rank(); ++i) {
    int64_t end = std::min(region.start[i] + region.size[i], shape[i]);
    inside.start[i] = std::max<int64_t>(region.start[i], 0);
    inside.size[i] = std::max<int64_t>(end - inside.start[i], 0);
    padded |= inside.size[i] != region.size[i];
  }
  // Nothing of the operand is in this tile.
  if (region.elements() == 0)
    return;
  if (padded)
    emitFill(builder, target, 0);
  if (inside.elements() == 0)
    return;
  Region at = inside;
  for (size_t i = 0; i < at.start.size(); ++i)
    at.start[i] -= region.start[i];
  const analysis::Lanes homeLanes =
      home.inStateBuffer() ? analysis::lanesOf(value) : analysis::Lanes();
  if (homeLanes.folded() || lanes.folded())
    return emitRelaid(builder, {home, homeLanes, inside.start},
                      {target, lanes, at.start}, inside.size);
  // What the array makes comes column tile by column tile: copies of the first
  // ones do not wait for the last.
  const bool follows = home.inStateBuffer() && home.axis >= 0 &&
                       home.axis != target.axis &&
                       analysis::isProduct(value.getDefiningOp());
  const int64_t whole = follows ? inside.size[home.axis] : 0;
  const int64_t step = follows ? generator.machine.pe.columns : 1;
  const analysis::MapForm *form =
      home.inStateBuffer() ? nullptr : generator.formOf(value);
  if (whole <= step)
    return emitLoad(generator, form, home, inside,
                    target.slice(at, generator.machine));
  const int64_t first = inside.start[home.axis], place = at.start[home.axis];
  for (int64_t done = 0; done < whole; done += step) {
    inside.start[home.axis] = first + done;
    at.start[home.axis] = place + done;
    inside.size[home.axis] = at.size[home.axis] = std::min(step, whole - done);
    emitLoad(generator, form, home, inside,
             target.slice(at, generator.machine));
  }
}

/// The emitter of a node.
static llvm::Error emitTile(Generator &generator, const TileContext &tile) {
  if (mlir::isa<npu::TcuConvOp>(tile.op))
    return emitTileConvolution(generator, tile);
  if (analysis::isProduct(tile.op))
    return emitProduct(generator, tile);
  if (npu::routeOf(tile.op) == npu::Route::SwapBlocks)
    return emitSwap(generator, tile);
  if (mlir::isa<npu::DmaMoveOp>(tile.op))
    return emitMove(generator, tile);
  if (mlir::isa<npu::PeTransposeOp>(tile.op))
    return emitTranspose(generator, tile);
  if (tile.op->hasTrait<npu::HostEngine>())
    return emitHost(generator, tile);
  return emitVector(generator, tile);
}

bool ClearedBuffers::add(const View &view,
                         const machine::Description &machine) {
  const int64_t bytes =
      analysis::bufferBytes(view.type, view.shape, view.axis, machine);
  for (Buffer &buffer : buffers)
    if (buffer.base == view.base && buffer.bytes >= bytes) {
      const bool first = !buffer.cleared;
      buffer.cleared = true;
      return first;
    }
  return true;
}

void ClearedBuffers::allocate(const View &view,
                              const machine::Description &machine) {
  const Buffer own{
      view.base,
      analysis::bufferBytes(view.type, view.shape, view.axis, machine),
      view.type, false};
  bool known = false;
  llvm::erase_if(buffers, [&](const Buffer &other) {
    const bool same = other.base == own.base && other.bytes >= own.bytes &&
                      other.type.encoded == own.type.encoded &&
                      other.type.plain == own.type.plain;
    known |= same;
    return !same && other.base < own.base + own.bytes &&
           own.base < other.base + other.bytes;
  });
  if (!known)
    buffers.push_back(own);
}

namespace {

class SequenceEmitter {
public:
  SequenceEmitter(Generator &generator, tile::SequenceOp sequence)
      : generator(generator), builder(generator.builder),
        machine(generator.machine), sequence(sequence),
        op(sequence.getNode().getDefiningOp()),
        model(analysis::buildTilingModel(op, machine)) {}

  llvm::Error run();

private:
  /// What is at a value of the sequence: elements, and which part of which
  /// tensor they are.
  struct Place {
    View view;
    Region region;
  };

  llvm::Error emit(Operation *step, const LoopIndices &loops);
  void emit(tile::AllocOp alloc, const LoopIndices &loops);
  void emit(tile::LoadOp load, const LoopIndices &loops);
  void emit(tile::FillOp fill, const LoopIndices &loops);
  void emit(tile::ViewOp view, const LoopIndices &loops);
  void emit(tile::TensorOp tensor);
  void emit(tile::StoreOp store, const LoopIndices &loops);
  llvm::Error emit(tile::ComputeOp compute, const LoopIndices &loops);

  Generator &generator;
  ProgramBuilder &builder;
  const machine::Description &machine;
  tile::SequenceOp sequence;
  Operation *op;
  analysis::TilingModel model;
  llvm::DenseMap<Value, Place> places;
  ClearedBuffers cleared;
};

void SequenceEmitter::emit(tile::AllocOp alloc, const LoopIndices &loops) {
  View &view = places[alloc.getBuffer()].view;
  view = analysis::viewOf(
      alloc.getBuffer().getType(),
      loops.evaluate(alloc.getAddress(), alloc.getIndices())[0], machine);
  cleared.allocate(view, machine);
}

void SequenceEmitter::emit(tile::LoadOp load, const LoopIndices &loops) {
  Place &place = places[load.getBuffer()];
  place.region = loops.regionOf(load);
  Value value = op->getOperand(load.getOperand());
  loadRegion(generator, value, generator.allocationOf(value),
             analysis::lanesOf(load.getBuffer().getType()), place.region,
             place.view);
}

void SequenceEmitter::emit(tile::FillOp fill, const LoopIndices &loops) {
  Place &place = places[fill.getBuffer()];
  place.region = loops.regionOf(fill);
  emitFill(builder, place.view, fill.getBits());
}

void SequenceEmitter::emit(tile::ViewOp view, const LoopIndices &loops) {
  const tile::BufferType type = view.getView().getType();
  const analysis::Lanes lanes = analysis::lanesOf(type);
  Place &place = places[view.getView()];
  place.region = loops.regionOf(view);
  auto number = view.getOperand();
  const View home = number
                        ? generator.residentOf(op->getOperand(*number),
                                               type.getAxis(), lanes.folded())
                        : generator.allocations.lookup(op->getResult(0));
  place.view = home.slice(analysis::storedRegion(place.region, lanes), machine);
}

void SequenceEmitter::emit(tile::TensorOp tensor) {
  Place &place = places[tensor.getTensor()];
  auto number = tensor.getOperand();
  place.view = generator.allocationOf(number ? op->getOperand(*number)
                                             : Value(op->getResult(0)));
  place.region = Region::whole(place.view.shape);
}

/// Copies a tile of the result from scratch memory to its place.
void SequenceEmitter::emit(tile::StoreOp store, const LoopIndices &loops) {
  const View &from = places[store.getBuffer()].view;
  const View &home = generator.allocations[op->getResult(0)];
  const Region out = loops.regionOf(store);
  const analysis::Lanes lanes = analysis::lanesOf(store.getBuffer().getType());
  const analysis::Lanes homeLanes =
      home.inStateBuffer() ? model.homeLanes : analysis::Lanes();
  if (lanes.folded() || homeLanes.folded())
    return emitRelaid(builder, {from, lanes, Shape(out.size.size(), 0)},
                      {home, homeLanes, out.start}, out.size);
  emitStore(generator, generator.formOf(op->getResult(0)), from, home, out);
}

llvm::Error SequenceEmitter::emit(tile::ComputeOp compute,
                                  const LoopIndices &loops) {
  TileContext tile;
  tile.op = op;
  tile.model = &model;
  tile.out = loops.regionOf(compute);
  tile.operands.resize(op->getNumOperands());
  tile.operandRegions.resize(op->getNumOperands());
  for (auto [index, value] :
       llvm::zip(compute.getReads(), compute.getInputs())) {
    const Place &place = places[value];
    tile.operands[index] = place.view;
    tile.operandRegions[index] = place.region;
  }
  tile.result = places[compute.getTarget()].view;
  for (Value value : compute.getScratch())
    tile.scratch.push_back(places[value].view);
  tile.measures = compute.getMeasures();
  tile.cleared = &cleared;
  if (llvm::Error error = emitTile(generator, tile))
    return error;
  if (llvm::Error error = generator.checkInstructions(op))
    return error;
  return tile.measures ? llvm::Error::success() : emitSamples(generator, tile);
}

llvm::Error SequenceEmitter::emit(Operation *step, const LoopIndices &loops) {
  if (auto compute = dyn_cast<tile::ComputeOp>(step))
    return emit(compute, loops);
  llvm::TypeSwitch<Operation *>(step)
      .Case<tile::AllocOp, tile::LoadOp, tile::FillOp, tile::ViewOp,
            tile::StoreOp>([&](auto other) { emit(other, loops); })
      .Case([&](tile::TensorOp tensor) { emit(tensor); })
      .Case([&](tile::ReleaseWeightsOp) {
        generator.weights.finish(generator.streamedProduct(op));
      });
  return llvm::Error::success();
}

llvm::Error SequenceEmitter::run() {
  llvm::Error error = llvm::Error::success();
  analysis::forEachStep(sequence,
                        [&](Operation *step, const LoopIndices &loops) {
                          error = emit(step, loops);
                          return !error;
                        });
  return error;
}

} // namespace

/// True if one more queue shortens a movement by more than what the weights of
/// its readers take, which wait for that queue then.
static bool paysWeightQueue(Operation *op,
                            const machine::Description &machine) {
  auto move = dyn_cast_or_null<npu::DmaMoveOp>(op);
  if (!move)
    return false;
  const auto queues = static_cast<uint64_t>(analysis::movementQueues(machine));
  const machine::TransferCost copies =
      analysis::moveCycles(move, analysis::lanesOf(op), machine).copies;
  uint64_t weights = machine.dram.latency;
  for (OpOperand *use : analysis::readsOf(move.getY()))
    if (analysis::isProduct(use->getOwner())) {
      const analysis::ProductShape product =
          analysis::productShape(use->getOwner());
      weights += machine::dramStreamCycles(
          machine, static_cast<uint64_t>(product.outputs * product.taps *
                                         product.channels / product.groups));
    }
  return copies.cycles(queues) > copies.cycles(queues + 1) + weights;
}

llvm::Error emitSequence(Generator &generator, tile::SequenceOp sequence) {
  ProgramBuilder &builder = generator.builder;
  builder.shareWeightQueue =
      !builder.hasWeights() &&
      paysWeightQueue(sequence.getNode().getDefiningOp(), generator.machine);
  return SequenceEmitter(generator, sequence).run();
}

} // namespace ashlar::codegen
