// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Treaps of intervals, and the ranges of partitions that have them.

#include "LatestAccess.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <chrono>

using namespace ashlar;
using namespace ashlar::emulator;

//===- Intervals ----------------------------------------------------------===//

// What no program can know balances the trees; no answer depends on it.
IntervalPool::IntervalPool()
    : random(static_cast<uint32_t>(
                 std::chrono::steady_clock::now().time_since_epoch().count()) |
             1) {}

uint32_t IntervalPool::make(int64_t begin, int64_t end, uint32_t value) {
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  uint32_t node = static_cast<uint32_t>(nodes.size());
  if (unused.empty()) {
    nodes.emplace_back();
  } else {
    node = unused.back();
    unused.pop_back();
  }
  nodes[node] = {begin, end, value, value, 0, 0, random};
  return node;
}

void IntervalPool::release(Root root) {
  std::vector<uint32_t> open;
  for (uint32_t node = root; node || !open.empty();) {
    if (!node) {
      node = open.back();
      open.pop_back();
    }
    unused.push_back(node);
    if (nodes[node].right)
      open.push_back(nodes[node].right);
    node = nodes[node].left;
  }
}

void IntervalPool::update(uint32_t node) {
  Node &n = nodes[node];
  n.most = std::max({n.value, nodes[n.left].most, nodes[n.right].most});
}

void IntervalPool::split(Root root, int64_t at, Root &before, Root &after) {
  if (!root) {
    before = after = 0;
    return;
  }
  Root inner = 0;
  if (nodes[root].begin >= at) {
    split(nodes[root].left, at, before, inner);
    nodes[root].left = inner;
    after = root;
  } else if (nodes[root].end <= at) {
    split(nodes[root].right, at, inner, after);
    nodes[root].right = inner;
    before = root;
  } else {
    // All that is further right begins after this one.
    const Root rest = make(at, nodes[root].end, nodes[root].value);
    after = join(rest, nodes[root].right);
    nodes[root].right = 0;
    nodes[root].end = at;
    before = root;
  }
  update(root);
}

IntervalPool::Root IntervalPool::join(Root before, Root after) {
  if (!before || !after)
    return before ? before : after;
  if (nodes[before].priority > nodes[after].priority) {
    const Root right = join(nodes[before].right, after);
    nodes[before].right = right;
    update(before);
    return before;
  }
  const Root left = join(before, nodes[after].left);
  nodes[after].left = left;
  update(after);
  return after;
}

void IntervalPool::assign(Root &root, int64_t begin, int64_t end,
                          uint32_t value) {
  if (begin >= end)
    return;
  Root before = 0, rest = 0, covered = 0, after = 0;
  split(root, begin, before, rest);
  split(rest, end, covered, after);
  release(covered);
  root = join(join(before, make(begin, end, value)), after);
}

uint32_t IntervalPool::largest(Root root, int64_t begin, int64_t end) const {
  // Of the intervals that begin before `end`, those that end after `begin` are
  // the last ones. Down to where the two bounds part, then along each.
  uint32_t most = 0;
  uint32_t node = root;
  auto own = [&](const Node &n) {
    if (n.begin < end && begin < n.end)
      most = std::max(most, n.value);
  };
  while (node && (nodes[node].begin >= end || nodes[node].end <= begin))
    node = nodes[node].begin >= end ? nodes[node].left : nodes[node].right;
  if (!node)
    return 0;
  own(nodes[node]);
  for (uint32_t n = nodes[node].left; n;) {
    own(nodes[n]);
    if (nodes[n].end > begin) {
      most = std::max(most, nodes[nodes[n].right].most);
      n = nodes[n].left;
    } else {
      n = nodes[n].right;
    }
  }
  for (uint32_t n = nodes[node].right; n;) {
    own(nodes[n]);
    if (nodes[n].begin < end) {
      most = std::max(most, nodes[nodes[n].left].most);
      n = nodes[n].right;
    } else {
      n = nodes[n].left;
    }
  }
  return most;
}

//===- Partitions ---------------------------------------------------------===//

namespace {
/// Calls visit(range, whole) for the fewest ranges that together are
/// [begin, end), whole = true, and for all larger ranges around them. Ranges
/// are numbered as in a heap: the halves of n are 2n and 2n + 1.
template <typename Fn>
void forRanges(uint32_t begin, uint32_t end, unsigned levels, Fn visit) {
  uint32_t low = begin + (1u << levels), high = end + (1u << levels);
  uint32_t first = low, last = high - 1;
  for (; low < high; low >>= 1, high >>= 1) {
    if (low & 1)
      visit(low++, true);
    if (high & 1)
      visit(--high, true);
  }
  // Around the ranges above lies what is around the first or last partition
  // and does not belong to the interior.
  const uint32_t size = 1u << levels;
  for (unsigned up = 1; up <= levels; ++up) {
    first >>= 1;
    last >>= 1;
    const uint32_t width = 1u << up;
    auto outside = [&](uint32_t range) {
      const uint32_t start = (range << up) - size;
      return start < begin || start + width > end;
    };
    if (outside(first))
      visit(first, false);
    if (last != first && outside(last))
      visit(last, false);
  }
}
} // namespace

LatestAccess::LatestAccess(uint64_t partitions)
    : levels(llvm::Log2_64_Ceil(std::max<uint64_t>(partitions, 1))) {}

uint64_t LatestAccess::assign(const isa::Access &access, uint32_t number) {
  uint64_t trees = 0;
  if (access.partBegin >= access.partEnd)
    return trees;
  forRanges(access.partBegin, access.partEnd, levels,
            [&](uint32_t range, bool whole) {
              Range &at = ranges[range];
              pool.assign(whole ? at.whole : at.part, access.begin, access.end,
                          number);
              ++trees;
            });
  return trees;
}

uint32_t LatestAccess::latest(const isa::Access &access) const {
  uint32_t most = 0;
  if (access.partBegin >= access.partEnd)
    return most;
  forRanges(access.partBegin, access.partEnd, levels,
            [&](uint32_t range, bool whole) {
              const auto found = ranges.find(range);
              if (found == ranges.end())
                return;
              auto add = [&](IntervalPool::Root root) {
                most = std::max(most,
                                pool.largest(root, access.begin, access.end));
              };
              add(found->second.whole);
              if (whole)
                add(found->second.part);
            });
  return most;
}
