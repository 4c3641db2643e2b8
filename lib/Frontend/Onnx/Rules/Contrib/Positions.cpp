// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Biases by the distance of two positions, and gates of them.

#include "lib/Frontend/Onnx/Registry.h"

#include "ashlar/Numerics/Function.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The logarithm as binary32 has it, the same on every host.
float logarithm(float x) {
  return static_cast<float>(
      numerics::applyWide(numerics::Function::Log, static_cast<double>(x)));
}

/// Buckets of distances: near ones have their own, far ones share it by their
/// logarithm.
struct Buckets {
  int64_t count, farthest;
  bool bothWays;

  int64_t of(int64_t key, int64_t query) const {
    const int64_t own = bothWays ? count / 2 : count, exact = own / 2,
                  first = bothWays && key > query ? own : 0,
                  distance = std::abs(key - query);
    if (distance < exact)
      return first + distance;
    const auto near = static_cast<float>(exact);
    const float share = logarithm(static_cast<float>(distance) / near) /
                        logarithm(static_cast<float>(farthest) / near) *
                        static_cast<float>(own - exact);
    return first + std::min(exact + static_cast<int64_t>(share), own - 1);
  }
};

/// A table of [heads][buckets], which its shape names the other way round.
void relativePositionBias(Node &n) {
  Value table = n.input(0);
  auto query = n.constantNumber(1, "query_length"),
       key = n.constantNumber(2, "key_length");
  Buckets b = {0, n.getInt("max_distance", 0),
               n.getInt("is_bidirectional", 0) != 0};
  if (n.failed() || !table || !query || !key)
    return;
  const auto length = static_cast<int64_t>(*query);
  if (*query != *key || length < 1 || length > (int64_t(1) << 15)) {
    n.malformed("query_length is {} and key_length {}, expected one positive "
                "length",
                *query, *key);
    return;
  }
  b.count = rankOf(table) == 2 ? shapeOf(table)[0] : 0;
  const int64_t exact = b.count / (b.bothWays ? 4 : 2);
  if (exact < 1 || b.farthest <= exact || b.farthest > (int64_t(1) << 24)) {
    n.malformed("max_distance is {} for a table {}, expected a matrix of "
                "buckets and a distance above {}",
                b.farthest, typeText(table), exact);
    return;
  }
  const int64_t heads = shapeOf(table)[1];
  if (!n.reserve(length * length, sizeof(int64_t)))
    return;
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < length; ++j)
      places.push_back(b.of(j, i));
  Value rows = n.gather(n.reshape(table, {heads, b.count}), 1, places);
  n.setOutput(0, n.reshape(rows, {1, heads, length, length}));
}

/// Whether the operands are those of queries [batch, length, heads * size].
bool checkGates(Node &n, int64_t heads) {
  Value x = n.input(0), bias = n.input(1), terms = n.input(2), w = n.input(3),
        shift = n.input(4), factor = n.input(5);
  if (n.hasInput(6))
    n.unsupported("token_offset: tokens without padding; export the model with "
                  "padding");
  if (n.failed())
    return false;
  const bool fit =
      rankOf(x) == 3 && heads > 0 && shapeOf(x)[2] % heads == 0 &&
      shapeOf(bias) == ShapeRef(shapeOf(x)[2]) && rankOf(w) == 2 &&
      shapeOf(w)[0] == shapeOf(x)[2] / heads && shapeOf(w)[1] % 2 == 0 &&
      shapeOf(shift) == ShapeRef(shapeOf(w)[1]) &&
      shapeOf(terms) == ShapeRef({1, heads, shapeOf(x)[1], shapeOf(x)[1]}) &&
      shapeOf(factor) == ShapeRef({1, heads, 1, 1});
  if (!fit)
    n.malformed("operands are {}, {}, {}, {}, {} and {} for {} heads",
                typeText(x), typeText(bias), typeText(terms), typeText(w),
                typeText(shift), typeText(factor), heads);
  return fit;
}

/// The gates of the halves of a projection: u * (r * a - 1) + 2.
void gatedPositionBias(Node &n) {
  const int64_t heads = n.getInt("num_heads", 0);
  if (!checkGates(n, heads))
    return;
  Value x = n.binary<AddOp>(n.input(0), n.input(1));
  const Shape shape(shapeOf(n.input(0)));
  const int64_t half = shapeOf(n.input(3))[1] / 2;
  x = n.transpose(n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}),
                  {0, 2, 1, 3});
  Value all = n.binary<AddOp>(n.matmul(x, n.input(3)), n.input(4));
  Value gates = n.unary(
      UnaryFunction::Sigmoid,
      n.reduce(ReduceKind::Sum,
               n.reshape(all, {shape[0], heads, shape[1], 2, half}), {4},
               /*keepdims=*/false));
  if (!gates)
    return;
  Value u = n.sliceAxis(gates, 3, 0, 1), r = n.sliceAxis(gates, 3, 1, 1);
  auto number = [&](double value) { return n.splat(value, elementOf(gates)); };
  Value inner = n.binary<SubOp>(n.binary<MulOp>(r, n.input(5)), number(1));
  Value gate = n.binary<AddOp>(n.binary<MulOp>(u, inner), number(2));
  n.setOutput(0, n.binary<MulOp>(gate, n.input(2)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::positionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"RelativePositionBias",
       {1},
       relativePositionBias,
       "one operation on the table; the lengths must be constant",
       domain},
      {"GatedRelativePositionBias",
       {1},
       gatedPositionBias,
       "a product, a reduction and element-wise operations; no token_offset",
       domain},
  };
}
