// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that write elements at a tensor of indices. The result is always
// read, not written: with constant indices every row of the result knows the
// update that it takes, with run-time indices a comparison of all row numbers
// with all indices tells.

#include "Windows.h"
#include "lib/Frontend/Onnx/Extents/ExtentRules.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Comparisons of a scatter at run-time indices, at most.
constexpr int64_t kMostComparisons = int64_t(1) << 22;

enum class Combine { Replace, Add, Mul, Max, Min };

std::optional<Combine> readCombine(Node &n) {
  const std::string text = n.getString("reduction", "none");
  for (auto [name, kind] :
       {std::pair("none", Combine::Replace), std::pair("add", Combine::Add),
        std::pair("mul", Combine::Mul), std::pair("max", Combine::Max),
        std::pair("min", Combine::Min)})
    if (text == name)
      return kind;
  n.malformed("reduction is '{}', expected none, add, mul, max or min",
              printable(text));
  return std::nullopt;
}

Value combine(Node &n, Combine kind, Value a, Value b) {
  switch (kind) {
  case Combine::Add:
    return n.binary<AddOp>(a, b);
  case Combine::Mul:
    return n.binary<MulOp>(a, b);
  case Combine::Max:
    return n.binary<MaxOp>(a, b);
  case Combine::Min:
    return n.binary<MinOp>(a, b);
  case Combine::Replace:
    break;
  }
  return b;
}

Value numberLike(Node &n, Value x, double number) {
  return isFloatElement(x)
             ? n.splat(number, elementOf(x))
             : n.integers(static_cast<int64_t>(number), {}, elementOf(x));
}

/// data [rows, inner] with updates [count, inner] at known rows. Updates of one
/// row come one round after the other; the last one stays where they replace.
Value scatterKnown(Node &n, Value data, Value updates, ArrayRef<int64_t> rows,
                   Combine kind) {
  const int64_t height = shapeOf(data)[0], inner = shapeOf(data)[1];
  const auto count = static_cast<int64_t>(rows.size());
  if (!n.reserve(height + count, 2 * sizeof(int64_t)))
    return nullptr;
  std::vector<std::vector<int64_t>> rounds;
  std::vector<size_t> taken(height, 0);
  for (int64_t i = 0; i < count; ++i) {
    const size_t round = kind == Combine::Replace ? 0 : taken[rows[i]]++;
    if (round == rounds.size())
      rounds.emplace_back();
    rounds[round].push_back(i);
  }
  // Rows without an update read themselves, or what changes nothing.
  const bool self =
      kind == Combine::Replace || kind == Combine::Max || kind == Combine::Min;
  Value idle =
      self ? data
           : n.broadcast(numberLike(n, data, kind == Combine::Mul), {1, inner});
  for (const std::vector<int64_t> &round : rounds) {
    if (n.failed() || !n.reserve(height, sizeof(int64_t)))
      return nullptr;
    SmallVector<int64_t> sources(height, 0);
    for (int64_t row = 0; self && row < height; ++row)
      sources[row] = row;
    for (int64_t i : round)
      sources[rows[i]] = (self ? height : 1) + i;
    Value chosen =
        n.gather(n.concat({self ? data : idle, updates}, 0), 0, sources);
    data = combine(n, kind, data, chosen);
  }
  return data;
}

/// The same at run-time rows [count], which lie in [-rows, rows).
Value scatterAnywhere(Node &n, Value data, Value updates, Value rows,
                      Combine kind) {
  const int64_t height = shapeOf(data)[0], inner = shapeOf(data)[1];
  const int64_t count = shapeOf(updates)[0];
  const int64_t work =
      kind == Combine::Replace ? height * count : height * count * inner;
  if (work > kMostComparisons)
    return n.unsupported("{} rows with {} updates at run-time indices take {} "
                         "comparisons, at most {} are supported; make the "
                         "indices constant",
                         height, count, work, kMostComparisons);
  const Type type = mlir::IntegerType::get(n.context(), 64);
  auto number = [&](int64_t value) { return n.integers(value, {}, type); };
  // Reading row numbers checks them, and makes negative ones positive.
  rows = n.takeAt(n.iota(height, 0, 2, type), n.reshape(rows, {count, 1}), 0);
  Value hit = n.compare(CompareKind::Equal, n.iota(height, 0, 2, type),
                        n.reshape(rows, {1, count}));
  if (kind == Combine::Replace) {
    Value order = n.binary<AddOp>(n.iota(count, 1, 2, type), number(1));
    Value last = n.reduce(ReduceKind::Max, n.where(hit, order, number(0)), 1,
                          /*keepdims=*/true);
    Value none = n.compare(CompareKind::Equal, last, number(0));
    Value source = n.where(none, n.iota(height, 0, 2, type),
                           n.binary<AddOp>(last, number(height - 1)));
    return n.takeAt(n.concat({data, updates}, 0), source, 0);
  }
  // What is no update of a row changes nothing: the row itself for the largest
  // and smallest, of which every type has one.
  const bool self = kind == Combine::Max || kind == Combine::Min;
  Value idle = self ? n.reshape(data, {height, 1, inner})
                    : numberLike(n, data, kind == Combine::Mul);
  Value parts = n.where(n.reshape(hit, {height, count, 1}),
                        n.reshape(updates, {1, count, inner}), idle);
  const ReduceKind reduction = kind == Combine::Mul   ? ReduceKind::Prod
                               : kind == Combine::Max ? ReduceKind::Max
                               : kind == Combine::Min ? ReduceKind::Min
                                                      : ReduceKind::Sum;
  // A row that every update reaches is not among its parts.
  return combine(n, kind, data, n.reduce(reduction, parts, 1, false));
}

/// Constant indices into axes of these extents, one after the other; nothing if
/// some are outside and only the run knows whether they are used.
std::optional<SmallVector<int64_t>> knownIndices(Node &n, Value indices,
                                                 ShapeRef extents) {
  std::optional<SmallVector<int64_t>> known = integersOf(indices);
  if (!known || !n.isGuarded())
    return known;
  for (auto [i, index] : llvm::enumerate(*known)) {
    const int64_t extent = extents[i % extents.size()];
    if (index < -extent || index >= extent)
      return std::nullopt;
  }
  return known;
}

Value scatterRows(Node &n, Value data, Value updates, Value rows,
                  Combine kind) {
  if (n.failed() || !data || !updates || !rows)
    return nullptr;
  if (elementCount(shapeOf(updates)) == 0 || elementCount(shapeOf(data)) == 0)
    return data;
  const std::optional<SmallVector<int64_t>> known = integersOf(rows);
  if (!known)
    return scatterAnywhere(n, data, updates, rows, kind);
  SmallVector<int64_t> normal(*known);
  const int64_t height = shapeOf(data)[0];
  for (int64_t &row : normal) {
    if (row < -height || row >= height)
      return n.malformed("an index is out of range for {}",
                         typeText(n.input(0)));
    row += row < 0 ? height : 0;
  }
  return scatterKnown(n, data, updates, normal, kind);
}

/// The same with updates that count only up to the extent of `indices`, whose
/// leading shape is that of the rows: the others go to a row before the first.
Value scatterExtent(Node &n, Value data, Value updates, Value rows,
                    ShapeRef leading, Combine kind) {
  const auto extent = n.extentOf(1);
  if (!extent || n.failed() || !data || !rows)
    return scatterRows(n, data, updates, rows, kind);
  const int64_t height = shapeOf(data)[0], count = shapeOf(rows)[0];
  Value next =
      n.binary<AddOp>(rows, n.integers(int64_t(1), {1}, elementOf(rows)));
  next = n.reshape(withoutRest(n, n.reshape(next, Shape(leading)), *extent, 0),
                   count);
  Value y = scatterRows(n, n.pad(data, {1, 0}, {0, 0}, PadMode::Constant, 0),
                        updates, next, kind);
  return n.sliceAxis(y, 0, 1, height);
}

bool checkUpdates(Node &n, Value data, Value updates) {
  if (elementOf(data) == elementOf(updates))
    return true;
  n.malformed("updates are {}, expected the type of {}", typeText(updates),
              typeText(data));
  return false;
}

/// Row numbers from indices along one axis: the other coordinates are those of
/// the index itself.
Value flatRows(Node &n, Value indices, ShapeRef data, int64_t axis) {
  const Type type = mlir::IntegerType::get(n.context(), 64);
  const ShapeRef shape = shapeOf(indices);
  const int64_t rank = rankOf(indices), extent = data[axis];
  Value index = n.cast(indices, type);
  index = n.takeAt(n.iota(extent, 0, 2, type),
                   n.reshape(index, {elementCount(shape), 1}), 0);
  Value rows;
  int64_t stride = 1;
  for (int64_t d = rank; d-- > 0 && !n.failed();) {
    Value place =
        d == axis ? n.reshape(index, shape) : n.iota(shape[d], d, rank, type);
    Value part = n.binary<MulOp>(place, n.integers(stride, {}, type));
    rows = rows ? n.binary<AddOp>(rows, part) : part;
    stride *= data[d];
  }
  return n.reshape(n.broadcast(rows, shape), elementCount(shape));
}

/// The same for constant indices, of any number.
Value knownFlatRows(Node &n, ArrayRef<int64_t> indices, ShapeRef shape,
                    ShapeRef data, int64_t axis) {
  if (!n.reserve(elementCount(shape), 2 * sizeof(int64_t)))
    return nullptr;
  SmallVector<int64_t> rows, at(shape.size(), 0);
  for (int64_t index : indices) {
    if (index < -data[axis] || index >= data[axis])
      return n.malformed("index {} is out of range for {} elements", index,
                         data[axis]);
    int64_t row = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      row = row * data[d] + (static_cast<int64_t>(d) != axis ? at[d]
                             : index < 0 ? index + data[axis]
                                         : index);
    rows.push_back(row);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
  return n.integers(rows, {static_cast<int64_t>(rows.size())},
                    mlir::IntegerType::get(n.context(), 64));
}

void scatterElements(Node &n) {
  Value data = n.input(0), indices = n.input(1), updates = n.input(2);
  int64_t axis = n.getInt("axis", 0);
  const std::optional<Combine> kind = readCombine(n);
  if (!data || !indices || !updates || !kind)
    return;
  axis = n.normalAxis(axis, rankOf(data));
  if (n.failed() || !checkUpdates(n, data, updates))
    return;
  if (shapeOf(indices) != shapeOf(updates) || rankOf(indices) != rankOf(data) ||
      isFloatElement(indices)) {
    n.malformed("indices {} and updates {} do not fit {}", typeText(indices),
                typeText(updates), typeText(data));
    return;
  }
  const Shape shape(shapeOf(data));
  for (auto [d, extent] : llvm::enumerate(shapeOf(indices)))
    if (static_cast<int64_t>(d) != axis && extent > shape[d]) {
      n.malformed("indices {} are larger than {}", typeText(indices),
                  typeText(data));
      return;
    }
  const auto known = knownIndices(n, indices, shape[axis]);
  Value rows = known ? knownFlatRows(n, *known, shapeOf(indices), shape, axis)
                     : flatRows(n, indices, shape, axis);
  Value y =
      scatterExtent(n, n.reshape(data, {elementCount(shape), 1}),
                    n.reshape(updates, {elementCount(shapeOf(updates)), 1}),
                    rows, shapeOf(indices), *kind);
  n.setOutput(0, n.reshape(y, shape));
}

/// The row that a tuple of indices chooses; each component is checked by
/// reading its place.
Value tupleRows(Node &n, Value indices, ShapeRef extents) {
  const Type type = mlir::IntegerType::get(n.context(), 64);
  const auto depth = static_cast<int64_t>(extents.size());
  const int64_t count = elementCount(shapeOf(indices).drop_back());
  Value tuples = n.reshape(n.cast(indices, type), {count, depth});
  Value rows = n.broadcast(n.integers(0, {}, type), {count, 1});
  for (int64_t k = 0; k < depth && !n.failed(); ++k) {
    Value part = n.takeAt(n.iota(extents[k], 0, 2, type),
                          n.sliceAxis(tuples, 1, k, 1), 0);
    rows = n.binary<AddOp>(
        n.binary<MulOp>(rows, n.integers(extents[k], {}, type)), part);
  }
  return n.reshape(rows, count);
}

Value knownTupleRows(Node &n, ArrayRef<int64_t> indices, ShapeRef extents) {
  SmallVector<int64_t> rows;
  for (size_t at = 0; at < indices.size(); at += extents.size()) {
    int64_t row = 0;
    for (size_t k = 0; k < extents.size(); ++k) {
      const int64_t index = indices[at + k];
      if (index < -extents[k] || index >= extents[k])
        return n.malformed("index {} is out of range for {} elements", index,
                           extents[k]);
      row = row * extents[k] + (index < 0 ? index + extents[k] : index);
    }
    rows.push_back(row);
  }
  return n.integers(rows, {static_cast<int64_t>(rows.size())},
                    mlir::IntegerType::get(n.context(), 64));
}

void scatterND(Node &n) {
  Value data = n.input(0), indices = n.input(1), updates = n.input(2);
  const std::optional<Combine> kind = readCombine(n);
  if (!data || !indices || !updates || !kind || !checkUpdates(n, data, updates))
    return;
  const int64_t depth = rankOf(indices) > 0 ? shapeOf(indices).back() : 0;
  if (depth < 1 || depth > rankOf(data) || isFloatElement(indices)) {
    n.malformed("indices {} do not choose from {}", typeText(indices),
                typeText(data));
    return;
  }
  const ShapeRef shape = shapeOf(data), rest = shape.drop_front(depth);
  Shape expected(shapeOf(indices).drop_back());
  expected.append(rest.begin(), rest.end());
  if (shapeOf(updates) != ShapeRef(expected)) {
    n.malformed("updates are {}, expected {}", typeText(updates),
                shapeToString(expected));
    return;
  }
  const int64_t height = elementCount(shape.take_front(depth)),
                inner = elementCount(rest),
                count = elementCount(shapeOf(indices).drop_back());
  const auto known = knownIndices(n, indices, shape.take_front(depth));
  Value rows = known && n.reserve(count, 2 * sizeof(int64_t))
                   ? knownTupleRows(n, *known, shape.take_front(depth))
                   : tupleRows(n, indices, shape.take_front(depth));
  Value y = scatterExtent(n, n.reshape(data, {height, inner}),
                          n.reshape(updates, {count, inner}), rows,
                          shapeOf(indices).drop_back(), *kind);
  n.setOutput(0, n.reshape(y, shape));
}

/// Row w + i of the cache becomes row i of the update, w per batch.
void tensorScatter(Node &n) {
  Value cache = n.input(0), update = n.input(1), starts = n.optionalInput(2);
  const std::string mode = n.getString("mode", "linear");
  int64_t axis = n.getInt("axis", -2);
  if (!cache || !update)
    return;
  const Shape shape(shapeOf(cache));
  axis = n.normalAxis(axis, rankOf(cache));
  if (n.failed() || !checkUpdates(n, cache, update))
    return;
  if (mode != "linear" && mode != "circular")
    n.malformed("mode is '{}', expected linear or circular", printable(mode));
  if (axis == 0)
    n.malformed("axis 0 is the batch");
  Shape expected(shape);
  expected[n.failed() ? 0 : axis] =
      rankOf(update) == rankOf(cache) ? shapeOf(update)[axis] : -1;
  if (!n.failed() && shapeOf(update) != ShapeRef(expected))
    n.malformed("the update is {}, for a cache {}", typeText(update),
                typeText(cache));
  const int64_t batch = shape[0], extent = shape[axis];
  if (!n.failed() && starts && shapeOf(starts) != ShapeRef(batch))
    n.malformed("the write indices are {}, expected {}", typeText(starts),
                batch);
  if (n.failed())
    return;
  const Type type = mlir::IntegerType::get(n.context(), 64);
  // For every place of the cache the place in the update; out of it, the cache.
  const int64_t length = shapeOf(update)[axis];
  Value start = starts ? n.reshape(n.cast(starts, type), {batch, 1})
                       : n.integers(0, {}, type);
  auto number = [&](int64_t value) { return n.integers(value, {}, type); };
  Value place = n.binary<SubOp>(n.iota(extent, 1, 2, type), start);
  if (mode == "circular")
    place = n.mod(place, number(extent), false);
  Value inside =
      n.logical(LogicalKind::And,
                n.compare(CompareKind::GreaterOrEqual, place, number(0)),
                n.compare(CompareKind::Less, place, number(length)));
  Value source = n.where(inside, n.binary<AddOp>(place, number(extent)),
                         n.iota(extent, 1, 2, type));
  Shape view(rankOf(cache), 1);
  view[axis] = extent;
  if (starts)
    view[0] = batch;
  Value updated =
      n.takeAt(n.concat({cache, update}, axis), n.reshape(source, view), axis);
  n.setOutput(0, updated);
  // One row of a ring lies at one place; more may continue at its beginning.
  if (batch == 1 && starts && updated && (mode == "linear" || length == 1)) {
    Value first = n.reshape(start, {1});
    n.addUpdate(updated,
                {cache, update,
                 mode == "linear" ? first : n.mod(first, number(extent), false),
                 axis});
  }
}

/// Every value at the place that it came from; the places count in the smallest
/// input that gives the maxima, which a wanted shape extends at the ends.
void maxUnpool(Node &n) {
  Value x = n.input(0), indices = n.input(1);
  const Shape kernel(n.getInts("kernel_shape"));
  if (!x || !indices || n.failed())
    return;
  const size_t dims = kernel.size();
  if (rankOf(x) != static_cast<int64_t>(dims) + 2 ||
      shapeOf(indices) != shapeOf(x) || isFloatElement(indices)) {
    n.malformed("kernel_shape has {} entries, the input is {}, the indices {}",
                dims, typeText(x), typeText(indices));
    return;
  }
  const Shape strides = listAttribute(n, "strides", dims, 1),
              pads = listAttribute(n, "pads", 2 * dims, 0);
  if (n.failed())
    return;
  Shape shape(shapeOf(x));
  for (size_t d = 0; d < dims; ++d)
    shape[d + 2] =
        (shape[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[dims + d];
  Shape low(shape.size(), 0), high(shape.size(), 0);
  if (n.hasInput(2)) {
    auto wanted = n.constantIntegers(2, "output_shape");
    if (wanted && wanted->size() != shape.size())
      n.malformed("output_shape has {} entries, expected {}", wanted->size(),
                  shape.size());
    for (size_t d = 0; wanted && !n.failed() && d < shape.size(); ++d)
      high[d] = (*wanted)[d] - shape[d];
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0 || high[d] < 0)
      n.malformed("an extent of {} from {}", shape[d] + high[d], typeText(x));
  if (n.failed() || !n.checkShape(shape))
    return;
  const int64_t count = elementCount(shapeOf(x)), total = elementCount(shape);
  Value zeros = n.broadcast(numberLike(n, x, 0), {total, 1});
  Value y = scatterRows(n, zeros, n.reshape(x, {count, 1}),
                        n.reshape(indices, count), Combine::Replace);
  n.setOutput(0, n.pad(n.reshape(y, shape), low, high, PadMode::Constant, 0));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::scatterRows() {
  const char *note =
      "a choice of rows at constant indices; comparisons of row numbers at "
      "run-time indices, up to 2^22 of them";
  return {
      {"Scatter", {9}, scatterElements, note},
      {"ScatterElements", {11, 13, 16, 18}, scatterElements, note},
      {"ScatterND", {11, 13, 16, 18}, scatterND, note},
      {"MaxUnpool", {9, 11, 22}, maxUnpool, note},
      {"TensorScatter",
       {24},
       tensorScatter,
       "a choice of rows at places computed from the write indices"},
  };
}
