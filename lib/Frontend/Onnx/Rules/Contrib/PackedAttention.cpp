// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with its projections: what optimisers make of
// encoders like BERT.

#include "../Attention/Heads.h"
#include "../Attention/Unread.h"
#include "Activations.h"

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Extents of one node.
struct Sizes {
  int64_t batch, queries, past, keys, heads;
};

/// The attributes that forms of the operator share, and its operands after the
/// projection.
struct Form {
  int64_t heads = 0;
  SmallVector<int64_t> widths; ///< Of query, key and value; thirds if empty.
  bool causal = false;
  double filter = 0, scale = 0;
  Value mask, past, terms;
};

/// [batch, heads, rows, keys] flags of keys that are no padding, from the mask
/// in one of its forms; null after recording an error.
Value keptKeys(Node &n, Value mask, const Sizes &s) {
  const Shape shape(shapeOf(mask));
  mask = n.cast(mask, n.indexType());
  auto before = [&](Value a, Value b) {
    return n.compare(CompareKind::Less, a, b);
  };
  const Value zero = n.integers(0, {}, n.indexType()),
              key = n.iota(s.keys, 3, 4, n.indexType());
  if (shape == Shape{s.batch})
    return before(key, n.reshape(mask, {s.batch, 1, 1, 1}));
  if (shape == Shape{2 * s.batch}) {
    Value ends =
        n.reshape(n.sliceAxis(mask, 0, 0, s.batch), {s.batch, 1, 1, 1});
    Value starts =
        n.reshape(n.sliceAxis(mask, 0, s.batch, s.batch), {s.batch, 1, 1, 1});
    return n.logical(LogicalKind::And, before(key, ends),
                     n.compare(CompareKind::GreaterOrEqual, key, starts));
  }
  if (shape == Shape{s.batch, s.keys})
    return before(zero, n.reshape(mask, {s.batch, 1, 1, s.keys}));
  if (shape == Shape{s.batch, s.queries, s.keys})
    return before(zero, n.reshape(mask, {s.batch, 1, s.queries, s.keys}));
  return n.unsupported("a mask_index {} for {} sequences of {} keys, expected "
                       "one or two lengths or flags for each",
                       shapeToString(shape), s.batch, s.keys);
}

/// What is added to the scores: padding, keys after the query, the bias.
Value masked(Node &n, Value scores, const Sizes &s, const Form &f) {
  if (!scores)
    return nullptr;
  const Type element = elementOf(scores);
  auto where = [&](Value kept, double otherwise) {
    return n.where(kept, n.splat(0, element), n.splat(otherwise, element));
  };
  if (f.mask)
    scores = n.binary<AddOp>(scores, where(keptKeys(n, f.mask, s), f.filter));
  if (f.terms)
    scores = n.binary<AddOp>(scores, f.terms);
  if (!f.causal)
    return scores;
  Value own = n.binary<AddOp>(n.iota(s.queries, 2, 4, n.indexType()),
                              n.integers(s.past, {}, n.indexType()));
  return n.binary<AddOp>(
      scores, where(n.compare(CompareKind::LessOrEqual,
                              n.iota(s.keys, 3, 4, n.indexType()), own),
                    -std::numeric_limits<double>::infinity()));
}

/// Whether x [batch, length, depth] is projected by w [depth, all widths].
bool fitProjection(Node &n, Value x, Value w, Form &f) {
  if (rankOf(x) != 3 || rankOf(w) != 2 || f.heads < 1) {
    n.malformed("operands are {} and {} for {} heads, expected 3 and 2 "
                "dimensions",
                typeText(x), typeText(w), f.heads);
    return false;
  }
  if (f.widths.empty())
    f.widths.assign(3, shapeOf(w)[1] / 3);
  if (f.widths.size() == 3 && f.widths[0] == f.widths[1] &&
      f.widths[0] + f.widths[1] + f.widths[2] == shapeOf(w)[1])
    return true;
  n.malformed("weights {} for sizes {} of query, key and value", typeText(w),
              shapeToString(f.widths));
  return false;
}

/// Queries, keys and values [batch, heads, length, size] of the projection.
bool split(Node &n, Value all, const Form &f, Value parts[3]) {
  for (int64_t i = 0, start = 0; i < 3; start += f.widths[i], ++i)
    parts[i] = all ? splitHeads(n, n.sliceAxis(all, 2, start, f.widths[i]),
                                f.heads, "num_heads")
                   : Value();
  return !n.failed() && parts[0] && parts[1] && parts[2];
}

/// Keys and values after those of the past, [2, batch, heads, length, size].
bool joinPast(Node &n, Value past, Value parts[3]) {
  Value present[2];
  for (int64_t i : {0, 1}) {
    Value &fresh = parts[i + 1];
    const Shape shape(shapeOf(fresh));
    if (past) {
      if (rankOf(past) != 5 || shapeOf(past)[0] != 2 ||
          shapeOf(past)[1] != shape[0] || shapeOf(past)[2] != shape[1] ||
          shapeOf(past)[4] != shape[3]) {
        n.malformed("a past of {} for rows {}", typeText(past),
                    typeText(fresh));
        return false;
      }
      Value old =
          n.reshape(n.sliceAxis(past, 0, i, 1), shapeOf(past).drop_front());
      fresh = n.concat({old, fresh}, 2);
    }
    if (!fresh)
      return false;
    Shape led(shapeOf(fresh));
    led.insert(led.begin(), 1);
    present[i] = n.reshape(fresh, led);
  }
  if (n.outputUsed(1))
    n.setOutput(1, n.concat({present[0], present[1]}, 0));
  return !n.failed();
}

/// Heads [batch, heads, length, size] of the scaled scores of queries by keys.
Value scoresOf(Node &n, Value queries, Value keys, double scale) {
  if (n.failed() || !queries || !keys)
    return nullptr;
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(shapeOf(queries)[3]));
  Value q = n.binary<MulOp>(queries, n.splat(scale, elementOf(queries)));
  return n.matmul(q, n.transpose(keys, {0, 1, 3, 2}));
}

/// The attention of a projection [batch, length, all widths].
void attend(Node &n, Value all, const Form &f) {
  Value parts[3];
  if (n.failed() || !split(n, all, f, parts))
    return;
  const int64_t fresh = shapeOf(parts[1])[2];
  if (!joinPast(n, f.past, parts))
    return;
  const Shape shape(shapeOf(parts[0]));
  const int64_t keys = shapeOf(parts[1])[2];
  const Sizes s = {shape[0], shape[2], keys - fresh, keys, f.heads};
  Value scores = scoresOf(n, parts[0], parts[1], f.scale);
  const Shape given(scores ? shapeOf(scores) : ShapeRef());
  scores = masked(n, scores, s, f);
  if (scores && shapeOf(scores) != ShapeRef(given)) {
    n.malformed("the bias {} does not fit scores {}", typeText(f.terms),
                shapeToString(given));
    return;
  }
  Value y = n.matmul(n.softmax(scores, 3, /*logarithm=*/false), parts[2]);
  if (!y)
    return;
  n.setOutput(0, n.reshape(n.transpose(y, {0, 2, 1, 3}),
                           {shape[0], shape[2], f.heads * shapeOf(y)[3]}));
}

/// What all forms read; what none of them takes is refused.
Form readForm(Node &n, size_t mask, size_t past, size_t terms, size_t length) {
  Form f;
  f.heads = n.getInt("num_heads", 0);
  f.causal = n.getInt("unidirectional", 0) != 0;
  f.filter = n.getFloat("mask_filter_value", -10000);
  f.scale = n.getFloat("scale", 0);
  f.mask = n.optionalInput(mask);
  f.past = n.optionalInput(past);
  f.terms = n.optionalInput(terms);
  if (n.getInt("do_rotary", 0) != 0)
    n.unsupported("do_rotary");
  if (n.getInt("past_present_share_buffer", 0) != 0 || n.hasInput(length))
    n.unsupported("a past in a buffer of this operator");
  return f;
}

constexpr size_t kNone = ~size_t(0);

/// The product and the bias of a projection in floats.
Value projected(Node &n, Form &f) {
  Value x = n.input(0), w = n.input(1), bias = n.optionalInput(2);
  if (n.failed() || !x || !w || !fitProjection(n, x, w, f))
    return nullptr;
  Value all = n.matmul(x, w);
  return bias ? n.binary<AddOp>(all, bias) : all;
}

void packedAttention(Node &n) {
  Form f = readForm(n, 3, 4, 5, 6);
  f.widths = n.getInts("qkv_hidden_sizes");
  n.ignore("rotary_embedding_dim");
  attend(n, projected(n, f), f);
}

/// One token after a past that grows, so that every key is read.
void decoderSelfAttention(Node &n) {
  if (n.hasInput(8))
    n.unsupported("input 8: beams that share a cache; export the decoder "
                  "without beam search, each sequence with its own cache");
  if (n.getInt("past_present_share_buffer", 0) != 0)
    n.unsupported("past_present_share_buffer: keys in an order of one kernel; "
                  "export a past that grows");
  // Without a buffer the length of the past is its extent.
  Form f = readForm(n, 3, 4, 5, kNone);
  attend(n, projected(n, f), f);
}

/// The projection is an integer product, scaled.
void quantisedAttention(Node &n) {
  Form f = readForm(n, 5, 8, kNone, kNone);
  Value x = n.input(0), w = n.input(1), bias = n.input(2);
  if (n.failed() || !x || !w || !bias || !fitProjection(n, x, w, f))
    return;
  Value sums = integerMatmul(n, x, n.optionalInput(6), w, n.optionalInput(7));
  Value all = scaledSums(n, sums, n.input(3), n.input(4), Value());
  attend(n, n.binary<AddOp>(n.cast(all, elementOf(bias)), bias), f);
}

/// The four flags of DecoderAttention.
struct Flags {
  bool cross, cached, kept, padded;
};

std::optional<Flags> readFlags(Node &n) {
  auto crosses = n.constantNumber(8, "static_kv"),
       past = n.constantNumber(9, "use_past"),
       state = n.constantNumber(10, "has_layer_state"),
       padding = n.constantNumber(11, "has_key_padding_mask");
  if (!crosses || !past || !state || !padding)
    return std::nullopt;
  return Flags{*crosses != 0, *past != 0 && *state != 0, *state != 0,
               *padding != 0};
}

/// Rows [length, batch, hidden] projected to heads [batch, heads, length,
/// size], with a part of the bias.
Value headsOf(Node &n, Value rows, Value weights, Value bias, int64_t start,
              int64_t heads) {
  const int64_t width = shapeOf(weights)[1];
  Value y = n.binary<AddOp>(n.matmul(n.transpose(rows, {1, 0, 2}), weights),
                            n.sliceAxis(bias, 0, start, width));
  return splitHeads(n, y, heads, "num_heads");
}

/// Keys and values of DecoderAttention: of the query or of the key operand,
/// after what a cache has of them, or the cache alone.
bool readCached(Node &n, const Flags &flags, int64_t heads, Value kv[2]) {
  Value source = flags.cross ? n.input(1) : n.input(0), bias = n.input(4);
  const int64_t width = shapeOf(source)[2];
  for (int64_t i : {0, 1}) {
    Value cache = flags.cached ? n.input(6 + i) : Value();
    if (flags.cached && !cache)
      return false;
    kv[i] = cache;
    if (flags.cached && flags.cross)
      continue;
    Value part = n.sliceAxis(n.input(3), 1, i * width, width);
    Value fresh =
        part ? headsOf(n, source, part, bias, (1 + i) * width, heads) : Value();
    kv[i] = cache && fresh ? n.concat({cache, fresh}, 2) : fresh;
  }
  return !n.failed() && kv[0] && kv[1];
}

void decoderAttention(Node &n) {
  const int64_t heads = n.getInt("num_heads", 0);
  n.ignore("mask_filter_value"); // Padding is excluded.
  std::optional<Flags> flags = readFlags(n);
  Value q = n.input(0), k = n.input(1), w = n.input(2), wide = n.input(3),
        bias = n.input(4);
  if (n.failed() || !flags)
    return;
  const int64_t width = rankOf(q) == 3 ? shapeOf(q)[2] : 0;
  if (width < 1 || rankOf(k) != 3 || shapeOf(k).back() != width ||
      shapeOf(w) != ShapeRef({width, width}) ||
      shapeOf(wide) != ShapeRef({width, 2 * width}) ||
      shapeOf(bias) != ShapeRef(3 * width)) {
    n.malformed("operands are {}, {}, {}, {} and {}", typeText(q), typeText(k),
                typeText(w), typeText(wide), typeText(bias));
    return;
  }
  Value kv[2];
  Value queries = headsOf(n, q, w, bias, 0, heads);
  if (!readCached(n, *flags, heads, kv))
    return;
  if (flags->kept) {
    n.setOutput(1, kv[0]);
    n.setOutput(2, kv[1]);
  } else if (n.outputUsed(1) || n.outputUsed(2)) {
    n.malformed("a cache is used without has_layer_state");
    return;
  }
  Value scores = scoresOf(n, queries, kv[0], 0);
  if (flags->padded && scores) {
    const Type element = elementOf(scores);
    Value padding = n.input(5);
    const int64_t batch = shapeOf(scores)[0], keys = shapeOf(scores)[3];
    if (!padding || shapeOf(padding) != ShapeRef({batch, keys})) {
      if (padding)
        n.malformed("key_padding_mask is {} for {} keys", typeText(padding),
                    keys);
      return;
    }
    Value terms = n.where(n.reshape(padding, {batch, 1, 1, keys}),
                          n.splat(kExcluded, element), n.splat(0, element));
    if (Value read = keysRead(n, terms, {}, element))
      kv[1] = n.binary<MulOp>(kv[1], read);
    scores = n.binary<AddOp>(scores, terms);
  }
  Value y = n.matmul(n.softmax(scores, 3, /*logarithm=*/false), kv[1]);
  n.setOutput(0, y ? n.reshape(n.transpose(y, {2, 0, 1, 3}), shapeOf(q))
                   : Value());
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::packedAttentionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"Attention",
       {1},
       packedAttention,
       "a product for all projections, then as Attention of ONNX; lengths or "
       "flags as the mask; no buffers and no rotary positions",
       domain},
      {"QAttention",
       {1},
       quantisedAttention,
       "an integer product for all projections, scaled, then as Attention",
       domain},
      {"DecoderMaskedSelfAttention",
       {1},
       decoderSelfAttention,
       "as Attention; a past that grows; no buffers and no beams",
       domain},
      {"DecoderAttention",
       {1},
       decoderAttention,
       "as Attention of ONNX; the flags must be constant",
       domain},
  };
}
