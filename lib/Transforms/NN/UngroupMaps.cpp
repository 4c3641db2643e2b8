// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes statistics of groups of channels on the feature map as it is. Input
// and output: any `nn` function.
//
// Exporters write the normalisation of groups of channels as one of instances
// between two reshapes: [N, C, H, W] to [N, G, C/G * H * W] and back. Both
// shapes are products of the same factors, here N, G, C/G, H and W. What is
// reduced over whole axes of the map and then, of few elements, over the rest
// of a group needs neither reshape.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_UNGROUPMAPS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// A factor of the extents of two shapes of the same elements: part of one axis
/// of the map and of one of the grouped map.
struct Factor {
  int64_t extent = 1;
  size_t map = 0, grouped = 0;
};

/// The factors above 1 that make both shapes, outermost first; nothing if axes
/// of one begin and end within those of the other one, or if there are no
/// elements.
std::optional<SmallVector<Factor>> commonFactors(ArrayRef<int64_t> map,
                                                 ArrayRef<int64_t> grouped) {
  SmallVector<Factor> factors;
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1; // Of the axes before i and j.
  while (true) {
    while (left == 1 && i < map.size())
      left = map[i++];
    while (right == 1 && j < grouped.size())
      right = grouped[j++];
    if (left == 1 && right == 1)
      return factors;
    const int64_t extent = std::min(left, right);
    if (extent <= 1 || left % extent != 0 || right % extent != 0)
      return std::nullopt;
    factors.push_back({extent, i - 1, j - 1});
    left /= extent, right /= extent;
  }
}

/// Reduces over `axes`, each left as one element: within each channel first, as
/// channels lie in partitions of their own.
Value reduceByChannel(OpBuilder &builder, Location loc, ReduceKind kind,
                      Value x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> inner(axes);
  llvm::erase(inner, 1);
  if (inner.empty() || inner.size() == axes.size())
    return reduceTo(builder, loc, kind, x, axes);
  Value y = reduceTo(builder, loc, kind, x, inner);
  return reduceTo(builder, loc, outerKind(kind), y, 1);
}

/// Largest constant that is stored once per channel of a group, in elements;
/// larger ones are repeated by the machine, as those that FoldConstants keeps.
constexpr int64_t kMostRepeated = int64_t(1) << 20;

/// What `op` makes of a constant is a constant, as later passes ask for.
Value foldedIfConstant(OpBuilder &builder, Operation *op) {
  Value result = op->getResult(0);
  if (!isConstant(op->getOperand(0)) ||
      typeOf(result).getNumElements() > kMostRepeated)
    return result;
  std::optional<ElementsAttr> value = evaluateConstant(op);
  if (!value)
    return result;
  result = ConstantOp::create(builder, op->getLoc(), result.getType(), *value);
  op->erase();
  return result;
}

/// The operations between a reshape that forms groups and those that undo it.
class GroupedRegion {
public:
  explicit GroupedRegion(ReshapeOp entry)
      : entry(entry), mapShape(shapeOf(entry.getX())),
        groupedShape(shapeOf(entry.getY())) {}

  /// True if the region can be computed on the map, and reshapes of whole maps
  /// vanish.
  bool find();
  void rewrite();

private:
  bool add(Operation *op);
  bool addReduce(ReduceOp op);
  bool isInner(Value value) const {
    return shapeOf(value) == ArrayRef(groupedShape);
  }
  bool movesChannels() const;

  /// Whether each factor is in a value that broadcasts to the grouped shape.
  SmallVector<bool> factorsOf(Value value) const;
  /// The value so that it broadcasts to the map instead.
  Value ungrouped(OpBuilder &builder, Value value);
  Value reduced(OpBuilder &builder, ReduceOp op, Value x) const;

  ReshapeOp entry;
  SmallVector<int64_t> mapShape, groupedShape;
  SmallVector<Factor> factors;
  llvm::SetVector<Operation *> members;
  llvm::DenseMap<Value, Value> onMap; ///< Grouped values and small ones.
  bool reduces = false, returns = false;
};

/// True if the channels are no axis of their own in the grouped shape, so that
/// elements lie in other partitions there.
bool GroupedRegion::movesChannels() const {
  constexpr size_t kChannels = 1;
  std::optional<size_t> axis;
  for (const Factor &factor : factors)
    if (factor.map == kChannels) {
      if (axis && *axis != factor.grouped)
        return true;
      axis = factor.grouped;
    }
  return axis && llvm::any_of(factors, [&](const Factor &factor) {
           return factor.map != kChannels && factor.grouped == *axis;
         });
}

bool GroupedRegion::find() {
  auto common = commonFactors(mapShape, groupedShape);
  if (!common || isConstant(entry.getX()))
    return false;
  factors = std::move(*common);
  if (!movesChannels())
    return false;
  SmallVector<Operation *> readers(entry->getUsers());
  while (!readers.empty()) {
    Operation *op = readers.pop_back_val();
    if (members.contains(op))
      continue;
    if (!add(op))
      return false;
    members.insert(op);
    if (worksByElement(op))
      llvm::append_range(readers, op->getUsers());
  }
  // Operands that are whole maps have to be made in the region.
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      if (isInner(operand) && operand != entry.getY() &&
          !members.contains(operand.getDefiningOp()))
        return false;
  return reduces && returns;
}

/// True for what can be computed on the map.
bool GroupedRegion::add(Operation *op) {
  if (op->getBlock() != entry->getBlock())
    return false;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    returns |= shapeOf(reshape.getY()) == ArrayRef(mapShape);
    return shapeOf(reshape.getY()) == ArrayRef(mapShape);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return addReduce(reduce);
  return worksByElement(op) && isInner(op->getResult(0));
}

/// A reduction over whole axes of the map leaves few elements, those of each
/// channel; the order of its sums changes.
bool GroupedRegion::addReduce(ReduceOp op) {
  if (!isa<FloatType>(op.getType().getElementType()))
    return false;
  SmallVector<bool> whole(mapShape.size(), true);
  for (const Factor &factor : factors)
    whole[factor.map] =
        whole[factor.map] &&
        llvm::is_contained(op.getAxes(), static_cast<int64_t>(factor.grouped));
  for (const Factor &factor : factors)
    if (whole[factor.map])
      return reduces = true;
  return false;
}

SmallVector<bool> GroupedRegion::factorsOf(Value value) const {
  ArrayRef<int64_t> shape = shapeOf(value);
  const size_t lead = groupedShape.size() - shape.size();
  SmallVector<bool> has;
  for (const Factor &factor : factors)
    has.push_back(factor.grouped >= lead && shape[factor.grouped - lead] != 1);
  return has;
}

Value GroupedRegion::ungrouped(OpBuilder &builder, Value value) {
  auto [found, fresh] = onMap.try_emplace(value);
  if (!fresh)
    return found->second;
  // Of each axis of the map: its elements in the value, all of its elements if
  // there are any, and for each of these the one of the value.
  SmallVector<int64_t> own(mapShape.size(), 1);
  SmallVector<SmallVector<int64_t>> indices(mapShape.size(), {0});
  for (auto [factor, present] : llvm::zip(factors, factorsOf(value))) {
    SmallVector<int64_t> &axis = indices[factor.map], wider;
    for (int64_t index : axis)
      for (int64_t i = 0; i < factor.extent; ++i)
        wider.push_back(present ? index * factor.extent + i : index);
    axis = std::move(wider);
    if (present)
      own[factor.map] *= factor.extent;
  }
  Value result = makeReshape(builder, value.getLoc(), value, own);
  if (result != value)
    result = foldedIfConstant(builder, result.getDefiningOp());
  for (auto [axis, extent] : llvm::enumerate(mapShape)) {
    if (own[axis] == 1 || own[axis] == extent)
      continue;
    own[axis] = extent;
    auto repeated =
        GatherOp::create(builder, value.getLoc(), typeOf(result).clone(own),
                         result, static_cast<int64_t>(axis), indices[axis]);
    result = foldedIfConstant(builder, repeated);
  }
  return onMap[value] = result;
}

/// First over the whole axes of the map, then over the factors that are left.
Value GroupedRegion::reduced(OpBuilder &builder, ReduceOp op, Value x) const {
  SmallVector<int64_t> axes, left, rest;
  SmallVector<bool> whole(mapShape.size(), true);
  auto inGroup = [&](const Factor &factor) {
    return llvm::is_contained(op.getAxes(),
                              static_cast<int64_t>(factor.grouped));
  };
  for (const Factor &factor : factors)
    whole[factor.map] = whole[factor.map] && inGroup(factor);
  for (auto [axis, extent] : llvm::enumerate(mapShape))
    if (extent != 1 && whole[axis])
      axes.push_back(static_cast<int64_t>(axis));
  for (auto [i, factor] : llvm::enumerate(factors)) {
    left.push_back(whole[factor.map] ? 1 : factor.extent);
    if (inGroup(factor) && !whole[factor.map])
      rest.push_back(static_cast<int64_t>(i));
  }
  Value y = reduceByChannel(builder, op.getLoc(), op.getKind(), x, axes);
  if (!rest.empty()) {
    y = makeReshape(builder, op.getLoc(), y, left);
    y = reduceTo(builder, op.getLoc(), outerKind(op.getKind()), y, rest);
  }
  return makeReshape(builder, op.getLoc(), y, op.getType().getShape());
}

void GroupedRegion::rewrite() {
  SmallVector<Operation *> ops(members.getArrayRef());
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  onMap[entry.getY()] = entry.getX();
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      reduce.getY().replaceAllUsesWith(
          reduced(builder, reduce, onMap.lookup(reduce.getX())));
    } else if (auto exit = dyn_cast<ReshapeOp>(op)) {
      exit.getY().replaceAllUsesWith(onMap.lookup(exit.getX()));
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(ungrouped(builder, operand));
      OperationState state(op->getLoc(), op->getName());
      state.addOperands(operands);
      state.addTypes(typeOf(op->getResult(0)).clone(mapShape));
      state.addAttributes(op->getAttrs());
      onMap[op->getResult(0)] = builder.create(state)->getResult(0);
    }
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  entry.erase();
}

/// True for a reduction of floats over channels of several elements and over
/// these.
bool reducesChannels(ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  return isa<FloatType>(op.getType().getElementType()) && shape.size() > 2 &&
         shape[1] > 1 && llvm::is_contained(op.getAxes(), 1) &&
         llvm::any_of(op.getAxes(), [&](int64_t axis) {
           return axis > 1 && shape[axis] > 1;
         });
}

struct UngroupMapsPass : ashlar::nn::impl::UngroupMapsBase<UngroupMapsPass> {
  void runOnOperation() override {
    SmallVector<ReshapeOp> entries;
    getOperation().walk([&](ReshapeOp op) { entries.push_back(op); });
    // From the last one on: a region takes only later reshapes with it.
    for (ReshapeOp entry : llvm::reverse(entries)) {
      GroupedRegion region(entry);
      if (region.find()) {
        region.rewrite();
        ++numUngrouped;
      }
    }
    SmallVector<ReduceOp> whole;
    getOperation().walk([&](ReduceOp op) {
      if (reducesChannels(op))
        whole.push_back(op);
    });
    for (ReduceOp op : whole) {
      OpBuilder builder(op);
      Value y = reduceByChannel(builder, op.getLoc(), op.getKind(), op.getX(),
                                op.getAxes());
      op.getY().replaceAllUsesWith(
          makeReshape(builder, op.getLoc(), y, op.getType().getShape()));
      op.erase();
    }
  }
};

} // namespace
