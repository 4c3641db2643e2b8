// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host of the naive machine: insertion into lists, comparison of all pairs.

#include "NaiveMachine.h"
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;

namespace {

template <typename T>
T at(const std::vector<uint8_t> &memory, uint64_t address, uint64_t index) {
  T value;
  std::memcpy(&value, &memory[address + index * sizeof(T)], sizeof(T));
  return value;
}

/// Element `i` as a number that holds every type exactly.
long double numberAt(const std::vector<uint8_t> &memory, ElemType type,
                     uint64_t address, uint64_t i) {
  switch (type) {
  case ElemType::F32:
    return at<float>(memory, address, i);
  case ElemType::F64:
    return at<double>(memory, address, i);
  case ElemType::I8:
    return at<int8_t>(memory, address, i);
  case ElemType::I16:
    return at<int16_t>(memory, address, i);
  case ElemType::U16:
    return at<uint16_t>(memory, address, i);
  case ElemType::I32:
    return at<int32_t>(memory, address, i);
  case ElemType::U32:
    return at<uint32_t>(memory, address, i);
  case ElemType::I64:
    return at<int64_t>(memory, address, i);
  case ElemType::U64:
    return at<uint64_t>(memory, address, i);
  default: // The tests draw no halves.
    return at<uint8_t>(memory, address, i);
  }
}

/// -1, 0 or 1; NaN above all numbers.
int compare(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b))
    return int(std::isnan(a)) - int(std::isnan(b));
  return int(a > b) - int(a < b);
}

} // namespace

static void setIndex(std::vector<uint8_t> &memory, uint64_t address, uint64_t i,
                     int64_t value) {
  std::memcpy(&memory[address + 8 * i], &value, 8);
}

void NaiveMachine::run(const isa::HostNonzero &op) {
  const uint64_t n[] = {op.n0, op.n1, op.n2, op.n3, op.n4, op.n5, op.n6, op.n7};
  uint64_t all = 1;
  for (uint64_t extent : n)
    all *= extent;
  for (uint64_t i = 0; i < op.rank * all; ++i)
    setIndex(dram, op.dstBase, i, -1);
  uint64_t found = 0;
  for (uint64_t i = 0; i < all; ++i) {
    if (numberAt(dram, op.type, op.xBase, i) == 0)
      continue;
    uint64_t rest = i;
    for (int d = 7; d >= 8 - int(op.rank); --d) {
      setIndex(dram, op.dstBase, (d - 8 + op.rank) * all + found,
               static_cast<int64_t>(rest % n[d]));
      rest /= n[d];
    }
    ++found;
  }
}

void NaiveMachine::run(const isa::HostSort &op) {
  for (uint64_t o = 0; o < op.outer; ++o)
    for (uint64_t j = 0; j < op.inner; ++j) {
      auto value = [&](uint64_t k) {
        return numberAt(dram, op.type, op.xBase,
                        (o * op.extent + k) * op.inner + j);
      };
      for (uint64_t k = 0; k < op.extent; ++k) {
        // As many go before it.
        uint64_t rank = 0;
        for (uint64_t other = 0; other < op.extent; ++other) {
          const int order =
              (op.descending ? -1 : 1) * compare(value(other), value(k));
          rank += order < 0 || (order == 0 && other < k);
        }
        if (rank < op.keep)
          setIndex(dram, op.dstBase, (o * op.keep + rank) * op.inner + j,
                   static_cast<int64_t>(k));
      }
    }
}

void NaiveMachine::run(const isa::HostUnique &op) {
  auto order = [&](uint64_t a, uint64_t b) {
    for (uint64_t i = 0; i < op.length; ++i)
      if (int c = compare(numberAt(dram, op.type, op.xBase, a * op.length + i),
                          numberAt(dram, op.type, op.xBase, b * op.length + i)))
        return c;
    return 0;
  };
  std::vector<uint64_t> distinct;
  for (uint64_t row = 0; row < op.rows; ++row) {
    bool known = false;
    size_t place = distinct.size();
    for (size_t d = 0; d < distinct.size(); ++d) {
      const int c = order(row, distinct[d]);
      known |= c == 0;
      if (c < 0)
        place = std::min(place, d);
    }
    if (!known)
      distinct.insert(
          distinct.begin() +
              static_cast<ptrdiff_t>(op.sorted ? place : distinct.size()),
          row);
  }
  for (uint64_t i = 0; i < op.rows; ++i) {
    const bool used = i < distinct.size();
    setIndex(dram, op.dstBase, i,
             used ? static_cast<int64_t>(distinct[i]) : -1);
    int64_t occurrences = 0;
    for (uint64_t row = 0; used && row < op.rows; ++row)
      occurrences += order(row, distinct[i]) == 0;
    setIndex(dram, op.dstBase, 2 * uint64_t(op.rows) + i, occurrences);
    for (size_t d = 0; d < distinct.size(); ++d)
      if (order(i, distinct[d]) == 0)
        setIndex(dram, op.dstBase, op.rows + i, static_cast<int64_t>(d));
  }
}

namespace {

struct Edges {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

Edges edgesOf(const float *b, bool center) {
  if (center)
    return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {b[1] < b[3] ? b[1] : b[3], b[0] < b[2] ? b[0] : b[2],
          b[1] < b[3] ? b[3] : b[1], b[0] < b[2] ? b[2] : b[0]};
}

bool meets(const Edges &a, const Edges &b, float iou) {
  const float width = std::fmin(a.right, b.right) - std::fmax(a.left, b.left);
  const float height = std::fmin(a.bottom, b.bottom) - std::fmax(a.top, b.top);
  const float shared = width * height;
  const float all = a.area() + b.area() - shared;
  return width > 0 && height > 0 && a.area() > 0 && b.area() > 0 && all > 0 &&
         shared / all > iou;
}

} // namespace

void NaiveMachine::run(const isa::HostNms &op) {
  const uint64_t rows = uint64_t(op.batches) * op.classes * op.keep;
  for (uint64_t i = 0; i < 3 * rows; ++i)
    setIndex(dram, op.dstBase, i, -1);
  const int64_t most = at<int64_t>(dram, op.mostBase, 0);
  const float iou = at<float>(dram, op.iouBase, 0);
  const float least = at<float>(dram, op.leastBase, 0);
  uint64_t row = 0;
  for (uint64_t list = 0; list < uint64_t(op.batches) * op.classes; ++list) {
    auto score = [&](uint64_t i) {
      return at<float>(dram, op.scoresBase, list * op.boxes + i);
    };
    std::vector<bool> done(op.boxes, false);
    std::vector<uint64_t> kept;
    for (;;) {
      // The best of those that are left, the first of equals.
      uint64_t best = op.boxes;
      for (uint64_t i = 0; i < op.boxes; ++i)
        if (!done[i] &&
            (op.filtered ? score(i) > least : score(i) == score(i)) &&
            (best == op.boxes || score(i) > score(best)))
          best = i;
      if (best == op.boxes || kept.size() >= op.keep ||
          static_cast<int64_t>(kept.size()) >= most)
        break;
      done[best] = true;
      auto edges = [&](uint64_t i) {
        float box[4];
        std::memcpy(
            box, &dram[op.boxesBase + 16 * (list / op.classes * op.boxes + i)],
            sizeof(box));
        return edgesOf(box, op.center);
      };
      bool free = true;
      for (uint64_t other : kept)
        free &= !meets(edges(best), edges(other), iou);
      if (free)
        kept.push_back(best);
    }
    for (uint64_t index : kept) {
      setIndex(dram, op.dstBase, 3 * row,
               static_cast<int64_t>(list / op.classes));
      setIndex(dram, op.dstBase, 3 * row + 1,
               static_cast<int64_t>(list % op.classes));
      setIndex(dram, op.dstBase, 3 * row++ + 2, static_cast<int64_t>(index));
    }
  }
}
