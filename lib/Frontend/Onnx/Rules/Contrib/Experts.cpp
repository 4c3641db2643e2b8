// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mixture of experts: every expert computes every token, and a router, whose
// choice is known at run time, says how much each result counts. Weights are
// read whatever the choice is, so that the time does not depend on it.

#include "Experts.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

using F = UnaryFunction;

struct Mixture {
  int64_t tokens = 0, hidden = 0, experts = 0, inner = 0;
  int64_t chosen = 1; ///< Experts per token.
  std::string activation;
  int64_t fusion = 0; ///< Of gate and value in fc1: none, in turn, halves.
  double alpha = 1, beta = 0;
  std::optional<double> limit;
  bool gated() const { return activation == "swiglu"; }
};

/// How much each expert counts for each token, [tokens, experts]. Of equal
/// probabilities the later expert is chosen, as ONNX Runtime does.
Value routing(Node &n, const Mixture &m, Value router, bool normalise) {
  const Type element = mlir::Float32Type::get(n.context()),
             index = mlir::IntegerType::get(n.context(), 64);
  Value chance = n.softmax(n.cast(router, element), 1, /*logarithm=*/false);
  Value own = n.reshape(chance, {m.tokens, m.experts, 1}),
        other = n.reshape(chance, {m.tokens, 1, m.experts});
  Value later = n.compare(CompareKind::Greater, n.iota(m.experts, 2, 3, index),
                          n.iota(m.experts, 1, 3, index));
  Value ahead =
      n.logical(LogicalKind::Or, n.compare(CompareKind::Greater, other, own),
                n.logical(LogicalKind::And,
                          n.compare(CompareKind::Equal, other, own), later));
  Value place = n.reduce(ReduceKind::Sum, n.cast(ahead, element), {2},
                         /*keepdims=*/false);
  Value kept = n.compare(CompareKind::Less, place,
                         n.splat(static_cast<double>(m.chosen), element));
  Value weight = n.where(kept, chance, n.splat(0, element));
  return normalise ? n.binary<DivOp>(weight, n.reduce(ReduceKind::Sum, weight,
                                                      {1}, /*keepdims=*/true))
                   : weight;
}

/// Weights [experts, rows, columns] and biases [experts, rows] of a layer; both
/// null where there is none.
struct Layer {
  const char *name;
  Value weights, bias;
};

/// The layers in the order of their names.
struct Layers {
  Layer fc1, fc2, fc3;
};

/// x [1 or experts, tokens, columns] times the weights of each expert, plus its
/// bias.
Value apply(Node &n, const Mixture &m, Value x, const Layer &layer,
            int64_t rows) {
  if (!x || !layer.weights)
    return nullptr;
  const Shape expected = {m.experts, rows, shapeOf(x)[2]};
  if (shapeOf(layer.weights) != ShapeRef(expected) ||
      elementOf(layer.weights) != elementOf(x))
    return n.malformed("the weights of {} are {}, expected {} of the input's "
                       "type",
                       layer.name, typeText(layer.weights),
                       shapeToString(expected));
  Value y = n.matmul(n.broadcast(x, {m.experts, m.tokens, shapeOf(x)[2]}),
                     n.transpose(layer.weights, {0, 2, 1}));
  if (!layer.bias)
    return y;
  if (shapeOf(layer.bias) != ShapeRef({m.experts, rows}))
    return n.malformed("the bias of {} is {}, expected {}", layer.name,
                       typeText(layer.bias), shapeToString({m.experts, rows}));
  return n.binary<AddOp>(y, n.reshape(layer.bias, {m.experts, 1, rows}));
}

/// gate * sigmoid(alpha * gate) * (value + beta), both within the limit.
Value gatedPair(Node &n, const Mixture &m, Value gate, Value value) {
  if (m.limit && gate && value) {
    gate = n.binary<MinOp>(gate, n.splat(*m.limit, elementOf(gate)));
    value = n.unary(F::Clip, value, -*m.limit, *m.limit);
  }
  if (m.beta != 0 && value)
    value = n.binary<AddOp>(value, n.splat(m.beta, elementOf(value)));
  return n.binary<MulOp>(n.unary(F::Swish, gate, m.alpha), value);
}

/// Gate and value of [experts, tokens, 2 * inner]: neighbours or halves.
Value splitPair(Node &n, const Mixture &m, Value x) {
  if (!x)
    return nullptr;
  const bool inTurn = m.fusion == 1;
  auto part = [&](int64_t start) {
    return n.slice(x, {0, 0, start}, {m.experts, m.tokens, m.inner},
                   {1, 1, inTurn ? 2 : 1});
  };
  return gatedPair(n, m, part(0), part(inTurn ? 1 : m.inner));
}

Value activated(Node &n, const Mixture &m, Value x) {
  if (m.activation == "relu")
    return n.unary(F::Relu, x);
  if (m.activation == "gelu")
    return n.unary(F::GeluTanh, x);
  if (m.activation == "silu")
    return n.unary(F::Swish, x, 1);
  if (m.activation == "identity")
    return x;
  return n.malformed("activation_type is '{}', expected relu, gelu, silu, "
                     "swiglu or identity",
                     printable(m.activation));
}

/// The first layers with what is between them and the last.
Value innerValues(Node &n, const Mixture &m, Value x, const Layers &l) {
  const bool third = static_cast<bool>(l.fc3.weights);
  if (m.gated() && !third)
    return splitPair(n, m, apply(n, m, x, l.fc1, 2 * m.inner));
  Value gate = apply(n, m, x, l.fc1, m.inner);
  if (!third)
    return activated(n, m, gate);
  Value value = apply(n, m, x, l.fc3, m.inner);
  return m.gated() ? gatedPair(n, m, gate, value)
                   : n.binary<MulOp>(activated(n, m, gate), value);
}

std::optional<Mixture> readMixture(Node &n, Value x, Value router,
                                   const Layers &l) {
  Value last = l.fc2.weights;
  Mixture m;
  m.chosen = n.getInt("k", 1);
  m.activation = n.getString("activation_type", "relu");
  m.fusion = n.getInt("swiglu_fusion", 0);
  m.alpha = n.getFloat("activation_alpha", 1);
  m.beta = n.getFloat("activation_beta", 0);
  if (n.hasAttribute("swiglu_limit"))
    m.limit = n.getFloat("swiglu_limit", 0);
  if (n.getInt("use_sparse_mixer", 0) != 0)
    n.unsupported("use_sparse_mixer");
  if (n.failed())
    return std::nullopt;
  if (rankOf(x) < 2 || rankOf(router) != 2 || rankOf(last) != 3 ||
      elementCount(shapeOf(x)) == 0 || !isFloatElement(x)) {
    n.malformed("the input is {}, router_probs {} and fc2_experts_weights {}",
                typeText(x), typeText(router), typeText(last));
    return std::nullopt;
  }
  m.hidden = shapeOf(x).back();
  m.tokens = elementCount(shapeOf(x)) / m.hidden;
  m.experts = shapeOf(router)[1];
  m.inner = shapeOf(last)[2];
  if (shapeOf(router)[0] != m.tokens || m.experts < 1 || m.inner < 1 ||
      m.chosen < 1 || m.chosen > m.experts)
    n.malformed("k is {} for {} tokens and router_probs {}", m.chosen, m.tokens,
                typeText(router));
  else if (m.gated() && !l.fc3.weights && m.fusion != 1 && m.fusion != 2)
    n.malformed("swiglu_fusion is {}, expected 1 or 2 without "
                "fc3_experts_weights",
                m.fusion);
  if (n.failed())
    return std::nullopt;
  return m;
}

void mix(Node &n, const Layers &l) {
  Value x = n.input(0), router = n.input(1);
  const bool normalise = n.getInt("normalize_routing_weights", 0) != 0;
  if (!x || !router || !l.fc1.weights || !l.fc2.weights)
    return;
  const std::optional<Mixture> m = readMixture(n, x, router, l);
  if (!m)
    return;
  const Shape shape(shapeOf(x));
  Value inner = innerValues(n, *m, n.reshape(x, {1, m->tokens, m->hidden}), l);
  Value y = apply(n, *m, inner, l.fc2, m->hidden);
  Value weight = n.transpose(routing(n, *m, router, normalise), {1, 0});
  const Type element = mlir::Float32Type::get(n.context());
  y = n.binary<MulOp>(n.cast(y, element),
                      n.reshape(weight, {m->experts, m->tokens, 1}));
  y = n.reduce(ReduceKind::Sum, y, {0}, /*keepdims=*/false);
  n.setOutput(0, n.reshape(n.cast(y, elementOf(x)), shape));
}

/// Numbers of packed weights: (q - zero) * scale, one scale per row or per
/// block of `block` columns; without a zero point the middle of the range.
Value unpacked(Node &n, size_t weights, size_t scale, size_t zero, int64_t bits,
               int64_t block) {
  if (!n.hasInput(weights))
    return nullptr;
  auto bytes = n.constantIntegers(weights, "weights");
  auto scales = n.constantNumbers(scale, "scales");
  std::optional<SmallVector<int64_t>> zeros = SmallVector<int64_t>();
  if (n.hasInput(zero))
    zeros = n.constantIntegers(zero, "zero points");
  if (!bytes || !scales || !zeros)
    return nullptr;
  const ShapeRef stored = shapeOf(n.input(weights));
  const int64_t perByte = 8 / bits;
  if (stored.size() != 3 ||
      elementOf(n.input(weights)).getIntOrFloatBitWidth() != 8)
    return n.malformed("input {} is {}, expected bytes of 3 dimensions",
                       weights, typeText(n.input(weights)));
  const int64_t rows = stored[0] * stored[1], columns = stored[2] * perByte,
                size = block > 0 ? block : std::max<int64_t>(columns, 1),
                blocks = (columns + size - 1) / size;
  // Zero points are packed along the blocks of a row; where a row has no
  // blocks, along the rows of an expert.
  const int64_t line = block > 0 ? blocks : stored[1],
                lines = block > 0 ? rows : stored[0],
                zeroBytes = (line + perByte - 1) / perByte;
  if (static_cast<int64_t>(scales->size()) != rows * blocks ||
      (n.hasInput(zero) &&
       static_cast<int64_t>(zeros->size()) != lines * zeroBytes))
    return n.malformed("{} scales and {} bytes of zero points for {} rows of "
                       "{} blocks",
                       scales->size(), zeros->size(), rows, blocks);
  if (!n.reserve(rows * columns, 2 * sizeof(double)))
    return nullptr;
  const int64_t mask = (int64_t(1) << bits) - 1;
  auto at = [&](ArrayRef<int64_t> packed, int64_t row, int64_t i) {
    return packed[row + i / perByte] >> (i % perByte * bits) & mask;
  };
  SmallVector<double> numbers;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t b = c / size, i = r * blocks + b;
      const int64_t origin = n.hasInput(zero)
                                 ? at(*zeros, i / line * zeroBytes, i % line)
                                 : int64_t(1) << (bits - 1);
      numbers.push_back(
          static_cast<double>(at(*bytes, r * stored[2], c) - origin) *
          (*scales)[i]);
    }
  return n.floats(numbers, {stored[0], stored[1], columns},
                  elementOf(n.input(0)));
}

} // namespace

void ashlar::frontend::mixtureOfExperts(Node &n) {
  mix(n, {{"fc1", n.input(2), n.optionalInput(3)},
          {"fc2", n.input(4), n.optionalInput(5)},
          {"fc3", n.optionalInput(6), n.optionalInput(7)}});
}

void ashlar::frontend::mixtureOfPackedExperts(Node &n) {
  const int64_t bits = n.getInt("expert_weight_bits", 4),
                block = n.getInt("block_size", 0);
  if (!n.input(0) || !n.input(2) || !n.input(5) || n.failed())
    return;
  if ((bits != 2 && bits != 4 && bits != 8) || block < 0) {
    n.malformed("expert_weight_bits is {} and block_size {}, expected 2, 4 or "
                "8 bits",
                bits, block);
    return;
  }
  auto read = [&](size_t i, size_t zero) {
    return unpacked(n, i, i + 1, zero, bits, block);
  };
  mix(n, {{"fc1", read(2, 11), n.optionalInput(4)},
          {"fc2", read(5, 12), n.optionalInput(7)},
          {"fc3", read(8, 13), n.optionalInput(10)}});
}
