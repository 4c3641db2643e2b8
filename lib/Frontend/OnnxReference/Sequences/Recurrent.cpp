// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent layers, one sequence and one step after the other.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

struct Function {
  std::string name;
  double alpha = 0, beta = 0;

  double operator()(double x) const {
    if (name == "sigmoid")
      return 1 / (1 + std::exp(-x));
    if (name == "tanh")
      return std::tanh(x);
    if (name == "relu")
      return std::max(x, 0.0);
    if (name == "leakyrelu")
      return x < 0 ? alpha * x : x;
    if (name == "thresholdedrelu")
      return x >= alpha ? x : 0;
    if (name == "scaledtanh")
      return alpha * std::tanh(beta * x);
    if (name == "hardsigmoid")
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    if (name == "elu")
      return x < 0 ? alpha * std::expm1(x) : x;
    if (name == "softsign")
      return x / (1 + std::fabs(x));
    if (name == "softplus")
      return std::log1p(std::exp(x));
    return alpha * x + beta; // affine
  }
};

/// Defaults of alpha and beta; NaN for functions without.
std::pair<double, double> defaultsOf(StringRef name) {
  const double none = std::nan("");
  if (name == "leakyrelu")
    return {0.01f, none};
  if (name == "hardsigmoid")
    return {0.2f, 0.5};
  if (name == "affine")
    return {1, 0};
  if (name == "scaledtanh")
    return {1, 1};
  if (name == "elu" || name == "thresholdedrelu")
    return {1, none};
  return {none, none};
}

struct Layer {
  int64_t gates, hidden, steps, batch, features, directions;
  bool batchFirst;
  std::string direction;
  double clip;
  std::vector<Function> functions;

  bool backwards(int64_t d) const { return direction == "reverse" || d == 1; }
  /// Element (t, b) of an operand of the layer's layout.
  int64_t row(int64_t t, int64_t b) const {
    return batchFirst ? b * steps + t : t * batch + b;
  }
  double limited(double x) const { return std::clamp(x, -clip, clip); }
  double apply(int64_t d, size_t f, double x) const {
    return functions[d * functions.size() / directions + f](limited(x));
  }
};

Layer readLayer(Call &call, int64_t gates,
                std::initializer_list<const char *> names) {
  Layer layer{};
  const Tensor &x = call.operand(0), &r = call.operand(2);
  layer.direction = call.getString("direction", "forward");
  layer.directions = layer.direction == "bidirectional" ? 2 : 1;
  layer.batchFirst = call.getInt("layout", 0) != 0;
  layer.clip = call.getFloat("clip", HUGE_VAL);
  if (!call.require(rankOf(x) == 3 && rankOf(r) == 3 && x.isFloat(),
                    "operands do not fit"))
    return layer;
  layer.gates = gates;
  layer.hidden = r.shape[2];
  layer.steps = x.shape[layer.batchFirst ? 1 : 0];
  layer.batch = x.shape[layer.batchFirst ? 0 : 1];
  layer.features = x.shape[2];
  std::vector<std::string> given = call.getStrings("activations");
  if (given.empty())
    for (int64_t d = 0; d < layer.directions; ++d)
      given.insert(given.end(), names.begin(), names.end());
  const SmallVector<double> alphas = call.getFloats("activation_alpha"),
                            betas = call.getFloats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (const std::string &name : given) {
    Function f{StringRef(name).lower()};
    std::tie(f.alpha, f.beta) = defaultsOf(f.name);
    if (!std::isnan(f.alpha) && alpha < alphas.size())
      f.alpha = alphas[alpha++];
    if (!std::isnan(f.beta) && beta < betas.size())
      f.beta = betas[beta++];
    layer.functions.push_back(std::move(f));
  }
  call.require(layer.functions.size() == names.size() * layer.directions,
               "the activations do not fit");
  return layer;
}

/// Sums of one gate's row, for one direction.
class Weights {
public:
  Weights(Call &call, const Layer &layer, int64_t d)
      : call(call), layer(layer), d(d) {}

  double input(int64_t row, const double *x) const {
    double sum = bias(row);
    const double *w = &call.operand(1).floats[at(row) * layer.features];
    for (int64_t k = 0; k < layer.features; ++k)
      sum += w[k] * x[k];
    return sum;
  }
  double recurrent(int64_t row, const double *h) const {
    double sum = bias(layer.gates * layer.hidden + row);
    const double *r = &call.operand(2).floats[at(row) * layer.hidden];
    for (int64_t k = 0; k < layer.hidden; ++k)
      sum += r[k] * h[k];
    return sum;
  }
  double peephole(int64_t k, int64_t unit) const {
    return call.has(7)
               ? call.operand(7).floats[(d * 3 + k) * layer.hidden + unit]
               : 0;
  }

private:
  int64_t at(int64_t row) const { return d * layer.gates * layer.hidden + row; }
  double bias(int64_t row) const {
    return call.has(3) ? call.operand(3)
                             .floats[d * 2 * layer.gates * layer.hidden + row]
                       : 0;
  }

  Call &call;
  const Layer &layer;
  int64_t d;
};

using Row = std::vector<double>;
using Step = llvm::function_ref<void(const Weights &, int64_t d,
                                     const double *x, Row &h, Row &c)>;

void run(Call &call, const Layer &layer, bool hasCell, Step step) {
  if (call.failed())
    return;
  const int64_t directions = layer.directions, hidden = layer.hidden;
  const Tensor &x = call.operand(0);
  const ElementType type = x.type;
  Tensor y(type, layer.batchFirst
                     ? Shape{layer.batch, layer.steps, directions, hidden}
                     : Shape{layer.steps, directions, layer.batch, hidden});
  const Shape state = layer.batchFirst ? Shape{layer.batch, directions, hidden}
                                       : Shape{directions, layer.batch, hidden};
  Tensor lastH(type, state), lastC(type, state);
  auto stateAt = [&](int64_t d, int64_t b) {
    return (layer.batchFirst ? b * directions + d : d * layer.batch + b) *
           hidden;
  };
  for (int64_t d = 0; d < directions; ++d)
    for (int64_t b = 0; b < layer.batch; ++b) {
      const Weights weights(call, layer, d);
      const int64_t place = stateAt(d, b);
      auto start = [&](size_t input) {
        if (!call.has(input))
          return Row(hidden, 0.0);
        const double *from = &call.operand(input).floats[place];
        return Row(from, from + hidden);
      };
      Row h = start(5), c = hasCell ? start(6) : Row(hidden, 0.0);
      const int64_t length = call.has(4) ? call.integers(4)[b] : layer.steps;
      for (int64_t k = 0; k < layer.steps; ++k) {
        const int64_t t = layer.backwards(d) ? layer.steps - 1 - k : k;
        if (t >= length)
          continue;
        step(weights, d, &x.floats[layer.row(t, b) * layer.features], h, c);
        const int64_t to = layer.batchFirst
                               ? (b * layer.steps + t) * directions + d
                               : (t * directions + d) * layer.batch + b;
        std::copy(h.begin(), h.end(), y.floats.begin() + to * hidden);
      }
      std::copy(h.begin(), h.end(), lastH.floats.begin() + place);
      std::copy(c.begin(), c.end(), lastC.floats.begin() + place);
    }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(lastH));
  if (hasCell)
    call.setResult(2, std::move(lastC));
}

void rnn(Call &call) {
  const Layer layer = readLayer(call, 1, {"Tanh"});
  run(call, layer, false,
      [&](const Weights &w, int64_t d, const double *x, Row &h, Row &) {
        const Row before = h;
        for (int64_t u = 0; u < layer.hidden; ++u)
          h[u] =
              layer.apply(d, 0, w.input(u, x) + w.recurrent(u, before.data()));
      });
}

/// Gates update, reset, hidden.
void gru(Call &call) {
  const Layer layer = readLayer(call, 3, {"Sigmoid", "Tanh"});
  const bool linear = call.getInt("linear_before_reset", 0) != 0;
  const int64_t n = layer.hidden;
  run(call, layer, false,
      [&](const Weights &w, int64_t d, const double *x, Row &h, Row &) {
        const Row before = h;
        Row reset(n), kept(n);
        for (int64_t u = 0; u < n; ++u) {
          reset[u] = layer.apply(
              d, 0, w.input(n + u, x) + w.recurrent(n + u, before.data()));
          kept[u] = reset[u] * before[u];
        }
        for (int64_t u = 0; u < n; ++u) {
          const double z =
              layer.apply(d, 0, w.input(u, x) + w.recurrent(u, before.data()));
          const double inner =
              linear ? reset[u] * w.recurrent(2 * n + u, before.data())
                     : w.recurrent(2 * n + u, kept.data());
          const double fresh = layer.apply(d, 1, w.input(2 * n + u, x) + inner);
          h[u] = (1 - z) * fresh + z * before[u];
        }
      });
}

/// Gates input, output, forget, cell.
void lstm(Call &call) {
  const Layer layer = readLayer(call, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = call.getInt("input_forget", 0) != 0;
  const int64_t n = layer.hidden;
  run(call, layer, true,
      [&](const Weights &w, int64_t d, const double *x, Row &h, Row &c) {
        const Row before = h;
        for (int64_t u = 0; u < n; ++u) {
          auto sum = [&](int64_t gate) {
            return w.input(gate * n + u, x) +
                   w.recurrent(gate * n + u, before.data());
          };
          const double i = layer.apply(d, 0, sum(0) + w.peephole(0, u) * c[u]);
          const double f =
              coupled ? 1 - i
                      : layer.apply(d, 0, sum(2) + w.peephole(2, u) * c[u]);
          c[u] = f * c[u] + i * layer.apply(d, 1, sum(3));
          const double o = layer.apply(d, 0, sum(1) + w.peephole(1, u) * c[u]);
          h[u] = o * layer.apply(d, 2, c[u]);
        }
      });
}

} // namespace

std::vector<EvaluatorRow> onnxref::recurrentEvaluators() {
  return {
      {"RNN", {1, 7, 14, 22}, 3, rnn},
      {"GRU", {1, 3, 7, 14, 22}, 3, gru},
      {"LSTM", {1, 7, 14, 22}, 3, lstm},
  };
}
