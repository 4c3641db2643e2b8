// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TfIdfVectorizer, item by item.

#include "Registry.h"
#include "Walk.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// How often `items` are in the row, `distance` apart.
int64_t occurrences(ArrayRef<int64_t> row, ArrayRef<int64_t> items,
                    int64_t distance) {
  int64_t count = 0;
  const auto length = static_cast<int64_t>(items.size());
  for (int64_t at = 0;
       at + (length - 1) * distance < static_cast<int64_t>(row.size()); ++at) {
    bool equal = true;
    for (int64_t k = 0; k < length; ++k)
      equal &= row[at + k * distance] == items[k];
    count += equal;
  }
  return count;
}

struct Vectorizer {
  SmallVector<int64_t> starts, columns, pool;
  int64_t shortest, longest, skips;

  /// Adds what the row has of every n-gram.
  void addRow(Call &call, ArrayRef<int64_t> row, double *frequency) const {
    size_t gram = 0;
    const auto all = static_cast<int64_t>(pool.size());
    for (size_t k = 0; k < starts.size(); ++k) {
      const auto length = static_cast<int64_t>(k + 1);
      const int64_t end = k + 1 < starts.size() ? starts[k + 1] : all;
      for (int64_t at = starts[k]; at < end; at += length, ++gram) {
        if (!call.require(at >= 0 && at + length <= all &&
                              gram < columns.size(),
                          "the pool is malformed"))
          return;
        if (length < shortest || length > longest)
          continue;
        const int64_t most = length == 1 ? 1 : skips + 1;
        for (int64_t distance = 1; distance <= most; ++distance)
          frequency[columns[gram]] += static_cast<double>(occurrences(
              row, ArrayRef<int64_t>(pool).slice(at, length), distance));
      }
    }
  }
};

void tfIdfVectorizer(Call &call) {
  const Tensor &x = call.operand(0);
  const Vectorizer all{
      call.getInts("ngram_counts"),      call.getInts("ngram_indexes"),
      call.getInts("pool_int64s"),       call.getInt("min_gram_length", 1),
      call.getInt("max_gram_length", 1), call.getInt("max_skip_count", 0)};
  if (!call.require(!x.isFloat() && rankOf(x) >= 1 && !all.columns.empty(),
                    "rows of integers and n-grams are expected"))
    return;
  int64_t width = 0;
  for (int64_t column : all.columns)
    if (call.require(column >= 0, "a column is negative"))
      width = std::max(width, column + 1);
  if (call.failed())
    return;
  const int64_t items = x.shape.back();
  Shape shape(x.shape);
  shape.back() = width;
  Tensor y(ElementType::F32, shape);
  const std::string mode = call.getString("mode", "");
  const SmallVector<double> weights = call.getFloats("weights");
  for (int64_t row = 0; items > 0 && row < x.size() / items; ++row) {
    double *frequency = &y.floats[row * width];
    all.addRow(call, ArrayRef<int64_t>(x.ints).slice(row * items, items),
               frequency);
    for (int64_t c = 0; c < width; ++c) {
      if (mode == "IDF")
        frequency[c] = frequency[c] > 0 ? 1 : 0;
      if (mode != "TF" && c < static_cast<int64_t>(weights.size()))
        frequency[c] *= weights[c];
    }
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::gramEvaluators() {
  return {{"TfIdfVectorizer", {9}, 1, tfIdfVectorizer}};
}
