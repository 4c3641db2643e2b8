// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX tensors and element types to Ashlar's.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_TENSORS_H
#define ASHLAR_LIB_FRONTEND_ONNX_TENSORS_H

#include "Proto.h"
#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/Error.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ashlar::frontend {

/// The element type of an ONNX data type number; `what` names the owner in the
/// error (Unsupported for real types we lack, Malformed for others).
llvm::Expected<support::ElementType> elementTypeOf(int32_t onnxType,
                                                   llvm::StringRef what);

/// Checks that all dimensions are 0 or more and that the tensor is not larger
/// than `maxElements`.
llvm::Error checkSize(llvm::ArrayRef<int64_t> shape, int64_t maxElements,
                      llvm::StringRef what);

/// Converts a tensor. External data is read from below `folder`. Raw bytes are
/// moved out of `tensor` where possible.
llvm::Expected<mlir::ElementsAttr> convertTensor(onnx::TensorProto &tensor,
                                                 llvm::StringRef folder,
                                                 llvm::StringRef what,
                                                 int64_t maxElements,
                                                 mlir::MLIRContext *context);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_TENSORS_H
