// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters per tensor, per slice and per block.

#include "QuantizeParameters.h"

#include "llvm/Support/MathExtras.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

Type ashlar::frontend::i32Of(Emitter &n) {
  return mlir::IntegerType::get(n.context(), 32);
}
Type ashlar::frontend::i16Of(Emitter &n) {
  return mlir::IntegerType::get(n.context(), 16);
}
Type ashlar::frontend::i8Of(Emitter &n) {
  return mlir::IntegerType::get(n.context(), 8);
}
Type ashlar::frontend::u8Of(Emitter &n) {
  return mlir::IntegerType::get(n.context(), 8, mlir::IntegerType::Unsigned);
}
Type ashlar::frontend::f32Of(Emitter &n) {
  return mlir::Float32Type::get(n.context());
}

bool ashlar::frontend::isSmallInteger(Type type, unsigned limit) {
  auto integer = mlir::dyn_cast<mlir::IntegerType>(type);
  return integer && (integer.getWidth() == 8 || integer.getWidth() == 16) &&
         integer.getWidth() <= limit;
}

/// One parameter per block of an axis, repeated for the elements of the block.
static Value spreadBlocks(Node &n, Value parameter, int64_t axis,
                          ShapeRef shape, StringRef name, int64_t block) {
  axis = n.normalAxis(axis, static_cast<int64_t>(shape.size()));
  if (n.failed())
    return nullptr;
  Shape blocks(shape);
  if (block > 0)
    blocks[axis] = static_cast<int64_t>(llvm::divideCeil(shape[axis], block));
  if (block < 0 || shapeOf(parameter) != ShapeRef(blocks))
    return n.malformed("{} is {}, expected {} for blocks of {} along axis {} "
                       "of {}",
                       name.str(), typeText(parameter), shapeToString(blocks),
                       block, axis, shapeToString(shape));
  SmallVector<int64_t> indices;
  for (int64_t i = 0; i < shape[axis]; ++i)
    indices.push_back(i / block);
  return n.gather(parameter, axis, indices);
}

Value ashlar::frontend::spread(Node &n, Value parameter, int64_t axis,
                               ShapeRef shape, StringRef name, int64_t block) {
  if (!parameter || n.failed())
    return nullptr;
  if (block != 0)
    return spreadBlocks(n, parameter, axis, shape, name, block);
  if (elementCount(shapeOf(parameter)) == 1)
    return n.reshape(parameter, {});
  int64_t rank = shape.size();
  if (rankOf(parameter) != 1)
    return n.unsupported("{} has the type {}, only parameters per tensor or "
                         "per slice of one axis are known",
                         name.str(), typeText(parameter));
  axis = n.normalAxis(axis, rank);
  if (n.failed())
    return nullptr;
  if (shape[axis] != shapeOf(parameter)[0])
    return n.malformed("{} has {} entries, axis {} has {}", name.str(),
                       shapeOf(parameter)[0], axis, shape[axis]);
  Shape along(rank, 1);
  along[axis] = shape[axis];
  return n.reshape(parameter, along);
}

bool ashlar::frontend::isZero(Value value) {
  auto numbers = value ? numbersOf(value) : std::nullopt;
  return !value ||
         (numbers && llvm::all_of(*numbers, [](double v) { return v == 0; }));
}

Value ashlar::frontend::addZeroAndSaturate(Node &n, Value v, Value zero,
                                           Type element) {
  auto integer = mlir::cast<mlir::IntegerType>(element);
  double span = static_cast<double>(int64_t(1) << integer.getWidth());
  double low = integer.isUnsigned() ? 0 : -span / 2;
  if (!isZero(zero))
    v = n.binary<AddOp>(v, n.cast(zero, elementOf(v)));
  v = n.unary(UnaryFunction::Clip, v, low, low + span - 1);
  return n.cast(v, element);
}
