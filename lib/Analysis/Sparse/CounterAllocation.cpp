// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room for counters: a pass uses the first counters while its convolution is
// emitted; drains get what no map uses from the producer to the last reader.

#include "ashlar/Analysis/Sparse/CounterAllocation.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace ashlar::analysis {

/// True if a convolution drains all of `map` encoded.
static bool isDrained(Value map, const machine::Description &machine) {
  Operation *producer = map.getDefiningOp();
  return isa_and_nonnull<npu::PeConvOp, npu::TcuConvOp>(producer) &&
         !npu::hasStationaryActivations(producer) &&
         !npu::poolingOf(producer) && npu::vectorShareOf(producer) == 0 &&
         drainEncodes(storageOf(map), shapeOf(map)[1], machine);
}

llvm::SmallVector<Value> countedResults(Value map,
                                        const machine::Description &machine) {
  llvm::SmallVector<Value> results, open{map};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    // What is in the feature map twice would have to be counted twice.
    if (!seen.insert(value).second)
      return {};
    auto move = value.getDefiningOp<npu::DmaMoveOp>();
    if (move && joinsChannels(move))
      llvm::append_range(open, move.getInputs());
    else if (isDrained(value, machine))
      results.push_back(value);
    else
      return {};
  }
  return results;
}

CountedMap CountedMap::of(Operation *reader,
                          llvm::function_ref<size_t(Operation *)> numberOf,
                          const machine::Description &machine) {
  CountedMap map{reader, numberOf(reader), {}};
  for (Value result : countedResults(reader->getOperand(0), machine))
    map.producers.push_back({numberOf(result.getDefiningOp()), result});
  llvm::sort(map.producers, llvm::less_first());
  return map;
}

/// Positions of a feature map.
static int64_t positionsOf(Value map) {
  int64_t positions = 1;
  for (int64_t extent : shapeOf(map).drop_front(2))
    positions *= extent;
  return positions;
}

CounterAllocation::CounterAllocation(llvm::ArrayRef<CountedMap> maps,
                                     int64_t entries) {
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
    // A drain counts for one feature map.
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
std::optional<int64_t> CounterAllocation::findRoom(llvm::ArrayRef<Span> spans,
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

std::optional<CounterAllocation::Target>
CounterAllocation::targetOf(Value result) const {
  auto found = results.find(result);
  return found == results.end() ? std::nullopt : std::optional(found->second);
}

} // namespace ashlar::analysis
