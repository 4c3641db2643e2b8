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

#include <string>
#include <vector>

namespace ashlar::frontend {

struct NarrowType;
class TensorFiles;

/// The element type of an ONNX data type number; `what` names the owner in the
/// error (Unsupported for real types we lack, Malformed for others).
llvm::Expected<support::ElementType> elementTypeOf(int32_t onnxType,
                                                   llvm::StringRef what);

/// The same, and for a narrow type the one that holds its values.
llvm::Expected<support::ElementType> storageTypeOf(int32_t onnxType,
                                                   llvm::StringRef what);

/// The values of codes, one in the low bits of each byte, in the storage of
/// their type.
llvm::Expected<mlir::ElementsAttr> decodeCodes(const NarrowType &type,
                                               llvm::StringRef codes,
                                               llvm::ArrayRef<int64_t> shape,
                                               llvm::StringRef name,
                                               mlir::MLIRContext *context);

/// Checks that all dimensions are 0 or more and that the tensor is not larger
/// than `maxElements`.
llvm::Error checkSize(llvm::ArrayRef<int64_t> shape, int64_t maxElements,
                      llvm::StringRef what);

/// Converts a tensor, of a narrow type to its storage. What lies in `files`
/// stays there where the context defers constants (NNDeferred.h). Raw bytes are
/// moved out of `tensor` where possible.
llvm::Expected<mlir::ElementsAttr> convertTensor(onnx::TensorProto &tensor,
                                                 TensorFiles &files,
                                                 llvm::StringRef what,
                                                 int64_t maxElements,
                                                 mlir::MLIRContext *context);

/// The ONNX data type number of an element type.
int32_t onnxTypeOf(support::ElementType type);

/// Puts the elements of a tensor into its raw data, whatever form they have in
/// the file, and returns them. The errors of convertTensor.
llvm::Expected<std::vector<char>> makeRaw(onnx::TensorProto &tensor,
                                          TensorFiles &files,
                                          mlir::MLIRContext *context);

/// Replaces the elements of a tensor by raw data.
void storeRaw(onnx::TensorProto &tensor, llvm::ArrayRef<char> bytes);

/// The serialised model; `what` names it where it is larger than protobuf can
/// write (Capacity).
llvm::Expected<std::string> serialise(const onnx::ModelProto &model,
                                      llvm::StringRef what);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_TENSORS_H
