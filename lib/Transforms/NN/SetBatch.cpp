// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network for one sample becomes one for N. Each value that depends on a
// sample has an axis that holds the samples: its extent e becomes N * e, sample
// n at n * e. The rules below say where an operation takes that axis; whatever
// has no rule would mix samples and is refused.

#include "ashlar/Transforms/NN/Passes.h"

#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>

namespace ashlar::nn {
#define GEN_PASS_DEF_SETBATCH
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Where the samples of an operation's result are; nothing: the operation mixes
/// them.
using Axis = std::optional<int64_t>;

ShapedType typeOf(Value value) { return cast<ShapedType>(value.getType()); }

RankedTensorType withExtent(Value value, int64_t axis, int64_t extent) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = extent;
  return type.clone(shape);
}

class BatchSetter {
public:
  BatchSetter(func::FuncOp function, int64_t batch, ArrayRef<std::string> keep)
      : function(function), batch(batch), keep(keep) {}

  LogicalResult run();

private:
  /// Inputs get their samples. `pending` tells whether there is work.
  LogicalResult openInputs(bool &pending);
  LogicalResult visit(Operation *op);
  LogicalResult close(func::ReturnOp op);
  Axis axisOf(Operation *op);
  Axis elementwise(Operation *op, ValueRange operands);
  Axis matmul(MatMulOp op);
  Axis reshape(ReshapeOp op);
  Axis broadcast(BroadcastOp op);
  Axis concat(ConcatOp op);
  Axis take(TakeOp op);
  Axis slice(SliceOp op);
  Axis pad(PadOp op);
  Axis reduced(Value x, ArrayRef<int64_t> axes, bool keepdims);
  Axis firstOnly(Operation *op);

  /// An error about the whole network, which no node is to blame for.
  InFlightDiagnostic refuse() {
    return emitError(UnknownLoc::get(function.getContext()));
  }
  bool isBatched(Value value) const { return axes.count(value) != 0; }
  /// Extent for one sample.
  int64_t extentOf(Value value, int64_t axis) const {
    const int64_t extent = typeOf(value).getDimSize(axis);
    auto known = axes.find(value);
    return known != axes.end() && known->second == axis ? extent / batch
                                                        : extent;
  }
  /// The operand, the same for all samples, once for each along `axis`.
  void repeat(Operation *op, OpOperand &operand, int64_t axis);
  /// Repeats what the operation needs once for each sample: operands that have
  /// the axis `fromLast` (counted from the last) with its whole extent.
  bool repeatAligned(Operation *op, OpOperand &operand, int64_t fromLast,
                     int64_t extent);

  func::FuncOp function;
  int64_t batch;
  ArrayRef<std::string> keep;
  llvm::DenseMap<Value, int64_t> axes;
};

void BatchSetter::repeat(Operation *op, OpOperand &operand, int64_t axis) {
  OpBuilder builder(op);
  Value value = operand.get();
  auto type = cast<RankedTensorType>(value.getType());
  const int64_t extent = type.getDimSize(axis);
  auto whole = withExtent(value, axis, extent * batch);
  Value repeated;
  if (extent == 1) {
    repeated = BroadcastOp::create(builder, op->getLoc(), whole, value);
  } else {
    SmallVector<int64_t> wide(type.getShape());
    wide.insert(wide.begin() + axis, 1);
    Value split =
        ReshapeOp::create(builder, op->getLoc(), type.clone(wide), value);
    wide[axis] = batch;
    Value copies =
        BroadcastOp::create(builder, op->getLoc(), type.clone(wide), split);
    repeated = ReshapeOp::create(builder, op->getLoc(), whole, copies);
  }
  operand.set(repeated);
  axes[repeated] = axis;
}

bool BatchSetter::repeatAligned(Operation *op, OpOperand &operand,
                                int64_t fromLast, int64_t extent) {
  const int64_t axis = typeOf(operand.get()).getRank() - 1 - fromLast;
  if (isBatched(operand.get()))
    return axes[operand.get()] == axis &&
           extentOf(operand.get(), axis) == extent;
  if (axis < 0 || typeOf(operand.get()).getDimSize(axis) == 1)
    return true; // Broadcast, which is the same for all samples.
  if (typeOf(operand.get()).getDimSize(axis) != extent)
    return false;
  repeat(op, operand, axis);
  return true;
}

/// Operands aligned at the last axis, as numpy does.
Axis BatchSetter::elementwise(Operation *op, ValueRange operands) {
  int64_t fromLast = 0, extent = 0;
  for (Value operand : operands)
    if (auto known = axes.find(operand); known != axes.end()) {
      fromLast = typeOf(operand).getRank() - 1 - known->second;
      extent = std::max(extent, extentOf(operand, known->second));
    }
  for (OpOperand &operand : op->getOpOperands())
    if (!repeatAligned(op, operand, fromLast, extent))
      return std::nullopt;
  return typeOf(op->getResult(0)).getRank() - 1 - fromLast;
}

Axis BatchSetter::matmul(MatMulOp op) {
  const int64_t rank = typeOf(op.getY()).getRank();
  auto fromLast = [&](Value value) {
    return isBatched(value) ? typeOf(value).getRank() - 1 - axes[value] : -1;
  };
  const int64_t a = fromLast(op.getA()), b = fromLast(op.getB());
  // Rows of a, columns of b: every one is a product of its own.
  if (a == 1 && b < 0)
    return rank - 2;
  if (b == 0 && a < 0)
    return rank - 1;
  const bool leading = (a < 0 || a >= 2) && (b < 0 || b >= 2);
  return leading ? elementwise(op, op->getOperands()) : std::nullopt;
}

/// The samples are the same blocks of the row-major order: where the product of
/// the dimensions before them is the same.
Axis BatchSetter::reshape(ReshapeOp op) {
  const ArrayRef<int64_t> from = typeOf(op.getX()).getShape();
  const ArrayRef<int64_t> to = typeOf(op.getY()).getShape();
  const int64_t axis = axes[op.getX()];
  int64_t before = 1, count = 1;
  for (int64_t extent : from.take_front(axis))
    before *= extent;
  for (auto [i, extent] : llvm::enumerate(to)) {
    if (count == before)
      return static_cast<int64_t>(i);
    count *= extent;
  }
  return std::nullopt;
}

Axis BatchSetter::broadcast(BroadcastOp op) {
  const int64_t axis = axes[op.getX()];
  const int64_t target =
      axis + typeOf(op.getY()).getRank() - typeOf(op.getX()).getRank();
  if (typeOf(op.getY()).getDimSize(target) != extentOf(op.getX(), axis))
    return std::nullopt;
  return target;
}

Axis BatchSetter::concat(ConcatOp op) {
  Axis axis;
  int64_t extent = 0;
  for (Value input : op.getInputs())
    if (auto known = axes.find(input); known != axes.end()) {
      axis = known->second;
      extent = extentOf(input, *axis);
    }
  if (*axis == static_cast<int64_t>(op.getAxis()))
    return std::nullopt;
  const int64_t rank = typeOf(op.getY()).getRank();
  for (OpOperand &operand : op->getOpOperands()) {
    if (isBatched(operand.get())) {
      if (!repeatAligned(op, operand, rank - 1 - *axis, extent))
        return std::nullopt;
      continue;
    }
    repeat(op, operand, *axis);
  }
  return axis;
}

Axis BatchSetter::take(TakeOp op) {
  const auto axis = static_cast<int64_t>(op.getAxis());
  if (isBatched(op.getX())) {
    const int64_t samples = axes[op.getX()];
    const int64_t fromLast = typeOf(op.getX()).getRank() - 1 - samples;
    if (samples == axis || !repeatAligned(op, op.getIndicesMutable(), fromLast,
                                          extentOf(op.getX(), samples)))
      return std::nullopt;
    return samples;
  }
  const int64_t samples = axes[op.getIndices()];
  if (samples == axis)
    return axis;
  if (typeOf(op.getX()).getDimSize(samples) !=
      extentOf(op.getIndices(), samples))
    return std::nullopt;
  repeat(op, op.getXMutable(), samples);
  return samples;
}

Axis BatchSetter::slice(SliceOp op) {
  const int64_t axis = axes[op.getX()];
  const bool whole =
      op.getStarts()[axis] == 0 && op.getSteps()[axis] == 1 &&
      typeOf(op.getY()).getDimSize(axis) == extentOf(op.getX(), axis);
  return whole ? Axis(axis) : std::nullopt;
}

Axis BatchSetter::pad(PadOp op) {
  const int64_t axis = axes[op.getX()];
  const bool none = op.getLow()[axis] == 0 && op.getHigh()[axis] == 0 &&
                    op.interiorAt(axis) == 0;
  return none ? Axis(axis) : std::nullopt;
}

Axis BatchSetter::reduced(Value x, ArrayRef<int64_t> reducedAxes,
                          bool keepdims) {
  const int64_t axis = axes[x];
  if (llvm::is_contained(reducedAxes, axis))
    return std::nullopt;
  const int64_t removed =
      keepdims ? 0 : llvm::count_if(reducedAxes, [&](int64_t reduced) {
        return reduced < axis;
      });
  return axis - removed;
}

/// Windows, channels: the samples are axis 0 of the first operand, and only
/// that depends on them.
Axis BatchSetter::firstOnly(Operation *op) {
  for (Value operand : llvm::drop_begin(op->getOperands()))
    if (isBatched(operand))
      return std::nullopt;
  return axes[op->getOperand(0)] == 0 ? Axis(0) : std::nullopt;
}

Axis BatchSetter::axisOf(Operation *op) {
  return TypeSwitch<Operation *, Axis>(op)
      .Case<ConvOp, ConvTransposeOp, Im2ColOp, MaxPoolOp, AvgPoolOp,
            BatchNormOp>([&](auto) { return firstOnly(op); })
      .Case<UnaryOp, CastOp>([&](auto) { return axes[op->getOperand(0)]; })
      .Case<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, PReluOp, ModOp,
            CompareOp, LogicalOp, WhereOp>(
          [&](auto) { return elementwise(op, op->getOperands()); })
      .Case<MatMulOp>([&](MatMulOp op) { return matmul(op); })
      .Case<ReshapeOp>([&](ReshapeOp op) { return reshape(op); })
      .Case<BroadcastOp>([&](BroadcastOp op) { return broadcast(op); })
      .Case<TransposeOp>([&](TransposeOp op) -> Axis {
        return llvm::find(op.getPerm(), axes[op.getX()]) - op.getPerm().begin();
      })
      .Case<ConcatOp>([&](ConcatOp op) { return concat(op); })
      .Case<TakeOp>([&](TakeOp op) { return take(op); })
      .Case<SliceOp>([&](SliceOp op) { return slice(op); })
      .Case<PadOp>([&](PadOp op) { return pad(op); })
      .Case<SoftmaxOp, LogSoftmaxOp, GatherOp, ArgSortOp>([&](auto op) -> Axis {
        const int64_t axis = axes[op.getX()];
        return axis == static_cast<int64_t>(op.getAxis()) ? Axis() : Axis(axis);
      })
      .Case<ReduceOp>([&](ReduceOp op) {
        return reduced(op.getX(), op.getAxes(), op.getKeepdims());
      })
      .Case<ArgReduceOp>([&](ArgReduceOp op) {
        return reduced(op.getX(), {static_cast<int64_t>(op.getAxis())},
                       op.getKeepdims());
      })
      .Default([](Operation *) { return Axis(); });
}

LogicalResult BatchSetter::visit(Operation *op) {
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return isBatched(operand); }))
    return success();
  const Axis axis = op->getNumResults() == 1 ? axisOf(op) : std::nullopt;
  if (!axis)
    return op->emitError()
           << "--batch=" << batch << ": this " << op->getName().stripDialect()
           << " mixes the samples of a batch or has them in an axis with "
              "something else; compile the model for one sample, or export it "
              "with an open batch dimension";
  Value result = op->getResult(0);
  result.setType(
      withExtent(result, *axis, typeOf(result).getDimSize(*axis) * batch));
  axes[result] = *axis;
  return success();
}

LogicalResult BatchSetter::openInputs(bool &pending) {
  Block &body = function.front();
  auto nameOf = [&](BlockArgument argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      nameAttr);
    return name ? name.getValue() : StringRef();
  };
  SmallVector<BlockArgument> open;
  bool already = true;
  for (BlockArgument argument : body.getArguments())
    if (typeOf(argument).getRank() > 0 &&
        !llvm::is_contained(keep, nameOf(argument))) {
      open.push_back(argument);
      already &= typeOf(argument).getDimSize(0) == batch;
    }
  pending = !already;
  if (already)
    return success();
  for (BlockArgument argument : open) {
    if (typeOf(argument).getDimSize(0) != 1)
      return refuse()
             << "--batch=" << batch << ": input '" << nameOf(argument)
             << "' has " << typeOf(argument).getDimSize(0)
             << " on axis 0, expected 1 or an open dimension; --input-shape "
                "with its own shape keeps an input the same for all samples";
    argument.setType(withExtent(argument, 0, batch));
    axes[argument] = 0;
  }
  return success();
}

LogicalResult BatchSetter::close(func::ReturnOp op) {
  for (auto [i, result] : llvm::enumerate(op.getOperands())) {
    if (isBatched(result) && axes[result] == 0)
      continue;
    auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
    return refuse() << "--batch=" << batch << ": output '"
                    << (name ? name.getValue() : StringRef())
                    << "' has no samples on axis 0";
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.front().getArgumentTypes(),
                                     op.getOperandTypes()));
  return success();
}

LogicalResult BatchSetter::run() {
  bool pending = false;
  if (failed(openInputs(pending)))
    return failure();
  if (!pending)
    return success();
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (auto end = dyn_cast<func::ReturnOp>(op))
      return close(end);
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

struct SetBatchPass : nn::impl::SetBatchBase<SetBatchPass> {
  using SetBatchBase::SetBatchBase;
  void runOnOperation() override {
    SmallVector<std::string> names(keep.begin(), keep.end());
    if (failed(BatchSetter(getOperation(), batch, names).run()))
      signalPassFailure();
  }
};

} // namespace
