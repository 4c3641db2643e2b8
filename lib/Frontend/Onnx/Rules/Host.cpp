// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators whose results are as long as data decide: the host finds indices,
// engines do the rest.

#include "lib/Frontend/Onnx/Extents/ExtentRules.h"
#include "lib/Frontend/Onnx/Registry.h"

#include "ashlar/Numerics/HostFunctions.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Most dimensions whose indices the host counts.
constexpr int64_t kMostDimensions = 8;

mlir::Type indexType(Node &n) {
  return mlir::IntegerType::get(n.context(), 64);
}

bool refuseEmpty(Node &n, Value x) {
  if (elementCount(shapeOf(x)) == 0)
    n.unsupported("{} has no elements", typeText(x));
  return n.failed();
}

/// Row `row` of indices [rows, count], as a vector.
Value rowOf(Node &n, Value indices, int64_t row) {
  if (!indices)
    return nullptr;
  return n.reshape(n.sliceAxis(indices, 0, row, 1), shapeOf(indices)[1]);
}

/// The indices with 0 where there is none: something to choose, of no meaning.
Value onlyIndices(Node &n, Value indices) {
  if (!indices)
    return nullptr;
  return n.binary<MaxOp>(indices,
                         n.integers(int64_t(0), {1}, elementOf(indices)));
}

/// The non-zero elements of a constant: their indices, as many as there are.
Value constantNonzero(Node &n, Value x, ArrayRef<double> numbers) {
  SmallVector<int64_t> keys;
  int64_t count = 0;
  for (double number : numbers) {
    keys.push_back(number != 0);
    count += number != 0;
  }
  const int64_t rank = rankOf(x);
  SmallVector<uint64_t> shape(shapeOf(x).begin(), shapeOf(x).end());
  std::vector<int64_t> indices(keys.size() * rank);
  numerics::nonzeroIndices(keys, 0, shape, indices);
  SmallVector<int64_t> found;
  for (int64_t row = 0; row < rank; ++row)
    found.append(indices.begin() + row * keys.size(),
                 indices.begin() + row * keys.size() + count);
  return n.integers(found, {rank, count}, indexType(n));
}

void nonZero(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  // A number is a vector of one.
  if (rankOf(x) == 0)
    x = n.reshape(x, {1});
  if (!x || refuseEmpty(n, x))
    return;
  if (rankOf(x) > kMostDimensions) {
    n.unsupported("{} dimensions, expected at most {}", rankOf(x),
                  kMostDimensions);
    return;
  }
  if (auto numbers = numbersOf(x)) {
    n.setOutput(0, constantNonzero(n, x, *numbers));
    return;
  }
  Value indices = n.nonzero(x);
  n.setOutput(0, indices);
  n.setExtent(0, {1, countIndices(n, rowOf(n, indices, 0))});
}

/// What a constant condition keeps.
void compressConstant(Node &n, Value x, int64_t axis,
                      ArrayRef<int64_t> condition) {
  SmallVector<int64_t> kept;
  for (auto [i, keep] : llvm::enumerate(condition))
    if (keep)
      kept.push_back(static_cast<int64_t>(i));
  n.setOutput(0, n.gather(x, axis, kept));
}

void compress(Node &n) {
  Value x = n.input(0), condition = n.input(1);
  if (!x || !condition)
    return;
  int64_t axis = 0;
  if (n.hasAttribute("axis"))
    axis = n.normalAxis(n.getInt("axis", 0), rankOf(x));
  else
    x = n.reshape(x, elementCount(shapeOf(x)));
  if (n.failed())
    return;
  if (rankOf(condition) != 1 || shapeOf(condition)[0] > shapeOf(x)[axis]) {
    n.malformed("condition {} for {} elements on axis {}", typeText(condition),
                shapeOf(x)[axis], axis);
    return;
  }
  if (auto known = integersOf(condition)) {
    compressConstant(n, x, axis, *known);
    return;
  }
  if (refuseEmpty(n, x) || refuseEmpty(n, condition))
    return;
  Value indices = rowOf(n, n.nonzero(condition), 0);
  n.setOutput(0, takeRows(n, x, axis, onlyIndices(n, indices)));
  n.setExtent(0, {axis, countIndices(n, indices)});
}

/// Rows of x along `axis`, which comes first; all elements without one.
Value rowsOf(Node &n, Value x, std::optional<int64_t> axis) {
  if (!axis)
    return n.reshape(x, {elementCount(shapeOf(x)), 1});
  SmallVector<int64_t> perm{*axis};
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (d != *axis)
      perm.push_back(d);
  const int64_t rows = shapeOf(x)[*axis];
  return n.reshape(n.transpose(x, perm),
                   {rows, elementCount(shapeOf(x)) / rows});
}

void unique(Node &n) {
  Value x = n.input(0);
  const bool sorted = n.getInt("sorted", 1) != 0;
  std::optional<int64_t> axis;
  if (x && n.hasAttribute("axis"))
    axis = n.normalAxis(n.getInt("axis", 0), rankOf(x));
  if (!x || n.failed() || refuseEmpty(n, x))
    return;
  Value found = n.unique(rowsOf(n, x, axis), sorted);
  Value first = rowOf(n, found, 0);
  const RunTimeExtent extent{0, countIndices(n, first)};
  Value where = onlyIndices(n, first);
  if (!axis)
    x = n.reshape(x, elementCount(shapeOf(x)));
  if (n.outputUsed(0) && x) {
    n.setOutput(0, takeRows(n, x, axis.value_or(0), where));
    n.setExtent(0, {axis.value_or(0), extent.count});
  }
  n.setOutput(1, first);
  n.setExtent(1, extent);
  n.setOutput(2, n.outputUsed(2) ? rowOf(n, found, 1) : Value());
  if (n.outputUsed(3)) {
    n.setOutput(3, rowOf(n, found, 2));
    n.setExtent(3, extent);
  }
}

/// The values of a vector in their order, where each lies among them, and how
/// often it occurs.
void uniqueInOrder(Node &n) {
  Value x = n.input(0);
  if (!x || refuseEmpty(n, x))
    return;
  if (rankOf(x) != 1) {
    n.malformed("the input is {}, expected 1 dimension", typeText(x));
    return;
  }
  Value found = n.unique(rowsOf(n, x, std::nullopt), /*sorted=*/false);
  Value first = rowOf(n, found, 0);
  const RunTimeExtent extent{0, countIndices(n, first)};
  n.setOutput(0, takeRows(n, x, 0, onlyIndices(n, first)));
  n.setExtent(0, extent);
  n.setOutput(1, n.outputUsed(1) ? rowOf(n, found, 1) : Value());
  if (n.outputUsed(2)) {
    n.setOutput(2, rowOf(n, found, 2));
    n.setExtent(2, extent);
  }
}

/// A parameter of one element; `standard` if it is omitted.
Value parameter(Node &n, size_t i, double standard, mlir::Type type) {
  if (!n.hasInput(i))
    return n.splat(standard, type, {1});
  Value value = n.input(i);
  if (elementCount(shapeOf(value)) != 1 || elementOf(value) != type)
    return n.malformed("input {} is {}, expected one number", i,
                       typeText(value));
  return n.reshape(value, {1});
}

void nonMaxSuppression(Node &n) {
  Value boxes = n.input(0), scores = n.input(1);
  const bool center = n.getInt("center_point_box", 0) != 0;
  if (!boxes || !scores || n.failed())
    return;
  mlir::Type f32 = mlir::Float32Type::get(n.context());
  if (elementOf(boxes) != f32 || elementOf(scores) != f32 ||
      rankOf(boxes) != 3 || rankOf(scores) != 3 || shapeOf(boxes)[2] != 4 ||
      shapeOf(boxes)[0] != shapeOf(scores)[0] ||
      shapeOf(boxes)[1] != shapeOf(scores)[2]) {
    n.malformed("boxes {} and scores {}, expected [B, N, 4] and [B, C, N] of "
                "f32",
                typeText(boxes), typeText(scores));
    return;
  }
  Value most = parameter(n, 2, 0, indexType(n));
  Value iou = parameter(n, 3, 0, f32), least = parameter(n, 4, 0, f32);
  if (n.failed())
    return;
  int64_t keep = shapeOf(boxes)[1];
  if (auto known = integersOf(most))
    keep = std::clamp<int64_t>(known->front(), 0, keep);
  if (keep == 0 || elementCount(shapeOf(scores)) == 0) {
    n.setOutput(0, n.integers({}, {0, 3}, indexType(n)));
    return;
  }
  Value indices =
      n.nms(boxes, scores, most, iou, least, center, n.hasInput(4), keep);
  n.setOutput(0, indices);
  if (indices)
    n.setExtent(0, {0, countIndices(n, n.sliceAxis(indices, 1, 0, 1))});
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::hostRows() {
  return {
      {"NonZero",
       {9, 13},
       nonZero,
       "the host finds the indices; the result has a run-time extent; of a "
       "constant a constant"},
      {"Compress",
       {9, 11},
       compress,
       "run-time condition: the host finds what is kept, and a gather reads "
       "it; the result has a run-time extent; constant condition: one "
       "operation"},
      {"Unique",
       {11},
       unique,
       "the host finds the distinct rows, and a gather; results have run-time "
       "extents"},
      {"NonMaxSuppression",
       {10, 11},
       nonMaxSuppression,
       "the host; the number of boxes may depend on data; the result has a "
       "run-time extent, at most max_output_boxes_per_class of each class, if "
       "that is constant"},
      {"Unique",
       {1},
       uniqueInOrder,
       "the host finds the distinct values, and a gather; results have "
       "run-time extents",
       "com.microsoft"},
  };
}
