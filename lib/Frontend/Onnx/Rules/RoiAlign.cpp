// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions of an image sampled to one size. Regions may be known at run time if
// the number of samples per bin is given; a number that follows from the size
// of each region needs constant ones.

#include "lib/Frontend/Onnx/Registry.h"

#include <array>
#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

using F = UnaryFunction;

struct Regions {
  bool maximum = false;
  double scale = 1, offset = 0;
  bool atLeastOne = false; ///< Regions are no smaller than one point.
  int64_t bins[2] = {1, 1};
};

/// The two places of a dimension that each of `count * samples` coordinates
/// reads, and their weights: [regions, bins * samples].
struct Line {
  Value index[2], weight[2];
};

Line lineOf(Node &n, const Regions &r, Value rois, int d, int64_t samples,
            int64_t extent) {
  const Type element = elementOf(rois);
  auto number = [&](double value) { return n.splat(value, element); };
  auto edge = [&](int64_t column) {
    Value x = n.binary<MulOp>(n.sliceAxis(rois, 1, column, 1), number(r.scale));
    return n.binary<SubOp>(x, number(r.offset));
  };
  // Columns are x1, y1, x2, y2; dimension 0 is y.
  Value start = edge(1 - d), size = n.binary<SubOp>(edge(3 - d), start);
  if (r.atLeastOne)
    size = n.binary<MaxOp>(size, number(1));
  SmallVector<double> steps;
  if (!n.reserve(r.bins[d] * samples, sizeof(double)))
    return {};
  for (int64_t i = 0; i < r.bins[d] * samples; ++i)
    steps.push_back((static_cast<double>(i / samples) +
                     (static_cast<double>(i % samples) + 0.5) /
                         static_cast<double>(samples)) /
                    static_cast<double>(r.bins[d]));
  Value step = n.floats(steps, {1, r.bins[d] * samples}, element);
  Value y = n.binary<AddOp>(start, n.binary<MulOp>(size, step));
  const auto last = static_cast<double>(extent - 1);
  Value valid = n.logical(
      LogicalKind::And, n.compare(CompareKind::GreaterOrEqual, y, number(-1)),
      n.compare(CompareKind::LessOrEqual, y, number(last + 1)));
  Value inside = n.unary(F::Clip, y, 0, last);
  Value low = n.unary(F::Floor, inside);
  Value fraction = n.binary<SubOp>(inside, low);
  const Type type = mlir::IntegerType::get(n.context(), 64);
  Line line;
  line.index[0] = n.cast(low, type);
  line.index[1] = n.cast(
      n.binary<MinOp>(n.binary<AddOp>(low, number(1)), number(last)), type);
  line.weight[0] =
      n.where(valid, n.binary<SubOp>(number(1), fraction), number(0));
  line.weight[1] = n.where(valid, fraction, number(0));
  return line;
}

/// Samples of regions [g, 4] of maps [g, channels, height, width].
Value sampleRegions(Node &n, const Regions &r, Value maps, Value rois,
                    std::array<int64_t, 2> samples) {
  if (!maps || !rois)
    return nullptr;
  const Shape shape(shapeOf(maps));
  const int64_t count[2] = {r.bins[0] * samples[0], r.bins[1] * samples[1]};
  const Line rows = lineOf(n, r, rois, 0, samples[0], shape[2]),
             columns = lineOf(n, r, rois, 1, samples[1], shape[3]);
  if (n.failed())
    return nullptr;
  const Type type = mlir::IntegerType::get(n.context(), 64);
  Value flat = n.reshape(maps, {shape[0], shape[1], shape[2] * shape[3]});
  auto down = [&](Value x) { return n.reshape(x, {shape[0], count[0], 1}); };
  auto across = [&](Value x) { return n.reshape(x, {shape[0], 1, count[1]}); };
  const Shape line = {shape[0], 1, count[0] * count[1]};
  Value sum;
  for (int i = 0; i < 4; ++i) {
    Value row = n.binary<MulOp>(down(rows.index[i / 2]),
                                n.integers(shape[3], {}, type));
    Value place = n.binary<AddOp>(row, across(columns.index[i % 2]));
    Value weight = n.binary<MulOp>(down(rows.weight[i / 2]),
                                   across(columns.weight[i % 2]));
    Value part = n.binary<MulOp>(n.takeAt(flat, n.reshape(place, line), 2),
                                 n.reshape(weight, line));
    sum = !sum        ? part
          : r.maximum ? n.binary<MaxOp>(sum, part)
                      : n.binary<AddOp>(sum, part);
  }
  Value apart = n.reshape(
      sum, {shape[0], shape[1], r.bins[0], samples[0], r.bins[1], samples[1]});
  return n.reduce(r.maximum ? ReduceKind::Max : ReduceKind::Mean, apart, {3, 5},
                  /*keepdims=*/false);
}

/// The maps that the regions lie in.
Value mapsOf(Node &n, Value x, Value batches) {
  const Shape shape(shapeOf(x));
  const int64_t inner = shape[1] * shape[2] * shape[3];
  const int64_t count = elementCount(shapeOf(batches));
  const std::optional<SmallVector<int64_t>> known = integersOf(batches);
  Value rows = n.reshape(x, {shape[0], inner});
  Value chosen = known ? n.gather(rows, 0, *known)
                       : n.takeAt(rows, n.reshape(batches, {count, 1}), 0);
  return n.reshape(chosen, {count, shape[1], shape[2], shape[3]});
}

/// Every region with as many samples as its size requires.
Value sampleBySize(Node &n, const Regions &r, Value maps, Value rois) {
  const std::optional<SmallVector<double>> known = numbersOf(rois);
  if (!known)
    return n.unsupported("sampling_ratio is 0, so that the number of samples "
                         "follows from the regions, which are not constant; "
                         "give a sampling_ratio");
  SmallVector<Value> parts;
  for (int64_t i = 0; i < shapeOf(rois)[0] && !n.failed(); ++i) {
    std::array<int64_t, 2> samples;
    for (int d = 0; d < 2; ++d) {
      const double *roi = known->data() + 4 * i;
      const double size = (roi[3 - d] - roi[1 - d]) * r.scale;
      const double wanted = std::ceil(std::max(size, r.atLeastOne ? 1.0 : 0.0) /
                                      static_cast<double>(r.bins[d]));
      if (!(wanted <= 1 << 16))
        return n.malformed("region {} has a size of {}", i, size);
      samples[d] = std::max<int64_t>(static_cast<int64_t>(wanted), 1);
    }
    parts.push_back(sampleRegions(n, r, n.sliceAxis(maps, 0, i, 1),
                                  n.sliceAxis(rois, 0, i, 1), samples));
  }
  return n.concat(parts, 0);
}

void roiAlign(Node &n) {
  Value x = n.input(0), rois = n.input(1), batches = n.input(2);
  Regions r;
  r.scale = n.getFloat("spatial_scale", 1);
  r.bins[0] = n.getInt("output_height", 1);
  r.bins[1] = n.getInt("output_width", 1);
  const int64_t ratio = n.getInt("sampling_ratio", 0);
  const std::string mode = n.getString("mode", "avg");
  const bool half =
      n.opset() >= 16 && n.getString("coordinate_transformation_mode",
                                     "half_pixel") == "half_pixel";
  r.offset = half ? 0.5 : 0;
  r.atLeastOne = !half;
  r.maximum = mode == "max";
  if (!x || !rois || !batches)
    return;
  constexpr int64_t most = 1 << 16;
  if (rankOf(x) != 4 || rankOf(rois) != 2 || shapeOf(rois)[1] != 4 ||
      shapeOf(batches) != ShapeRef(shapeOf(rois)[0]) ||
      elementOf(rois) != elementOf(x) || isFloatElement(batches) ||
      elementCount(shapeOf(x)) == 0 || shapeOf(rois)[0] == 0) {
    n.malformed("regions {} of batches {} in {}", typeText(rois),
                typeText(batches), typeText(x));
    return;
  }
  if (r.bins[0] < 1 || r.bins[1] < 1 || ratio < 0 || r.bins[0] > most ||
      r.bins[1] > most || ratio > most || (mode != "avg" && mode != "max")) {
    n.malformed("{} by {} bins of {} samples, mode '{}'", r.bins[0], r.bins[1],
                ratio, printable(mode));
    return;
  }
  Value maps = mapsOf(n, x, batches);
  n.setOutput(0, ratio == 0 ? sampleBySize(n, r, maps, rois)
                            : sampleRegions(n, r, maps, rois, {ratio, ratio}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::regionRows() {
  return {
      {"RoiAlign",
       {10, 16, 22},
       roiAlign,
       "reads at computed indices times weights; regions must be constant "
       "where sampling_ratio is 0"},
  };
}
