// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise functions and reductions, defined by formula in docs/Numerics.md
// 8 to 10: IEEE binary32 and binary64 operations in a fixed order, no host math
// library, no contraction. Assumes round to nearest and gradual underflow (see
// FloatEnvironment in Kernels.h).

#ifndef ASHLAR_NUMERICS_FUNCTION_H
#define ASHLAR_NUMERICS_FUNCTION_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace ashlar::numerics {

/// Unary functions. The numbers are instruction encodings: append only.
enum class Function : uint8_t {
  Copy = 0,
  Neg,
  Abs,
  Sqrt,
  Exp,
  Log,
  Reciprocal,
  Relu,
  LeakyRelu,
  Clip,
  Sigmoid,
  Tanh,
  HardSigmoid,
  HardSwish,
  Elu,
  Selu,
  Softplus,
  Softsign,
  Erf,
  Gelu,
  Floor,
  Ceil,
  Round,
  Sign,
  Not,
  Swish,
  GeluTanh,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
};
inline constexpr unsigned kFunctionCount = 38;

/// Binary functions, in encoding order.
enum class BinaryFunction : uint8_t {
  Add = 0,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Pow,
  PRelu,
  Equal,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  And,
  Or,
  Xor,
  Mod,
};
inline constexpr unsigned kBinaryFunctionCount = 17;

/// Reductions, in the encoding order of vec.reduce.
enum class Reduction : uint8_t {
  Sum = 0,
  Mean,
  Max,
  Min,
  Prod,
  SumSquare,
  L1,
  ArgMax,
  ArgMin,
};
inline constexpr unsigned kReductionCount = 9;

/// Names as in the numeric plan and in assembly: "leakyRelu", "lessOrEqual".
llvm::StringRef name(Function function);
llvm::StringRef name(BinaryFunction function);
llvm::StringRef name(Reduction reduction);
std::optional<Function> parseFunction(llvm::StringRef name);
std::optional<BinaryFunction> parseBinaryFunction(llvm::StringRef name);
std::optional<Reduction> parseReduction(llvm::StringRef name);

/// Value of `function` at x. `alpha` and `beta` as in the formula table; other
/// functions ignore them. A NaN result is the canonical 0x7fc00000, except that
/// Copy keeps every bit.
float apply(Function function, float x, float alpha = 0, float beta = 0);
float apply(BinaryFunction function, float x, float y);

/// The same functions in binary64, for compile-time folding: the formulas
/// without the last rounding to binary32.
double applyWide(Function function, double x, double alpha = 0,
                 double beta = 0);
double applyWide(BinaryFunction function, double x, double y);

/// Integer forms (two's complement wrap at 64 bits; division truncates, by zero
/// gives zero; Mod takes the sign of the divisor; comparisons give 0 or 1; And,
/// Or and Xor work bit by bit).
int64_t apply(Function function, int64_t x, int64_t alpha = 0,
              int64_t beta = 0);
int64_t apply(BinaryFunction function, int64_t x, int64_t y);

/// Neutral start value of a reduction (ArgMax and ArgMin have none).
float reduceInit(Reduction reduction);
/// One step in index order: accumulator and next element.
float reduceStep(Reduction reduction, float accumulator, float x);
/// Last step: Mean divides by float(count), the others return the accumulator.
float reduceFinish(Reduction reduction, float accumulator, uint64_t count);
/// True if ArgMax/ArgMin moves from `best` to the later element `x`.
bool argBetter(Reduction reduction, float best, float x, bool selectLast);

/// Float to integer: truncates toward zero, saturates, NaN gives 0. `bits` is
/// 8, 16, 32 or 64. The unsigned form returns the bit pattern.
int64_t toSigned(double value, int bits);
uint64_t toUnsigned(double value, int bits);
/// Integer to binary32, one rounding to nearest even.
float fromSigned(int64_t value);
float fromUnsigned(uint64_t value);
/// Limits an integer to the range of a type of `bits` bits.
int64_t saturateTo(int64_t value, int bits, bool isSigned);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_FUNCTION_H
