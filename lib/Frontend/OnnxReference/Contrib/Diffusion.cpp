// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of image generators, element by element.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

/// Where the channels of [N, ..., C] or [N, C, ...] lie.
struct Channels {
  int64_t count, inner;

  Channels(const Tensor &x, bool last)
      : count(last ? x.shape.back() : x.shape[1]),
        inner(last ? 1
                   : elementCount(ArrayRef<int64_t>(x.shape).drop_front(2))) {}

  int64_t of(int64_t element) const { return element / inner % count; }
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, the moments over the
/// channels of a group in one image.
void setNormalised(Call &call, const Tensor &x) {
  const int64_t groups = call.getInt("groups", 0);
  const bool last = call.getInt("channels_last", 1) != 0,
             active = call.getInt("activation", 0) == 1;
  const double epsilon = call.getFloat("epsilon", 1e-5f);
  const Channels channels(x, last);
  const Tensor &gamma = call.operand(1), &beta = call.operand(2);
  if (!call.require(groups > 0 && channels.count % groups == 0 &&
                        gamma.size() == channels.count &&
                        beta.size() == channels.count && x.size() > 0,
                    "groups or parameters do not fit the channels"))
    return;
  const int64_t perImage = x.size() / x.shape[0],
                perGroup = channels.count / groups;
  auto groupOf = [&](int64_t i) {
    return i / perImage * groups + channels.of(i) / perGroup;
  };
  const double size =
      static_cast<double>(perImage) / static_cast<double>(groups);
  std::vector<double> mean(x.shape[0] * groups), variance(mean.size());
  for (int64_t i = 0; i < x.size(); ++i)
    mean[groupOf(i)] += x.floats[i] / size;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double off = x.floats[i] - mean[groupOf(i)];
    variance[groupOf(i)] += off * off / size;
  }
  Tensor y(x.type, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t g = groupOf(i), c = channels.of(i);
    const double value = gamma.floats[c] * (x.floats[i] - mean[g]) /
                             std::sqrt(variance[g] + epsilon) +
                         beta.floats[c];
    y.floats[i] = active ? silu(value) : value;
  }
  // With parameters of another type the sums are of binary32.
  if (gamma.type != x.type || beta.type != x.type)
    reference::roundToType(y, y.type);
  call.setResult(0, std::move(y));
}

bool isMap(Call &call) {
  return call.require(rankOf(call.operand(0)) >= 3 && call.operand(0).isFloat(),
                      "the operand is no feature map of floats");
}

void groupNorm(Call &call) {
  if (isMap(call))
    setNormalised(call, call.operand(0));
}

void skipGroupNorm(Call &call) {
  if (!isMap(call))
    return;
  Tensor sum = call.operand(0);
  const Channels channels(sum, call.getInt("channels_last", 1) != 0);
  const Tensor &skip = call.operand(3);
  const bool whole = skip.shape == sum.shape;
  if (!call.require(
          (whole || skip.size() == sum.shape[0] * channels.count) &&
              (!call.has(4) || call.operand(4).size() == channels.count),
          "skip or bias do not fit"))
    return;
  for (int64_t i = 0; i < sum.size(); ++i) {
    const int64_t image = i / (sum.size() / sum.shape[0]), c = channels.of(i);
    sum.floats[i] += skip.floats[whole ? i : image * channels.count + c];
    if (call.has(4))
      sum.floats[i] += call.operand(4).floats[c];
  }
  setNormalised(call, sum);
  call.setResult(1, std::move(sum));
}

/// Operand 0 plus one number of operand 1 for each of its last axis.
std::optional<Tensor> sumWithBias(Call &call) {
  Tensor x = call.operand(0);
  const Tensor &bias = call.operand(1);
  if (!call.require(x.isFloat() && rankOf(x) > 0 && bias.isFloat() &&
                        bias.size() == x.shape.back(),
                    "the bias does not fit"))
    return std::nullopt;
  for (int64_t i = 0; i < x.size(); ++i)
    x.floats[i] += bias.floats[i % bias.size()];
  return x;
}

void biasAdd(Call &call) {
  std::optional<Tensor> y = sumWithBias(call);
  if (!y || !call.require(call.operand(2).shape == y->shape, "skip differs"))
    return;
  for (int64_t i = 0; i < y->size(); ++i)
    y->floats[i] += call.operand(2).floats[i];
  call.setResult(0, std::move(*y));
}

void biasSplitGelu(Call &call) {
  const std::optional<Tensor> x = sumWithBias(call);
  if (!x || !call.require(x->shape.back() % 2 == 0, "an odd dimension"))
    return;
  Shape shape(x->shape);
  const int64_t half = shape.back() /= 2;
  Tensor y(x->type, shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t left = i / half * 2 * half + i % half;
    const double right = x->floats[left + half];
    y.floats[i] =
        x->floats[left] * right / 2 * std::erfc(-right / std::sqrt(2.0));
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::diffusionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"GroupNorm", {1}, 3, groupNorm, smooth, domain},
      {"SkipGroupNorm", {1}, 4, skipGroupNorm, smooth, domain},
      {"BiasAdd", {1}, 3, biasAdd, smooth, domain},
      {"BiasSplitGelu", {1}, 2, biasSplitGelu, smooth, domain},
  };
}
