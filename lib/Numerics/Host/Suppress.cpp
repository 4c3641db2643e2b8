// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Non-maximum suppression. Every step of an overlap is rounded to binary32, in
// the order of docs/Numerics.md 14.

#include "ashlar/Numerics/HostFunctions.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace ashlar;
using namespace ashlar::numerics;
using llvm::ArrayRef;
using llvm::MutableArrayRef;

namespace {

/// A box by its edges, and its area.
struct Box {
  float left, top, right, bottom, area;
};

Box boxAt(const float *at, bool center) {
  Box box;
  if (center) {
    const float halfWidth = at[2] / 2.0f, halfHeight = at[3] / 2.0f;
    box.left = at[0] - halfWidth, box.right = at[0] + halfWidth;
    box.top = at[1] - halfHeight, box.bottom = at[1] + halfHeight;
  } else {
    // Corners may come in any order.
    box.top = std::min(at[0], at[2]), box.bottom = std::max(at[0], at[2]);
    box.left = std::min(at[1], at[3]), box.right = std::max(at[1], at[3]);
  }
  box.area = (box.right - box.left) * (box.bottom - box.top);
  return box;
}

/// True if the overlap of two boxes exceeds `iou`. Empty boxes overlap nothing.
bool overlaps(const Box &a, const Box &b, float iou) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0) || !(height > 0))
    return false;
  const float shared = width * height;
  const float together = a.area + b.area - shared;
  if (!(a.area > 0) || !(b.area > 0) || !(together > 0))
    return false;
  return shared / together > iou;
}

/// Comparisons to sort `count` scores.
uint64_t sortSteps(uint64_t count) {
  return count < 2 ? count : count * std::bit_width(count - 1);
}

/// One batch and class.
struct Suppressor {
  const Suppression &asked;
  uint64_t limit;
  uint64_t steps = 0;
  std::vector<uint64_t> candidates = {}, kept = {};
  std::vector<Box> keptBoxes = {};

  void run(const float *boxes, const float *scores) {
    candidates.clear();
    kept.clear();
    keptBoxes.clear();
    for (uint64_t i = 0; i < asked.boxes; ++i)
      if (asked.filtered ? scores[i] > asked.least : scores[i] == scores[i])
        candidates.push_back(i);
    std::sort(candidates.begin(), candidates.end(),
              [&](uint64_t a, uint64_t b) {
                return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
              });
    steps += asked.boxes + sortSteps(candidates.size());
    for (uint64_t index : candidates) {
      if (kept.size() >= limit)
        break;
      const Box box = boxAt(boxes + 4 * index, asked.center);
      bool free = true;
      for (size_t k = 0; k < keptBoxes.size() && free; ++k, ++steps)
        free = !overlaps(box, keptBoxes[k], asked.iou);
      if (!free)
        continue;
      kept.push_back(index);
      keptBoxes.push_back(box);
    }
  }
};

} // namespace

uint64_t numerics::suppressBoxes(const Suppression &asked,
                                 ArrayRef<float> boxes, ArrayRef<float> scores,
                                 MutableArrayRef<int64_t> result) {
  std::fill(result.begin(), result.end(), kNoIndex);
  const uint64_t wanted =
      asked.most < 0 ? 0 : static_cast<uint64_t>(asked.most);
  Suppressor suppressor{asked, std::min(wanted, asked.keep)};
  uint64_t row = 0;
  for (uint64_t batch = 0; batch < asked.batches; ++batch)
    for (uint64_t cls = 0; cls < asked.classes; ++cls) {
      suppressor.run(boxes.data() + batch * asked.boxes * 4,
                     scores.data() +
                         (batch * asked.classes + cls) * asked.boxes);
      for (uint64_t index : suppressor.kept) {
        result[3 * row] = static_cast<int64_t>(batch);
        result[3 * row + 1] = static_cast<int64_t>(cls);
        result[3 * row + 2] = static_cast<int64_t>(index);
        ++row;
      }
    }
  return suppressor.steps;
}
