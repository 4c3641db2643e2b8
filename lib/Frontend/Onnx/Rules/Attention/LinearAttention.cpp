// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention without a softmax: a matrix per head of keys is the state, which
// every token decays, corrects and reads. Without corrections, and with a decay
// that is one number per head, all tokens go at once; otherwise one by one.

#include "Heads.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Operands in binary32, by heads.
struct Recurrence {
  int64_t batch = 0, length = 0, heads = 0; ///< Of keys and states.
  int64_t group = 0;                        ///< Heads of queries per state.
  int64_t keySize = 0, valueSize = 0;
  Value query; ///< [batch, heads, group, length, keySize], scaled.
  Value key, value;
  Value
      decay;  ///< Logarithm, [batch, heads, length, 1 or keySize]; may be null.
  Value rate; ///< [batch, 1 or heads, length, 1]; null without correction.
  Value state; ///< [batch, heads, keySize, valueSize]; null for zeros.
};

Value multiply(Node &n, Value a, Value b) { return n.binary<MulOp>(a, b); }

Value f32(Node &n, Value x) {
  return n.cast(x, mlir::Float32Type::get(n.context()));
}

/// Token t of [batch, heads, length, size] as a row or as a column.
Value token(Node &n, Value x, int64_t t, bool column) {
  Value row = n.sliceAxis(x, 2, t, 1);
  if (!row || !column)
    return row;
  const Shape shape(shapeOf(row));
  return n.reshape(row, {shape[0], shape[1], shape[3], 1});
}

/// The state after token t.
Value advance(Node &n, const Recurrence &r, Value state, int64_t t) {
  Value value = token(n, r.value, t, /*column=*/false);
  if (state && r.decay)
    state = multiply(n, state,
                     n.unary(UnaryFunction::Exp, token(n, r.decay, t, true)));
  if (state && r.rate)
    value = n.binary<SubOp>(
        value, n.matmul(token(n, r.key, t, /*column=*/false), state));
  if (r.rate)
    value = multiply(n, value, token(n, r.rate, t, /*column=*/false));
  Value written = multiply(n, token(n, r.key, t, /*column=*/true), value);
  return state ? n.binary<AddOp>(state, written) : written;
}

/// Every token after the one before; the result by heads, and the last state.
std::pair<Value, Value> runTokens(Node &n, const Recurrence &r) {
  Value state = r.state;
  SmallVector<Value> rows;
  for (int64_t t = 0; t < r.length && !n.failed(); ++t) {
    state = advance(n, r, state, t);
    Value query = n.reshape(n.sliceAxis(r.query, 3, t, 1),
                            {r.batch, r.heads, r.group, r.keySize});
    rows.push_back(n.reshape(n.matmul(query, state),
                             {r.batch, r.heads, r.group, 1, r.valueSize}));
  }
  return {n.concat(rows, 3), state};
}

/// Sums of the decays up to each token, [batch, heads, length, 1].
Value summedDecay(Node &n, const Recurrence &r) {
  Value sum = r.decay;
  for (int64_t reach = 1; sum && reach < r.length; reach *= 2)
    sum = n.binary<AddOp>(sum, n.pad(n.sliceAxis(sum, 2, 0, r.length - reach),
                                     {0, 0, reach, 0}, {0, 0, 0, 0},
                                     PadMode::Constant, 0));
  return sum;
}

/// All tokens at once: token t reads what token s <= t has written, less what
/// decayed in between, and what is left of the first state.
std::pair<Value, Value> runAtOnce(Node &n, const Recurrence &r) {
  const Type element = mlir::Float32Type::get(n.context()),
             index = mlir::IntegerType::get(n.context(), 64);
  const Shape byHead = {r.batch, r.heads, r.group * r.length, r.keySize};
  Value earlier =
      n.compare(CompareKind::GreaterOrEqual, n.iota(r.length, 2, 4, index),
                n.iota(r.length, 3, 4, index));
  Value sum = r.decay ? summedDecay(n, r) : Value();
  Value kept = n.cast(earlier, element), left = r.key, query = r.query;
  Value state = r.state;
  if (sum) {
    Value across = n.transpose(sum, {0, 1, 3, 2});
    kept = n.unary(
        UnaryFunction::Exp,
        n.where(earlier, n.binary<SubOp>(sum, across),
                n.splat(-std::numeric_limits<double>::infinity(), element)));
    Value whole = n.sliceAxis(sum, 2, r.length - 1, 1);
    left = multiply(n, r.key,
                    n.unary(UnaryFunction::Exp, n.binary<SubOp>(whole, sum)));
    state =
        state ? multiply(n, state, n.unary(UnaryFunction::Exp, whole)) : state;
    query = multiply(n, query,
                     n.reshape(n.unary(UnaryFunction::Exp, sum),
                               {r.batch, r.heads, 1, r.length, 1}));
  }
  Value scores =
      n.matmul(n.reshape(r.query, byHead), n.transpose(r.key, {0, 1, 3, 2}));
  const Shape apart = {r.batch, r.heads, r.group, r.length, r.length};
  const Shape mask = {r.decay ? r.batch : 1, r.decay ? r.heads : 1, 1, r.length,
                      r.length};
  scores = multiply(n, n.reshape(scores, apart), n.reshape(kept, mask));
  Value y = n.matmul(
      n.reshape(scores, {r.batch, r.heads, r.group * r.length, r.length}),
      r.value);
  if (r.state)
    y = n.binary<AddOp>(y, n.matmul(n.reshape(query, byHead), r.state));
  Value written = n.matmul(n.transpose(left, {0, 1, 3, 2}), r.value);
  return {n.reshape(y, {r.batch, r.heads, r.group, r.length, r.valueSize}),
          state ? n.binary<AddOp>(state, written) : written};
}

/// What the rule asks of the optional operands.
bool checkRule(Node &n, const std::string &rule) {
  const bool gated = rule == "gated" || rule == "gated_delta",
             corrected = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrected && rule != "linear")
    n.malformed("update_rule is '{}', expected linear, gated, delta or "
                "gated_delta",
                printable(rule));
  else if (n.hasInput(4) != gated)
    n.malformed("update_rule '{}' {} a decay", rule,
                gated ? "needs" : "takes no");
  else if (n.hasInput(5) != corrected)
    n.malformed("update_rule '{}' {} a beta", rule,
                corrected ? "needs" : "takes no");
  return !n.failed();
}

/// Sizes from the operands; false after recording an error.
bool readSizes(Node &n, Recurrence &r) {
  const int64_t queryHeads = n.getInt("q_num_heads", 0);
  r.heads = n.getInt("kv_num_heads", 0);
  Value q = n.input(0), k = n.input(1), v = n.input(2);
  if (n.failed())
    return false;
  if (r.heads < 1 || queryHeads < 1 || queryHeads % r.heads != 0) {
    n.malformed("{} heads of queries with {} of keys", queryHeads, r.heads);
    return false;
  }
  r.group = queryHeads / r.heads;
  for (Value x : {q, k, v})
    if (rankOf(x) != 3 || shapeOf(x).take_front(2) != shapeOf(q).take_front(2))
      n.malformed("queries {}, keys {} and values {} do not match", typeText(q),
                  typeText(k), typeText(v));
  if (n.failed())
    return false;
  r.batch = shapeOf(q)[0];
  r.length = shapeOf(q)[1];
  r.keySize = shapeOf(k)[2] / r.heads;
  r.valueSize = shapeOf(v)[2] / r.heads;
  if (r.keySize < 1 || r.valueSize < 1 || r.length < 1 || r.batch < 1 ||
      r.keySize * r.heads != shapeOf(k)[2] ||
      r.valueSize * r.heads != shapeOf(v)[2] ||
      shapeOf(q)[2] != r.keySize * queryHeads)
    n.malformed("{} heads of queries and {} of keys for {}, {} and {}",
                queryHeads, r.heads, typeText(q), typeText(k), typeText(v));
  return !n.failed();
}

/// An operand [batch, length, heads * size] as [batch, heads, length, size],
/// for a number of heads that divides it.
Value byHeads(Node &n, Value x, int64_t heads) {
  return splitHeads(n, f32(n, x), heads, "kv_num_heads");
}

/// The optional operands.
bool readOptions(Node &n, Recurrence &r) {
  auto refuse = [&](size_t i, const char *name) {
    n.malformed("{} is {}, for {} heads of {} by {}", name,
                typeText(n.input(i)), r.heads, r.keySize, r.valueSize);
    return false;
  };
  auto fits = [&](size_t i, ArrayRef<int64_t> widths) {
    const ShapeRef shape = shapeOf(n.input(i));
    return shape.size() == 3 && shape[0] == r.batch && shape[1] == r.length &&
           llvm::is_contained(widths, shape[2]);
  };
  if (n.hasInput(3)) {
    if (shapeOf(n.input(3)) !=
        ShapeRef({r.batch, r.heads, r.keySize, r.valueSize}))
      return refuse(3, "past_state");
    r.state = f32(n, n.input(3));
  }
  if (n.hasInput(4)) {
    if (!fits(4, {r.heads, r.heads * r.keySize}))
      return refuse(4, "decay");
    r.decay = byHeads(n, n.input(4), r.heads);
  }
  if (n.hasInput(5)) {
    if (!fits(5, {1, r.heads}))
      return refuse(5, "beta");
    r.rate = byHeads(n, n.input(5), shapeOf(n.input(5))[2]);
  }
  return !n.failed();
}

void linearAttention(Node &n) {
  const std::string rule = n.getString("update_rule", "gated_delta");
  double scale = n.getFloat("scale", 0);
  n.ignore("chunk_size"); // How to compute, not what.
  Recurrence r;
  if (!checkRule(n, rule) || !readSizes(n, r) || !readOptions(n, r))
    return;
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(r.keySize));
  Value q = byHeads(n, n.input(0), r.heads * r.group);
  q = multiply(n, q, n.splat(scale, mlir::Float32Type::get(n.context())));
  r.query = n.reshape(q, {r.batch, r.heads, r.group, r.length, r.keySize});
  r.key = byHeads(n, n.input(1), r.heads);
  r.value = byHeads(n, n.input(2), r.heads);
  if (n.failed())
    return;
  const bool byToken =
      r.length == 1 || r.rate || (r.decay && shapeOf(r.decay)[3] != 1);
  auto [y, state] = byToken ? runTokens(n, r) : runAtOnce(n, r);
  y = n.transpose(
      n.reshape(y, {r.batch, r.heads * r.group, r.length, r.valueSize}),
      {0, 2, 1, 3});
  y = n.reshape(y, {r.batch, r.length, r.heads * r.group * r.valueSize});
  const Type given = elementOf(n.input(0));
  n.setOutput(0, n.cast(y, given));
  n.setOutput(1, n.cast(state, n.hasInput(3) ? elementOf(n.input(3)) : given));
}

/// A depthwise convolution that reads the past only; what the next call needs
/// of it is the second result.
void causalConvWithState(Node &n) {
  Value x = n.input(0), w = n.input(1);
  const std::string activation = n.getString("activation", "none");
  if (!x || !w)
    return;
  if (activation != "none" && activation != "silu" && activation != "swish") {
    n.malformed("activation is '{}', expected none, silu or swish",
                printable(activation));
    return;
  }
  if (rankOf(x) != 3 || rankOf(w) != 3 || shapeOf(w)[0] != shapeOf(x)[1] ||
      shapeOf(w)[1] != 1 || shapeOf(w)[2] < 1 || elementOf(w) != elementOf(x)) {
    n.malformed("weights {} for {}, expected [channels, 1, k]", typeText(w),
                typeText(x));
    return;
  }
  const Shape shape(shapeOf(x));
  const int64_t past = shapeOf(w)[2] - 1;
  Value longer;
  if (n.hasInput(3)) {
    if (shapeOf(n.input(3)) != ShapeRef({shape[0], shape[1], past})) {
      n.malformed("past_state is {}, expected {}", typeText(n.input(3)),
                  shapeToString({shape[0], shape[1], past}));
      return;
    }
    longer = past == 0 ? x : n.concat({n.input(3), x}, 2);
  } else {
    longer = n.pad(x, {0, 0, past}, {0, 0, 0}, PadMode::Constant, 0);
  }
  Value y = n.conv(longer, w, n.optionalInput(2), {{1}, {0, 0}, {1}, shape[1]});
  if (activation != "none")
    y = n.unary(UnaryFunction::Swish, y, 1);
  n.setOutput(0, y);
  if (n.outputUsed(1))
    n.setOutput(1, n.sliceAxis(longer, 2, shape[2], past));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::linearAttentionRows() {
  return {
      {"LinearAttention",
       {27},
       linearAttention,
       "products and masks for all tokens at once without corrections and with "
       "one decay per head; otherwise token by token"},
      {"CausalConvWithState",
       {27},
       causalConvWithState,
       "one operation on the past and the input"},
  };
}
