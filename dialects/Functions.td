// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of docs/Numerics.md 8 and 9 with their numbers, names and
// formulas: `nn.unary` and the instruction set take them from here.

#ifndef ASHLAR_DIALECTS_FUNCTIONS_TD
#define ASHLAR_DIALECTS_FUNCTIONS_TD

/// `symbol` is the enumerator in C++, `name` that of the numeric plan and of
/// assembly. Numbers are instruction encodings: append only.
class AshlarFunction<string symbol_, int number_, string name_,
                     string formula_> {
  string symbol = symbol_;
  int number = number_;
  string name = name_;
  string formula = formula_;
}

defvar AshlarUnaryFunctions = [
  AshlarFunction<"Copy", 0, "copy", "x">,
  AshlarFunction<"Neg", 1, "neg", "-x">,
  AshlarFunction<"Abs", 2, "abs", "absolute value">,
  AshlarFunction<"Sqrt", 3, "sqrt", "square root">,
  AshlarFunction<"Exp", 4, "exp", "e^x">,
  AshlarFunction<"Log", 5, "log", "natural logarithm">,
  AshlarFunction<"Reciprocal", 6, "reciprocal", "1 / x">,
  AshlarFunction<"Relu", 7, "relu", "max(x, 0)">,
  AshlarFunction<"LeakyRelu", 8, "leakyRelu", "x < 0 ? alpha * x : x">,
  AshlarFunction<"Clip", 9, "clip", "min(max(x, alpha), beta)">,
  AshlarFunction<"Sigmoid", 10, "sigmoid", "1 / (1 + e^-x)">,
  AshlarFunction<"Tanh", 11, "tanh", "hyperbolic tangent">,
  AshlarFunction<"HardSigmoid", 12, "hardSigmoid", "clip(alpha * x + beta, 0, 1)">,
  AshlarFunction<"HardSwish", 13, "hardSwish", "x * clip(x / 6 + 1/2, 0, 1)">,
  AshlarFunction<"Elu", 14, "elu", "x < 0 ? alpha * (e^x - 1) : x">,
  AshlarFunction<"Selu", 15, "selu", "beta * (x < 0 ? alpha * (e^x - 1) : x)">,
  AshlarFunction<"Softplus", 16, "softplus", "log(1 + e^x)">,
  AshlarFunction<"Softsign", 17, "softsign", "x / (1 + |x|)">,
  AshlarFunction<"Erf", 18, "erf", "error function">,
  AshlarFunction<"Gelu", 19, "gelu", "x / 2 * (1 + erf(x / sqrt 2))">,
  AshlarFunction<"Floor", 20, "floor", "round down">,
  AshlarFunction<"Ceil", 21, "ceil", "round up">,
  AshlarFunction<"Round", 22, "round", "round to nearest, ties to even">,
  AshlarFunction<"Sign", 23, "sign", "-1, 0 or 1">,
  AshlarFunction<"Not", 24, "not", "logical negation">,
  AshlarFunction<"Swish", 25, "swish", "x / (1 + e^(-alpha * x))">,
  AshlarFunction<"GeluTanh", 26, "geluTanh", "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))">,
  AshlarFunction<"Sin", 27, "sin", "sine">,
  AshlarFunction<"Cos", 28, "cos", "cosine">,
  AshlarFunction<"Tan", 29, "tan", "tangent">,
  AshlarFunction<"Asin", 30, "asin", "arc sine">,
  AshlarFunction<"Acos", 31, "acos", "arc cosine">,
  AshlarFunction<"Atan", 32, "atan", "arc tangent">,
  AshlarFunction<"Sinh", 33, "sinh", "hyperbolic sine">,
  AshlarFunction<"Cosh", 34, "cosh", "hyperbolic cosine">,
  AshlarFunction<"Asinh", 35, "asinh", "inverse hyperbolic sine">,
  AshlarFunction<"Acosh", 36, "acosh", "inverse hyperbolic cosine">,
  AshlarFunction<"Atanh", 37, "atanh", "inverse hyperbolic tangent">
];

/// Numbers count from that of the first binary function.
defvar AshlarFirstBinaryFunction = 64;
defvar AshlarBinaryFunctions = [
  AshlarFunction<"Add", 0, "add", "a + b">,
  AshlarFunction<"Sub", 1, "sub", "a - b">,
  AshlarFunction<"Mul", 2, "mul", "a * b">,
  AshlarFunction<"Div", 3, "div", "a / b">,
  AshlarFunction<"Max", 4, "max", "maximum">,
  AshlarFunction<"Min", 5, "min", "minimum">,
  AshlarFunction<"Pow", 6, "pow", "a to the power b">,
  AshlarFunction<"PRelu", 7, "prelu", "a < 0 ? b * a : a">,
  AshlarFunction<"Equal", 8, "equal", "a == b">,
  AshlarFunction<"Less", 9, "less", "a < b">,
  AshlarFunction<"LessOrEqual", 10, "lessOrEqual", "a <= b">,
  AshlarFunction<"Greater", 11, "greater", "a > b">,
  AshlarFunction<"GreaterOrEqual", 12, "greaterOrEqual", "a >= b">,
  AshlarFunction<"And", 13, "and", "logical and; of integers bit by bit">,
  AshlarFunction<"Or", 14, "or", "logical or; of integers bit by bit">,
  AshlarFunction<"Xor", 15, "xor", "logical exclusive or; of integers bit by bit">,
  AshlarFunction<"Mod", 16, "mod", "remainder">
];

#endif // ASHLAR_DIALECTS_FUNCTIONS_TD
