// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft with packed weights: every number is taken out and
// computed in binary64.

#include "lib/Frontend/OnnxReference/Convolution.h"
#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Bits of a row of bytes from `bit` on.
int64_t bitsAt(const Tensor &bytes, int64_t row, int64_t bit, int64_t bits) {
  int64_t value = 0;
  for (int64_t i = 0; i < bits; ++i)
    value |= (bytes.ints[row + (bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
  return value;
}

/// The matrix [K, columns] of packed numbers at operand `at`, with scales in
/// the next, and zero points and blocks where they are named.
Tensor packedMatrix(Call &call, size_t at, int64_t columns, size_t zeroAt,
                    size_t groupAt) {
  const int64_t depth = call.getInt("K", 0), bits = call.getInt("bits", 4),
                size = call.getInt("block_size", 32);
  if (!call.require(depth > 0 && columns > 0 && bits > 0 && bits <= 8 &&
                        size > 0 && call.has(at) && call.has(at + 1),
                    "sizes are not positive"))
    return {};
  const int64_t blocks = (depth + size - 1) / size, row = (size * bits + 7) / 8,
                zeros = (blocks * bits + 7) / 8;
  const Tensor &packed = call.operand(at), &scales = call.operand(at + 1);
  const bool numbers = call.has(zeroAt) && call.operand(zeroAt).isFloat();
  if (!call.require(
          packed.size() == columns * blocks * row &&
              scales.size() == columns * blocks &&
              (!call.has(zeroAt) || call.operand(zeroAt).size() ==
                                        columns * (numbers ? blocks : zeros)) &&
              (!call.has(groupAt) || call.operand(groupAt).size() >= depth),
          "operands do not have the sizes of their attributes"))
    return {};
  Tensor w(ElementType::F32, {depth, columns});
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t own = k / size, block = call.has(groupAt)
                                                ? call.operand(groupAt).ints[k]
                                                : own;
      if (!call.require(block >= 0 && block < blocks, "there is no such block"))
        return {};
      double zero = std::ldexp(1.0, static_cast<int>(bits) - 1);
      if (numbers)
        zero = call.operand(zeroAt).floats[c * blocks + block];
      else if (call.has(zeroAt))
        zero = static_cast<double>(
            bitsAt(call.operand(zeroAt), c * zeros, block * bits, bits));
      const auto q = static_cast<double>(
          bitsAt(packed, (c * blocks + own) * row, k % size * bits, bits));
      w.floats[k * columns + c] =
          (q - zero) * scales.floats[c * blocks + block];
    }
  return w;
}

/// x times the numbers of a matrix, which are of its type, and a bias.
Tensor biasedProduct(Call &call, const Tensor &x, Tensor w, size_t biasAt) {
  if (call.failed())
    return {};
  reference::roundToType(w, x.type);
  Tensor y = multiplyMatrices(call, x, w);
  if (!call.failed() && call.has(biasAt))
    y = zip(call, y, call.operand(biasAt), y.type,
            [](auto p, auto q) { return p + q; });
  return y;
}

constexpr size_t kNowhere = ~size_t(0);

void matmulNBits(Call &call) {
  Tensor w = packedMatrix(call, 1, call.getInt("N", 0), 3, 4);
  call.setResult(0, biasedProduct(call, call.operand(0), std::move(w), 5));
}

/// Operand 0 with the residual, and x / sqrt(mean of squares + epsilon) * scale
/// where there is a scale.
Tensor normalisedInput(Call &call, size_t sumAt) {
  Tensor x = call.operand(0);
  const double epsilon = call.getFloat("epsilon", 1e-5f);
  if (call.has(1)) {
    x = zip(call, x, call.operand(1), x.type,
            [](auto p, auto q) { return p + q; });
    call.setResult(sumAt, x);
  }
  if (call.failed() || !call.has(2))
    return x;
  const Tensor &scale = call.operand(2);
  const int64_t width = scale.size();
  if (!call.require(width > 0 && rankOf(x) > 0 && x.shape.back() == width,
                    "the scale does not fit"))
    return x;
  for (int64_t first = 0; first < x.size(); first += width) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += x.floats[first + i] * x.floats[first + i];
    for (int64_t i = 0; i < width; ++i)
      x.floats[first + i] *=
          scale.floats[i] /
          std::sqrt(squares / static_cast<double>(width) + epsilon);
  }
  return x;
}

void matmulNBitsMlp(Call &call) {
  const std::string name = call.getString("activation", "");
  const Tensor x = normalisedInput(call, 1);
  const int64_t columns = call.getInt("N", 0);
  Tensor gate = biasedProduct(
             call, x, packedMatrix(call, 3, columns, kNowhere, kNowhere), 5),
         up = biasedProduct(
             call, x, packedMatrix(call, 6, columns, kNowhere, kNowhere), 8);
  if (call.failed())
    return;
  for (int64_t i = 0; i < gate.size(); ++i) {
    const double g = gate.floats[i];
    up.floats[i] *= name == "silu"   ? g / (1 + std::exp(-g))
                    : name == "gelu" ? g / 2 * std::erfc(-g / std::sqrt(2.0))
                                     : std::max(g, 0.0);
  }
  call.setResult(0, std::move(up));
}

void matmulNBitsQkv(Call &call) {
  const Tensor x = normalisedInput(call, 3);
  for (size_t i = 0; i < 3 && !call.failed(); ++i) {
    const int64_t columns = call.getInt(i == 0 ? "Nq" : "Nkv", 0);
    call.setResult(i, biasedProduct(call, x,
                                    packedMatrix(call, 3 + 3 * i, columns,
                                                 kNowhere, kNowhere),
                                    5 + 3 * i));
  }
}

/// What a code of 4 bits stands for: a float of one bit of fraction with a
/// factor of 1/12, or a quantile of the normal distribution.
double fourBits(int64_t code, bool normal) {
  constexpr double quantiles[] = {-1.0,
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
  // Twelfths, but the least number, which is a 192nd.
  constexpr double twelfths[] = {0, 0.0625, 8, 12, 4, 6, 2, 3};
  return normal ? quantiles[code]
                : (code < 8 ? 1 : -1) * twelfths[code & 7] / 12;
}

void matmulBnb4(Call &call) {
  const int64_t depth = call.getInt("K", 0), columns = call.getInt("N", 0),
                block = call.getInt("block_size", 64);
  const bool normal = call.getInt("quant_type", 1) == 1,
             turned = call.getInt("transB", 1) != 0;
  const Tensor &bytes = call.operand(1), &scales = call.operand(2);
  if (!call.require(depth > 0 && columns > 0 && block > 0 &&
                        bytes.size() == (depth * columns + 1) / 2 &&
                        scales.size() == (depth * columns + block - 1) / block,
                    "operands do not have the sizes of their attributes"))
    return;
  Tensor w(ElementType::F32,
           turned ? Shape{depth, columns} : Shape{columns, depth});
  forEachIndex(w.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const int64_t place = turned ? at[1] * depth + at[0] : i;
    const int64_t pair = bytes.ints[place / 2];
    w.floats[i] = fourBits(place % 2 ? pair & 15 : pair >> 4, normal) *
                  scales.floats[place / block];
  });
  call.setResult(0, multiplyMatrices(call, call.operand(0), w));
}

/// A number of the table, from its index in row-major order.
struct Table {
  const Tensor &data, &scales;
  const Tensor *zeros;
  int64_t bits, size, axis, perByte;
  Shape shape, blocks;

  double at(ArrayRef<int64_t> index) const {
    int64_t i = 0, block = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      i = i * shape[d] + index[d];
      block = block * blocks[d] +
              (static_cast<int64_t>(d) == axis ? index[d] / size : index[d]);
    }
    const double zero =
        zeros ? zeroAt(block)
              : (perByte > 0 ? std::ldexp(1.0, static_cast<int>(bits) - 1) : 0);
    return (number(data, i) - zero) * scales.floats[block];
  }
  /// Rows of zero points begin with a byte.
  double zeroAt(int64_t block) const {
    if (perByte == 0)
      return number(*zeros, block);
    const int64_t columns = blocks.back(),
                  width = (columns + perByte - 1) / perByte;
    return static_cast<double>(
        bitsAt(*zeros, block / columns * width, block % columns * bits, bits));
  }
  double number(const Tensor &x, int64_t i) const {
    return perByte == 0 ? static_cast<double>(x.ints[i])
                        : static_cast<double>(bitsAt(x, 0, i * bits, bits));
  }
};

void gatherBlockQuantized(Call &call) {
  const Tensor &data = call.operand(0), &indices = call.operand(1);
  const int64_t bits = call.getInt("bits", 4);
  if (!call.require(bits == 2 || bits == 4 || bits == 8,
                    "bits are not 2, 4 or 8"))
    return;
  const int64_t perByte = call.narrowOperand(0) ? 0 : 8 / bits;
  Table t{data,
          call.operand(2),
          call.has(3) ? &call.operand(3) : nullptr,
          bits,
          call.getInt("block_size", 128),
          0,
          perByte,
          Shape(data.shape),
          {}};
  if (!call.require(!t.shape.empty() && t.size > 0, "the table is a scalar"))
    return;
  if (perByte > 0)
    t.shape.back() *= perByte;
  t.axis = call.normalAxis(call.getInt("quantize_axis", 1), rankOf(data));
  const int64_t axis =
      call.normalAxis(call.getInt("gather_axis", 0), rankOf(data));
  if (call.failed())
    return;
  t.blocks = t.shape;
  t.blocks[t.axis] = (t.shape[t.axis] + t.size - 1) / t.size;
  Shape shape(ArrayRef<int64_t>(t.shape).take_front(axis));
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(t.shape.begin() + axis + 1, t.shape.end());
  Tensor y(t.scales.type, shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t which = 0;
    for (int64_t d = 0; d < rankOf(indices); ++d)
      which = which * indices.shape[d] + at[axis + d];
    int64_t row = indices.ints[which];
    row += row < 0 ? t.shape[axis] : 0;
    if (!call.require(row >= 0 && row < t.shape[axis], "an index is outside"))
      return;
    Shape from(at.take_front(axis));
    from.push_back(row);
    from.append(at.begin() + axis + rankOf(indices), at.end());
    y.floats[i] = t.at(from);
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::packedWeightEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"MatMulNBits", {1}, 3, matmulNBits, smooth, domain},
      {"MatMulNBitsMlp", {1}, 1, matmulNBitsMlp, smooth, domain},
      {"MatMulNBitsQkv", {1}, 1, matmulNBitsQkv, smooth, domain},
      {"MatMulBnb4", {1}, 3, matmulBnb4, smooth, domain},
      {"GatherBlockQuantized", {1}, 3, gatherBlockQuantized, smooth, domain},
  };
}
