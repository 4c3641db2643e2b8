// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fourier transforms by their sums, windows and mel weights.

#include "Registry.h"
#include "Walk.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include <cmath>
#include <complex>
#include <numbers>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

using Complex = std::complex<double>;

/// The first `bins` sums of the transform.
std::vector<Complex> transformed(const std::vector<Complex> &signal,
                                 int64_t bins, bool inverse) {
  const auto length = static_cast<int64_t>(signal.size());
  std::vector<Complex> result;
  for (int64_t k = 0; k < bins; ++k) {
    Complex sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const double turn = 2 * std::numbers::pi *
                          static_cast<double>(i * k % length) /
                          static_cast<double>(length);
      sum += signal[i] * std::polar(1.0, inverse ? turn : -turn);
    }
    result.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return result;
}

/// A complex spectrum from the first half of a real signal's.
void mirror(std::vector<Complex> &spectrum) {
  const size_t length = spectrum.size();
  for (size_t k = length / 2 + 1; k < length; ++k)
    spectrum[k] = std::conj(spectrum[length - k]);
}

void dft(Call &call, int64_t given) {
  const Tensor &x = call.operand(0);
  const bool inverse = call.getInt("inverse", 0) != 0,
             onesided = call.getInt("onesided", 0) != 0,
             real = inverse && onesided;
  const int64_t axis = call.normalAxis(given, rankOf(x));
  if (call.failed() ||
      !call.require(x.isFloat() && axis < rankOf(x) - 1, "no such axis"))
    return;
  const int64_t parts = x.shape.back(), extent = x.shape[axis],
                own = real ? std::max<int64_t>(2 * (extent - 1), 1) : extent,
                length = call.has(1) ? call.integers(1)[0] : own,
                bins = onesided && !real ? length / 2 + 1 : length,
                read = real ? length / 2 + 1 : length, kept = real ? 1 : 2;
  Shape shape(x.shape);
  shape[axis] = bins;
  shape.back() = kept;
  const ArrayRef<int64_t> all = x.shape;
  const int64_t inner = elementCount(all.drop_front(axis + 1).drop_back()),
                outer = elementCount(all.take_front(axis));
  Tensor y(x.type, shape);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<Complex> signal(length, 0.0);
      for (int64_t k = 0; k < std::min(read, extent); ++k) {
        const double *at = &x.floats[((o * extent + k) * inner + i) * parts];
        signal[k] = {at[0], parts == 2 ? at[1] : 0};
      }
      if (real)
        mirror(signal);
      const std::vector<Complex> sums = transformed(signal, bins, inverse);
      for (int64_t k = 0; k < bins; ++k) {
        double *to = &y.floats[((o * bins + k) * inner + i) * kept];
        to[0] = sums[k].real();
        if (!real)
          to[1] = sums[k].imag();
      }
    }
  call.setResult(0, std::move(y));
}

void dftAttribute(Call &call) { dft(call, call.getInt("axis", 1)); }
void dftOperand(Call &call) {
  dft(call, call.has(2) ? call.integers(2)[0] : -2);
}

void stft(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t step = call.integers(1)[0];
  const bool onesided = call.getInt("onesided", 1) != 0;
  const int64_t length = call.has(3)   ? call.integers(3)[0]
                         : call.has(2) ? call.operand(2).size()
                                       : 0;
  if (!call.require(x.isFloat() && rankOf(x) >= 2 && step > 0 && length > 0 &&
                        length <= x.shape[1],
                    "frames do not fit"))
    return;
  const int64_t batch = x.shape[0], extent = x.shape[1],
                parts = rankOf(x) == 3 ? x.shape[2] : 1,
                frames = (extent - length) / step + 1,
                bins = onesided ? length / 2 + 1 : length;
  Tensor y(x.type, {batch, frames, bins, 2});
  double *to = y.floats.data();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t f = 0; f < frames; ++f) {
      std::vector<Complex> signal;
      for (int64_t i = 0; i < length; ++i) {
        const double *at = &x.floats[(b * extent + f * step + i) * parts];
        const double factor = call.has(2) ? call.operand(2).floats[i] : 1;
        signal.emplace_back(factor * at[0], parts == 2 ? factor * at[1] : 0);
      }
      for (const Complex &sum : transformed(signal, bins, false)) {
        *to++ = sum.real();
        *to++ = sum.imag();
      }
    }
  call.setResult(0, std::move(y));
}

std::optional<ElementType> datatype(Call &call) {
  auto type = frontend::elementTypeOf(
      static_cast<int32_t>(call.getInt("output_datatype", 1)), "the result");
  if (type)
    return *type;
  call.fail("{}", llvm::toString(type.takeError()));
  return std::nullopt;
}

void setNumbers(Call &call, ElementType type, ArrayRef<int64_t> shape,
                const std::vector<double> &numbers) {
  Tensor y(type, shape);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (y.isFloat())
      y.floats[i] = numbers[i];
    else
      y.ints[i] = static_cast<int64_t>(numbers[i]);
  call.setResult(0, std::move(y));
}

void cosines(Call &call, double a0, double a1, double a2) {
  const int64_t size = call.integers(0)[0];
  const bool periodic = call.getInt("periodic", 1) != 0;
  const std::optional<ElementType> type = datatype(call);
  if (!type || !call.require(size >= 0, "a negative size"))
    return;
  const auto whole =
      static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::vector<double> numbers;
  for (int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / whole;
    numbers.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
  }
  setNumbers(call, *type, size, numbers);
}

void hann(Call &call) { cosines(call, 0.5, 0.5, 0); }
void hamming(Call &call) { cosines(call, 25.0 / 46, 1 - 25.0 / 46, 0); }
void blackman(Call &call) { cosines(call, 0.42, 0.5, 0.08); }

void melWeights(Call &call) {
  const int64_t columns = call.integers(0)[0], length = call.integers(1)[0];
  const double rate = call.numbers(2)[0], low = call.numbers(3)[0],
               high = call.numbers(4)[0];
  const std::optional<ElementType> type = datatype(call);
  if (!type || !call.require(columns > 0 && length > 0 && rate > 0,
                             "no bins, length or rate"))
    return;
  const int64_t rows = length / 2 + 1;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int64_t> bins;
  for (int64_t i = 0; i < columns + 2; ++i) {
    const double at = mel(low) + static_cast<double>(i) *
                                     (mel(high) - mel(low)) /
                                     static_cast<double>(columns + 2);
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    bins.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  std::vector<double> numbers(rows * columns, 0.0);
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      const auto at = static_cast<double>(r),
                 left = static_cast<double>(bins[c]),
                 centre = static_cast<double>(bins[c + 1]),
                 right = static_cast<double>(bins[c + 2]);
      double &weight = numbers[r * columns + c];
      if (left == centre && at == centre)
        weight = 1;
      if (at >= left && at <= centre && centre > left)
        weight = (at - left) / (centre - left);
      if (at >= centre && at < right)
        weight = (right - at) / (right - centre);
    }
  setNumbers(call, *type, {rows, columns}, numbers);
}

} // namespace

std::vector<EvaluatorRow> onnxref::signalEvaluators() {
  return {
      {"DFT", {17}, 1, dftAttribute},
      {"DFT", {20}, 1, dftOperand},
      {"STFT", {17}, 2, stft},
      {"HannWindow", {17}, 1, hann},
      {"HammingWindow", {17}, 1, hamming},
      {"BlackmanWindow", {17}, 1, blackman},
      {"MelWeightMatrix", {17}, 5, melWeights, Continuity::Steps},
  };
}
