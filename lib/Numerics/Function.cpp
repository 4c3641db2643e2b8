// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar elementwise functions, reductions and conversions: the reference for
// the row kernels (docs/Numerics.md 8 to 10).

#include "ashlar/Numerics/Function.h"

#include "Elementary.h"
#include "Scalar.h"

#include "llvm/ADT/ArrayRef.h"

#include <type_traits>

using namespace llvm;

namespace ashlar::numerics {

using namespace elementary;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kFunctionNames[] = {
    "copy",        "neg",       "abs",       "sqrt", "exp",      "log",
    "reciprocal",  "relu",      "leakyRelu", "clip", "sigmoid",  "tanh",
    "hardSigmoid", "hardSwish", "elu",       "selu", "softplus", "softsign",
    "erf",         "gelu",      "floor",     "ceil", "round",    "sign",
    "not",         "swish",     "geluTanh",  "sin",  "cos",      "tan",
    "asin",        "acos",      "atan",      "sinh", "cosh",     "asinh",
    "acosh",       "atanh"};
static_assert(std::size(kFunctionNames) == kFunctionCount);

static constexpr StringLiteral kBinaryNames[] = {"add",
                                                 "sub",
                                                 "mul",
                                                 "div",
                                                 "max",
                                                 "min",
                                                 "pow",
                                                 "prelu",
                                                 "equal",
                                                 "less",
                                                 "lessOrEqual",
                                                 "greater",
                                                 "greaterOrEqual",
                                                 "and",
                                                 "or",
                                                 "xor",
                                                 "mod"};
static_assert(std::size(kBinaryNames) == kBinaryFunctionCount);

static constexpr StringLiteral kReductionNames[] = {
    "sum", "mean", "max", "min", "prod", "sumSquare", "l1", "argmax", "argmin"};
static_assert(std::size(kReductionNames) == kReductionCount);

template <typename Enum>
static std::optional<Enum> find(ArrayRef<StringLiteral> names, StringRef name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

StringRef name(Function function) {
  unsigned index = static_cast<unsigned>(function);
  return index < kFunctionCount ? StringRef(kFunctionNames[index]) : "invalid";
}
StringRef name(BinaryFunction function) {
  unsigned index = static_cast<unsigned>(function);
  return index < kBinaryFunctionCount ? StringRef(kBinaryNames[index])
                                      : "invalid";
}
StringRef name(Reduction reduction) {
  unsigned index = static_cast<unsigned>(reduction);
  return index < kReductionCount ? StringRef(kReductionNames[index])
                                 : "invalid";
}
std::optional<Function> parseFunction(StringRef name) {
  return find<Function>(kFunctionNames, name);
}
std::optional<BinaryFunction> parseBinaryFunction(StringRef name) {
  return find<BinaryFunction>(kBinaryNames, name);
}
std::optional<Reduction> parseReduction(StringRef name) {
  return find<Reduction>(kReductionNames, name);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

float apply(Function function, float x, float alpha, float beta) {
  return scalarUnary(function, x, alpha, beta);
}

float apply(BinaryFunction function, float x, float y) {
  return scalarBinary(function, x, y);
}

static double hardSigmoidWide(double x, double alpha, double beta) {
  double t = alpha * x + beta;
  return t < 0 ? 0 : t > 1 ? 1 : t;
}

double applyWide(Function function, double x, double alpha, double beta) {
  if (function == Function::Copy)
    return x;
  if (function == Function::Not)
    return x == 0 ? 1 : 0;
  if (isNaN(x))
    return doubleOf(0x7ff8000000000000u);
  if (isWide(function))
    return wideUnary(function, x, alpha, beta);
  switch (function) {
  case Function::Neg:
    return -x;
  case Function::Abs:
    return magnitude(x);
  case Function::Sqrt:
    return __builtin_sqrt(x);
  case Function::Reciprocal:
    return 1 / x;
  case Function::Relu:
    return x > 0 ? x : 0;
  case Function::LeakyRelu:
    return x < 0 ? alpha * x : x;
  case Function::Clip: {
    double low = x < alpha ? alpha : x;
    return low > beta ? beta : low;
  }
  case Function::HardSigmoid:
    return hardSigmoidWide(x, alpha, beta);
  case Function::HardSwish:
    return x * hardSigmoidWide(x, kSixth, 0.5);
  case Function::Floor:
    return floorAny(x);
  case Function::Ceil:
    return ceilAny(x);
  case Function::Round:
    return roundAny(x);
  case Function::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  default:
    return doubleOf(0x7ff8000000000000u);
  }
}

double applyWide(BinaryFunction function, double x, double y) {
  switch (function) {
  case BinaryFunction::Pow:
    return powAny(x, y);
  case BinaryFunction::Mod:
    return modAny(x, y);
  default:
    return basicBinary(function, x, y);
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

static int64_t clampInteger(int64_t x, int64_t low, int64_t high) {
  int64_t t = x < low ? low : x;
  return t > high ? high : t;
}

int64_t apply(Function function, int64_t x, int64_t alpha, int64_t beta) {
  switch (function) {
  case Function::Neg:
    return wrapped(0 - static_cast<uint64_t>(x));
  case Function::Abs:
    return x < 0 ? wrapped(0 - static_cast<uint64_t>(x)) : x;
  case Function::Relu:
    return x > 0 ? x : 0;
  case Function::Clip:
    return clampInteger(x, alpha, beta);
  case Function::Sign:
    return (x > 0) - (x < 0);
  case Function::Not:
    return x == 0;
  default: // Copy, Floor, Ceil, Round keep integers; no other is integral.
    return x;
  }
}

static int64_t divideInteger(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  if (y == -1) // The one quotient that overflows.
    return wrapped(0 - static_cast<uint64_t>(x));
  return x / y;
}

static int64_t moduloInteger(int64_t x, int64_t y) {
  if (y == 0 || y == -1)
    return 0;
  int64_t r = x % y;
  return r != 0 && ((r < 0) != (y < 0)) ? r + y : r;
}

static int64_t powerInteger(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (uint64_t rest = static_cast<uint64_t>(y); rest; rest >>= 1) {
    if (rest & 1)
      result *= base;
    base *= base;
  }
  return wrapped(result);
}

int64_t apply(BinaryFunction function, int64_t x, int64_t y) {
  uint64_t a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  switch (function) {
  case BinaryFunction::Add:
    return wrapped(a + b);
  case BinaryFunction::Sub:
    return wrapped(a - b);
  case BinaryFunction::Mul:
    return wrapped(a * b);
  case BinaryFunction::Div:
    return divideInteger(x, y);
  case BinaryFunction::Max:
    return x > y ? x : y;
  case BinaryFunction::Min:
    return x < y ? x : y;
  case BinaryFunction::Pow:
    return powerInteger(x, y);
  case BinaryFunction::PRelu:
    return x < 0 ? wrapped(a * b) : x;
  case BinaryFunction::Equal:
    return x == y;
  case BinaryFunction::Less:
    return x < y;
  case BinaryFunction::LessOrEqual:
    return x <= y;
  case BinaryFunction::Greater:
    return x > y;
  case BinaryFunction::GreaterOrEqual:
    return x >= y;
  case BinaryFunction::And:
    return x & y;
  case BinaryFunction::Or:
    return x | y;
  case BinaryFunction::Xor:
    return x ^ y;
  case BinaryFunction::Mod:
    return moduloInteger(x, y);
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

float reduceInit(Reduction reduction) {
  switch (reduction) {
  case Reduction::Max:
  case Reduction::ArgMax:
    return -kInfinity;
  case Reduction::Min:
  case Reduction::ArgMin:
    return kInfinity;
  case Reduction::Prod:
    return 1;
  default:
    return 0;
  }
}

float reduceStep(Reduction reduction, float accumulator, float x) {
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Mean:
    return canonical(accumulator + x);
  case Reduction::Max:
    return basicBinary(BinaryFunction::Max, accumulator, x);
  case Reduction::Min:
    return basicBinary(BinaryFunction::Min, accumulator, x);
  case Reduction::Prod:
    return canonical(accumulator * x);
  case Reduction::SumSquare:
    return canonical(accumulator + x * x);
  case Reduction::L1:
    return canonical(accumulator + magnitude(x));
  default:
    return accumulator;
  }
}

float reduceFinish(Reduction reduction, float accumulator, uint64_t count) {
  if (reduction != Reduction::Mean)
    return accumulator;
  return canonical(accumulator / fromUnsigned(count));
}

bool argBetter(Reduction reduction, float best, float x, bool selectLast) {
  if (reduction == Reduction::ArgMin)
    return selectLast ? x <= best : x < best;
  return selectLast ? x >= best : x > best;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

int64_t toSigned(double value, int bits) {
  if (isNaN(value))
    return 0;
  double bound = doubleOf(uint64_t(1023 + bits - 1) << 52); // 2^(bits-1)
  int64_t top = static_cast<int64_t>((uint64_t(1) << (bits - 1)) - 1);
  if (value >= bound)
    return top;
  if (value <= -bound)
    return -top - 1;
  return static_cast<int64_t>(value);
}

uint64_t toUnsigned(double value, int bits) {
  if (!(value > 0))
    return 0;
  double bound = doubleOf(uint64_t(1023 + bits) << 52); // 2^bits
  if (value >= bound)
    return ~uint64_t(0) >> (64 - bits);
  return static_cast<uint64_t>(value);
}

float fromSigned(int64_t value) { return static_cast<float>(value); }
float fromUnsigned(uint64_t value) { return static_cast<float>(value); }

int64_t saturateTo(int64_t value, int bits, bool isSigned) {
  if (!isSigned) {
    if (value < 0)
      return 0;
    // A signed 64-bit value never exceeds the unsigned 64-bit range.
    int64_t top = bits == 64 ? INT64_MAX : (int64_t(1) << bits) - 1;
    return value > top ? top : value;
  }
  int64_t top = static_cast<int64_t>((uint64_t(1) << (bits - 1)) - 1);
  return clampInteger(value, -top - 1, top);
}

} // namespace ashlar::numerics
