// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ai.onnx.ml: ensembles of decision trees. All trees descend together, one
// level per step: each reads the feature, threshold and children of its node
// from tables, and compares. Every comparison is exact, and so are the leaves.

#include "Scores.h"
#include "lib/Frontend/Onnx/Registry.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Deeper trees are unrolled into too many operations.
constexpr size_t kMostLevels = 64;

/// The nodes of all trees; children are places in these lists, and those of a
/// leaf are the leaf itself.
struct Forest {
  SmallVector<int64_t> features, whenTrue, whenFalse, roots;
  SmallVector<double> thresholds;
  /// NaN takes the branch of a true comparison.
  SmallVector<bool> missing;
  SmallVector<bool> leaf;
  CompareKind compare = CompareKind::LessOrEqual;
  size_t levels = 0;
  /// (tree, node) to place.
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> places;
};

/// A list of floats, or of the tensor that replaces it.
SmallVector<double> floatsOrTensor(Node &n, StringRef name) {
  SmallVector<double> numbers = n.getFloats(name);
  const std::string tensor = name.str() + "_as_tensor";
  if (!n.hasAttribute(tensor))
    return numbers;
  mlir::ElementsAttr elements = n.getTensor(tensor);
  if (!elements)
    return numbers;
  const auto values = numbersOf(n.constant(elements));
  if (!values) {
    n.malformed("attribute '{}' has no numbers", tensor);
    return numbers;
  }
  return *values;
}

/// How a node compares: one of two kinds, the other two with the branches
/// exchanged.
struct Mode {
  bool leaf = false, exchanged = false;
  CompareKind compare = CompareKind::LessOrEqual;
};

std::optional<Mode> modeNamed(StringRef name) {
  if (name == "LEAF")
    return Mode{true, false, CompareKind::LessOrEqual};
  if (name == "BRANCH_LEQ")
    return Mode{false, false, CompareKind::LessOrEqual};
  if (name == "BRANCH_LT")
    return Mode{false, false, CompareKind::Less};
  if (name == "BRANCH_GT")
    return Mode{false, true, CompareKind::LessOrEqual};
  if (name == "BRANCH_GTE")
    return Mode{false, true, CompareKind::Less};
  if (name == "BRANCH_EQ")
    return Mode{false, false, CompareKind::Equal};
  if (name == "BRANCH_NEQ")
    return Mode{false, true, CompareKind::Equal};
  return std::nullopt;
}

/// The lists of attributes of the nodes, of one length.
struct NodeLists {
  SmallVector<int64_t> trees, ids, features, whenTrue, whenFalse, missing;
  SmallVector<double> values;
  std::vector<std::string> modes;
};

std::optional<NodeLists> readLists(Node &n) {
  NodeLists l{n.getInts("nodes_treeids"),
              n.getInts("nodes_nodeids"),
              n.getInts("nodes_featureids"),
              n.getInts("nodes_truenodeids"),
              n.getInts("nodes_falsenodeids"),
              n.getInts("nodes_missing_value_tracks_true"),
              floatsOrTensor(n, "nodes_values"),
              n.getStrings("nodes_modes")};
  n.ignore("nodes_hitrates");
  n.ignore("nodes_hitrates_as_tensor");
  const size_t count = l.ids.size();
  if (count == 0 || l.trees.size() != count || l.features.size() != count ||
      l.whenTrue.size() != count || l.whenFalse.size() != count ||
      l.values.size() != count || l.modes.size() != count ||
      (!l.missing.empty() && l.missing.size() != count)) {
    n.malformed("the lists nodes_... have {} ids and other lengths", count);
    return std::nullopt;
  }
  return n.failed() ? std::nullopt : std::optional(std::move(l));
}

/// Fills in one node whose mode is known.
bool addNode(Node &n, Forest &forest, const NodeLists &l, size_t i, Mode mode,
             int64_t features) {
  const int64_t own = static_cast<int64_t>(i);
  if (mode.leaf) {
    forest.features[i] = 0;
    forest.thresholds[i] = 0;
    forest.whenTrue[i] = forest.whenFalse[i] = own;
    return true;
  }
  const auto yes = forest.places.find({l.trees[i], l.whenTrue[i]}),
             no = forest.places.find({l.trees[i], l.whenFalse[i]});
  if (yes == forest.places.end() || no == forest.places.end() ||
      l.features[i] < 0 || l.features[i] >= features) {
    n.malformed("node {} of tree {} reads feature {} of {} and has children {} "
                "and {}",
                l.ids[i], l.trees[i], l.features[i], features, l.whenTrue[i],
                l.whenFalse[i]);
    return false;
  }
  forest.whenTrue[i] = mode.exchanged ? no->second : yes->second;
  forest.whenFalse[i] = mode.exchanged ? yes->second : no->second;
  const bool tracks = !l.missing.empty() && l.missing[i] != 0;
  // NaN differs from every threshold, and no other comparison holds for it.
  const bool differs = mode.exchanged && mode.compare == CompareKind::Equal;
  forest.missing[i] = !differs && tracks != mode.exchanged;
  return true;
}

/// The root of every tree and the longest way from one; a node with two ways
/// to it is malformed.
bool findRoots(Node &n, Forest &forest) {
  const size_t count = forest.leaf.size();
  SmallVector<unsigned> parents(count, 0);
  for (size_t i = 0; i < count; ++i)
    if (!forest.leaf[i]) {
      ++parents[forest.whenTrue[i]];
      ++parents[forest.whenFalse[i]];
    }
  SmallVector<std::pair<int64_t, size_t>> open;
  for (size_t i = 0; i < count; ++i) {
    if (parents[i] == 0) {
      forest.roots.push_back(static_cast<int64_t>(i));
      open.push_back({static_cast<int64_t>(i), 0});
    }
  }
  size_t seen = 0;
  while (!open.empty()) {
    const auto [at, depth] = open.pop_back_val();
    ++seen;
    forest.levels = std::max(forest.levels, depth);
    if (forest.leaf[at])
      continue;
    for (int64_t child : {forest.whenTrue[at], forest.whenFalse[at]})
      if (parents[child] == 1)
        open.push_back({child, depth + 1});
  }
  if (seen != count)
    n.malformed("the nodes are no trees: some have several parents");
  else if (forest.levels > kMostLevels)
    n.unsupported("a tree has {} levels, at most {} are unrolled",
                  forest.levels, kMostLevels);
  return !n.failed();
}

std::optional<Forest> readForest(Node &n, int64_t features) {
  const std::optional<NodeLists> l = readLists(n);
  if (!l)
    return std::nullopt;
  const size_t count = l->ids.size();
  Forest forest;
  forest.features = l->features;
  forest.thresholds = l->values;
  forest.whenTrue.resize(count);
  forest.whenFalse.resize(count);
  forest.missing.resize(count, false);
  forest.leaf.resize(count, false);
  for (size_t i = 0; i < count; ++i)
    if (!forest.places
             .try_emplace({l->trees[i], l->ids[i]}, static_cast<int64_t>(i))
             .second) {
      n.malformed("node {} of tree {} is there twice", l->ids[i], l->trees[i]);
      return std::nullopt;
    }
  std::optional<CompareKind> compare;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Mode> mode = modeNamed(l->modes[i]);
    if (!mode) {
      n.malformed("a mode is '{}'", printable(l->modes[i]));
      return std::nullopt;
    }
    forest.leaf[i] = mode->leaf;
    if (!mode->leaf && compare && *compare != mode->compare) {
      n.unsupported("nodes compare in different ways, one of them by {}",
                    l->modes[i]);
      return std::nullopt;
    }
    if (!mode->leaf)
      compare = mode->compare;
    if (!addNode(n, forest, *l, i, *mode, features))
      return std::nullopt;
  }
  forest.compare = compare.value_or(CompareKind::LessOrEqual);
  return findRoots(n, forest) ? std::optional(std::move(forest)) : std::nullopt;
}

/// The places of the leaves that the rows x [N, C] reach, [N, trees].
Value descend(Node &n, const Forest &forest, Value x) {
  const int64_t rows = shapeOf(x)[0], features = shapeOf(x)[1],
                trees = static_cast<int64_t>(forest.roots.size()),
                count = static_cast<int64_t>(forest.features.size());
  const Type index = n.indexType();
  const auto table = [&](ArrayRef<int64_t> entries) {
    return n.integers(entries, {count}, index);
  };
  Value at =
      n.broadcast(n.integers(forest.roots, {1, trees}, index), {rows, trees});
  Value flat = n.reshape(x, {rows * features});
  SmallVector<int64_t> firsts;
  for (int64_t row = 0; row < rows; ++row)
    firsts.push_back(row * features);
  Value first = n.integers(firsts, {rows, 1}, index);
  const Value feature = table(forest.features), yes = table(forest.whenTrue),
              no = table(forest.whenFalse),
              threshold = n.floats(forest.thresholds, {count}, elementOf(x));
  const bool special = llvm::is_contained(forest.missing, true);
  SmallVector<int64_t> tracked(forest.missing.begin(), forest.missing.end());
  const Value missing = special ? table(tracked) : Value();
  for (size_t level = 0; level < forest.levels && !n.failed(); ++level) {
    Value place = n.binary<AddOp>(takeRows(n, feature, 0, at), first);
    Value value = takeRows(n, flat, 0, place);
    Value reached =
        n.compare(forest.compare, value, takeRows(n, threshold, 0, at));
    if (special) {
      Value none = n.unary(UnaryFunction::Not,
                           n.compare(CompareKind::Equal, value, value));
      Value tracks =
          n.compare(CompareKind::Greater, takeRows(n, missing, 0, at),
                    n.integers(0, {}, index));
      reached = n.logical(LogicalKind::Or, reached,
                          n.logical(LogicalKind::And, none, tracks));
    }
    at = n.where(reached, takeRows(n, yes, 0, at), takeRows(n, no, 0, at));
  }
  return at;
}

/// The votes of the leaves: one row of `columns` numbers per node.
struct Votes {
  SmallVector<double> numbers;
  SmallVector<bool> present;
  int64_t columns = 0;
};

std::optional<Votes> readVotes(Node &n, const Forest &forest, StringRef prefix,
                               int64_t columns) {
  const SmallVector<int64_t> trees = n.getInts((prefix + "_treeids").str()),
                             ids = n.getInts((prefix + "_nodeids").str()),
                             places = n.getInts((prefix + "_ids").str());
  const SmallVector<double> weights =
      floatsOrTensor(n, (prefix + "_weights").str());
  if (trees.size() != ids.size() || places.size() != ids.size() ||
      weights.size() != ids.size() || columns < 1) {
    n.malformed("the lists {}_... have {} ids and other lengths, for {} scores",
                prefix.str(), ids.size(), columns);
    return std::nullopt;
  }
  const auto count = static_cast<int64_t>(forest.leaf.size());
  if (columns > (int64_t(1) << 31) / count ||
      !n.reserve(count * columns, sizeof(double)))
    return std::nullopt;
  Votes votes{SmallVector<double>(count * columns, 0),
              SmallVector<bool>(count * columns, false), columns};
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = forest.places.find({trees[i], ids[i]});
    if (found == forest.places.end() || places[i] < 0 || places[i] >= columns) {
      n.malformed("a vote is of node {} of tree {} for score {} of {}", ids[i],
                  trees[i], places[i], columns);
      return std::nullopt;
    }
    const int64_t at = found->second * columns + places[i];
    votes.numbers[at] += weights[i];
    votes.present[at] = true;
  }
  return votes;
}

/// Votes of the trees of each row, [N, columns].
Value gatherVotes(Node &n, const Forest &forest, const Votes &votes, Value x,
                  ReduceKind kind) {
  const auto count = static_cast<int64_t>(forest.leaf.size());
  Value table = n.floats(votes.numbers, {count, votes.columns},
                         mlir::Float32Type::get(n.context()));
  Value all = takeRows(n, table, 0, descend(n, forest, x));
  return n.reduce(kind, all, {1}, /*keepdims=*/false);
}

SmallVector<double> readBase(Node &n) {
  return floatsOrTensor(n, "base_values");
}

void treeRegressor(Node &n) {
  const int64_t targets = n.getInt("n_targets", 1);
  const std::string how = n.getString("aggregate_function", "SUM");
  const SmallVector<double> base = readBase(n);
  Value x = featuresOf(n, /*keepDouble=*/true);
  if (!x || n.failed())
    return;
  const auto forest = readForest(n, shapeOf(x)[1]);
  const auto votes = forest ? readVotes(n, *forest, "target", targets)
                            : std::optional<Votes>();
  if (!votes)
    return;
  const bool extreme = how == "MIN" || how == "MAX";
  if (!extreme && how != "SUM" && how != "AVERAGE") {
    n.malformed("aggregate_function is '{}'", printable(how));
    return;
  }
  for (size_t i = 0; extreme && i < votes->present.size(); ++i)
    if (forest->leaf[i / targets] && !votes->present[i]) {
      n.unsupported("aggregate_function is {}, and a leaf has no vote for a "
                    "target",
                    how);
      return;
    }
  Value y = gatherVotes(n, *forest, *votes, x,
                        how == "MIN"   ? ReduceKind::Min
                        : how == "MAX" ? ReduceKind::Max
                                       : ReduceKind::Sum);
  if (!y)
    return;
  if (how == "AVERAGE")
    y = n.binary<DivOp>(
        y, n.splat(static_cast<double>(forest->roots.size()), elementOf(y)));
  if (!base.empty() && static_cast<int64_t>(base.size()) != targets)
    n.malformed("there are {} base values for {} targets", base.size(),
                targets);
  else if (!base.empty())
    y = n.binary<AddOp>(y, n.floats(base, {targets}, elementOf(y)));
  n.setOutput(0, transformScores(n, y));
}

/// Two classes of which the leaves vote for one, at place `voted`: the second
/// one is chosen beyond a half if no vote is negative, beyond 0 otherwise.
/// Converters write place 0, and mean by it the score of the second class.
void binaryTrees(Node &n, const ClassLabels &labels, Value score, int64_t voted,
                 bool probability) {
  const std::string name = n.getString("post_transform", "NONE");
  if (voted == 0 && name != "NONE" && name != "LOGISTIC")
    n.unsupported("post_transform is '{}' for one score of two classes",
                  printable(name));
  if (!score || n.failed())
    return;
  const Type element = elementOf(score);
  setBinaryLabel(n, labels,
                 n.compare(CompareKind::Greater, score,
                           n.splat(probability ? 0.5 : 0, element)));
  if (voted == 1) {
    Value none = n.splat(0, element, shapeOf(score));
    n.setOutput(1, transformScores(n, n.concat({none, score}, 1)));
    return;
  }
  const bool logistic = name == "LOGISTIC";
  Value other = probability && !logistic
                    ? n.binary<SubOp>(n.splat(1, element), score)
                    : n.unary(UnaryFunction::Neg, score);
  n.setOutput(1, transformScores(n, n.concat({other, score}, 1)));
}

void treeClassifier(Node &n) {
  const ClassLabels labels = readClassLabels(n, "classlabels_int64s");
  const auto classes = static_cast<int64_t>(labels.count);
  const SmallVector<double> base = readBase(n);
  SmallVector<int64_t> ids = n.getInts("class_ids");
  Value x = featuresOf(n, /*keepDouble=*/true);
  if (!x || n.failed())
    return;
  const auto forest = readForest(n, shapeOf(x)[1]);
  const auto votes =
      forest ? readVotes(n, *forest, "class", classes) : std::optional<Votes>();
  if (!votes)
    return;
  Value scores = gatherVotes(n, *forest, *votes, x, ReduceKind::Sum);
  if (!scores)
    return;
  llvm::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const bool binary = classes == 2 && ids.size() == 1;
  const int64_t own = binary ? (ids[0] == 0 ? 1 : 0) : classes;
  if (!base.empty() && static_cast<int64_t>(base.size()) != own) {
    n.unsupported("there are {} base values for {} scores", base.size(), own);
    return;
  }
  if (binary)
    scores = n.sliceAxis(scores, 1, ids[0], 1);
  if (!base.empty())
    scores = n.binary<AddOp>(scores, n.floats(base, {own}, elementOf(scores)));
  if (binary) {
    binaryTrees(n, labels, scores, ids[0],
                llvm::all_of(votes->numbers, [](double v) { return v >= 0; }));
    return;
  }
  setLargestLabel(n, labels, scores);
  n.setOutput(1, transformScores(n, scores));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::treeRows() {
  return {
      {"TreeEnsembleClassifier",
       {1, 3},
       treeClassifier,
       "reads of tables and comparisons, level by level; integer labels, one "
       "kind of comparison, post_transform NONE, SOFTMAX and LOGISTIC",
       mlDomain},
      {"TreeEnsembleRegressor",
       {1, 3},
       treeRegressor,
       "reads of tables and comparisons, level by level; one kind of "
       "comparison, post_transform NONE, SOFTMAX and LOGISTIC",
       mlDomain},
  };
}
