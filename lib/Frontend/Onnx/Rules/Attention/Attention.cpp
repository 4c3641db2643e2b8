// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and rotary positions.

#include "Heads.h"
#include "Unread.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Value maskWhere(Node &n, Value kept, Type element) {
  return n.where(kept, n.splat(0, element), n.splat(kExcluded, element));
}

/// The operand as terms of the scores; what it is too short for is masked.
Value givenMask(Node &n, Value mask, int64_t keys, Type element) {
  if (!mask)
    return nullptr;
  if (elementOf(mask).isInteger(1))
    mask = maskWhere(n, mask, element);
  else if (mlir::isa<mlir::IntegerType>(elementOf(mask)))
    mask = n.cast(mask, element); // Numbers to add, as floats are.
  if (!mask || rankOf(mask) < 1 || rankOf(mask) > 4)
    return n.malformed("the mask is {}, expected 1 to 4 dimensions",
                       typeText(n.input(3)));
  const int64_t missing = keys - shapeOf(mask).back();
  if (missing <= 0)
    return mask;
  Shape low(rankOf(mask), 0), high(rankOf(mask), 0);
  high.back() = missing;
  return n.pad(mask, low, high, PadMode::Constant, kExcluded);
}

struct Heads {
  Value q, k, v;
  Value pastKey, lengths;
};

/// The places of queries [batch or 1, 1, queries, 1] among the keys.
Value queryPlaces(Node &n, const Heads &h) {
  const Type type = n.indexType();
  const int64_t queries = shapeOf(h.q)[2];
  Value offset = n.integers(h.pastKey ? shapeOf(h.pastKey)[2] : 0, {}, type);
  if (!h.pastKey && h.lengths)
    offset = n.binary<SubOp>(
        n.reshape(n.cast(h.lengths, type), {shapeOf(h.q)[0], 1, 1, 1}),
        n.integers(queries, {}, type));
  return n.binary<AddOp>(n.iota(queries, 2, 4, type), offset);
}

/// Query i reads keys up to i and those that were there before.
Value causalMask(Node &n, const Heads &h, Type element) {
  Value kept = n.compare(CompareKind::LessOrEqual,
                         n.iota(shapeOf(h.k)[2], 3, 4, n.indexType()),
                         queryPlaces(n, h));
  return maskWhere(n, kept, element);
}

/// How far a query reads to either side; -1: all keys.
struct Window {
  int64_t left = -1, right = -1;
};

Value windowMask(Node &n, const Heads &h, Window window, Type element) {
  const Type type = n.indexType();
  Value key = n.iota(shapeOf(h.k)[2], 3, 4, type), query = queryPlaces(n, h);
  // A past that is kept has room for more rows than are filled: distances are
  // those of positions.
  if (Value filled = h.pastKey ? n.filledRows(h.pastKey) : Value()) {
    Value capacity = n.integers(shapeOf(h.pastKey)[2], {}, type);
    Value moved = n.binary<SubOp>(n.reshape(filled, {1, 1, 1, 1}), capacity);
    key = n.where(n.compare(CompareKind::Less, key, capacity), key,
                  n.binary<AddOp>(key, moved));
    query = n.binary<AddOp>(query, moved);
  }
  Value distance = n.binary<SubOp>(query, key), kept;
  if (window.left >= 0)
    kept = n.compare(CompareKind::LessOrEqual, distance,
                     n.integers(window.left, {}, type));
  if (window.right >= 0) {
    Value near = n.compare(CompareKind::GreaterOrEqual, distance,
                           n.integers(-window.right, {}, type));
    kept = kept ? n.logical(LogicalKind::And, kept, near) : near;
  }
  return maskWhere(n, kept, element);
}

/// Everything that is added to the scores, term by term.
SmallVector<Value> maskTerms(Node &n, const Heads &h, bool causal,
                             Window window) {
  const Type element = elementOf(h.q);
  const int64_t keys = shapeOf(h.k)[2];
  SmallVector<Value> terms;
  if (n.hasInput(3))
    terms.push_back(givenMask(n, n.input(3), keys, element));
  if (causal)
    terms.push_back(causalMask(n, h, element));
  if (window.left >= 0 || window.right >= 0)
    terms.push_back(windowMask(n, h, window, element));
  if (h.lengths) {
    const Type type = n.indexType();
    Value kept = n.compare(
        CompareKind::Less, n.iota(keys, 3, 4, type),
        n.reshape(n.cast(h.lengths, type), {shapeOf(h.q)[0], 1, 1, 1}));
    terms.push_back(maskWhere(n, kept, element));
  }
  return terms;
}

/// Keys and values become zero where no query reads them (Unread.h). A past
/// holds the model's own rows and is large, so it stays as it is, and so does a
/// cache with rows at run-time places.
void clearUnread(Node &n, Heads &h, ArrayRef<Value> terms, bool keysToo) {
  const bool masked = n.hasInput(3) || h.lengths;
  if (!masked || h.pastKey || n.failed() || !h.v || h.v.getDefiningOp<TakeOp>())
    return;
  Value sum;
  for (Value term : terms)
    sum = sum ? n.binary<AddOp>(sum, term) : term;
  if (!sum || rankOf(sum) > 4)
    return;
  Shape shape(4 - rankOf(sum), 1);
  llvm::append_range(shape, shapeOf(sum));
  if ((shape[3] != 1 && shape[3] != shapeOf(h.k)[2]) ||
      (shape[0] != 1 && shape[0] != shapeOf(h.k)[0]))
    return;
  Value read = keysRead(n, n.reshape(sum, shape), {1}, elementOf(h.k));
  if (!read)
    return;
  if (keysToo)
    h.k = n.binary<MulOp>(h.k, read);
  h.v = n.binary<MulOp>(h.v, read);
}

Value addMasks(Node &n, Value scores, ArrayRef<Value> terms) {
  if (!scores)
    return nullptr;
  const Shape shape(shapeOf(scores));
  for (Value term : terms)
    scores = n.binary<AddOp>(scores, term);
  if (scores && shapeOf(scores) != ShapeRef(shape))
    return n.malformed("the mask {} does not fit scores {}",
                       typeText(n.input(3)), shapeToString(shape));
  return scores;
}

bool checkHeads(Node &n, const Heads &h) {
  if (n.failed() || !h.q || !h.k || !h.v)
    return false;
  const ShapeRef q = shapeOf(h.q), k = shapeOf(h.k), v = shapeOf(h.v);
  if (q[0] == k[0] && q[0] == v[0] && q[3] == k[3] && k[1] == v[1] &&
      k[2] == v[2])
    return !h.lengths || elementCount(shapeOf(h.lengths)) == q[0] ||
           (n.malformed("nonpad_kv_seqlen is {} for a batch of {}",
                        typeText(h.lengths), q[0]),
            false);
  n.malformed("queries {}, keys {} and values {} do not match", typeText(h.q),
              typeText(h.k), typeText(h.v));
  return false;
}

/// Zeros where a query reads no key. In products such a row is zero anyway,
/// since an encoded NaN is.
Value withoutEmptyRows(Node &n, Value masked, Value probabilities) {
  if (!masked || !probabilities)
    return nullptr;
  const Type element = elementOf(masked);
  Value best = n.reduce(ReduceKind::Max, masked, {3}, /*keepdims=*/true);
  Value any =
      n.compare(CompareKind::Greater, best, n.splat(kExcluded, element));
  return n.where(any, probabilities, n.splat(0, element));
}

/// Which of the scores the fourth output shows.
enum ScoreOutput { Raw = 0, Capped = 1, Masked = 2, Probabilities = 3 };

Window readWindow(Node &n) {
  Window window;
  if (n.opset() < 25)
    return window;
  window.left = n.getInt("left_window_size", -1);
  window.right = n.getInt("right_window_size", -1);
  if (window.left < -1 || window.right < -1)
    n.malformed("left_window_size is {} and right_window_size {}, expected -1 "
                "or more",
                window.left, window.right);
  return window;
}

void attention(Node &n) {
  const bool causal = n.getInt("is_causal", 0) != 0;
  const int64_t queryHeads = n.getInt("q_num_heads", 0),
                keyHeads = n.getInt("kv_num_heads", 0),
                shown = n.getInt("qk_matmul_output_mode", 0);
  const double cap = n.getFloat("softcap", 0);
  const bool scaled = n.hasAttribute("scale");
  const double given = n.getFloat("scale", 0);
  const Window window = readWindow(n);
  n.ignore("softmax_precision"); // The softmax runs in binary32.
  Heads h;
  Value q = n.input(0);
  const bool flat = q && rankOf(q) == 3;
  h.q = splitHeads(n, q, queryHeads, "q_num_heads");
  h.k = splitHeads(n, n.input(1), keyHeads, "kv_num_heads");
  h.v = splitHeads(n, n.input(2), keyHeads, "kv_num_heads");
  h.pastKey = n.optionalInput(4);
  h.lengths = n.optionalInput(6);
  if (h.pastKey)
    h.k = n.concat({h.pastKey, h.k}, 2);
  if (n.hasInput(5))
    h.v = n.concat({n.input(5), h.v}, 2);
  if (!checkHeads(n, h))
    return;
  n.setOutput(1, h.k);
  n.setOutput(2, h.v);
  const SmallVector<Value> terms = maskTerms(n, h, causal, window);
  // The fourth output may show scores that no mask has changed.
  clearUnread(n, h, terms, !n.outputUsed(3) || shown >= Masked);
  if (n.failed())
    return;
  const int64_t heads = shapeOf(h.q)[1];
  const double factor =
      scaled ? given : 1 / std::sqrt(static_cast<double>(shapeOf(h.q)[3]));
  Value query = n.binary<MulOp>(h.q, n.splat(factor, elementOf(h.q)));
  Value keys = repeatHeads(n, h.k, heads), values = repeatHeads(n, h.v, heads);
  Value scores = n.matmul(query, n.transpose(keys, {0, 1, 3, 2}));
  Value stages[4] = {scores};
  if (cap > 0 && scores) {
    Value limit = n.splat(cap, elementOf(scores));
    scores = n.binary<MulOp>(
        n.unary(UnaryFunction::Tanh, n.binary<DivOp>(scores, limit)), limit);
  }
  stages[Capped] = scores;
  stages[Masked] = scores = addMasks(n, scores, terms);
  stages[Probabilities] = scores = n.softmax(scores, 3, /*logarithm=*/false);
  if (shown == Probabilities && n.outputUsed(3))
    stages[Probabilities] = withoutEmptyRows(n, stages[Masked], scores);
  Value y = n.matmul(scores, values);
  if (flat && y) {
    const Shape shape(shapeOf(y));
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}),
                  {shape[0], shape[2], shape[1] * shape[3]});
  }
  n.setOutput(0, y);
  if (shown < Raw || shown > Probabilities)
    n.malformed("qk_matmul_output_mode is {}, expected 0 to 3", shown);
  else
    n.setOutput(3, stages[shown]);
}

void rotaryEmbedding(Node &n) {
  Value x = n.input(0), cosines = n.input(1), sines = n.input(2),
        positions = n.optionalInput(3);
  const bool interleaved = n.getInt("interleaved", 0) != 0;
  const int64_t heads = n.getInt("num_heads", 0);
  int64_t rotated = n.getInt("rotary_embedding_dim", 0);
  if (!x || !cosines || !sines)
    return;
  const Shape given(shapeOf(x));
  // [batch, length, heads, size] from here on.
  if (rankOf(x) == 4)
    x = n.transpose(x, {0, 2, 1, 3});
  else if (rankOf(x) == 3 && heads > 0 && given[2] % heads == 0)
    x = n.reshape(x, {given[0], given[1], heads, given[2] / heads});
  else
    n.malformed("num_heads is {}, for {}", heads, typeText(x));
  if (n.failed())
    return;
  const Shape shape(shapeOf(x));
  rotated = rotated == 0 ? shape[3] : rotated;
  const int64_t half = rotated / 2;
  if (rotated < 0 || rotated % 2 != 0 || rotated > shape[3] ||
      rankOf(cosines) < 2 || rankOf(sines) < 2 ||
      shapeOf(cosines).back() != half || shapeOf(sines).back() != half) {
    n.malformed("rotary_embedding_dim is {}, for {} with tables {} and {}",
                rotated, typeText(x), typeText(cosines), typeText(sines));
    return;
  }
  Value cosine = tableRows(n, cosines, positions, shape[0], shape[1]);
  Value sine = tableRows(n, sines, positions, shape[0], shape[1]);
  Value turned = turnHeads(n, x, cosine, sine, interleaved);
  n.setOutput(0, given.size() == 4 ? n.transpose(turned, {0, 2, 1, 3})
                                   : n.reshape(turned, given));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::attentionRows() {
  return {
      {"Attention",
       {23, 24, 25},
       attention,
       "two products, a softmax, masks as sums; grouped heads, past keys and "
       "values, softcap before the mask, windows"},
      {"RotaryEmbedding",
       {23},
       rotaryEmbedding,
       "products with rows of the tables; positions may be known at run time"},
  };
}
