// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions, as products with the matrix of patches of some output
// positions, and transposed convolutions, which add every element times every
// tap to the place it reaches.

#include "Convolution.h"
#include "Registry.h"
#include "Walk.h"
#include "Windows.h"
#include "lib/Reference/Gemm.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Positions per matrix of patches: it stays in the second-level cache, and a
/// window of any size takes little memory.
int64_t bandSizeOf(int64_t depth) {
  constexpr int64_t most = 128, elements = int64_t(1) << 20;
  return std::clamp<int64_t>(elements / std::max<int64_t>(depth, 1), 8, most);
}

/// Row `tap` of the patches of one channel: what it reads at the output
/// positions [begin, end).
void patchRow(const double *plane, const Window &w, int64_t tap, int64_t begin,
              int64_t end, double *row) {
  const int64_t tapOf[3] = {tap / w.kernel[2] / w.kernel[1],
                            tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
  for (int64_t p = begin; p < end;) {
    const int64_t x = p % w.out[2], y = p / w.out[2] % w.out[1],
                  z = p / w.out[2] / w.out[1];
    const int64_t last = std::min(end, p - x + w.out[2]);
    const int64_t depth = w.at(0, z, tapOf[0]), line = w.at(1, y, tapOf[1]);
    if (!w.inside(0, depth) || !w.inside(1, line)) {
      for (; p < last; ++p)
        *row++ = 0;
      continue;
    }
    const double *from = plane + (depth * w.in[1] + line) * w.in[2];
    int64_t column = w.at(2, x, tapOf[2]);
    for (; p < last; ++p, column += w.stride[2])
      *row++ = w.inside(2, column) ? from[column] : 0;
  }
}

bool checkOperands(Call &call, const Tensor &x, const Tensor &w) {
  return call.require(x.isFloat() && w.isFloat() && rankOf(x) >= 3 &&
                          rankOf(x) <= 5 && rankOf(w) == rankOf(x),
                      "operands are no feature map and weights");
}

/// y[n, c, ...] += bias[c].
void addBias(Call &call, Tensor &y, const Tensor &bias) {
  const int64_t channels = y.shape[1];
  if (!call.require(bias.isFloat() && bias.size() == channels,
                    "the bias is not one number per channel"))
    return;
  const int64_t inner = elementCount(ArrayRef(y.shape).drop_front(2));
  for (size_t i = 0; i < y.floats.size(); ++i)
    y.floats[i] += bias.floats[static_cast<int64_t>(i) / inner % channels];
}

void conv(Call &call) {
  Tensor y = convolve(call, call.operand(0), call.operand(1));
  if (!call.failed() && call.has(2))
    addBias(call, y, call.operand(2));
  call.setResult(0, std::move(y));
}

/// Pads that give `wanted` positions: half of what is too much at each side,
/// an odd one in front unless SAME_UPPER puts it at the end.
void padsFor(Window &w, int d, int64_t full, int64_t wanted, bool upper) {
  const int64_t all = std::max<int64_t>(full - wanted, 0);
  w.low[d] = upper ? all / 2 : all - all / 2;
  w.out[d] = wanted;
}

/// The window of a transposed convolution: `in` are the operand's extents, and
/// at() says which result an element reaches.
Window transposedWindow(Call &call, ArrayRef<int64_t> spatial,
                        ArrayRef<int64_t> kernel, ArrayRef<int64_t> pads) {
  const size_t rank = spatial.size();
  Window w;
  const Shape strides = listOf(call, "strides", rank, 1),
              dilations = listOf(call, "dilations", rank, 1),
              extra = listOf(call, "output_padding", rank, 0);
  Shape wanted = call.getInts("output_shape");
  if (wanted.size() == rank + 2) // Some writers add batch and channels.
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  const std::string mode = call.getString("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!call.require(pads.size() == 2 * rank, "the pads do not fit"))
    return w;
  for (size_t i = 0; i < rank && !call.failed(); ++i) {
    const auto d = static_cast<int>(3 - rank + i);
    w.in[d] = spatial[i];
    w.kernel[d] = kernel[i];
    w.stride[d] = strides[i];
    w.dilation[d] = dilations[i];
    const int64_t full = (spatial[i] - 1) * strides[i] +
                         (kernel[i] - 1) * dilations[i] + 1 + extra[i];
    if (!wanted.empty()) {
      if (call.require(wanted.size() == rank, "output_shape of another rank"))
        padsFor(w, d, full, wanted[i], mode == "SAME_UPPER");
    } else if (same) {
      padsFor(w, d, full, spatial[i] * strides[i], mode == "SAME_UPPER");
    } else {
      w.low[d] = mode == "VALID" ? 0 : pads[i];
      w.out[d] = full - w.low[d] - (mode == "VALID" ? 0 : pads[i + rank]);
    }
    call.require(w.out[d] >= 0, "the result has a negative extent");
  }
  return w;
}

/// Adds `factor` times the taps of one kernel to where the element at `from`
/// of the operand reaches.
void scatter(const Window &w, const int64_t (&from)[3], double factor,
             const double *taps, double *plane) {
  for (int64_t kz = 0; kz < w.kernel[0]; ++kz) {
    const int64_t z = w.at(0, from[0], kz);
    for (int64_t ky = 0; ky < w.kernel[1]; ++ky) {
      const int64_t y = w.at(1, from[1], ky);
      for (int64_t kx = 0; kx < w.kernel[2]; ++kx, ++taps) {
        const int64_t x = w.at(2, from[2], kx);
        if (z >= 0 && z < w.out[0] && y >= 0 && y < w.out[1] && x >= 0 &&
            x < w.out[2])
          plane[(z * w.out[1] + y) * w.out[2] + x] += factor * *taps;
      }
    }
  }
}

/// Weights are [C, M / group, ...]. The bias is operand `biasAt`.
void transposedConv(Call &call, ArrayRef<int64_t> pads, size_t biasAt) {
  const Tensor &x = call.operand(0), &w = call.operand(1);
  if (!checkOperands(call, x, w))
    return;
  const int64_t group = call.getInt("group", 1), channels = x.shape[1];
  if (!call.require(group > 0 && channels % group == 0 &&
                        w.shape[0] == channels,
                    "channels, groups and weights do not fit"))
    return;
  const Window window =
      transposedWindow(call, ArrayRef<int64_t>(x.shape).drop_front(2),
                       ArrayRef<int64_t>(w.shape).drop_front(2), pads);
  if (call.failed())
    return;
  const int64_t perGroup = w.shape[1], results = perGroup * group;
  Tensor y(x.type, resultShape(window, x.shape[0], results, x.shape.size()));
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    const int64_t place = i % window.inSize(),
                  c = i / window.inSize() % channels,
                  n = i / window.inSize() / channels;
    const int64_t from[3] = {place / window.in[2] / window.in[1],
                             place / window.in[2] % window.in[1],
                             place % window.in[2]};
    for (int64_t m = 0; m < perGroup; ++m) {
      const int64_t out = c / (channels / group) * perGroup + m;
      scatter(window, from, x.floats[i],
              w.floats.data() + (c * perGroup + m) * window.kernelSize(),
              y.floats.data() + (n * results + out) * window.outSize());
    }
  }
  if (call.has(biasAt))
    addBias(call, y, call.operand(biasAt));
  call.setResult(0, std::move(y));
}

size_t spatialRank(Call &call) {
  return std::max<int64_t>(rankOf(call.operand(0)), 2) - 2;
}

void convTranspose(Call &call) {
  transposedConv(call, listOf(call, "pads", 2 * spatialRank(call), 0), 2);
}

/// The pads are an operand.
void convTransposeOfPads(Call &call) {
  transposedConv(
      call, call.has(2) ? call.integers(2) : Shape(2 * spatialRank(call), 0),
      3);
}

} // namespace

Tensor onnxref::convolve(Call &call, const Tensor &x, const Tensor &w) {
  if (!checkOperands(call, x, w))
    return {};
  const int64_t group = call.getInt("group", 1), channels = w.shape[1];
  const int64_t results = w.shape[0], batch = x.shape[0];
  if (!call.require(group > 0 && channels * group == x.shape[1] &&
                        results % group == 0,
                    "channels, groups and weights do not fit"))
    return {};
  const Window window =
      readWindow(call, ArrayRef<int64_t>(x.shape).drop_front(2),
                 ArrayRef<int64_t>(w.shape).drop_front(2), /*ceil=*/false);
  if (call.failed())
    return {};
  Tensor y(x.type, resultShape(window, batch, results, x.shape.size()));
  const int64_t depth = channels * window.kernelSize(), rows = results / group,
                size = window.outSize(), bandSize = bandSizeOf(depth);
  std::vector<double> patches(depth * bandSize);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t g = 0; g < group; ++g)
      for (int64_t begin = 0; begin < size; begin += bandSize) {
        const int64_t end = std::min(size, begin + bandSize);
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t channel = g * channels + k / window.kernelSize();
          patchRow(x.floats.data() +
                       (n * x.shape[1] + channel) * window.inSize(),
                   window, k % window.kernelSize(), begin, end,
                   patches.data() + k * bandSize);
        }
        reference::gemm(
            {rows, end - begin, depth},
            {w.floats.data() + g * rows * depth, depth},
            {patches.data(), bandSize},
            reference::MatrixRows<double>{
                y.floats.data() + (n * results + g * rows) * size + begin,
                size});
      }
  return y;
}

std::vector<EvaluatorRow> onnxref::convolutionEvaluators() {
  return {
      {"Conv", {1, 11, 22}, 2, conv},
      {"ConvTranspose", {1, 11, 22}, 2, convTranspose},
      {"ConvTransposeWithDynamicPads",
       {1},
       2,
       convTransposeOfPads,
       Continuity::Smooth,
       "com.microsoft"},
  };
}
