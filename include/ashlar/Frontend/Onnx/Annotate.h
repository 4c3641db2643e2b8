// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of a model in which each node is annotated with the operations it
// became, for ONNX viewers such as Netron, which display the documentation of a
// node.

#ifndef ASHLAR_FRONTEND_ONNX_ANNOTATE_H
#define ASHLAR_FRONTEND_ONNX_ANNOTATE_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace ashlar::frontend {

/// Writes the model at \p path into the file \p output, which appears whole or
/// not at all, with \p texts in the documentation (`doc_string`) of the nodes
/// of the main graph, after what stood there. Keys are the importer's names of
/// nodes; nodes without a text get \p otherwise. Tensors in other files stay
/// where they are: the copy finds them from the folder of the model.
llvm::Error annotate(llvm::StringRef path, llvm::StringRef output,
                     const llvm::StringMap<std::string> &texts,
                     llvm::StringRef otherwise);

} // namespace ashlar::frontend

#endif // ASHLAR_FRONTEND_ONNX_ANNOTATE_H
