// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings to block formats of com.amd.quark, block by block.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// As the field of binary32 has it: -127 for zero and subnormal numbers.
int exponentOf(double x) {
  return x == 0 || !std::isfinite(x) ? -127 : std::max(std::ilogb(x), -127);
}

int largestExponent(ArrayRef<double> block) {
  int top = -127;
  for (double x : block)
    top = std::max(top, exponentOf(x));
  return top;
}

double rounded(double x, int64_t mode) {
  if (mode == 2)
    return std::nearbyint(x);
  return mode == 1 ? std::floor(x + 0.5)
                   : std::copysign(std::floor(std::abs(x) + 0.5), x);
}

/// Calls fn(block) for each `size` elements along the axis, zeros at the end.
template <class Fn>
void forEachBlock(Call &call, int64_t size, Fn fn) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", 1), rankOf(x));
  if (call.failed() ||
      !call.require(x.isFloat() && size > 0, "blocks of floats are expected"))
    return;
  Tensor y(x.type, x.shape);
  const int64_t extent = x.shape[axis],
                inner = elementCount(
                    ArrayRef<int64_t>(x.shape).drop_front(axis + 1)),
                outer = x.size() / std::max<int64_t>(extent * inner, 1);
  std::vector<double> block(size);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t begin = 0; begin < extent; begin += size) {
        const int64_t count = std::min(size, extent - begin);
        const int64_t first = (o * extent + begin) * inner + i;
        std::fill(block.begin(), block.end(), 0);
        for (int64_t k = 0; k < count; ++k)
          block[k] = x.floats[first + k * inner];
        fn(block);
        for (int64_t k = 0; k < count; ++k)
          y.floats[first + k * inner] = block[k];
      }
  call.setResult(0, std::move(y));
}

void toBlock(std::vector<double> &block, int digits, int64_t mode) {
  int exponent = largestExponent(block) - (digits - 1);
  const double limit = std::ldexp(1.0, digits);
  for (double x : block) {
    const double q = rounded(std::ldexp(x, -exponent), mode);
    if (std::isfinite(x) && (q >= limit || q < -limit)) {
      ++exponent;
      break;
    }
  }
  for (double &x : block)
    if (std::isfinite(x))
      x = std::ldexp(rounded(std::ldexp(x, -exponent), mode), exponent);
}

void toBlocks(std::vector<double> &block, int digits, int64_t mode,
              int64_t part, int shiftBits) {
  for (double x : block)
    if (!std::isfinite(x)) {
      std::fill(block.begin(), block.end(), NAN);
      return;
    }
  for (double &x : block)
    if (std::abs(x) < 0x1p-126)
      x = 0;
  const int top = largestExponent(block);
  for (size_t at = 0; at < block.size(); at += part) {
    const int own = largestExponent(ArrayRef<double>(block).slice(at, part));
    const int exponent =
        std::max(own, top - ((1 << shiftBits) - 1)) + 1 - digits;
    for (int64_t k = 0; k < part; ++k)
      block[at + k] = std::ldexp(
          rounded(std::ldexp(block[at + k], -exponent), mode), exponent);
  }
}

void bfpQuantizeDequantize(Call &call) {
  const auto digits = static_cast<int>(call.getInt("bit_width", 16)) - 9;
  const int64_t mode = call.getInt("rounding_mode", 0),
                size = call.getInt("block_size", 8),
                part = call.getInt("sub_block_size", 2);
  const auto shift = static_cast<int>(call.getInt("sub_block_shift_bits", 1));
  const bool prime = call.getString("bfp_method", "to_bfp") == "to_bfp_prime";
  if (!call.require(!prime || (part > 0 && size % part == 0),
                    "sub-blocks do not fill a block"))
    return;
  forEachBlock(call, size, [&](std::vector<double> &block) {
    if (prime)
      toBlocks(block, digits, mode, part, shift);
    else
      toBlock(block, digits, mode);
  });
}

/// Bits, digits of the fraction, exponent of the least normal number, largest.
struct Element {
  const char *name;
  unsigned bits, fraction;
  int least;
  double largest;
};

void mxQuantizeDequantize(Call &call) {
  static constexpr Element elements[] = {{"fp8_e5m2", 8, 2, -14, 57344},
                                         {"fp8_e4m3", 8, 3, -6, 448},
                                         {"fp6_e3m2", 6, 2, -2, 28},
                                         {"fp6_e2m3", 6, 3, 0, 7.5},
                                         {"fp4_e2m1", 4, 1, 0, 6}};
  const std::string name = call.getString("element_dtype", "int8");
  const int64_t mode = call.getInt("rounding_mode", 0);
  const Element *element = nullptr;
  for (const Element &known : elements)
    if (name == known.name)
      element = &known;
  if (!call.require(element || name == "int8", "there is no such element type"))
    return;
  const int top = element ? std::ilogb(element->largest) : 0;
  forEachBlock(call, call.getInt("block_size", 32),
               [&](std::vector<double> &block) {
                 const int scale = largestExponent(block) - top;
                 for (double &x : block) {
                   if (!std::isfinite(x))
                     continue;
                   double e = std::ldexp(x, -scale);
                   const double most = element ? element->largest : 127.0 / 64,
                                least = element ? -most : -2;
                   int unit = -6;
                   if (element && e != 0)
                     unit = std::max(std::ilogb(e), element->least) -
                            static_cast<int>(element->fraction);
                   e = std::ldexp(
                       rounded(std::ldexp(e, -unit), element ? 2 : mode), unit);
                   x = std::ldexp(std::min(std::max(e, least), most), scale);
                 }
               });
}

} // namespace

std::vector<EvaluatorRow> onnxref::quarkEvaluators() {
  constexpr const char *domain = "com.amd.quark";
  return {
      {"BFPQuantizeDequantize",
       {1},
       1,
       bfpQuantizeDequantize,
       Continuity::Steps,
       domain},
      {"MXQuantizeDequantize",
       {1},
       1,
       mxQuantizeDequantize,
       Continuity::Steps,
       domain},
  };
}
