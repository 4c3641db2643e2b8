// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Window attributes. auto_pad follows ONNX: SAME makes ceil(size / stride)
// windows and puts an odd pad at the end (UPPER) or the beginning (LOWER).

#include "Windows.h"

using namespace ashlar;
using namespace ashlar::frontend;

namespace {

/// Sizes and strides beyond this are nonsense and would overflow products.
constexpr int64_t largestEntry = int64_t(1) << 31;

} // namespace

Shape ashlar::frontend::listAttribute(Node &n, StringRef name, size_t count,
                                      int64_t defaultValue) {
  Shape values(n.getInts(name));
  if (values.empty())
    return Shape(count, defaultValue);
  if (values.size() != count) {
    n.malformed("attribute '{}' has {} entries, expected {}", name.str(),
                values.size(), count);
    return Shape(count, 1);
  }
  for (int64_t value : values)
    if (value < -largestEntry || value > largestEntry) {
      n.malformed("attribute '{}' has the entry {}", name.str(), value);
      return Shape(count, 1);
    }
  return values;
}

WindowAttributes ashlar::frontend::readWindow(Node &n, ShapeRef spatial,
                                              ShapeRef kernel) {
  size_t rank = spatial.size();
  WindowAttributes w;
  w.kernel.assign(kernel.begin(), kernel.end());
  w.strides = listAttribute(n, "strides", rank, 1);
  w.dilations = listAttribute(n, "dilations", rank, 1);
  w.pads = listAttribute(n, "pads", 2 * rank, 0);
  std::string mode = n.getString("auto_pad", "NOTSET");
  if (n.failed() || mode == "NOTSET" || mode.empty())
    return w;
  if (mode == "VALID") {
    w.pads.assign(2 * rank, 0);
    return w;
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    n.malformed("auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or "
                "SAME_LOWER",
                printable(mode));
    return w;
  }
  w.samePadding = true;
  for (size_t i = 0; i < rank; ++i) {
    int64_t stride = w.strides[i];
    if (stride < 1 || kernel[i] < 1 || kernel[i] > largestEntry ||
        w.dilations[i] < 1 || spatial[i] > largestEntry) {
      n.malformed("kernel {}, stride {} and dilation {} of spatial dimension "
                  "{} are not all positive",
                  kernel[i], stride, w.dilations[i], i);
      return w;
    }
    int64_t windows = (spatial[i] + stride - 1) / stride;
    int64_t extent = (kernel[i] - 1) * w.dilations[i] + 1;
    int64_t total =
        std::max<int64_t>((windows - 1) * stride + extent - spatial[i], 0);
    int64_t small = total / 2, large = total - small;
    w.pads[i] = mode == "SAME_UPPER" ? small : large;
    w.pads[i + rank] = mode == "SAME_UPPER" ? large : small;
  }
  return w;
}

Value ashlar::frontend::channelsFirst(Node &n, Value x, bool last) {
  if (!x || !last || rankOf(x) < 3)
    return x;
  SmallVector<int64_t> perm = {0, rankOf(x) - 1};
  for (int64_t i = 1; i + 1 < rankOf(x); ++i)
    perm.push_back(i);
  return n.transpose(x, perm);
}

Value ashlar::frontend::channelsLast(Node &n, Value x, bool last) {
  if (!x || !last || rankOf(x) < 3)
    return x;
  SmallVector<int64_t> perm = {0};
  for (int64_t i = 2; i < rankOf(x); ++i)
    perm.push_back(i);
  perm.push_back(1);
  return n.transpose(x, perm);
}
