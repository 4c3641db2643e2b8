// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the `nn` rewrites.

#include "Rewrite.h"
#include "ashlar/Reference/Constants.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNElements.h"

using namespace mlir;
using namespace ashlar;
using reference::Tensor;

RankedTensorType nn::typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

ArrayRef<int64_t> nn::shapeOf(Value value) { return typeOf(value).getShape(); }

nn::ConstantOp nn::constantOp(Value value) {
  return value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
}

std::optional<Tensor> nn::constantTensor(Value value) {
  ConstantOp op = constantOp(value);
  if (!op)
    return std::nullopt;
  llvm::Expected<HostTensor> host = reference::readElements(op.getValue());
  if (!host) {
    llvm::consumeError(host.takeError());
    return std::nullopt;
  }
  llvm::Expected<Tensor> tensor = reference::fromHost(*host);
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return std::nullopt;
  }
  return std::move(*tensor);
}

std::optional<Tensor> nn::floatConstant(Value value) {
  if (!value || !isa<FloatType>(typeOf(value).getElementType()))
    return std::nullopt;
  return constantTensor(value);
}

std::optional<double> nn::splatNumber(Value value) {
  std::optional<Tensor> tensor = floatConstant(value);
  if (!tensor || tensor->floats.empty() || !llvm::all_equal(tensor->floats))
    return std::nullopt;
  return tensor->floats.front();
}

Value nn::makeConstant(OpBuilder &builder, Location loc, const Tensor &tensor,
                       Type elementType) {
  auto type = RankedTensorType::get(tensor.shape, elementType);
  HostTensor host = reference::toHost(tensor, *nn::toElementType(elementType));
  return ConstantOp::create(builder, loc, type,
                            reference::makeElements(type, host));
}

Value nn::scaleConstant(OpBuilder &builder, Location loc, Value value,
                        ArrayRef<double> factors, int64_t run) {
  ConstantOp constant = constantOp(value);
  if (constant && typeOf(value).getElementType().isF32() && run > 0) {
    ElementsAttr scaled =
        scaledElements(constant.getValue(), factors.vec(), run, "constant");
    return scaled ? ConstantOp::create(builder, loc, typeOf(value), scaled)
                  : Value();
  }
  std::optional<Tensor> tensor = floatConstant(value);
  if (!tensor)
    return {};
  for (size_t i = 0; i < tensor->floats.size(); ++i)
    tensor->floats[i] *= factors[i / run % factors.size()];
  return makeConstant(builder, loc, *tensor, typeOf(value).getElementType());
}

Value nn::scaleWeights(OpBuilder &builder, Location loc, ConvOp conv,
                       ArrayRef<double> factors) {
  const int64_t outputs = std::max<int64_t>(shapeOf(conv.getW())[0], 1);
  return scaleConstant(builder, loc, conv.getW(), factors,
                       typeOf(conv.getW()).getNumElements() / outputs);
}

Value nn::scaleWeights(OpBuilder &builder, Location loc, ConvTransposeOp conv,
                       ArrayRef<double> factors) {
  std::optional<Tensor> weights = floatConstant(conv.getW());
  if (!weights)
    return {};
  int64_t outPerGroup = weights->shape[1];
  int64_t inPerGroup = weights->shape[0] / conv.getGroup();
  int64_t taps = 1;
  for (int64_t k : ArrayRef<int64_t>(weights->shape).drop_front(2))
    taps *= k;
  for (int64_t i = 0, e = weights->size(); i < e; ++i) {
    int64_t row = i / taps;
    int64_t c = row / outPerGroup, o = row % outPerGroup;
    weights->floats[i] *= factors[c / inPerGroup * outPerGroup + o];
  }
  return makeConstant(builder, loc, *weights,
                      typeOf(conv.getW()).getElementType());
}

Value nn::scaleWeights(OpBuilder &builder, Location loc, MatMulOp matmul,
                       ArrayRef<double> factors) {
  return scaleConstant(builder, loc, matmul.getB(), factors, /*run=*/1);
}

std::optional<std::vector<double>>
nn::perAxisConstant(Value value, ArrayRef<int64_t> shape, int64_t axis) {
  if (!isConstant(value))
    return std::nullopt;
  ArrayRef<int64_t> own = shapeOf(value);
  if (own.size() > shape.size())
    return std::nullopt;
  int64_t lead = static_cast<int64_t>(shape.size() - own.size());
  for (int64_t d = 0; d < static_cast<int64_t>(own.size()); ++d)
    if (own[d] != 1 && d + lead != axis)
      return std::nullopt;
  std::optional<Tensor> tensor = floatConstant(value);
  if (!tensor)
    return std::nullopt;
  if (tensor->size() == shape[axis])
    return std::move(tensor->floats);
  // One value for all channels.
  if (tensor->size() == 1)
    return std::vector<double>(shape[axis], tensor->floats[0]);
  return std::nullopt;
}

Location nn::fuseLocations(Operation *main, ArrayRef<Operation *> absorbed) {
  SmallVector<Location> locations{main->getLoc()};
  for (Operation *op : absorbed)
    locations.push_back(op->getLoc());
  return FusedLoc::get(main->getContext(), locations);
}

Location nn::passedLocation(Operation *movement, Operation *op) {
  auto mark = StringAttr::get(op->getContext(), "passed");
  Location own = movement->getLoc();
  if (auto fused = dyn_cast<FusedLoc>(own);
      fused && fused.getMetadata() == mark)
    own = fused.getLocations().front();
  return FusedLoc::get({own, op->getLoc()}, mark, op->getContext());
}

/// Bytes that each element of a map may take on the chip: one if convolutions
/// alone read it, maybe after functions of an element; two if it is one of
/// several that are concatenated for them; four of a float.
static int64_t bytesOfElement(Value map) {
  int64_t bytes = map.use_empty() ? 4 : 1;
  for (Operation *user : map.getUsers()) {
    auto conv = dyn_cast<nn::ConvOp>(user);
    if (conv && conv.getX() == map)
      continue;
    if (!isa<nn::UnaryOp, nn::ConcatOp>(user))
      return 4;
    const int64_t own = bytesOfElement(user->getResult(0));
    bytes = std::max(bytes, isa<nn::ConcatOp>(user) ? 2 * own : own);
  }
  return bytes;
}

bool nn::fitsOnChip(Value result, ArrayRef<int64_t> shape,
                    const MachineView &machine) {
  if (shape.size() < 2)
    return false;
  const int64_t tiles = llvm::divideCeil(shape[1], machine.partitions);
  const int64_t positions = shape[0] * llvm::product_of(shape.drop_front(2));
  return tiles * positions * bytesOfElement(result) <=
         machine.partitionBytes / 4 * 3;
}

Tensor nn::vectorTensor(ArrayRef<double> values) {
  Tensor result(ElementType::F64, {static_cast<int64_t>(values.size())});
  result.floats.assign(values.begin(), values.end());
  return result;
}

Value nn::makeReshape(OpBuilder &builder, Location loc, Value x,
                      ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return ReshapeOp::create(builder, loc, type, x);
}

Value nn::addBias(OpBuilder &builder, Location loc, Value y, Value bias) {
  SmallVector<int64_t> shape(shapeOf(y).size(), 1);
  shape[1] = shapeOf(y)[1];
  Value column = makeReshape(builder, loc, bias, shape);
  return AddOp::create(builder, loc, y.getType(), y, column);
}

bool nn::worksByElement(Operation *op) {
  return isa<UnaryOp, CastOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp,
             PReluOp, ModOp, CompareOp, LogicalOp, WhereOp>(op);
}

Value nn::reduceTo(OpBuilder &builder, Location loc, ReduceKind kind, Value x,
                   ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t axis : axes)
    shape[axis] = 1;
  return ReduceOp::create(builder, loc, typeOf(x).clone(shape), kind, x, axes,
                          /*keepdims=*/true);
}

nn::ReduceKind nn::outerKind(ReduceKind kind) {
  return kind == ReduceKind::L1 || kind == ReduceKind::SumSquare
             ? ReduceKind::Sum
             : kind;
}

RankedTensorType nn::broadcastType(Value a, Value b) {
  ArrayRef<int64_t> longer = shapeOf(a), shorter = shapeOf(b);
  if (longer.size() < shorter.size())
    std::swap(longer, shorter);
  SmallVector<int64_t> shape(longer);
  size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i)
    if (shape[lead + i] == 1)
      shape[lead + i] = shorter[i];
  return RankedTensorType::get(shape, typeOf(a).getElementType());
}
