// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft that are several element-wise ones in one.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>
#include <complex>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void gatedAdd(Call &call) {
  Tensor y = call.operand(0);
  const Tensor &other = call.operand(1), &gate = call.operand(2);
  const int64_t width = y.shape.empty() ? 0 : y.shape.back();
  if (!call.require(width > 0 && y.isFloat() && other.shape == y.shape &&
                        gate.size() * width == y.size(),
                    "operands do not fit"))
    return;
  for (int64_t i = 0; i < y.size(); ++i)
    y.floats[i] += other.floats[i] * gate.floats[i / width];
  call.setResult(0, std::move(y));
}

void gatedRmsNorm(Call &call) {
  const Tensor &x = call.operand(0), &scale = call.operand(1),
               &gate = call.operand(2);
  const int64_t width = scale.size();
  const double epsilon = call.getFloat("epsilon", 0);
  if (!call.require(width > 0 && rankOf(x) > 0 && x.isFloat() &&
                        x.shape.back() % width == 0 && gate.shape == x.shape,
                    "operands do not fit"))
    return;
  Tensor y(x.type, x.shape);
  for (int64_t first = 0; first < x.size(); first += width) {
    double squares = 0;
    for (int64_t i = first; i < first + width; ++i)
      squares += x.floats[i] * x.floats[i] / static_cast<double>(width);
    for (int64_t i = first; i < first + width; ++i)
      y.floats[i] = x.floats[i] / std::sqrt(squares + epsilon) *
                    scale.floats[i - first] * gate.floats[i] *
                    logistic(gate.floats[i]);
  }
  reference::roundToType(y, y.type); // From binary32.
  call.setResult(0, std::move(y));
}

/// Row r of the scores reads bias row r / times, or r % rows of the bias.
void biasSoftmax(Call &call) {
  Tensor y = call.operand(0);
  const Tensor &bias = call.operand(1);
  const bool inner = call.getInt("is_inner_broadcast", 0) != 0;
  const int64_t axis = call.normalAxis(call.getInt("axis", 1), rankOf(y));
  if (call.failed() || !call.require(y.isFloat() && y.size() > 0, "no floats"))
    return;
  const int64_t width =
                    elementCount(ArrayRef<int64_t>(y.shape).drop_front(axis)),
                rows = y.size() / width, own = bias.size() / width;
  if (!call.require(own > 0 && bias.size() % width == 0 && rows % own == 0,
                    "the bias does not fit"))
    return;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = inner ? r / (rows / own) : r % own;
    double top = -HUGE_VAL, sum = 0;
    double *row = &y.floats[r * width];
    for (int64_t i = 0; i < width; ++i)
      top = std::max(top, row[i] += bias.floats[from * width + i]);
    for (int64_t i = 0; i < width; ++i)
      sum += row[i] = std::exp(row[i] - top);
    for (int64_t i = 0; i < width; ++i)
      row[i] /= sum;
  }
  call.setResult(0, std::move(y));
}

void biasDropout(Call &call) {
  Tensor y = call.operand(0);
  const Tensor &bias = call.operand(1);
  if (!call.require(!call.has(4) || call.integers(4)[0] == 0, "in training") ||
      !call.require(bias.size() > 0 && y.size() % bias.size() == 0 &&
                        (!call.has(2) || call.operand(2).shape == y.shape),
                    "operands do not fit"))
    return;
  for (int64_t i = 0; i < y.size(); ++i) {
    y.floats[i] += bias.floats[i % bias.size()];
    if (call.has(2))
      y.floats[i] += call.operand(2).floats[i];
  }
  Tensor mask(ElementType::Bool, y.shape);
  mask.ints.assign(mask.ints.size(), 1);
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(mask));
}

void linearAttentionGate(Call &call) {
  Tensor decay = call.operand(0);
  const Tensor &bias = call.operand(1), &scale = call.operand(2);
  if (!call.require(decay.isFloat() && rankOf(decay) > 0 &&
                        bias.size() == decay.shape.back() &&
                        scale.size() == bias.size(),
                    "operands do not fit"))
    return;
  for (int64_t i = 0; i < decay.size(); ++i) {
    const double x = decay.floats[i] + bias.floats[i % bias.size()];
    decay.floats[i] = scale.floats[i % bias.size()] *
                      (std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
  }
  reference::roundToType(decay, decay.type); // From binary32.
  call.setResult(0, std::move(decay));
  if (!call.has(3))
    return;
  Tensor beta = mappedFloats(call, call.operand(3), logistic);
  if (call.failed())
    return;
  reference::roundToType(beta, beta.type);
  call.setResult(1, std::move(beta));
}

void gemmaRotary(Call &call) {
  const Tensor &angle = call.operand(0);
  for (size_t part : {0, 1}) {
    const Tensor &x = call.operand(1 + 2 * part),
                 &turned = call.operand(2 + 2 * part);
    if (!call.require(rankOf(x) == 4 && rankOf(angle) == 3 && x.isFloat() &&
                          turned.shape == x.shape &&
                          angle.size() * x.shape[1] == x.size(),
                      "states do not fit the angles"))
      return;
    // Cast to the type of the states.
    Tensor cosine(x.type, angle.shape), sine = cosine, y(x.type, x.shape);
    for (int64_t i = 0; i < angle.size(); ++i) {
      cosine.floats[i] = std::cos(angle.floats[i]);
      sine.floats[i] = std::sin(angle.floats[i]);
    }
    reference::roundToType(cosine, x.type);
    reference::roundToType(sine, x.type);
    forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
      const int64_t a = (at[0] * x.shape[2] + at[2]) * x.shape[3] + at[3];
      y.floats[i] =
          x.floats[i] * cosine.floats[a] + turned.floats[i] * sine.floats[a];
    });
    call.setResult(part, std::move(y));
  }
}

/// Pairs of the last axis are complex numbers.
template <bool conjugate>
void complexMul(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (!call.require(a.isFloat() && b.isFloat() && rankOf(a) > 0 &&
                        rankOf(b) > 0 && a.shape.back() == 2 &&
                        b.shape.back() == 2,
                    "operands are no complex numbers"))
    return;
  const Shape shape = broadcastShape(call, a.shape, b.shape);
  if (call.failed())
    return;
  const Tensor left = broadcastTo(a, shape), right = broadcastTo(b, shape);
  Tensor y(a.type, shape);
  for (int64_t i = 0; i < y.size(); i += 2) {
    const std::complex<double> p(left.floats[i], left.floats[i + 1]),
        q(right.floats[i], right.floats[i + 1]),
        product = p * (conjugate ? std::conj(q) : q);
    y.floats[i] = product.real();
    y.floats[i + 1] = product.imag();
  }
  call.setResult(0, std::move(y));
}

void distances(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  const bool root = call.getString("metric", "sqeuclidean") == "euclidean";
  if (!call.require(rankOf(a) == 2 && rankOf(b) == 2 &&
                        a.shape[1] == b.shape[1] && a.isFloat() && b.isFloat(),
                    "operands are no matrices of as many columns"))
    return;
  const int64_t width = a.shape[1];
  Tensor y(a.type, {a.shape[0], b.shape[0]});
  forEachIndex(y.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < width; ++k) {
      const double off =
          a.floats[at[0] * width + k] - b.floats[at[1] * width + k];
      sum += off * off;
    }
    y.floats[i] = root ? std::sqrt(sum) : sum;
  });
  call.setResult(0, std::move(y));
}

void isAllFinite(Call &call) {
  const bool onlyInf = call.getInt("isinf_only", 0) != 0,
             onlyNan = call.getInt("isnan_only", 0) != 0;
  Tensor y(ElementType::Bool, Shape{});
  y.ints[0] = 1;
  for (size_t i = 0; i < call.numOperands(); ++i)
    for (double x : call.operand(i).floats)
      if ((std::isnan(x) && !onlyInf) || (std::isinf(x) && !onlyNan))
        y.ints[0] = 0;
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::fusionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"GatedAdd", {1}, 3, gatedAdd, smooth, domain},
      {"GatedRMSNorm", {1}, 3, gatedRmsNorm, smooth, domain},
      {"BiasSoftmax", {1}, 2, biasSoftmax, smooth, domain},
      {"BiasDropout", {1}, 2, biasDropout, smooth, domain},
      {"LinearAttentionGate", {1}, 3, linearAttentionGate, smooth, domain},
      {"GemmaRotaryEmbedding", {1}, 5, gemmaRotary, smooth, domain},
      {"ComplexMul", {1}, 2, complexMul<false>, smooth, domain},
      {"ComplexMulConj", {1}, 2, complexMul<true>, smooth, domain},
      {"CDist", {1}, 2, distances, smooth, domain},
      {"IsAllFinite", {1}, 1, isAllFinite, Continuity::Steps, domain},
  };
}
