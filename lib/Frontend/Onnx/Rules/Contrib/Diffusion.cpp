// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What optimisers make of the networks of image generators: normalisations of
// groups of channels, and biases with what follows them.

#include "Activations.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The attributes of both normalisations of groups.
struct Groups {
  int64_t count;
  bool silu, last; ///< Activation, and channels in the last axis.
  double epsilon;
};

std::optional<Groups> readGroups(Node &n) {
  const int64_t activation = n.getInt("activation", 0);
  const Groups g = {n.getInt("groups", 0), activation == 1,
                    n.getInt("channels_last", 1) != 0,
                    n.getFloat("epsilon", 1e-5f)};
  if (!n.failed() && activation != 0 && activation != 1)
    n.malformed("activation is {}, expected 0 or 1", activation);
  return n.failed() ? std::nullopt : std::optional<Groups>(g);
}

int64_t channelsOf(Value x, const Groups &g) {
  return g.last ? shapeOf(x).back() : shapeOf(x)[1];
}

/// One number per channel as a tensor that broadcasts to \p x.
Value perChannel(Node &n, Value parameter, Value x, const Groups &g,
                 StringRef name) {
  if (n.failed() || !parameter || !x)
    return nullptr;
  if (shapeOf(parameter) != ShapeRef(channelsOf(x, g)))
    return n.malformed("{} is {}, expected {} numbers", name.str(),
                       typeText(parameter), channelsOf(x, g));
  if (g.last)
    return parameter;
  Shape shape(shapeOf(parameter));
  shape.append(rankOf(x) - 2, 1);
  return n.reshape(parameter, shape);
}

/// (x - mean) / sqrt(variance + epsilon) of every group. Groups of the last
/// axis are an axis of their own, so that nothing is moved.
Value normaliseGroups(Node &n, Value x, const Groups &g) {
  const Shape shape(shapeOf(x));
  const int64_t channels = channelsOf(x, g);
  Shape apart;
  SmallVector<int64_t> axes;
  if (g.last) {
    const int64_t places =
        elementCount(ShapeRef(shape).drop_front(1).drop_back());
    apart = {shape[0], places, g.count, channels / g.count};
    axes = {1, 3};
  } else {
    apart = {shape[0], g.count,
             elementCount(ShapeRef(shape).drop_front(1)) / g.count};
    axes = {2};
  }
  x = n.reshape(x, apart);
  Value centred = n.binary<SubOp>(x, n.reduce(ReduceKind::Mean, x, axes, true));
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), axes, true);
  if (!variance)
    return nullptr;
  Value deviation = n.unary(
      UnaryFunction::Sqrt,
      n.binary<AddOp>(variance, n.splat(g.epsilon, elementOf(variance))));
  return n.reshape(n.binary<DivOp>(centred, deviation), shape);
}

/// The normalisation of \p x, its scale and shift, and the activation.
/// Parameters of another type are of binary32, as the sums then are.
Value groupNormed(Node &n, Value x, const Groups &g) {
  Value scale = n.input(1), shift = n.input(2);
  if (n.failed() || !x || !scale || !shift)
    return nullptr;
  if (rankOf(x) < 3 || g.count < 1 || channelsOf(x, g) % g.count != 0 ||
      elementCount(shapeOf(x)) == 0)
    return n.malformed("groups is {} for the input {}", g.count, typeText(x));
  const Type given = elementOf(x);
  const bool mixed = elementOf(scale) != given || elementOf(shift) != given;
  const Type type = mixed ? f32Of(n) : given;
  Value y = normaliseGroups(n, n.cast(x, type), g);
  y = n.binary<MulOp>(y, perChannel(n, n.cast(scale, type), y, g, "gamma"));
  y = n.binary<AddOp>(y, perChannel(n, n.cast(shift, type), y, g, "beta"));
  if (g.silu)
    y = n.unary(UnaryFunction::Swish, y, 1);
  return y ? n.cast(y, given) : Value();
}

void groupNorm(Node &n) {
  std::optional<Groups> g = readGroups(n);
  if (Value x = n.input(0); g && x)
    n.setOutput(0, groupNormed(n, x, *g));
}

/// A residual of the shape of x, or one number per channel of each image.
Value residual(Node &n, Value x, const Groups &g) {
  Value skip = n.input(3);
  if (!skip || shapeOf(skip) == shapeOf(x))
    return skip;
  const int64_t batch = shapeOf(x)[0], channels = channelsOf(x, g);
  Shape each(rankOf(x), 1);
  each[0] = batch;
  each[g.last ? rankOf(x) - 1 : 1] = channels;
  if (shapeOf(skip) == ShapeRef(each) ||
      shapeOf(skip) == ShapeRef({batch, channels}))
    return n.reshape(skip, each);
  return n.malformed("skip is {} for the input {}, expected its shape or {}",
                     typeText(skip), typeText(x), shapeToString(each));
}

void skipGroupNorm(Node &n) {
  std::optional<Groups> g = readGroups(n);
  Value x = n.input(0);
  if (!g || !x)
    return;
  if (rankOf(x) < 3) {
    n.malformed("the input is {}, expected 3 dimensions or more", typeText(x));
    return;
  }
  Value sum = n.binary<AddOp>(x, residual(n, x, *g));
  if (n.hasInput(4) && sum)
    sum = n.binary<AddOp>(sum, perChannel(n, n.input(4), sum, *g, "the bias"));
  n.setOutput(0, groupNormed(n, sum, *g));
  n.setOutput(1, sum);
}

void biasAdd(Node &n) {
  Value sum = withBias(n, n.input(0), n.input(1)), skip = n.input(2);
  if (!sum || !skip)
    return;
  if (shapeOf(skip) != shapeOf(sum)) {
    n.malformed("skip is {}, the input {}", typeText(skip), typeText(sum));
    return;
  }
  n.setOutput(0, n.binary<AddOp>(sum, skip));
}

/// The left half of the last axis times the Gelu of the right one.
void biasSplitGelu(Node &n) {
  Value sum = withBias(n, n.input(0), n.input(1));
  if (!sum)
    return;
  const int64_t last = rankOf(sum) - 1, half = shapeOf(sum).back() / 2;
  if (2 * half != shapeOf(sum).back()) {
    n.malformed("the input is {}, expected an even last dimension",
                typeText(sum));
    return;
  }
  n.setOutput(0, n.binary<MulOp>(n.sliceAxis(sum, last, 0, half),
                                 n.unary(UnaryFunction::Gelu,
                                         n.sliceAxis(sum, last, half, half))));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::diffusionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"GroupNorm",
       {1},
       groupNorm,
       "reductions and element-wise operations; channels first or last",
       domain},
      {"SkipGroupNorm", {1}, skipGroupNorm, "sums, then as GroupNorm", domain},
      {"BiasAdd", {1}, biasAdd, "sums", domain},
      {"BiasSplitGelu",
       {1},
       biasSplitGelu,
       "a sum, one operation on a half and a product",
       domain},
  };
}
