// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Einsum: operands are taken from left to right, two at a time, and each pair
// becomes one matrix product between transposes and reshapes. What has nothing
// to contract is an element-wise product. An axis that neither the result nor
// a later operand names is summed before the product.

#include "lib/Frontend/Onnx/Registry.h"

#include "llvm/ADT/StringExtras.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// A letter, or one of the dimensions that an ellipsis stands for: those are
/// counted from the last one, so that operands of different rank line up.
using Label = int;
using Labels = SmallVector<Label>;
constexpr Label ellipsisBase = 256;

/// A tensor whose axes have names, each name at most once.
struct Term {
  Value value;
  Labels labels;

  int64_t axisOf(Label label) const {
    const auto *it = llvm::find(labels, label);
    return it == labels.end() ? -1 : it - labels.begin();
  }
  bool has(Label label) const { return axisOf(label) >= 0; }
  int64_t extent(Label label) const { return shapeOf(value)[axisOf(label)]; }
};

/// One side of the arrow: letters, with -1 for an ellipsis.
std::optional<SmallVector<int>> parseSubscript(Node &n, StringRef text) {
  SmallVector<int> letters;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (llvm::is_contained(letters, -1)) {
        n.malformed("equation: a subscript has two ellipses");
        return std::nullopt;
      }
      letters.push_back(-1);
      continue;
    }
    if (!llvm::isAlpha(text.front())) {
      n.malformed("equation: found '{}', expected letters, '...', ',' or '->'",
                  printable(text.take_front(1).str()));
      return std::nullopt;
    }
    letters.push_back(text.front());
    text = text.drop_front();
  }
  return letters;
}

/// The letters of an operand as one label for each of its `rank` axes.
std::optional<Labels> spreadLabels(Node &n, ArrayRef<int> letters,
                                   int64_t rank) {
  bool ellipsis = llvm::is_contained(letters, -1);
  int64_t named = static_cast<int64_t>(letters.size()) - ellipsis;
  if (ellipsis ? named > rank : named != rank) {
    n.malformed("equation: {} letters for an operand of {} dimensions", named,
                rank);
    return std::nullopt;
  }
  Labels labels;
  for (int letter : letters) {
    if (letter >= 0)
      labels.push_back(letter);
    else
      for (int64_t k = rank - named; k-- > 0;)
        labels.push_back(ellipsisBase + static_cast<int>(k));
  }
  return labels;
}

Value permuted(Node &n, Value x, ArrayRef<int64_t> perm) {
  bool identity = llvm::all_of(llvm::enumerate(perm), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
  return identity ? x : n.transpose(x, perm);
}

/// Axes that share a name become their diagonal: they move to the end as one
/// axis of n * n elements, of which every (n + 1)-th is taken.
Term withoutRepeats(Node &n, Value x, Labels labels) {
  for (size_t i = 0; i < labels.size() && x; ++i) {
    size_t j = llvm::find(ArrayRef(labels).drop_front(i + 1), labels[i]) -
               labels.begin();
    if (j == labels.size())
      continue;
    int64_t extent = shapeOf(x)[i];
    if (extent != shapeOf(x)[j]) {
      n.malformed("equation: a letter names dimensions of {} and {}", extent,
                  shapeOf(x)[j]);
      return {};
    }
    SmallVector<int64_t> perm, indices;
    Labels rest;
    for (size_t k = 0; k < labels.size(); ++k)
      if (k != i && k != j) {
        perm.push_back(k);
        rest.push_back(labels[k]);
      }
    rest.push_back(labels[i]);
    perm.push_back(i);
    perm.push_back(j);
    for (int64_t k = 0; k < extent; ++k)
      indices.push_back(k * (extent + 1));
    x = permuted(n, x, perm);
    if (!x)
      return {};
    Shape shape(shapeOf(x).drop_back(2));
    shape.push_back(extent * extent);
    x = n.gather(n.reshape(x, shape), rest.size() - 1, indices);
    labels = rest;
    i = static_cast<size_t>(-1); // The axes have moved: look again.
  }
  return {x, labels};
}

/// Sums over every axis whose label is not in `wanted`.
Term summedTo(Node &n, Term term, ArrayRef<Label> wanted) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [axis, label] : llvm::enumerate(term.labels)) {
    if (llvm::is_contained(wanted, label))
      kept.push_back(label);
    else
      axes.push_back(axis);
  }
  if (!axes.empty() && term.value)
    term.value = n.reduce(ReduceKind::Sum, term.value, axes, false);
  term.labels = kept;
  return term;
}

/// Drops the axes of extent 1 that have another extent in `other`.
Term withoutUnits(Node &n, Term term, const Term &other) {
  Shape shape;
  Labels kept;
  for (Label label : term.labels) {
    if (term.extent(label) == 1 && other.has(label) && other.extent(label) != 1)
      continue;
    shape.push_back(term.extent(label));
    kept.push_back(label);
  }
  if (kept.size() != term.labels.size())
    term = {n.reshape(term.value, shape), kept};
  return term;
}

/// The axes of the term in the order of `order`.
Value ordered(Node &n, const Term &term, ArrayRef<Label> order) {
  SmallVector<int64_t> perm;
  for (Label label : order)
    perm.push_back(term.axisOf(label));
  return permuted(n, term.value, perm);
}

/// The four parts that the labels of two terms fall into.
struct Split {
  Labels batch, left, right, contracted;
  /// Product of the extents of some labels of a term.
  static int64_t count(const Term &term, ArrayRef<Label> labels) {
    int64_t product = 1;
    for (Label label : labels)
      product *= term.extent(label);
    return product;
  }
};

Split splitLabels(const Term &a, const Term &b, ArrayRef<Label> wanted) {
  Split split;
  for (Label label : a.labels) {
    bool needed = llvm::is_contained(wanted, label);
    (!b.has(label) ? split.left
     : needed      ? split.batch
                   : split.contracted)
        .push_back(label);
  }
  for (Label label : b.labels)
    if (!a.has(label))
      split.right.push_back(label);
  return split;
}

Labels joined(std::initializer_list<ArrayRef<Label>> parts) {
  Labels all;
  for (ArrayRef<Label> part : parts)
    all.append(part.begin(), part.end());
  return all;
}

/// `[batch, left, contracted] x [batch, contracted, right]`.
Value matrixProduct(Node &n, const Term &a, const Term &b, const Split &s) {
  int64_t batch = Split::count(a, s.batch), rows = Split::count(a, s.left);
  int64_t depth = Split::count(a, s.contracted);
  int64_t columns = Split::count(b, s.right);
  Value left = ordered(n, a, joined({s.batch, s.left, s.contracted}));
  Value right = ordered(n, b, joined({s.batch, s.contracted, s.right}));
  if (s.batch.empty())
    return n.matmul(n.reshape(left, {rows, depth}),
                    n.reshape(right, {depth, columns}));
  return n.matmul(n.reshape(left, {batch, rows, depth}),
                  n.reshape(right, {batch, depth, columns}));
}

/// `[batch, left, 1] * [batch, 1, right]`, exact in the type of the elements.
Value elementProduct(Node &n, const Term &a, const Term &b, const Split &s) {
  int64_t batch = Split::count(a, s.batch), rows = Split::count(a, s.left);
  int64_t depth = Split::count(a, s.contracted);
  int64_t columns = Split::count(b, s.right);
  Value left = ordered(n, a, joined({s.batch, s.left, s.contracted}));
  Value right = ordered(n, b, joined({s.batch, s.contracted, s.right}));
  if (s.contracted.empty())
    return n.binary<MulOp>(n.reshape(left, {batch, rows, 1}),
                           n.reshape(right, {batch, 1, columns}));
  Value product = n.binary<MulOp>(n.reshape(left, {batch, rows, depth, 1}),
                                  n.reshape(right, {batch, 1, depth, columns}));
  return n.reduce(ReduceKind::Sum, product, 2, false);
}

Term contract(Node &n, Term a, Term b, ArrayRef<Label> wanted) {
  a = withoutUnits(n, a, b);
  if (!n.failed())
    b = withoutUnits(n, b, a);
  if (n.failed())
    return {};
  for (Label label : a.labels)
    if (b.has(label) && a.extent(label) != b.extent(label)) {
      n.malformed("equation: a letter names dimensions of {} and {}",
                  a.extent(label), b.extent(label));
      return {};
    }
  a = summedTo(n, a, joined({wanted, b.labels}));
  b = summedTo(n, b, joined({wanted, a.labels}));
  if (n.failed())
    return {};
  Split split = splitLabels(a, b, wanted);
  Value product = split.contracted.empty() || !isFloatElement(a.value)
                      ? elementProduct(n, a, b, split)
                      : matrixProduct(n, a, b, split);
  Labels labels = joined({split.batch, split.left, split.right});
  Shape shape;
  for (Label label : labels)
    shape.push_back(a.has(label) ? a.extent(label) : b.extent(label));
  return {n.reshape(product, shape), labels};
}

/// Without an arrow: what the ellipses stand for, then every letter that
/// occurs once, in the order of the alphabet.
Labels implicitResult(ArrayRef<Labels> operands) {
  Labels all, result;
  for (const Labels &labels : operands)
    all.append(labels.begin(), labels.end());
  llvm::sort(all);
  for (size_t i = all.size(); i-- > 0;)
    if (all[i] >= ellipsisBase && !llvm::is_contained(result, all[i]))
      result.push_back(all[i]);
  for (Label label : all)
    if (label < ellipsisBase && llvm::count(all, label) == 1)
      result.push_back(label);
  return result;
}

/// Labels of the result; those of an ellipsis are all that any operand has.
std::optional<Labels> resultLabels(Node &n, StringRef text,
                                   ArrayRef<Labels> operands) {
  auto letters = parseSubscript(n, text);
  if (!letters)
    return std::nullopt;
  Labels all = joined({});
  for (const Labels &labels : operands)
    all.append(labels.begin(), labels.end());
  Labels result;
  for (int letter : *letters) {
    if (letter < 0) {
      Label most = ellipsisBase - 1;
      for (Label label : all)
        most = std::max(most, label);
      for (Label label = most; label >= ellipsisBase; --label)
        result.push_back(label);
    } else if (!llvm::is_contained(all, letter) ||
               llvm::is_contained(result, letter)) {
      n.malformed("equation: letter '{}' of the result {}",
                  static_cast<char>(letter),
                  llvm::is_contained(result, letter) ? "occurs twice"
                                                     : "is in no operand");
      return std::nullopt;
    } else {
      result.push_back(letter);
    }
  }
  return result;
}

void einsum(Node &n) {
  std::string equation = n.getString("equation", "");
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  bool arrow = equation.find("->") != std::string::npos;
  SmallVector<StringRef> subscripts;
  left.split(subscripts, ',');
  if (subscripts.size() != n.numInputs()) {
    n.malformed("equation: {} subscripts for {} operands", subscripts.size(),
                n.numInputs());
    return;
  }
  SmallVector<Labels> operandLabels;
  for (auto [i, subscript] : llvm::enumerate(subscripts)) {
    Value x = n.input(i);
    auto letters = parseSubscript(n, subscript);
    if (!x || !letters)
      return;
    auto labels = spreadLabels(n, *letters, rankOf(x));
    if (!labels)
      return;
    operandLabels.push_back(*labels);
  }
  std::optional<Labels> result = arrow ? resultLabels(n, right, operandLabels)
                                       : implicitResult(operandLabels);
  if (!result)
    return;
  Term term = withoutRepeats(n, n.input(0), operandLabels.front());
  for (size_t i = 1; i < operandLabels.size() && !n.failed(); ++i) {
    Labels wanted = *result;
    for (const Labels &later : ArrayRef(operandLabels).drop_front(i + 1))
      wanted.append(later.begin(), later.end());
    Term next = withoutRepeats(n, n.input(i), operandLabels[i]);
    if (!n.failed())
      term = contract(n, term, next, wanted);
  }
  if (n.failed())
    return;
  term = summedTo(n, term, *result);
  if (!n.failed())
    n.setOutput(0, ordered(n, term, *result));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::einsumRows() {
  return {
      {"Einsum",
       {12},
       einsum,
       "matrix products between transposes; any number of operands, ellipses, "
       "repeated letters, implicit results"},
  };
}
