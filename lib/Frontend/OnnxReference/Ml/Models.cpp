// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ai.onnx.ml: features, linear models and ensembles of trees, row by row.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

constexpr const char *domain = "ai.onnx.ml";

/// [rows, columns] of a matrix, or of a vector, which is a row.
struct Rows {
  int64_t count, width;
};

Rows rowsOf(Call &call, const Tensor &x) {
  if (!call.require(rankOf(x) == 1 || rankOf(x) == 2, "features are a matrix"))
    return {0, 0};
  return {rankOf(x) == 1 ? 1 : x.shape[0], x.shape.back()};
}

/// y[row, i] = fn(row, column, x) as floats of the input's shape.
template <class Fn>
void setElements(Call &call, Fn fn) {
  const Tensor &x = call.operand(0);
  const Rows rows = rowsOf(call, x);
  Tensor y(ElementType::F32, x.shape);
  for (int64_t i = 0; i < x.size() && !call.failed(); ++i)
    y.floats[i] = fn(i / rows.width, i % rows.width, numberAt(x, i));
  call.setResult(0, std::move(y));
}

double entry(ArrayRef<double> list, int64_t i) {
  return list.size() == 1 ? list[0] : list[i];
}

void scaler(Call &call) {
  const auto offset = call.getFloats("offset"), scale = call.getFloats("scale");
  const int64_t width = call.operand(0).shape.back();
  for (ArrayRef<double> list : {ArrayRef(offset), ArrayRef(scale)})
    if (!call.require(list.size() == 1 ||
                          static_cast<int64_t>(list.size()) == width,
                      "numbers are not one per feature"))
      return;
  setElements(call, [&](int64_t, int64_t column, double x) {
    return (x - entry(offset, column)) * entry(scale, column);
  });
}

void normalizer(Call &call) {
  const std::string norm = call.getString("norm", "MAX");
  const Tensor &x = call.operand(0);
  const Rows rows = rowsOf(call, x);
  setElements(call, [&](int64_t row, int64_t, double v) {
    double size = norm == "MAX" ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < rows.width; ++i) {
      const double other = numberAt(x, row * rows.width + i);
      if (norm == "MAX")
        size = std::max(size, other);
      else
        size += norm == "L1" ? std::abs(other) : other * other;
    }
    size = norm == "L2" ? std::sqrt(size) : size;
    return size == 0 ? v : v / size;
  });
}

void binarizer(Call &call) {
  const double threshold = call.getFloat("threshold", 0);
  const Tensor &x = call.operand(0);
  Tensor y(x.type, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool above = numberAt(x, i) > threshold;
    if (x.isFloat())
      y.floats[i] = above;
    else
      y.ints[i] = above;
  }
  call.setResult(0, std::move(y));
}

void imputer(Call &call) {
  const Tensor &x = call.operand(0);
  Tensor y = x;
  const auto floats = call.getFloats("imputed_value_floats");
  const auto integers = call.getInts("imputed_value_int64s");
  const double missing = call.getFloat("replaced_value_float", 0);
  const int64_t missingInteger = call.getInt("replaced_value_int64", 0);
  const size_t count = x.isFloat() ? floats.size() : integers.size();
  const int64_t width = x.shape.empty() ? 1 : x.shape.back();
  if (!call.require(count == 1 || static_cast<int64_t>(count) == width,
                    "values are not one per feature"))
    return;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = count == 1 ? 0 : i % width;
    if (!x.isFloat())
      y.ints[i] = x.ints[i] == missingInteger ? integers[k] : x.ints[i];
    else if (x.floats[i] == missing ||
             (std::isnan(missing) && std::isnan(x.floats[i])))
      y.floats[i] = floats[k];
  }
  call.setResult(0, std::move(y));
}

void featureVectorizer(Call &call) {
  const Tensor &first = call.operand(0);
  const int64_t rows = first.shape[0];
  int64_t width = 0;
  for (size_t i = 0; i < call.numOperands(); ++i) {
    if (!call.require(call.operand(i).shape[0] == rows, "rows differ"))
      return;
    width += call.operand(i).size() / std::max<int64_t>(rows, 1);
  }
  Tensor y(ElementType::F32, {rows, width});
  int64_t begin = 0;
  for (size_t i = 0; i < call.numOperands(); ++i) {
    const Tensor &x = call.operand(i);
    const int64_t own = x.size() / std::max<int64_t>(rows, 1);
    for (int64_t k = 0; k < x.size(); ++k)
      y.floats[k / own * width + begin + k % own] = numberAt(x, k);
    begin += own;
  }
  call.setResult(0, std::move(y));
}

void arrayFeatureExtractor(Call &call) {
  const Tensor &x = call.operand(0);
  const auto places = call.integers(1);
  if (!call.require(rankOf(x) > 0, "the operand is a scalar"))
    return;
  Shape shape(x.shape);
  shape.back() = static_cast<int64_t>(places.size());
  if (shape.size() == 1)
    shape.insert(shape.begin(), 1);
  const int64_t width = x.shape.back();
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   int64_t row = 0;
                   for (int64_t d = 0; d + 1 < rankOf(x); ++d)
                     row = row * x.shape[d] + at[d];
                   return row * width +
                          call.normalIndex(places[at.back()], width);
                 }));
}

/// Scores of one row, which end as results.
void transform(Call &call, std::vector<double> &scores) {
  const std::string name = call.getString("post_transform", "NONE");
  double sum = 0;
  for (double &score : scores) {
    if (name == "LOGISTIC")
      score = 1 / (1 + std::exp(-score));
    if (name == "SOFTMAX")
      sum += std::exp(score);
  }
  for (double &score : scores)
    if (name == "SOFTMAX")
      score = std::exp(score) / sum;
  call.require(name == "NONE" || name == "LOGISTIC" || name == "SOFTMAX",
               "the transform has no definition here");
}

using Predict = llvm::function_ref<std::vector<double>(int64_t row)>;

void setScores(Call &call, size_t result, int64_t rows, Predict predict) {
  std::vector<double> all;
  for (int64_t row = 0; row < rows && !call.failed(); ++row) {
    std::vector<double> scores = predict(row);
    llvm::append_range(all, scores);
  }
  Tensor y(ElementType::F32, {rows, static_cast<int64_t>(all.size()) /
                                        std::max<int64_t>(rows, 1)});
  y.floats = std::move(all);
  call.setResult(result, std::move(y));
}

/// How a classifier of two classes chooses the second one: by its score alone.
struct Binary {
  double limit = 0; ///< Of the score, beyond which it is chosen.
  /// One score s is a pair: [1 - s, s], or else [-s, s].
  bool complement = true;
};

/// Labels and scores. Without `binary` the largest score has the label.
void setClasses(Call &call, StringRef labels, int64_t rows, Predict predict,
                std::optional<Binary> binary) {
  const auto numbers = call.getInts(labels);
  Tensor classes(ElementType::I64, {rows});
  setScores(call, 1, rows, [&](int64_t row) {
    std::vector<double> scores = predict(row);
    size_t best = llvm::max_element(scores) - scores.begin();
    if (binary)
      best = scores.back() > binary->limit;
    if (scores.size() == 1)
      scores.insert(scores.begin(),
                    binary && binary->complement ? 1 - scores[0] : -scores[0]);
    transform(call, scores);
    if (best < numbers.size())
      classes.ints[row] = numbers[best];
    return scores;
  });
  if (!numbers.empty())
    call.setResult(0, std::move(classes));
}

std::vector<double> linearScores(Call &call, int64_t row) {
  const auto factors = call.getFloats("coefficients"),
             terms = call.getFloats("intercepts");
  const Tensor &x = call.operand(0);
  const int64_t width = x.shape.back();
  std::vector<double> scores;
  for (size_t k = 0; k + width <= factors.size(); k += width) {
    double sum = terms.empty() ? 0 : terms[scores.size()];
    for (int64_t i = 0; i < width; ++i)
      sum += factors[k + i] * numberAt(x, row * width + i);
    scores.push_back(sum);
  }
  return scores;
}

void linearRegressor(Call &call) {
  const Rows rows = rowsOf(call, call.operand(0));
  setScores(call, 0, rows.count, [&](int64_t row) {
    std::vector<double> scores = linearScores(call, row);
    transform(call, scores);
    return scores;
  });
}

void linearClassifier(Call &call) {
  const Rows rows = rowsOf(call, call.operand(0));
  setClasses(
      call, "classlabels_ints", rows.count,
      [&](int64_t row) { return linearScores(call, row); },
      call.getFloats("intercepts").size() == 1 ? std::optional(Binary())
                                               : std::nullopt);
}

/// An ensemble as its lists, whose nodes are found by (tree, id).
class Trees {
public:
  Trees(Call &call, const std::string &votes)
      : call(call), trees(call.getInts("nodes_treeids")),
        ids(call.getInts("nodes_nodeids")),
        features(call.getInts("nodes_featureids")),
        yes(call.getInts("nodes_truenodeids")),
        no(call.getInts("nodes_falsenodeids")),
        missing(call.getInts("nodes_missing_value_tracks_true")),
        values(numbers("nodes_values")), modes(call.getStrings("nodes_modes")),
        base(numbers("base_values")), voters(call.getInts(votes + "_treeids")),
        leaves(call.getInts(votes + "_nodeids")),
        columns(call.getInts(votes + "_ids")),
        weights(numbers(votes + "_weights")) {
    for (size_t i = 0; i < ids.size(); ++i) {
      places[{trees[i], ids[i]}] = i;
      if (!llvm::is_contained(ensemble, trees[i]))
        ensemble.push_back(trees[i]);
    }
  }

  /// Sum, mean or extreme of the votes of every tree for each column.
  std::vector<double> scores(int64_t row, int64_t count,
                             const std::string &how) {
    std::vector<double> sums(count, 0);
    std::vector<bool> seen(count, false);
    for (int64_t tree : ensemble) {
      std::vector<double> own(count, 0);
      const int64_t leaf = leafOf(row, tree);
      for (size_t i = 0; i < voters.size(); ++i)
        if (voters[i] == tree && leaves[i] == leaf)
          own[columns[i]] += weights[i];
      for (int64_t k = 0; k < count; ++k) {
        const double joined = how == "MIN"   ? std::min(sums[k], own[k])
                              : how == "MAX" ? std::max(sums[k], own[k])
                                             : sums[k] + own[k];
        sums[k] = seen[k] ? joined : own[k];
        seen[k] = true;
      }
    }
    for (double &sum : sums)
      sum /= how == "AVERAGE" ? static_cast<double>(ensemble.size()) : 1;
    return sums;
  }

  bool isNonNegative() const {
    return llvm::all_of(weights, [](double v) { return v >= 0; });
  }
  ArrayRef<int64_t> votedColumns() const { return columns; }
  ArrayRef<double> baseValues() const { return base; }

private:
  SmallVector<double> numbers(const std::string &name) {
    if (!call.hasAttribute(name + "_as_tensor"))
      return call.getFloats(name);
    const Tensor tensor = call.getTensor(name + "_as_tensor");
    return SmallVector<double>(tensor.floats.begin(), tensor.floats.end());
  }

  /// A tree begins at its first node that is nobody's child.
  int64_t rootOf(int64_t tree) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      bool child = trees[i] != tree;
      for (size_t k = 0; k < ids.size() && !child; ++k)
        child = trees[k] == tree && modes[k] != "LEAF" &&
                (yes[k] == ids[i] || no[k] == ids[i]);
      if (!child)
        return ids[i];
    }
    call.fail("a tree has no root");
    return 0;
  }

  int64_t leafOf(int64_t row, int64_t tree) {
    auto root = roots.find(tree);
    if (root == roots.end())
      root = roots.emplace(tree, rootOf(tree)).first;
    int64_t id = root->second;
    const Tensor &x = call.operand(0);
    for (size_t steps = 0; steps <= ids.size() && !call.failed(); ++steps) {
      const size_t i = places[{tree, id}];
      const std::string &mode = modes[i];
      if (mode == "LEAF")
        return id;
      const double v = numberAt(x, row * x.shape.back() + features[i]);
      const double limit = x.type == ElementType::F64
                               ? values[i]
                               : static_cast<float>(values[i]);
      const bool taken = mode == "BRANCH_LEQ"   ? v <= limit
                         : mode == "BRANCH_LT"  ? v < limit
                         : mode == "BRANCH_GT"  ? v > limit
                         : mode == "BRANCH_GTE" ? v >= limit
                         : mode == "BRANCH_EQ"  ? v == limit
                                                : v != limit;
      const bool tracked = std::isnan(v) && !missing.empty() && missing[i] != 0;
      id = taken || tracked ? yes[i] : no[i];
    }
    call.fail("a tree has no end");
    return 0;
  }

  Call &call;
  SmallVector<int64_t> trees, ids, features, yes, no, missing;
  SmallVector<double> values;
  std::vector<std::string> modes;
  SmallVector<double> base;
  SmallVector<int64_t> voters, leaves, columns;
  SmallVector<double> weights;
  std::map<std::pair<int64_t, int64_t>, size_t> places;
  std::map<int64_t, int64_t> roots;
  SmallVector<int64_t> ensemble;
};

void treeRegressor(Call &call) {
  Trees trees(call, "target");
  const int64_t targets = call.getInt("n_targets", 1);
  const std::string how = call.getString("aggregate_function", "SUM");
  const Rows rows = rowsOf(call, call.operand(0));
  if (call.failed())
    return;
  setScores(call, 0, rows.count, [&](int64_t row) {
    std::vector<double> scores = trees.scores(row, targets, how);
    for (auto [score, base] : llvm::zip(scores, trees.baseValues()))
      score += base;
    transform(call, scores);
    return scores;
  });
}

void treeClassifier(Call &call) {
  Trees trees(call, "class");
  const auto count =
      static_cast<int64_t>(call.getInts("classlabels_int64s").size() +
                           call.getStrings("classlabels_strings").size());
  const Rows rows = rowsOf(call, call.operand(0));
  if (call.failed())
    return;
  const ArrayRef<int64_t> voted = trees.votedColumns();
  std::optional<Binary> binary;
  if (count == 2 && !voted.empty() && llvm::all_equal(voted)) {
    const bool logistic =
        call.getString("post_transform", "NONE") == "LOGISTIC";
    binary = Binary{trees.isNonNegative() ? 0.5 : 0,
                    trees.isNonNegative() && !logistic};
  }
  setClasses(
      call, "classlabels_int64s", rows.count,
      [&](int64_t row) {
        std::vector<double> scores = trees.scores(row, count, "SUM");
        if (binary && voted[0] == 0)
          scores.pop_back();
        for (auto [score, base] : llvm::zip(scores, trees.baseValues()))
          score += base;
        return scores;
      },
      binary);
}

} // namespace

std::vector<EvaluatorRow> onnxref::modelEvaluators() {
  constexpr Continuity steps = Continuity::Steps, smooth = Continuity::Smooth;
  return {
      {"ArrayFeatureExtractor", {1}, 2, arrayFeatureExtractor, smooth, domain},
      {"Binarizer", {1}, 1, binarizer, steps, domain},
      {"FeatureVectorizer", {1}, 1, featureVectorizer, smooth, domain},
      {"Imputer", {1}, 1, imputer, steps, domain},
      {"LinearClassifier", {1}, 1, linearClassifier, steps, domain},
      {"LinearRegressor", {1}, 1, linearRegressor, smooth, domain},
      {"Normalizer", {1}, 1, normalizer, smooth, domain},
      {"Scaler", {1}, 1, scaler, smooth, domain},
      {"TreeEnsembleClassifier", {1, 3}, 1, treeClassifier, steps, domain},
      {"TreeEnsembleRegressor", {1, 3}, 1, treeRegressor, steps, domain},
  };
}
