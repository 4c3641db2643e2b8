// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft on positions, one after the other.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Of \p count buckets half are for keys after the query if \p bothWays; half
/// of those left are for one distance each, and the others grow with its
/// logarithm up to \p farthest.
int64_t bucketOf(int64_t offset, int64_t count, int64_t farthest,
                 bool bothWays) {
  int64_t first = 0;
  if (bothWays) {
    count /= 2;
    first = offset > 0 ? count : 0;
  }
  const int64_t distance = std::abs(offset), exact = count / 2;
  if (distance < exact)
    return first + distance;
  // In binary32, whose rounding decides at the borders.
  const float share =
      std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
      std::log(static_cast<float>(farthest) / static_cast<float>(exact)) *
      static_cast<float>(count - exact);
  return first + std::min(exact + static_cast<int64_t>(share), count - 1);
}

/// The table lies head by head.
void relativePositionBias(Call &call) {
  const Tensor &table = call.operand(0);
  const int64_t length = call.integers(1)[0],
                farthest = call.getInt("max_distance", 0);
  const bool bothWays = call.getInt("is_bidirectional", 0) != 0;
  if (!call.require(rankOf(table) == 2 && length > 0 && farthest > 0 &&
                        call.integers(2)[0] == length &&
                        table.shape[0] > (bothWays ? 3 : 1),
                    "lengths or the table do not fit"))
    return;
  const int64_t buckets = table.shape[0];
  call.setResult(0, rearranged(table, {1, table.shape[1], length, length},
                               [&](ArrayRef<int64_t> at) {
                                 return at[1] * buckets +
                                        bucketOf(at[3] - at[2], buckets,
                                                 farthest, bothWays);
                               }));
}

double gateOf(double x) { return 1 / (1 + std::exp(-x)); }

void gatedPositionBias(Call &call) {
  const Tensor &x = call.operand(0), &terms = call.operand(2),
               &w = call.operand(3);
  const int64_t heads = call.getInt("num_heads", 0);
  if (!call.require(rankOf(x) == 3 && heads > 0 && rankOf(w) == 2 &&
                        !call.has(6) && x.shape[2] == heads * w.shape[0] &&
                        w.shape[1] % 2 == 0 &&
                        terms.size() == heads * x.shape[1] * x.shape[1],
                    "operands do not fit"))
    return;
  const int64_t length = x.shape[1], size = w.shape[0], width = w.shape[1];
  Tensor y(x.type, {x.shape[0], heads, length, length});
  forEachIndex(
      {x.shape[0], heads, length}, [&](ArrayRef<int64_t> at, int64_t row) {
        double sums[2] = {0, 0};
        for (int64_t c = 0; c < width; ++c) {
          double sum = call.operand(4).floats[c];
          for (int64_t d = 0; d < size; ++d) {
            const int64_t column = at[1] * size + d;
            sum += (x.floats[(at[0] * length + at[2]) * heads * size + column] +
                    call.operand(1).floats[column]) *
                   w.floats[d * width + c];
          }
          sums[c / (width / 2)] += sum;
        }
        const double gate =
            gateOf(sums[0]) *
                (gateOf(sums[1]) * call.operand(5).floats[at[1]] - 1) +
            2;
        for (int64_t j = 0; j < length; ++j)
          y.floats[row * length + j] =
              gate * terms.floats[(at[1] * length + at[2]) * length + j];
      });
  call.setResult(0, std::move(y));
}

/// The stream of positions that pair i of a head is turned by.
int64_t streamOf(ArrayRef<int64_t> sections, bool inTurn, int64_t i) {
  if (!inTurn)
    return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
  for (int64_t stream : {1, 2})
    if (i % 3 == stream && i < 3 * sections[stream])
      return stream;
  return 0;
}

void rotaryOfStreams(Call &call) {
  const Tensor &x = call.operand(0), &positions = call.operand(1),
               &cosines = call.operand(2), &sines = call.operand(3);
  const bool flat = rankOf(x) == 3,
             adjacent = call.getInt("interleaved", 0) != 0,
             inTurn = call.getInt("mrope_layout", 0) == 1;
  const SmallVector<int64_t> sections = call.getInts("mrope_section");
  if (!call.require((flat || rankOf(x) == 4) && rankOf(cosines) == 2 &&
                        cosines.shape == sines.shape && sections.size() == 3,
                    "operands do not fit"))
    return;
  const int64_t half = cosines.shape[1], batch = x.shape[0],
                length = x.shape[flat ? 1 : 2];
  int64_t heads = flat ? call.getInt("num_heads", 0) : x.shape[1];
  if (heads == 0 && half > 0)
    heads = x.shape[2] / (2 * half);
  const int64_t size =
      heads > 0 ? x.size() / std::max<int64_t>(batch * length * heads, 1) : 0;
  if (!call.require(2 * half <= size && positions.size() == 3 * batch * length,
                    "heads or positions do not fit"))
    return;
  Tensor y = x;
  forEachIndex({batch, length, heads, half}, [&](ArrayRef<int64_t> at,
                                                 int64_t) {
    const int64_t b = at[0], t = at[1], h = at[2], i = at[3],
                  stream = streamOf(sections, inTurn, i),
                  row = positions.ints[(stream * batch + b) * length + t],
                  head = (flat ? (b * length + t) * heads + h
                               : (b * heads + h) * length + t) *
                         size,
                  first = head + (adjacent ? 2 * i : i),
                  second = head + (adjacent ? 2 * i + 1 : i + half);
    if (!call.require(row >= 0 && row < cosines.shape[0], "no such position"))
      return;
    const double c = cosines.floats[row * half + i],
                 s = sines.floats[row * half + i];
    y.floats[first] = c * x.floats[first] - s * x.floats[second];
    y.floats[second] = s * x.floats[first] + c * x.floats[second];
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::positionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"RelativePositionBias", {1}, 3, relativePositionBias, smooth, domain},
      {"GatedRelativePositionBias", {1}, 6, gatedPositionBias, smooth, domain},
      {"MRotaryEmbedding", {1}, 4, rotaryOfStreams, smooth, domain},
  };
}
