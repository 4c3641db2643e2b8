// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random operators, with the draws that a program has (Draws.h).

#include "Registry.h"
#include "Walk.h"
#include "lib/Frontend/Onnx/Draws.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;
using frontend::Draws;

namespace {

Draws drawsOf(Call &call) {
  std::optional<double> given;
  if (call.hasAttribute("seed"))
    given = call.getFloat("seed", 0);
  return Draws(frontend::seedOf(given, call.name()));
}

/// The type of attribute dtype, or `otherwise`.
ElementType typeOf(Call &call, ElementType otherwise) {
  if (!call.hasAttribute("dtype"))
    return otherwise;
  auto type = frontend::elementTypeOf(
      static_cast<int32_t>(call.getInt("dtype", 0)), "the result");
  if (type)
    return *type;
  call.fail("{}", llvm::toString(type.takeError()));
  return otherwise;
}

void random(Call &call, ArrayRef<int64_t> shape, ElementType type) {
  const bool normal = call.op().starts_with("RandomNormal");
  Tensor y(type, shape);
  if (!call.require(y.isFloat(), "the result has no floats"))
    return;
  Draws draws = drawsOf(call);
  const double low = call.getFloat("low", 0), high = call.getFloat("high", 1),
               mean = call.getFloat("mean", 0),
               scale = call.getFloat("scale", 1);
  for (double &value : y.floats)
    value = normal ? mean + scale * draws.normal()
                   : low + (high - low) * draws.uniform();
  call.setResult(0, std::move(y));
}

void randomOfShape(Call &call) {
  random(call, call.getInts("shape"), typeOf(call, ElementType::F32));
}

void randomLike(Call &call) {
  random(call, call.operand(0).shape, typeOf(call, call.operand(0).type));
}

/// Draws are kept in the type of what they are compared with.
double draw(Draws &draws, ElementType type) {
  Tensor one(type, {});
  one.floats[0] = draws.uniform();
  reference::roundToType(one, type);
  return one.floats[0];
}

void bernoulli(Call &call) {
  const Tensor &x = call.operand(0);
  Tensor y(typeOf(call, x.type), x.shape);
  if (!call.require(x.isFloat(), "the probabilities are no floats"))
    return;
  Draws draws = drawsOf(call);
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool hit = draw(draws, x.type) < x.floats[i];
    if (y.isFloat())
      y.floats[i] = hit;
    else
      y.ints[i] = hit;
  }
  call.setResult(0, std::move(y));
}

void multinomial(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t count = call.getInt("sample_size", 1);
  if (!call.require(rankOf(x) == 2 && x.isFloat() && count > 0,
                    "expected rows of logarithms"))
    return;
  const int64_t classes = x.shape[1];
  Tensor y(typeOf(call, ElementType::I32), {x.shape[0], count});
  Draws draws = drawsOf(call);
  for (int64_t i = 0; i < y.size(); ++i) {
    const double *row = &x.floats[i / count * classes];
    const double top = *std::max_element(row, row + classes);
    double sum = 0, part = 0;
    for (int64_t k = 0; k < classes; ++k)
      sum += std::exp(row[k] - top);
    const double goal = draw(draws, ElementType::F32) * sum;
    int64_t k = 0;
    for (; k < classes - 1; ++k) {
      part += std::exp(row[k] - top);
      if (goal < part)
        break;
    }
    y.ints[i] = k;
  }
  call.setResult(0, std::move(y));
}

void dropout(Call &call) {
  const Tensor &x = call.operand(0);
  const bool training = call.has(2) && call.integers(2)[0] != 0;
  const double ratio = call.has(1) ? call.numbers(1)[0] : 0.5;
  Tensor y = x, mask(ElementType::Bool, x.shape);
  std::optional<double> seed;
  if (call.hasAttribute("seed"))
    seed = static_cast<double>(call.getInt("seed", 0));
  Draws draws(frontend::seedOf(seed, call.name()));
  for (int64_t i = 0; i < x.size(); ++i) {
    mask.ints[i] = !training || ratio == 0 || draws.uniform() >= ratio;
    if (training && ratio != 0)
      y.floats[i] *= mask.ints[i] ? 1 / (1 - ratio) : 0;
  }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(mask));
}

} // namespace

std::vector<EvaluatorRow> onnxref::randomEvaluators() {
  constexpr Continuity steps = Continuity::Steps;
  return {
      {"RandomUniform", {1, 22}, 0, randomOfShape},
      {"RandomNormal", {1, 22}, 0, randomOfShape},
      {"RandomUniformLike", {1, 22}, 1, randomLike},
      {"RandomNormalLike", {1, 22}, 1, randomLike},
      {"Bernoulli", {15, 22}, 1, bernoulli, steps},
      {"Multinomial", {7, 22}, 1, multinomial, steps},
      {"Dropout", {12, 13, 22}, 1, dropout},
  };
}
