// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that compare indices with positions: triangles, unit matrices,
// one-hot rows, prefix sums along an axis.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "dialects/NN/NNElements.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Value zeroOf(Node &n, Value x) {
  return isFloatElement(x) ? n.splat(0, elementOf(x))
                           : n.integers(0, {}, elementOf(x));
}

/// An operand of one element without its dimensions.
Value scalarInput(Node &n, size_t i) {
  Value x = n.input(i);
  if (x && elementCount(shapeOf(x)) != 1)
    return n.malformed("input {} is {}, expected one element", i, typeText(x));
  return n.reshape(x, {});
}

/// Keeps what is not below (above) diagonal k, which may be known at run time
/// only.
void trilu(Node &n) {
  Value x = n.input(0);
  const bool upper = n.getInt("upper", 1) != 0;
  if (!x)
    return;
  if (rankOf(x) < 2) {
    n.malformed("the input is {}, expected a matrix", typeText(x));
    return;
  }
  const Type type = n.indexType();
  Value k =
      n.hasInput(1) ? n.cast(scalarInput(n, 1), type) : n.integers(0, {}, type);
  Value rows = n.iota(shapeOf(x)[rankOf(x) - 2], 0, 2, type);
  Value columns = n.iota(shapeOf(x)[rankOf(x) - 1], 1, 2, type);
  Value kept =
      n.compare(upper ? CompareKind::GreaterOrEqual : CompareKind::LessOrEqual,
                columns, n.binary<AddOp>(rows, k));
  n.setOutput(0, n.where(kept, x, zeroOf(n, x)));
}

void eyeLike(Node &n) {
  Value x = n.input(0);
  const int64_t k = n.getInt("k", 0), kind = n.getInt("dtype", 0);
  if (!x)
    return;
  if (rankOf(x) != 2) {
    n.malformed("the input is {}, expected a matrix", typeText(x));
    return;
  }
  Type element = elementOf(x);
  if (n.hasAttribute("dtype")) {
    auto given = elementTypeOf(static_cast<int32_t>(kind), "the result");
    if (!given) {
      n.fail(given.takeError(), ErrorClass::Malformed);
      return;
    }
    element = toMlirType(n.context(), *given);
  }
  const Type type = n.indexType();
  Value rows = n.iota(shapeOf(x)[0], 0, 2, type);
  Value columns = n.iota(shapeOf(x)[1], 1, 2, type);
  Value shifted = n.binary<AddOp>(rows, n.integers(k, {}, type));
  n.setOutput(0,
              n.cast(n.compare(CompareKind::Equal, columns, shifted), element));
}

/// Rows of `depth` numbers, one of which is the second of `values`. An index
/// out of [-depth, depth) chooses none.
void oneHot(Node &n) {
  Value indices = n.input(0), values = n.input(2);
  std::optional<double> depth = n.constantNumber(1, "depth");
  int64_t axis = n.getInt("axis", -1);
  if (!indices || !values || !depth)
    return;
  constexpr double most = int64_t(1) << 40;
  const auto count =
      static_cast<int64_t>(*depth >= 1 && *depth <= most ? *depth : 0);
  if (count < 1 || shapeOf(values) != ShapeRef(int64_t(2))) {
    n.malformed("depth is {} and the values are {}, expected 1 or more and two "
                "numbers",
                *depth, typeText(values));
    return;
  }
  const int64_t rank = rankOf(indices) + 1;
  axis = n.normalAxis(axis, rank);
  if (n.failed())
    return;
  Shape shape(shapeOf(indices));
  shape.insert(shape.begin() + axis, 1);
  const Type type = n.indexType();
  auto number = [&](int64_t value) { return n.integers(value, {}, type); };
  Value index = n.reshape(n.cast(indices, type), shape);
  index = n.where(n.compare(CompareKind::Less, index, number(0)),
                  n.binary<AddOp>(index, number(count)), index);
  Value chosen =
      n.compare(CompareKind::Equal, index, n.iota(count, axis, rank, type));
  Value off = n.reshape(n.sliceAxis(values, 0, 0, 1), {});
  Value on = n.reshape(n.sliceAxis(values, 0, 1, 1), {});
  n.setOutput(0, n.where(chosen, on, off));
}

/// 1 at the first largest element along the axis. Before version 13 the axes
/// from `axis` on count as one.
void hardmax(Node &n) {
  Value x = n.input(0);
  const bool flat = n.opset() < 13;
  int64_t axis = n.getInt("axis", flat ? 1 : -1);
  if (!x)
    return;
  const Shape shape(shapeOf(x));
  axis = flat && axis == rankOf(x) ? axis : n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  if (flat) {
    x = n.reshape(x, {elementCount(ShapeRef(shape).take_front(axis)),
                      elementCount(ShapeRef(shape).drop_front(axis))});
    axis = 1;
  }
  Value first = n.argReduce(ArgKind::Max, x, axis, /*keepdims=*/true,
                            /*selectLast=*/false);
  if (!first)
    return;
  Value places = n.iota(shapeOf(x)[axis], axis, rankOf(x), n.indexType());
  Value y = n.cast(n.compare(CompareKind::Equal, first, places), elementOf(x));
  n.setOutput(0, n.reshape(y, shape));
}

/// `x` moved by `count` places along the axis; `fill` comes in.
Value shifted(Node &n, Value x, int64_t axis, int64_t count, bool backwards,
              double fill) {
  if (!x)
    return nullptr;
  const int64_t left = shapeOf(x)[axis] - count;
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  (backwards ? high : low)[axis] = count;
  return n.pad(n.sliceAxis(x, axis, backwards ? count : 0, left), low, high,
               PadMode::Constant, fill);
}

/// Sums (products) of doubled reach: as many rounds as the extent has bits.
template <class OpTy>
void prefix(Node &n) {
  Value x = n.input(0);
  std::optional<double> given = n.constantNumber(1, "axis");
  const bool exclusive = n.getInt("exclusive", 0) != 0,
             backwards = n.getInt("reverse", 0) != 0;
  if (!x || !given)
    return;
  const int64_t axis = n.normalAxis(static_cast<int64_t>(*given), rankOf(x));
  if (n.failed())
    return;
  const int64_t extent = shapeOf(x)[axis];
  const double neutral = std::is_same_v<OpTy, MulOp> ? 1 : 0;
  if (exclusive && extent > 0)
    x = shifted(n, x, axis, 1, backwards, neutral);
  for (int64_t reach = 1; reach < extent && !n.failed(); reach *= 2)
    x = n.binary<OpTy>(x, shifted(n, x, axis, reach, backwards, neutral));
  n.setOutput(0, x);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::maskRows() {
  return {
      {"Trilu", {14}, trilu, "comparison of positions and choice"},
      {"Trilu",
       {1},
       trilu,
       "comparison of positions and choice",
       "com.microsoft"},
      {"EyeLike", {9, 22}, eyeLike, "a constant"},
      {"OneHot",
       {9, 11},
       oneHot,
       "comparison of positions and choice; the depth must be constant"},
      {"Hardmax",
       {1, 11, 13},
       hardmax,
       "comparison with the place of the "
       "largest element"},
      {"CumSum",
       {11, 14},
       prefix<AddOp>,
       "sums of doubled reach; the axis must be constant"},
      {"CumProd",
       {26},
       prefix<MulOp>,
       "products of doubled reach; the axis must be constant"},
  };
}
