// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection of loops.

#include "TileLoops.h"

namespace ashlar::tile {

int64_t TileLoops::intern(Pattern pattern) {
  std::vector<int64_t> key{pattern.leaf, pattern.count,
                           static_cast<int64_t>(pattern.body.patterns.size())};
  key.insert(key.end(), pattern.body.patterns.begin(),
             pattern.body.patterns.end());
  key.insert(key.end(), pattern.body.numbers.begin(),
             pattern.body.numbers.end());
  auto [entry, inserted] =
      known.insert({std::move(key), static_cast<int64_t>(patterns.size())});
  if (inserted)
    patterns.push_back(std::move(pattern));
  return entry->second;
}

Run TileLoops::leaf(int64_t kind, llvm::ArrayRef<int64_t> numbers) {
  Pattern pattern;
  pattern.leaf = kind;
  pattern.numbers = numbers.size();
  return {{intern(std::move(pattern))},
          llvm::SmallVector<int64_t, 16>(numbers)};
}

/// The steps from one run to the next; nothing if they differ in more than
/// their numbers.
static bool stepsBetween(const Run &from, const Run &to,
                         llvm::SmallVectorImpl<int64_t> &steps) {
  if (from.patterns != to.patterns)
    return false;
  steps.resize(from.numbers.size());
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i] = to.numbers[i] - from.numbers[i];
  return true;
}

Run TileLoops::fold(std::vector<Run> runs) {
  if (runs.size() == 1)
    return std::move(runs.front());
  Run all;
  llvm::SmallVector<int64_t, 16> steps, next;
  for (size_t first = 0, end = 0; first < runs.size(); first = end) {
    end = first + 1;
    if (end < runs.size() && stepsBetween(runs[first], runs[end], steps))
      do
        ++end;
      while (end < runs.size() &&
             stepsBetween(runs[end - 1], runs[end], next) && next == steps);
    if (end == first + 1) {
      all.append(runs[first]);
      continue;
    }
    Pattern loop;
    loop.count = static_cast<int64_t>(end - first);
    loop.numbers = runs[first].numbers.size();
    loop.body.patterns = runs[first].patterns;
    loop.body.numbers = steps;
    all.append({{intern(std::move(loop))}, runs[first].numbers});
  }
  return all;
}

} // namespace ashlar::tile
