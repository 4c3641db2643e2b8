// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DynamicQuantizeLSTM, one step after the other: the operands of its products
// are quantised by their own ranges, the input of all steps at once, the states
// of all sequences at each step.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

using Row = std::vector<double>;

/// Numbers as 8 bits of the range of all of them with 0 keep them.
Row throughBytes(Row x) {
  double low = 0, high = 0;
  for (double value : x) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double scale = (high == low ? 1 : high - low) / 255,
               zero = std::nearbyint(std::min(-low / scale, 255.0));
  for (double &value : x) {
    const double q =
        std::min(std::max(std::nearbyint(value / scale) + zero, 0.0), 255.0);
    value = (q - zero) * scale;
  }
  return x;
}

double activated(Call &call, StringRef name, double alpha, double beta,
                 double x) {
  const std::string f = name.lower();
  if (f == "sigmoid")
    return 1 / (1 + std::exp(-x));
  if (f == "tanh")
    return std::tanh(x);
  if (f == "relu")
    return std::max(x, 0.0);
  if (f == "hardsigmoid")
    return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  call.fail("'{}' is not defined here", name.str());
  return x;
}

struct Lstm {
  Call &call;
  int64_t steps, batch, features, hidden, directions;
  std::vector<std::string> names;
  SmallVector<double> alphas, betas;

  explicit Lstm(Call &call)
      : call(call), steps(call.operand(0).shape[0]),
        batch(call.operand(0).shape[1]), features(call.operand(0).shape[2]),
        hidden(call.operand(2).shape[1]), directions(call.operand(2).shape[0]),
        names(call.getStrings("activations")),
        alphas(call.getFloats("activation_alpha")),
        betas(call.getFloats("activation_beta")) {
    while (names.size() < 3 * static_cast<size_t>(directions))
      names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  }

  double apply(int64_t d, int64_t f, double x) const {
    const double clip = call.getFloat("clip", HUGE_VAL);
    return activated(call, names[3 * d + f],
                     alphas.empty() ? 0.2f : alphas.front(),
                     betas.empty() ? 0.5f : betas.front(),
                     std::min(std::max(x, -clip), clip));
  }
  /// Column `column` of the weights of operand `at`, times a row of numbers.
  double product(size_t at, size_t scale, int64_t d, int64_t column,
                 const double *x) const {
    const Tensor &w = call.operand(at);
    const int64_t rows = w.shape[1], columns = w.shape[2];
    auto parameter = [&](size_t i) {
      const Tensor &p = call.operand(i);
      return numberAt(p, p.size() == directions ? d : d * columns + column);
    };
    double sum = 0;
    for (int64_t k = 0; k < rows; ++k)
      sum += x[k] * (numberAt(w, (d * rows + k) * columns + column) -
                     parameter(scale + 1));
    return sum * parameter(scale);
  }
  double bias(int64_t d, int64_t column) const {
    if (!call.has(3))
      return 0;
    const double *own = &call.operand(3).floats[d * 8 * hidden];
    return own[column] + own[4 * hidden + column];
  }
  double peephole(int64_t d, int64_t gate, int64_t unit) const {
    return call.has(7) ? call.operand(7).floats[(d * 3 + gate) * hidden + unit]
                       : 0;
  }
  Row start(size_t operand, int64_t d) const {
    if (!call.has(operand))
      return Row(batch * hidden, 0.0);
    const double *from = &call.operand(operand).floats[d * batch * hidden];
    return Row(from, from + batch * hidden);
  }
  /// The new state of one sequence; h is that before it, as bytes keep it.
  void step(int64_t d, const double *x, const double *h, double *newH,
            double *c) const;
};

void Lstm::step(int64_t d, const double *x, const double *h, double *newH,
                double *c) const {
  for (int64_t u = 0; u < hidden; ++u) {
    auto sum = [&](int64_t gate) {
      const int64_t column = gate * hidden + u;
      return product(1, 8, d, column, x) + product(2, 10, d, column, h) +
             bias(d, column);
    };
    const double i = apply(d, 0, sum(0) + peephole(d, 0, u) * c[u]);
    const double f = call.getInt("input_forget", 0) != 0
                         ? 1 - i
                         : apply(d, 0, sum(2) + peephole(d, 2, u) * c[u]);
    c[u] = f * c[u] + i * apply(d, 1, sum(3));
    const double o = apply(d, 0, sum(1) + peephole(d, 1, u) * c[u]);
    newH[u] = o * apply(d, 2, c[u]);
  }
}

void run(Call &call, const Lstm &l) {
  const Row input = throughBytes(call.operand(0).floats);
  const int64_t each = l.batch * l.hidden;
  Tensor y(ElementType::F32, {l.steps, l.directions, l.batch, l.hidden}),
      lastH(ElementType::F32, {l.directions, l.batch, l.hidden}), lastC = lastH;
  for (int64_t d = 0; d < l.directions; ++d) {
    Row h = l.start(5, d), c = l.start(6, d);
    const bool backwards =
        d == 1 || call.getString("direction", "forward") == "reverse";
    for (int64_t k = 0; k < l.steps; ++k) {
      const int64_t t = backwards ? l.steps - 1 - k : k;
      const Row before = throughBytes(h);
      for (int64_t b = 0; b < l.batch; ++b) {
        if (call.has(4) && t >= call.integers(4)[b])
          continue;
        double *own = &h[b * l.hidden];
        l.step(d, &input[(t * l.batch + b) * l.features], &before[b * l.hidden],
               own, &c[b * l.hidden]);
        std::copy(own, own + l.hidden,
                  &y.floats[((t * l.directions + d) * l.batch + b) * l.hidden]);
      }
    }
    std::copy(h.begin(), h.end(), lastH.floats.begin() + d * each);
    std::copy(c.begin(), c.end(), lastC.floats.begin() + d * each);
  }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(lastH));
  call.setResult(2, std::move(lastC));
}

void dynamicQuantizeLstm(Call &call) {
  for (size_t i : {0, 1, 2})
    if (!call.require(rankOf(call.operand(i)) == 3, "expected 3 dimensions"))
      return;
  for (size_t i = 8; i < 12; ++i)
    if (!call.require(call.has(i), "a scale or zero point is omitted"))
      return;
  const Lstm l(call);
  if (call.require(call.operand(1).shape ==
                           Shape{l.directions, l.features, 4 * l.hidden} &&
                       call.operand(2).shape ==
                           Shape{l.directions, l.hidden, 4 * l.hidden} &&
                       l.names.size() == 3 * static_cast<size_t>(l.directions),
                   "weights or activations do not fit"))
    run(call, l);
}

} // namespace

std::vector<EvaluatorRow> onnxref::quantisedLstmEvaluators() {
  return {{"DynamicQuantizeLSTM",
           {1},
           3,
           dynamicQuantizeLstm,
           Continuity::OpenSteps,
           "com.microsoft"}};
}
