// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic that reports overflow. For sizes and addresses that come
// from files.

#ifndef ASHLAR_SUPPORT_CHECKEDMATH_H
#define ASHLAR_SUPPORT_CHECKEDMATH_H

#include <concepts>
#include <optional>

namespace ashlar::support {

/// a + b, or nothing on overflow.
template <std::integral T>
std::optional<T> checkedAdd(T a, T b) {
  T result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// a * b, or nothing on overflow.
template <std::integral T>
std::optional<T> checkedMul(T a, T b) {
  T result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// a * b + c, or nothing on overflow.
template <std::integral T>
std::optional<T> checkedMulAdd(T a, T b, T c) {
  if (std::optional<T> product = checkedMul(a, b))
    return checkedAdd(*product, c);
  return std::nullopt;
}

/// ceil(a / b) without overflow; b > 0.
template <std::unsigned_integral T>
constexpr T ceilDiv(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_CHECKEDMATH_H
