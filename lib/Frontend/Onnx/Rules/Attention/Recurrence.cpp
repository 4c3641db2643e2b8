// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without corrections, and with a decay that is one number per head, all tokens
// go at once; otherwise one by one.

#include "Recurrence.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Value multiply(Node &n, Value a, Value b) { return n.binary<MulOp>(a, b); }

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

/// Every token after the one before.
RecurrenceResult runTokens(Node &n, const Recurrence &r) {
  Value state = r.state;
  SmallVector<Value> rows, states;
  for (int64_t t = 0; t < r.length && !n.failed(); ++t) {
    state = advance(n, r, state, t);
    Value query = n.reshape(n.sliceAxis(r.query, 3, t, 1),
                            {r.batch, r.heads, r.group, r.keySize});
    rows.push_back(n.reshape(n.matmul(query, state),
                             {r.batch, r.heads, r.group, 1, r.valueSize}));
    if (t + r.keep >= r.length)
      states.push_back(state);
  }
  return {n.concat(rows, 3), std::move(states)};
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
RecurrenceResult runAtOnce(Node &n, const Recurrence &r) {
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
          {state ? n.binary<AddOp>(state, written) : written}};
}

} // namespace

RecurrenceResult ashlar::frontend::runRecurrence(Node &n, const Recurrence &r) {
  const bool byToken = r.length == 1 || r.keep > 1 || r.rate ||
                       (r.decay && shapeOf(r.decay)[3] != 1);
  return byToken ? runTokens(n, r) : runAtOnce(n, r);
}

bool ashlar::frontend::checkUpdateRule(Node &n, const std::string &rule,
                                       bool hasDecay, bool hasRate) {
  const bool gated = rule == "gated" || rule == "gated_delta",
             corrected = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrected && rule != "linear")
    n.malformed("update_rule is '{}', expected linear, gated, delta or "
                "gated_delta",
                printable(rule));
  else if (hasDecay != gated)
    n.malformed("update_rule '{}' {} a decay", rule,
                gated ? "needs" : "takes no");
  else if (hasRate != corrected)
    n.malformed("update_rule '{}' {} a beta", rule,
                corrected ? "needs" : "takes no");
  return !n.failed();
}
