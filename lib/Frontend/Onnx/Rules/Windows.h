// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel, stride, pad and dilation attributes shared by convolutions and
// pools, with auto_pad resolved.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_WINDOWS_H
#define ASHLAR_LIB_FRONTEND_ONNX_WINDOWS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

struct WindowAttributes {
  Shape kernel, strides, pads, dilations;
  bool samePadding = false; ///< auto_pad was SAME_UPPER or SAME_LOWER.
};

/// An integer list of `count` entries: the attribute, or `defaultValue`
/// repeated. Errors are recorded in the node.
Shape listAttribute(Node &n, StringRef name, size_t count,
                    int64_t defaultValue);

/// Reads strides, dilations, pads and auto_pad for windows of size `kernel`
/// over `spatial`.
WindowAttributes readWindow(Node &n, ShapeRef spatial, ShapeRef kernel);

/// [batch, spatial.., channels] with the channels after the batch if \p last,
/// and back.
Value channelsFirst(Node &n, Value x, bool last);
Value channelsLast(Node &n, Value x, bool last);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_WINDOWS_H
