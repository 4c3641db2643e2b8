// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of windows.

#include "Windows.h"

#include "Walk.h"

using namespace ashlar;
using namespace ashlar::onnxref;

Shape onnxref::listOf(Call &call, StringRef name, size_t count,
                      int64_t otherwise) {
  Shape values = call.getInts(name);
  if (values.empty())
    values.assign(count, otherwise);
  if (values.size() != count) {
    call.fail("{} has {} entries, expected {}", name.str(), values.size(),
              count);
    values.assign(count, 1);
  }
  return values;
}

/// Positions of windows of `extent` elements on `padded` ones.
static int64_t positions(int64_t padded, int64_t extent, int64_t stride,
                         int64_t size, int64_t low, bool ceil) {
  const int64_t span = padded - extent;
  if (span < 0)
    return 0;
  if (!ceil)
    return span / stride + 1;
  const int64_t count = (span + stride - 1) / stride + 1;
  return (count - 1) * stride >= size + low ? count - 1 : count;
}

Window onnxref::readWindow(Call &call, ArrayRef<int64_t> spatial,
                           ArrayRef<int64_t> kernel, bool ceil) {
  Window window;
  const size_t rank = spatial.size();
  if (!call.require(rank >= 1 && rank <= 3 && kernel.size() == rank,
                    "expected 1 to 3 spatial dimensions"))
    return window;
  const Shape strides = listOf(call, "strides", rank, 1),
              dilations = listOf(call, "dilations", rank, 1),
              pads = listOf(call, "pads", 2 * rank, 0);
  const std::string mode = call.getString("auto_pad", "NOTSET");
  for (size_t i = 0; i < rank && !call.failed(); ++i) {
    const size_t d = 3 - rank + i;
    window.in[d] = spatial[i];
    window.kernel[d] = kernel[i];
    window.stride[d] = strides[i];
    window.dilation[d] = dilations[i];
    if (!call.require(strides[i] > 0 && dilations[i] > 0 && kernel[i] > 0,
                      "a stride, dilation or kernel is not positive"))
      return window;
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      // As many windows as strides fit; an odd pad is at the end or in front.
      window.out[d] = (spatial[i] + strides[i] - 1) / strides[i];
      const int64_t all = std::max<int64_t>(
          (window.out[d] - 1) * strides[i] + extent - spatial[i], 0);
      window.low[d] = mode == "SAME_UPPER" ? all / 2 : (all + 1) / 2;
      window.high[d] = all - window.low[d];
      continue;
    }
    window.low[d] = mode == "VALID" ? 0 : pads[i];
    window.high[d] = mode == "VALID" ? 0 : pads[i + rank];
    window.out[d] =
        positions(spatial[i] + window.low[d] + window.high[d], extent,
                  strides[i], spatial[i], window.low[d], ceil);
  }
  return window;
}

Shape onnxref::resultShape(const Window &window, int64_t batch,
                           int64_t channels, size_t rank) {
  Shape shape = {batch, channels};
  for (size_t d = 5 - rank; d < 3; ++d)
    shape.push_back(window.out[d]);
  return shape;
}

/// Dimension d of the result is dimension perm[d] of x.
static Tensor permuted(const Tensor &x, ArrayRef<int64_t> perm) {
  const Shape steps = broadcastStrides(x.shape, x.shape.size());
  Shape shape;
  for (int64_t d : perm)
    shape.push_back(x.shape[d]);
  return rearranged(x, shape, [&](ArrayRef<int64_t> at) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d)
      place += at[d] * steps[perm[d]];
    return place;
  });
}

Tensor onnxref::channelsFirst(const Tensor &x) {
  Shape perm = {0, rankOf(x) - 1};
  for (int64_t d = 1; d + 1 < rankOf(x); ++d)
    perm.push_back(d);
  return permuted(x, perm);
}

Tensor onnxref::channelsLast(const Tensor &x) {
  Shape perm = {0};
  for (int64_t d = 2; d < rankOf(x); ++d)
    perm.push_back(d);
  perm.push_back(1);
  return permuted(x, perm);
}
