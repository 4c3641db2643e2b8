// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TfIdfVectorizer of integers: every n-gram of the pool is compared with every
// place of the rows, once for each distance of its items.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Comparisons of items, at most.
constexpr int64_t kMostComparisons = int64_t(1) << 24;

/// The n-grams of one length and where their counts go.
struct Grams {
  int64_t length = 0;
  SmallVector<int64_t> items; ///< [count][length]
  SmallVector<int64_t> columns;
};

/// Splits the pool; an error if its attributes contradict each other.
std::vector<Grams> gramsOf(Node &n, ArrayRef<int64_t> pool,
                           ArrayRef<int64_t> starts,
                           ArrayRef<int64_t> columns) {
  std::vector<Grams> all;
  size_t next = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto length = static_cast<int64_t>(k + 1);
    const int64_t begin = starts[k];
    const int64_t end = k + 1 < starts.size()
                            ? starts[k + 1]
                            : static_cast<int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % length != 0 ||
        next + (end - begin) / length > columns.size()) {
      n.malformed("ngram_counts, ngram_indexes and the pool do not belong "
                  "together");
      return {};
    }
    Grams grams;
    grams.length = length;
    grams.items.append(pool.begin() + begin, pool.begin() + end);
    const size_t count = (end - begin) / length;
    grams.columns.append(columns.begin() + next,
                         columns.begin() + next + count);
    next += count;
    all.push_back(std::move(grams));
  }
  return all;
}

/// How often each n-gram is in the rows of x [rows, items] with its items
/// `distance` apart: [rows, n-grams] of i32. Null if it does not fit a row.
Value countsOf(Node &n, Value x, const Grams &grams, int64_t distance) {
  const int64_t rows = shapeOf(x)[0], items = shapeOf(x)[1];
  const int64_t places = items - (grams.length - 1) * distance;
  const auto count = static_cast<int64_t>(grams.columns.size());
  if (places < 1 || count == 0)
    return nullptr;
  if (rows * places > kMostComparisons / (count * grams.length)) {
    n.unsupported("more than {} comparisons", kMostComparisons);
    return nullptr;
  }
  Value all;
  for (int64_t k = 0; k < grams.length; ++k) {
    SmallVector<int64_t> wanted;
    for (int64_t g = 0; g < count; ++g)
      wanted.push_back(grams.items[g * grams.length + k]);
    Value part =
        n.reshape(n.sliceAxis(x, 1, k * distance, places), {rows, places, 1});
    Value equal = n.compare(CompareKind::Equal, part,
                            n.integers(wanted, {1, 1, count}, elementOf(x)));
    all = all ? n.logical(LogicalKind::And, all, equal) : equal;
  }
  return n.reduce(ReduceKind::Sum,
                  n.cast(all, mlir::IntegerType::get(n.context(), 32)), {1},
                  /*keepdims=*/false);
}

/// Puts the counts of all lengths in their columns, the others are 0.
Value inColumns(Node &n, ArrayRef<Value> counts, ArrayRef<int64_t> columns,
                int64_t width, int64_t rows) {
  const Type type = mlir::IntegerType::get(n.context(), 32);
  SmallVector<Value> parts(counts);
  parts.push_back(n.splat(0, type, {rows, 1}));
  SmallVector<int64_t> from(width, static_cast<int64_t>(columns.size()));
  for (auto [i, column] : llvm::enumerate(columns))
    from[column] = static_cast<int64_t>(i);
  return n.gather(n.concat(parts, 1), 1, from);
}

Value weighted(Node &n, Value counts, StringRef mode,
               ArrayRef<double> weights) {
  if (!counts)
    return nullptr;
  const Type f32 = mlir::Float32Type::get(n.context());
  Value frequency = n.cast(counts, f32);
  if (mode == "IDF")
    frequency = n.cast(n.compare(CompareKind::Greater, counts,
                                 n.splat(0, elementOf(counts), {1, 1})),
                       f32);
  if (mode == "TF" || weights.empty())
    return frequency;
  const int64_t width = shapeOf(counts)[1];
  if (static_cast<int64_t>(weights.size()) < width) {
    n.malformed("{} weights for {} columns", weights.size(), width);
    return nullptr;
  }
  return n.binary<MulOp>(frequency,
                         n.floats(weights.take_front(width), {1, width}, f32));
}

/// The attributes of a node.
struct Asked {
  int64_t shortest, longest, skips;
  std::string mode;
  SmallVector<int64_t> starts, columns, pool;
  SmallVector<double> weights;

  explicit Asked(Node &n)
      : shortest(n.getInt("min_gram_length", 1)),
        longest(n.getInt("max_gram_length", 1)),
        skips(n.getInt("max_skip_count", 0)), mode(n.getString("mode", "")),
        starts(n.getInts("ngram_counts")), columns(n.getInts("ngram_indexes")),
        pool(n.getInts("pool_int64s")), weights(n.getFloats("weights")) {}

  bool isMeaningful() const {
    const auto isOutside = [](int64_t column) {
      return column < 0 || column >= kMostComparisons;
    };
    return !columns.empty() && shortest >= 1 && longest >= shortest &&
           skips >= 0 && !llvm::any_of(columns, isOutside) &&
           (mode == "TF" || mode == "IDF" || mode == "TFIDF");
  }
};

void tfIdfVectorizer(Node &n) {
  Value x = n.input(0);
  const Asked asked(n);
  if (n.hasAttribute("pool_strings"))
    n.unsupported("strings");
  if (!x || n.failed())
    return;
  if (isFloatElement(x) || rankOf(x) < 1 || rankOf(x) > 2 ||
      elementCount(shapeOf(x)) == 0 || !asked.isMeaningful()) {
    n.malformed("rows {} with n-grams of {} to {} items, mode '{}'",
                typeText(x), asked.shortest, asked.longest, asked.mode);
    return;
  }
  const int64_t items = shapeOf(x).back();
  const int64_t rows = rankOf(x) == 2 ? shapeOf(x)[0] : 1;
  const int64_t width =
      *std::max_element(asked.columns.begin(), asked.columns.end()) + 1;
  Value flat = n.reshape(x, {rows, items});
  SmallVector<Value> counts;
  SmallVector<int64_t> used;
  for (const Grams &grams :
       gramsOf(n, asked.pool, asked.starts, asked.columns)) {
    if (grams.length < asked.shortest || grams.length > asked.longest)
      continue;
    // Single items have no distances.
    const int64_t most =
        grams.length == 1 ? 1 : std::min(asked.skips, items) + 1;
    Value sum;
    for (int64_t distance = 1; distance <= most && !n.failed(); ++distance)
      if (Value found = countsOf(n, flat, grams, distance))
        sum = sum ? n.binary<AddOp>(sum, found) : found;
    if (!sum)
      continue;
    counts.push_back(sum);
    used.append(grams.columns);
  }
  if (n.failed())
    return;
  Value y = weighted(n, inColumns(n, counts, used, width, rows), asked.mode,
                     asked.weights);
  n.setOutput(0, rankOf(x) == 2 ? y : n.reshape(y, {width}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::gramRows() {
  return {{"TfIdfVectorizer",
           {9},
           tfIdfVectorizer,
           "comparisons of all positions with all n-grams, up to 2^24; no "
           "strings"}};
}
