// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Main function of `ashlar-translate`.

#ifndef ASHLAR_FRONTEND_ONNX_TRANSLATE_H
#define ASHLAR_FRONTEND_ONNX_TRANSLATE_H

namespace ashlar::frontend {

/// Parses the command line, imports, checks or prints; returns the exit code.
int translateMain(int argc, char **argv);

} // namespace ashlar::frontend

#endif // ASHLAR_FRONTEND_ONNX_TRANSLATE_H
