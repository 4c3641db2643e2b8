// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `nn` operations with inferred result types. Errors are sticky: after
// the first one every call returns a null value, and a null operand gives a
// null result, so handlers read like formulas. Operations whose operands are
// small constants are computed on the spot; that is how shape computations
// disappear.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EMITTER_H
#define ASHLAR_LIB_FRONTEND_ONNX_EMITTER_H

#include "ashlar/Support/Budget.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NN/NNShapes.h"

#include <optional>
#include <string>

namespace ashlar::frontend {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Type;
using mlir::Value;
using nn::Shape;
using nn::ShapeRef;

/// Shape of a value of the importer (always ranked and static).
inline ShapeRef shapeOf(Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline int64_t rankOf(Value value) { return shapeOf(value).size(); }
inline Type elementOf(Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}
inline bool isFloatElement(Value value) {
  return mlir::isa<mlir::FloatType>(elementOf(value));
}
/// "1x3x8x8xf32"
std::string typeText(Value value);

/// The value as a compile-time constant, if it is one.
mlir::ElementsAttr constantOf(Value value);
/// Integer or boolean constant as numbers (row major).
std::optional<SmallVector<int64_t>> integersOf(Value value);
/// Constant of any plain type as numbers.
std::optional<SmallVector<double>> numbersOf(Value value);

class Emitter {
public:
  /// Without `useHost` work of the host is an error.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, int64_t maxElements,
          support::Budget &budget, bool useHost)
      : useHost(useHost), b(builder), loc(loc), maxElements(maxElements),
        budget(budget) {}

  bool failed() const { return !message.empty(); }
  ErrorClass errorClass() const { return kind; }
  const std::string &errorMessage() const { return message; }

  /// Records the first error; always null, so that it can be returned.
  template <typename... Args>
  std::nullptr_t unsupported(fmt::format_string<Args...> format,
                             Args &&...args) {
    return fail(ErrorClass::Unsupported,
                fmt::vformat(format, fmt::make_format_args(args...)));
  }
  template <typename... Args>
  std::nullptr_t malformed(fmt::format_string<Args...> format, Args &&...args) {
    return fail(ErrorClass::Malformed,
                fmt::vformat(format, fmt::make_format_args(args...)));
  }
  std::nullptr_t fail(ErrorClass errorClass, std::string text);
  /// Records `error` unless it is success.
  std::nullptr_t fail(llvm::Error error, ErrorClass foreign);

  mlir::MLIRContext *context() const { return b.getContext(); }
  /// int64, which ONNX has for indices.
  Type indexType() const { return b.getI64Type(); }

  /// Records an error and gives false if a tensor of `shape` is too large.
  bool checkShape(ShapeRef shape);

  /// Takes the bytes of a constant that is made now from the budget; records
  /// an error and gives false if that is too little.
  bool reserve(int64_t elements, uint64_t width);

  /// Operations made so far, without constants and folded ones.
  ArrayRef<mlir::Operation *> made() const { return operations; }

  // Constants.
  Value constant(mlir::ElementsAttr elements);
  /// Whole numbers, rounded where \p element is a float type.
  Value integers(ArrayRef<int64_t> values, Shape shape, Type element);
  /// 0, 1, ... along `axis` of `rank` dimensions, the others 1.
  Value iota(int64_t count, int64_t axis, int64_t rank, Type element);
  /// Numbers of a float type, each rounded once: to float64, float32, float16
  /// or bfloat16, to others by way of float32.
  Value floats(ArrayRef<double> values, Shape shape, Type element);
  /// One number repeated; floats round once to `element`.
  Value splat(double number, Type element, ShapeRef shape = {});
  /// The one element of `value` repeated. What the budget has no bytes for
  /// stays an operation, which the machine runs.
  Value fill(mlir::ElementsAttr value, ShapeRef shape);

  // Movement.
  Value reshape(Value x, ShapeRef shape);
  Value transpose(Value x, ArrayRef<int64_t> perm);
  Value broadcast(Value x, ShapeRef shape);
  Value slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
              ArrayRef<int64_t> steps);
  /// `size` elements from `start` along one axis.
  Value sliceAxis(Value x, int64_t axis, int64_t start, int64_t size);
  Value concat(ArrayRef<Value> inputs, int64_t axis);
  Value pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
            nn::PadMode mode, double value);
  Value gather(Value x, int64_t axis, ArrayRef<int64_t> indices);
  /// Zeros between neighbours and at the ends; negative ends cut.
  Value dilate(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
               ArrayRef<int64_t> interior);
  /// Says that results count only where the boolean number is true. Reads at
  /// indices that are known at run time then stay inside their operands
  /// elsewhere, whatever the indices are.
  void setGuard(Value condition) { guard = condition; }
  bool isGuarded() const { return guard != nullptr; }
  /// Elements at indices that are known at run time (nn.take).
  Value takeAt(Value x, Value indices, int64_t axis);

  // Element-wise.
  Value unary(nn::UnaryFunction function, Value x, double alpha = 0,
              double beta = 0);
  Value cast(Value x, Type element);
  template <class OpTy>
  Value binary(Value a, Value b2);
  Value mod(Value a, Value b2, bool fmod);
  Value compare(nn::CompareKind kind, Value a, Value b2);
  Value logical(nn::LogicalKind kind, Value a, Value b2);
  /// Bit by bit on integers of one type.
  Value bitwise(nn::LogicalKind kind, Value a, Value b2);
  Value where(Value condition, Value a, Value b2);

  // Products, windows, reductions.
  struct ConvAttributes {
    Shape strides, pads, dilations;
    int64_t group = 1;
  };
  /// Products of integers name the type of their accumulators in `result`.
  Value conv(Value x, Value w, Value bias, const ConvAttributes &attributes,
             Type result = {});
  Value convTranspose(Value x, Value w, Value bias,
                      const ConvAttributes &attributes);
  /// True if there is no bias or it has one value per channel; else records
  /// an error.
  bool acceptBias(Value bias, int64_t channels);
  Value matmul(Value a, Value b2, Type result = {});
  struct PoolAttributes {
    Shape kernel, strides, pads, dilations;
    nn::Rounding rounding = nn::Rounding::Floor;
    bool countIncludePad = false;
    bool sums = false; ///< Averages are not divided.
  };
  /// The result's shape; an error is recorded.
  std::optional<Shape> poolShape(Value x, const PoolAttributes &attributes);
  Value maxPool(Value x, const PoolAttributes &attributes);
  Value avgPool(Value x, const PoolAttributes &attributes);
  /// `axes` need not be sorted; duplicates are errors.
  Value reduce(nn::ReduceKind kind, Value x, ArrayRef<int64_t> axes,
               bool keepdims);
  Value argReduce(nn::ArgKind kind, Value x, int64_t axis, bool keepdims,
                  bool selectLast);
  Value softmax(Value x, int64_t axis, bool logarithm);
  Value batchNorm(Value x, ArrayRef<Value> parameters, double epsilon);

  // Work of the host: indices, i64, and -1 where there is none.
  const bool useHost;
  Value nonzero(Value x);
  Value argSort(Value x, int64_t axis, int64_t keep, bool descending);
  Value unique(Value x, bool sorted);
  Value nms(Value boxes, Value scores, Value most, Value iou, Value least,
            bool center, bool filtered, int64_t keep);

protected:
  mlir::RankedTensorType type(ShapeRef shape, Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  /// The shape, or nothing after recording the error.
  std::optional<Shape> accept(nn::ShapeOr shape);
  /// Checks, folds and records a finished operation.
  Value finish(mlir::Operation *op);
  /// Records an error and gives false where the host may not be used.
  bool acceptHost(StringRef function);
  /// The type of indices of an inferred shape; null after recording the error.
  mlir::RankedTensorType indices(nn::ShapeOr shape);

  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t maxElements;
  support::Budget &budget;

private:
  Value guard;
  ErrorClass kind = ErrorClass::Internal;
  std::string message;
  SmallVector<mlir::Operation *> operations;
};

template <class OpTy>
Value Emitter::binary(Value a, Value b2) {
  if (failed() || !a || !b2)
    return nullptr;
  if (elementOf(a) != elementOf(b2))
    return malformed("operands have different types: {} and {}", typeText(a),
                     typeText(b2));
  std::optional<Shape> shape =
      accept(nn::inferBroadcast(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(OpTy::create(b, loc, type(*shape, elementOf(a)), a, b2));
}

/// The value of a constant operation, or null if it does not fold: operands
/// not constant, too large, of a kind that is left to the simplify phase,
/// without a defined result (integer division by zero), or beyond the budget.
mlir::ElementsAttr foldOnHost(mlir::Operation *op, support::Budget &budget);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EMITTER_H
