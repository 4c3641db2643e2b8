// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with caches of keys and values, and its rotary
// positions, one element after the other.

#include "../Registry.h"
#include "../Walk.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Heads `first` to `first + count` of [batch, length, heads * size] as
/// [batch, count, length, size].
Tensor headsOf(Call &call, const Tensor &x, int64_t heads, int64_t first,
               int64_t count) {
  if (!call.require(rankOf(x) == 3 && heads > 0 && x.shape[2] % heads == 0,
                    "heads do not fit"))
    return {};
  const int64_t length = x.shape[1], size = x.shape[2] / heads;
  return rearranged(
      x, {x.shape[0], count, length, size}, [&](ArrayRef<int64_t> at) {
        return ((at[0] * length + at[2]) * heads + first + at[1]) * size +
               at[3];
      });
}

/// [batch, heads, length, size] as [batch, length, heads * size].
Tensor together(const Tensor &x) {
  const int64_t heads = x.shape[1], length = x.shape[2], size = x.shape[3];
  return rearranged(
      x, {x.shape[0], length, heads * size}, [&](ArrayRef<int64_t> at) {
        return ((at[0] * heads + at[2] / size) * length + at[1]) * size +
               at[2] % size;
      });
}

/// A place of [batch, heads, length, size].
double &element(Tensor &x, int64_t b, int64_t h, int64_t i, int64_t d) {
  return x.floats[((b * x.shape[1] + h) * x.shape[2] + i) * x.shape[3] + d];
}
double element(const Tensor &x, int64_t b, int64_t h, int64_t i, int64_t d) {
  return x.floats[((b * x.shape[1] + h) * x.shape[2] + i) * x.shape[3] + d];
}

/// `past` of `rows` rows with `fresh` from row start[b] on.
Tensor withRows(const Tensor &past, const Tensor &fresh, int64_t rows,
                ArrayRef<int64_t> start) {
  Tensor all(fresh.type,
             {fresh.shape[0], fresh.shape[1], rows, fresh.shape[3]});
  forEachIndex(all.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const int64_t row = at[2] - start[at[0]];
    if (row >= 0 && row < fresh.shape[2])
      all.floats[i] = element(fresh, at[0], at[1], row, at[3]);
    else if (rankOf(past) == 4 && at[2] < past.shape[2])
      all.floats[i] = element(past, at[0], at[1], at[2], at[3]);
  });
  return all;
}

/// Turns pairs of a head by the angles of a position, in place.
void turn(Call &call, Tensor &x, const Tensor &cosines, const Tensor &sines,
          bool interleaved,
          llvm::function_ref<int64_t(int64_t b, int64_t i)> position) {
  const int64_t half = cosines.shape.back();
  if (!call.require(rankOf(cosines) == 2 && cosines.shape == sines.shape &&
                        2 * half <= x.shape[3],
                    "tables do not fit"))
    return;
  forEachIndex({x.shape[0], x.shape[1], x.shape[2], half},
               [&](ArrayRef<int64_t> at, int64_t) {
                 const int64_t row = position(at[0], at[2]), pair = at[3];
                 if (!call.require(row >= 0 && row < cosines.shape[0],
                                   "a position is out of range"))
                   return;
                 const double c = cosines.floats[row * half + pair],
                              s = sines.floats[row * half + pair];
                 double &a = element(x, at[0], at[1], at[2],
                                     interleaved ? 2 * pair : pair);
                 double &b = element(x, at[0], at[1], at[2],
                                     interleaved ? 2 * pair + 1 : pair + half);
                 const double first = a, second = b;
                 a = c * first - s * second;
                 b = s * first + c * second;
               });
}

/// What a score gets before the softmax; kNone leaves a key out.
using Terms =
    llvm::function_ref<double(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// Forms of a result that shows the scores.
enum class Shown { Masked, Read, Probabilities };

struct Scores {
  double scale = 0, cap = 0;
  /// Logits next to the scores, one per head, or none.
  SmallVector<double> sinks;
  Shown form = Shown::Masked;
  Tensor *shown = nullptr; ///< Where they go, if they are a result.
};

Tensor attend(Call &call, const Tensor &q, const Tensor &k, const Tensor &v,
              const Scores &scores, Terms terms) {
  if (!call.require(q.shape[3] == k.shape[3] && k.shape[2] == v.shape[2] &&
                        k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0,
                    "operands do not fit"))
    return {};
  const int64_t keys = k.shape[2], group = q.shape[1] / k.shape[1];
  const double scale = scores.scale != 0
                           ? scores.scale
                           : 1 / std::sqrt(static_cast<double>(q.shape[3]));
  Tensor y(q.type, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  if (scores.shown)
    *scores.shown = Tensor(q.type, {q.shape[0], q.shape[1], q.shape[2], keys});
  std::vector<double> row(keys);
  forEachIndex(
      {q.shape[0], q.shape[1], q.shape[2]}, [&](ArrayRef<int64_t> at, int64_t) {
        const int64_t b = at[0], h = at[1], i = at[2];
        double top = scores.sinks.empty() ? kNone : scores.sinks[h];
        for (int64_t j = 0; j < keys; ++j) {
          double sum = 0;
          for (int64_t d = 0; d < q.shape[3]; ++d)
            sum += element(q, b, h, i, d) * element(k, b, h / group, j, d);
          sum *= scale;
          if (scores.cap > 0)
            sum = scores.cap * std::tanh(sum / scores.cap);
          row[j] = sum + terms(b, h, i, j);
          top = std::max(top, row[j]);
        }
        const std::vector<double> given = row;
        double sum = scores.sinks.empty() ? 0 : std::exp(scores.sinks[h] - top);
        for (double &score : row)
          sum += score = std::exp(score - top);
        for (int64_t j = 0; scores.shown && j < keys; ++j)
          element(*scores.shown, b, h, i, j) =
              scores.form == Shown::Probabilities               ? row[j] / sum
              : scores.form == Shown::Read && given[j] == kNone ? 0
                                                                : given[j];
        for (int64_t d = 0; d < v.shape[3]; ++d) {
          double result = 0;
          for (int64_t j = 0; j < keys; ++j)
            result += row[j] / sum * element(v, b, h / group, j, d);
          element(y, b, h, i, d) = result;
        }
      });
  return y;
}

/// An addend of the scores whose extents of 1 stand for all.
double termAt(const Tensor &bias, std::initializer_list<int64_t> index) {
  int64_t place = 0;
  const size_t rank = bias.shape.size();
  for (size_t d = 0; d < rank; ++d)
    place = place * bias.shape[d] +
            (bias.shape[d] == 1 ? 0 : index.begin()[4 - rank + d]);
  return bias.floats[place];
}

/// Rows of the caches after the run: a past with capacity keeps its extent.
int64_t presentRows(Call &call, const Tensor *past, int64_t fresh) {
  if (!past || past->shape[2] == 0)
    return fresh;
  const int64_t rows = past->shape[2];
  if (!call.has(6))
    return rows;
  return call.integers(6)[0] == rows + fresh ? rows + fresh : rows;
}

/// Scores [batch, heads, length, keys] of the first keys.
Tensor firstKeys(const Tensor &x, int64_t count) {
  const int64_t keys = x.shape[3];
  count = std::min(std::max<int64_t>(count, 0), keys);
  return rearranged(
      x, {x.shape[0], x.shape[1], x.shape[2], count},
      [&](ArrayRef<int64_t> at) {
        return ((at[0] * x.shape[1] + at[1]) * x.shape[2] + at[2]) * keys +
               at[3];
      });
}

void groupQueryAttention(Call &call) {
  const int64_t heads = call.getInt("num_heads", 0),
                groups = call.getInt("kv_num_heads", 0);
  const bool packed = !call.has(1);
  if (!call.require(call.has(5) && (packed || call.has(2)),
                    "an operand is omitted"))
    return;
  const int64_t all = packed ? heads + 2 * groups : heads;
  Tensor q = headsOf(call, call.operand(0), all, 0, heads);
  Tensor k = packed ? headsOf(call, call.operand(0), all, heads, groups)
                    : headsOf(call, call.operand(1), groups, 0, groups);
  const Tensor v =
      packed ? headsOf(call, call.operand(0), all, heads + groups, groups)
             : headsOf(call, call.operand(2), groups, 0, groups);
  if (call.failed())
    return;
  const int64_t length = q.shape[2];
  SmallVector<int64_t> start = call.integers(5);
  if (!call.require(static_cast<int64_t>(start.size()) == q.shape[0],
                    "seqlens_k does not fit"))
    return;
  for (int64_t &first : start)
    first = std::max<int64_t>(first - (length - 1), 0);
  if (call.getInt("do_rotary", 0) != 0 && call.has(7) && call.has(8)) {
    const SmallVector<int64_t> given =
        call.has(9) ? call.integers(9) : SmallVector<int64_t>();
    auto position = [&](int64_t b, int64_t i) {
      return given.empty() ? start[b] + i : given[b * length + i];
    };
    const bool interleaved = call.getInt("rotary_interleaved", 0) != 0;
    turn(call, q, call.operand(7), call.operand(8), interleaved, position);
    turn(call, k, call.operand(7), call.operand(8), interleaved, position);
  }
  if (call.failed())
    return;
  const Tensor none, *past = call.has(3) ? &call.operand(3) : nullptr;
  const int64_t rows = presentRows(call, past, length);
  const Tensor keys = withRows(past ? *past : none, k, rows, start);
  const Tensor values =
      withRows(call.has(4) ? call.operand(4) : none, v, rows, start);
  Tensor shown;
  const int64_t form = call.getInt("qk_output", 0);
  Scores scores{call.getFloat("scale", 0),
                call.getFloat("softcap", 0),
                {},
                form == 2 ? Shown::Probabilities : Shown::Read,
                form != 0 ? &shown : nullptr};
  if (call.has(11))
    scores.sinks = call.numbers(11);
  else if (call.getInt("smooth_softmax", 0) > 0)
    scores.sinks.assign(heads, 0);
  const int64_t window = call.getInt("local_window_size", -1);
  Tensor y =
      attend(call, q, keys, values, scores,
             [&](int64_t b, int64_t h, int64_t i, int64_t j) {
               const int64_t own = start[b] + i;
               if (j > own || (window > 0 && j <= own - window))
                 return kNone;
               return call.has(10) ? termAt(call.operand(10), {b, h, i, j}) : 0;
             });
  if (call.failed())
    return;
  call.setResult(0, together(y));
  call.setResult(1, keys);
  call.setResult(2, values);
  if (form != 0)
    call.setResult(3, firstKeys(shown, call.has(6) ? call.integers(6)[0]
                                                   : shown.shape[3]));
}

/// Whether the block of a query reads that of a key, from the columns of its
/// row in the layout of a head.
bool readsBlock(Call &call, int64_t head, int64_t query, int64_t key) {
  const Tensor &rows = call.operand(5), &columns = call.operand(6);
  const int64_t layout = head % rows.shape[0],
                row = layout * rows.shape[1] + query;
  for (int64_t i = rows.ints[row]; i < rows.ints[row + 1]; ++i)
    if (columns.ints[layout * columns.shape[1] + i] == key)
      return true;
  return false;
}

void sparseAttention(Call &call) {
  const int64_t heads = call.getInt("num_heads", 0),
                groups = call.getInt("kv_num_heads", 0),
                block = call.getInt("sparse_block_size", 0);
  const bool packed = !call.has(1);
  for (size_t i : {3, 4, 5, 6, 8})
    if (!call.require(call.has(i), "an operand is omitted"))
      return;
  if (!call.require(block > 0 && rankOf(call.operand(5)) == 2 &&
                        rankOf(call.operand(6)) == 2 &&
                        rankOf(call.operand(3)) == 4 && (packed || call.has(2)),
                    "operands do not fit"))
    return;
  const int64_t all = packed ? heads + 2 * groups : heads;
  auto part = [&](size_t i, int64_t first, int64_t count) {
    return packed ? headsOf(call, call.operand(0), all, first, count)
                  : headsOf(call, call.operand(i), count, 0, count);
  };
  Tensor q = part(0, 0, heads), k = part(1, heads, groups);
  const Tensor v = part(2, heads + groups, groups);
  if (call.failed())
    return;
  SmallVector<int64_t> start = call.integers(8);
  for (int64_t &first : start)
    first = std::max<int64_t>(first - q.shape[2], 0);
  if (!call.require(static_cast<int64_t>(start.size()) == q.shape[0],
                    "lengths do not fit"))
    return;
  if (call.getInt("do_rotary", 0) != 0 && call.has(9) && call.has(10)) {
    auto position = [&](int64_t b, int64_t i) { return start[b] + i; };
    const bool adjacent = call.getInt("rotary_interleaved", 0) != 0;
    turn(call, q, call.operand(9), call.operand(10), adjacent, position);
    turn(call, k, call.operand(9), call.operand(10), adjacent, position);
  }
  if (call.failed())
    return;
  const int64_t rows = call.operand(3).shape[2];
  const Tensor keys = withRows(call.operand(3), k, rows, start),
               values = withRows(call.operand(4), v, rows, start);
  Scores scores;
  scores.scale = call.getFloat("scale", 0);
  const Tensor y =
      attend(call, q, keys, values, scores,
             [&](int64_t b, int64_t h, int64_t i, int64_t j) {
               const int64_t own = start[b] + i;
               return j <= own && readsBlock(call, h, own / block, j / block)
                          ? 0
                          : kNone;
             });
  if (call.failed())
    return;
  call.setResult(0, together(y));
  call.setResult(1, keys);
  call.setResult(2, values);
}

/// Where MultiHeadAttention and its form for decoders have their operands.
struct Places {
  size_t bias, mask, terms, past, length;
};

/// Part \p part of \p parts of [batch, length, heads, parts, size] by heads.
Tensor packedPart(const Tensor &x, int64_t parts, int64_t part) {
  const int64_t length = x.shape[1], heads = x.shape[2], size = x.shape[4];
  return rearranged(
      x, {x.shape[0], heads, length, size}, [&](ArrayRef<int64_t> at) {
        return (((at[0] * length + at[2]) * heads + at[1]) * parts + part) *
                   size +
               at[3];
      });
}

/// Query, keys and values (0, 1, 2) with their part of the bias.
Tensor projected(Call &call, const Places &at, int64_t heads, int64_t which) {
  const Tensor &q = call.operand(0);
  const size_t own = call.has(which) ? which : (call.has(1) ? 1 : 0);
  const Tensor &x = call.operand(own);
  if (rankOf(x) == 4)
    return x;
  Tensor y = rankOf(x) == 5
                 ? packedPart(x, own == 0 ? 3 : 2, own == 0 ? which : which - 1)
                 : headsOf(call, x, heads, 0, heads);
  if (call.failed() || !call.has(at.bias))
    return y;
  const int64_t width = rankOf(q) == 5 ? q.shape[2] * q.shape[4] : q.shape[2];
  const int64_t size = y.shape[3];
  forEachIndex(y.shape, [&](ArrayRef<int64_t> index, int64_t i) {
    y.floats[i] += call.operand(at.bias)
                       .floats[which * width + index[1] * size + index[3]];
  });
  return y;
}

/// What a key that may be padding gets: flags, flags of each query, or lengths.
double paddingAt(Call &call, size_t operand, const SmallVector<int64_t> &mask,
                 ArrayRef<int64_t> at, int64_t queries, int64_t keys) {
  if (mask.empty())
    return 0;
  const int64_t rank = rankOf(call.operand(operand)), b = at[0], j = at[2];
  const bool kept = rank == 1   ? j < mask[b]
                    : rank == 2 ? mask[b * keys + j] > 0
                                : mask[(b * queries + at[1]) * keys + j] > 0;
  return kept ? 0 : call.getFloat("mask_filter_value", -10000);
}

void attendHeads(Call &call, const Places &at) {
  const int64_t heads = call.getInt("num_heads", 0);
  if (!call.require(heads > 0, "there are no heads"))
    return;
  const Tensor q = projected(call, at, heads, 0),
               k = projected(call, at, heads, 1),
               v = projected(call, at, heads, 2);
  if (call.failed())
    return;
  const Tensor none,
      *past = call.has(at.past) ? &call.operand(at.past) : nullptr;
  const bool buffer = past && call.has(at.length);
  const int64_t capacity = past ? past->shape[2] : 0,
                before = buffer ? call.integers(at.length)[0] : capacity,
                keys = buffer ? capacity : capacity + k.shape[2];
  const SmallVector<int64_t> start(q.shape[0], before);
  const Tensor allKeys = withRows(past ? *past : none, k, keys, start);
  const Tensor allValues = withRows(
      call.has(at.past + 1) ? call.operand(at.past + 1) : none, v, keys, start);
  const bool causal = call.getInt("unidirectional", 0) != 0;
  const SmallVector<int64_t> mask =
      call.has(at.mask) ? call.integers(at.mask) : SmallVector<int64_t>();
  const int64_t end = before + k.shape[2], offset = end - q.shape[2];
  Tensor shown;
  Tensor y = attend(call, q, allKeys, allValues,
                    {call.getFloat("scale", 0), 0, {}, Shown::Masked, &shown},
                    [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                      if (j >= end || (causal && j > i + offset))
                        return kNone;
                      const double bias =
                          call.has(at.terms)
                              ? termAt(call.operand(at.terms), {b, h, i, j})
                              : 0;
                      return bias + paddingAt(call, at.mask, mask, {b, i, j},
                                              q.shape[2], keys);
                    });
  if (call.failed())
    return;
  call.setResult(0, together(y));
  call.setResult(1, allKeys);
  call.setResult(2, allValues);
  call.setResult(3, shown);
}

void multiHeadAttention(Call &call) { attendHeads(call, {3, 4, 5, 6, 8}); }

void maskedDecoderAttention(Call &call) { attendHeads(call, {10, 3, 4, 5, 7}); }

void rotaryEmbedding(Call &call) {
  const Tensor &x = call.operand(0), &cosines = call.operand(2);
  const bool flat = rankOf(x) == 3;
  int64_t heads = call.getInt("num_heads", 0);
  if (heads == 0 && flat && call.getInt("rotary_embedding_dim", 0) == 0 &&
      !cosines.shape.empty() && cosines.shape.back() > 0)
    heads = x.shape[2] / (2 * cosines.shape.back());
  Tensor y = flat ? headsOf(call, x, heads, 0, heads) : x;
  if (call.failed() || !call.require(rankOf(y) == 4, "rank"))
    return;
  const SmallVector<int64_t> positions = call.integers(1);
  const int64_t length = y.shape[2];
  turn(call, y, cosines, call.operand(3), call.getInt("interleaved", 0) != 0,
       [&](int64_t b, int64_t i) {
         return positions.size() == 1 ? positions[0] + i
                                      : positions[b * length + i];
       });
  if (!call.failed())
    call.setResult(0, flat ? together(y) : std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::cachedAttentionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"GroupQueryAttention", {1}, 1, groupQueryAttention, smooth, domain},
      {"MultiHeadAttention", {1}, 1, multiHeadAttention, smooth, domain},
      {"DecoderMaskedMultiHeadAttention",
       {1},
       1,
       maskedDecoderAttention,
       smooth,
       domain},
      {"SparseAttention", {1}, 1, sparseAttention, smooth, domain},
      {"RotaryEmbedding", {1}, 4, rotaryEmbedding, smooth, domain},
  };
}
