// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts of the drains of a layer. The largest share is made as small as a binary
// search finds it, for each of a few orders of the drains.

#include "Shares.h"
#include "HostTime.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// Drains that read sums of the same matmuls: one thread computes them all.
struct Group {
  std::vector<uint32_t> members; ///< Drains and what makes their sums.
  std::vector<uint32_t> loads, operands;
  float time = 0; ///< Of the members.
  /// What orders of groups go by.
  uint32_t firstLoad = Products::none, firstOperand = noOperand;
  uint32_t firstReader = 0, entry = 0;
};

class Cutter {
public:
  Cutter(const ShareInput &input, unsigned threads)
      : input(input), threads(threads), sets(input.code.size()),
        loadSeen(input.code.size()), operandSeen(input.code.size()) {}

  std::vector<ThreadSet> cut();

private:
  using Layer = std::vector<Group>;

  Group makeGroup(llvm::ArrayRef<uint32_t> readers) const;
  void cutArray();
  Group makeTileGroup(llvm::ArrayRef<uint32_t> drains) const;
  void cutTiles();
  uint32_t nodeOf(uint32_t index) const {
    return index < input.nodes.size() ? input.nodes[index] : ~uint32_t(1);
  }
  uint32_t operandOf(uint32_t matmul) const;
  float timeWith(const Group &group);
  /// Cuts groups in their order into shares of at most `most`, the last one
  /// whatever remains; the largest.
  float fill(llvm::ArrayRef<const Group *> order, float most,
             std::vector<unsigned> &shares);
  void cutLayer(const Layer &layer);
  void assign(const Group &group, unsigned thread);

  const ShareInput &input;
  unsigned threads;
  std::vector<ThreadSet> sets;
  /// By load and by the first matmul of an operand, the share that has it.
  std::vector<uint32_t> loadSeen, operandSeen;
  uint32_t share = 0;
};

} // namespace

/// Stands for a matmul's operand: those of select mode are nobody else's.
uint32_t Cutter::operandOf(uint32_t matmul) const {
  const llvm::ArrayRef<uint32_t> operands = input.reuse.found().operands;
  const uint32_t operand =
      matmul < operands.size() ? operands[matmul] : noOperand;
  return operand < mergedOperand ? operand : noOperand;
}

/// Readers by the first one that they share a source with, directly or not.
/// \p sourcesOf gives the sources of a reader.
static llvm::MapVector<uint32_t, std::vector<uint32_t>> readersTogether(
    size_t readers, size_t numInstructions,
    llvm::function_ref<llvm::ArrayRef<uint32_t>(uint32_t)> sourcesOf) {
  std::vector<uint32_t> parent(readers);
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](uint32_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  };
  std::vector<uint32_t> readerOf(numInstructions, Products::none);
  for (uint32_t r = 0; r < readers; ++r)
    for (uint32_t source : sourcesOf(r)) {
      if (readerOf[source] == Products::none) {
        readerOf[source] = r;
        continue;
      }
      const uint32_t a = find(readerOf[source]), b = find(r);
      parent[std::max(a, b)] = std::min(a, b);
    }
  llvm::MapVector<uint32_t, std::vector<uint32_t>> members;
  for (uint32_t r = 0; r < readers; ++r)
    members[find(r)].push_back(r);
  return members;
}

Group Cutter::makeGroup(llvm::ArrayRef<uint32_t> readers) const {
  Group group;
  std::vector<uint32_t> matmuls;
  for (uint32_t r : readers) {
    const Products::Reader &reader = input.products.readers()[r];
    group.time += input.times[reader.index];
    group.members.push_back(reader.index);
    matmuls.insert(matmuls.end(), reader.matmuls.begin(), reader.matmuls.end());
  }
  llvm::sort(matmuls);
  matmuls.erase(llvm::unique(matmuls), matmuls.end());
  for (uint32_t matmul : matmuls) {
    const auto &op = std::get<isa::PeMatmul>(input.code[matmul]);
    group.time += productTime(op) + packedTime;
    if (const uint32_t load = input.products.loadOf(matmul);
        load != Products::none)
      group.loads.push_back(load);
    // An operand is known by its first matmul here: all of them have one time.
    const uint32_t operand = operandOf(matmul);
    if (operand == noOperand)
      group.time += input.times[matmul];
    else
      group.operands.push_back(matmul);
    group.firstOperand = std::min(group.firstOperand, operand);
  }
  if (!matmuls.empty())
    group.entry = std::get<isa::PeMatmul>(input.code[matmuls.front()]).psum;
  group.firstReader = readers.front();
  if (!group.loads.empty())
    group.firstLoad = *llvm::min_element(group.loads);
  llvm::append_range(group.members, matmuls);
  return group;
}

/// What a group adds to the current share.
float Cutter::timeWith(const Group &group) {
  float time = group.time;
  for (uint32_t load : group.loads)
    if (std::exchange(loadSeen[load], share) != share)
      time += input.times[load];
  for (uint32_t matmul : group.operands)
    if (std::exchange(operandSeen[operandOf(matmul)], share) != share)
      time += input.times[matmul];
  return time;
}

float Cutter::fill(llvm::ArrayRef<const Group *> order, float most,
                   std::vector<unsigned> &shares) {
  float largest = 0, current = 0;
  unsigned thread = 0;
  ++share;
  for (size_t i = 0; i < order.size(); ++i) {
    float added = timeWith(*order[i]);
    if (current > 0 && current + added > most && thread + 1 < threads) {
      ++thread;
      ++share;
      current = 0;
      added = timeWith(*order[i]);
    }
    current += added;
    largest = std::max(largest, current);
    shares[i] = thread;
  }
  return largest;
}

void Cutter::assign(const Group &group, unsigned thread) {
  const ThreadSet bit = ThreadSet(1) << thread;
  for (uint32_t member : group.members)
    sets[member] |= bit;
  for (uint32_t load : group.loads)
    sets[load] |= bit;
}

void Cutter::cutLayer(const Layer &layer) {
  std::vector<const Group *> order, bestOrder;
  for (const Group &group : layer)
    order.push_back(&group);
  std::vector<unsigned> shares(layer.size()), bestShares(layer.size());
  float best = 0;
  const auto tryOrder = [&](auto key) {
    llvm::sort(order, [&](const Group *a, const Group *b) {
      return std::pair(key(*a), a->firstReader) <
             std::pair(key(*b), b->firstReader);
    });
    float low = 0,
          high = fill(order, std::numeric_limits<float>::infinity(), shares);
    constexpr int rounds = 8;
    for (int round = 0; round <= rounds; ++round) {
      const float most = round == 0 ? high / threads : (low + high) / 2;
      const float largest = fill(order, most, shares);
      if (bestOrder.empty() || largest < best) {
        best = largest;
        bestOrder = order;
        bestShares = shares;
      }
      (largest <= most ? high : low) = most;
    }
  };
  tryOrder([](const Group &group) { return group.firstReader; });
  tryOrder([](const Group &group) { return group.firstOperand; });
  tryOrder([](const Group &group) { return group.firstLoad; });
  tryOrder([](const Group &group) { return group.entry; });
  for (size_t i = 0; i < bestOrder.size(); ++i)
    assign(*bestOrder[i], bestShares[i]);
}

void Cutter::cutArray() {
  const llvm::ArrayRef<Products::Reader> readers = input.products.readers();
  llvm::MapVector<uint32_t, Layer> layers;
  for (const auto &[first, together] :
       readersTogether(readers.size(), input.code.size(),
                       [&](uint32_t r) -> llvm::ArrayRef<uint32_t> {
                         return readers[r].matmuls;
                       }))
    layers[nodeOf(readers[first].index)].push_back(makeGroup(together));
  for (const auto &[node, layer] : layers)
    cutLayer(layer);
}

Group Cutter::makeTileGroup(llvm::ArrayRef<uint32_t> drains) const {
  Group group;
  for (uint32_t d : drains) {
    const TileSums::Drain &drain = input.tileSums->drains()[d];
    group.members.push_back(drain.index);
    llvm::append_range(group.members, drain.sums);
    llvm::append_range(group.loads, drain.loads);
  }
  for (std::vector<uint32_t> *list : {&group.members, &group.loads}) {
    llvm::sort(*list);
    list->erase(llvm::unique(*list), list->end());
  }
  for (uint32_t member : group.members)
    group.time += input.times[member];
  group.firstReader = drains.front();
  if (!group.loads.empty())
    group.firstLoad = group.loads.front();
  return group;
}

void Cutter::cutTiles() {
  const llvm::ArrayRef<TileSums::Drain> drains = input.tileSums->drains();
  llvm::MapVector<uint32_t, Layer> layers;
  for (const auto &[first, together] :
       readersTogether(drains.size(), input.code.size(),
                       [&](uint32_t d) -> llvm::ArrayRef<uint32_t> {
                         return drains[d].sums;
                       }))
    layers[nodeOf(drains[first].index)].push_back(makeTileGroup(together));
  for (const auto &[node, layer] : layers)
    cutLayer(layer);
  input.tileSums->spread(sets);
}

std::vector<ThreadSet> Cutter::cut() {
  cutArray();
  if (input.tileSums)
    cutTiles();
  for (uint32_t i = 0; i < input.code.size(); ++i) {
    const bool isLoad = std::holds_alternative<isa::PeLoad>(input.code[i]);
    // What no drain needs may still count, or find something.
    if (sets[i] == 0 &&
        (isLoad || std::holds_alternative<isa::PeMatmul>(input.code[i])))
      sets[i] = 1;
    // A matmul that nobody drains has to find its set.
    if (const uint32_t load = input.products.loadOf(i); load != Products::none)
      sets[load] |= sets[i];
  }
  for (uint32_t i = 0; i < input.code.size(); ++i)
    if (std::holds_alternative<isa::PeLoad>(input.code[i]))
      if (const uint32_t swap = input.products.swapOf(i);
          swap != Products::none)
        sets[swap] |= sets[i];
  return std::move(sets);
}

std::vector<ThreadSet> emulator::cutShares(const ShareInput &input,
                                           unsigned threads) {
  return Cutter(input, threads).cut();
}
