// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows that move over feature maps: what pads, strides and dilations mean.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WINDOWS_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WINDOWS_H

#include "Call.h"

namespace ashlar::onnxref {

/// One to three spatial dimensions, completed to three with extents of 1 in
/// front.
struct Window {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0}, high[3] = {0, 0, 0};

  /// The element of the padded map that position `out` and tap `tap` of
  /// dimension d read; below 0 and from in[d] on it is padding.
  int64_t at(int d, int64_t position, int64_t tap) const {
    return position * stride[d] - low[d] + tap * dilation[d];
  }
  bool inside(int d, int64_t index) const {
    return index >= 0 && index < in[d];
  }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// An attribute with an entry per spatial dimension, or `otherwise` for each.
Shape listOf(Call &call, StringRef name, size_t count, int64_t otherwise);

/// The attributes of a convolution or pool of a map [N, C, ...spatial]; fails
/// where they do not fit. `ceil`: a last window that is not full counts unless
/// it begins beyond the map and the padding in front of it.
Window readWindow(Call &call, ArrayRef<int64_t> spatial,
                  ArrayRef<int64_t> kernel, bool ceil);

/// [N, ...spatial, channels] as [N, channels, ...spatial], and back.
Tensor channelsFirst(const Tensor &x);
Tensor channelsLast(const Tensor &x);

/// [N, channels, ...out], of as many dimensions as the operand has.
Shape resultShape(const Window &window, int64_t batch, int64_t channels,
                  size_t rank);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WINDOWS_H
