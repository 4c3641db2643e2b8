// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Largest elements of bins of regions that may be known at run time. The maxima
// of all windows whose height and width are powers of two are made once; of
// them four, which may overlap, cover any bin.

#include "lib/Frontend/Onnx/Registry.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

using F = UnaryFunction;

Value whole(Node &n, int64_t value) {
  return n.integers(value, {}, n.indexType());
}

/// To the nearest integer, halves away from zero.
Value nearest(Node &n, Value x) {
  if (!x)
    return nullptr;
  const Type element = elementOf(x);
  Value size = n.unary(F::Abs, x), low = n.unary(F::Floor, size);
  Value up = n.compare(CompareKind::GreaterOrEqual, n.binary<SubOp>(size, low),
                       n.splat(0.5, element));
  Value y = n.binary<AddOp>(low, n.cast(up, element));
  return n.binary<MulOp>(y, n.unary(F::Sign, x));
}

/// The two windows of 2^level elements that cover each bin of one dimension,
/// [regions, bins], and which bins have elements.
struct Cover {
  Value level, first, last, filled;
};

/// 2^level elements are the most that fit in `length`.
Value levelOf(Node &n, Value length, int64_t levels) {
  Value level = whole(n, 0);
  for (int64_t k = 1; k < levels; ++k)
    level = n.binary<AddOp>(level,
                            n.cast(n.compare(CompareKind::GreaterOrEqual,
                                             length, whole(n, int64_t(1) << k)),
                                   n.indexType()));
  return level;
}

Cover coverOf(Node &n, Value start, Value end, int64_t bins, int64_t extent,
              int64_t levels) {
  const Type element = elementOf(start), type = n.indexType();
  Value one = n.splat(1, element);
  Value size =
      n.binary<MaxOp>(n.binary<AddOp>(n.binary<SubOp>(end, start), one), one);
  Value bin =
      n.binary<DivOp>(size, n.splat(static_cast<double>(bins), element));
  Value count = n.cast(n.iota(bins, 1, 2, type), element);
  auto edge = [&](F rounding, Value at) {
    Value x = n.unary(rounding, n.binary<MulOp>(at, bin));
    x = n.unary(F::Clip, n.binary<AddOp>(x, start), 0,
                static_cast<double>(extent));
    return n.cast(x, type);
  };
  Value low = edge(F::Floor, count),
        high = edge(F::Ceil, n.binary<AddOp>(count, one));
  Cover c;
  Value length = n.binary<SubOp>(high, low);
  c.filled = n.compare(CompareKind::Greater, length, whole(n, 0));
  c.level = levelOf(n, length, levels);
  Value reach = whole(n, 1);
  for (int64_t k = 1; k < levels; ++k)
    reach =
        n.where(n.compare(CompareKind::GreaterOrEqual, c.level, whole(n, k)),
                whole(n, int64_t(1) << k), reach);
  // An empty bin reads somewhere; its result is not used.
  c.first = n.binary<MinOp>(low, whole(n, extent - 1));
  c.last = n.binary<MaxOp>(n.binary<SubOp>(high, reach), whole(n, 0));
  return c;
}

/// Each element and the one `distance` after it along `axis`.
Value doubled(Node &n, Value x, int64_t axis, int64_t distance) {
  if (!x)
    return nullptr;
  const int64_t extent = shapeOf(x)[axis];
  Value later = n.sliceAxis(x, axis, distance, extent - distance);
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  high[axis] = distance;
  return n.binary<MaxOp>(x, n.pad(later, low, high, PadMode::Constant,
                                  -std::numeric_limits<double>::infinity()));
}

/// [channels, batch * levels of rows * levels of columns * places].
Value tablesOf(Node &n, Value x, int64_t rowLevels, int64_t columnLevels) {
  const Shape shape(shapeOf(x));
  const int64_t places = shape[2] * shape[3];
  if (!n.checkShape({shape[0], shape[1], rowLevels, columnLevels, places}))
    return nullptr;
  SmallVector<Value> tables;
  Value rows = x;
  for (int64_t i = 0; i < rowLevels && !n.failed(); ++i) {
    rows = i == 0 ? x : doubled(n, rows, 2, int64_t(1) << (i - 1));
    Value both = rows;
    for (int64_t k = 0; k < columnLevels; ++k) {
      both = k == 0 ? rows : doubled(n, both, 3, int64_t(1) << (k - 1));
      tables.push_back(n.reshape(both, {shape[0], shape[1], 1, places}));
    }
  }
  if (n.failed())
    return nullptr;
  Value all = n.transpose(n.concat(tables, 2), {1, 0, 2, 3});
  return n.reshape(all,
                   {shape[1], shape[0] * rowLevels * columnLevels * places});
}

/// Results [channels, regions * bins] of the bins.
Value largest(Node &n, Value tables, Value batch, const Cover &rows,
              const Cover &columns, ShapeRef map, int64_t columnLevels) {
  const int64_t regions = shapeOf(rows.first)[0];
  auto down = [&](Value x) {
    return n.reshape(x, {regions, shapeOf(x)[1], 1});
  };
  auto across = [&](Value x) {
    return n.reshape(x, {regions, 1, shapeOf(x)[1]});
  };
  auto times = [&](Value x, int64_t factor) {
    return n.binary<MulOp>(x, whole(n, factor));
  };
  Value table = n.binary<AddOp>(batch, times(down(rows.level), columnLevels));
  table = n.binary<AddOp>(table, across(columns.level));
  Value result;
  for (Value row : {rows.first, rows.last})
    for (Value column : {columns.first, columns.last}) {
      Value place = n.binary<AddOp>(times(table, map[0]), down(row));
      place = n.binary<AddOp>(times(place, map[1]), across(column));
      if (n.failed())
        return nullptr;
      Value part = n.takeAt(
          tables, n.reshape(place, {1, elementCount(shapeOf(place))}), 1);
      result = result ? n.binary<MaxOp>(result, part) : part;
    }
  Value filled =
      n.logical(LogicalKind::And, down(rows.filled), across(columns.filled));
  if (n.failed())
    return nullptr;
  return n.where(n.reshape(filled, {1, elementCount(shapeOf(filled))}), result,
                 n.splat(0, elementOf(result)));
}

void maxRoiPool(Node &n) {
  Value x = n.input(0), rois = n.input(1);
  const SmallVector<int64_t> bins = n.getInts("pooled_shape");
  const double scale = n.getFloat("spatial_scale", 1);
  if (!x || !rois || n.failed())
    return;
  constexpr int64_t most = 1 << 16;
  if (rankOf(x) != 4 || rankOf(rois) != 2 || shapeOf(rois)[1] != 5 ||
      elementCount(shapeOf(x)) == 0 || shapeOf(rois)[0] == 0 ||
      !isFloatElement(x) || elementOf(rois) != elementOf(x) ||
      bins.size() != 2 || bins[0] < 1 || bins[1] < 1 || bins[0] > most ||
      bins[1] > most) {
    n.malformed("regions {} in {} and pooled_shape {}, expected 4 dimensions "
                "and rows of 5 numbers of one float type, and two positive "
                "numbers",
                typeText(rois), typeText(x), shapeToString(bins));
    return;
  }
  const Shape shape(shapeOf(x));
  const int64_t regions = shapeOf(rois)[0];
  const int64_t levels[2] = {llvm::Log2_64(shape[2]) + 1,
                             llvm::Log2_64(shape[3]) + 1};
  const Type wide = elementOf(x).isF64()
                        ? elementOf(x)
                        : mlir::Type(mlir::Float32Type::get(n.context()));
  Value numbers = n.cast(rois, wide);
  auto edge = [&](int64_t column) {
    return nearest(n, n.binary<MulOp>(n.sliceAxis(numbers, 1, column, 1),
                                      n.splat(scale, wide)));
  };
  // Columns are the batch, x1, y1, x2, y2.
  const Cover rows = coverOf(n, edge(2), edge(4), bins[0], shape[2], levels[0]);
  const Cover columns =
      coverOf(n, edge(1), edge(3), bins[1], shape[3], levels[1]);
  Value batch = n.reshape(n.cast(n.sliceAxis(numbers, 1, 0, 1), n.indexType()),
                          {regions, 1, 1});
  batch = n.binary<MulOp>(batch, whole(n, levels[0] * levels[1]));
  Value tables = tablesOf(n, x, levels[0], levels[1]);
  if (n.failed())
    return;
  Value y =
      largest(n, tables, batch, rows, columns, {shape[2], shape[3]}, levels[1]);
  y = n.reshape(y, {shape[1], regions, bins[0], bins[1]});
  n.setOutput(0, n.transpose(y, {1, 0, 2, 3}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::regionPoolRows() {
  return {
      {"MaxRoiPool",
       {1, 22},
       maxRoiPool,
       "maxima of windows of powers of two, and reads of four of them for each "
       "bin; regions may be known at run time"},
  };
}
