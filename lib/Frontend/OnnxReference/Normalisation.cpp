// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations and softmax, from their definitions.

#include "Registry.h"
#include "Walk.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// One number per slice along some axes of a tensor, and which one an element
/// belongs to.
class Slices {
public:
  Slices(const Tensor &x, ArrayRef<int64_t> axes) : shape(x.shape) {
    for (int64_t axis : axes)
      shape[axis] = 1;
    const Shape steps = broadcastStrides(shape, shape.size());
    sliceOf.reserve(x.size());
    forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t) {
      int64_t slice = 0;
      for (size_t d = 0; d < at.size(); ++d)
        slice += at[d] * steps[d];
      sliceOf.push_back(slice);
    });
    const int64_t count = elementCount(shape);
    length = count == 0 ? 0 : x.size() / count;
  }

  /// The mean of `values`, an element each.
  std::vector<double> means(ArrayRef<double> values) const {
    std::vector<double> result(elementCount(shape), 0);
    for (size_t i = 0; i < values.size(); ++i)
      result[sliceOf[i]] += values[i];
    for (double &sum : result)
      sum /= static_cast<double>(length);
    return result;
  }

  int64_t operator[](size_t element) const { return sliceOf[element]; }

  Shape shape; ///< With 1 for each axis that is gone.

private:
  std::vector<int64_t> sliceOf;
  int64_t length = 0;
};

SmallVector<int64_t> axesFrom(int64_t first, const Tensor &x) {
  SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  return axes;
}

/// Mean and variance of each slice, and the elements minus their mean.
struct Moments {
  std::vector<double> mean, variance, centred;
};

Moments momentsOf(ArrayRef<double> values, const Slices &slices) {
  Moments moments;
  moments.mean = slices.means(values);
  std::vector<double> squares;
  for (size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - moments.mean[slices[i]];
    moments.centred.push_back(distance);
    squares.push_back(distance * distance);
  }
  moments.variance = slices.means(squares);
  return moments;
}

/// (x - mean) / sqrt(variance + epsilon).
Tensor normalised(const Tensor &x, const Slices &slices, double epsilon) {
  const Moments moments = momentsOf(x.floats, slices);
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] =
        moments.centred[i] / std::sqrt(moments.variance[slices[i]] + epsilon);
  return y;
}

bool areFloats(Call &call) {
  for (size_t i = 0; i < call.numOperands(); ++i)
    if (call.has(i) && !call.operand(i).isFloat())
      call.fail("operand {} is not of floats", i);
  return !call.failed();
}

/// y[n, c, ...] = y * scale[c] + bias[c].
void scaleChannels(Call &call, Tensor &y, const Tensor &scale,
                   const Tensor &bias) {
  const int64_t channels = y.shape[1];
  if (!call.require(scale.size() == channels && bias.size() == channels,
                    "scale and bias are not one number per channel"))
    return;
  const int64_t inner = elementCount(ArrayRef(y.shape).drop_front(2));
  for (size_t i = 0; i < y.floats.size(); ++i) {
    const auto channel = static_cast<int64_t>(i) / inner % channels;
    y.floats[i] = y.floats[i] * scale.floats[channel] + bias.floats[channel];
  }
}

/// Statistics of the batch itself; results 1 and 2 are the given ones moved
/// towards them.
void batchStatistics(Call &call) {
  const Tensor &x = call.operand(0);
  const double epsilon = call.getFloat("epsilon", 1e-5f),
               momentum = call.getFloat("momentum", 0.9f);
  const int64_t channels = x.shape[1],
                inner = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  std::vector<double> mean(channels), variance(channels);
  const auto channel = [&](size_t i) {
    return static_cast<int64_t>(i) / inner % channels;
  };
  const double count =
      static_cast<double>(x.size()) / static_cast<double>(channels);
  for (size_t i = 0; i < x.floats.size(); ++i)
    mean[channel(i)] += x.floats[i] / count;
  for (size_t i = 0; i < x.floats.size(); ++i) {
    const double d = x.floats[i] - mean[channel(i)];
    variance[channel(i)] += d * d / count;
  }
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] = (x.floats[i] - mean[channel(i)]) /
                  std::sqrt(variance[channel(i)] + epsilon);
  scaleChannels(call, y, call.operand(1), call.operand(2));
  call.setResult(0, std::move(y));
  for (size_t i : {1, 2}) {
    Tensor moved = call.operand(i + 2);
    for (int64_t c = 0; c < channels; ++c)
      moved.floats[c] = moved.floats[c] * momentum +
                        (i == 1 ? mean : variance)[c] * (1 - momentum);
    call.setResult(i, std::move(moved));
  }
}

void batchNormalization(Call &call) {
  const Tensor &x = call.operand(0), &mean = call.operand(3),
               &variance = call.operand(4);
  const double epsilon = call.getFloat("epsilon", 1e-5f);
  if (!areFloats(call) ||
      !call.require(rankOf(x) >= 2 && mean.size() == x.shape[1] &&
                        variance.size() == x.shape[1],
                    "statistics are not one number per channel"))
    return;
  if (call.getInt("training_mode", 0) != 0) {
    batchStatistics(call);
    return;
  }
  const int64_t inner = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i) {
    const auto c = static_cast<int64_t>(i) / inner % x.shape[1];
    y.floats[i] = (x.floats[i] - mean.floats[c]) /
                  std::sqrt(variance.floats[c] + epsilon);
  }
  scaleChannels(call, y, call.operand(1), call.operand(2));
  call.setResult(0, std::move(y));
}

void instanceNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  if (!areFloats(call) || !call.require(rankOf(x) >= 3, "no spatial dimension"))
    return;
  Tensor y =
      normalised(x, Slices(x, axesFrom(2, x)), call.getFloat("epsilon", 1e-5f));
  scaleChannels(call, y, call.operand(1), call.operand(2));
  call.setResult(0, std::move(y));
}

/// Results are Y, the mean and the inverse of the deviation.
void layerNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  const double epsilon = call.getFloat("epsilon", 1e-5f);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (!areFloats(call))
    return;
  const Slices slices(x, axesFrom(axis, x));
  Tensor y = normalised(x, slices, epsilon);
  y = zip(call, y, call.operand(1), x.type,
          [](auto a, auto b) { return a * b; });
  if (call.has(2) && !call.failed())
    y = zip(call, y, call.operand(2), x.type,
            [](auto a, auto b) { return a + b; });
  call.setResult(0, std::move(y));
  Moments moments = momentsOf(x.floats, slices);
  for (double &variance : moments.variance)
    variance = 1 / std::sqrt(variance + epsilon);
  const ElementType stash =
      call.getInt("stash_type", 1) == 16 ? ElementType::BF16 : ElementType::F32;
  Tensor statistic(stash, slices.shape);
  statistic.floats = std::move(moments.mean);
  call.setResult(1, statistic);
  statistic.floats = std::move(moments.variance);
  call.setResult(2, std::move(statistic));
}

/// x / sqrt(mean(x^2) + epsilon) * scale.
void rmsNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  const double epsilon = call.getFloat("epsilon", 1e-5f);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (!areFloats(call))
    return;
  const Slices slices(x, axesFrom(axis, x));
  std::vector<double> squares;
  for (double value : x.floats)
    squares.push_back(value * value);
  const std::vector<double> means = slices.means(squares);
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] = x.floats[i] / std::sqrt(means[slices[i]] + epsilon);
  call.setResult(0, zip(call, y, call.operand(1), x.type,
                        [](auto a, auto b) { return a * b; }));
}

/// Version 18 has one scale per group, version 21 one per channel.
void groupNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t groups = call.getInt("num_groups", 0);
  if (!areFloats(call) ||
      !call.require(rankOf(x) >= 2 && groups > 0 && x.shape[1] % groups == 0,
                    "channels are no whole groups"))
    return;
  const int64_t batch = x.shape[0];
  const int64_t rest =
      elementCount(ArrayRef<int64_t>(x.shape).drop_front(1)) / groups;
  const Tensor grouped = reshaped(x, {batch, groups, rest});
  Tensor y =
      normalised(grouped, Slices(grouped, 2), call.getFloat("epsilon", 1e-5f));
  if (call.opset() >= 21)
    y = reshaped(y, x.shape);
  scaleChannels(call, y, call.operand(1), call.operand(2));
  call.setResult(0, reshaped(y, x.shape));
}

/// (x - E[x]) / (sqrt(E[x^2] - E[x]^2) + 1e-9). The variance as the mean of
/// squares minus the mean, which is the same number and no difference of two
/// large ones.
void meanVarianceNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  SmallVector<int64_t> axes = call.getInts("axes");
  if (axes.empty())
    axes = {0, 2, 3};
  axes = call.normalAxes(axes, rankOf(x));
  if (call.failed() || !areFloats(call))
    return;
  const Slices slices(x, axes);
  const Moments moments = momentsOf(x.floats, slices);
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] =
        moments.centred[i] / (std::sqrt(moments.variance[slices[i]]) + 1e-9);
  call.setResult(0, std::move(y));
}

/// x / norm, and 0 for a slice whose norm is 0.
void lpNormalization(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  const bool ofSquares = call.getInt("p", 2) == 2;
  if (call.failed() || !areFloats(call))
    return;
  const Slices slices(x, axis);
  std::vector<double> norms(elementCount(slices.shape), 0);
  for (size_t i = 0; i < x.floats.size(); ++i)
    norms[slices[i]] +=
        ofSquares ? x.floats[i] * x.floats[i] : std::abs(x.floats[i]);
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < y.floats.size(); ++i) {
    const double sum = norms[slices[i]];
    y.floats[i] =
        sum == 0 ? 0 : x.floats[i] / (ofSquares ? std::sqrt(sum) : sum);
  }
  call.setResult(0, std::move(y));
}

/// exp(x - max) / sum(exp(x - max)) of each slice, or its logarithm.
Tensor softmaxOver(const Tensor &x, ArrayRef<int64_t> axes, bool logarithm) {
  const Slices slices(x, axes);
  const int64_t count = elementCount(slices.shape);
  std::vector<double> tops(count, -HUGE_VAL), sums(count, 0);
  for (size_t i = 0; i < x.floats.size(); ++i)
    tops[slices[i]] = std::max(tops[slices[i]], x.floats[i]);
  Tensor y(x.type, x.shape);
  for (size_t i = 0; i < x.floats.size(); ++i) {
    y.floats[i] = x.floats[i] - tops[slices[i]];
    sums[slices[i]] += std::exp(y.floats[i]);
  }
  for (size_t i = 0; i < x.floats.size(); ++i)
    y.floats[i] = logarithm ? y.floats[i] - std::log(sums[slices[i]])
                            : std::exp(y.floats[i]) / sums[slices[i]];
  return y;
}

/// Before version 13 over all dimensions from `axis` on.
template <bool logarithm, bool flat>
void softmax(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t rank = rankOf(x);
  int64_t axis = call.getInt("axis", flat ? 1 : -1);
  if (!flat || axis != rank)
    axis = call.normalAxis(axis, rank);
  if (call.failed() || !areFloats(call))
    return;
  const SmallVector<int64_t> axes =
      flat ? axesFrom(axis, x) : SmallVector<int64_t>{axis};
  call.setResult(0, softmaxOver(x, axes, logarithm));
}

} // namespace

std::vector<EvaluatorRow> onnxref::normalisationEvaluators() {
  return {
      {"BatchNormalization", {1, 6, 7, 9, 14, 15}, 5, batchNormalization},
      {"InstanceNormalization", {1, 6, 22}, 3, instanceNormalization},
      {"LayerNormalization", {1, 17}, 2, layerNormalization},
      {"RMSNormalization", {23}, 2, rmsNormalization},
      {"GroupNormalization", {18, 21}, 3, groupNormalization},
      {"MeanVarianceNormalization", {9, 13}, 1, meanVarianceNormalization},
      {"LpNormalization", {1, 22}, 1, lpNormalization},
      {"Softmax", {1, 11}, 1, softmax<false, true>},
      {"Softmax", {13}, 1, softmax<false, false>},
      {"LogSoftmax", {1, 11}, 1, softmax<true, true>},
      {"LogSoftmax", {13}, 1, softmax<true, false>},
  };
}
