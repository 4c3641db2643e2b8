// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of scatter mode, cycle by cycle. Products form one stream, weights
// outside, data inside. A and B take one weight per step and as many rounds as
// the data need; C and D take from the stream what fits the multipliers, under
// at most U weights per cycle.

#include "Scatter.h"

#include "ashlar/Support/Error.h"

#include <algorithm>
#include <cstdlib>

namespace ashlar::emulator {

void ScatterCounters::add(const ScatterCounters &other) {
  cycles += other.cycles;
  issues += other.issues;
  slots += other.slots;
  conflicts += other.conflicts;
  merges += other.merges;
  waiting = std::max(waiting, other.waiting);
  dropped += other.dropped;
  combined += other.combined;
}

uint64_t windowDistance(const ScatterItem &from, const ScatterItem &to) {
  return uint64_t(std::abs(from.row - to.row)) +
         uint64_t(std::abs(from.col - to.col));
}

namespace {

/// A product under way: plane position, value, and the place of its weight in
/// the order (earlier weights go first).
struct Product {
  ScatterItem item;
  size_t weight = 0;
};

class Block {
public:
  Block(const ScatterUnit &unit, llvm::ArrayRef<ScatterItem> data,
        llvm::ArrayRef<ScatterItem> weights, ScatterKernel kernel,
        llvm::function_ref<void(int32_t, int32_t, int64_t)> add,
        ScatterCounters &counters, std::vector<ScatterCycle> *trace)
      : unit(unit), data(data), weights(weights), kernel(kernel), add(add),
        counters(counters), trace(trace) {}

  llvm::Error run() {
    size_t total = data.size() * weights.size();
    uint64_t depth = unit.queueDepth ? unit.queueDepth : unit.multipliers;
    while (next < total || !queue.empty()) {
      // The oldest waiting products go first; new ones take what is left.
      std::vector<Product> products = std::move(queue);
      queue.clear();
      size_t issued = issue(products, total);
      settle(products);
      if (queue.size() > depth)
        return makeError(ErrorClass::Capacity,
                         "{} products of equal index wait, the queues hold {}",
                         queue.size(), depth);
      count(issued);
      if (next < total)
        moveWindow();
    }
    return llvm::Error::success();
  }

private:
  bool oneWeight() const { return unit.variant <= ScatterVariant::B; }

  Product product(size_t index) const {
    size_t w = index / data.size();
    const ScatterItem &datum = data[index % data.size()];
    const ScatterItem &weight = weights[w];
    return {{datum.row + kernel.rows - 1 - weight.row,
             datum.col + kernel.cols - 1 - weight.col,
             datum.value * weight.value},
            w};
  }

  /// Takes products from the stream; returns how many.
  size_t issue(std::vector<Product> &products, size_t total) {
    size_t free = unit.multipliers - products.size(), issued = 0;
    size_t first = next / data.size();
    size_t limit = oneWeight() ? 1 : unit.weightsPerStep;
    while (next < total && issued < free &&
           next / data.size() - first < limit) {
      products.push_back(product(next++));
      ++issued;
    }
    return issued;
  }

  /// Products of equal index: all variants accept the first; D adds one more
  /// to it on the way; the rest waits.
  void settle(std::vector<Product> &products) {
    written.clear();
    std::vector<bool> merged;
    for (const Product &product : products) {
      auto same = std::find_if(
          written.begin(), written.end(), [&](const ScatterItem &item) {
            return item.row == product.item.row && item.col == product.item.col;
          });
      if (same == written.end()) {
        written.push_back(product.item);
        merged.push_back(false);
      } else if (unit.variant == ScatterVariant::D &&
                 !merged[size_t(same - written.begin())]) {
        merged[size_t(same - written.begin())] = true;
        same->value += product.item.value;
        ++counters.merges;
      } else {
        queue.push_back(product);
        ++counters.conflicts;
      }
    }
    for (const ScatterItem &item : written)
      add(item.row, item.col, item.value);
  }

  /// The window of variant A shifts with the last sum of a weight; cycles pass
  /// without a product where it has further to go.
  void moveWindow() {
    const size_t w = next / data.size();
    if (unit.variant != ScatterVariant::A || unit.windowShift == 0 ||
        next % data.size() != 0)
      return;
    const uint64_t way = windowDistance(weights[w - 1], weights[w]);
    for (uint64_t gone = unit.windowShift; gone < way;
         gone += unit.windowShift) {
      ++counters.cycles;
      if (trace)
        trace->push_back({});
    }
  }

  void count(size_t issued) {
    ++counters.cycles;
    counters.issues += issued;
    counters.slots += unit.multipliers;
    counters.waiting = std::max<uint64_t>(counters.waiting, queue.size());
    if (trace)
      trace->push_back({written, uint32_t(issued), uint32_t(queue.size())});
  }

  const ScatterUnit &unit;
  llvm::ArrayRef<ScatterItem> data, weights;
  ScatterKernel kernel;
  llvm::function_ref<void(int32_t, int32_t, int64_t)> add;
  ScatterCounters &counters;
  std::vector<ScatterCycle> *trace;
  size_t next = 0; ///< Place in the stream of products.
  std::vector<Product> queue;
  std::vector<ScatterItem> written;
};

} // namespace

llvm::Error
scatterBlock(const ScatterUnit &unit, llvm::ArrayRef<ScatterItem> data,
             llvm::ArrayRef<ScatterItem> weights, ScatterKernel kernel,
             llvm::function_ref<void(int32_t, int32_t, int64_t)> add,
             ScatterCounters &counters, std::vector<ScatterCycle> *trace) {
  if (data.empty() || weights.empty())
    return llvm::Error::success();
  return Block(unit, data, weights, kernel, add, counters, trace).run();
}

} // namespace ashlar::emulator
