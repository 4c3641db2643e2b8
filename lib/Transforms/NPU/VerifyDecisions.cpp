// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the decisions of a module agree with its operations and its machine.
// Types and ranges are the dialect's matter (dialects/NPU/NPUAttributes.cpp);
// here is what needs the machine or the tiling model. Passes and code
// generation ask before they read a decision, so that a module from a file
// cannot lead them where no pass would.

#include "ashlar/Analysis/Array/RowPacking.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/FunctionCycles.h"
#include "ashlar/Analysis/Layout/MapForm.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Partition/Compress.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {

using analysis::shapeOf;
using analysis::storageOf;

LogicalResult verifyPresence(Operation *op) {
  llvm::StringRef missing = !layoutAttrOf(op) ? "layout"
                            : !memoryOf(op)   ? "memory"
                            : !tilingOf(op)   ? "tiling"
                                              : "";
  if (missing.empty())
    return success();
  return op->emitOpError() << "left the plan phase without '" << missing << "'";
}

/// Weights of 16 bits with a zero point are stored as bytes.
static LogicalResult checkStoredBytes(Operation *op) {
  QuantAttr quant = analysis::quantOf(op);
  if (!quant || !quant.getWZero() ||
      !getElementTypeOrSelf(op->getOperand(1)).isInteger(16))
    return success();
  std::optional<int64_t> zero = quant.getWZero();
  std::vector<float> values = analysis::constantFloats(op->getOperand(1));
  if (values.empty())
    return op->emitOpError()
           << "has 'w_zero' in 'quant', but its weights are not constant";
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  auto least = static_cast<int64_t>(*low), most = static_cast<int64_t>(*high);
  if (least + *zero >= 0 && most + *zero <= 255)
    return success();
  return op->emitOpError() << "has weights from " << least << " to " << most
                           << ", which do not fit a byte with 'w_zero' "
                           << *zero;
}

/// The array loads a computed operand from the state buffer: a matrix, or the
/// kernel of one group, whose columns share their rows.
static bool mayLoadComputed(Operation *op) {
  auto conv = dyn_cast<PeConvOp>(op);
  return isa<PeMatmulOp>(op) || (conv && conv.getGroup() == 1);
}

LogicalResult verifyWeights(Operation *op) {
  if (!analysis::isProduct(op))
    return success();
  Operation *weights = op->getOperand(1).getDefiningOp();
  auto encode = dyn_cast_if_present<bfp::EncodeOp>(weights);
  auto constant = dyn_cast_if_present<nn::ConstantOp>(
      encode && encode.getWeights() ? encode.getInput().getDefiningOp()
                                    : weights);
  if (!constant && (!mayLoadComputed(op) || (encode && encode.getWeights())))
    return op->emitOpError() << "expects weights that are a constant or its "
                                "encoding";
  if (constant && !nn::hasElements(constant.getValue()))
    return op->emitOpError()
           << "has weights whose elements are not available; print "
              "the module with its resources";
  for (Value record : op->getOperands().drop_front(2)) {
    bool residual = shapeOf(record) == shapeOf(op->getResult(0)) &&
                    record == op->getOperands().back();
    if (!residual && !record.getDefiningOp<nn::ConstantOp>())
      return op->emitOpError() << "expects a constant bias and scale";
  }
  return checkStoredBytes(op);
}

namespace {

/// The axis that the operation works across is one that it can.
LogicalResult checkWorkAxis(Operation *op) {
  LayoutAttr layout = layoutAttrOf(op);
  if (!layout)
    return op->emitOpError() << "has no 'layout'";
  int64_t axis = layout.getWorkAxis().value_or(layout.getAxis());
  bool possible = true;
  if (auto pool = dyn_cast<VecPoolOp>(op)) {
    possible = pool.worksAcross(axis);
  } else if (auto reduce = dyn_cast<VecReduceOp>(op)) {
    bool keeps = shapeOf(reduce.getX()).size() == shapeOf(reduce.getY()).size();
    possible = !keeps || reduce.worksAcross(axis);
  }
  if (possible)
    return success();
  return op->emitOpError() << "cannot work with axis " << axis
                           << " across partitions";
}

/// Lanes of a fold fit next to each other, and the feature map is not encoded
/// in blocks that reach across them.
LogicalResult checkLanes(Operation *op, const machine::Description &machine) {
  analysis::Lanes lanes = analysis::lanesOf(op);
  if (!lanes.folded())
    return success();
  if (lanes.spread())
    return success();
  if (axisOf(op) != 1 || !mayFoldLanes(op, machine))
    return op->emitOpError() << "cannot be lane-folded, or has a reader that "
                                "cannot read it so";
  // A drain takes its positions in the lanes of the residual as well. What is
  // spread reaches it through tiles, as if it were plain.
  if (auto conv = dyn_cast<PeConvOp>(op); conv && conv.getResidual())
    if (analysis::Lanes residual = analysis::widthLanesOf(conv.getResidual());
        residual.folded() && residual != lanes)
      return op->emitOpError() << "has other lanes than its residual";
  if (lanes.count * lanes.pitch > static_cast<int64_t>(machine.sb.partitions))
    return op->emitOpError()
           << "has " << lanes.count << " lanes of " << lanes.pitch
           << " partitions, the machine has " << machine.sb.partitions;
  // Blocks of channels begin where channel tiles do, and end no block of a
  // format.
  const analysis::StorageType type = analysis::storageOf(op->getResult(0));
  const int64_t channels = analysis::shapeOf(op->getResult(0))[1];
  if (lanes.blocks(channels) > 1 &&
      (machine.sb.partitions % (lanes.count * lanes.pitch) != 0 ||
       (type.encoded &&
        (type.format.block <= 0 || lanes.pitch % type.format.block != 0))))
    return op->emitOpError()
           << "has blocks of " << lanes.pitch << " channels in " << lanes.count
           << " lanes, which the machine's " << machine.sb.partitions
           << " partitions or the format of the result do not divide into";
  return success();
}

/// A second axis across partitions is one with which the operation can work,
/// and in which its result can lie.
LogicalResult checkSpread(Operation *op, const machine::Description &machine) {
  LayoutAttr layout = layoutAttrOf(op);
  if (layout.getWorkSpread() &&
      !mayWorkSpread(op, analysis::workLanesOf(op), machine))
    return op->emitOpError()
           << "cannot work with " << layout.getWorkSpread().getCount()
           << " groups of a second axis across partitions";
  if (layout.getSpread() && !mayLieSpread(op, analysis::lanesOf(op), machine))
    return op->emitOpError()
           << "has a result that cannot be stored with a second axis across "
              "partitions, or a reader that cannot read it that way";
  return success();
}

/// Rows of the operand that lie apart are a copy of what lies plain, and fit
/// the array.
LogicalResult checkRowsApart(Operation *op,
                             const machine::Description &machine) {
  auto conv = dyn_cast<PeConvOp>(op);
  if (!conv || !conv.getRowsApart())
    return success();
  const auto rows = static_cast<int64_t>(conv.getPackedRows());
  if (!analysis::widthLanesOf(conv.getX()).folded() &&
      analysis::mayReadApart(conv, rows, machine))
    return success();
  return op->emitOpError() << "cannot read " << rows
                           << " rows of its operand apart: the operand is "
                              "lane-folded, their exponent cells are shared, "
                              "or the array is too small for them";
}

/// Pieces that the vector unit finishes are those of drains that write the
/// result where it stays.
LogicalResult checkShare(Operation *op, const machine::Description &machine) {
  if (vectorShareOf(op) == 0 || analysis::mayShareFunction(op, machine))
    return success();
  return op->emitOpError()
         << "leaves functions to the vector unit, but its drains cannot write "
            "the result where it is stored, or its weights are computed, or a "
            "scale policy watches it";
}

/// Blocks are whole exponent cells.
LogicalResult checkBlocks(Operation *op, const machine::Description &machine) {
  auto cell = static_cast<int64_t>(machine.xmGroup);
  auto check = [&](Value value) -> LogicalResult {
    analysis::StorageType type = storageOf(value);
    int64_t block = type.encoded ? std::max(type.format.block, 0) : 0;
    if (block % cell == 0)
      return success();
    return op->emitOpError() << "has blocks of " << block << " elements, "
                             << cell << " partitions share an exponent";
  };
  for (Value value : op->getOperands())
    if (failed(check(value)))
      return failure();
  return check(op->getResult(0));
}

/// A drain that cannot encode leaves floats, which an integer epilogue has not.
LogicalResult checkEpilogue(Operation *op,
                            const machine::Description &machine) {
  if (!analysis::hasIntegerEpilogue(op))
    return success();
  const analysis::StorageType type = storageOf(op->getResult(0));
  const int64_t channels = analysis::productShape(op).outputs;
  if (analysis::drainEncodes(type, channels, machine))
    return success();
  return op->emitOpError()
         << "has an integer epilogue and blocks of " << type.format.block
         << " of " << channels << " results, which drains of "
         << machine.pe.columns << " columns into " << machine.sb.partitions
         << " partitions cannot encode; expected a shorter block, as in "
            "--format=w=8,block=8 where a drain has 8 columns, or "
            "--epilogue=float";
}

/// Stationary activations, and results that leave the array as blocks.
LogicalResult checkStationary(Operation *op,
                              const machine::Description &machine) {
  bool stationary = hasStationaryActivations(op);
  if (stationary && !analysis::mayKeepActivations(op, machine))
    return op->emitOpError() << "cannot keep its activations in the array";
  if (transposesBlocks(op) && !analysis::mayTurnBlocks(op, machine))
    return op->emitOpError() << "cannot transpose its result as blocks";
  if (stationary && !transposesBlocks(op) && analysis::hasIntegerEpilogue(op))
    return op->emitOpError()
           << "has an integer epilogue and a result that passes through f32";
  return success();
}

/// N:M weights are those of the machine, and wait in the array.
LogicalResult checkPattern(Operation *op, const machine::Description &machine) {
  PatternAttr pattern = patternOf(op);
  if (!pattern)
    return success();
  if (!machine.pe.hasPattern())
    return op->emitOpError()
           << "has N:M weights, the machine keeps none (pe.pattern_group is 0)";
  if (pattern.getKept() != static_cast<int64_t>(machine.pe.patternKept) ||
      pattern.getGroup() != static_cast<int64_t>(machine.pe.patternGroup))
    return op->emitOpError()
           << "has " << pattern.getKept() << ":" << pattern.getGroup()
           << " weights, the machine keeps " << machine.pe.patternKept << " of "
           << machine.pe.patternGroup << " rows (pe.pattern_kept, "
           << "pe.pattern_group)";
  if (!analysis::hasStreamedWeights(op) || hasStationaryActivations(op))
    return op->emitOpError()
           << "has N:M weights, which are constants that wait "
              "in the array";
  return success();
}

LogicalResult checkBound(Operation *op, const machine::Description &machine) {
  return failure(failed(checkBlocks(op, machine)) ||
                 failed(verifyWeights(op)) ||
                 failed(checkEpilogue(op, machine)));
}

LogicalResult checkAssigned(Operation *op,
                            const machine::Description &machine) {
  if (failed(checkBound(op, machine)) || failed(checkWorkAxis(op)) ||
      failed(checkStationary(op, machine)) ||
      failed(checkPattern(op, machine)) || failed(checkLanes(op, machine)) ||
      failed(checkSpread(op, machine)) || failed(checkRowsApart(op, machine)) ||
      failed(checkShare(op, machine)))
    return failure();
  return success();
}

/// Axes that the model does not cut are whole, others cut where it may.
LogicalResult checkTile(Operation *op, const analysis::TilingModel &model) {
  ArrayRef<int64_t> tile = tilingOf(op).getTile();
  for (auto [axis, extent] : llvm::enumerate(tile)) {
    int64_t whole = model.resultShape[axis];
    const auto own = static_cast<int64_t>(axis);
    bool cut =
        own == model.outputAxis || llvm::is_contained(model.tileAxes, own);
    if (extent == whole || (cut && extent % model.granularity[axis] == 0))
      continue;
    return op->emitOpError()
           << "has tiles of " << extent << " along axis " << axis << " of "
           << whole << ", expected "
           << (cut ? "a multiple of " + Twine(model.granularity[axis])
                   : Twine("all of it"));
  }
  return success();
}

/// The result and the scratch memory lie inside a partition.
LogicalResult checkRoom(Operation *op, const analysis::TilingModel &model,
                        const machine::Description &machine) {
  auto room = static_cast<int64_t>(machine.sb.bytesPerPartition);
  std::optional<int64_t> placement = memoryOf(op).getSb();
  int64_t bytes = analysis::bufferBytes(
      model.resultType,
      analysis::storedShape(model.resultShape, model.homeLanes),
      model.resultAxis, machine);
  bool part = isAliased(op) || partOf(op).has_value();
  if (placement && *placement + (part ? 0 : bytes) > room)
    return op->emitOpError() << "has its " << bytes << " bytes at "
                             << *placement << ", a partition ends at " << room;
  if (!placement && (part || model.homeLanes.folded()))
    return op->emitOpError() << "is in DRAM although it is folded, or part of "
                                "the memory of another result";
  TilingAttr tiling = tilingOf(op);
  if (tiling.getScratch() > room ||
      (tiling.getSlot() > 0 &&
       tiling.getSlots() > (room - tiling.getScratch()) / tiling.getSlot()))
    return op->emitOpError()
           << "has " << tiling.getSlots() << " slots of " << tiling.getSlot()
           << " bytes at " << tiling.getScratch() << ", a partition ends at "
           << room;
  if (tiling.getRing() > room)
    return op->emitOpError() << "has its ring at " << tiling.getRing()
                             << ", a partition ends at " << room;
  return success();
}

/// A concatenation that is not copied lies where its parts are: products that
/// it alone reads, after a first operand that may be any result in that place.
LogicalResult checkJoined(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (partOf(source))
      continue;
    if (operand.getOperandNumber() == 0 && source && memoryOf(source) &&
        memoryOf(source).getSb() == memoryOf(op).getSb() &&
        !analysis::isView(source) && !analysis::lanesOf(source).folded())
      continue;
    return op->emitOpError() << "has an operand that is not in its memory";
  }
  return success();
}

/// What lies in the memory of another result is a view of it, a product that a
/// concatenation alone reads, or a concatenation.
LogicalResult checkShared(Operation *op) {
  if (analysis::isView(op)) {
    if (!isResident(op->getOperand(0).getDefiningOp()))
      return op->emitOpError()
             << "is a view of an operand that is not in the state buffer";
    return success();
  }
  if (isAliased(op))
    return checkJoined(op);
  std::optional<int64_t> part = partOf(op);
  if (!part)
    return success();
  Value result = op->getResult(0);
  auto whole = dyn_cast_or_null<DmaMoveOp>(analysis::soleReader(result));
  if (!analysis::isProduct(op) || !whole || !isAliased(whole) ||
      !analysis::joinsInPlace(whole) ||
      *part != analysis::placeOfPart(
                   whole, analysis::readsOf(result).front()->getOperandNumber())
                   ->start[1])
    return op->emitOpError()
           << "is not a part of a concatenation in its memory";
  return success();
}

/// Maps in DRAM alone are compressed, in cells that hold their rows.
LogicalResult checkForm(Operation *op) {
  auto form = analysis::MapForm::of(op);
  if (!form)
    return success();
  if (isResident(op) || form->form > 15 ||
      form->levels > static_cast<int64_t>(partition::kMaxLevels) ||
      form->cellBytes > form->pitch)
    return op->emitOpError()
           << "cannot be compressed as " << memoryOf(op) << " says";
  return success();
}

LogicalResult checkPlanned(Operation *op, const machine::Description &machine) {
  if (failed(verifyPresence(op)))
    return failure();
  analysis::TilingModel model = analysis::buildTilingModel(op, machine);
  if (failed(checkTile(op, model)) || failed(checkRoom(op, model, machine)) ||
      failed(checkShared(op)) || failed(checkForm(op)))
    return failure();
  return success();
}

LogicalResult
forEachOperation(ModuleOp module,
                 llvm::function_ref<LogicalResult(Operation *)> check) {
  WalkResult result = module.walk([&](Operation *op) {
    bool ours = isa_and_present<NPUDialect>(op->getDialect());
    return ours && failed(check(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace

LogicalResult verifyAssigned(ModuleOp module,
                             const machine::Description &machine) {
  return forEachOperation(
      module, [&](Operation *op) { return checkAssigned(op, machine); });
}

LogicalResult verifyPlanned(ModuleOp module,
                            const machine::Description &machine) {
  if (failed(verifyAssigned(module, machine)))
    return failure();
  return forEachOperation(
      module, [&](Operation *op) { return checkPlanned(op, machine); });
}

FailureOr<machine::Description> boundMachineOf(ModuleOp module) {
  auto machine = records::machineOf(module);
  if (failed(machine) || failed(forEachOperation(module, [&](Operation *op) {
        return checkBound(op, *machine);
      })))
    return failure();
  return machine;
}

FailureOr<machine::Description> assignedMachineOf(ModuleOp module) {
  auto machine = records::machineOf(module);
  if (failed(machine) || failed(verifyAssigned(module, *machine)))
    return failure();
  return machine;
}

FailureOr<machine::Description> plannedMachineOf(ModuleOp module) {
  auto machine = records::machineOf(module);
  if (failed(machine) || failed(verifyPlanned(module, *machine)))
    return failure();
  return machine;
}

} // namespace ashlar::npu
