// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows taken apart and put together: patches to images, places of maxima,
// and cuts of the middle of a tensor.

#include "Windows.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Calls `visit` with every index of `shape` in row-major order.
template <class Fn>
void forEachTap(ShapeRef shape, Fn &&visit) {
  Shape at(shape.size(), 0);
  for (int64_t i = 0, count = elementCount(shape); i < count; ++i) {
    visit(ShapeRef(at), i);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
}

/// Windows over an image whose patches are given.
struct Patches {
  Shape image, block, strides, dilations, pads;
  Shape blocks; ///< Windows per dimension.
  Shape padded; ///< The image with its pads.
  int64_t taps = 1;
};

/// The numbers of Patches that the node gives; false after an error.
bool readNumbers(Node &n, Patches &p) {
  auto image = n.constantIntegers(1, "image_shape"),
       block = n.constantIntegers(2, "block_shape");
  if (!image || !block)
    return false;
  p.image = *image;
  p.block = *block;
  const size_t dims = image->size();
  p.strides = listAttribute(n, "strides", dims, 1);
  p.dilations = listAttribute(n, "dilations", dims, 1);
  p.pads = listAttribute(n, "pads", 2 * dims, 0);
  if (!n.failed() && (dims < 1 || block->size() != dims))
    n.malformed("a block of {} dimensions, in an image of {}", block->size(),
                dims);
  const auto isLarge = [](int64_t number) {
    constexpr int64_t most = int64_t(1) << 31;
    return number > most || number < 0;
  };
  for (const Shape *list :
       {&p.image, &p.block, &p.strides, &p.dilations, &p.pads})
    if (!n.failed() && llvm::any_of(*list, isLarge))
      n.malformed("an extent, stride, dilation or pad is negative or above "
                  "2^31");
  return !n.failed();
}

bool readPatches(Node &n, Value x, Patches &p) {
  if (!x || !readNumbers(n, p))
    return false;
  for (size_t d = 0; d < p.image.size(); ++d) {
    const int64_t extent = p.image[d] + p.pads[d] + p.pads[p.image.size() + d],
                  reach = (p.block[d] - 1) * p.dilations[d] + 1;
    if (p.block[d] < 1 || p.strides[d] < 1 || p.dilations[d] < 1 ||
        extent < reach) {
      n.malformed("a block of {} does not fit an image of {}", p.block[d],
                  p.image[d]);
      return false;
    }
    p.blocks.push_back((extent - reach) / p.strides[d] + 1);
    p.padded.push_back(extent);
    // No more taps than the patches have rows: the product stays small.
    if (rankOf(x) == 3 && p.taps <= shapeOf(x)[1])
      p.taps *= p.block[d];
  }
  if (rankOf(x) == 3 && p.taps <= shapeOf(x)[1] &&
      shapeOf(x)[1] % p.taps == 0 && shapeOf(x)[2] == elementCount(p.blocks))
    return true;
  n.malformed("patches are {}, expected [batch, channels * taps, {}]",
              typeText(x), shapeToString(p.blocks));
  return false;
}

/// Adds every column of patches at its places: per tap the patches spread by
/// the stride, moved to the tap.
void col2Im(Node &n) {
  Value x = n.input(0);
  Patches p;
  if (!readPatches(n, x, p))
    return;
  const size_t dims = p.image.size();
  const int64_t batch = shapeOf(x)[0], channels = shapeOf(x)[1] / p.taps;
  Value patches = n.reshape(x, {batch, channels, p.taps, shapeOf(x)[2]});
  Value sum;
  forEachTap(p.block, [&](ShapeRef tap, int64_t number) {
    if (n.failed())
      return;
    Shape shape = {batch, channels}, low = {0, 0}, high = {0, 0},
          interior = {0, 0};
    shape.append(p.blocks);
    for (size_t d = 0; d < dims; ++d) {
      low.push_back(tap[d] * p.dilations[d]);
      interior.push_back(p.strides[d] - 1);
      high.push_back(p.padded[d] - low.back() -
                     ((p.blocks[d] - 1) * p.strides[d] + 1));
    }
    Value part = n.reshape(n.sliceAxis(patches, 2, number, 1), shape);
    part = n.dilate(part, low, high, interior);
    sum = sum ? n.binary<AddOp>(sum, part) : part;
  });
  for (size_t d = 0; d < dims; ++d)
    sum = n.sliceAxis(sum, static_cast<int64_t>(d) + 2, p.pads[d], p.image[d]);
  n.setOutput(0, sum);
}

/// A tensor cut or extended around its middle. An odd element goes to the end.
void centerCropPad(Node &n) {
  Value x = n.input(0);
  auto target = n.constantIntegers(1, "shape");
  const bool all = !n.hasAttribute("axes");
  SmallVector<int64_t> axes = n.getInts("axes");
  if (!x || !target)
    return;
  if (all)
    for (int64_t d = 0; d < rankOf(x); ++d)
      axes.push_back(d);
  axes = n.normalAxes(axes, rankOf(x));
  if (n.failed() || axes.size() != target->size()) {
    n.malformed("{} extents for {} axes", target->size(), axes.size());
    return;
  }
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  for (auto [axis, extent] : llvm::zip(axes, *target)) {
    const int64_t had = shapeOf(x)[axis], missing = extent - had;
    if (extent < 0) {
      n.malformed("an extent is {}", extent);
      return;
    }
    // Towards zero for both signs: the start of a cut and that of a pad.
    low[axis] = missing / 2;
    high[axis] = missing - low[axis];
  }
  n.setOutput(0, n.pad(x, low, high, PadMode::Constant, 0));
}

/// The first elements along the time axis in reverse, a number per batch.
void reverseSequence(Node &n) {
  Value x = n.input(0), lengths = n.input(1);
  const int64_t batchAxis = n.getInt("batch_axis", 1),
                timeAxis = n.getInt("time_axis", 0);
  if (!x || !lengths)
    return;
  if (rankOf(x) < 2 || batchAxis < 0 || batchAxis > 1 ||
      timeAxis != 1 - batchAxis ||
      shapeOf(lengths) != ShapeRef(shapeOf(x)[batchAxis])) {
    n.malformed("the input {} with lengths {}, batch axis {}, time axis {}",
                typeText(x), typeText(lengths), batchAxis, timeAxis);
    return;
  }
  const Type type = n.indexType();
  Shape perBatch(rankOf(x), 1);
  perBatch[batchAxis] = shapeOf(x)[batchAxis];
  Value length = n.reshape(n.cast(lengths, type), perBatch);
  Value place = n.iota(shapeOf(x)[timeAxis], timeAxis, rankOf(x), type);
  Value last = n.binary<SubOp>(length, n.integers(1, {}, type));
  Value source = n.where(n.compare(CompareKind::Less, place, length),
                         n.binary<SubOp>(last, place), place);
  n.setOutput(0, n.takeAt(x, source, timeAxis));
}

/// Determinants by expansion along the first row.
Value determinant(Node &n, Value x, ArrayRef<int64_t> columns) {
  const auto row = shapeOf(x)[1] - static_cast<int64_t>(columns.size());
  Value sum;
  for (size_t k = 0; k < columns.size() && !n.failed(); ++k) {
    Value entry = n.sliceAxis(n.sliceAxis(x, 1, row, 1), 2, columns[k], 1);
    if (columns.size() > 1) {
      SmallVector<int64_t> rest(columns);
      rest.erase(rest.begin() + k);
      entry = n.binary<MulOp>(entry, determinant(n, x, rest));
    }
    sum = !sum    ? entry
          : k % 2 ? n.binary<SubOp>(sum, entry)
                  : n.binary<AddOp>(sum, entry);
  }
  return sum;
}

void det(Node &n) {
  Value x = n.input(0);
  constexpr int64_t most = 4;
  if (!x)
    return;
  const int64_t rank = rankOf(x);
  if (rank < 2 || shapeOf(x)[rank - 1] != shapeOf(x)[rank - 2]) {
    n.malformed("the input is {}, expected square matrices", typeText(x));
    return;
  }
  const int64_t size = shapeOf(x)[rank - 1];
  if (size < 1 || size > most) {
    n.unsupported("matrices of {} rows, expected 1 to {}", size, most);
    return;
  }
  const Shape shape(shapeOf(x).drop_back(2));
  SmallVector<int64_t> columns;
  for (int64_t k = 0; k < size; ++k)
    columns.push_back(k);
  Value flat = n.reshape(x, {elementCount(shape), size, size});
  n.setOutput(0, n.reshape(determinant(n, flat, columns), shape));
}

/// Slices of one dimension, whose elements become the last dimension.
void unfoldTensor(Node &n) {
  Value x = n.input(0);
  const int64_t given = n.getInt("dim", -1), size = n.getInt("size", 0),
                step = n.getInt("step", 1);
  if (!x || n.failed())
    return;
  const int64_t axis = n.normalAxis(given, rankOf(x));
  if (n.failed())
    return;
  const Shape shape(shapeOf(x));
  if (size < 1 || step < 1 || size > shape[axis]) {
    n.malformed("slices of {}, {} apart, of {} elements", size, step,
                shape[axis]);
    return;
  }
  const int64_t count = (shape[axis] - size) / step + 1;
  if (!n.reserve(count * size, sizeof(int64_t)))
    return;
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k)
      places.push_back(i * step + k);
  Shape apart(shape);
  apart[axis] = count;
  apart.insert(apart.begin() + axis + 1, size);
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < rankOf(x) + 1; ++d)
    if (d != axis + 1)
      perm.push_back(d);
  perm.push_back(axis + 1);
  n.setOutput(0,
              n.transpose(n.reshape(n.gather(x, axis, places), apart), perm));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::patchRows() {
  return {
      {"Col2Im", {18}, col2Im, "pads and sums, one of each per tap"},
      {"CenterCropPad",
       {18},
       centerCropPad,
       "one operation; the shape must be constant"},
      {"ReverseSequence",
       {10},
       reverseSequence,
       "a read at places computed from the lengths"},
      {"Det", {11, 22}, det, "its expansion; up to 4 rows"},
      {"UnfoldTensor",
       {1},
       unfoldTensor,
       "a gather and a transpose",
       "com.microsoft"},
  };
}
