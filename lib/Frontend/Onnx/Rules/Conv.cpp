// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution and transposed convolution.

#include "Contrib/Activations.h"
#include "Windows.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Checks ranks and kernel_shape; false after recording an error.
bool checkOperands(Node &n, Value x, Value w) {
  if (!x || !w || n.failed())
    return false;
  if (rankOf(x) < 3 || rankOf(x) > 5) {
    n.unsupported("the input {} has {} spatial dimensions, expected 1 to 3",
                  typeText(x), rankOf(x) - 2);
    return false;
  }
  if (rankOf(w) != rankOf(x)) {
    n.malformed("the weights {} have another rank than the input {}",
                typeText(w), typeText(x));
    return false;
  }
  if (elementOf(x) != elementOf(w)) {
    n.malformed("operands have different types: {} and {}", typeText(x),
                typeText(w));
    return false;
  }
  Shape kernel(shapeOf(w).drop_front(2));
  Shape stated(n.getInts("kernel_shape"));
  if (!stated.empty() && stated != kernel) {
    n.malformed("kernel_shape is {}, the weights {} say {}",
                shapeToString(stated), typeText(w), shapeToString(kernel));
    return false;
  }
  return !n.failed();
}

void conv(Node &n) {
  Value x = n.input(0), w = n.input(1);
  if (!checkOperands(n, x, w))
    return;
  WindowAttributes window =
      readWindow(n, shapeOf(x).drop_front(2), shapeOf(w).drop_front(2));
  Emitter::ConvAttributes a = {window.strides, window.pads, window.dilations,
                               n.getInt("group", 1)};
  Value y = quantisedConv(n, a);
  n.setOutput(0, y ? y : n.conv(x, w, n.optionalInput(2), a));
}

/// Output 0 plus operand 3, if there is one, and the activation.
void addAndActivate(Node &n, StringRef name, ArrayRef<double> parameters) {
  Value y = n.outputs()[0];
  if (y && n.hasInput(3)) {
    if (shapeOf(n.input(3)) != shapeOf(y)) {
      n.malformed("operand 3 is {}, the result {}", typeText(n.input(3)),
                  typeText(y));
      return;
    }
    y = n.binary<AddOp>(y, n.input(3));
  }
  n.setOutput(0, activate(n, y, name, parameters));
}

void fusedConv(Node &n) {
  const std::string name = n.getString("activation", "");
  const SmallVector<double> parameters = n.getFloats("activation_params");
  conv(n);
  addAndActivate(n, name, parameters);
}

/// Feature maps with the channels in the last axis, the weights as Conv has
/// them.
Value convOfLast(Node &n) {
  Value x = channelsFirst(n, n.input(0), /*last=*/true), w = n.input(1);
  if (!checkOperands(n, x, w))
    return nullptr;
  WindowAttributes window =
      readWindow(n, shapeOf(x).drop_front(2), shapeOf(w).drop_front(2));
  return channelsLast(n,
                      n.conv(x, w, n.optionalInput(2),
                             {window.strides, window.pads, window.dilations,
                              n.getInt("group", 1)}),
                      /*last=*/true);
}

void nhwcConv(Node &n) { n.setOutput(0, convOfLast(n)); }

void nhwcFusedConv(Node &n) {
  const std::string name = n.getString("activation", "");
  const SmallVector<double> parameters = n.getFloats("activation_params");
  n.setOutput(0, convOfLast(n));
  addAndActivate(n, name, parameters);
}

/// Begin and end pads that give the size `wanted`: SAME_UPPER puts the odd one
/// at the end, everything else at the beginning. A size beyond the full one
/// extends the end.
void splitPads(int64_t full, int64_t wanted, bool upper, int64_t &begin,
               int64_t &end) {
  int64_t total = std::max<int64_t>(full - wanted, 0);
  begin = upper ? total / 2 : total - total / 2;
  end = full - wanted - begin;
}

/// With the pads and the bias, which operators have in different places.
void transposedConv(Node &n, ArrayRef<int64_t> pads, Value bias) {
  Value x = n.input(0), w = n.input(1);
  if (!checkOperands(n, x, w))
    return;
  size_t rank = rankOf(x) - 2;
  std::string mode = n.getString("auto_pad", "NOTSET");
  Shape outputShape(n.getInts("output_shape"));
  Shape extra = listAttribute(n, "output_padding", rank, 0);
  Emitter::ConvAttributes a;
  a.strides = listAttribute(n, "strides", rank, 1);
  a.dilations = listAttribute(n, "dilations", rank, 1);
  a.pads.assign(pads.begin(), pads.end());
  if (a.pads.empty())
    a.pads = listAttribute(n, "pads", 2 * rank, 0);
  a.group = n.getInt("group", 1);
  if (!n.failed() && a.pads.size() != 2 * rank)
    n.malformed("there are {} pads, expected {}", a.pads.size(), 2 * rank);
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID" && !mode.empty())
    n.malformed("auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or "
                "SAME_LOWER",
                printable(mode));
  // Some writers put batch and channels into output_shape.
  if (outputShape.size() == rank + 2)
    outputShape.erase(outputShape.begin(), outputShape.begin() + 2);
  if (!outputShape.empty() && outputShape.size() != rank)
    n.malformed("output_shape has {} entries, expected {}", outputShape.size(),
                rank);
  if (n.failed())
    return;
  for (size_t i = 0; i < rank; ++i) {
    int64_t kernel = shapeOf(w)[2 + i], size = shapeOf(x)[2 + i];
    if (extra[i] < 0 || kernel < 1 || a.dilations[i] < 1 || a.strides[i] < 1) {
      n.malformed("kernel {}, stride {}, dilation {} or output_padding {} of "
                  "spatial dimension {} is out of range",
                  kernel, a.strides[i], a.dilations[i], extra[i], i);
      return;
    }
    if (kernel > (int64_t(1) << 30) || size > (int64_t(1) << 30)) {
      n.malformed("spatial dimension {} is too large", i);
      return;
    }
    int64_t full = (size - 1) * a.strides[i] + (kernel - 1) * a.dilations[i] +
                   1 + extra[i];
    if (!outputShape.empty())
      splitPads(full, outputShape[i], mode == "SAME_UPPER", a.pads[i],
                a.pads[i + rank]);
    else if (same)
      splitPads(full, size * a.strides[i], mode == "SAME_UPPER", a.pads[i],
                a.pads[i + rank]);
    else if (mode == "VALID")
      a.pads[i] = a.pads[i + rank] = 0;
    a.pads[i + rank] -= extra[i];
  }
  n.setOutput(0, n.convTranspose(x, w, bias, a));
}

void convTranspose(Node &n) { transposedConv(n, {}, n.optionalInput(2)); }

/// The pads are an operand, which must be constant.
void convTransposeOfPads(Node &n) {
  SmallVector<int64_t> pads;
  if (n.hasInput(2)) {
    auto given = n.constantIntegers(2, "Pads");
    if (!given)
      return;
    pads = *given;
    for (int64_t pad : pads)
      if (pad < 0 || pad > (int64_t(1) << 30))
        n.malformed("Pads has the entry {}", pad);
  }
  if (!n.failed())
    transposedConv(n, pads, n.optionalInput(3));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::convRows() {
  return {
      {"Conv",
       {1, 11, 22},
       conv,
       "one operation; 1 to 3 spatial dimensions, groups, dilations, every "
       "form of padding; an integer product if operands are dequantised"},
      {"FusedConv",
       {1},
       fusedConv,
       "as Conv, a sum and one operation for the activation",
       "com.microsoft"},
      {"NhwcConv",
       {1},
       nhwcConv,
       "as Conv between transposes; the channels are last",
       "com.microsoft"},
      {"NhwcFusedConv",
       {1},
       nhwcFusedConv,
       "as FusedConv between transposes; the channels are last",
       "com.microsoft"},
      {"ConvTransposeWithDynamicPads",
       {1},
       convTransposeOfPads,
       "as ConvTranspose; Pads must be constant",
       "com.microsoft"},
      {"ConvTranspose",
       {1, 11, 22},
       convTranspose,
       "one operation; 1 to 3 spatial dimensions, `output_shape` and "
       "`output_padding` become pads"},
  };
}
