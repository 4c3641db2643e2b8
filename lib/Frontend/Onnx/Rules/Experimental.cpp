// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that were experimental in operator set 1 and left ONNX with 1.5.
// Models that Core ML and CNTK exporters wrote have them, style transfer above
// all, and ONNX Runtime still runs them.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The operand; these operators are of floats alone.
Value floatsOf(Node &n) {
  Value x = n.input(0);
  if (x && !isFloatElement(x))
    return n.malformed("the operand has the type {}, expected floats",
                       typeText(x));
  return x;
}

/// x * factor + summand, of which neutral ones are left out.
Value affineOf(Node &n, Value x, double factor, double summand) {
  if (x && factor != 1)
    x = n.binary<MulOp>(x, n.splat(factor, elementOf(x)));
  if (x && summand != 0)
    x = n.binary<AddOp>(x, n.splat(summand, elementOf(x)));
  return x;
}

void affine(Node &n) {
  const double alpha = n.getFloat("alpha", 1.0f),
               beta = n.getFloat("beta", 0.0f);
  n.setOutput(0, affineOf(n, floatsOf(n), alpha, beta));
}

void scale(Node &n) {
  n.setOutput(0, affineOf(n, floatsOf(n), n.getFloat("scale", 1.0f), 0));
}

/// alpha * function(beta * x)
template <UnaryFunction function>
void scaledFunction(Node &n) {
  const double alpha = n.getFloat("alpha", 1.0f),
               beta = n.getFloat("beta", 1.0f);
  Value x = affineOf(n, floatsOf(n), beta, 0);
  n.setOutput(0, affineOf(n, n.unary(function, x), alpha, 0));
}

/// The operand, if it is a batch of maps [N, C, H, W].
Value mapsOf(Node &n) {
  Value x = floatsOf(n);
  if (x && rankOf(x) != 4)
    return n.malformed("the operand is {}, expected four dimensions",
                       typeText(x));
  return x;
}

void imageScaler(Node &n) {
  const double factor = n.getFloat("scale", 1.0f);
  const SmallVector<double> bias = n.getFloats("bias");
  Value x = mapsOf(n);
  if (!x)
    return;
  const int64_t channels = shapeOf(x)[1];
  if (static_cast<int64_t>(bias.size()) != channels) {
    n.malformed("attribute 'bias' has {} numbers for {} channels", bias.size(),
                channels);
    return;
  }
  n.setOutput(0,
              n.binary<AddOp>(affineOf(n, x, factor, 0),
                              n.floats(bias, {channels, 1, 1}, elementOf(x))));
}

/// The window that borders [left, top, right, bottom] leave of H x W; a size
/// of it [height, width] replaces the last two.
void crop(Node &n) {
  const SmallVector<int64_t> border = n.getInts("border"),
                             size = n.getInts("scale");
  Value x = mapsOf(n);
  if (!x)
    return;
  if (border.size() != 4 || (!size.empty() && size.size() != 2)) {
    n.malformed("attribute 'border' has {} numbers and 'scale' has {}, "
                "expected 4 and 0 or 2",
                border.size(), size.size());
    return;
  }
  Shape starts = {0, 0, border[1], border[0]}, sizes(shapeOf(x));
  for (size_t i : {0, 1}) {
    const int64_t first = border[1 - i], last = border[3 - i];
    int64_t &extent = sizes[2 + i];
    const int64_t room = extent;
    // Compared without sums: the attributes are any numbers.
    const bool inside = first >= 0 && first < room;
    if (size.empty())
      extent = inside && last >= 0 ? room - first - std::min(last, room) : 0;
    else
      extent = inside && size[i] <= room - first ? size[i] : 0;
    if (extent < 1) {
      n.malformed("border [{}] and scale [{}] leave no window of {}",
                  fmt::join(border, ", "), fmt::join(size, ", "), typeText(x));
      return;
    }
  }
  n.setOutput(0, n.slice(x, starts, sizes, {1, 1, 1, 1}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::experimentalRows() {
  return {
      {"Affine", {1}, affine, "a product and a sum; experimental"},
      {"Crop", {1}, crop, "a slice; experimental"},
      {"ImageScaler", {1}, imageScaler, "a product and a sum; experimental"},
      {"ParametricSoftplus",
       {1},
       scaledFunction<UnaryFunction::Softplus>,
       "one operation and products; experimental"},
      {"Scale", {1}, scale, "a product; experimental"},
      {"ScaledTanh",
       {1},
       scaledFunction<UnaryFunction::Tanh>,
       "one operation and products; experimental"},
  };
}
