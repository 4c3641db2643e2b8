// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear attention and causal convolution, of ONNX and of com.microsoft, which
// may ask for the states after the last few tokens: a window that leads the
// batch, whose last slot is the state.

#include "Heads.h"
#include "Recurrence.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Value multiply(Node &n, Value a, Value b) { return n.binary<MulOp>(a, b); }

Value f32(Node &n, Value x) {
  return n.cast(x, mlir::Float32Type::get(n.context()));
}

/// The attribute state_window of com.microsoft's form.
int64_t readStateWindow(Node &n) {
  const int64_t window = n.getInt("state_window", 0);
  if (!n.failed() && (window < 0 || window > 8))
    n.malformed("state_window is {}, expected 0 to 8", window);
  return window;
}

/// The last slot of states that a window leads.
Value lastSlot(Node &n, Value states, int64_t window) {
  if (!states || window == 0)
    return states;
  if (rankOf(states) < 2 || shapeOf(states)[0] != window)
    return n.malformed("past_state is {}, expected {} slots", typeText(states),
                       window);
  return n.reshape(n.sliceAxis(states, 0, window - 1, 1),
                   shapeOf(states).drop_front());
}

/// The slots of a window: the states, oldest first, after zeros for tokens
/// before the first one. Without a window the last state.
Value inWindow(Node &n, ArrayRef<Value> states, int64_t window) {
  if (n.failed() || states.empty() || !states.back())
    return nullptr;
  if (window == 0)
    return states.back();
  Shape slot(shapeOf(states.back()));
  slot.insert(slot.begin(), 1);
  SmallVector<Value> slots(
      window - static_cast<int64_t>(states.size()),
      n.broadcast(n.splat(0, elementOf(states.back())), slot));
  for (Value state : states)
    slots.push_back(n.reshape(state, slot));
  return n.concat(slots, 0);
}

/// Sizes from the operands; false after recording an error. With `inverse`
/// several heads of keys may share one of queries: it counts for each.
bool readSizes(Node &n, Recurrence &r, bool inverse, int64_t &queryHeads) {
  queryHeads = n.getInt("q_num_heads", 0);
  r.heads = n.getInt("kv_num_heads", 0);
  Value q = n.input(0), k = n.input(1), v = n.input(2);
  if (n.failed())
    return false;
  if (r.heads < 1 || queryHeads < 1 ||
      (queryHeads % r.heads != 0 && !(inverse && r.heads % queryHeads == 0))) {
    n.malformed("{} heads of queries with {} of keys", queryHeads, r.heads);
    return false;
  }
  r.group = std::max<int64_t>(queryHeads / r.heads, 1);
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
bool readOptions(Node &n, Recurrence &r, int64_t window) {
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
    Value state = lastSlot(n, n.input(3), window);
    if (!state)
      return false;
    if (shapeOf(state) != ShapeRef({r.batch, r.heads, r.keySize, r.valueSize}))
      return refuse(3, "past_state");
    r.state = f32(n, state);
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

/// `windows`: com.microsoft's form.
void linearAttentionOf(Node &n, bool windows) {
  const std::string rule = n.getString("update_rule", "gated_delta");
  double scale = n.getFloat("scale", 0);
  const int64_t window = windows ? readStateWindow(n) : 0;
  n.ignore("chunk_size"); // How to compute, not what.
  Recurrence r;
  int64_t queryHeads = 0;
  if (n.failed() || !checkUpdateRule(n, rule, n.hasInput(4), n.hasInput(5)) ||
      !readSizes(n, r, /*inverse=*/windows, queryHeads) ||
      !readOptions(n, r, window))
    return;
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(r.keySize));
  Value q = byHeads(n, n.input(0), queryHeads);
  q = multiply(n, q, n.splat(scale, mlir::Float32Type::get(n.context())));
  if (queryHeads < r.heads)
    q = repeatHeads(n, q, r.heads);
  r.query = n.reshape(q, {r.batch, r.heads, r.group, r.length, r.keySize});
  r.key = byHeads(n, n.input(1), r.heads);
  r.value = byHeads(n, n.input(2), r.heads);
  r.keep = n.outputUsed(1) ? std::max<int64_t>(window, 1) : 1;
  if (n.failed())
    return;
  RecurrenceResult made = runRecurrence(n, r);
  Value y = n.transpose(
      n.reshape(made.y, {r.batch, r.heads * r.group, r.length, r.valueSize}),
      {0, 2, 1, 3});
  y = n.reshape(y, {r.batch, r.length, r.heads * r.group * r.valueSize});
  const Type given = elementOf(n.input(0));
  n.setOutput(0, n.cast(y, given));
  if (Value state = inWindow(n, made.states, n.outputUsed(1) ? window : 0))
    n.setOutput(1,
                n.cast(state, n.hasInput(3) ? elementOf(n.input(3)) : given));
}

void linearAttention(Node &n) { linearAttentionOf(n, /*windows=*/false); }
void contribLinearAttention(Node &n) { linearAttentionOf(n, /*windows=*/true); }

/// The attributes that com.microsoft's form of the convolution adds.
struct CausalForm {
  int64_t dilation = 1, window = 0;
  bool last = false; ///< Rows of channels, [batch, length, channels..].
};

std::optional<CausalForm> readCausalForm(Node &n) {
  CausalForm f;
  f.dilation = n.getInt("dilation", 1);
  f.last = n.getInt("channels_last", 0) != 0;
  f.window = readStateWindow(n);
  const int64_t dimensions = n.getInt("ndim", 1);
  if (dimensions != 1)
    n.unsupported("ndim is {}: the definition has no padding for dimensions "
                  "before the last; only 1 is known",
                  dimensions);
  if (!n.failed() && (f.dilation < 1 || f.dilation > (int64_t(1) << 24)))
    n.malformed("dilation is {}", f.dilation);
  return n.failed() ? std::nullopt : std::optional<CausalForm>(f);
}

/// [batch, rows, channels..] as [batch, channels, rows], if they are last.
Value rowsLast(Node &n, Value x, const CausalForm &f) {
  if (!x || !f.last)
    return x;
  const ShapeRef shape = shapeOf(x);
  if (shape.size() < 3)
    return n.malformed("an operand is {}, expected 3 dimensions or more",
                       typeText(x));
  return n.transpose(
      n.reshape(x, {shape[0], shape[1], elementCount(shape.drop_front(2))}),
      {0, 2, 1});
}

/// And back to the channels of \p like.
Value channelsBack(Node &n, Value x, Value like, const CausalForm &f) {
  if (!x || !f.last)
    return x;
  Shape shape = {shapeOf(x)[0], shapeOf(x)[2]};
  shape.append(shapeOf(like).begin() + 2, shapeOf(like).end());
  return n.reshape(n.transpose(x, {0, 2, 1}), shape);
}

/// A depthwise convolution that reads the past only; what the next call needs
/// of it is the second result.
void causalConv(Node &n, const CausalForm &f) {
  Value given = n.input(0), w = n.input(1);
  const std::string activation = n.getString("activation", "none");
  Value x = n.failed() ? Value() : rowsLast(n, given, f);
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
  const int64_t past = (shapeOf(w)[2] - 1) * f.dilation;
  Value longer;
  if (n.hasInput(3)) {
    Value state = rowsLast(n, lastSlot(n, n.input(3), f.window), f);
    if (state && shapeOf(state) != ShapeRef({shape[0], shape[1], past}))
      n.malformed("past_state is {}, expected {}", typeText(n.input(3)),
                  shapeToString({shape[0], shape[1], past}));
    if (n.failed())
      return;
    longer = past == 0 ? x : n.concat({state, x}, 2);
  } else {
    longer = n.pad(x, {0, 0, past}, {0, 0, 0}, PadMode::Constant, 0);
  }
  Value y = n.conv(longer, w, n.optionalInput(2),
                   {{1}, {0, 0}, {f.dilation}, shape[1]});
  if (activation != "none")
    y = n.unary(UnaryFunction::Swish, y, 1);
  n.setOutput(0, channelsBack(n, y, given, f));
  if (!n.outputUsed(1))
    return;
  SmallVector<Value> states;
  const int64_t count = std::min(std::max<int64_t>(f.window, 1), shape[2]);
  for (int64_t end = shape[2] - count + 1; end <= shape[2]; ++end)
    states.push_back(
        channelsBack(n, n.sliceAxis(longer, 2, end, past), given, f));
  // Of no token at all the state stays.
  if (states.empty())
    states.push_back(
        channelsBack(n, n.sliceAxis(longer, 2, 0, past), given, f));
  n.setOutput(1, inWindow(n, states, f.window));
}

void causalConvWithState(Node &n) { causalConv(n, {}); }

void contribCausalConv(Node &n) {
  if (std::optional<CausalForm> f = readCausalForm(n))
    causalConv(n, *f);
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
      {"LinearAttention",
       {1},
       contribLinearAttention,
       "as LinearAttention of ONNX; heads of queries for several of keys, and "
       "windows of states",
       "com.microsoft"},
      {"CausalConvWithState",
       {1},
       contribCausalConv,
       "one operation on the past and the input; dilation, channels last, "
       "windows of states; ndim is 1",
       "com.microsoft"},
  };
}
