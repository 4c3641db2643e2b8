// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which float values of a graph stand for integers: what DequantizeLinear made,
// and products of two such values. Conv, Gemm and MatMul between
// DequantizeLinear and QuantizeLinear become integer products with it
// (docs/Numerics.md 12).

#ifndef ASHLAR_LIB_FRONTEND_ONNX_QUANTISED_H
#define ASHLAR_LIB_FRONTEND_ONNX_QUANTISED_H

#include "Emitter.h"

#include "llvm/ADT/DenseMap.h"

namespace ashlar::frontend {

class Node;

/// (q - zero) * scale; the parameters as the node had them.
struct Dequantised {
  Value q, scale, zero; ///< zero is null if absent.
  int64_t axis = 1;
};

/// acc * (xScale * wScale), maybe with relu; acc is i32.
struct IntegerProduct {
  Value acc, xScale, wScale;
  int64_t axis = 1; ///< Of the result, that a scale per channel runs along.
  bool relu = false;
};

/// What is known about the values of one import.
class QuantisedValues {
public:
  void add(Value value, Dequantised origin) {
    if (value)
      dequantised[value] = origin;
  }
  void add(Value value, IntegerProduct origin) {
    if (value)
      products[value] = origin;
  }
  const Dequantised *findDequantised(Value value) const {
    auto found = dequantised.find(value);
    return found == dequantised.end() ? nullptr : &found->second;
  }
  const IntegerProduct *findProduct(Value value) const {
    auto found = products.find(value);
    return found == products.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<Value, Dequantised> dequantised;
  llvm::DenseMap<Value, IntegerProduct> products;
};

/// The convolution of the node as a product of integers, result in binary32;
/// null without an error if its operands are no 8-bit integers of constant
/// parameters.
Value quantisedConv(Node &n, const Emitter::ConvAttributes &attributes);

/// The same for a * b + c, matrices; `transposed`: b is [N, K]. c may be null.
Value quantisedMatmul(Node &n, Value a, Value b, bool transposed, Value c);

/// To be called for `y` = relu of `x`.
void noteRelu(Node &n, Value x, Value y);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_QUANTISED_H
