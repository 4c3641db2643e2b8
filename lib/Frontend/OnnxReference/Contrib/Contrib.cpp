// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft on floats, from their definitions.

#include "Experts.h"

#include "lib/Frontend/OnnxReference/Convolution.h"
#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"
#include "lib/Frontend/OnnxReference/Windows.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

Tensor sum(Call &call, const Tensor &a, const Tensor &b) {
  return zip(call, a, b, a.type, [](auto p, auto q) { return p + q; });
}

double geluOf(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }

double tanhGeluOf(double x) {
  const double inner =
      std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

/// fn(x + bias), the bias an operand that may be omitted.
template <double (*fn)(double)>
void biased(Call &call) {
  const Tensor x = call.has(1) ? sum(call, call.operand(0), call.operand(1))
                               : call.operand(0);
  if (!call.failed())
    call.setResult(0, mappedFloats(call, x, fn));
}

void quickGelu(Call &call) {
  const double alpha = call.getFloat("alpha", 1.702f);
  call.setResult(0, mappedFloats(call, call.operand(0), [&](double x) {
                   return x / (1 + std::exp(-alpha * x));
                 }));
}

/// Rows of the last axes from `first`.
void normalise(Call &call, const Tensor &x, const Tensor &scale, int64_t first,
               double epsilon, bool simple, const Tensor *shift,
               size_t inverseAt) {
  const int64_t length =
      elementCount(ArrayRef<int64_t>(x.shape).drop_front(first));
  if (!call.require(x.isFloat() && scale.isFloat() && length > 0 &&
                        scale.size() == length &&
                        (!shift || shift->size() == length),
                    "the scale is not one number for each of a row"))
    return;
  Shape shape(x.shape);
  for (int64_t axis = first; axis < rankOf(x); ++axis)
    shape[axis] = 1;
  Tensor y(x.type, x.shape), mean(ElementType::F32, shape),
      inverse(ElementType::F32, shape);
  for (int64_t row = 0; row < x.size() / length; ++row) {
    const double *in = &x.floats[row * length];
    double average = 0, squares = 0;
    for (int64_t i = 0; i < length && !simple; ++i)
      average += in[i] / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i)
      squares += (in[i] - average) * (in[i] - average);
    const double deviation =
        std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (int64_t i = 0; i < length; ++i)
      y.floats[row * length + i] =
          (in[i] - average) / deviation * scale.floats[i] +
          (shift ? shift->floats[i] : 0);
    mean.floats[row] = average;
    inverse.floats[row] = 1 / deviation;
  }
  call.setResult(0, std::move(y));
  if (!simple)
    call.setResult(1, std::move(mean));
  call.setResult(inverseAt, std::move(inverse));
}

void simplifiedLayerNorm(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (!call.failed())
    normalise(call, x, call.operand(1), axis, call.getFloat("epsilon", 1e-5f),
              /*simple=*/true, nullptr, 1);
}

template <bool simple>
void skipLayerNorm(Call &call) {
  Tensor x = sum(call, call.operand(0), call.operand(1));
  const size_t biasAt = simple ? 3 : 4;
  if (!call.failed() && call.has(biasAt))
    x = sum(call, x, call.operand(biasAt));
  if (call.failed() || !call.require(rankOf(x) >= 2, "the rank is too small"))
    return;
  const Tensor *shift = !simple && call.has(3) ? &call.operand(3) : nullptr;
  normalise(call, x, call.operand(2), rankOf(x) - 1,
            call.getFloat("epsilon", 1e-12f), simple, shift, 2);
  call.setResult(3, std::move(x));
}

Tensor turned(const Tensor &x) {
  Shape shape(x.shape);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const int64_t rows = shape[shape.size() - 1],
                columns = shape[shape.size() - 2];
  return rearranged(x, shape, [&](ArrayRef<int64_t> at) {
    int64_t matrix = 0;
    for (size_t d = 0; d + 2 < at.size(); ++d)
      matrix = matrix * shape[d] + at[d];
    return (matrix * rows + at[at.size() - 1]) * columns + at[at.size() - 2];
  });
}

Tensor times(Tensor x, double factor) {
  for (double &value : x.floats)
    value *= factor;
  return x;
}

/// [rows, batch.., columns] as [batch.., rows, columns].
Tensor batchFirst(const Tensor &x) {
  if (rankOf(x) < 3)
    return x;
  Shape shape(x.shape.begin() + 1, x.shape.end() - 1);
  shape.push_back(x.shape[0]);
  shape.push_back(x.shape.back());
  const int64_t batch = elementCount(ArrayRef<int64_t>(shape).drop_back(2));
  return rearranged(x, shape, [&](ArrayRef<int64_t> at) {
    int64_t matrix = 0;
    for (size_t d = 0; d + 2 < at.size(); ++d)
      matrix = matrix * shape[d] + at[d];
    return (at[at.size() - 2] * batch + matrix) * shape.back() + at.back();
  });
}

/// An operand of a product, its axes exchanged as attributes say.
Tensor factor(Call &call, size_t i, StringRef batch, StringRef transposed) {
  Tensor x = call.operand(i);
  if (call.getInt(batch, 0))
    x = batchFirst(x);
  return call.getInt(transposed, 0) ? turned(x) : x;
}

/// alpha * A' * B'.
Tensor product(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (!call.require(rankOf(a) >= 2 && rankOf(b) >= 2 && a.isFloat() &&
                        b.isFloat(),
                    "operands are no matrices of floats"))
    return {};
  return times(multiplyMatrices(call, factor(call, 0, "transBatchA", "transA"),
                                factor(call, 1, "transBatchB", "transB")),
               call.getFloat("alpha", 1));
}

void fusedMatMul(Call &call) { call.setResult(0, product(call)); }

Tensor activated(Call &call, const Tensor &x, StringRef name,
                 ArrayRef<double> p) {
  auto parameter = [&](size_t i, double otherwise) {
    return i < p.size() ? p[i] : otherwise;
  };
  return mappedFloats(call, x, [&](double v) {
    if (name == "Relu")
      return std::max(v, 0.0);
    if (name == "Tanh")
      return std::tanh(v);
    if (name == "Sigmoid")
      return 1 / (1 + std::exp(-v));
    if (name == "LeakyRelu")
      return v < 0 ? parameter(0, 0.01f) * v : v;
    if (name == "HardSigmoid")
      return std::min(
          std::max(parameter(0, 0.2f) * v + parameter(1, 0.5f), 0.0), 1.0);
    if (name == "Clip")
      return std::min(std::max(v, parameter(0, -HUGE_VAL)),
                      parameter(1, HUGE_VAL));
    if (!name.empty())
      call.fail("'{}' is not an activation", name.str());
    return v;
  });
}

/// The parameters of an activation that has attributes for them.
SmallVector<double> activationParameters(Call &call) {
  SmallVector<double> parameters;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (call.hasAttribute(name))
      parameters.push_back(call.getFloat(name, 0));
  return parameters;
}

/// e^x over the sum of them along an axis, or its logarithm.
Tensor shares(Tensor x, int64_t axis, bool logarithm) {
  const int64_t extent = x.shape[axis],
                inner = elementCount(
                    ArrayRef<int64_t>(x.shape).drop_front(axis + 1));
  for (int64_t row = 0; extent > 0 && row < x.size() / extent; ++row) {
    double *first = &x.floats[row / inner * inner * extent + row % inner];
    double top = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < extent; ++i)
      top = std::max(top, first[i * inner]);
    for (int64_t i = 0; i < extent; ++i)
      sum += std::exp(first[i * inner] - top);
    for (int64_t i = 0; i < extent; ++i) {
      double &value = first[i * inner];
      value =
          logarithm ? value - top - std::log(sum) : std::exp(value - top) / sum;
    }
  }
  return x;
}

void fusedMatMulActivation(Call &call) {
  const Tensor y = product(call);
  if (call.failed())
    return;
  const std::string name = call.getString("activation", "");
  if (name != "Softmax" && name != "LogSoftmax") {
    call.setResult(0, activated(call, y, name, activationParameters(call)));
    return;
  }
  const int64_t axis =
      call.normalAxis(call.getInt("activation_axis", -1), rankOf(y));
  if (!call.failed())
    call.setResult(0, shares(y, axis, name == "LogSoftmax"));
}

void gemmFastGelu(Call &call) {
  Tensor y = multiplyMatrices(call, call.operand(0), call.operand(1));
  if (!call.failed() && call.has(2))
    y = sum(call, y, call.operand(2));
  if (!call.failed())
    call.setResult(0, mappedFloats(call, y, tanhGeluOf));
}

void fusedGemm(Call &call) {
  Tensor y = product(call);
  if (!call.failed() && call.has(2))
    y = sum(call, y, times(call.operand(2), call.getFloat("beta", 1)));
  if (!call.failed())
    call.setResult(0, activated(call, y, call.getString("activation", ""),
                                activationParameters(call)));
}

/// Operands 2 and 3 are added if they are there, the bias along axis 1.
Tensor biasedConv(Call &call, const Tensor &x) {
  Tensor y = convolve(call, x, call.operand(1));
  if (!call.failed() && call.has(2)) {
    Tensor bias = call.operand(2);
    bias.shape.append(y.shape.size() - 2, 1);
    y = sum(call, y, bias);
  }
  return y;
}

void setActivatedConv(Call &call, Tensor y) {
  if (!call.failed() && call.has(3))
    y = sum(call, y, call.operand(3));
  if (!call.failed())
    call.setResult(0, activated(call, y, call.getString("activation", ""),
                                call.getFloats("activation_params")));
}

void fusedConv(Call &call) {
  setActivatedConv(call, biasedConv(call, call.operand(0)));
}

/// The channels are last; without the attributes of an activation NhwcConv.
void nhwcFusedConv(Call &call) {
  if (!call.require(rankOf(call.operand(0)) >= 3, "no spatial dimension"))
    return;
  const Tensor y = biasedConv(call, channelsFirst(call.operand(0)));
  if (!call.failed())
    setActivatedConv(call, channelsLast(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::contribEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"Gelu", {1}, 1, biased<geluOf>, smooth, domain},
      {"BiasGelu", {1}, 2, biased<geluOf>, smooth, domain},
      {"FastGelu", {1}, 1, biased<tanhGeluOf>, smooth, domain},
      {"QuickGelu", {1}, 1, quickGelu, smooth, domain},
      {"SimplifiedLayerNormalization", {1}, 2, simplifiedLayerNorm},
      {"SimplifiedLayerNormalization",
       {1},
       2,
       simplifiedLayerNorm,
       smooth,
       domain},
      {"SkipLayerNormalization", {1}, 3, skipLayerNorm<false>, smooth, domain},
      {"SkipSimplifiedLayerNormalization",
       {1},
       3,
       skipLayerNorm<true>,
       smooth,
       domain},
      {"FusedMatMul", {1}, 2, fusedMatMul, smooth, domain},
      {"TransposeMatMul", {1}, 2, fusedMatMul, smooth, domain},
      {"FusedGemm", {1}, 2, fusedGemm, smooth, domain},
      {"FusedMatMulActivation", {1}, 2, fusedMatMulActivation, smooth, domain},
      {"GemmFastGelu", {1}, 2, gemmFastGelu, smooth, domain},
      {"FusedConv", {1}, 2, fusedConv, smooth, domain},
      {"NhwcConv", {1}, 2, nhwcFusedConv, smooth, domain},
      {"NhwcFusedConv", {1}, 2, nhwcFusedConv, smooth, domain},
      {"MoE", {1}, 3, mixtureOfExperts, Continuity::Steps, domain},
      {"QMoE", {1}, 4, mixtureOfPackedExperts, Continuity::Steps, domain},
  };
}
