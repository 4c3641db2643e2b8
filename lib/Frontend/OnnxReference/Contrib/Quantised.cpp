// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft on quantised numbers and packed weights: every
// number is taken out and computed in binary64.

#include "lib/Frontend/OnnxReference/Convolution.h"
#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"
#include "lib/Frontend/OnnxReference/Windows.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double single(Call &call, size_t i, double otherwise) {
  if (!call.has(i))
    return otherwise;
  if (!call.require(call.operand(i).size() == 1,
                    "a parameter is not one number"))
    return otherwise;
  return numberAt(call.operand(i), 0);
}

/// (q - zero) * scale of operand x; its parameters follow it.
Tensor dequantised(Call &call, size_t x) {
  const Tensor &q = call.operand(x);
  const double scale = single(call, x + 1, 1), zero = single(call, x + 2, 0);
  Tensor y(ElementType::F64, q.shape);
  for (int64_t i = 0; i < q.size(); ++i)
    y.floats[i] = (numberAt(q, i) - zero) * scale;
  return y;
}

int64_t saturated(double value, ElementType type) {
  const double low = type == ElementType::I8 ? -128 : 0;
  return static_cast<int64_t>(std::min(std::max(value, low), low + 255));
}

/// Whether kernels add the zero point before they round, which decides ties.
enum class ZeroPoint { AfterRounding, BeforeRounding };

void setQuantised(Call &call, const Tensor &y, size_t at, ElementType type,
                  ZeroPoint when = ZeroPoint::AfterRounding) {
  const double scale = single(call, at, 1), zero = single(call, at + 1, 0);
  if (call.failed())
    return;
  if (call.has(at + 1))
    type = call.operand(at + 1).type;
  Tensor q(type, y.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    q.ints[i] = saturated(when == ZeroPoint::BeforeRounding
                              ? std::nearbyint(y.floats[i] / scale + zero)
                              : std::nearbyint(y.floats[i] / scale) + zero,
                          type);
  call.setResult(0, std::move(q));
}

template <class Fn>
void map(Call &call, Fn fn) {
  Tensor x = dequantised(call, 0);
  for (double &value : x.floats)
    value = fn(value);
  setQuantised(call, x, 3, call.operand(0).type);
}

void quantisedLeakyRelu(Call &call) {
  const double alpha = call.getFloat("alpha", 0.01f);
  map(call, [&](double x) { return x < 0 ? alpha * x : x; });
}

void sigmoid(Call &call) {
  map(call, [](double x) { return 1 / (1 + std::exp(-x)); });
}

template <bool product>
void binary(Call &call) {
  const Tensor a = dequantised(call, 0), b = dequantised(call, 3);
  if (call.failed())
    return;
  const Tensor y = zip(call, a, b, ElementType::F64,
                       [](auto p, auto q) { return product ? p * q : p + q; });
  if (!call.failed())
    setQuantised(call, y, 6, call.operand(0).type, ZeroPoint::BeforeRounding);
}

void choose(Call &call) {
  const Tensor a = dequantised(call, 1), b = dequantised(call, 4);
  if (call.failed())
    return;
  Shape shape = broadcastShape(call, a.shape, b.shape);
  shape = broadcastShape(call, shape, call.operand(0).shape);
  if (call.failed())
    return;
  const Tensor condition = broadcastTo(call.operand(0), shape);
  Tensor y = broadcastTo(a, shape);
  const Tensor other = broadcastTo(b, shape);
  for (int64_t i = 0; i < y.size(); ++i)
    if (condition.ints[i] == 0)
      y.floats[i] = other.floats[i];
  setQuantised(call, y, 7, call.operand(1).type);
}

void softmax(Call &call) {
  Tensor x = dequantised(call, 0);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (call.failed() || x.size() == 0)
    return;
  const ArrayRef<int64_t> shape(x.shape);
  // Before operator set 13 everything from the axis on.
  const bool flat = call.getInt("opset", 13) < 13;
  const int64_t inner = flat ? 1 : elementCount(shape.drop_front(axis + 1)),
                extent =
                    flat ? elementCount(shape.drop_front(axis)) : shape[axis];
  for (int64_t row = 0; row < x.size() / extent; ++row) {
    double *first = &x.floats[row / inner * inner * extent + row % inner];
    double top = -HUGE_VAL, total = 0;
    for (int64_t i = 0; i < extent; ++i)
      top = std::max(top, first[i * inner]);
    for (int64_t i = 0; i < extent; ++i)
      total += first[i * inner] = std::exp(first[i * inner] - top);
    for (int64_t i = 0; i < extent; ++i)
      first[i * inner] /= total;
  }
  setQuantised(call, x, 3, call.operand(0).type, ZeroPoint::BeforeRounding);
}

void globalAveragePool(Call &call) {
  const Tensor x = dequantised(call, 0);
  const bool last = call.getInt("channels_last", 0) != 0;
  if (!call.require(rankOf(x) >= 3 && x.size() > 0, "the rank is too small"))
    return;
  Shape shape(x.shape);
  for (int64_t d = 1; d < rankOf(x); ++d)
    if (d != (last ? rankOf(x) - 1 : 1))
      shape[d] = 1;
  const Shape steps = broadcastStrides(shape, shape.size());
  Tensor y(ElementType::F64, shape);
  const double count =
      static_cast<double>(x.size()) / static_cast<double>(y.size());
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to += at[d] * steps[d];
    y.floats[to] += x.floats[i] / count;
  });
  setQuantised(call, y, 3, call.operand(0).type);
}

void concat(Call &call) {
  SmallVector<Tensor> parts;
  for (size_t i = 2; i + 1 < call.numOperands(); i += 3)
    parts.push_back(dequantised(call, i));
  if (!call.require(!parts.empty(), "there is nothing to concatenate"))
    return;
  const int64_t axis =
      call.normalAxis(call.getInt("axis", 1), rankOf(parts.front()));
  if (call.failed())
    return;
  Shape shape(parts.front().shape);
  shape[axis] = 0;
  for (const Tensor &part : parts)
    shape[axis] += part.shape[axis];
  Tensor y(ElementType::F64, shape);
  const int64_t inner =
      elementCount(ArrayRef<int64_t>(shape).drop_front(axis + 1));
  int64_t begin = 0;
  for (const Tensor &part : parts) {
    const int64_t run = part.shape[axis] * inner;
    for (int64_t i = 0; i < part.size(); ++i)
      y.floats[i / run * shape[axis] * inner + begin * inner + i % run] =
          part.floats[i];
    begin += part.shape[axis];
  }
  setQuantised(call, y, 0, call.operand(2).type);
}

/// Element i of an operand with one parameter per column or one for all.
double perColumn(Call &call, size_t operand, int64_t column, double otherwise) {
  if (!call.has(operand))
    return otherwise;
  const Tensor &x = call.operand(operand);
  return numberAt(x, x.size() == 1 ? 0 : column % x.size());
}

/// The sums of (a - zero of a) * (b - zero of b), with the scale of b.
void setScaled(Call &call, const Tensor &a, double scale, size_t zeroOfB,
               size_t scaleOfB, size_t bias) {
  const Tensor &q = call.operand(1);
  Tensor b(ElementType::F64, q.shape);
  const int64_t columns = q.shape.empty() ? 1 : q.shape.back();
  for (int64_t i = 0; i < q.size(); ++i)
    b.floats[i] = numberAt(q, i) - perColumn(call, zeroOfB, i % columns, 0);
  Tensor sums = multiplyMatrices(call, a, b);
  if (call.failed())
    return;
  Tensor y(ElementType::F32, sums.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    y.floats[i] =
        sums.floats[i] * scale * perColumn(call, scaleOfB, i % columns, 1) +
        perColumn(call, bias, i % columns, 0);
  call.setResult(0, std::move(y));
}

void matmulIntegerToFloat(Call &call) {
  const double zero = single(call, 4, 0), scale = single(call, 2, 1);
  Tensor a(ElementType::F64, call.operand(0).shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.floats[i] = numberAt(call.operand(0), i) - zero;
  if (!call.failed())
    setScaled(call, a, scale, 5, 3, 6);
}

void dynamicQuantizeMatMul(Call &call) {
  const Tensor &x = call.operand(0);
  double low = 0, high = 0;
  for (double value : x.floats) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double scale = (high == low ? 1 : high - low) / 255;
  const double zero = std::nearbyint(std::min(-low / scale, 255.0));
  Tensor a(ElementType::F64, x.shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.floats[i] =
        std::min(std::max(std::nearbyint(x.floats[i] / scale) + zero, 0.0),
                 255.0) -
        zero;
  setScaled(call, a, scale, 3, 2, 4);
}

/// Element (row, column) of a matrix that may be transposed.
double entry(const Tensor &x, bool transposed, int64_t row, int64_t column) {
  return numberAt(x, transposed ? column * x.shape[1] + row
                                : row * x.shape[1] + column);
}

void qgemm(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(3);
  const bool transA = call.getInt("transA", 0) != 0,
             transB = call.getInt("transB", 0) != 0;
  const double alpha = call.getFloat("alpha", 1), scale = single(call, 1, 1),
               zero = single(call, 2, 0);
  if (call.failed() || !call.require(rankOf(a) == 2 && rankOf(b) == 2,
                                     "operands are no matrices"))
    return;
  const int64_t rows = a.shape[transA ? 1 : 0], depth = a.shape[transA ? 0 : 1],
                columns = b.shape[transB ? 0 : 1];
  if (!call.require(b.shape[transB ? 1 : 0] == depth, "operands do not fit"))
    return;
  const Tensor *c = call.has(6) ? &call.operand(6) : nullptr;
  if (!call.require(!c || c->size() == columns || c->size() == rows * columns ||
                        c->size() == 1,
                    "C does not broadcast"))
    return;
  Tensor y(ElementType::F64, {rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = c ? numberAt(*c, (i * columns + j) % c->size()) : 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += (entry(a, transA, i, k) - zero) *
               (entry(b, transB, k, j) - perColumn(call, 5, j, 0));
      y.floats[i * columns + j] =
          alpha * scale * perColumn(call, 4, j, 1) * sum;
    }
  if (call.has(7))
    return setQuantised(call, y, 7, a.type);
  reference::roundToType(y, ElementType::F32);
  y.type = ElementType::F32;
  call.setResult(0, std::move(y));
}

/// The mean of the elements under each window.
void averagePool(Call &call) {
  const bool last = call.getInt("channels_last", 0) != 0;
  Tensor x = dequantised(call, 0);
  const bool withPads = call.getInt("count_include_pad", 0) != 0;
  const Shape kernel = call.getInts("kernel_shape");
  if (call.failed() ||
      !call.require(rankOf(x) >= 3 && rankOf(x) <= 5 &&
                        static_cast<int64_t>(kernel.size()) == rankOf(x) - 2,
                    "the kernel does not fit"))
    return;
  if (last)
    x = channelsFirst(x);
  const Window w = readWindow(call, ArrayRef<int64_t>(x.shape).drop_front(2),
                              kernel, call.getInt("ceil_mode", 0) != 0);
  if (call.failed())
    return;
  Tensor y(ElementType::F64,
           resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  const Shape out = {x.shape[0] * x.shape[1], w.out[0], w.out[1], w.out[2]};
  forEachIndex(out, [&](ArrayRef<int64_t> at, int64_t i) {
    double sum = 0;
    int64_t inside = 0, covered = 0;
    forEachIndex({w.kernel[0], w.kernel[1], w.kernel[2]},
                 [&](ArrayRef<int64_t> tap, int64_t) {
                   int64_t place = at[0];
                   bool real = true, counts = true;
                   for (int d = 0; d < 3; ++d) {
                     const int64_t k = w.at(d, at[d + 1], tap[d]);
                     real &= w.inside(d, k);
                     counts &= k < w.in[d] + w.high[d];
                     place = place * w.in[d] + k;
                   }
                   covered += counts;
                   inside += real;
                   sum += real ? x.floats[place] : 0;
                 });
    const int64_t count = withPads ? covered : inside;
    y.floats[i] = count == 0 ? 0 : sum / static_cast<double>(count);
  });
  setQuantised(call, last ? channelsLast(y) : y, 3, call.operand(0).type,
               ZeroPoint::BeforeRounding);
}

/// Bits of a row of bytes from `bit` on.
int64_t bitsAt(const Tensor &bytes, int64_t row, int64_t bit, int64_t bits) {
  int64_t value = 0;
  for (int64_t i = 0; i < bits; ++i)
    value |= (bytes.ints[row + (bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
  return value;
}

void matmulNBits(Call &call) {
  const int64_t depth = call.getInt("K", 0), columns = call.getInt("N", 0),
                bits = call.getInt("bits", 4),
                size = call.getInt("block_size", 32);
  if (!call.require(depth > 0 && columns > 0 && bits > 0 && bits <= 8 &&
                        size > 0,
                    "sizes are not positive"))
    return;
  const int64_t blocks = (depth + size - 1) / size, row = (size * bits + 7) / 8,
                zeros = (blocks * bits + 7) / 8;
  const Tensor &packed = call.operand(1), &scales = call.operand(2);
  const bool numbers = call.has(3) && call.operand(3).isFloat();
  if (!call.require(
          packed.size() == columns * blocks * row &&
              scales.size() == columns * blocks &&
              (!call.has(3) || call.operand(3).size() ==
                                   columns * (numbers ? blocks : zeros)) &&
              (!call.has(4) || call.operand(4).size() >= depth),
          "operands do not have the sizes of their attributes"))
    return;
  Tensor w(ElementType::F32, {depth, columns});
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t own = k / size,
                    block = call.has(4) ? call.operand(4).ints[k] : own;
      if (!call.require(block >= 0 && block < blocks, "there is no such block"))
        return;
      double zero = std::ldexp(1.0, static_cast<int>(bits) - 1);
      if (numbers)
        zero = call.operand(3).floats[c * blocks + block];
      else if (call.has(3))
        zero = static_cast<double>(
            bitsAt(call.operand(3), c * zeros, block * bits, bits));
      const auto q = static_cast<double>(
          bitsAt(packed, (c * blocks + own) * row, k % size * bits, bits));
      w.floats[k * columns + c] =
          (q - zero) * scales.floats[c * blocks + block];
    }
  reference::roundToType(w, call.operand(0).type);
  Tensor y = multiplyMatrices(call, call.operand(0), w);
  if (!call.failed() && call.has(5))
    y = zip(call, y, call.operand(5), y.type,
            [](auto p, auto q) { return p + q; });
  call.setResult(0, std::move(y));
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

std::vector<EvaluatorRow> onnxref::contribQuantisedEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity open = Continuity::OpenSteps,
                       smooth = Continuity::Smooth;
  return {
      {"QLinearAdd", {1}, 7, binary<false>, open, domain},
      {"QLinearMul", {1}, 7, binary<true>, open, domain},
      {"QLinearWhere", {1}, 8, choose, open, domain},
      {"QLinearLeakyRelu", {1}, 4, quantisedLeakyRelu, open, domain},
      {"QLinearSigmoid", {1}, 4, sigmoid, open, domain},
      {"QLinearSoftmax", {1}, 4, softmax, open, domain},
      {"QLinearGlobalAveragePool", {1}, 4, globalAveragePool, open, domain},
      {"QLinearAveragePool", {1}, 4, averagePool, open, domain},
      {"QGemm", {1}, 5, qgemm, open, domain},
      {"QLinearConcat", {1}, 4, concat, open, domain},
      {"MatMulIntegerToFloat", {1}, 4, matmulIntegerToFloat, smooth, domain},
      {"DynamicQuantizeMatMul", {1}, 3, dynamicQuantizeMatMul, open, domain},
      {"MatMulNBits", {1}, 3, matmulNBits, smooth, domain},
      {"MatMulBnb4", {1}, 3, matmulBnb4, smooth, domain},
      {"GatherBlockQuantized", {1}, 3, gatherBlockQuantized, smooth, domain},
  };
}
