// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of two and more operands, element by element.

#include "Registry.h"
#include "Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

// Integers wrap: the sum of two int64_t modulo 2^64, cut to the type later.
constexpr auto add = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
};
constexpr auto subtract = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
};
constexpr auto multiply = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
};
/// Integers truncate. ONNX leaves open what a division of integers by zero
/// gives: 0 here as in the numerics of the machine.
constexpr auto divide = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    return a / b;
  else if (b == 0 || b == -1)
    return b == 0 ? T(0) : static_cast<T>(0 - static_cast<uint64_t>(a));
  else
    return a / b;
};
/// numpy.maximum: a NaN of either side is the result.
constexpr auto larger = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    if (std::isnan(a) || std::isnan(b))
      return std::nan("");
  return a < b ? b : a;
};
constexpr auto smaller = []<class T>(T a, T b) -> T {
  if constexpr (std::is_same_v<T, double>)
    if (std::isnan(a) || std::isnan(b))
      return std::nan("");
  return b < a ? b : a;
};
constexpr auto slope = []<class T>(T x, T s) -> T {
  return x < T(0) ? multiply(x, s) : x;
};
constexpr auto equal = []<class T>(T a, T b) { return a == b; };
constexpr auto less = []<class T>(T a, T b) { return a < b; };
constexpr auto lessOrEqual = []<class T>(T a, T b) { return a <= b; };
constexpr auto greater = []<class T>(T a, T b) { return a > b; };
constexpr auto greaterOrEqual = []<class T>(T a, T b) { return a >= b; };
constexpr auto both = []<class T>(T a, T b) { return a != 0 && b != 0; };
constexpr auto either = []<class T>(T a, T b) { return a != 0 || b != 0; };
constexpr auto oneOf = []<class T>(T a, T b) { return (a != 0) != (b != 0); };

/// Operator set 6 and before: with `broadcast`, the dimensions of b are those
/// of a from `axis` on, or its last ones.
Tensor alignedOperand(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (call.getInt("broadcast", 0) == 0 || !call.hasAttribute("axis"))
    return b;
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(a));
  Shape shape = b.shape;
  while (static_cast<int64_t>(shape.size()) + axis < rankOf(a))
    shape.push_back(1);
  return reshaped(b, shape);
}

template <auto &fn, bool legacy = false>
void binary(Call &call) {
  const Tensor &a = call.operand(0);
  if constexpr (legacy)
    call.setResult(0, zip(call, a, alignedOperand(call), a.type, fn));
  else
    call.setResult(0, zip(call, a, call.operand(1), a.type, fn));
}

template <auto &fn, bool legacy = false>
void predicate(Call &call) {
  const Tensor &a = call.operand(0);
  if constexpr (legacy)
    call.setResult(0,
                   zip(call, a, alignedOperand(call), ElementType::Bool, fn));
  else
    call.setResult(0, zip(call, a, call.operand(1), ElementType::Bool, fn));
}

template <auto &fn, bool mean = false>
void variadic(Call &call) {
  Tensor result = call.operand(0);
  for (size_t i = 1; i < call.numOperands() && !call.failed(); ++i)
    result = zip(call, result, call.operand(i), result.type, fn);
  if (mean)
    for (double &value : result.floats)
      value /= static_cast<double>(call.numOperands());
  call.setResult(0, std::move(result));
}

/// Base and exponent as binary64, the result in the type of the base.
double powerOf(double x, double y) { return std::pow(x, y); }

int64_t powerOf(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(x);
  for (auto rest = static_cast<uint64_t>(y); rest != 0; rest /= 2) {
    result *= rest % 2 ? square : 1;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

Tensor asFloats(const Tensor &x) {
  if (x.isFloat())
    return x;
  Tensor result(ElementType::F64, x.shape);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.floats[i] = static_cast<double>(x.ints[i]);
  return result;
}

template <bool legacy>
void power(Call &call) {
  const Tensor &x = call.operand(0);
  const Tensor y = legacy ? alignedOperand(call) : call.operand(1);
  auto raise = [](auto a, auto b) { return powerOf(a, b); };
  if (!x.isFloat() && !y.isFloat()) {
    call.setResult(0, zip(call, x, y, x.type, raise));
    return;
  }
  Tensor result = zip(call, asFloats(x), asFloats(y), ElementType::F64, raise);
  result.type = x.type;
  if (!x.isFloat() && !call.failed()) {
    for (double value : result.floats)
      result.ints.push_back(static_cast<int64_t>(value));
    result.floats.clear();
  }
  call.setResult(0, wrapped(std::move(result)));
}

/// With fmod the sign of the dividend, else that of the divisor.
void modulo(Call &call) {
  const bool ofDividend = call.getInt("fmod", 0) != 0;
  const Tensor &a = call.operand(0);
  auto rest = [&]<class T>(T x, T y) -> T {
    if constexpr (std::is_same_v<T, double>)
      return std::fmod(x, y);
    if (y == 0 || y == -1)
      return 0;
    const auto left = static_cast<int64_t>(x) % static_cast<int64_t>(y);
    const bool moves = !ofDividend && left != 0 && (left < 0) != (y < 0);
    return static_cast<T>(moves ? left + static_cast<int64_t>(y) : left);
  };
  call.setResult(0, zip(call, a, call.operand(1), a.type, rest));
}

/// Slopes of operator set 6 are one number or one per channel.
void legacyPRelu(Call &call) {
  const Tensor &x = call.operand(0);
  Tensor s = call.operand(1);
  if (s.shape.size() == 1 && s.shape[0] != 1)
    s.shape.append(std::max<int64_t>(rankOf(x) - 2, 0), 1);
  call.setResult(0, zip(call, x, s, x.type, slope));
}

template <class Fn>
void bits(Call &call, Fn fn) {
  const Tensor &a = call.operand(0);
  if (call.require(!a.isFloat(), "operands are not of integers"))
    call.setResult(
        0, zip(call, a, call.operand(1), a.type, [&]<class T>(T x, T y) -> T {
          return static_cast<T>(
              fn(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
        }));
}

void bitwiseAnd(Call &call) {
  bits(call, [](uint64_t x, uint64_t y) { return x & y; });
}
void bitwiseOr(Call &call) {
  bits(call, [](uint64_t x, uint64_t y) { return x | y; });
}
void bitwiseXor(Call &call) {
  bits(call, [](uint64_t x, uint64_t y) { return x ^ y; });
}
void bitwiseNot(Call &call) {
  const Tensor &x = call.operand(0);
  Tensor result(x.type, x.shape);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.ints[i] = ~x.ints[i];
  call.setResult(0, wrapped(std::move(result)));
}
void bitShift(Call &call) {
  const bool left = call.getString("direction", "") == "LEFT";
  bits(call, [=](uint64_t x, uint64_t y) {
    return y > 63 ? 0 : left ? x << y : x >> y;
  });
}

void where(Call &call) {
  const Tensor &condition = call.operand(0), &a = call.operand(1),
               &b = call.operand(2);
  const Shape shape = broadcastShape(call, condition.shape,
                                     broadcastShape(call, a.shape, b.shape));
  if (call.failed())
    return;
  const Tensor choice = broadcastTo(condition, shape);
  Tensor result = broadcastTo(a, shape);
  const Tensor other = broadcastTo(b, shape);
  withKind(a, [&]<class T>() {
    for (size_t i = 0; i < choice.ints.size(); ++i)
      if (choice.ints[i] == 0)
        elementsOf<T>(result)[i] = elementsOf<T>(other)[i];
  });
  call.setResult(0, std::move(result));
}

constexpr Continuity steps = Continuity::Steps;

} // namespace

std::vector<EvaluatorRow> onnxref::arithmeticEvaluators() {
  return {
      {"Add", {1, 6}, 2, binary<add, true>},
      {"Add", {7, 13, 14}, 2, binary<add>},
      {"Sub", {1, 6}, 2, binary<subtract, true>},
      {"Sub", {7, 13, 14}, 2, binary<subtract>},
      {"Mul", {1, 6}, 2, binary<multiply, true>},
      {"Mul", {7, 13, 14}, 2, binary<multiply>},
      {"Div", {1, 6}, 2, binary<divide, true>},
      {"Div", {7, 13, 14}, 2, binary<divide>},
      {"Pow", {1}, 2, power<true>},
      {"Pow", {7, 12, 13, 15}, 2, power<false>},
      {"Mod", {10, 13}, 2, modulo, steps},
      {"Sum", {1, 6}, 1, variadic<add>},
      {"Sum", {8, 13}, 1, variadic<add>},
      {"Mean", {1, 6}, 1, variadic<add, true>},
      {"Mean", {8, 13}, 1, variadic<add, true>},
      {"Max", {1, 6}, 1, variadic<larger>},
      {"Max", {8, 12, 13}, 1, variadic<larger>},
      {"Min", {1, 6}, 1, variadic<smaller>},
      {"Min", {8, 12, 13}, 1, variadic<smaller>},
      {"PRelu", {1, 6}, 2, legacyPRelu},
      {"PRelu", {7, 9, 16}, 2, binary<slope>},
      {"Equal", {1}, 2, predicate<equal, true>, steps},
      {"Equal", {7, 11, 13, 19}, 2, predicate<equal>, steps},
      {"Less", {1}, 2, predicate<less, true>, steps},
      {"Less", {7, 9, 13}, 2, predicate<less>, steps},
      {"Greater", {1}, 2, predicate<greater, true>, steps},
      {"Greater", {7, 9, 13}, 2, predicate<greater>, steps},
      {"LessOrEqual", {12, 16}, 2, predicate<lessOrEqual>, steps},
      {"GreaterOrEqual", {12, 16}, 2, predicate<greaterOrEqual>, steps},
      {"And", {1}, 2, predicate<both, true>, steps},
      {"And", {7}, 2, predicate<both>, steps},
      {"Or", {1}, 2, predicate<either, true>, steps},
      {"Or", {7}, 2, predicate<either>, steps},
      {"Xor", {1}, 2, predicate<oneOf, true>, steps},
      {"Xor", {7}, 2, predicate<oneOf>, steps},
      {"BitwiseAnd", {18}, 2, bitwiseAnd},
      {"BitwiseOr", {18}, 2, bitwiseOr},
      {"BitwiseXor", {18}, 2, bitwiseXor},
      {"BitwiseNot", {18}, 1, bitwiseNot},
      {"BitShift", {11}, 2, bitShift},
      {"Where", {9, 16}, 3, where},
  };
}
