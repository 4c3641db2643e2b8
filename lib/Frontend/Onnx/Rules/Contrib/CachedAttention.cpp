// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with caches of keys and values.

#include "../Attention/Heads.h"
#include "../Attention/Unread.h"
#include "SparseLayouts.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// [batch, length, heads * size] as [batch, length, heads, size].
Value apart(Node &n, Value x, int64_t heads) {
  if (!x)
    return nullptr;
  const Shape shape(shapeOf(x));
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    return n.malformed("an operand is {}, for {} heads", typeText(x), heads);
  return n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

/// [batch, length, heads, size] as [batch, heads, length, size], and back.
Value swapped(Node &n, Value x) {
  return x ? n.transpose(x, {0, 2, 1, 3}) : Value();
}

struct Attention {
  int64_t heads = 0, groups = 0, window = -1;
  double scale = 0, cap = 0;
  Value q, k, v;        ///< [batch, length, heads, size].
  Value pastK, pastV;   ///< [batch, groups, past, size], or none.
  Value start;          ///< [batch]: the position of the first query.
  int64_t capacity = 0; ///< Rows of a past before those of these queries.
  Value bias, sink;     ///< Terms of the scores; a logit for each head.
  bool smooth = false;  ///< A logit 0 next to the scores.
};

/// What an operator gives of its scores as a result of its own.
enum class ShownScores {
  None,
  Masked,        ///< As the softmax reads them.
  Read,          ///< Those of keys that are read, 0 for the others.
  Probabilities, ///< Without what a logit next to them takes.
};

Value number(Node &n, int64_t value) {
  return n.integers(value, {}, n.indexType());
}

/// Positions [batch, length] from those of the first ones.
Value positionsFrom(Node &n, Value start, int64_t length) {
  return n.binary<AddOp>(n.reshape(start, {shapeOf(start)[0], 1}),
                         n.iota(length, 1, 2, n.indexType()));
}

/// The past with the rows at their positions: what is not a new row stays.
Value placed(Node &n, Value past, Value rows, Value start) {
  if (!past || !rows || !start)
    return nullptr;
  const int64_t capacity = shapeOf(past)[2], length = shapeOf(rows)[2],
                batch = shapeOf(past)[0];
  Value place = n.binary<SubOp>(n.iota(capacity, 1, 2, n.indexType()),
                                n.reshape(start, {batch, 1}));
  Value inside =
      n.logical(LogicalKind::And,
                n.compare(CompareKind::GreaterOrEqual, place, number(n, 0)),
                n.compare(CompareKind::Less, place, number(n, length)));
  Value source = n.where(inside, n.binary<AddOp>(place, number(n, capacity)),
                         n.iota(capacity, 1, 2, n.indexType()));
  Value present = n.takeAt(n.concat({past, rows}, 2),
                           n.reshape(source, {batch, 1, capacity, 1}), 2);
  if (present && batch == 1)
    n.addUpdate(present, {past, rows, n.reshape(start, {1}), 2});
  return present;
}

/// Keys from the first position on that a query reads, up to its own.
Value causalTerms(Node &n, const Attention &a, int64_t keys, Type element) {
  const int64_t length = shapeOf(a.q)[1], batch = shapeOf(a.q)[0];
  Value own = n.binary<AddOp>(n.reshape(a.start, {batch, 1, 1, 1}),
                              n.iota(length, 2, 4, n.indexType()));
  Value key = n.iota(keys, 3, 4, n.indexType()), real;
  if (a.capacity > 0) {
    // Rows of a past that is not full have no position; new ones follow those
    // that have.
    Value start = n.reshape(a.start, {batch, 1, 1, 1});
    Value old = n.compare(CompareKind::Less, key, number(n, a.capacity));
    real = n.logical(
        LogicalKind::Or,
        n.compare(CompareKind::GreaterOrEqual, key, number(n, a.capacity)),
        n.compare(CompareKind::Less, key, start));
    key = n.where(
        old, key,
        n.binary<AddOp>(key, n.binary<SubOp>(start, number(n, a.capacity))));
  }
  Value kept = n.compare(CompareKind::LessOrEqual, key, own);
  if (real)
    kept = n.logical(LogicalKind::And, kept, real);
  if (a.window > 0)
    kept = n.logical(LogicalKind::And, kept,
                     n.compare(CompareKind::GreaterOrEqual, key,
                               n.binary<SubOp>(own, number(n, a.window - 1))));
  return n.where(kept, n.splat(0, element), n.splat(kExcluded, element));
}

/// Probabilities; a logit next to the scores takes its share and goes.
Value probabilities(Node &n, const Attention &a, Value scores) {
  if (!scores || (!a.sink && !a.smooth))
    return n.softmax(scores, 3, /*logarithm=*/false);
  const Shape shape(shapeOf(scores));
  const Shape column = {shape[0], shape[1], shape[2], 1};
  Value logit =
      a.sink ? n.reshape(n.cast(a.sink, elementOf(scores)), {1, shape[1], 1, 1})
             : n.splat(0, elementOf(scores), {1, 1, 1, 1});
  Value beside = n.concat({scores, n.broadcast(logit, column)}, 3);
  return n.sliceAxis(n.softmax(beside, 3, /*logarithm=*/false), 3, 0, shape[3]);
}

/// Output 3 in the form that the operator has; \p plain are the scores without
/// the terms.
Value scoresShown(Node &n, const Attention &a, ShownScores form, Value plain,
                  Value terms, Value scores, Value weights) {
  if (form == ShownScores::Masked)
    return scores;
  if (form == ShownScores::Probabilities)
    return weights;
  if (a.bias)
    plain = n.binary<AddOp>(plain, a.bias);
  if (!plain || !terms)
    return plain;
  const Value zero = n.splat(0, elementOf(plain));
  return n.where(n.compare(CompareKind::Equal, terms, zero), plain, zero);
}

/// [batch, length, heads * size] from keys and values [batch, groups, ..].
Value attend(Node &n, const Attention &a, Value keys, Value values, Value terms,
             ShownScores form) {
  if (n.failed() || !keys || !values)
    return nullptr;
  const Shape shape(shapeOf(a.q));
  const double scale =
      a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(shape[3]));
  Value q = n.binary<MulOp>(swapped(n, a.q), n.splat(scale, elementOf(a.q)));
  Value scores =
      n.matmul(q, n.transpose(repeatHeads(n, keys, a.heads), {0, 1, 3, 2}));
  if (a.cap > 0 && scores) {
    Value limit = n.splat(a.cap, elementOf(scores));
    scores = n.binary<MulOp>(
        n.unary(UnaryFunction::Tanh, n.binary<DivOp>(scores, limit)), limit);
  }
  const Value plain = scores;
  for (Value term : {terms, a.bias})
    if (term)
      scores = n.binary<AddOp>(scores, term);
  Value weights = probabilities(n, a, scores);
  if (n.outputUsed(3) && form != ShownScores::None)
    n.setOutput(3, scoresShown(n, a, form, plain, terms, scores, weights));
  Value y = n.matmul(weights, repeatHeads(n, values, a.heads));
  if (!y)
    return nullptr;
  return n.reshape(swapped(n, y),
                   {shape[0], shape[1], a.heads * shapeOf(y)[3]});
}

/// Query, keys and values of GroupQueryAttention, one operand or three.
bool readGroups(Node &n, Attention &a) {
  Value q = n.input(0), k = n.optionalInput(1), v = n.optionalInput(2);
  if (!q)
    return false;
  if (!k && !v) {
    Value all = apart(n, q, a.heads + 2 * a.groups);
    a.q = all ? n.sliceAxis(all, 2, 0, a.heads) : Value();
    a.k = all ? n.sliceAxis(all, 2, a.heads, a.groups) : Value();
    a.v = all ? n.sliceAxis(all, 2, a.heads + a.groups, a.groups) : Value();
  } else {
    a.q = apart(n, q, a.heads);
    a.k = apart(n, k, a.groups);
    a.v = apart(n, v, a.groups);
  }
  return !n.failed() && a.q && a.k && a.v;
}

/// Turns queries and keys by their positions: those of the operand after the
/// tables, or counted from the first.
void turn(Node &n, Attention &a, bool interleaved, size_t tables) {
  Value cosines = n.input(tables), sines = n.input(tables + 1);
  if (n.failed() || !cosines || !sines)
    return;
  const int64_t batch = shapeOf(a.q)[0], length = shapeOf(a.q)[1];
  if (rankOf(cosines) != 2 || shapeOf(cosines) != shapeOf(sines) ||
      2 * shapeOf(cosines)[1] > shapeOf(a.q)[3]) {
    n.malformed("tables {} and {} for heads of {}", typeText(cosines),
                typeText(sines), shapeOf(a.q)[3]);
    return;
  }
  Value positions = n.hasInput(tables + 2)
                        ? n.cast(n.input(tables + 2), n.indexType())
                        : positionsFrom(n, a.start, length);
  Value cosine = tableRows(n, cosines, positions, batch, length);
  Value sine = tableRows(n, sines, positions, batch, length);
  a.q = turnHeads(n, a.q, cosine, sine, interleaved);
  a.k = turnHeads(n, a.k, cosine, sine, interleaved);
}

/// Keys or values of all positions. A past with room for all of them is a
/// buffer with rows at run-time positions.
Value present(Node &n, Attention &a, Value past, Value rows,
              std::optional<int64_t> total) {
  Value fresh = swapped(n, rows);
  if (n.failed() || !past || shapeOf(past)[2] == 0)
    return fresh;
  const Shape shape(shapeOf(past)), added(shapeOf(fresh));
  if (shape.size() != 4 || shape[0] != added[0] || shape[1] != added[1] ||
      shape[3] != added[3])
    return n.malformed("a past of {} for rows {}", typeText(past),
                       typeText(fresh));
  if (total && *total == shape[2] + added[2]) {
    a.capacity = shape[2];
    return n.concat({past, fresh}, 2);
  }
  if (total && *total > shape[2])
    return n.unsupported("total_sequence_length is {}, the past has {} rows "
                         "and {} come: expected their sum, or a past with room "
                         "for all",
                         *total, shape[2], added[2]);
  return placed(n, past, fresh, a.start);
}

/// The attribute qk_output.
std::optional<ShownScores> readShownScores(Node &n) {
  const int64_t form = n.getInt("qk_output", 0);
  if (form == 0)
    return ShownScores::None;
  if (form == 1)
    return ShownScores::Read;
  if (form == 2)
    return ShownScores::Probabilities;
  n.malformed("qk_output is {}, expected 0, 1 or 2", form);
  return std::nullopt;
}

/// Scores of all rows of a buffer end at the last token.
void cutScores(Node &n, std::optional<int64_t> total) {
  Value scores = n.numOutputs() > 3 ? n.outputs()[3] : Value();
  if (!scores)
    return;
  if (!total)
    n.unsupported("output_qk of caches in a buffer: total_sequence_length is "
                  "not a constant; --constant can make it one");
  else if (*total >= 0 && *total < shapeOf(scores)[3])
    n.setOutput(3, n.sliceAxis(scores, 3, 0, *total));
}

void groupQueryAttention(Node &n) {
  Attention a;
  a.heads = n.getInt("num_heads", 0);
  a.groups = n.getInt("kv_num_heads", 0);
  a.window = n.getInt("local_window_size", -1);
  a.scale = n.getFloat("scale", 0);
  a.cap = n.getFloat("softcap", 0);
  a.smooth = n.getInt("smooth_softmax", 0) > 0;
  const bool rotary = n.getInt("do_rotary", 0) != 0;
  const bool interleaved = n.getInt("rotary_interleaved", 0) != 0;
  const std::optional<ShownScores> form = readShownScores(n);
  if (n.hasInput(12) || n.hasInput(13))
    n.unsupported("caches of quantised numbers");
  if (n.failed() || !readGroups(n, a))
    return;
  const int64_t batch = shapeOf(a.q)[0], length = shapeOf(a.q)[1];
  Value lengths = n.input(5);
  if (!lengths || elementCount(shapeOf(lengths)) != batch) {
    n.malformed("seqlens_k has not one length for each of the batch of {}",
                batch);
    return;
  }
  // seqlens_k is the position of the last token.
  Value last = n.reshape(n.cast(lengths, n.indexType()), {batch});
  a.start = n.binary<MaxOp>(n.binary<SubOp>(last, number(n, length - 1)),
                            number(n, 0));
  if (rotary)
    turn(n, a, interleaved, 7);
  a.bias = n.optionalInput(10);
  a.sink = n.optionalInput(11);
  std::optional<int64_t> total;
  if (Value given = n.optionalInput(6))
    if (auto known = integersOf(given); known && known->size() == 1)
      total = (*known)[0];
  Value keys = present(n, a, n.optionalInput(3), a.k, total);
  Value values = present(n, a, n.optionalInput(4), a.v, total);
  if (n.failed() || !keys || !values)
    return;
  n.setOutput(1, keys);
  n.setOutput(2, values);
  Value terms = causalTerms(n, a, shapeOf(keys)[2], elementOf(a.q));
  n.setOutput(0, attend(n, a, keys, values, terms, *form));
  if (n.hasInput(3) && a.capacity == 0)
    cutScores(n, total);
}

/// Keys and values in buffers, of which each head reads some blocks.
void sparseAttention(Node &n) {
  Attention a;
  a.heads = n.getInt("num_heads", 0);
  a.groups = n.getInt("kv_num_heads", 0);
  a.scale = n.getFloat("scale", 0);
  const bool rotary = n.getInt("do_rotary", 0) != 0,
             interleaved = n.getInt("rotary_interleaved", 0) != 0;
  std::optional<Layouts> layouts = readLayouts(n);
  if (n.failed() || !layouts || !readGroups(n, a))
    return;
  const int64_t batch = shapeOf(a.q)[0], length = shapeOf(a.q)[1];
  Value lengths = n.input(8), pastK = n.input(3), pastV = n.input(4);
  if (!lengths || !pastK || !pastV)
    return;
  const bool fit =
      shapeOf(lengths) == ShapeRef(batch) && rankOf(pastK) == 4 &&
      shapeOf(pastV) == shapeOf(pastK) && shapeOf(pastK)[0] == batch &&
      shapeOf(pastK)[1] == a.groups && shapeOf(pastK)[2] >= length &&
      shapeOf(pastK)[2] <= layouts->blocks * layouts->size &&
      shapeOf(pastK)[3] == shapeOf(a.k)[3];
  if (!fit) {
    n.malformed("past_key is {}, past_value {} and key_total_sequence_lengths "
                "{}, for {} blocks of {}",
                typeText(pastK), typeText(pastV), typeText(lengths),
                layouts->blocks, layouts->size);
    return;
  }
  a.start = n.binary<MaxOp>(
      n.binary<SubOp>(n.cast(lengths, n.indexType()), number(n, length)),
      number(n, 0));
  if (rotary)
    turn(n, a, interleaved, 9);
  Value keys = placed(n, pastK, swapped(n, a.k), a.start);
  Value values = placed(n, pastV, swapped(n, a.v), a.start);
  if (n.failed() || !keys || !values)
    return;
  n.setOutput(1, keys);
  n.setOutput(2, values);
  const int64_t rows = shapeOf(keys)[2];
  const Type element = elementOf(a.q);
  Value terms =
      n.binary<AddOp>(causalTerms(n, a, rows, element),
                      blockTerms(n, *layouts, positionsFrom(n, a.start, length),
                                 a.heads, rows, element));
  n.setOutput(0, attend(n, a, keys, values, terms, ShownScores::None));
}

/// \p x [batch, length, heads * size] or [batch, length, heads, size] with its
/// part of the bias of all projections, which begins at \p start.
Value biased(Node &n, Value x, Value bias, int64_t start) {
  if (!bias || !x)
    return x;
  const Shape shape(shapeOf(x));
  const int64_t width = elementCount(ShapeRef(shape).drop_front(2));
  Value part = n.sliceAxis(bias, 0, start, width);
  return n.binary<AddOp>(x, n.reshape(part, ShapeRef(shape).drop_front(2)));
}

/// Where MultiHeadAttention and its form for decoders have their operands.
struct HeadOperands {
  size_t bias, mask, terms, past, length, indirection;
};

/// Element \p i of the fourth dimension of [batch, length, heads, parts, size].
Value packedPart(Node &n, Value x, int64_t i) {
  const Shape s(shapeOf(x));
  return n.reshape(n.sliceAxis(x, 3, i, 1), {s[0], s[1], s[2], s[4]});
}

/// Query, keys and values of MultiHeadAttention; keys [batch, heads, length,
/// size] have what bias there is.
bool readHeads(Node &n, Attention &a, Value bias) {
  Value q = n.input(0), k = n.optionalInput(1), v = n.optionalInput(2);
  if (!q)
    return false;
  const bool packed = !k && !v && rankOf(q) == 5 && shapeOf(q)[3] == 3,
             pair = k && !v && rankOf(k) == 5 && shapeOf(k)[3] == 2;
  if (!packed && (rankOf(q) != 3 || !k || (!v && !pair))) {
    n.malformed("query is {}, key {} and value {}, expected three operands, "
                "keys and values packed with 2 in dimension 3, or all packed "
                "with 3",
                typeText(q), k ? typeText(k) : "-", v ? typeText(v) : "-");
    return false;
  }
  if (packed || pair) {
    const int64_t first = packed ? 1 : 0;
    k = packedPart(n, packed ? q : k, first);
    v = packedPart(n, packed ? q : n.input(1), first + 1);
    q = packed ? packedPart(n, q, 0) : apart(n, q, a.heads);
    const int64_t width = elementCount(shapeOf(q).drop_front(2));
    a.q = biased(n, q, bias, 0);
    a.k = biased(n, k, bias, width);
    a.v = biased(n, v, bias, 2 * width);
    return !n.failed();
  }
  const int64_t width = shapeOf(q).back();
  a.q = apart(n, biased(n, q, bias, 0), a.heads);
  const bool split = rankOf(k) == 4;
  a.k = split ? swapped(n, k) : apart(n, biased(n, k, bias, width), a.heads);
  a.v =
      split ? swapped(n, v) : apart(n, biased(n, v, bias, 2 * width), a.heads);
  return !n.failed();
}

/// Terms for keys that are padding: [batch] lengths, [batch, keys] flags, or
/// [batch, length, keys] flags for each query.
Value paddingTerms(Node &n, const Attention &a, Value mask, int64_t keys,
                   double masked, Type element) {
  if (!mask)
    return nullptr;
  const int64_t batch = shapeOf(a.q)[0], length = shapeOf(a.q)[1];
  const bool each = shapeOf(mask) == ShapeRef{batch, length, keys};
  Value kept;
  if (each || shapeOf(mask) == ShapeRef{batch, keys})
    kept = n.compare(CompareKind::Greater,
                     n.reshape(n.cast(mask, n.indexType()),
                               {batch, 1, each ? length : 1, keys}),
                     number(n, 0));
  else if (shapeOf(mask) == ShapeRef{batch})
    kept = n.compare(CompareKind::Less, n.iota(keys, 3, 4, n.indexType()),
                     n.reshape(n.cast(mask, n.indexType()), {batch, 1, 1, 1}));
  else
    return n.unsupported("a padding mask {}, expected one length or {} flags "
                         "for each of the batch, or for each query",
                         typeText(mask), keys);
  return n.where(kept, n.splat(0, element), n.splat(masked, element));
}

/// Terms that exclude rows of a buffer after the newest token.
Value filledTerms(Node &n, const Attention &a, int64_t keys, Type element) {
  const int64_t batch = shapeOf(a.q)[0], fresh = shapeOf(a.k)[1];
  Value end =
      n.binary<AddOp>(n.reshape(a.start, {batch, 1, 1, 1}), number(n, fresh));
  return n.where(
      n.compare(CompareKind::Less, n.iota(keys, 3, 4, n.indexType()), end),
      n.splat(0, element), n.splat(kExcluded, element));
}

/// All keys or values: the past with new rows at their positions if these are
/// known, else new rows after it.
Value joined(Node &n, const Attention &a, Value past, Value rows) {
  Value fresh = swapped(n, rows);
  if (n.failed() || !past)
    return fresh;
  if (!a.start)
    return n.concat({past, fresh}, 2);
  const Shape shape(shapeOf(past)), added(shapeOf(fresh));
  if (shape.size() != 4 || shape[0] != added[0] || shape[1] != added[1] ||
      shape[2] < added[2] || shape[3] != added[3])
    return n.malformed("a buffer of {} for rows {}", typeText(past),
                       typeText(fresh));
  return placed(n, past, fresh, a.start);
}

void attendHeads(Node &n, const HeadOperands &at, bool causal) {
  Attention a;
  a.heads = a.groups = n.getInt("num_heads", 0);
  a.scale = n.getFloat("scale", 0);
  const double masked = n.getFloat("mask_filter_value", -10000);
  if (n.hasInput(at.indirection))
    n.unsupported("input {}: beams that share a cache; export the decoder "
                  "without beam search, each sequence with its own cache",
                  at.indirection);
  if (n.failed() || !readHeads(n, a, n.optionalInput(at.bias)))
    return;
  a.bias = n.optionalInput(at.terms);
  const int64_t batch = shapeOf(a.q)[0];
  const bool buffer = n.hasInput(at.length) && n.hasInput(at.past);
  if (buffer)
    a.start = n.broadcast(
        n.reshape(n.cast(n.input(at.length), n.indexType()), {1}), {batch});
  Value keys = joined(n, a, n.optionalInput(at.past), a.k);
  Value values = joined(n, a, n.optionalInput(at.past + 1), a.v);
  if (n.failed() || !keys || !values)
    return;
  n.setOutput(1, keys);
  n.setOutput(2, values);
  const int64_t all = shapeOf(keys)[2];
  const Type element = elementOf(a.q);
  Value terms =
      paddingTerms(n, a, n.optionalInput(at.mask), all, masked, element);
  if (causal && !buffer)
    a.start = n.integers(SmallVector<int64_t>(batch, all - shapeOf(a.q)[1]),
                         {batch}, n.indexType());
  if (causal || buffer) {
    Value order = causal ? causalTerms(n, a, all, element)
                         : filledTerms(n, a, all, element);
    terms = terms ? n.binary<AddOp>(terms, order) : order;
  }
  n.setOutput(0, attend(n, a, keys, values, terms, ShownScores::Masked));
}

void multiHeadAttention(Node &n) {
  const bool causal = n.getInt("unidirectional", 0) != 0;
  attendHeads(n, {3, 4, 5, 6, 8, 9}, causal);
}

/// One token, so that every key before it is read.
void decoderAttention(Node &n) {
  n.ignore("past_present_share_buffer"); // The length says where rows go.
  n.ignore("output_qk");
  attendHeads(n, {10, 3, 4, 5, 7, 9}, /*causal=*/false);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::cachedAttentionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"GroupQueryAttention",
       {1},
       groupQueryAttention,
       "as Attention; caches that grow, and buffers with rows at run-time "
       "positions; rotary positions, local windows, sinks",
       domain},
      {"MultiHeadAttention",
       {1},
       multiHeadAttention,
       "as Attention; keys and values apart, or packed; caches that grow, and "
       "buffers with rows at run-time positions",
       domain},
      {"DecoderMaskedMultiHeadAttention",
       {1},
       decoderAttention,
       "as MultiHeadAttention; no beams that share a cache",
       domain},
      {"SparseAttention",
       {1},
       sparseAttention,
       "as GroupQueryAttention with buffers; the blocks that are read must be "
       "constant",
       domain},
  };
}
