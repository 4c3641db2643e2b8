// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room for counters: a pass uses the first counters while its convolution is
// emitted; drains get what no map uses from the producer to the last reader.

#include "CounterPlan.h"

#include "Generator.h"
#include "ashlar/Analysis/StorageType.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::shapeOf;

/// Positions of a feature map.
static int64_t positionsOf(Value map) {
  int64_t positions = 1;
  for (int64_t extent : shapeOf(map).drop_front(2))
    positions *= extent;
  return positions;
}

CounterPlan::CounterPlan(llvm::ArrayRef<CountedMap> maps, int64_t entries) {
  llvm::MapVector<Value, std::vector<CountedMap>> byMap;
  std::vector<Span> spans;
  for (const CountedMap &map : maps) {
    Value value = map.reader->getOperand(0);
    byMap[value].push_back(map);
    readers[map.reader] = {};
    // Until it is known better, each convolution counts for itself.
    spans.push_back({0, positionsOf(value), map.at, map.at});
  }
  for (auto &[value, own] : byMap) {
    const auto &producers = own.front().producers;
    // A drain counts for one map.
    if (producers.empty() || llvm::any_of(producers, [&](const auto &producer) {
          return results.count(producer.second);
        }))
      continue;
    auto mine = [&](const Span &span) {
      return llvm::any_of(
          own, [&](const CountedMap &map) { return map.at == span.begin; });
    };
    std::vector<Span> others;
    llvm::copy_if(spans, std::back_inserter(others),
                  [&](const Span &span) { return !mine(span); });
    Span span{0, positionsOf(value), producers.front().first, own.back().at};
    std::optional<int64_t> room = findRoom(others, span, entries);
    if (!room)
      continue;
    span.first = *room;
    spans = std::move(others);
    spans.push_back(span);
    for (const auto &producer : producers)
      results[producer.second] = {span.first, producer == producers.front()};
    for (const CountedMap &map : own)
      readers[map.reader] = {span.first, true};
  }
}

/// The first counters that no other span has at the same time.
std::optional<int64_t> CounterPlan::findRoom(llvm::ArrayRef<Span> spans,
                                             const Span &span,
                                             int64_t entries) const {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Span &other : spans)
    if (other.begin <= span.end && span.begin <= other.end)
      taken.push_back({other.first, other.first + other.size});
  llvm::sort(taken);
  int64_t first = 0;
  for (auto [begin, end] : taken) {
    if (first + span.size <= begin)
      break;
    first = std::max(first, end);
  }
  return first + span.size <= entries ? std::optional(first) : std::nullopt;
}

void CounterPlan::count(const TileContext &tile, const CountedSteps &steps,
                        bool first, isa::ActDrain &drain) const {
  auto found = results.find(tile.op->getResult(0));
  if (found == results.end())
    return;
  llvm::ArrayRef<int64_t> start = tile.out.start;
  size_t rank = start.size();
  int64_t width = shapeOf(found->first).back();
  int64_t row = steps.row + (rank > 3 ? start[rank - 2] : 0);
  drain.counted = true;
  // Images and channels of one position add up.
  const Target &target = found->second;
  drain.countClear = target.clears && first && start[0] == 0 && start[1] == 0;
  drain.counts = target.first + row * width + steps.col + start[rank - 1];
  drain.countStride1 = width;
  drain.countStride2 = steps.colStep;
}

} // namespace ashlar::codegen
