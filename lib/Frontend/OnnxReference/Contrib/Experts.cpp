// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mixture of experts, token by token: only the experts that a token is sent
// to compute it.

#include "Experts.h"

#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

using Row = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The weights and the bias of a layer; empty tensors where there are none.
struct Layer {
  Tensor weights, bias;
  bool there() const { return !weights.shape.empty(); }
};

/// Weights [experts, rows, columns] of an expert times x, plus its bias.
Row apply(const Layer &layer, const Row &x, int64_t expert) {
  const int64_t rows = layer.weights.shape[1], columns = layer.weights.shape[2];
  Row y(rows, 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      y[r] += layer.weights.floats[(expert * rows + r) * columns + c] * x[c];
    if (!layer.bias.shape.empty())
      y[r] += layer.bias.floats[expert * rows + r];
  }
  return y;
}

double activate(double x, const std::string &name) {
  if (name == "relu")
    return x > 0 ? x : 0;
  if (name == "gelu")
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                          (x + 0.044715 * x * x * x)));
  return name == "silu" ? x * sigmoid(x) : x;
}

Row innerValues(Call &call, const Row &x, const Layer &fc1, const Layer &fc3,
                int64_t expert) {
  const std::string name = call.getString("activation_type", "relu");
  const double alpha = call.getFloat("activation_alpha", 1),
               beta = call.getFloat("activation_beta", 0),
               limit = call.hasAttribute("swiglu_limit")
                           ? call.getFloat("swiglu_limit", 0)
                           : HUGE_VAL;
  const Row first = apply(fc1, x, expert),
            third = fc3.there() ? apply(fc3, x, expert) : Row();
  Row y;
  const size_t count =
      name == "swiglu" && third.empty() ? first.size() / 2 : first.size();
  const bool inTurn = call.getInt("swiglu_fusion", 0) == 1;
  for (size_t i = 0; i < count; ++i) {
    if (name != "swiglu") {
      y.push_back(activate(first[i], name) * (third.empty() ? 1 : third[i]));
      continue;
    }
    double gate = first[i], value = 0;
    if (!third.empty())
      value = third[i];
    else if (inTurn)
      gate = first[2 * i], value = first[2 * i + 1];
    else
      value = first[count + i];
    gate = std::min(gate, limit);
    value = std::min(std::max(value, -limit), limit);
    y.push_back(gate * sigmoid(alpha * gate) * (value + beta));
  }
  return y;
}

void mix(Call &call, const Layer &fc1, const Layer &fc2, const Layer &fc3) {
  if (call.failed())
    return;
  const Tensor &x = call.operand(0), &router = call.operand(1);
  const int64_t chosen = call.getInt("k", 1), hidden = x.shape.back(),
                tokens = x.size() / std::max<int64_t>(hidden, 1);
  if (!call.require(rankOf(router) == 2 && router.shape[0] == tokens &&
                        chosen > 0 && chosen <= router.shape[1] &&
                        rankOf(fc1.weights) == 3 && rankOf(fc2.weights) == 3 &&
                        x.isFloat(),
                    "operands do not fit"))
    return;
  const bool normalise = call.getInt("normalize_routing_weights", 0) != 0;
  const int64_t experts = router.shape[1];
  Tensor y(x.type, x.shape);
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<std::pair<double, int64_t>> order;
    double sum = 0, kept = 0;
    for (int64_t e = 0; e < experts; ++e) {
      order.emplace_back(std::exp(router.floats[t * experts + e]), e);
      sum += order.back().first;
    }
    std::sort(order.rbegin(), order.rend());
    for (int64_t i = 0; i < chosen; ++i)
      kept += order[i].first;
    const Row row(x.floats.begin() + t * hidden,
                  x.floats.begin() + (t + 1) * hidden);
    for (int64_t i = 0; i < chosen; ++i) {
      const auto [chance, expert] = order[i];
      const Row out =
          apply(fc2, innerValues(call, row, fc1, fc3, expert), expert);
      for (int64_t d = 0; d < hidden; ++d)
        y.floats[t * hidden + d] += chance / (normalise ? kept : sum) * out[d];
    }
  }
  call.setResult(0, std::move(y));
}

Tensor operandOr(Call &call, size_t i) {
  return call.has(i) ? call.operand(i) : Tensor();
}

/// Numbers of packed weights, the first in the low bits of a byte.
Tensor unpacked(Call &call, size_t i, size_t zero) {
  if (!call.has(i))
    return {};
  if (!call.require(call.has(i + 1), "scales are missing"))
    return {};
  const Tensor &bytes = call.operand(i), &scales = call.operand(i + 1);
  const int64_t bits = call.getInt("expert_weight_bits", 4);
  if (!call.require(rankOf(bytes) == 3 && !bytes.isFloat() &&
                        scales.isFloat() && bits > 0 && 8 % bits == 0,
                    "packed weights do not fit"))
    return {};
  const int64_t perByte = 8 / bits, columns = bytes.shape[2] * perByte;
  const int64_t given = call.getInt("block_size", 0),
                block = given > 0 ? given : columns,
                blocks = (columns + block - 1) / block;
  // Rows without blocks have one zero point each, packed expert by expert.
  const int64_t line = given > 0 ? blocks : bytes.shape[1],
                zeroBytes = (line + perByte - 1) / perByte;
  const int64_t rows = bytes.shape[0] * bytes.shape[1];
  if (!call.require(
          scales.size() == rows * blocks &&
              (!call.has(zero) ||
               call.operand(zero).size() ==
                   rows * blocks / std::max<int64_t>(line, 1) * zeroBytes),
          "scales or zero points do not fit"))
    return {};
  Tensor w(ElementType::F64, {bytes.shape[0], bytes.shape[1], columns});
  auto code = [&](const Tensor &packed, int64_t first, int64_t k) {
    return packed.ints[first + k / perByte] >> (k % perByte * bits) &
           ((1 << bits) - 1);
  };
  for (int64_t at = 0; at < w.size(); ++at) {
    const int64_t row = at / columns, column = at % columns,
                  own = column / block;
    const int64_t place = row * blocks + own;
    const int64_t origin =
        call.has(zero)
            ? code(call.operand(zero), place / line * zeroBytes, place % line)
            : int64_t(1) << (bits - 1);
    w.floats[at] = static_cast<double>(
                       code(bytes, row * bytes.shape[2], column) - origin) *
                   scales.floats[row * blocks + own];
  }
  return w;
}

} // namespace

void onnxref::mixtureOfExperts(Call &call) {
  mix(call, {call.operand(2), operandOr(call, 3)},
      {operandOr(call, 4), operandOr(call, 5)},
      {operandOr(call, 6), operandOr(call, 7)});
}

void onnxref::mixtureOfPackedExperts(Call &call) {
  mix(call, {unpacked(call, 2, 11), operandOr(call, 4)},
      {unpacked(call, 5, 12), operandOr(call, 7)},
      {unpacked(call, 8, 13), operandOr(call, 10)});
}
