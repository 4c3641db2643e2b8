// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the weights of a product are zero, by output and input channel.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_PRODUCTWEIGHTS_H
#define ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_PRODUCTWEIGHTS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace ashlar::nn {

/// The weights of a convolution of one group, [O, C, taps...], or of a matrix
/// product, [C, O]. Those without zeros take no memory.
class ProductWeights {
public:
  /// Nothing for other operations and for weights or biases that are not
  /// constant.
  static std::optional<ProductWeights> of(mlir::Operation *op);

  /// Whether any weight of an output and an input channel is not zero.
  bool reads(int64_t output, int64_t input) const {
    return dense || used[output * inputs + input];
  }
  bool isDense() const { return dense; }
  /// The weights as binary64, in their order.
  std::vector<double> numbers() const;
  /// Number of a weight in that order.
  int64_t at(int64_t output, int64_t input, int64_t tap) const {
    return transposed ? input * outputs + output
                      : (output * inputs + input) * taps + tap;
  }

  int64_t outputs = 0, inputs = 0, taps = 1;
  mlir::Value x, w, bias; ///< operands; no bias: null
  int64_t inputAxis = 0, outputAxis = 0;
  bool padded = false; ///< zeros around the feature map take part

private:
  void find();

  bool transposed = false, dense = true;
  std::vector<bool> used; ///< by output and input, unless dense
};

/// True for convolutions whose results each read one channel, with constant
/// weights and bias.
bool isDepthwise(mlir::Operation *op);

/// By result of such a convolution: the sum of its weights; nothing where all
/// of them are zero.
std::vector<std::optional<double>> depthwiseSums(mlir::Operation *op);

/// True if all elements of a constant can be read.
bool isReadable(mlir::Value constant);

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_PRODUCTWEIGHTS_H
