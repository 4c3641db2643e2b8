// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random operators: what they draw is a constant of the program.

#include "lib/Frontend/Onnx/Draws.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "dialects/NN/NNElements.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Draws drawsOf(Node &n) {
  std::optional<double> given;
  if (n.hasAttribute("seed"))
    given = n.getFloat("seed", 0);
  return Draws(seedOf(given, n.name()));
}

/// The element type that an attribute names.
std::optional<Type> typeOf(Node &n, int64_t number) {
  auto type = elementTypeOf(static_cast<int32_t>(number), "the result");
  if (type)
    return toMlirType(n.context(), *type);
  n.fail(type.takeError(), ErrorClass::Malformed);
  return std::nullopt;
}

/// `draw` for every element of `shape`; at least binary32.
template <class Fn>
Value drawn(Node &n, ShapeRef shape, Type element, Fn &&draw) {
  if (n.failed() || !n.checkShape(shape) ||
      !n.reserve(elementCount(shape), 2 * sizeof(double)))
    return nullptr;
  SmallVector<double> numbers(elementCount(shape));
  for (double &number : numbers)
    number = draw();
  return n.floats(numbers, Shape(shape), element);
}

Value drawnUniform(Node &n, ShapeRef shape, Type element) {
  Draws draws = drawsOf(n);
  return drawn(n, shape, element, [&] { return draws.uniform(); });
}

enum class Distribution { Uniform, Normal };

template <Distribution kind>
void random(Node &n, ShapeRef shape, Type element) {
  if (!mlir::isa<mlir::FloatType>(element)) {
    n.malformed("the result has integers, expected floats");
    return;
  }
  Draws draws = drawsOf(n);
  if (kind == Distribution::Uniform) {
    const double low = n.getFloat("low", 0), high = n.getFloat("high", 1);
    n.setOutput(0, drawn(n, shape, element,
                         [&] { return low + (high - low) * draws.uniform(); }));
  } else {
    const double mean = n.getFloat("mean", 0), scale = n.getFloat("scale", 1);
    n.setOutput(0, drawn(n, shape, element,
                         [&] { return mean + scale * draws.normal(); }));
  }
}

template <Distribution kind>
void randomOfShape(Node &n) {
  const SmallVector<int64_t> shape = n.getInts("shape");
  std::optional<Type> element = typeOf(n, n.getInt("dtype", 1));
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }))
    n.malformed("shape is {}", shapeToString(shape));
  if (element && !n.failed())
    random<kind>(n, shape, *element);
}

template <Distribution kind>
void randomLike(Node &n) {
  Value like = n.input(0);
  if (!like)
    return;
  std::optional<Type> element = elementOf(like);
  if (n.hasAttribute("dtype"))
    element = typeOf(n, n.getInt("dtype", 1));
  if (element && !n.failed())
    random<kind>(n, shapeOf(like), *element);
}

/// 1 with the probability that each element of x is.
void bernoulli(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  std::optional<Type> element = elementOf(x);
  if (n.hasAttribute("dtype"))
    element = typeOf(n, n.getInt("dtype", 1));
  if (!element || n.failed())
    return;
  if (!isFloatElement(x)) {
    n.malformed("the probabilities are {}", typeText(x));
    return;
  }
  Value even = drawnUniform(n, shapeOf(x), elementOf(x));
  n.setOutput(0, n.cast(n.compare(CompareKind::Less, even, x), *element));
}

/// For each row the number of the class whose part of the sum a draw hits.
void multinomial(Node &n) {
  Value x = n.input(0);
  const int64_t count = n.getInt("sample_size", 1);
  std::optional<Type> element = typeOf(n, n.getInt("dtype", 6));
  if (!x || !element || n.failed())
    return;
  if (rankOf(x) != 2 || !isFloatElement(x) || shapeOf(x)[1] < 1 || count < 1 ||
      mlir::isa<mlir::FloatType>(*element)) {
    n.malformed("{} samples of {}", count, typeText(x));
    return;
  }
  const int64_t rows = shapeOf(x)[0], classes = shapeOf(x)[1];
  Value sums = n.softmax(n.cast(x, mlir::Float32Type::get(n.context())), 1,
                         /*logarithm=*/false);
  for (int64_t reach = 1; sums && reach < classes; reach *= 2)
    sums =
        n.binary<AddOp>(sums, n.pad(n.sliceAxis(sums, 1, 0, classes - reach),
                                    {0, reach}, {0, 0}, PadMode::Constant, 0));
  if (!sums)
    return;
  Value even = drawnUniform(n, {rows, count, 1}, elementOf(sums));
  // The last sum is 1 but for rounding: no draw is beyond it.
  Value below = n.compare(
      CompareKind::GreaterOrEqual, even,
      n.reshape(n.sliceAxis(sums, 1, 0, classes - 1), {rows, 1, classes - 1}));
  Value hit = n.reduce(ReduceKind::Sum, n.cast(below, *element), {2},
                       /*keepdims=*/false);
  n.setOutput(0, classes == 1
                     ? n.broadcast(n.integers({0}, {}, *element), {rows, count})
                     : hit);
}

/// A mask of ones.
void keepAll(Node &n, Value x) {
  n.setOutput(0, x);
  if (x && n.outputUsed(1))
    n.setOutput(1,
                n.broadcast(n.splat(1, mlir::IntegerType::get(n.context(), 1)),
                            shapeOf(x)));
}

/// In training, what a draw below the ratio hits is dropped and the rest is
/// scaled, so that the sum is about as before.
void trainableDropout(Node &n) {
  Value x = n.input(0);
  std::optional<double> training = 0, ratio = 0.5;
  if (n.hasInput(2))
    training = n.constantNumber(2, "training_mode");
  if (training.value_or(0) != 0 && n.hasInput(1))
    ratio = n.constantNumber(1, "ratio");
  // The attribute is an integer, unlike that of the other operators.
  std::optional<double> seed;
  if (n.hasAttribute("seed"))
    seed = static_cast<double>(n.getInt("seed", 0));
  if (!x || !training || !ratio || n.failed())
    return;
  if (*training == 0 || *ratio == 0) {
    keepAll(n, x);
    return;
  }
  if (!(*ratio > 0 && *ratio < 1)) {
    n.malformed("ratio is {}, expected at least 0 and below 1", *ratio);
    return;
  }
  Draws draws(seedOf(seed, n.name()));
  const Type whole = mlir::IntegerType::get(n.context(), 1);
  Value kept = n.cast(drawn(n, shapeOf(x), mlir::Float32Type::get(n.context()),
                            [&] { return draws.uniform() >= *ratio; }),
                      whole);
  Value factor = n.splat(1 / (1 - *ratio), elementOf(x));
  // A product, as in the definition: a dropped -1 is -0.
  n.setOutput(0, n.binary<MulOp>(n.binary<MulOp>(n.cast(kept, elementOf(x)), x),
                                 factor));
  n.setOutput(1, kept);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::randomRows() {
  const char *note =
      "a constant, the same in every run; the default seed is derived "
      "from the node's name";
  return {
      {"RandomUniform", {1, 22}, randomOfShape<Distribution::Uniform>, note},
      {"RandomNormal", {1, 22}, randomOfShape<Distribution::Normal>, note},
      {"RandomUniformLike", {1, 22}, randomLike<Distribution::Uniform>, note},
      {"RandomNormalLike", {1, 22}, randomLike<Distribution::Normal>, note},
      {"Bernoulli",
       {15, 22},
       bernoulli,
       "comparison with constant draws, as of RandomUniform"},
      {"Multinomial",
       {7, 22},
       multinomial,
       "sums of probabilities compared with constant draws"},
      {"Dropout",
       {12, 13, 22},
       trainableDropout,
       "nothing, and the mask is a constant; in training a product with a "
       "constant mask, drawn as by RandomUniform"},
  };
}
