// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GatedDeltaNet of com.microsoft: the recurrence of linear attention with heads
// of keys that several heads of values share, and the activations of its gates.

#include "../Attention/Heads.h"
#include "../Attention/Recurrence.h"

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The operands by their places.
enum Operand : size_t {
  Query,
  Key,
  Val,
  Offsets,
  Decay,
  Beta,
  State,
  ALog,
  Bias,
  Capture,
};

/// Lengths of the sequences, which must be alike.
bool readOffsets(Node &n, int64_t tokens, Recurrence &r) {
  auto offsets = n.constantIntegers(Offsets, "cu_seqlens");
  if (!offsets)
    return false;
  r.batch = static_cast<int64_t>(offsets->size()) - 1;
  r.length = r.batch > 0 ? tokens / r.batch : 0;
  for (auto [i, offset] : llvm::enumerate(*offsets))
    if (r.length < 1 || offset != static_cast<int64_t>(i) * r.length ||
        r.length * r.batch != tokens) {
      n.unsupported("cu_seqlens of sequences of different lengths, for {} "
                    "tokens; export them with padding",
                    tokens);
      return false;
    }
  return true;
}

/// Batch and length, from the shape of four dimensions, the offsets or the
/// state.
bool readTokens(Node &n, Recurrence &r) {
  const ShapeRef q = shapeOf(n.input(Query));
  if (q.size() == 4) {
    r.batch = q[0];
    r.length = q[1];
    if (n.hasInput(Offsets))
      n.malformed("cu_seqlens with query {}, expected 3 dimensions",
                  typeText(n.input(Query)));
  } else if (n.hasInput(Offsets)) {
    return readOffsets(n, q[0], r);
  } else if (!n.hasInput(State)) {
    n.malformed("neither cu_seqlens nor initial_state says how many sequences "
                "the tokens are");
  } else {
    r.batch = rankOf(n.input(State)) > 0 ? shapeOf(n.input(State))[0] : 0;
    r.length = r.batch > 0 ? q[0] / r.batch : 0;
  }
  if (!n.failed() && (r.batch < 1 || r.length < 1 ||
                      r.batch * r.length != elementCount(q.drop_back(2))))
    n.malformed("query {} is not of {} sequences", typeText(n.input(Query)),
                r.batch);
  return !n.failed();
}

/// [tokens.., heads, size] in binary32 as [batch, heads, length, size].
Value byHeads(Node &n, Value x, const Recurrence &r, int64_t heads,
              int64_t size) {
  if (!x)
    return nullptr;
  x = n.reshape(n.cast(x, f32Of(n)), {r.batch, r.length, heads, size});
  return n.transpose(x, {0, 2, 1, 3});
}

/// Rows of length 1; those of length 0 stay.
Value unitRows(Node &n, Value x) {
  Value norm = n.unary(UnaryFunction::Sqrt,
                       n.reduce(ReduceKind::SumSquare, x, {3}, true));
  if (!norm)
    return nullptr;
  const Type type = elementOf(norm);
  Value zero = n.compare(CompareKind::Equal, norm, n.splat(0, type));
  return n.binary<DivOp>(x, n.where(zero, n.splat(1, type), norm));
}

/// The logarithm of the decay: as given, or -exp(a_log) * Softplus(decay +
/// dt_bias), one of each per head.
bool readDecay(Node &n, Recurrence &r) {
  const std::string activation = n.getString("gate_activation", "none");
  const bool active = activation == "qwen";
  if (!active && activation != "none")
    n.malformed("gate_activation is '{}', expected none or qwen",
                printable(activation));
  if (active != n.hasInput(ALog) || active != n.hasInput(Bias))
    n.malformed("gate_activation '{}' {} a_log and dt_bias", activation,
                active ? "needs" : "takes no");
  if (n.failed() || !n.hasInput(Decay))
    return !n.failed();
  Value decay = n.input(Decay);
  const int64_t tokens = r.batch * r.length,
                width = elementCount(shapeOf(decay)) / (tokens * r.heads);
  if ((width != 1 && width != r.keySize) ||
      width * tokens * r.heads != elementCount(shapeOf(decay)) ||
      (active && width != 1)) {
    n.malformed("decay is {} for {} tokens, {} heads of {}", typeText(decay),
                tokens, r.heads, r.keySize);
    return false;
  }
  r.decay = byHeads(n, decay, r, r.heads, width);
  if (!active)
    return true;
  for (size_t i : {ALog, Bias})
    if (shapeOf(n.input(i)) != ShapeRef(r.heads)) {
      n.malformed("input {} is {}, expected {} numbers", i,
                  typeText(n.input(i)), r.heads);
      return false;
    }
  const Shape each = {1, r.heads, 1, 1};
  Value sum = n.binary<AddOp>(r.decay, n.reshape(n.input(Bias), each));
  Value factor =
      n.unary(UnaryFunction::Neg,
              n.unary(UnaryFunction::Exp, n.reshape(n.input(ALog), each)));
  r.decay = n.binary<MulOp>(factor, n.unary(UnaryFunction::Softplus, sum));
  return !n.failed();
}

bool readRate(Node &n, Recurrence &r) {
  const std::string activation = n.getString("beta_activation", "none");
  if (activation != "none" && activation != "sigmoid")
    n.malformed("beta_activation is '{}', expected none or sigmoid",
                printable(activation));
  if (n.failed() || !n.hasInput(Beta))
    return !n.failed();
  Value beta = n.input(Beta);
  if (elementCount(shapeOf(beta)) != r.batch * r.length * r.heads) {
    n.malformed("beta is {} for {} tokens and {} heads", typeText(beta),
                r.batch * r.length, r.heads);
    return false;
  }
  r.rate = byHeads(n, beta, r, r.heads, 1);
  if (activation == "sigmoid")
    r.rate = n.unary(UnaryFunction::Sigmoid, r.rate);
  return !n.failed();
}

/// Queries, keys, values and their sizes.
bool readVectors(Node &n, Recurrence &r) {
  Value q = n.input(Query), k = n.input(Key), v = n.input(Val);
  if (!q || !k || !v)
    return false;
  const int64_t rank = rankOf(q);
  if ((rank != 3 && rank != 4) || shapeOf(k) != shapeOf(q) ||
      rankOf(v) != rank || shapeOf(v).drop_back(2) != shapeOf(q).drop_back(2) ||
      elementCount(shapeOf(q)) == 0 ||
      shapeOf(v)[rank - 2] % shapeOf(q)[rank - 2] != 0) {
    n.malformed("queries {}, keys {} and values {} do not match", typeText(q),
                typeText(k), typeText(v));
    return false;
  }
  r.heads = shapeOf(v)[rank - 2];
  r.group = 1;
  r.keySize = shapeOf(q).back();
  r.valueSize = shapeOf(v).back();
  if (r.heads < 1 || r.valueSize < 1 || !readTokens(n, r)) {
    n.malformed("values are {}", typeText(v));
    return false;
  }
  const int64_t shared = shapeOf(q)[rank - 2];
  const bool unit = n.getInt("qk_l2_norm", 0) != 0;
  double scale = n.getFloat("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(r.keySize));
  r.query = byHeads(n, q, r, shared, r.keySize);
  r.key = byHeads(n, k, r, shared, r.keySize);
  if (unit) {
    r.query = unitRows(n, r.query);
    r.key = unitRows(n, r.key);
  }
  r.query = n.binary<MulOp>(r.query, n.splat(scale, f32Of(n)));
  r.query = n.reshape(repeatHeads(n, r.query, r.heads),
                      {r.batch, r.heads, 1, r.length, r.keySize});
  r.key = repeatHeads(n, r.key, r.heads);
  r.value = byHeads(n, v, r, r.heads, r.valueSize);
  return !n.failed();
}

void gatedDeltaNet(Node &n) {
  const std::string rule = n.getString("update_rule", "gated_delta");
  n.ignore("chunk_size"); // How to compute, not what.
  if (n.getInt("state_update_capacity", 0) != 0 || n.hasInput(Capture))
    n.unsupported("state_update_capacity: what a token changes is not kept");
  Recurrence r;
  if (n.failed() ||
      !checkUpdateRule(n, rule, n.hasInput(Decay), n.hasInput(Beta)) ||
      !readVectors(n, r) || !readDecay(n, r) || !readRate(n, r))
    return;
  if (n.hasInput(State)) {
    const Shape own = {r.batch, r.heads, r.valueSize, r.keySize};
    if (shapeOf(n.input(State)) != ShapeRef(own)) {
      n.malformed("initial_state is {}, expected {}", typeText(n.input(State)),
                  shapeToString(own));
      return;
    }
    r.state = n.transpose(n.input(State), {0, 1, 3, 2});
  }
  RecurrenceResult made = runRecurrence(n, r);
  if (n.failed() || !made.y || made.states.empty())
    return;
  Shape shape(shapeOf(n.input(Val)));
  Value y =
      n.transpose(n.reshape(made.y, {r.batch, r.heads, r.length, r.valueSize}),
                  {0, 2, 1, 3});
  n.setOutput(0, n.cast(n.reshape(y, shape), elementOf(n.input(Query))));
  n.setOutput(1, n.transpose(made.states.back(), {0, 1, 3, 2}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::gatedDeltaNetRows() {
  return {{"GatedDeltaNet",
           {1},
           gatedDeltaNet,
           "as LinearAttention; sequences of one length; no "
           "state_update_capacity",
           "com.microsoft"}};
}
