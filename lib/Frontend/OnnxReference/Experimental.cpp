// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that were experimental in operator set 1 and left ONNX with 1.5,
// as ONNX Runtime computes them.

#include "Registry.h"
#include "Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

void affine(Call &call) {
  const double alpha = call.getFloat("alpha", 1),
               beta = call.getFloat("beta", 0);
  call.setResult(0, mappedFloats(call, call.operand(0),
                                 [=](double x) { return alpha * x + beta; }));
}

void scale(Call &call) {
  const double factor = call.getFloat("scale", 1);
  call.setResult(0, mappedFloats(call, call.operand(0),
                                 [=](double x) { return factor * x; }));
}

void parametricSoftplus(Call &call) {
  const double alpha = call.getFloat("alpha", 1),
               beta = call.getFloat("beta", 1);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   const double v = beta * x;
                   // exp of a large operand has no finite value.
                   return alpha * (std::max(v, 0.0) +
                                   std::log1p(std::exp(-std::abs(v))));
                 }));
}

void scaledTanh(Call &call) {
  const double alpha = call.getFloat("alpha", 1),
               beta = call.getFloat("beta", 1);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return alpha * std::tanh(beta * x);
                 }));
}

void imageScaler(Call &call) {
  const double factor = call.getFloat("scale", 1);
  const SmallVector<double> bias = call.getFloats("bias");
  const Tensor &x = call.operand(0);
  if (!call.require(x.shape.size() == 4 && x.isFloat() &&
                        static_cast<int64_t>(bias.size()) == x.shape[1],
                    "one bias for each channel of maps of floats"))
    return;
  Tensor y = x;
  const int64_t pixels = x.shape[2] * x.shape[3];
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] =
        factor * x.floats[i] + bias[static_cast<int64_t>(i) / pixels %
                                    static_cast<int64_t>(bias.size())];
  call.setResult(0, std::move(y));
}

void crop(Call &call) {
  const SmallVector<int64_t> border = call.getInts("border"),
                             size = call.getInts("scale");
  const Tensor &x = call.operand(0);
  if (!call.require(x.shape.size() == 4 && border.size() == 4 &&
                        (size.empty() || size.size() == 2),
                    "borders of four sides of maps"))
    return;
  const int64_t left = border[0], top = border[1], h = x.shape[2],
                w = x.shape[3];
  const int64_t bottom = size.empty() ? h - border[3] : top + size[0],
                right = size.empty() ? w - border[2] : left + size[1];
  if (!call.require(0 <= top && top < bottom && bottom <= h && 0 <= left &&
                        left < right && right <= w,
                    "a window inside the maps"))
    return;
  Tensor y(x.type, {x.shape[0], x.shape[1], bottom - top, right - left});
  withKind(x, [&]<class T>() {
    const std::vector<T> &from = elementsOf<T>(x);
    auto to = elementsOf<T>(y).begin();
    for (int64_t map = 0; map < x.shape[0] * x.shape[1]; ++map)
      for (int64_t row = top; row < bottom; ++row) {
        const auto begin = from.begin() + (map * h + row) * w;
        to = std::copy(begin + left, begin + right, to);
      }
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::experimentalEvaluators() {
  return {
      {"Affine", {1}, 1, affine},
      {"Crop", {1}, 1, crop},
      {"ImageScaler", {1}, 1, imageScaler},
      {"ParametricSoftplus", {1}, 1, parametricSoftplus},
      {"Scale", {1}, 1, scale},
      {"ScaledTanh", {1}, 1, scaledTanh},
  };
}
