// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movements: patterns as code generation copies them, fills of what they leave
// open, and the pass that stores the result otherwise.

#include "ashlar/Analysis/Cost/LaneCopies.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/TailParts.h"
#include "ashlar/Analysis/Cost/WindowCopies.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

int64_t OperationCycles::copied(const machine::Description &machine) const {
  const auto cycles = static_cast<int64_t>(
      copies.cycles(static_cast<uint64_t>(movementQueues(machine))));
  return copies.descriptors == 0 ? 0 : cycles + latency;
}

/// Adds what the visited copies take to `sum`.
static auto adder(machine::TransferCost &sum, machine::TransferCosts &costs) {
  return [&](const CopyNest &nest) {
    sum.add(costs.ofParts(nest.transfer, nest.cut, nest.parts));
    return true;
  };
}

machine::TransferCost copyCost(const View &source, const View &result,
                               const npu::AccessPattern &pattern,
                               machine::TransferCosts &costs) {
  machine::TransferCost sum;
  forEachCopy(source, result, pattern, costs, adder(sum, costs));
  return sum;
}

namespace {

/// The axis across partitions of what `op` makes, also before one is assigned.
int64_t axisOfResult(Operation *op) {
  if (auto axis = npu::axisOf(op))
    return *axis;
  Value result = op->getResult(0);
  const StorageType type = storageOf(result);
  const auto rank = static_cast<int64_t>(shapeOf(result).size());
  return type.encoded ? type.blockAxis : rank > 2 ? 1 : rank - 1;
}

class MovePredictor {
public:
  MovePredictor(npu::DmaMoveOp op, const Lanes &lanes,
                machine::TransferCosts &costs)
      : op(op), lanes(lanes), machine(costs.description()), costs(costs),
        result(storageOf(op.getY())), model(buildTilingModel(op, machine)) {}

  OperationCycles run();

private:
  View homeOf(Value value, const StorageType &type);
  View bufferOf(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                int64_t axis);
  /// Where a whole map lies whose elements are kept as `stored`: in the state
  /// buffer, or in DRAM if it is larger.
  View placeOf(const StorageType &type, const StorageType &stored,
               llvm::ArrayRef<int64_t> shape, int64_t axis);
  View target();
  View staged(Value value, const View &home, const OperandModel &operand,
              Shape &start);
  void fill(const View &view, int64_t share);
  void throughDram(const View &source, const View &to);
  bool leaves() const;
  void copyPatterns(llvm::ArrayRef<View> homes, llvm::ArrayRef<Shape> starts,
                    const View &to);
  void encode(const View &from);

  npu::DmaMoveOp op;
  const Lanes &lanes;
  const machine::Description &machine;
  machine::TransferCosts &costs;
  StorageType result;
  TilingModel model;
  StorageType moved; ///< of the elements while they are copied
  int64_t next = 0;  ///< first free byte of every partition
  OperationCycles cycles;
};

/// True if the result is nowhere but in DRAM.
bool MovePredictor::leaves() const {
  Value y = npu::DmaMoveOp(op).getY();
  return model.directResult && !lanes.folded() &&
         llvm::all_of(y.getUsers(), [](Operation *user) {
           return mlir::isa<func::ReturnOp>(user);
         });
}

View MovePredictor::bufferOf(const StorageType &type,
                             llvm::ArrayRef<int64_t> shape, int64_t axis) {
  View view = denseBufferView(type, shape, axis, next, machine);
  next += llvm::alignTo(bufferBytes(type, shape, axis, machine), 64);
  // A state buffer that cannot hold all maps is filled from its start again.
  next %= static_cast<int64_t>(machine.sb.bytesPerPartition);
  return view;
}

View MovePredictor::placeOf(const StorageType &type, const StorageType &stored,
                            llvm::ArrayRef<int64_t> shape, int64_t axis) {
  if (bufferBytes(stored, shape, axis, machine) >
      static_cast<int64_t>(machine.sb.bytesPerPartition))
    return denseDramView(type, shape, 0, 0, machine);
  return bufferOf(type, shape, axis);
}

View MovePredictor::homeOf(Value value, const StorageType &type) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !mlir::isa<npu::DecisionInterface>(producer))
    return denseDramView(type, shapeOf(value), 0, 0, machine);
  return placeOf(type, storageOf(value), shapeOf(value),
                 axisOfResult(producer));
}

View MovePredictor::target() {
  if (leaves())
    return denseDramView(moved, shapeOf(op.getY()), 0, 0, machine);
  return placeOf(moved, result, storedShape(shapeOf(op.getY()), lanes),
                 axisOfResult(op));
}

/// The copy of an operand with zeros around it, where patterns read beyond it.
View MovePredictor::staged(Value value, const View &home,
                           const OperandModel &operand, Shape &start) {
  const Region all = operand.region(Region::whole(shapeOf(op.getY())));
  View copy = bufferOf(home.type, all.size, operand.axis);
  Region inside = Region::whole(shapeOf(value));
  npu::AccessPattern pattern = identityPattern(inside.size);
  for (size_t i = 0; i < inside.size.size(); ++i) {
    const int64_t first = std::max<int64_t>(all.start[i], 0);
    const int64_t last = std::min(all.start[i] + all.size[i], inside.size[i]);
    pattern.dims[i].extent = std::max<int64_t>(last - first, 0);
    pattern.sourceStart[i] = first;
    pattern.resultStart[i] = first - all.start[i];
    if (pattern.dims[i].extent == 0)
      return copy;
  }
  cycles.copies.add(copyCost(home, copy, pattern, costs));
  start = all.start;
  return copy;
}

/// A fill of one part in `share` of a view.
void MovePredictor::fill(const View &view, int64_t share) {
  machine::TransferCost all;
  forEachFill(view, /*cells=*/false, costs, adder(all, costs));
  const auto parts = static_cast<uint64_t>(std::max<int64_t>(share, 1));
  for (uint64_t *term : {&all.issue, &all.dram, &all.claim})
    *term = llvm::divideCeil(*term, parts);
  cycles.copies.add(all);
}

/// A reshape without common refinement passes through DRAM in row-major order.
void MovePredictor::throughDram(const View &source, const View &to) {
  const View image = denseDramView(moved, source.shape, 0, 0, machine);
  const View reshaped = denseDramView(moved, to.shape, 0, 0, machine);
  const auto latency = static_cast<int64_t>(machine.dram.latency);
  if (source.inStateBuffer()) {
    cycles.copies.add(
        copyCost(source, image, identityPattern(source.shape), costs));
    cycles.latency += latency;
  }
  cycles.copies.add(copyCost(reshaped, to, identityPattern(to.shape), costs));
  cycles.latency += latency;
}

/// The copies of all patterns, and the fill of what they leave open.
void MovePredictor::copyPatterns(llvm::ArrayRef<View> homes,
                                 llvm::ArrayRef<Shape> starts, const View &to) {
  int64_t covered = 0;
  for (Attribute attr : op.getPatterns()) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    int64_t elements = 1;
    for (const npu::PatternDim &dim : pattern.dims)
      elements *= dim.extent;
    covered += elements;
    const Shape &start = starts[pattern.operand];
    for (size_t i = 0; i < start.size(); ++i)
      pattern.sourceStart[i] -= start[i];
    for (const npu::AccessPattern &part : lanePatterns(pattern, lanes)) {
      const View &home = homes[pattern.operand];
      const WindowCopies windows = windowCopies(home, to, part, costs);
      for (const npu::AccessPattern &copy : windows.fetched)
        cycles.copies.add(copyCost(home, to, copy, costs));
      for (const npu::AccessPattern &copy : windows.repeated)
        cycles.copies.add(copyCost(to, to, copy, costs));
    }
  }
  const int64_t open = Region::whole(to.shape).elements() - covered;
  if ((op.getFill() || lanes.folded()) && open > 0)
    fill(to, Region::whole(to.shape).elements() / open);
}

/// The pass of the vector unit that stores what was copied.
void MovePredictor::encode(const View &from) {
  View stored = bufferOf(result, from.shape, axisOfResult(op));
  const machine::VecStore store = storeOf(from.type, result);
  cycles.vector =
      mapCycles({from}, stored, machine::VecCost::Cheap, store, machine);
  if (lanes.folded())
    return;
  // A conversion clears what lies between parts (ConvertInPlace).
  if (const auto tail = tailParts({from}, stored, machine::VecCost::Cheap,
                                  store, encodesInPlace(op), machine))
    cycles.vector -=
        tail->between > 0 ? tail->saved : tail->saved - tail->copies;
}

OperationCycles MovePredictor::run() {
  llvm::SmallVector<View, 4> homes;
  llvm::SmallVector<Shape, 4> starts;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    StorageType type = storageOf(input);
    // Blocks that do not stay whole have been decoded for all movements.
    if (type.encoded && !result.encoded)
      type = f32Storage();
    moved = type;
    homes.push_back(homeOf(input, type));
    starts.push_back(Shape(shapeOf(input).size(), 0));
    if (model.operands[i].padded)
      homes.back() =
          staged(input, homes.back(), model.operands[i], starts.back());
  }
  if (!lanes.folded() && encodesInPlace(op) && homes.front().inStateBuffer() &&
      homes.front().axis == axisOfResult(op)) {
    encode(homes.front());
    return cycles;
  }
  const View to = target();
  const bool outside = !homes.front().inStateBuffer() || !to.inStateBuffer();
  cycles.latency = static_cast<int64_t>(outside ? machine.dram.latency
                                                : machine.dma.onchipLatency);
  if (op.keepsOrder())
    throughDram(homes.front(), to);
  copyPatterns(homes, starts, to);
  if (moved != result && !leaves())
    encode(to);
  return cycles;
}

} // namespace

OperationCycles moveCycles(npu::DmaMoveOp op, const Lanes &lanes,
                           const machine::Description &machine) {
  machine::TransferCosts costs(machine);
  return moveCycles(op, lanes, costs);
}

OperationCycles moveCycles(npu::DmaMoveOp op, const Lanes &lanes,
                           machine::TransferCosts &costs) {
  if (op.getInputs().size() == 1)
    if (Operation *producer = op.getInputs()[0].getDefiningOp();
        producer && mlir::isa<npu::DecisionInterface>(producer) &&
        !lanes.folded() &&
        viewAxis(op, axisOfResult(producer)) == axisOfResult(op))
      return {};
  return MovePredictor(op, lanes, costs).run();
}

int64_t relayCycles(Value value, int64_t axis, const Lanes &from,
                    const Lanes &to, const machine::Description &machine) {
  const StorageType type = storageOf(value);
  const Shape start(shapeOf(value).size(), 0);
  auto mapIn = [&](const Lanes &lanes, int64_t offset) {
    const Shape shape = storedShape(shapeOf(value), lanes);
    const int64_t across = lanes.folded() ? lanes.across : axis;
    return FoldedMap{denseBufferView(type, shape, across, offset, machine),
                     lanes, start};
  };
  const FoldedMap source = mapIn(from, 0);
  const auto room = static_cast<int64_t>(machine.sb.bytesPerPartition);
  const FoldedMap result =
      mapIn(to, llvm::alignTo(bufferBytes(type, source.view.shape,
                                          source.view.axis, machine),
                              64) %
                    room);
  OperationCycles cycles;
  machine::TransferCosts costs(machine);
  forEachRelaid(source, result, shapeOf(value), costs,
                adder(cycles.copies, costs));
  cycles.latency = static_cast<int64_t>(machine.dma.onchipLatency);
  return cycles.copied(machine);
}

} // namespace ashlar::analysis
