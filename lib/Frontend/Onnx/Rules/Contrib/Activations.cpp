// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of com.microsoft: forms of Gelu, and those inside other operators.

#include "Activations.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

Value ashlar::frontend::activate(Node &n, Value x, StringRef name,
                                 ArrayRef<double> parameters) {
  using F = UnaryFunction;
  auto parameter = [&](size_t i, double otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  if (name.empty())
    return x;
  if (name == "Relu")
    return n.unary(F::Relu, x);
  if (name == "Tanh")
    return n.unary(F::Tanh, x);
  if (name == "Sigmoid")
    return n.unary(F::Sigmoid, x);
  if (name == "LeakyRelu")
    return n.unary(F::LeakyRelu, x, parameter(0, 0.01f));
  if (name == "HardSigmoid")
    return n.unary(F::HardSigmoid, x, parameter(0, 0.2f), parameter(1, 0.5f));
  if (name == "Clip" && parameters.size() == 2)
    return n.unary(F::Clip, x, parameters[0], parameters[1]);
  return n.unsupported("the activation '{}' with {} parameters",
                       printable(name), parameters.size());
}

Value ashlar::frontend::withBias(Node &n, Value x, Value bias) {
  if (!x || !bias)
    return x;
  if (rankOf(bias) != 1 || rankOf(x) < 1 ||
      shapeOf(bias)[0] != shapeOf(x).back())
    return n.malformed("the bias is {}, expected one number for each of the "
                       "last axis of {}",
                       typeText(bias), typeText(x));
  return n.binary<AddOp>(x, bias);
}

namespace {

void gelu(Node &n) { n.setOutput(0, n.unary(UnaryFunction::Gelu, n.input(0))); }

void biasGelu(Node &n) {
  n.setOutput(
      0, n.unary(UnaryFunction::Gelu, withBias(n, n.input(0), n.input(1))));
}

void fastGelu(Node &n) {
  n.setOutput(0, n.unary(UnaryFunction::GeluTanh,
                         withBias(n, n.input(0), n.optionalInput(1))));
}

void quickGelu(Node &n) {
  n.setOutput(0, n.unary(UnaryFunction::Swish, n.input(0),
                         n.getFloat("alpha", 1.702f)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::contribActivationRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"Gelu", {1}, gelu, "one operation", domain},
      {"BiasGelu", {1}, biasGelu, "a sum and one operation", domain},
      {"FastGelu", {1}, fastGelu, "a sum and one operation", domain},
      {"QuickGelu", {1}, quickGelu, "one operation", domain},
  };
}
