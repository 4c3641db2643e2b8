// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rewrites of `nn` share: shapes, constants as interpreter tensors,
// per-channel constants, and locations of fused operations.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_REWRITE_H
#define ASHLAR_LIB_TRANSFORMS_NN_REWRITE_H

#include "MachineView.h"
#include "ashlar/Reference/Tensor.h"
#include "dialects/NN/NNOps.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>
#include <vector>

namespace ashlar::nn {

/// The ranked type of a value of the dialect.
mlir::RankedTensorType typeOf(mlir::Value value);
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

/// The defining nn.constant, or null.
ConstantOp constantOp(mlir::Value value);
inline bool isConstant(mlir::Value value) { return bool(constantOp(value)); }

/// The value of a constant; nothing for other values and for constants without
/// a plain form.
std::optional<reference::Tensor> constantTensor(mlir::Value value);

/// The same for floats only: rewrites that compute new weights do it in
/// binary64.
std::optional<reference::Tensor> floatConstant(mlir::Value value);

/// The number that all elements of a float constant are; nothing for others.
std::optional<double> splatNumber(mlir::Value value);

/// A constant of `elementType` with the values of `tensor`, rounded once.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc,
                         const reference::Tensor &tensor,
                         mlir::Type elementType);

/// The result of `op`, of which all operands are constants; nothing where it
/// has none that is known here.
std::optional<mlir::ElementsAttr> evaluateConstant(mlir::Operation *op);

/// The values of a float constant that broadcasts to `shape` and varies along
/// `axis` alone, one per index of that axis; nothing otherwise.
std::optional<std::vector<double>>
perAxisConstant(mlir::Value value, llvm::ArrayRef<int64_t> shape, int64_t axis);

/// The constant `value` times factors, in binary64, rounded once: element i
/// times factors[i / run % number of factors]. Null if it is no constant of
/// floats.
mlir::Value scaleConstant(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<double> factors,
                          int64_t run);

/// The weights of a product times a factor per output channel: of conv
/// [O, ...], of conv_transpose [C, O/group, ...], of matmul [K, N]. Null if
/// they are no constant of floats.
mlir::Value scaleWeights(mlir::OpBuilder &builder, mlir::Location loc,
                         ConvOp conv, llvm::ArrayRef<double> factors);
mlir::Value scaleWeights(mlir::OpBuilder &builder, mlir::Location loc,
                         ConvTransposeOp conv, llvm::ArrayRef<double> factors);
mlir::Value scaleWeights(mlir::OpBuilder &builder, mlir::Location loc,
                         MatMulOp matmul, llvm::ArrayRef<double> factors);

/// Location of an operation that stands for `main` and what it absorbed, the
/// main one first.
mlir::Location fuseLocations(mlir::Operation *main,
                             llvm::ArrayRef<mlir::Operation *> absorbed);

/// Location of \p movement once it comes after \p op, whose node's value it now
/// makes. Its own nodes stay the first; of those that it passed, the last one
/// counts.
mlir::Location passedLocation(mlir::Operation *movement, mlir::Operation *op);

/// transpose(transpose(x)) -> transpose(x) with the composed permutation.
void populateMergeTransposes(mlir::RewritePatternSet &patterns);

/// True if the state buffer can hold the map of \p shape that stands for
/// \p result, next to what it is made of: blocks of 8-bit mantissas if
/// convolutions alone read it, floats otherwise. Elements of an interleaved map
/// that lies in DRAM are copied one by one.
bool fitsOnChip(mlir::Value result, llvm::ArrayRef<int64_t> shape,
                const MachineView &machine);

/// A rank-1 tensor of binary64 values.
reference::Tensor vectorTensor(llvm::ArrayRef<double> values);

/// A reshape of `x` to `shape` (of its element type).
mlir::Value makeReshape(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value x, llvm::ArrayRef<int64_t> shape);

/// `y` (N, C, spatial...) plus `bias` (C) in each channel.
mlir::Value addBias(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value y,
                    mlir::Value bias);

/// True for operations on elements at equal indices, with broadcasting.
bool worksByElement(mlir::Operation *op);

/// Shape that two operands broadcast to, with the element type of `a`.
mlir::RankedTensorType broadcastType(mlir::Value a, mlir::Value b);

/// Reduces over `axes`, each left as one element.
mlir::Value reduceTo(mlir::OpBuilder &builder, mlir::Location loc,
                     ReduceKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> axes);

/// What reduces the results of reductions of `kind`: a sum of squares is
/// summed, a mean of as many elements each is the mean.
ReduceKind outerKind(ReduceKind kind);

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_REWRITE_H
