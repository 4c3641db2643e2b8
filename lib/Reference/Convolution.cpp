// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of rank 1 to 3, transposed convolution, patches, and matmul.
// A convolution is a product with a patch matrix of a band of output
// positions: rows in (channel, kd, kh, kw) order, which is the index order of
// the sum. The bias is added after the sum.

#include "Gemm.h"
#include "Kernels.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;

Window Window::create(ArrayRef<int64_t> inShape, ArrayRef<int64_t> kernel,
                      ArrayRef<int64_t> outShape, ArrayRef<int64_t> strides,
                      ArrayRef<int64_t> pads, ArrayRef<int64_t> dilations) {
  Window result;
  size_t rank = kernel.size();
  for (size_t i = 0; i < rank; ++i) {
    size_t d = 3 - rank + i;
    result.in[d] = inShape[i + 2];
    result.kernel[d] = kernel[i];
    result.out[d] = outShape[i + 2];
    result.stride[d] = strides[i];
    result.dilation[d] = dilations[i];
    result.low[d] = pads[i];
    result.high[d] = pads[rank + i];
  }
  return result;
}

namespace {

// Output positions per patch matrix: the matrix of a wide layer stays in the
// second-level cache.
constexpr int64_t bandSize = 64;

// Writes row (c, kd, kh, kw) of the patch matrix for output positions
// [begin, end); `plane` is one channel of the input.
template <typename T>
void patchRow(const T *plane, const Window &w, int64_t kd, int64_t kh,
              int64_t kw, int64_t begin, int64_t end, T *row) {
  int64_t ow = begin % w.out[2];
  int64_t oh = begin / w.out[2] % w.out[1];
  int64_t od = begin / w.out[2] / w.out[1];
  for (int64_t p = begin; p < end; ++p) {
    int64_t d = od * w.stride[0] - w.low[0] + kd * w.dilation[0];
    int64_t h = oh * w.stride[1] - w.low[1] + kh * w.dilation[1];
    int64_t v = ow * w.stride[2] - w.low[2] + kw * w.dilation[2];
    bool inside =
        d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1] && v >= 0 && v < w.in[2];
    row[p - begin] = inside ? plane[(d * w.in[1] + h) * w.in[2] + v] : T(0);
    if (++ow == w.out[2]) {
      ow = 0;
      if (++oh == w.out[1]) {
        oh = 0;
        ++od;
      }
    }
  }
}

// The patch matrix of `channels` channels starting at `base`.
template <typename T>
void patches(const T *base, int64_t channels, const Window &w, int64_t begin,
             int64_t end, T *matrix, int64_t rowStride) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t kd = 0; kd < w.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < w.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < w.kernel[2]; ++kw) {
          patchRow(base + c * w.inSize(), w, kd, kh, kw, begin, end, matrix);
          matrix += rowStride;
        }
}

// The extents of a convolution other than those of its window.
struct Channels {
  int64_t batch, inputs, outputs, groups;
  int64_t inPerGroup() const { return inputs / groups; }
  int64_t outPerGroup() const { return outputs / groups; }
};

template <typename T>
void convolve(const std::vector<T> &x, const std::vector<T> &weight,
              const std::vector<T> *bias, const Window &w,
              const Channels &channels, std::vector<T> &out) {
  const int64_t inPerGroup = channels.inPerGroup();
  const int64_t outPerGroup = channels.outPerGroup();
  int64_t depth = inPerGroup * w.kernelSize();
  std::vector<T> matrix(depth * bandSize);
  for (int64_t n = 0; n < channels.batch; ++n)
    for (int64_t g = 0; g < channels.groups; ++g)
      for (int64_t p = 0; p < w.outSize(); p += bandSize) {
        int64_t end = std::min(w.outSize(), p + bandSize);
        patches(x.data() + (n * channels.inputs + g * inPerGroup) * w.inSize(),
                inPerGroup, w, p, end, matrix.data(), bandSize);
        T *result = out.data() +
                    (n * channels.outputs + g * outPerGroup) * w.outSize() + p;
        gemm({outPerGroup, end - p, depth},
             {weight.data() + g * outPerGroup * depth, depth},
             {matrix.data(), bandSize}, MatrixRows<T>{result, w.outSize()});
        if (!bias)
          continue;
        for (int64_t o = 0; o < outPerGroup; ++o)
          for (int64_t i = 0; i < end - p; ++i)
            result[o * w.outSize() + i] += (*bias)[g * outPerGroup + o];
      }
}

// Adds one input plane times one kernel plane to one output plane. The window
// describes the transposed convolution: `in` positions land at
// in * stride + k * dilation - low.
template <typename T>
void scatterPlane(const T *x, const T *kernel, const Window &w, T *out) {
  for (int64_t k = 0; k < w.kernelSize(); ++k) {
    int64_t kw = k % w.kernel[2], kh = k / w.kernel[2] % w.kernel[1];
    int64_t kd = k / w.kernel[2] / w.kernel[1];
    for (int64_t i = 0; i < w.inSize(); ++i) {
      int64_t iw = i % w.in[2], ih = i / w.in[2] % w.in[1];
      int64_t id = i / w.in[2] / w.in[1];
      int64_t od = id * w.stride[0] + kd * w.dilation[0] - w.low[0];
      int64_t oh = ih * w.stride[1] + kh * w.dilation[1] - w.low[1];
      int64_t ow = iw * w.stride[2] + kw * w.dilation[2] - w.low[2];
      if (od < 0 || od >= w.out[0] || oh < 0 || oh >= w.out[1] || ow < 0 ||
          ow >= w.out[2])
        continue;
      out[(od * w.out[1] + oh) * w.out[2] + ow] += x[i] * kernel[k];
    }
  }
}

template <typename T>
void convolveTransposed(const std::vector<T> &x, const std::vector<T> &weight,
                        const std::vector<T> *bias, const Window &w,
                        const Channels &channels, std::vector<T> &out) {
  const int64_t inPerGroup = channels.inPerGroup();
  const int64_t outPerGroup = channels.outPerGroup();
  for (int64_t n = 0; n < channels.batch; ++n)
    for (int64_t o = 0; o < channels.outputs; ++o) {
      T *plane = out.data() + (n * channels.outputs + o) * w.outSize();
      int64_t g = o / outPerGroup;
      for (int64_t i = 0; i < inPerGroup; ++i) {
        int64_t c = g * inPerGroup + i;
        scatterPlane(x.data() + (n * channels.inputs + c) * w.inSize(),
                     weight.data() +
                         (c * outPerGroup + o % outPerGroup) * w.kernelSize(),
                     w, plane);
      }
      if (bias)
        for (int64_t p = 0; p < w.outSize(); ++p)
          plane[p] += (*bias)[o];
    }
}

// Batched product with numpy broadcasting of the leading dimensions.
template <typename T>
void multiply(const std::vector<T> &a, const std::vector<T> &b,
              ArrayRef<int64_t> aShape, ArrayRef<int64_t> bShape,
              ArrayRef<int64_t> outShape, std::vector<T> &out) {
  int64_t m = aShape[aShape.size() - 2], k = aShape.back();
  int64_t n = bShape.back();
  ArrayRef<int64_t> outer = outShape.drop_back(2);
  int64_t count = elementCount(outer);
  for (int64_t index = 0; index < count; ++index) {
    int64_t aIndex = 0, bIndex = 0, aScale = 1, bScale = 1, rest = index;
    for (size_t d = outer.size(); d-- > 0;) {
      int64_t i = rest % outer[d];
      rest /= outer[d];
      // Distance from the last dimension addresses the shorter operand too.
      size_t back = outShape.size() - d;
      if (back <= aShape.size()) {
        int64_t extent = aShape[aShape.size() - back];
        aIndex += extent == 1 ? 0 : i * aScale;
        aScale *= extent;
      }
      if (back <= bShape.size()) {
        int64_t extent = bShape[bShape.size() - back];
        bIndex += extent == 1 ? 0 : i * bScale;
        bScale *= extent;
      }
    }
    gemm({m, n, k}, {a.data() + aIndex * m * k, k},
         {b.data() + bIndex * k * n, n},
         MatrixRows<T>{out.data() + index * m * n, n});
  }
}

} // namespace

Tensor reference::evalConv(const Tensor &x, const Tensor &w, const Tensor *bias,
                           const Window &window, int64_t groups,
                           ArrayRef<int64_t> outShape) {
  Tensor result(x.type, outShape);
  const Channels channels{x.shape[0], x.shape[1], w.shape[0], groups};
  if (x.isFloat())
    convolve(x.floats, w.floats, bias ? &bias->floats : nullptr, window,
             channels, result.floats);
  else
    convolve(x.ints, w.ints, bias ? &bias->ints : nullptr, window, channels,
             result.ints);
  return result;
}

Tensor reference::evalConvTranspose(const Tensor &x, const Tensor &w,
                                    const Tensor *bias, const Window &window,
                                    int64_t groups,
                                    ArrayRef<int64_t> outShape) {
  Tensor result(x.type, outShape);
  const Channels channels{x.shape[0], x.shape[1], outShape[1], groups};
  if (x.isFloat())
    convolveTransposed(x.floats, w.floats, bias ? &bias->floats : nullptr,
                       window, channels, result.floats);
  else
    convolveTransposed(x.ints, w.ints, bias ? &bias->ints : nullptr, window,
                       channels, result.ints);
  return result;
}

Tensor reference::evalMatMul(const Tensor &a, const Tensor &b,
                             ArrayRef<int64_t> outShape) {
  Tensor result(a.type, outShape);
  if (a.isFloat())
    multiply(a.floats, b.floats, a.shape, b.shape, outShape, result.floats);
  else
    multiply(a.ints, b.ints, a.shape, b.shape, outShape, result.ints);
  return result;
}

Tensor reference::evalIm2Col(const Tensor &x, const Window &window,
                             ArrayRef<int64_t> outShape) {
  Tensor result(x.type, outShape);
  int64_t channels = x.shape[1];
  int64_t inStep = channels * window.inSize();
  int64_t outStep = channels * window.kernelSize() * window.outSize();
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    if (x.isFloat())
      patches(x.floats.data() + n * inStep, channels, window, 0,
              window.outSize(), result.floats.data() + n * outStep,
              window.outSize());
    else
      patches(x.ints.data() + n * inStep, channels, window, 0, window.outSize(),
              result.ints.data() + n * outStep, window.outSize());
  }
  return result;
}
