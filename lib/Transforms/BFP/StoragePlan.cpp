// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of docs/Numerics.md 1 as two small functions: what an operand needs
// given where its reader's result is stored, and which ops can store encoded.
// EncodingFormats.cpp says which format an encoding takes.

#include "StoragePlan.h"
#include "Shapes.h"

#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::bfp {

static bool isFloatTensor(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

static bool isConstant(Value value) {
  return value.getDefiningOp<nn::ConstantOp>() != nullptr;
}

/// Element-wise arithmetic that can write blocks as it computes.
static bool isElementwise(Operation *op) {
  return isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::MaxOp, nn::MinOp,
             nn::PowOp, nn::PReluOp, nn::ModOp, nn::WhereOp, nn::UnaryOp,
             nn::CastOp, AffineOp>(op);
}

bool isWeightUse(OpOperand &use) {
  if (use.getOperandNumber() != 1 || !isConstant(use.get()))
    return false;
  if (isa<ConvOp>(use.getOwner()))
    return true;
  return isa<MatmulOp>(use.getOwner()) && shapeOf(use.get()).size() == 2;
}

bool readsEncoded(Operation *op) {
  return isElementwise(op) ||
         isa<ConvOp, MatmulOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::ReduceOp,
             nn::ArgReduceOp, nn::SoftmaxOp, nn::LogSoftmaxOp, nn::BatchNormOp,
             nn::CompareOp>(op);
}

/// A global pooling, as the importer expresses it.
static bool isGlobalPool(nn::ReduceOp op) {
  return op.getKind() == nn::ReduceKind::Mean ||
         op.getKind() == nn::ReduceKind::Max;
}

/// The dimension of a reduction's operand that dimension `axis` of its result
/// is, or nothing if that one is reduced.
static std::optional<int64_t> mapReduceAxis(nn::ReduceOp op, int64_t axis) {
  ArrayRef<int64_t> axes = op.getAxes();
  int64_t rank = shapeOf(op.getX()).size();
  int64_t position = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool reduced = llvm::is_contained(axes, dim);
    if (reduced && !op.getKeepdims())
      continue;
    if (position == axis)
      return reduced ? std::nullopt : std::optional<int64_t>(dim);
    ++position;
  }
  return std::nullopt;
}

StoragePlan::StoragePlan(func::FuncOp function, const AskedFormats &formats,
                         ResidualStorage residual, bool inBlocks)
    : context(function.getContext()), formats(formats), residual(residual),
      inBlocks(inBlocks) {
  if (function.getBody().empty())
    return;
  Block &body = function.getBody().front();
  for (Operation &op : llvm::reverse(body))
    for (OpResult result : op.getResults())
      visitValue(result);
  for (Value argument : body.getArguments())
    visitValue(argument);
  dropSigns();
}

void StoragePlan::visitValue(Value value) {
  if (!isFloatTensor(value))
    return;
  // One encoding per dimension and kind: needed along two dimensions, the value
  // stays a float with two encodings, each rounded once from the original.
  std::map<std::pair<int64_t, bool>, size_t> encodings;
  bool floats = false;
  for (OpOperand &use : value.getUses()) {
    floats |= isa<func::ReturnOp>(use.getOwner()) ||
              (residual != ResidualStorage::Bfp && isResidualUse(use));
    std::optional<int64_t> axis = getRequiredAxis(use);
    if (!axis)
      continue;
    auto [entry, isNew] = encodings.try_emplace({*axis, isWeightUse(use)}, 0);
    if (isNew)
      entry->second = addEncoding(askedBy(use));
    read[&use] = entry->second;
    Operation *owner = use.getOwner();
    if (isa<nn::ConcatOp, nn::InterleaveOp, nn::SliceOp, nn::ReshapeOp,
            nn::TransposeOp>(owner))
      join(entry->second, stored.lookup(owner->getResult(0)));
    else if (!isNew)
      join(entry->second, addEncoding(askedBy(use)));
  }
  for (auto &[axis, encoding] : encodings)
    if (axis.second || !nonNegative.holds(value))
      signless[root(encoding)] = false;
  // A graph output keeps its type, and so does what a residual add is to read
  // as a float; products read an encoding next to it.
  Operation *op = value.getDefiningOp();
  if (!op || floats || encodings.size() != 1)
    return;
  auto [axis, encoding] = *encodings.begin();
  if (!canStoreEncoded(op, axis.first, chosen[root(encoding)]))
    return;
  storedAxis[value] = axis.first;
  stored[value] = encoding;
}

std::optional<int64_t> StoragePlan::getStoredAxis(Value value) const {
  auto found = storedAxis.find(value);
  if (found == storedAxis.end())
    return std::nullopt;
  return found->second;
}

bool isResidualUse(OpOperand &use) {
  Operation *op = use.getOwner();
  auto isActivation = [&](Value value) {
    return value && !isConstant(value) &&
           shapeOf(value) == shapeOf(op->getResult(0));
  };
  if (auto add = dyn_cast<nn::AddOp>(op))
    return isActivation(add.getA()) && isActivation(add.getB());
  auto isAdded = [&](auto product) {
    return product && use.getOperandNumber() >= 2 &&
           use.get() == product.getResidual() && isActivation(use.get());
  };
  return isAdded(dyn_cast<ConvOp>(op)) || isAdded(dyn_cast<MatmulOp>(op));
}

std::optional<StringRef> arithmeticKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<StringRef>>(op)
      .Case<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp>(
          [](Operation *o) { return o->getName().stripDialect(); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<int64_t> mapBroadcastAxis(ArrayRef<int64_t> operand,
                                        ArrayRef<int64_t> result,
                                        int64_t axis) {
  const int64_t own = axis - static_cast<int64_t>(result.size()) +
                      static_cast<int64_t>(operand.size());
  if (own < 0 || operand[own] != result[axis])
    return std::nullopt;
  return own;
}

/// An op that computes its result and can round it to any float type.
static bool canStoreAnyFloat(Operation *op) {
  return isElementwise(op) ||
         isa<ConvOp, MatmulOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::ReduceOp,
             nn::SoftmaxOp, nn::LogSoftmaxOp, nn::BatchNormOp>(op);
}

bool StoragePlan::isStoredAsBf16(Value value) const {
  Operation *op = value.getDefiningOp();
  if (residual != ResidualStorage::Bf16 || !op || !canStoreAnyFloat(op) ||
      !getElementTypeOrSelf(value.getType()).isF32() ||
      llvm::none_of(value.getUses(), isResidualUse))
    return false;
  // Movement and graph outputs keep the type of what they read.
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    return readsEncoded(use.getOwner());
  });
}

std::optional<int64_t> StoragePlan::getRequiredAxis(OpOperand &use) const {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (!isFloatTensor(use.get()))
    return std::nullopt;
  if (isa<ConvOp, MatmulOp>(op) && number < 2) {
    if (isa<ConvOp>(op))
      return 1;
    int64_t rank = shapeOf(use.get()).size();
    return number == 0 ? rank - 1 : rank - 2;
  }
  if (op->getNumResults() != 1)
    return std::nullopt;
  std::optional<int64_t> axis = getStoredAxis(op->getResult(0));
  if (!axis)
    return std::nullopt;
  auto mayBeBlocks = [&](Value value) {
    return !isConstant(value) && getElementTypeOrSelf(value).isF32();
  };
  if (inBlocks && arithmeticKind(op) &&
      llvm::all_of(op->getOperands(), mayBeBlocks) &&
      mayBeBlocks(op->getResult(0)))
    return mapBroadcastAxis(shapeOf(use.get()), shapeOf(op->getResult(0)),
                            *axis);
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<ConvOp, MatmulOp, nn::AddOp>([&](auto) -> std::optional<int64_t> {
        return residual == ResidualStorage::Bfp && isResidualUse(use)
                   ? axis
                   : std::nullopt;
      })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp>([&](auto) -> std::optional<int64_t> {
        // Only batch and channel survive pooling whole.
        return *axis < 2 ? axis : std::nullopt;
      })
      .Case([&](nn::ReduceOp reduce) -> std::optional<int64_t> {
        if (!isGlobalPool(reduce))
          return std::nullopt;
        return mapReduceAxis(reduce, *axis);
      })
      .Case<nn::ConcatOp, nn::InterleaveOp, nn::SliceOp>(
          [&](auto) { return axis; })
      .Case([&](nn::ReshapeOp reshape) {
        // canStoreEncoded has found whole blocks.
        return mapBlocksThroughReshape(shapeOf(reshape.getY()), *axis,
                                       shapeOf(reshape.getX()), 1);
      })
      .Case(
          [&](nn::TransposeOp transpose) { return transpose.getPerm()[*axis]; })
      .Default([](Operation *) { return std::nullopt; });
}

bool StoragePlan::canStoreEncoded(Operation *op, int64_t axis,
                                  const numerics::BlockFormat &format) const {
  // The exponent of a whole tensor is known when its last element is: a float
  // is stored, measured and encoded for those who read blocks.
  if (format.block == numerics::BlockFormat::kTensor)
    return false;
  BlockType type =
      BlockType::get(context, format.mantissa, format.block, format.range, axis,
                     format.isUnsigned, format.rows);
  if (isElementwise(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<nn::MaxPoolOp, nn::AvgPoolOp, nn::SoftmaxOp, nn::LogSoftmaxOp,
            nn::BatchNormOp>([](auto) { return true; })
      // Every block stays whole, so the blocks are moved, not the floats.
      .Case([](nn::TransposeOp) { return true; })
      // A product finishes one position of all output channels at a time: it
      // can find the exponent of blocks along its channels, and of no others.
      .Case([&](ConvOp) { return axis == 1; })
      .Case([&](MatmulOp product) {
        return axis + 1 ==
               static_cast<int64_t>(shapeOf(product.getOutput()).size());
      })
      .Case([&](nn::ReduceOp reduce) {
        return mapReduceAxis(reduce, axis).has_value();
      })
      .Case([&](nn::ConcatOp concat) {
        SmallVector<int64_t> extents;
        for (Value input : concat.getInputs())
          extents.push_back(shapeOf(input)[concat.getAxis()]);
        return concatKeepsBlocks(type, concat.getAxis(), extents);
      })
      .Case([&](nn::InterleaveOp interleave) {
        return interleave.getFactors()[axis] == 1;
      })
      .Case([&](nn::SliceOp slice) {
        return sliceKeepsBlocks(type, shapeOf(slice.getX()), slice.getStarts(),
                                slice.getSteps(), shapeOf(slice.getY()));
      })
      .Case([&](nn::ReshapeOp reshape) {
        return mapBlocksThroughReshape(shapeOf(reshape.getY()), axis,
                                       shapeOf(reshape.getX()), format.block)
            .has_value();
      })
      .Default([](Operation *) { return false; });
}

} // namespace ashlar::bfp
