// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant weights of 2, 4 and 8 bits in blocks with a scale each: unpacked at
// compile time to the numbers they stand for.

#include "lib/Frontend/Onnx/Registry.h"

#include "llvm/Support/MathExtras.h"

#include <array>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Number i of `bits` in a row of bytes; the first is in the low bits.
int64_t packedAt(ArrayRef<int64_t> bytes, int64_t i, int64_t bits) {
  const int64_t perByte = 8 / bits;
  return bytes[i / perByte] >> (i % perByte * bits) & ((1 << bits) - 1);
}

bool isWidth(int64_t bits) { return bits == 2 || bits == 4 || bits == 8; }

/// Which operands of a node are the numbers and parameters of one matrix.
struct BlockPlaces {
  size_t bytes, scales, zeros, group;
};

constexpr size_t kOmitted = ~size_t(0);

/// A matrix of MatMulNBits.
struct Blocks {
  int64_t depth = 0, columns = 0, bits = 0, size = 0;
  int64_t count = 0; ///< Along the depth.
  SmallVector<int64_t> bytes, group;
  SmallVector<double> scales, zeros;

  double at(int64_t column, int64_t k) const {
    const int64_t own = k / size, block = group.empty() ? own : group[k];
    const int64_t row = llvm::divideCeil(size * bits, 8);
    const auto q = static_cast<double>(packedAt(
        ArrayRef<int64_t>(bytes).slice((column * count + own) * row, row),
        k % size, bits));
    // ONNX Runtime rounds the difference, which is exact, and the product.
    return (q - zeros[column * count + block]) * scales[column * count + block];
  }
};

/// Zero points: packed like the weights, numbers, or the middle of the range.
bool readZeros(Node &n, Blocks &b, size_t at) {
  b.zeros.assign(b.columns * b.count,
                 static_cast<double>(int64_t(1) << (b.bits - 1)));
  if (!n.hasInput(at))
    return true;
  if (isFloatElement(n.input(at))) {
    auto numbers = n.constantNumbers(at, "zero_points", b.columns * b.count);
    if (numbers)
      b.zeros = *numbers;
    return numbers.has_value();
  }
  const int64_t row = llvm::divideCeil(b.count * b.bits, 8);
  auto bytes = n.constantIntegers(at, "zero_points");
  if (bytes && static_cast<int64_t>(bytes->size()) != b.columns * row) {
    n.malformed("zero_points has {} bytes, expected {}", bytes->size(),
                b.columns * row);
    return false;
  }
  for (int64_t i = 0; bytes && i < b.columns * b.count; ++i)
    b.zeros[i] = static_cast<double>(
        packedAt(ArrayRef<int64_t>(*bytes).slice(i / b.count * row, row),
                 i % b.count, b.bits));
  return bytes.has_value();
}

/// The attributes, whose number of columns has a name of its own for each
/// matrix of some operators.
std::optional<Blocks> readForm(Node &n, StringRef columns) {
  Blocks b;
  b.depth = n.getInt("K", 0);
  b.columns = n.getInt(columns, 0);
  b.bits = n.getInt("bits", 4);
  b.size = n.getInt("block_size", 32);
  n.ignore("accuracy_level"); // A lower bound, which the format meets or not.
  if (n.failed())
    return std::nullopt;
  constexpr int64_t most = int64_t(1) << 24; // Products stay far below 2^63.
  if (b.depth < 1 || b.columns < 1 || b.depth > most || b.columns > most ||
      !isWidth(b.bits) || b.size < 1 || b.size > most) {
    n.malformed("K is {}, {} {}, bits {} and block_size {}; expected positive "
                "numbers and 2, 4 or 8 bits",
                b.depth, columns.str(), b.columns, b.bits, b.size);
    return std::nullopt;
  }
  b.count = static_cast<int64_t>(llvm::divideCeil(b.depth, b.size));
  return b;
}

/// The numbers and parameters of a matrix of this form.
std::optional<Blocks> readBlocks(Node &n, StringRef columns,
                                 const BlockPlaces &at) {
  std::optional<Blocks> form = readForm(n, columns);
  if (!form)
    return std::nullopt;
  Blocks b = *form;
  const int64_t row = llvm::divideCeil(b.size * b.bits, 8);
  auto bytes = n.constantIntegers(at.bytes, "B");
  auto scales =
      bytes ? n.constantNumbers(at.scales, "scales", b.columns * b.count)
            : std::nullopt;
  if (!scales)
    return std::nullopt;
  if (static_cast<int64_t>(bytes->size()) != b.columns * b.count * row) {
    n.malformed("B has {} bytes, expected {}", bytes->size(),
                b.columns * b.count * row);
    return std::nullopt;
  }
  b.bytes = *bytes;
  b.scales = *scales;
  if (n.hasInput(at.group)) {
    auto group = n.constantIntegers(at.group, "g_idx");
    if (!group || static_cast<int64_t>(group->size()) < b.depth ||
        llvm::any_of(*group,
                     [&](int64_t g) { return g < 0 || g >= b.count; })) {
      n.malformed("g_idx does not name a block for each of {} rows", b.depth);
      return std::nullopt;
    }
    b.group = *group;
  }
  return readZeros(n, b, at.zeros) ? std::optional<Blocks>(b) : std::nullopt;
}

/// \p x times the numbers of a matrix, and a bias.
Value product(Node &n, Value x, const Blocks &b, Value bias) {
  if (!x)
    return nullptr;
  if (rankOf(x) < 1 || shapeOf(x).back() != b.depth)
    return n.malformed("A is {}, expected {} in its last dimension",
                       typeText(x), b.depth);
  if (!n.reserve(b.depth * b.columns, sizeof(double) + sizeof(float)))
    return nullptr;
  std::vector<double> weights(b.depth * b.columns);
  for (int64_t column = 0; column < b.columns; ++column)
    for (int64_t k = 0; k < b.depth; ++k)
      weights[k * b.columns + column] = b.at(column, k);
  Value w = n.floats(weights, {b.depth, b.columns}, elementOf(x));
  const bool vector = rankOf(x) == 1;
  Value y = n.matmul(vector ? n.reshape(x, {1, b.depth}) : x, w);
  if (vector)
    y = n.reshape(y, {b.columns});
  return bias ? n.binary<AddOp>(y, bias) : y;
}

void matmulNBits(Node &n) {
  n.ignore("weight_prepacked");
  std::optional<Blocks> b = readBlocks(n, "N", {1, 2, 3, 4});
  if (Value x = n.input(0); b && x)
    n.setOutput(0, product(n, x, *b, n.optionalInput(5)));
}

/// x / sqrt(mean of squares + epsilon) * scale of operands 0 to 2: the input, a
/// residual that is added first, and the scale, without which nothing is
/// normalised. The sum is output \p sumAt.
Value normalisedInput(Node &n, size_t sumAt) {
  const double epsilon = n.getFloat("epsilon", 1e-5f);
  Value x = n.input(0), skip = n.optionalInput(1), scale = n.optionalInput(2);
  if (n.failed() || !x)
    return nullptr;
  if (!scale && skip)
    return n.malformed("input 1 (skip) without input 2 (norm_scale)");
  if (skip) {
    if (shapeOf(skip) != shapeOf(x))
      return n.malformed("skip is {}, A {}", typeText(skip), typeText(x));
    x = n.binary<AddOp>(x, skip);
    n.setOutput(sumAt, x);
  } else if (n.outputUsed(sumAt)) {
    return n.malformed("output {} (the sum) is used without input 1 (skip)",
                       sumAt);
  }
  if (!scale || !x)
    return x;
  if (rankOf(x) < 1 || shapeOf(scale) != ShapeRef(shapeOf(x).back()))
    return n.malformed("norm_scale is {}, expected one number for each of the "
                       "last axis of {}",
                       typeText(scale), typeText(x));
  Value squares =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(x, x), {rankOf(x) - 1}, true);
  Value root =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(squares, n.splat(epsilon, elementOf(x))));
  return n.binary<MulOp>(n.binary<DivOp>(x, root), scale);
}

/// Two matrices for one input: activation(gate) * up.
void matmulNBitsMlp(Node &n) {
  const std::string activation = n.getString("activation", "");
  if (!n.failed() && activation != "silu" && activation != "gelu" &&
      activation != "relu")
    n.malformed("activation is '{}', expected silu, gelu or relu",
                printable(activation));
  Value x = normalisedInput(n, 1);
  std::optional<Blocks> gate =
      x ? readBlocks(n, "N", {3, 4, kOmitted, kOmitted}) : std::nullopt;
  std::optional<Blocks> up =
      gate ? readBlocks(n, "N", {6, 7, kOmitted, kOmitted}) : std::nullopt;
  if (!up)
    return;
  Value open = product(n, x, *gate, n.optionalInput(5));
  open = activation == "silu"   ? n.unary(UnaryFunction::Swish, open, 1)
         : activation == "gelu" ? n.unary(UnaryFunction::Gelu, open)
                                : n.unary(UnaryFunction::Relu, open);
  n.setOutput(0, n.binary<MulOp>(open, product(n, x, *up, n.optionalInput(8))));
}

/// Three matrices for one normalised input.
void matmulNBitsQkv(Node &n) {
  if (!n.input(2))
    return;
  Value x = normalisedInput(n, 3);
  for (size_t i = 0; i < 3 && x; ++i) {
    const size_t first = 3 + 3 * i;
    std::optional<Blocks> b = readBlocks(
        n, i == 0 ? "Nq" : "Nkv", {first, first + 1, kOmitted, kOmitted});
    if (!b)
      return;
    n.setOutput(i, product(n, x, *b, n.optionalInput(first + 2)));
  }
}

/// What the codes of MatMulBnb4 stand for: floats with one bit of fraction, and
/// quantiles of the normal distribution.
constexpr std::array<double, 16> kFloat4 = {0,
                                            0.00520833349,
                                            0.66666669,
                                            1,
                                            0.333333343,
                                            0.5,
                                            0.16666667,
                                            0.25,
                                            -0.,
                                            -0.00520833349,
                                            -0.66666669,
                                            -1,
                                            -0.333333343,
                                            -0.5,
                                            -0.16666667,
                                            -0.25};
constexpr std::array<double, 16> kNormalFloat4 = {-1.0,
                                                  -0.6961928009986877,
                                                  -0.5250730514526367,
                                                  -0.39491748809814453,
                                                  -0.28444138169288635,
                                                  -0.18477343022823334,
                                                  -0.09105003625154495,
                                                  0.0,
                                                  0.07958029955625534,
                                                  0.16093020141124725,
                                                  0.24611230194568634,
                                                  0.33791524171829224,
                                                  0.44070982933044434,
                                                  0.5626170039176941,
                                                  0.7229568362236023,
                                                  1.0};

/// Codes of 4 bits, the first in the high bits, for B transposed as one row;
/// one largest number for `block_size` of them.
void matmulBnb4(Node &n) {
  Value x = n.input(0);
  const int64_t depth = n.getInt("K", 0), columns = n.getInt("N", 0),
                block = n.getInt("block_size", 64),
                kind = n.getInt("quant_type", 1);
  const bool turned = n.getInt("transB", 1) != 0;
  n.ignore("training_mode");
  if (!x || n.failed())
    return;
  constexpr int64_t most = int64_t(1) << 24;
  if (depth < 1 || columns < 1 || depth > most || columns > most || block < 1 ||
      kind < 0 || kind > 1) {
    n.malformed("K is {}, N {}, block_size {} and quant_type {}, expected "
                "positive numbers and a type 0 or 1",
                depth, columns, block, kind);
    return;
  }
  const int64_t count = depth * columns, given = rankOf(x);
  auto bytes = n.constantIntegers(1, "B");
  auto scales =
      bytes ? n.constantNumbers(2, "absmax", llvm::divideCeil(count, block))
            : std::nullopt;
  if (!scales || !n.reserve(count, sizeof(double) + sizeof(float)))
    return;
  if (static_cast<int64_t>(bytes->size()) != (count + 1) / 2 || given < 1 ||
      shapeOf(x).back() != (turned ? depth : columns)) {
    n.malformed("A is {}, B has {} bytes, expected {} and {} in the last "
                "dimension of A",
                typeText(x), bytes->size(), (count + 1) / 2,
                turned ? depth : columns);
    return;
  }
  std::vector<double> weights(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t code = (*bytes)[i / 2] >> (i % 2 ? 0 : 4) & 15;
    const int64_t row = i / depth, k = i % depth;
    weights[turned ? k * columns + row : i] =
        (kind == 0 ? kFloat4 : kNormalFloat4)[code] * (*scales)[i / block];
  }
  const Shape shape = turned ? Shape{depth, columns} : Shape{columns, depth};
  Value w = n.floats(weights, shape, elementOf(x));
  Value y = n.matmul(given == 1 ? n.reshape(x, {1, shape[0]}) : x, w);
  n.setOutput(0, given == 1 ? n.reshape(y, {shape[1]}) : y);
}

/// Attributes of GatherBlockQuantized and the shape of its numbers.
struct Table {
  int64_t axis, quantised, size, bits;
  Shape shape, blocks;
};

std::optional<Table> readTable(Node &n, Value data, bool packed) {
  Table t{n.getInt("gather_axis", 0),  n.getInt("quantize_axis", 1),
          n.getInt("block_size", 128), n.getInt("bits", 4),
          Shape(shapeOf(data)),        {}};
  if (n.failed())
    return std::nullopt;
  if (!isWidth(t.bits) || t.size < 1 || t.shape.empty()) {
    n.malformed("bits is {} and block_size {}, for {}", t.bits, t.size,
                typeText(data));
    return std::nullopt;
  }
  if (packed)
    t.shape.back() *= 8 / t.bits;
  const auto rank = static_cast<int64_t>(t.shape.size());
  t.axis = n.normalAxis(t.axis, rank);
  t.quantised = n.normalAxis(t.quantised, rank);
  if (n.failed())
    return std::nullopt;
  t.blocks = t.shape;
  t.blocks[t.quantised] = llvm::divideCeil(t.shape[t.quantised], t.size);
  return t;
}

/// Numbers of `shape` in a constant operand that may have several in a byte;
/// each row begins with a byte.
std::optional<SmallVector<int64_t>> unpacked(Node &n, size_t i, StringRef name,
                                             int64_t bits, bool packed,
                                             ShapeRef shape) {
  auto numbers = n.constantIntegers(i, name);
  if (!numbers)
    return std::nullopt;
  const int64_t columns = shape.back(), rows = elementCount(shape.drop_back()),
                width = packed ? llvm::divideCeil(columns * bits, 8) : columns;
  if (static_cast<int64_t>(numbers->size()) != rows * width) {
    n.malformed("{} has {} elements, expected {}", name.str(), numbers->size(),
                rows * width);
    return std::nullopt;
  }
  if (!packed)
    return numbers;
  SmallVector<int64_t> result;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      result.push_back(packedAt(
          ArrayRef<int64_t>(*numbers).slice(r * width, width), k, bits));
  return result;
}

void gatherBlockQuantized(Node &n) {
  Value data = n.input(0), indices = n.input(1), scales = n.input(2);
  if (!data || !indices || !scales)
    return;
  const bool packed = !n.narrowInput(0);
  std::optional<Table> t = readTable(n, data, packed);
  if (!t)
    return;
  const int64_t count = elementCount(t->shape), parts = elementCount(t->blocks);
  if (!n.reserve(count, 2 * sizeof(double) + sizeof(float)))
    return;
  auto numbers = unpacked(n, 0, "data", t->bits, packed, t->shape);
  auto factors = n.constantNumbers(2, "scales", parts);
  std::optional<SmallVector<int64_t>> zeros;
  if (n.hasInput(3))
    zeros = unpacked(n, 3, "zero_points", t->bits, packed, t->blocks);
  if (n.failed() || !numbers || !factors || (n.hasInput(3) && !zeros))
    return;
  const int64_t middle = packed ? int64_t(1) << (t->bits - 1) : 0;
  std::vector<double> values(count);
  const int64_t inner =
      elementCount(ShapeRef(t->shape).drop_front(t->quantised + 1));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t extent = t->shape[t->quantised];
    const int64_t at = i / inner % extent, outer = i / inner / extent;
    const int64_t block =
        (outer * t->blocks[t->quantised] + at / t->size) * inner + i % inner;
    values[i] = static_cast<double>((*numbers)[i] -
                                    (zeros ? (*zeros)[block] : middle)) *
                (*factors)[block];
  }
  Value table = n.floats(values, t->shape, elementOf(scales));
  Shape shape(ShapeRef(t->shape).take_front(t->axis));
  shape.append(shapeOf(indices).begin(), shapeOf(indices).end());
  shape.append(t->shape.begin() + t->axis + 1, t->shape.end());
  Value flat = n.reshape(indices, {elementCount(shapeOf(indices))});
  n.setOutput(0, n.reshape(takeRows(n, table, t->axis, flat), shape));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::packedWeightRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"MatMulNBits",
       {1},
       matmulNBits,
       "matmul with the weights' numbers; weights, scales and zero points "
       "must be constant",
       domain},
      {"MatMulBnb4",
       {1},
       matmulBnb4,
       "matmul with the weights' numbers; weights and scales must be constant",
       domain},
      {"GatherBlockQuantized",
       {1},
       gatherBlockQuantized,
       "one operation on the table's numbers; all but the indices must be "
       "constant",
       domain},
      {"MatMulNBitsMlp",
       {1},
       matmulNBitsMlp,
       "as MatMulNBits twice, after a normalisation; activation silu, gelu or "
       "relu",
       domain},
      {"MatMulNBitsQkv",
       {1},
       matmulNBitsQkv,
       "as MatMulNBits three times, after a normalisation",
       domain},
  };
}
