// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluators over plain tensors, one family per source file; the interpreter
// maps `nn` ops to them. Shapes are trusted: the verifiers of `nn` checked
// them. All float work is binary64 in index order.

#ifndef ASHLAR_LIB_REFERENCE_KERNELS_H
#define ASHLAR_LIB_REFERENCE_KERNELS_H

#include "ashlar/Reference/Tensor.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>

namespace ashlar::reference {

/// Geometry of a sliding window over up to three spatial dimensions; missing
/// leading dimensions have extent 1.
struct Window {
  std::array<int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, low{0, 0, 0};
  std::array<int64_t, 3> high{0, 0, 0};

  /// Takes the spatial dims of NC... shapes and attributes of that many dims
  /// (`pads` is [low.., high..]).
  static Window
  create(llvm::ArrayRef<int64_t> inShape, llvm::ArrayRef<int64_t> kernel,
         llvm::ArrayRef<int64_t> outShape, llvm::ArrayRef<int64_t> strides,
         llvm::ArrayRef<int64_t> pads, llvm::ArrayRef<int64_t> dilations);

  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
};

// Contractions (Convolution.cpp, MatMul.cpp).
Tensor evalConv(const Tensor &x, const Tensor &w, const Tensor *bias,
                const Window &window, int64_t groups,
                llvm::ArrayRef<int64_t> outShape);
Tensor evalConvTranspose(const Tensor &x, const Tensor &w, const Tensor *bias,
                         const Window &window, int64_t groups,
                         llvm::ArrayRef<int64_t> outShape);
Tensor evalMatMul(const Tensor &a, const Tensor &b,
                  llvm::ArrayRef<int64_t> outShape);
Tensor evalIm2Col(const Tensor &x, const Window &window,
                  llvm::ArrayRef<int64_t> outShape);

// Pooling and reductions (Reduction.cpp).
enum class PoolKind { Max, Average, AverageIncludePad, Sum };
Tensor evalPool(const Tensor &x, PoolKind kind, const Window &window,
                llvm::ArrayRef<int64_t> outShape);
/// Calls `reduce(values)` for every output element with the reduced values in
/// index order.
using FloatReducer = llvm::function_ref<double(llvm::ArrayRef<double>)>;
using IntReducer = llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)>;
Tensor evalReduce(const Tensor &x, llvm::ArrayRef<int64_t> axes,
                  llvm::ArrayRef<int64_t> outShape, FloatReducer onFloats,
                  IntReducer onInts);
Tensor evalArgReduce(const Tensor &x, int64_t axis, bool isMax, bool selectLast,
                     support::ElementType type,
                     llvm::ArrayRef<int64_t> outShape);
Tensor evalSoftmax(const Tensor &x, int64_t axis, bool logarithm);

// Elementwise with numpy broadcasting (Elementwise.cpp).
Tensor evalUnary(const Tensor &x, llvm::function_ref<double(double)> onFloat,
                 llvm::function_ref<int64_t(int64_t)> onInt);
Tensor evalBinary(const Tensor &a, const Tensor &b, support::ElementType type,
                  llvm::ArrayRef<int64_t> outShape,
                  llvm::function_ref<double(double, double)> onFloat,
                  llvm::function_ref<int64_t(int64_t, int64_t)> onInt);
/// Comparison: the result is boolean whatever the operands are.
Tensor evalCompare(const Tensor &a, const Tensor &b,
                   llvm::ArrayRef<int64_t> outShape,
                   llvm::function_ref<bool(double, double)> onFloat,
                   llvm::function_ref<bool(int64_t, int64_t)> onInt);
Tensor evalWhere(const Tensor &condition, const Tensor &a, const Tensor &b,
                 llvm::ArrayRef<int64_t> outShape);
Tensor evalCast(const Tensor &x, support::ElementType type);

// Work of the host (Host.cpp), by its operation.
llvm::Expected<Tensor> evalHost(mlir::Operation *op,
                                llvm::ArrayRef<const Tensor *> operands);

} // namespace ashlar::reference

#endif // ASHLAR_LIB_REFERENCE_KERNELS_H
