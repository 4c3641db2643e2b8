// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads weights once; most networks have no zeros and are done after a few.

#include "ProductWeights.h"

#include "../Rewrite.h"
#include "ashlar/Support/Tensor.h"
#include "dialects/NN/NNElements.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace ashlar::nn {

bool isReadable(Value constant) {
  ConstantOp op = constantOp(constant);
  return op && hasElements(op.getValue()) &&
         toElementType(typeOf(constant).getElementType());
}

std::optional<ProductWeights> ProductWeights::of(Operation *op) {
  ProductWeights result;
  if (auto conv = dyn_cast<ConvOp>(op)) {
    llvm::ArrayRef<int64_t> shape = shapeOf(conv.getW());
    if (conv.getGroup() != 1 || !isReadable(conv.getW()) ||
        (conv.getBias() && !isReadable(conv.getBias())))
      return std::nullopt;
    result.x = conv.getX(), result.w = conv.getW(),
    result.bias = conv.getBias();
    result.outputs = shape[0], result.inputs = shape[1];
    result.padded =
        llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
    for (int64_t extent : shape.drop_front(2))
      result.taps *= extent;
    result.inputAxis = result.outputAxis = 1;
  } else if (auto matmul = dyn_cast<MatMulOp>(op)) {
    llvm::ArrayRef<int64_t> shape = shapeOf(matmul.getB());
    if (shape.size() != 2 || !isReadable(matmul.getB()))
      return std::nullopt;
    result.x = matmul.getA(), result.w = matmul.getB();
    result.inputs = shape[0], result.outputs = shape[1];
    result.inputAxis = static_cast<int64_t>(shapeOf(matmul.getA()).size()) - 1;
    result.outputAxis = static_cast<int64_t>(shapeOf(matmul.getY()).size()) - 1;
    result.transposed = true;
  } else {
    return std::nullopt;
  }
  if (result.outputs * result.inputs * result.taps == 0)
    return std::nullopt;
  result.find();
  return result;
}

/// Looks at one weight of each output and each input first: none is zero in
/// most networks, and then all channels have a reader.
void ProductWeights::find() {
  const ElementsAttr elements = constantOp(w).getValue();
  if (std::optional<ElementFacts> facts = factsOf(elements);
      facts && !facts->hasZeros)
    return;
  ElementStorage storage;
  std::optional<llvm::ArrayRef<char>> bytes = rawElements(elements, storage);
  if (!bytes)
    return;
  Type element = typeOf(w).getElementType();
  const unsigned width = support::byteSize(*toElementType(element));
  uint64_t mask = width == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * width) - 1;
  if (isa<FloatType>(element)) // zeros of either sign
    mask >>= 1;
  auto isZero = [&](int64_t output, int64_t input, int64_t tap) {
    uint64_t word = 0;
    std::memcpy(&word, bytes->data() + at(output, input, tap) * width, width);
    return (word & mask) == 0;
  };
  const int64_t most = std::max(outputs, inputs);
  for (int64_t i = 0; i < most && dense; ++i)
    dense = !isZero(i % outputs, i % inputs, i % taps);
  if (dense)
    return;
  used.assign(outputs * inputs, false);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t t = 0; t < taps && !used[o * inputs + i]; ++t)
        used[o * inputs + i] = !isZero(o, i, t);
}

/// All elements of a constant in their order; empty if they cannot be read.
static std::vector<double> numbersOf(Value constant) {
  ElementStorage storage;
  auto bytes = rawElements(constantOp(constant).getValue(), storage);
  std::vector<double> result;
  if (!bytes)
    return result;
  support::HostTensor tensor;
  tensor.type = *toElementType(typeOf(constant).getElementType());
  tensor.data.assign(bytes->begin(), bytes->end());
  result.reserve(tensor.numElements());
  for (uint64_t i = 0; i < tensor.numElements(); ++i)
    result.push_back(tensor.asDouble(i));
  return result;
}

std::vector<double> ProductWeights::numbers() const { return numbersOf(w); }

bool isDepthwise(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return conv && conv.getGroup() > 1 && shapeOf(conv.getW())[1] == 1 &&
         isReadable(conv.getW()) &&
         (!conv.getBias() || isReadable(conv.getBias()));
}

std::vector<std::optional<double>> depthwiseSums(Operation *op) {
  auto conv = cast<ConvOp>(op);
  const int64_t outputs = shapeOf(conv.getW())[0];
  std::vector<std::optional<double>> sums(outputs);
  const std::vector<double> values = numbersOf(conv.getW());
  const size_t taps = values.size() / outputs;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0)
      sums[i / taps] = sums[i / taps].value_or(0) + values[i];
  return sums;
}

} // namespace ashlar::nn
