// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels that are one number whatever the input is: products without weights
// give their bias, and functions of numbers are numbers.

#include "ChannelGraph.h"

#include "../Rewrite.h"
#include "ashlar/Reference/Interpreter.h"
#include "dialects/NN/NNElements.h"

#include <cmath>

using namespace mlir;
using ashlar::reference::Tensor;

namespace ashlar::nn {

bool ChannelGraph::anyNumber(Value value) const {
  const Channels *channels = of(value);
  for (int64_t c = 0; channels && c < channels->count; ++c)
    if (numbers[channels->first + c])
      return true;
  return false;
}

void ChannelGraph::copyNumbers(Value from, Value to,
                               llvm::function_ref<bool(double)> stays) {
  const Channels *x = of(from), *y = of(to);
  for (int64_t c = 0; c < x->count; ++c)
    if (std::optional<double> number = numbers[x->first + c];
        number && stays(*number))
      numbers[y->first + c] = number;
}

/// The values of a constant by channel, or of a feature map whose channels are
/// numbers: zeros stand for the others, and `known` says which are none.
static std::optional<Tensor> byChannel(Value operand, int64_t axis,
                                       int64_t rank, int64_t count,
                                       std::vector<bool> &known) {
  std::optional<Tensor> tensor = constantTensor(operand);
  if (!tensor)
    return std::nullopt;
  const int64_t own = axis - rank + static_cast<int64_t>(tensor->shape.size());
  const bool each = own >= 0 && tensor->shape[own] == count;
  if (tensor->size() != (each ? count : 1))
    return std::nullopt; // differs from position to position
  if (!each || count == 1) {
    tensor->floats.resize(tensor->floats.empty() ? 0 : count,
                          tensor->floats.empty() ? 0 : tensor->floats[0]);
    tensor->ints.resize(tensor->ints.empty() ? 0 : count,
                        tensor->ints.empty() ? 0 : tensor->ints[0]);
  }
  tensor->shape = {count};
  known.assign(known.size(), true);
  return tensor;
}

/// Channels as a tensor of the element type of `value`.
static std::optional<Tensor>
numberTensor(const ChannelGraph &graph, Value value, std::vector<bool> &known) {
  std::optional<support::ElementType> type =
      toElementType(typeOf(value).getElementType());
  if (!type)
    return std::nullopt;
  Tensor tensor(*type, {static_cast<int64_t>(known.size())});
  for (size_t c = 0; c < known.size(); ++c) {
    std::optional<double> number = graph.numberOf(value, c);
    known[c] = number.has_value();
    if (number && tensor.isFloat())
      tensor.floats[c] = *number;
    else if (number)
      tensor.ints[c] = static_cast<int64_t>(*number);
  }
  return tensor;
}

void ChannelGraph::evaluateElementwise(Operation *op) {
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return anyNumber(operand); }))
    return;
  Value result = op->getResult(0);
  const Channels to = *of(result);
  const auto rank = static_cast<int64_t>(shapeOf(result).size());
  std::vector<bool> all(to.count, true);
  std::vector<Tensor> tensors;
  for (Value operand : op->getOperands()) {
    std::vector<bool> known(to.count, false);
    std::optional<Tensor> tensor =
        isConstant(operand) ? byChannel(operand, to.axis, rank, to.count, known)
        : of(operand) && of(operand)->count == to.count
            ? numberTensor(*this, operand, known)
            : std::nullopt;
    if (!tensor)
      return;
    for (int64_t c = 0; c < to.count; ++c)
      all[c] = all[c] && known[c];
    tensors.push_back(std::move(*tensor));
  }
  llvm::SmallVector<const Tensor *> operands;
  for (const Tensor &tensor : tensors)
    operands.push_back(&tensor);
  // Evaluators take the shape of the result from the operation.
  Operation *vector = op->clone();
  vector->getResult(0).setType(
      RankedTensorType::get({to.count}, typeOf(result).getElementType()));
  llvm::Expected<Tensor> values = reference::evaluateOp(vector, operands);
  vector->destroy();
  if (!values) {
    llvm::consumeError(values.takeError());
    return;
  }
  for (int64_t c = 0; c < to.count; ++c) {
    const double value = values->isFloat()
                             ? values->floats[c]
                             : static_cast<double>(values->ints[c]);
    if (all[c] && std::isfinite(value))
      numbers[to.first + c] = value;
  }
}

void ChannelGraph::evaluateProduct(Operation *op,
                                   const ProductWeights &weights) {
  if (weights.isDense() && !anyNumber(weights.x))
    return;
  const Channels y = *of(op->getResult(0));
  const Channels *x = of(weights.x);
  std::optional<Tensor> bias = constantTensor(weights.bias);
  std::vector<double> values; // read where they are needed
  for (int64_t o = 0; o < y.count; ++o) {
    double sum = 0;
    bool known = true;
    for (int64_t i = 0; i < weights.inputs && known; ++i) {
      if (!weights.reads(o, i))
        continue;
      const std::optional<double> number = x && x->axis == weights.inputAxis
                                               ? numbers[x->first + i]
                                               : std::nullopt;
      known = number && (*number == 0 || !weights.padded);
      if (!known || *number == 0)
        continue;
      if (values.empty())
        values = weights.numbers();
      for (int64_t t = 0; t < weights.taps; ++t)
        sum += *number * values[weights.at(o, i, t)];
    }
    if (bias)
      sum += bias->isFloat() ? bias->floats[o]
                             : static_cast<double>(bias->ints[o]);
    if (known && std::isfinite(sum))
      numbers[y.first + o] = sum;
  }
}

void ChannelGraph::evaluateDepthwise(Operation *op) {
  auto conv = cast<ConvOp>(op);
  const Channels x = *of(conv.getX()), y = *of(conv.getY());
  const bool padded =
      llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
  const std::vector<std::optional<double>> sums = depthwiseSums(conv);
  std::optional<Tensor> bias = constantTensor(conv.getBias());
  for (int64_t o = 0; o < y.count; ++o) {
    const std::optional<double> &number =
        numbers[x.first + o / (y.count / x.count)];
    double sum = 0;
    if (sums[o]) {
      if (!number || (padded && *number != 0))
        continue;
      sum = *number * *sums[o];
    }
    if (bias)
      sum += bias->isFloat() ? bias->floats[o]
                             : static_cast<double>(bias->ints[o]);
    if (std::isfinite(sum))
      numbers[y.first + o] = sum;
  }
}

} // namespace ashlar::nn
