// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that includes libonnx's protobuf classes; its macros are set
// here so that no other file depends on the package's CMake files.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_PROTO_H
#define ASHLAR_LIB_FRONTEND_ONNX_PROTO_H

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

#endif // ASHLAR_LIB_FRONTEND_ONNX_PROTO_H
