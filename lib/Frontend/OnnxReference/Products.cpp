// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices and sums over letters.

#include "Convolution.h"
#include "Registry.h"
#include "Walk.h"
#include "lib/Reference/Gemm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

void matmul(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (call.require(a.isFloat() == b.isFloat(), "operands of different types"))
    call.setResult(0, wrapped(multiplyMatrices(call, a, b)));
}

Tensor transposed(const Tensor &x) {
  return rearranged(x, {x.shape[1], x.shape[0]}, [&](ArrayRef<int64_t> at) {
    return at[1] * x.shape[1] + at[0];
  });
}

/// alpha * A' * B' + beta * C.
void gemm(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  const double alpha = call.getFloat("alpha", 1),
               beta = call.getFloat("beta", 1);
  if (!call.require(rankOf(a) == 2 && rankOf(b) == 2 &&
                        a.isFloat() == b.isFloat(),
                    "operands are no matrices of one type"))
    return;
  Tensor y =
      multiplyMatrices(call, call.getInt("transA", 0) ? transposed(a) : a,
                       call.getInt("transB", 0) ? transposed(b) : b);
  auto times = [](double factor, Tensor x) {
    for (double &value : x.floats)
      value *= factor;
    for (int64_t &value : x.ints)
      value = static_cast<int64_t>(factor * static_cast<double>(value));
    return x;
  };
  if (!call.failed() && alpha != 1)
    y = times(alpha, std::move(y));
  if (!call.failed() && call.has(2))
    y = zip(call, y, beta == 1 ? call.operand(2) : times(beta, call.operand(2)),
            y.type, [](auto p, auto q) { return p + q; });
  call.setResult(0, wrapped(std::move(y)));
}

/// The letters of an equation; '.' and up stand for the dimensions of an
/// ellipsis, counted from the last one.
struct Equation {
  SmallVector<SmallVector<int>> operands;
  SmallVector<int> result;
};

constexpr int ellipsisBase = 256;

/// One side of the arrow as letters, -1 for an ellipsis.
SmallVector<int> lettersOf(StringRef text) {
  SmallVector<int> letters;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      letters.push_back(-1);
      continue;
    }
    if (llvm::isAlpha(text.front()))
      letters.push_back(text.front());
    text = text.drop_front();
  }
  return letters;
}

/// Letters with the dimensions of the ellipsis in its place, of which there are
/// as many as make `rank` altogether.
SmallVector<int> spread(ArrayRef<int> letters, int64_t rank) {
  SmallVector<int> result;
  const int64_t hidden =
      rank - llvm::count_if(letters, [](int letter) { return letter >= 0; });
  for (int letter : letters)
    if (letter >= 0)
      result.push_back(letter);
    else
      for (int64_t k = hidden; k-- > 0;)
        result.push_back(ellipsisBase + static_cast<int>(k));
  return result;
}

std::optional<Equation> parse(Call &call) {
  const std::string text = call.getString("equation", "");
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (!call.require(terms.size() == call.numOperands(),
                    "the equation has another number of operands"))
    return std::nullopt;
  Equation equation;
  std::map<int, int> uses;
  for (auto [i, term] : llvm::enumerate(terms)) {
    equation.operands.push_back(
        spread(lettersOf(term), rankOf(call.operand(i))));
    if (!call.require(equation.operands.back().size() ==
                          call.operand(i).shape.size(),
                      "the equation does not fit an operand"))
      return std::nullopt;
    for (int letter : equation.operands.back())
      ++uses[letter];
  }
  int64_t hidden = 0;
  for (auto [letter, count] : uses)
    hidden += letter >= ellipsisBase;
  if (StringRef(text).contains("->")) {
    const SmallVector<int> letters = lettersOf(right);
    const int64_t named =
        llvm::count_if(letters, [](int letter) { return letter >= 0; });
    equation.result = spread(letters, named + hidden);
    return equation;
  }
  // Without an arrow: the ellipsis, then letters that occur once, sorted.
  for (int64_t k = hidden; k-- > 0;)
    equation.result.push_back(ellipsisBase + static_cast<int>(k));
  for (auto [letter, count] : uses)
    if (letter < ellipsisBase && count == 1)
      equation.result.push_back(letter);
  return equation;
}

/// All letters with their extents, those of the result first.
struct Letters {
  SmallVector<int> names;
  Shape extents;
};

Letters collect(Call &call, const Equation &equation) {
  Letters letters;
  std::map<int, int64_t> extents;
  for (auto [i, term] : llvm::enumerate(equation.operands))
    for (auto [d, letter] : llvm::enumerate(term)) {
      const int64_t extent = call.operand(i).shape[d];
      auto [known, isNew] = extents.try_emplace(letter, extent);
      if (!isNew && known->second != extent && extent != 1 &&
          !call.require(known->second == 1, "a letter has two extents"))
        return letters;
      known->second = std::max(extent, known->second == 1 ? 0 : known->second);
    }
  auto add = [&](int letter) {
    if (llvm::is_contained(letters.names, letter))
      return;
    letters.names.push_back(letter);
    letters.extents.push_back(extents[letter]);
  };
  for (int letter : equation.result)
    add(letter);
  for (auto [letter, extent] : extents)
    add(letter);
  return letters;
}

/// How far each letter moves in an operand.
Shape stepsOf(const Tensor &x, ArrayRef<int> term, const Letters &letters) {
  const Shape strides = broadcastStrides(x.shape, x.shape.size());
  Shape steps(letters.names.size(), 0);
  for (auto [d, letter] : llvm::enumerate(term))
    steps[llvm::find(letters.names, letter) - letters.names.begin()] +=
        strides[d];
  return steps;
}

/// The sum over all letters that the result lacks of the products of what the
/// operands have there.
template <class T>
void sumProducts(const Call &call, const Equation &equation,
                 const Letters &letters, Tensor &y) {
  SmallVector<Shape> steps;
  SmallVector<const T *> places;
  for (auto [i, term] : llvm::enumerate(equation.operands)) {
    steps.push_back(stepsOf(call.operand(i), term, letters));
    places.push_back(elementsOf<T>(call.operand(i)).data());
  }
  const ArrayRef<int64_t> extents = letters.extents;
  const size_t named = equation.result.size();
  const int64_t each = elementCount(extents.drop_front(named));
  T *out = elementsOf<T>(y).data();
  if (each == 0 || y.size() == 0)
    return;
  forEachIndex(extents, [&](ArrayRef<int64_t> at, int64_t i) {
    T product = 1;
    for (size_t k = 0; k < places.size(); ++k) {
      int64_t place = 0;
      for (size_t d = 0; d < at.size(); ++d)
        place += at[d] * steps[k][d];
      product *= places[k][place];
    }
    out[i / each] += product;
  });
}

void einsum(Call &call) {
  const std::optional<Equation> equation = parse(call);
  if (!equation)
    return;
  const Letters letters = collect(call, *equation);
  if (call.failed())
    return;
  Tensor y(call.operand(0).type,
           ArrayRef(letters.extents).take_front(equation->result.size()));
  withKind(y, [&]<class T>() { sumProducts<T>(call, *equation, letters, y); });
  call.setResult(0, wrapped(std::move(y)));
}

} // namespace

Tensor onnxref::multiplyMatrices(Call &call, const Tensor &a, const Tensor &b) {
  if (!call.require(rankOf(a) > 0 && rankOf(b) > 0, "an operand is a scalar"))
    return {};
  Shape left(a.shape), right(b.shape);
  if (left.size() == 1)
    left.insert(left.begin(), 1);
  if (right.size() == 1)
    right.push_back(1);
  const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  if (!call.require(right[right.size() - 2] == k, "inner extents differ"))
    return {};
  const ArrayRef<int64_t> outerA = ArrayRef(left).drop_back(2),
                          outerB = ArrayRef(right).drop_back(2);
  Shape shape = broadcastShape(call, outerA, outerB);
  if (call.failed())
    return {};
  const Shape stepA = broadcastStrides(outerA, shape.size()),
              stepB = broadcastStrides(outerB, shape.size());
  const Shape batch = shape;
  if (a.shape.size() > 1)
    shape.push_back(m);
  if (b.shape.size() > 1)
    shape.push_back(n);
  Tensor y(a.type, shape);
  forEachIndex(batch, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t fromA = 0, fromB = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      fromA += at[d] * stepA[d];
      fromB += at[d] * stepB[d];
    }
    const reference::GemmShape extents{m, n, k};
    if (a.isFloat())
      reference::gemm(
          extents, {a.floats.data() + fromA * m * k, k},
          {b.floats.data() + fromB * k * n, n},
          reference::MatrixRows<double>{y.floats.data() + i * m * n, n});
    else
      reference::gemm(
          extents, {a.ints.data() + fromA * m * k, k},
          {b.ints.data() + fromB * k * n, n},
          reference::MatrixRows<int64_t>{y.ints.data() + i * m * n, n});
  });
  return y;
}

std::vector<EvaluatorRow> onnxref::productEvaluators() {
  return {
      {"MatMul", {1, 9, 13}, 2, matmul},
      {"Gemm", {1, 6, 7, 9, 11, 13}, 2, gemm},
      {"Einsum", {12}, 1, einsum},
  };
}
