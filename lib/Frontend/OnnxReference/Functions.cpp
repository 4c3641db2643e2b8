// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of one operand, casts and the operators that do nothing.

#include "Narrow.h"
#include "Registry.h"
#include "Walk.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

/// log(1 + exp(x)) without the overflow of exp.
double softplusOf(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// max(0, x) of the definition, NaN for NaN as numpy.maximum has it.
double reluOf(double x) { return x < 0 ? 0 : x; }

double hardSigmoidOf(double x, double alpha, double beta) {
  return std::max(0.0, std::min(1.0, alpha * x + beta));
}

double negativeOf(double x) { return -x; }
double magnitudeOf(double x) { return std::fabs(x); }
double rootOf(double x) { return std::sqrt(x); }
double exponentialOf(double x) { return std::exp(x); }
double logarithmOf(double x) { return std::log(x); }
double reciprocalOf(double x) { return 1 / x; }
double tangentOf(double x) { return std::tanh(x); }
double hardSwishOf(double x) { return x * hardSigmoidOf(x, 1.0 / 6, 0.5); }
double softsignOf(double x) { return x / (1 + std::fabs(x)); }
double errorFunctionOf(double x) { return std::erf(x); }
double mishOf(double x) { return x * std::tanh(softplusOf(x)); }
double floorOf(double x) { return std::floor(x); }
double ceilingOf(double x) { return std::ceil(x); }
double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

double sinOf(double x) { return std::sin(x); }
double cosOf(double x) { return std::cos(x); }
double tanOf(double x) { return std::tan(x); }
double asinOf(double x) { return std::asin(x); }
double acosOf(double x) { return std::acos(x); }
double atanOf(double x) { return std::atan(x); }
double sinhOf(double x) { return std::sinh(x); }
double coshOf(double x) { return std::cosh(x); }
double asinhOf(double x) { return std::asinh(x); }
double acoshOf(double x) { return std::acosh(x); }
double atanhOf(double x) { return std::atanh(x); }

/// To the nearest integer, halves to the even one.
double roundOf(double x) {
  const double below = std::floor(x), rest = x - below;
  if (rest != 0.5)
    return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

template <double (&fn)(double)>
void floats(Call &call) {
  call.setResult(0, mappedFloats(call, call.operand(0), fn));
}

/// The same with a form for integers.
template <double (&fn)(double), int64_t (&onIntegers)(int64_t)>
void numbersOf(Call &call) {
  const Tensor &x = call.operand(0);
  call.setResult(0, x.isFloat() ? mappedFloats(call, x, fn)
                                : wrapped(mapped(x, onIntegers)));
}

int64_t wholeNegative(int64_t x) {
  return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
}
int64_t wholeMagnitude(int64_t x) { return x < 0 ? wholeNegative(x) : x; }
int64_t wholeRelu(int64_t x) { return x > 0 ? x : 0; }
int64_t wholeSign(int64_t x) { return (x > 0) - (x < 0); }

void leakyRelu(Call &call) {
  const double alpha = call.getFloat("alpha", 0.01f);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return x < 0 ? alpha * x : x;
                 }));
}

void elu(Call &call) {
  const double alpha = call.getFloat("alpha", 1);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return x < 0 ? alpha * std::expm1(x) : x;
                 }));
}

void selu(Call &call) {
  const double alpha = call.getFloat("alpha", 1.67326319217681884765625f);
  const double gamma = call.getFloat("gamma", 1.05070102214813232421875f);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return gamma * (x > 0 ? x : alpha * std::expm1(x));
                 }));
}

/// A gate a * sigmoid(alpha * a) times what it lets through.
void swiGlu(Call &call) {
  const double alpha = call.getFloat("alpha", 1);
  call.setResult(0, zip(call, call.operand(0), call.operand(1),
                        call.operand(0).type, [=](auto a, auto b) {
                          const auto gate = static_cast<double>(a);
                          return gate * sigmoidOf(alpha * gate) *
                                 static_cast<double>(b);
                        }));
}

/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
void celu(Call &call) {
  const double alpha = call.getFloat("alpha", 1);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   const double below = alpha * std::expm1(x / alpha);
                   return std::isnan(x)
                              ? x
                              : std::max(0.0, x) + std::min(0.0, below);
                 }));
}

void hardSigmoid(Call &call) {
  const double alpha = call.getFloat("alpha", 0.2f);
  const double beta = call.getFloat("beta", 0.5f);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return std::isnan(x) ? x : hardSigmoidOf(x, alpha, beta);
                 }));
}

void gelu(Call &call) {
  const bool tangent = call.getString("approximate", "none") == "tanh";
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   if (!tangent)
                     return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
                   const double inner = std::sqrt(2 / std::numbers::pi) *
                                        (x + 0.044715 * x * x * x);
                   return 0.5 * x * (1 + std::tanh(inner));
                 }));
}

void swish(Call &call) {
  const double alpha = call.getFloat("alpha", 1);
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return x * sigmoidOf(alpha * x);
                 }));
}

void thresholdedRelu(Call &call) {
  const double alpha = call.getFloat("alpha", 1);
  call.setResult(0, mappedFloats(call, call.operand(0),
                                 [=](double x) { return x > alpha ? x : 0; }));
}

/// min(max(x, low), high) in this order, which counts where low > high.
template <class T>
T clipped(T x, const T *low, const T *high) {
  if (low && x < *low)
    x = *low;
  return high && x > *high ? *high : x;
}

void clipAttributes(Call &call) {
  const double low = call.getFloat("min", 0), high = call.getFloat("max", 0);
  const double *from = call.hasAttribute("min") ? &low : nullptr;
  const double *to = call.hasAttribute("max") ? &high : nullptr;
  call.setResult(0, mappedFloats(call, call.operand(0), [=](double x) {
                   return clipped(x, from, to);
                 }));
}

void clipOperands(Call &call) {
  const Tensor &x = call.operand(0);
  for (size_t i : {1, 2})
    if (call.has(i) && (call.operand(i).size() != 1 ||
                        call.operand(i).isFloat() != x.isFloat()))
      call.fail("a bound is not one number of the operand's type");
  if (call.failed())
    return;
  Tensor result(x.type, x.shape);
  withKind(x, [&]<class T>() {
    auto bound = [&](size_t i) -> const T * {
      return call.has(i) ? elementsOf<T>(call.operand(i)).data() : nullptr;
    };
    const T *low = bound(1), *high = bound(2);
    for (int64_t i = 0, e = x.size(); i < e; ++i)
      elementsOf<T>(result)[i] = clipped(elementsOf<T>(x)[i], low, high);
  });
  call.setResult(0, std::move(result));
}

Tensor answers(const Tensor &x, llvm::function_ref<bool(double)> question) {
  Tensor result(ElementType::Bool, x.shape);
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.ints[i] = question(x.floats[i]);
  return result;
}

void isNaN(Call &call) {
  call.setResult(
      0, answers(call.operand(0), [](double x) { return std::isnan(x); }));
}

void isInfinite(Call &call) {
  const bool negative = call.getInt("detect_negative", 1) != 0,
             positive = call.getInt("detect_positive", 1) != 0;
  call.setResult(0, answers(call.operand(0), [=](double x) {
                   return std::isinf(x) && (x > 0 ? positive : negative);
                 }));
}

void shrink(Call &call) {
  const double bias = call.getFloat("bias", 0),
               limit = call.getFloat("lambd", 0.5f);
  call.setResult(0, wrapped(mapped(call.operand(0), [=](auto x) -> double {
                   return x < -limit ? x + bias : x > limit ? x - bias : 0;
                 })));
}

void logicalNot(Call &call) {
  call.setResult(0, mapped(call.operand(0), [](auto x) { return x == 0; }));
}

void identity(Call &call) { call.setResult(0, call.operand(0)); }

/// In inference every element is kept. The mask is boolean from version 10.
void dropout(Call &call) {
  const Tensor &x = call.operand(0);
  call.setResult(0, x);
  Tensor mask(call.opset() >= 10 ? ElementType::Bool : x.type, x.shape);
  mask.floats.assign(mask.floats.size(), 1);
  mask.ints.assign(mask.ints.size(), 1);
  call.setResult(1, std::move(mask));
}

/// A number outside of the type is left open by ONNX: the nearest one of the
/// type, 0 for NaN.
int64_t truncated(double x, ElementType type) {
  const int bits = static_cast<int>(support::byteSize(type)) * 8;
  const bool isSigned = support::isSignedInteger(type);
  const double top = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  if (std::isnan(x))
    return 0;
  if (x >= top)
    return isSigned ? static_cast<int64_t>(~uint64_t(0) >> (65 - bits))
                    : static_cast<int64_t>(~uint64_t(0) >> (64 - bits));
  if (x <= (isSigned ? -top : 0))
    return isSigned ? static_cast<int64_t>(~uint64_t(0) << (bits - 1)) : 0;
  return x < 0x1p63 ? static_cast<int64_t>(x)
                    : static_cast<int64_t>(static_cast<uint64_t>(x));
}

Tensor castTo(const Tensor &x, ElementType type) {
  Tensor result(type, x.shape);
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    if (type == ElementType::Bool)
      result.ints[i] = x.isFloat() ? x.floats[i] != 0 : x.ints[i] != 0;
    else if (x.isFloat() && result.isFloat())
      result.floats[i] = x.floats[i];
    else if (x.isFloat())
      result.ints[i] = truncated(x.floats[i], type);
    else if (!result.isFloat())
      result.ints[i] = x.ints[i];
    else if (x.type == ElementType::U64)
      result.floats[i] = static_cast<double>(static_cast<uint64_t>(x.ints[i]));
    else
      result.floats[i] = static_cast<double>(x.ints[i]);
  }
  // The one operator whose purpose is the rounding.
  if (x.type != type)
    reference::roundToType(result, type);
  return result;
}

/// To a type that is kept in a wider one; false if it is none.
bool setNarrow(Call &call) {
  const frontend::NarrowType *type = call.narrowResult();
  if (type)
    call.setResult(0, toNarrow(call.operand(0), *type,
                               call.getInt("saturate", 1) != 0,
                               call.getString("round_mode", "up")));
  return type != nullptr;
}

/// To operator set 5 the type is a name.
template <bool named = false>
void cast(Call &call) {
  onnx::TensorProto::DataType to = onnx::TensorProto::UNDEFINED;
  if (named)
    onnx::TensorProto::DataType_Parse(call.getString("to", ""), &to);
  else if (setNarrow(call))
    return;
  auto type = frontend::elementTypeOf(
      named ? to : static_cast<int32_t>(call.getInt("to", 0)), "the result");
  if (type)
    call.setResult(0, castTo(call.operand(0), *type));
  else
    call.fail("{}", llvm::toString(type.takeError()));
}

void castLike(Call &call) {
  if (!setNarrow(call))
    call.setResult(0, castTo(call.operand(0), call.operand(1).type));
}

constexpr Continuity steps = Continuity::Steps;

} // namespace

std::vector<EvaluatorRow> onnxref::functionEvaluators() {
  return {
      {"Neg", {1, 6, 13}, 1, numbersOf<negativeOf, wholeNegative>},
      {"Abs", {1, 6, 13}, 1, numbersOf<magnitudeOf, wholeMagnitude>},
      {"Sqrt", {1, 6, 13}, 1, floats<rootOf>},
      {"Exp", {1, 6, 13}, 1, floats<exponentialOf>},
      {"Log", {1, 6, 13}, 1, floats<logarithmOf>},
      {"Reciprocal", {1, 6, 13}, 1, floats<reciprocalOf>},
      {"Relu", {1, 6, 13, 14}, 1, numbersOf<reluOf, wholeRelu>},
      {"Sigmoid", {1, 6, 13}, 1, floats<sigmoidOf>},
      {"Tanh", {1, 6, 13}, 1, floats<tangentOf>},
      {"HardSwish", {14, 22}, 1, floats<hardSwishOf>},
      {"Softplus", {1, 22}, 1, floats<softplusOf>},
      {"Softsign", {1, 22}, 1, floats<softsignOf>},
      {"Erf", {9, 13}, 1, floats<errorFunctionOf>},
      {"Mish", {18, 22}, 1, floats<mishOf>},
      {"Floor", {1, 6, 13}, 1, floats<floorOf>, steps},
      {"Ceil", {1, 6, 13}, 1, floats<ceilingOf>, steps},
      {"Round", {11, 22}, 1, floats<roundOf>, steps},
      {"Sign", {9, 13}, 1, numbersOf<signOf, wholeSign>, steps},
      {"Sin", {7, 22}, 1, floats<sinOf>},
      {"Cos", {7, 22}, 1, floats<cosOf>},
      {"Tan", {7, 22}, 1, floats<tanOf>},
      {"Asin", {7, 22}, 1, floats<asinOf>},
      {"Acos", {7, 22}, 1, floats<acosOf>},
      {"Atan", {7, 22}, 1, floats<atanOf>},
      {"Sinh", {9, 22}, 1, floats<sinhOf>},
      {"Cosh", {9, 22}, 1, floats<coshOf>},
      {"Asinh", {9, 22}, 1, floats<asinhOf>},
      {"Acosh", {9, 22}, 1, floats<acoshOf>},
      {"Atanh", {9, 22}, 1, floats<atanhOf>},
      {"IsNaN", {9, 13, 20}, 1, isNaN, steps},
      {"IsInf", {10, 20}, 1, isInfinite, steps},
      {"Shrink", {9}, 1, shrink, steps},
      {"Not", {1}, 1, logicalNot, steps},
      {"LeakyRelu", {1, 6, 16}, 1, leakyRelu},
      {"Elu", {1, 6, 22}, 1, elu},
      {"Selu", {1, 6, 22}, 1, selu},
      {"Celu", {12, 28}, 1, celu},
      {"HardSigmoid", {1, 6, 22}, 1, hardSigmoid},
      {"Gelu", {20}, 1, gelu},
      {"Swish", {24}, 1, swish},
      {"SwiGLU", {28}, 2, swiGlu},
      {"ThresholdedRelu", {10, 22}, 1, thresholdedRelu, steps},
      {"Clip", {1, 6}, 1, clipAttributes},
      {"Clip", {11, 12, 13}, 1, clipOperands},
      {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, 1, identity},
      {"Dropout", {1, 6, 7, 10}, 1, dropout},
      {"Cast", {1}, 1, cast<true>, steps},
      {"Cast", {6, 9, 13, 19, 21, 23, 24, 25}, 1, cast<>, steps},
      {"CastLike", {15, 19, 21, 23, 24, 25}, 2, castLike, steps},
  };
}
