// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnostics of passes as the text of an error value.

#ifndef ASHLAR_LIB_PIPELINES_DIAGNOSTICTEXT_H
#define ASHLAR_LIB_PIPELINES_DIAGNOSTICTEXT_H

#include "ashlar/Analysis/Module/NodeNames.h"
#include "mlir/IR/Diagnostics.h"

#include <string>

namespace ashlar::pipelines {

/// Collects error diagnostics as text that names the ONNX node.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::failure();
          add(diagnostic);
          return mlir::success();
        }) {}

  bool isEmpty() const { return text.empty(); }
  std::string take() {
    return text.empty() ? "a pass failed without a message" : text;
  }

private:
  void add(mlir::Diagnostic &diagnostic) {
    if (!text.empty())
      text += "\n";
    std::string node = analysis::getNodeName(diagnostic.getLocation());
    if (!node.empty())
      text += "node '" + node + "': ";
    text += diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      text += "; " + note.str();
  }

  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_DIAGNOSTICTEXT_H
