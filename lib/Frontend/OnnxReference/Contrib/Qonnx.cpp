// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisers of QONNX and Brevitas, element by element as QONNX's pages define
// them.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The integer that a mode makes of v; QONNX's table of examples.
double toInteger(Call &call, StringRef mode, double v) {
  const double below = std::floor(v), above = std::ceil(v);
  const double inner = v < 0 ? above : below, outer = v < 0 ? below : above;
  if (mode == "FLOOR")
    return below;
  if (mode == "CEIL")
    return above;
  if (mode == "DOWN")
    return inner;
  if (mode == "UP")
    return outer;
  const double rest = std::abs(v - inner);
  if (rest != 0.5)
    return rest < 0.5 ? inner : outer;
  if (mode == "HALF_UP")
    return outer;
  if (mode == "HALF_DOWN")
    return inner;
  call.require(mode == "ROUND" || mode == "HALF_EVEN",
               "there is no such rounding");
  return std::fmod(below, 2) == 0 ? below : above;
}

std::string modeOf(Call &call, StringRef otherwise) {
  return StringRef(call.getString("rounding_mode", otherwise)).upper();
}

/// Calls fn(x, parameters) for each element of the first operand, with the
/// elements of operands 1 to `count` that broadcast to it.
template <class Fn>
void forEachElement(Call &call, size_t count, Fn fn) {
  const Tensor &x = call.operand(0);
  std::vector<Tensor> parameters;
  for (size_t k = 1; k <= count; ++k) {
    const Tensor &own = call.operand(k);
    parameters.push_back(
        broadcastTo(own.size() == 1 ? reshaped(own, {}) : own, x.shape));
  }
  Tensor y(x.type, x.shape);
  std::vector<double> at(count);
  for (int64_t i = 0; i < x.size() && !call.failed(); ++i) {
    for (size_t k = 0; k < count; ++k)
      at[k] = numberAt(parameters[k], i);
    y.floats[i] = fn(x.floats[i], ArrayRef<double>(at));
  }
  call.setResult(0, std::move(y));
}

struct Limits {
  double least, most;
};

Limits quantLimits(Call &call, double bits) {
  const bool narrow = call.getInt("narrow", 0) != 0;
  if (call.getInt("signed", 1) == 0)
    return {0, std::exp2(bits) - (narrow ? 2 : 1)};
  const double half = std::exp2(bits - 1);
  return {-half + (narrow ? 1 : 0), half - 1};
}

double cutTo(double v, Limits limits) {
  return v > limits.most ? limits.most : v < limits.least ? limits.least : v;
}

void quant(Call &call) {
  const std::string mode = modeOf(call, "ROUND");
  const bool isSigned = call.getInt("signed", 1) != 0;
  forEachElement(call, 3, [&](double x, ArrayRef<double> p) {
    const double scale = p[0], zero = p[1], bits = p[2];
    double v = x / scale + zero;
    if (bits == 1 && isSigned)
      v = v >= 0 ? 1 : -1;
    else
      v = toInteger(call, mode, cutTo(v, quantLimits(call, bits)));
    return (v - zero) * scale;
  });
}

void bipolarQuant(Call &call) {
  forEachElement(call, 1, [](double x, ArrayRef<double> p) {
    return x >= 0 ? p[0] : -p[0];
  });
}

void truncQuant(Call &call) {
  const std::string mode = modeOf(call, "FLOOR");
  const bool second = call.numOperands() > 5;
  forEachElement(call, second ? 5 : 4, [&](double x, ArrayRef<double> p) {
    const double scale = p[0], zero = p[1];
    const double v = toInteger(call, "ROUND", x / scale + zero);
    if (!second)
      return (toInteger(call, mode, v / std::exp2(p[2] - p[3])) - zero) * scale;
    const double outer = p[3], bits = p[4];
    const double factor = std::exp2(std::round(std::log2(outer / scale)));
    const double cut = cutTo(v / factor, quantLimits(call, bits));
    return (toInteger(call, mode, cut) - zero / factor) * outer;
  });
}

void floatQuant(Call &call) {
  const std::string mode = modeOf(call, "ROUND");
  const bool saturates = call.getInt("saturation", 1) != 0,
             infinite = call.getInt("has_inf", 0) != 0;
  forEachElement(call, 5, [&](double x, ArrayRef<double> p) {
    const double scale = p[0], exponents = p[1], digits = p[2], bias = p[3];
    const double largest =
        std::min(p[4], (2 - std::exp2(-digits)) *
                           std::exp2(std::exp2(exponents) - 1 - bias));
    const double v = x / scale;
    if (!std::isfinite(v))
      return static_cast<double>(NAN);
    double unit = 1 - bias - digits;
    if (v != 0)
      unit = std::max(unit, std::ilogb(v) - digits);
    const double q =
        toInteger(call, mode, v / std::exp2(unit)) * std::exp2(unit);
    if (std::abs(q) <= largest)
      return q * scale;
    if (saturates)
      return std::copysign(largest, q) * scale;
    return infinite ? std::copysign(INFINITY, q) * scale
                    : static_cast<double>(NAN);
  });
}

void multiThreshold(Call &call) {
  const double scale = call.getFloat("out_scale", 1),
               bias = call.getFloat("out_bias", 0);
  const bool last =
      StringRef(call.getString("data_layout", "NCHW")).ends_with("C");
  const Tensor &x = call.operand(0), &steps = call.operand(1);
  if (!call.require(rankOf(x) >= 2 && rankOf(steps) == 2,
                    "thresholds are a matrix"))
    return;
  const int64_t axis = last ? rankOf(x) - 1 : 1, rows = steps.shape[0],
                count = steps.shape[1];
  if (!call.require(rows == 1 || rows == x.shape[axis],
                    "thresholds are not one row per channel"))
    return;
  Tensor y(x.type, x.shape);
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const int64_t row = rows == 1 ? 0 : at[axis];
    int64_t reached = 0;
    for (int64_t k = 0; k < count; ++k)
      reached += x.floats[i] >= numberAt(steps, row * count + k);
    y.floats[i] = static_cast<double>(reached) * scale + bias;
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::qonnxEvaluators() {
  std::vector<EvaluatorRow> rows;
  constexpr Continuity steps = Continuity::Steps, open = Continuity::OpenSteps;
  for (const char *domain :
       {"onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general"}) {
    rows.push_back({"Quant", {1}, 4, quant, open, domain});
    rows.push_back({"IntQuant", {1}, 4, quant, open, domain});
    rows.push_back({"BipolarQuant", {1}, 2, bipolarQuant, steps, domain});
    rows.push_back({"Trunc", {1}, 5, truncQuant, open, domain});
    rows.push_back({"FloatQuant", {1}, 6, floatQuant, steps, domain});
    rows.push_back({"MultiThreshold", {1}, 2, multiThreshold, steps, domain});
  }
  return rows;
}
