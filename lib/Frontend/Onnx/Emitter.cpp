// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction of `nn` operations for the handlers.

#include "Emitter.h"
#include "Tensors.h"

#include "ashlar/Support/Half.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNTypes.h"

#include <cstring>
#include <numeric>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;
using mlir::ElementsAttr;
using mlir::Operation;

std::string ashlar::frontend::typeText(Value value) {
  std::string text;
  for (int64_t d : shapeOf(value))
    text += std::to_string(d) + "x";
  llvm::raw_string_ostream(text) << elementOf(value);
  return text;
}

ElementsAttr ashlar::frontend::constantOf(Value value) {
  if (auto op = value ? value.getDefiningOp<ConstantOp>() : ConstantOp())
    return op.getValue();
  return {};
}

std::nullptr_t Emitter::fail(ErrorClass errorClass, std::string text) {
  if (message.empty()) {
    kind = errorClass;
    message = text.empty() ? "failed" : std::move(text);
  }
  return nullptr;
}

std::nullptr_t Emitter::fail(llvm::Error error, ErrorClass foreign) {
  if (!error)
    return nullptr;
  ErrorClass found = support::classify(error, foreign);
  return fail(found, llvm::toString(std::move(error)));
}

std::optional<Shape> Emitter::accept(ShapeOr shape) {
  if (shape)
    return std::move(*shape);
  fail(shape.takeError(), ErrorClass::Malformed);
  return std::nullopt;
}

bool Emitter::checkShape(ShapeRef shape) {
  if (llvm::Error error = checkSize(shape, maxElements, "the result")) {
    fail(std::move(error), ErrorClass::Capacity);
    return false;
  }
  return true;
}

bool Emitter::reserve(int64_t elements, uint64_t width) {
  const uint64_t wanted = static_cast<uint64_t>(elements) * width;
  const uint64_t left = budget.bytesLeft();
  if (budget.takeBytes(wanted))
    return true;
  fail(ErrorClass::Capacity,
       fmt::format("a constant of {} elements takes {} bytes, of which {} are "
                   "left for constants that a file of this size may make; "
                   "store it in the model or make it smaller",
                   elements, wanted, left));
  return false;
}

Value Emitter::finish(Operation *op) {
  Value result = op->getResult(0);
  if (!checkShape(shapeOf(result))) {
    op->erase();
    return nullptr;
  }
  if (ElementsAttr folded = foldOnHost(op, budget)) {
    op->erase();
    return constant(folded);
  }
  if (!budget.takeOperations(1)) {
    op->erase();
    return fail(ErrorClass::Capacity,
                "it and the nodes before become more operations than a file "
                "of this size may make; use fewer operands or parts");
  }
  operations.push_back(op);
  return result;
}

Value Emitter::constant(ElementsAttr elements) {
  if (failed() || !elements)
    return nullptr;
  return ConstantOp::create(b, loc, elements.getType(), elements);
}

Value Emitter::integers(ArrayRef<int64_t> values, Shape shape, Type element) {
  std::optional<support::ElementType> plain = toElementType(element);
  if (failed() || !plain)
    return nullptr;
  if (mlir::isa<mlir::FloatType>(element))
    return floats(SmallVector<double>(values.begin(), values.end()), shape,
                  element);
  unsigned width = byteSize(*plain);
  std::string bytes(values.size() * width, '\0');
  for (auto [i, value] : llvm::enumerate(values))
    std::memcpy(&bytes[i * width], &value, width);
  return constant(
      makeElements(type(shape, element), std::move(bytes), "integers"));
}

Value Emitter::iota(int64_t count, int64_t axis, int64_t rank, Type element) {
  if (failed() || !checkShape(count) || !reserve(count, 2 * sizeof(int64_t)))
    return nullptr;
  SmallVector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t(0));
  Shape shape(rank, 1);
  shape[axis] = count;
  return integers(numbers, shape, element);
}

/// The nearest number of a type, ties to even, in one rounding.
static llvm::APFloat rounded(double number, mlir::FloatType type) {
  llvm::APFloat exact(number);
  bool inexact;
  exact.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return exact;
}

Value Emitter::floats(ArrayRef<double> values, Shape shape, Type element) {
  if (failed())
    return nullptr;
  // Other types are codes, which a cast makes.
  const bool plain = element.isF64() || element.isF16() || element.isBF16();
  auto stored = plain ? mlir::cast<mlir::FloatType>(element) : b.getF32Type();
  const unsigned width = stored.getWidth() / 8;
  std::string bytes(values.size() * width, '\0');
  for (auto [i, value] : llvm::enumerate(values)) {
    const uint64_t bits =
        rounded(value, stored).bitcastToAPInt().getZExtValue();
    std::memcpy(&bytes[i * width], &bits, width);
  }
  return cast(
      constant(makeElements(type(shape, stored), std::move(bytes), "numbers")),
      element);
}

Value Emitter::splat(double number, Type element, ShapeRef shape) {
  if (failed())
    return nullptr;
  mlir::RankedTensorType tensor = type(shape, element);
  mlir::Attribute value;
  if (auto floatType = mlir::dyn_cast<mlir::FloatType>(element)) {
    value = mlir::FloatAttr::get(floatType, rounded(number, floatType));
  } else {
    value = mlir::IntegerAttr::get(
        element,
        llvm::APInt(element.getIntOrFloatBitWidth(),
                    static_cast<uint64_t>(static_cast<int64_t>(number)), false,
                    true));
  }
  return constant(mlir::DenseElementsAttr::get(tensor, value));
}

Value Emitter::fill(ElementsAttr value, ShapeRef shape) {
  auto one = mlir::cast<mlir::RankedTensorType>(value.getType());
  auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
  if (failed() || !dense || !checkShape(shape))
    return nullptr;
  const int64_t count = elementCount(shape);
  const uint64_t width = byteSize(*toElementType(one.getElementType()));
  if (count > maxInlineElements && !budget.takeBytes(count * width))
    return broadcast(constant(dense.reshape(type({1}, one.getElementType()))),
                     shape);
  if (count <= nn::kMostOfSplat)
    return constant(dense.resizeSplat(type(shape, one.getElementType())));
  nn::ElementStorage storage;
  auto element = nn::rawElements(value, storage);
  if (!element)
    return fail(ErrorClass::Unsupported, "its value has no plain form");
  auto repeat = [element = element->take_front(width).vec()](
                    size_t first, llvm::MutableArrayRef<char> to) {
    nn::repeatBytes(element, first, to);
    return true;
  };
  return constant(nn::deferElements(type(shape, one.getElementType()),
                                    std::move(repeat), "fill"));
}

Value Emitter::reshape(Value x, ShapeRef shape) {
  if (failed() || !x)
    return nullptr;
  if (shapeOf(x) == shape)
    return x;
  if (elementCount(shapeOf(x)) != elementCount(shape))
    return malformed("cannot reshape {} to {}", typeText(x),
                     shapeToString(shape));
  return finish(ReshapeOp::create(b, loc, type(shape, elementOf(x)), x));
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> perm) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferTranspose(shapeOf(x), perm));
  if (!shape || llvm::is_sorted(perm))
    return shape ? x : nullptr;
  return finish(
      TransposeOp::create(b, loc, type(*shape, elementOf(x)), x, perm));
}

Value Emitter::broadcast(Value x, ShapeRef shape) {
  if (failed() || !x)
    return nullptr;
  if (llvm::Error error = checkBroadcastTo(shapeOf(x), shape))
    return fail(std::move(error), ErrorClass::Malformed);
  if (shapeOf(x) == shape)
    return x;
  return finish(BroadcastOp::create(b, loc, type(shape, elementOf(x)), x));
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                     ArrayRef<int64_t> steps) {
  if (failed() || !x)
    return nullptr;
  if (llvm::Error error = checkSlice(shapeOf(x), starts, steps, sizes))
    return fail(std::move(error), ErrorClass::Malformed);
  if (shapeOf(x) == sizes &&
      llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return x;
  return finish(
      SliceOp::create(b, loc, type(sizes, elementOf(x)), x, starts, steps));
}

Value Emitter::sliceAxis(Value x, int64_t axis, int64_t start, int64_t size) {
  if (failed() || !x)
    return nullptr;
  Shape starts(rankOf(x), 0), steps(rankOf(x), 1), sizes(shapeOf(x));
  starts[axis] = start;
  sizes[axis] = size;
  return slice(x, starts, sizes, steps);
}

Value Emitter::concat(ArrayRef<Value> inputs, int64_t axis) {
  if (failed() || llvm::is_contained(inputs, Value()))
    return nullptr;
  SmallVector<Shape> shapes;
  for (Value input : inputs) {
    shapes.emplace_back(shapeOf(input));
    if (elementOf(input) != elementOf(inputs.front()))
      return malformed("operands have different types: {} and {}",
                       typeText(inputs.front()), typeText(input));
  }
  std::optional<Shape> shape = accept(inferConcat(shapes, axis));
  if (!shape || inputs.size() == 1)
    return shape ? inputs.front() : nullptr;
  return finish(ConcatOp::create(
      b, loc, type(*shape, elementOf(inputs.front())), inputs, axis));
}

Value Emitter::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   PadMode mode, double value) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferPad(shapeOf(x), low, high, {}));
  if (!shape)
    return nullptr;
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return x;
  return finish(PadOp::create(b, loc, type(*shape, elementOf(x)), x, low, high,
                              ArrayRef<int64_t>(), mode, llvm::APFloat(value)));
}

Value Emitter::dilate(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                      ArrayRef<int64_t> interior) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape =
      accept(inferPad(shapeOf(x), low, high, interior));
  if (!shape)
    return nullptr;
  return finish(PadOp::create(b, loc, type(*shape, elementOf(x)), x, low, high,
                              interior, PadMode::Constant, llvm::APFloat(0.0)));
}

Value Emitter::gather(Value x, int64_t axis, ArrayRef<int64_t> indices) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferGather(shapeOf(x), axis, indices));
  if (!shape)
    return nullptr;
  bool identity = ShapeRef(*shape) == shapeOf(x);
  for (size_t i = 0; identity && i < indices.size(); ++i)
    identity = indices[i] == static_cast<int64_t>(i);
  if (identity)
    return x;
  return finish(
      GatherOp::create(b, loc, type(*shape, elementOf(x)), x, axis, indices));
}

Value Emitter::takeAt(Value x, Value indices, int64_t axis) {
  if (guard && indices)
    indices = where(guard, indices, integers(0, {}, elementOf(indices)));
  if (failed() || !x || !indices)
    return nullptr;
  std::optional<Shape> shape =
      accept(inferTake(shapeOf(x), shapeOf(indices), axis));
  if (!shape)
    return nullptr;
  return finish(
      TakeOp::create(b, loc, type(*shape, elementOf(x)), x, indices, axis));
}

Value Emitter::unary(UnaryFunction function, Value x, double alpha,
                     double beta) {
  if (failed() || !x)
    return nullptr;
  return finish(UnaryOp::create(b, loc, x.getType(), function, x,
                                llvm::APFloat(static_cast<float>(alpha)),
                                llvm::APFloat(static_cast<float>(beta))));
}

Value Emitter::cast(Value x, Type element) {
  if (failed() || !x || elementOf(x) == element)
    return failed() ? nullptr : x;
  return finish(CastOp::create(b, loc, type(shapeOf(x), element), x));
}

Value Emitter::mod(Value a, Value b2, bool fmod) {
  if (failed() || !a || !b2)
    return nullptr;
  std::optional<Shape> shape = accept(inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(ModOp::create(b, loc, type(*shape, elementOf(a)), a, b2, fmod));
}

Value Emitter::compare(CompareKind kind, Value a, Value b2) {
  if (failed() || !a || !b2)
    return nullptr;
  std::optional<Shape> shape = accept(inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(
      CompareOp::create(b, loc, type(*shape, b.getI1Type()), kind, a, b2));
}

Value Emitter::logical(LogicalKind kind, Value a, Value b2) {
  if (failed() || !a || !b2)
    return nullptr;
  if (!elementOf(a).isInteger(1) || !elementOf(b2).isInteger(1))
    return malformed("operands have the types {} and {}, expected booleans",
                     typeText(a), typeText(b2));
  std::optional<Shape> shape = accept(inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(
      LogicalOp::create(b, loc, type(*shape, b.getI1Type()), kind, a, b2));
}

Value Emitter::bitwise(LogicalKind kind, Value a, Value b2) {
  if (failed() || !a || !b2)
    return nullptr;
  if (elementOf(a) != elementOf(b2) || isFloatElement(a))
    return malformed("operands have the types {} and {}, expected integers of "
                     "one type",
                     typeText(a), typeText(b2));
  std::optional<Shape> shape = accept(inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(
      LogicalOp::create(b, loc, type(*shape, elementOf(a)), kind, a, b2));
}

Value Emitter::where(Value condition, Value a, Value b2) {
  if (failed() || !condition || !a || !b2)
    return nullptr;
  std::optional<Shape> shape = accept(inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (shape)
    shape = accept(inferBroadcast(*shape, shapeOf(condition)));
  if (!shape)
    return nullptr;
  return finish(
      WhereOp::create(b, loc, type(*shape, elementOf(a)), condition, a, b2));
}
