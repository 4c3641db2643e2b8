// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of graph inputs: what the file declares joined with what the command
// line says.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_INPUTS_H
#define ASHLAR_LIB_FRONTEND_ONNX_INPUTS_H

#include "Proto.h"
#include "ashlar/Frontend/Onnx/Import.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ashlar::frontend {

/// The type of a graph input. A shape that stays open is not an error yet: the
/// result is null and a line about it is added to `open`.
llvm::Expected<mlir::RankedTensorType>
inputType(const onnx::ValueInfoProto &input, const ImportOptions &options,
          mlir::MLIRContext *context, std::vector<std::string> &open);

/// Type of a declared value if it is a tensor of static shape, else null.
mlir::RankedTensorType staticType(const onnx::TypeProto &type,
                                  const ImportOptions &options,
                                  mlir::MLIRContext *context);

/// The array of `--constant=NAME=FILE`, checked against the declaration.
llvm::Expected<mlir::ElementsAttr>
readConstantInput(const onnx::ValueInfoProto &input,
                  const ConstantInput &source, mlir::MLIRContext *context);

/// What --input-shape and --batch mean for this model: sizes of named
/// dimensions move from `inputShapes`, where the command line cannot tell them
/// from shapes, to `dimensions`. Usage errors name the inputs and dimensions
/// that there are.
llvm::Expected<ImportOptions> resolveShapes(const onnx::GraphProto &graph,
                                            const ImportOptions &options);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_INPUTS_H
