// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads and rotary positions.

#include "Heads.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

Value ashlar::frontend::splitHeads(Node &n, Value x, int64_t heads,
                                   StringRef attribute) {
  if (!x || rankOf(x) == 4)
    return x;
  if (rankOf(x) != 3)
    return n.malformed("an operand is {}, expected 3 or 4 dimensions",
                       typeText(x));
  const ShapeRef shape = shapeOf(x);
  if (heads < 1 || shape[2] % heads != 0)
    return n.malformed("{} is {}, for {}", attribute.str(), heads, typeText(x));
  Value apart = n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return n.transpose(apart, {0, 2, 1, 3});
}

Value ashlar::frontend::repeatHeads(Node &n, Value x, int64_t heads) {
  if (!x || shapeOf(x)[1] == heads)
    return x;
  const Shape shape(shapeOf(x));
  if (shape[1] < 1 || heads % shape[1] != 0)
    return n.malformed("{} heads of queries with {} of keys", heads, shape[1]);
  const int64_t group = heads / shape[1];
  Value wide = n.reshape(x, {shape[0], shape[1], 1, shape[2], shape[3]});
  wide = n.broadcast(wide, {shape[0], shape[1], group, shape[2], shape[3]});
  return n.reshape(wide, {shape[0], heads, shape[2], shape[3]});
}

Value ashlar::frontend::tableRows(Node &n, Value table, Value positions,
                                  int64_t batch, int64_t length) {
  if (!table)
    return nullptr;
  const int64_t half = shapeOf(table).back();
  if (!positions)
    return n.reshape(table, {batch, length, 1, half});
  if (rankOf(table) != 2)
    return n.malformed("a table with positions is {}, expected 2 dimensions",
                       typeText(table));
  Value index =
      n.reshape(n.broadcast(positions, {batch, length}), {batch * length, 1});
  return n.reshape(n.takeAt(table, index, 0), {batch, length, 1, half});
}

Value ashlar::frontend::turnHeads(Node &n, Value x, Value cosine, Value sine,
                                  bool interleaved) {
  if (n.failed() || !x || !cosine || !sine)
    return nullptr;
  const Shape shape(shapeOf(x));
  const int64_t half = shapeOf(cosine).back(), rotated = 2 * half;
  auto part = [&](int64_t start, int64_t step) {
    Shape starts(4, 0), sizes(shape), steps(4, 1);
    starts[3] = start;
    sizes[3] = half;
    steps[3] = step;
    return n.slice(x, starts, sizes, steps);
  };
  Value first = part(0, interleaved ? 2 : 1);
  Value second = part(interleaved ? 1 : half, interleaved ? 2 : 1);
  auto mul = [&](Value a, Value b) { return n.binary<MulOp>(a, b); };
  Value real = n.binary<SubOp>(mul(cosine, first), mul(sine, second));
  Value imaginary = n.binary<AddOp>(mul(sine, first), mul(cosine, second));
  Value turned;
  if (interleaved) {
    const Shape pair = {shape[0], shape[1], shape[2], half, 1};
    turned = n.concat({n.reshape(real, pair), n.reshape(imaginary, pair)}, 4);
    turned = n.reshape(turned, {shape[0], shape[1], shape[2], rotated});
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  if (rotated < shape[3])
    turned =
        n.concat({turned, n.sliceAxis(x, 3, rotated, shape[3] - rotated)}, 3);
  return turned;
}
