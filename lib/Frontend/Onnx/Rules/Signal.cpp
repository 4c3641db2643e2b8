// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fourier transforms as products with constant matrices, and the constants of
// signal processing: windows and mel weights.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "ashlar/Numerics/Function.h"
#include "dialects/NN/NNElements.h"

#include <cmath>
#include <numbers>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

using numerics::applyWide;
using numerics::Function;

/// cos and sin of 2 pi part / whole, the same on every host; the part is taken
/// modulo the whole first, exactly.
double turnCos(int64_t part, int64_t whole) {
  return applyWide(Function::Cos, 2 * std::numbers::pi *
                                      static_cast<double>(part % whole) /
                                      static_cast<double>(whole));
}
double turnSin(int64_t part, int64_t whole) {
  return applyWide(Function::Sin, 2 * std::numbers::pi *
                                      static_cast<double>(part % whole) /
                                      static_cast<double>(whole));
}

struct Transform {
  int64_t length; ///< Of the signal, padded or cut to it.
  int64_t bins;   ///< Frequencies of the result.
  bool inverse = false;
};

/// Matrices [length, bins] of the transform's cosines and sines.
std::pair<Value, Value> transformMatrices(Node &n, const Transform &t,
                                          Type element) {
  if (!n.reserve(2 * t.length * t.bins, sizeof(double)))
    return {};
  SmallVector<double> cosines, sines;
  const double scale = t.inverse ? 1.0 / static_cast<double>(t.length) : 1.0;
  for (int64_t i = 0; i < t.length; ++i)
    for (int64_t k = 0; k < t.bins; ++k) {
      // i * k < 2^62: both are extents.
      cosines.push_back(scale * turnCos(i * k, t.length));
      sines.push_back((t.inverse ? scale : -scale) * turnSin(i * k, t.length));
    }
  return {n.floats(cosines, {t.length, t.bins}, element),
          n.floats(sines, {t.length, t.bins}, element)};
}

/// [rows, length] and, if complex, its imaginary part, to [rows, bins, 2].
Value transformRows(Node &n, Value real, Value imaginary, const Transform &t) {
  if (!real)
    return nullptr;
  auto [cosines, sines] = transformMatrices(n, t, elementOf(real));
  Value re = n.matmul(real, cosines), im = n.matmul(real, sines);
  if (imaginary) {
    re = n.binary<SubOp>(re, n.matmul(imaginary, sines));
    im = n.binary<AddOp>(im, n.matmul(imaginary, cosines));
  }
  if (!re || !im)
    return nullptr;
  Shape shape(shapeOf(re));
  shape.push_back(1);
  return n.concat({n.reshape(re, shape), n.reshape(im, shape)}, 2);
}

/// Cuts or extends by zeros along an axis.
Value toLength(Node &n, Value x, int64_t axis, int64_t length) {
  if (!x)
    return nullptr;
  const int64_t extent = shapeOf(x)[axis];
  if (extent >= length)
    return n.sliceAxis(x, axis, 0, length);
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  high[axis] = length - extent;
  return n.pad(x, low, high, PadMode::Constant, 0);
}

/// The parts of [rows, length, 1 or 2].
std::pair<Value, Value> partsOf(Node &n, Value x, int64_t rows,
                                int64_t length) {
  if (!x)
    return {};
  Value real = n.reshape(n.sliceAxis(x, 2, 0, 1), {rows, length});
  Value imaginary = shapeOf(x)[2] == 2
                        ? n.reshape(n.sliceAxis(x, 2, 1, 1), {rows, length})
                        : Value();
  return {real, imaginary};
}

/// All `length` frequencies of a real signal from the first half of them: those
/// of the other half are conjugates.
Value mirroredSpectrum(Node &n, Value x, int64_t axis, int64_t length) {
  x = toLength(n, x, axis, length / 2 + 1);
  const int64_t rank = x ? rankOf(x) : 0;
  if (!x || !n.reserve(length, 3 * sizeof(double)))
    return nullptr;
  SmallVector<int64_t> places;
  SmallVector<double> signs;
  for (int64_t k = 0; k < length; ++k) {
    places.push_back(std::min(k, length - k));
    signs.push_back(k <= length / 2 ? 1 : -1);
  }
  Value real = n.gather(n.sliceAxis(x, rank - 1, 0, 1), axis, places);
  if (shapeOf(x).back() == 1)
    return real;
  Shape along(rank, 1);
  along[axis] = length;
  Value imaginary =
      n.binary<MulOp>(n.gather(n.sliceAxis(x, rank - 1, 1, 1), axis, places),
                      n.floats(signs, along, elementOf(x)));
  return n.concat({real, imaginary}, rank - 1);
}

/// The transform of [..., axis, ..., 1 or 2] along the axis.
Value transformAxis(Node &n, Value x, int64_t axis, int64_t length,
                    bool inverse, bool onesided) {
  const int64_t rank = rankOf(x);
  const Transform t{length, onesided ? length / 2 + 1 : length, inverse};
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d < rank - 1; ++d)
    if (d != axis)
      perm.push_back(d);
  perm.push_back(axis);
  perm.push_back(rank - 1);
  for (auto [to, from] : llvm::enumerate(perm))
    back[from] = static_cast<int64_t>(to);
  Value moved = n.transpose(toLength(n, x, axis, length), perm);
  if (!moved)
    return nullptr;
  Shape shape(shapeOf(moved));
  const int64_t rows = elementCount(ShapeRef(shape).drop_back(2));
  auto [real, imaginary] =
      partsOf(n, n.reshape(moved, {rows, length, shape.back()}), rows, length);
  Value y = transformRows(n, real, imaginary, t);
  shape[rank - 2] = t.bins;
  shape[rank - 1] = 2;
  return n.transpose(n.reshape(y, shape), back);
}

void dft(Node &n, std::optional<int64_t> given) {
  Value x = n.input(0);
  const bool inverse = n.getInt("inverse", 0) != 0,
             onesided = n.getInt("onesided", 0) != 0;
  if (!x || !given || n.failed())
    return;
  const int64_t rank = rankOf(x);
  if (rank < 2 || (shapeOf(x).back() != 1 && shapeOf(x).back() != 2)) {
    n.malformed("the input is {}, expected 1 or 2 numbers in the last "
                "dimension",
                typeText(x));
    return;
  }
  const int64_t axis = n.normalAxis(*given, rank);
  if (!n.failed() && axis == rank - 1)
    n.malformed("axis {} is that of the parts of a number", *given);
  if (n.failed())
    return;
  const bool half = inverse && onesided;
  int64_t length = shapeOf(x)[axis];
  if (half)
    length = std::max<int64_t>(2 * (length - 1), 1);
  if (n.hasInput(1))
    length =
        static_cast<int64_t>(n.constantNumber(1, "dft_length").value_or(0));
  if (!n.failed() && (length < 1 || length > (1 << 20)))
    n.malformed("dft_length is {}", length);
  if (n.failed())
    return;
  if (half)
    x = mirroredSpectrum(n, x, axis, length);
  Value y = transformAxis(n, x, axis, length, inverse, onesided && !half);
  n.setOutput(0, half ? n.sliceAxis(y, rank - 1, 0, 1) : y);
}

void dftAttribute(Node &n) { dft(n, n.getInt("axis", 1)); }

void dftInput(Node &n) {
  std::optional<int64_t> axis = -2;
  if (n.hasInput(2)) {
    std::optional<double> number = n.constantNumber(2, "axis");
    axis = number ? std::optional<int64_t>(*number) : std::nullopt;
  }
  dft(n, axis);
}

/// How many of the last dimensions are the signal, of an operand with as many
/// others as \p parts; nothing after recording an error.
std::optional<int64_t> signalDimensions(Node &n, Value x, int64_t parts) {
  const int64_t count = n.getInt("signal_ndim", 1);
  if (n.getInt("normalized", 0) != 0 || n.getInt("onesided", 1) != 1)
    n.unsupported("normalized must be 0 and onesided 1");
  if (!x || n.failed())
    return std::nullopt;
  if (count >= 1 && rankOf(x) >= count + parts &&
      elementCount(shapeOf(x)) > 0 && (parts == 0 || shapeOf(x).back() == 2))
    return count;
  n.malformed("signal_ndim is {} for the input {}", count, typeText(x));
  return std::nullopt;
}

/// Half of the spectrum along the last dimension, all of it along the others of
/// the signal.
void realTransform(Node &n) {
  Value x = n.input(0);
  std::optional<int64_t> count = signalDimensions(n, x, 0);
  if (!count)
    return;
  const int64_t rank = rankOf(x);
  Shape shape(shapeOf(x));
  if (shape.back() % 2 != 0) {
    n.malformed("the input is {}, expected an even last dimension",
                typeText(x));
    return;
  }
  shape.push_back(1);
  x = transformAxis(n, n.reshape(x, shape), rank - 1, shape[rank - 1],
                    /*inverse=*/false, /*onesided=*/true);
  for (int64_t axis = rank - *count; axis < rank - 1 && x; ++axis)
    x = transformAxis(n, x, axis, shape[axis], false, false);
  n.setOutput(0, x);
}

/// The real signal of half a spectrum.
void inverseRealTransform(Node &n) {
  Value x = n.input(0);
  std::optional<int64_t> count = signalDimensions(n, x, 1);
  if (!count)
    return;
  const int64_t rank = rankOf(x) - 1;
  Shape shape(shapeOf(x));
  for (int64_t axis = rank - *count; axis < rank - 1 && x; ++axis)
    x = transformAxis(n, x, axis, shape[axis], /*inverse=*/true, false);
  const int64_t length = std::max<int64_t>(2 * (shape[rank - 1] - 1), 1);
  x = x ? mirroredSpectrum(n, x, rank - 1, length) : Value();
  x = x ? transformAxis(n, x, rank - 1, length, true, false) : Value();
  if (!x)
    return;
  shape[rank - 1] = length;
  n.setOutput(
      0, n.reshape(n.sliceAxis(x, rank, 0, 1), ShapeRef(shape).drop_back()));
}

/// Frames of a signal [batch, length, 1 or 2], each multiplied with the window
/// and transformed.
void stft(Node &n) {
  Value x = n.input(0), window = n.optionalInput(2);
  std::optional<double> step = n.constantNumber(1, "frame_step");
  const bool onesided = n.getInt("onesided", 1) != 0;
  if (!x || !step)
    return;
  if (rankOf(x) == 2)
    x = n.reshape(x, {shapeOf(x)[0], shapeOf(x)[1], 1});
  if (n.failed() || rankOf(x) != 3 || shapeOf(x)[2] < 1 || shapeOf(x)[2] > 2) {
    n.malformed("the signal is {}, expected [batch, length, 1 or 2]",
                typeText(n.input(0)));
    return;
  }
  int64_t length = window ? elementCount(shapeOf(window)) : 0;
  if (n.hasInput(3))
    length =
        static_cast<int64_t>(n.constantNumber(3, "frame_length").value_or(0));
  const int64_t batch = shapeOf(x)[0], extent = shapeOf(x)[1];
  const auto stride = static_cast<int64_t>(*step);
  if (n.failed() || stride < 1 || length < 1 || length > extent) {
    n.malformed("frames of {} elements, {} apart, of a signal of {}", length,
                stride, extent);
    return;
  }
  if (window && shapeOf(window) != ShapeRef(length)) {
    n.malformed("the window is {}, expected {}", typeText(window), length);
    return;
  }
  const int64_t frames = (extent - length) / stride + 1;
  if (!n.reserve(frames * length, sizeof(int64_t)))
    return;
  SmallVector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i)
      places.push_back(frame * stride + i);
  const int64_t rows = batch * frames, parts = shapeOf(x)[2];
  Value cut = n.reshape(n.gather(x, 1, places), {rows, length, parts});
  if (window)
    cut = n.binary<MulOp>(cut, n.reshape(window, {1, length, 1}));
  auto [real, imaginary] = partsOf(n, cut, rows, length);
  const Transform t{length, onesided ? length / 2 + 1 : length};
  Value y = transformRows(n, real, imaginary, t);
  n.setOutput(0, n.reshape(y, {batch, frames, t.bins, 2}));
}

std::optional<Type> datatype(Node &n, const char *attribute) {
  const auto number = static_cast<int32_t>(n.getInt(attribute, 1));
  llvm::Expected<support::ElementType> type =
      elementTypeOf(number, "the result");
  if (type)
    return toMlirType(n.context(), *type);
  n.fail(type.takeError(), ErrorClass::Malformed);
  return std::nullopt;
}

/// a0 - a1 cos(2 pi i / m) + a2 cos(4 pi i / m), m the size or one less.
void cosineWindow(Node &n, double a0, double a1, double a2) {
  std::optional<double> size = n.constantNumber(0, "size");
  const bool periodic = n.getInt("periodic", 1) != 0;
  const std::optional<Type> type = datatype(n, "output_datatype");
  if (!size || !type)
    return;
  if (!(*size >= 0 && *size <= 1 << 24)) {
    n.malformed("size is {}", *size);
    return;
  }
  const auto count = static_cast<int64_t>(*size);
  const int64_t whole = std::max<int64_t>(periodic ? count : count - 1, 1);
  if (!n.reserve(count, 2 * sizeof(double)))
    return;
  SmallVector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(a0 - a1 * turnCos(i, whole) + a2 * turnCos(2 * i, whole));
  const Type f32 = mlir::Float32Type::get(n.context());
  const bool wide = type->isF64();
  n.setOutput(0, n.cast(n.floats(numbers, {count}, wide ? *type : f32), *type));
}

void hann(Node &n) { cosineWindow(n, 0.5, 0.5, 0); }
void hamming(Node &n) { cosineWindow(n, 25.0 / 46, 21.0 / 46, 0); }
void blackman(Node &n) { cosineWindow(n, 0.42, 0.5, 0.08); }

double melOf(double frequency) {
  constexpr double kPerDecade = 2595;
  return kPerDecade * applyWide(Function::Log, 1 + frequency / 700) /
         std::numbers::ln10;
}

double frequencyOf(double mel) {
  return 700 * (applyWide(Function::Exp, mel / 2595 * std::numbers::ln10) - 1);
}

/// Triangles between the spectrogram bins of equally spaced mel frequencies.
void melWeights(Node &n) {
  std::optional<double> bins = n.constantNumber(0, "num_mel_bins"),
                        length = n.constantNumber(1, "dft_length"),
                        rate = n.constantNumber(2, "sample_rate"),
                        low = n.constantNumber(3, "lower_edge_hertz"),
                        high = n.constantNumber(4, "upper_edge_hertz");
  const std::optional<Type> type = datatype(n, "output_datatype");
  if (!bins || !length || !rate || !low || !high || !type)
    return;
  if (!(*bins >= 1 && *bins <= 1 << 16 && *length >= 1 && *length <= 1 << 24 &&
        *rate > 0)) {
    n.malformed("{} mel bins, a transform of {} at {} Hz", *bins, *length,
                *rate);
    return;
  }
  const auto columns = static_cast<int64_t>(*bins),
             rows = static_cast<int64_t>(*length) / 2 + 1;
  if (!n.reserve(rows * columns, 2 * sizeof(double)))
    return;
  const double from = melOf(*low), step = (melOf(*high) - from) / (*bins + 2);
  auto bin = [&](int64_t i) {
    const double frequency = frequencyOf(from + step * static_cast<double>(i));
    return static_cast<int64_t>(std::floor((*length + 1) * frequency / *rate));
  };
  SmallVector<double> numbers(rows * columns, 0.0);
  auto put = [&](int64_t row, int64_t column, double value) {
    if (row >= 0 && row < rows)
      numbers[row * columns + column] = value;
  };
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t left = bin(c), centre = bin(c + 1), right = bin(c + 2);
    if (centre == left)
      put(centre, c, 1);
    for (int64_t r = left; r < std::min(centre + 1, rows) && centre > left; ++r)
      put(r, c,
          static_cast<double>(r - left) / static_cast<double>(centre - left));
    for (int64_t r = centre; r < std::min(right, rows) && right > centre; ++r)
      put(r, c,
          static_cast<double>(right - r) / static_cast<double>(right - centre));
  }
  n.setOutput(0, n.floats(numbers, {rows, columns}, *type));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::signalRows() {
  const char *window = "a constant; the size must be constant";
  return {
      {"DFT", {17}, dftAttribute, "products with constant matrices"},
      {"DFT", {20}, dftInput, "products with constant matrices"},
      {"STFT",
       {17},
       stft,
       "a gather of frames and products with constant matrices"},
      {"HannWindow", {17}, hann, window},
      {"HammingWindow", {17}, hamming, window},
      {"BlackmanWindow", {17}, blackman, window},
      {"MelWeightMatrix", {17}, melWeights, "a constant"},
      {"Rfft",
       {1},
       realTransform,
       "products with constant matrices",
       "com.microsoft"},
      {"Irfft",
       {1},
       inverseRealTransform,
       "products with constant matrices",
       "com.microsoft"},
  };
}
