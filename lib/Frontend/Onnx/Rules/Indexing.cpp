// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that choose elements by a tensor of indices. Indices that are
// constant become nn.gather, others nn.take.

#include "lib/Frontend/Onnx/Extents/ShapeEntries.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

bool areInside(ArrayRef<int64_t> indices, int64_t size) {
  return llvm::all_of(
      indices, [&](int64_t index) { return index >= -size && index < size; });
}

/// Records an error unless every index lies in [-size, size), or only the run
/// knows whether it is read.
bool checkIndices(Node &n, ArrayRef<int64_t> indices, int64_t size,
                  int64_t axis, Value x) {
  if (n.isGuarded())
    return true;
  for (int64_t index : indices)
    if (index < -size || index >= size) {
      n.malformed("index {} is out of range for dimension {} of {}", index,
                  axis, typeText(x));
      return false;
    }
  return true;
}

/// Shape of a gather: that of the indices replaces the axis.
Shape gatherShape(Value x, int64_t axis, Value indices) {
  Shape shape(shapeOf(x).take_front(axis));
  ShapeRef inner = shapeOf(indices), rest = shapeOf(x).drop_front(axis + 1);
  shape.append(inner.begin(), inner.end());
  shape.append(rest.begin(), rest.end());
  return shape;
}

/// Indices as the machine reads them, i32 or i64.
Value machineIndices(Node &n, Value indices) {
  if (!indices || elementOf(indices).isInteger(32) ||
      elementOf(indices).isInteger(64))
    return indices;
  n.malformed("indices are {}, expected 32-bit or 64-bit integers",
              typeText(indices));
  return nullptr;
}

/// Run-time indices: the operand as [before, axis, after], of which `before` or
/// `after` is omitted if it is 1, so that a table is read as it lies; there is
/// always an axis next to the gathered one.
Value takeMerged(Node &n, Value x, int64_t axis, Value indices) {
  const int64_t before = elementCount(shapeOf(x).take_front(axis));
  const int64_t after = elementCount(shapeOf(x).drop_front(axis + 1));
  Shape rows, places;
  if (before != 1)
    rows.push_back(before), places.push_back(1);
  const auto at = static_cast<int64_t>(rows.size());
  rows.push_back(shapeOf(x)[axis]);
  places.push_back(elementCount(shapeOf(indices)));
  if (after != 1 || before == 1)
    rows.push_back(after), places.push_back(1);
  indices = n.reshape(machineIndices(n, indices), places);
  return n.takeAt(n.reshape(x, rows), indices, at);
}

/// What lies at one place of an axis. An entry of a vector of integers is a
/// constant if one was put there, as in a shape of which data decide the rest:
/// branches depend on it.
Value elementAt(Node &n, Value x, int64_t axis, int64_t at) {
  if (rankOf(x) == 1 && elementOf(x) == n.indexType() && !constantOf(x))
    if (Value entry = entryOf(n, x, at); entry && constantOf(entry))
      return entry;
  return n.sliceAxis(x, axis, at, 1);
}

void gather(Node &n) {
  Value x = n.input(0), where = n.input(1);
  int64_t axis = n.getInt("axis", 0);
  if (!x || !where)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  Shape shape = gatherShape(x, axis, where);
  const auto known = integersOf(where);
  const bool open =
      !constantOf(where) ||
      (n.isGuarded() && known && !areInside(*known, shapeOf(x)[axis]));
  if (open && !isFloatElement(where)) {
    n.setOutput(0, n.reshape(takeMerged(n, x, axis, where), shape));
    return;
  }
  auto indices = n.constantIntegers(1, "indices");
  int64_t size = shapeOf(x)[axis];
  if (!indices || !checkIndices(n, *indices, size, axis, x))
    return;
  for (int64_t &index : *indices)
    index += index < 0 ? size : 0;
  Value y = indices->size() == 1 ? elementAt(n, x, axis, indices->front())
                                 : n.gather(x, axis, *indices);
  n.setOutput(0, n.reshape(y, shape));
}

/// Every result has an index of its own; the operand may be larger than the
/// indices along the other axes.
void gatherElements(Node &n) {
  Value x = n.input(0), indices = machineIndices(n, n.input(1));
  int64_t axis = n.getInt("axis", 0);
  if (!x || !indices)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  if (rankOf(indices) != rankOf(x)) {
    n.malformed("indices {} have another rank than {}", typeText(indices),
                typeText(x));
    return;
  }
  if (auto known = integersOf(indices);
      known && !checkIndices(n, *known, shapeOf(x)[axis], axis, x))
    return;
  Shape shape(shapeOf(indices));
  for (int64_t d = 0; d < rankOf(x); ++d) {
    if (d != axis && shape[d] > shapeOf(x)[d]) {
      n.malformed("indices {} are larger than {} along dimension {}",
                  typeText(indices), typeText(x), d);
      return;
    }
    if (d != axis && shape[d] != shapeOf(x)[d])
      x = n.sliceAxis(x, d, 0, shape[d]);
  }
  // A vector has no axis next to the gathered one.
  if (rankOf(x) == 1) {
    x = n.reshape(x, {shapeOf(x)[0], 1});
    indices = n.reshape(indices, {shape[0], 1});
  }
  n.setOutput(0, n.reshape(n.takeAt(x, indices, axis), shape));
}

/// The number of the row that one component of an index tuple chooses; -2^62
/// if the component is out of range, which no later sum can hide.
Value componentRow(Node &n, Value component, int64_t extent, int64_t stride) {
  Type type = elementOf(component);
  auto number = [&](int64_t value) { return n.integers(value, {}, type); };
  Value negative = n.compare(CompareKind::Less, component, number(0));
  Value wrapped =
      n.where(negative, n.binary<AddOp>(component, number(extent)), component);
  Value below = n.compare(CompareKind::Less, wrapped, number(0));
  Value above = n.compare(CompareKind::GreaterOrEqual, wrapped, number(extent));
  Value row = n.binary<MulOp>(wrapped, number(stride));
  int64_t far = -(int64_t(1) << (type.isInteger(64) ? 50 : 30));
  return n.where(n.logical(LogicalKind::Or, below, above), number(far), row);
}

/// The first row of every tuple's batch, [batches * count, 1].
Value batchRows(Node &n, Type type, int64_t batches, int64_t count,
                int64_t rows) {
  Value first =
      n.binary<MulOp>(n.iota(batches, 0, 2, type), n.integers(rows, {}, type));
  return n.reshape(n.broadcast(first, {batches, count}), {batches * count, 1});
}

/// The last dimension of the indices holds tuples that choose from the first
/// dimensions of the operand; the operand becomes [rows, rest].
void gatherND(Node &n) {
  Value x = n.input(0), indices = machineIndices(n, n.input(1));
  int64_t batch = n.opset() >= 12 ? n.getInt("batch_dims", 0) : 0;
  if (!x || !indices || n.failed())
    return;
  int64_t depth = rankOf(indices) > 0 ? shapeOf(indices).back() : 0;
  if (rankOf(indices) == 0 || depth < 1 || batch < 0 ||
      batch >= rankOf(indices) || batch + depth > rankOf(x) ||
      shapeOf(x).take_front(batch) != shapeOf(indices).take_front(batch)) {
    n.malformed("indices {} do not choose from {}", typeText(indices),
                typeText(x));
    return;
  }
  int64_t count = elementCount(shapeOf(indices).drop_back());
  int64_t rows = elementCount(shapeOf(x).take_front(batch + depth));
  if (rows >= int64_t(1) << 24) {
    n.unsupported("{} rows to choose from", rows);
    return;
  }
  Value tuples = n.reshape(indices, {count, depth});
  Value row;
  const int64_t batches = elementCount(shapeOf(x).take_front(batch));
  int64_t stride = batches > 0 ? rows / batches : 0;
  if (batches > 1)
    row = batchRows(n, elementOf(indices), batches, count / batches, stride);
  for (int64_t k = 0; k < depth && !n.failed(); ++k) {
    int64_t extent = shapeOf(x)[batch + k];
    stride = extent > 0 ? stride / extent : 0;
    Value part = componentRow(n, n.sliceAxis(tuples, 1, k, 1), extent, stride);
    row = row ? n.binary<AddOp>(row, part) : part;
  }
  Shape shape(shapeOf(indices).drop_back());
  ShapeRef rest = shapeOf(x).drop_front(batch + depth);
  shape.append(rest.begin(), rest.end());
  Value flat = n.reshape(x, {rows, elementCount(rest)});
  n.setOutput(0, n.reshape(n.takeAt(flat, row, 0), shape));
}

} // namespace

Value ashlar::frontend::takeRows(Node &n, Value x, int64_t axis,
                                 Value indices) {
  if (!x || !indices)
    return nullptr;
  return n.reshape(takeMerged(n, x, axis, indices),
                   gatherShape(x, axis, indices));
}

std::vector<OperatorRow> ashlar::frontend::indexingRows() {
  return {
      {"Gather",
       {1, 11, 13},
       gather,
       "one operation and reshapes; an index out of range at run time ends the "
       "run with a fault that names the node"},
      {"GatherElements",
       {11, 13},
       gatherElements,
       "slices and one operation; indices as for Gather"},
      {"GatherND",
       {11, 12, 13},
       gatherND,
       "row numbers and one operation; indices as for Gather"},
      {"GatherND", {1}, gatherND, "as GatherND of ONNX", "com.microsoft"},
  };
}
