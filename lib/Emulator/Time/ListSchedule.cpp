// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List scheduling of a program without semaphores: queues are followed side by
// side in the order of their starts, and each takes one of the instructions
// whose dependences are met.

#include "OrderedQueue.h"
#include "Trials.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <map>
#include <numeric>
#include <queue>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

using Impl = LoadedProgram::Impl;
constexpr auto firstDma = static_cast<unsigned>(isa::Queue::Dma0);
constexpr unsigned numDmaQueues = 4;
constexpr bool isDma(unsigned queue) {
  return queue >= firstDma && queue < firstDma + numDmaQueues;
}

/// The dependences by step, with those of planned tensors.
class Graph {
public:
  Graph(const Dependences &given, const PlannedTensors &tensors);

  struct Edge {
    uint32_t later;
    bool result;
  };
  uint32_t steps() const { return static_cast<uint32_t>(first.size()) - 1; }
  llvm::ArrayRef<Edge> after(uint32_t step) const {
    return llvm::ArrayRef(edges).slice(first[step],
                                       first[step + 1] - first[step]);
  }
  /// Number of edges to each step.
  std::vector<uint32_t> countBefore() const;
  /// The longest chain from each step to the end: of completions along
  /// dependences, and of issues along queues that keep their order, where
  /// \p next tells the instruction that follows each, kNone if none does. Empty
  /// if all of that forms a cycle.
  std::vector<uint64_t> heights(llvm::ArrayRef<Work> work,
                                llvm::ArrayRef<uint32_t> next) const;

private:
  std::vector<uint32_t> first;
  std::vector<Edge> edges;
};

Graph::Graph(const Dependences &given, const PlannedTensors &tensors) {
  std::vector<Dependences::Pair> pairs = given.pairs;
  tensors.addDependences(given.steps, pairs);
  const uint32_t count = given.steps + tensors.count();
  first.assign(count + 1, 0);
  for (const Dependences::Pair &pair : pairs)
    ++first[pair.earlier + 1];
  for (uint32_t i = 0; i < count; ++i)
    first[i + 1] += first[i];
  edges.resize(pairs.size());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (const Dependences::Pair &pair : pairs)
    edges[next[pair.earlier]++] = {pair.later, pair.result};
}

std::vector<uint32_t> Graph::countBefore() const {
  std::vector<uint32_t> before(steps(), 0);
  for (const Edge &edge : edges)
    ++before[edge.later];
  return before;
}

std::vector<uint64_t> Graph::heights(llvm::ArrayRef<Work> work,
                                     llvm::ArrayRef<uint32_t> next) const {
  constexpr uint32_t none = OrderTrials::kNone;
  std::vector<uint32_t> before = countBefore(), order;
  for (uint32_t step : next)
    if (step != none)
      ++before[step];
  order.reserve(steps());
  for (uint32_t i = 0; i < steps(); ++i)
    if (before[i] == 0)
      order.push_back(i);
  auto meet = [&](uint32_t step) {
    if (--before[step] == 0)
      order.push_back(step);
  };
  for (size_t at = 0; at < order.size(); ++at) {
    const uint32_t step = order[at];
    for (const Edge &edge : after(step))
      meet(edge.later);
    if (step < next.size() && next[step] != none)
      meet(next[step]);
  }
  if (order.size() < steps())
    return {};
  std::vector<uint64_t> heights(steps(), 0);
  for (uint32_t step : llvm::reverse(order)) {
    for (const Edge &edge : after(step))
      heights[step] = std::max(heights[step], heights[edge.later]);
    if (step >= work.size())
      continue;
    heights[step] += work[step].complete;
    if (next[step] != none)
      heights[step] =
          std::max(heights[step], heights[next[step]] + work[step].issue);
  }
  return heights;
}

class Scheduler {
public:
  Scheduler(const Impl &impl, const Graph &graph, PlannedTensors &tensors,
            llvm::ArrayRef<Work> work, std::vector<uint64_t> urgency,
            const ListRule &rule)
      : queueOf(impl.queues), impl(impl), graph(graph), tensors(tensors),
        servers(impl.program.machine), work(work), urgency(std::move(urgency)),
        before(graph.countBefore()), ready(graph.steps(), 0), moves(rule.moves),
        pick(rule.pick) {}

  /// Fills `order`; false if the dependences leave something out.
  bool run();

  std::vector<uint32_t> order;
  std::vector<uint8_t> queueOf; ///< Per instruction.
  uint64_t end = 0;

private:
  /// Key and instruction; the smallest first.
  using Entry = std::pair<uint64_t, uint32_t>;
  using Heap =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  struct Line {
    bool ordered = false;
    std::vector<uint32_t> instructions; ///< If ordered.
    size_t next = 0;
    Heap coming; ///< By the cycle from which they may start.
    /// Those that may start when the queue is free, by urgency and apart for
    /// what they claim: of one heap all start when the first one could.
    std::map<uint64_t, Heap> available;
    Heap *chosen = nullptr; ///< That of candidate().
  };
  struct Queue {
    uint64_t cursor = 0, retired = 0;
  };

  unsigned queueFor(unsigned queue) const;
  void release(uint32_t step);
  std::optional<Entry> candidate(Line &line, unsigned queue);
  std::optional<Entry> nextOrdered(const Line &line) const;
  void collect(Line &line, unsigned queue);
  uint64_t claimed(uint32_t index) const;
  bool precedes(const Entry &a, const Entry &b) const;
  bool delays(const Entry &entry, const Entry &other) const;
  uint64_t startOf(uint32_t index) const;
  void perform(uint32_t index);

  const Impl &impl;
  const Graph &graph;
  PlannedTensors &tensors;
  Servers servers;
  llvm::ArrayRef<Work> work;
  std::vector<uint64_t> urgency; ///< Less is more urgent.
  std::vector<uint32_t> before;  ///< Dependences that are not met.
  std::vector<uint64_t> ready;   ///< Cycle from which the met ones allow it.
  Moves moves;
  Pick pick;
  Line lines[numQueues];
  Queue queues[numQueues];
};

} // namespace

bool emulator::keepsOrder(isa::Queue queue) {
  switch (queue) {
  case isa::Queue::Dma0:
  case isa::Queue::Dma1:
  case isa::Queue::Dma2:
  case isa::Queue::Dma3:
  case isa::Queue::Act:
  case isa::Queue::Vec:
    return false;
  default:
    return true;
  }
}

/// The line of an instruction: copies that go to any queue have one together.
static unsigned lineOf(const Impl &impl, Moves moves, uint32_t index) {
  if (moves == Moves::Shared && isDma(impl.queues[index]))
    return firstDma;
  return orderedQueue(impl, index);
}

static bool isOrdered(unsigned line, Moves moves) {
  return emulator::keepsOrder(static_cast<isa::Queue>(line)) ||
         (moves == Moves::InOrder && isDma(line) && line != firstDma);
}

/// Of every instruction the one that follows it in a line that keeps its order.
static std::vector<uint32_t> followers(const Impl &impl, Moves moves) {
  std::vector<uint32_t> next(impl.code.size(), OrderTrials::kNone);
  std::array<uint32_t, numQueues> last;
  last.fill(OrderTrials::kNone);
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    const unsigned line = lineOf(impl, moves, i);
    if (!isOrdered(line, moves))
      continue;
    if (last[line] != OrderTrials::kNone)
      next[last[line]] = i;
    last[line] = i;
  }
  return next;
}

/// The queue that an instruction goes to if it is the next one.
unsigned Scheduler::queueFor(unsigned queue) const {
  if (moves != Moves::Shared || !isDma(queue))
    return queue;
  unsigned first = firstDma;
  for (unsigned i = 1; i < impl.program.machine.dma.queues; ++i)
    if (queues[firstDma + i].cursor < queues[first].cursor)
      first = firstDma + i;
  return first;
}

/// Step \p step depends on nothing any more. Steps that only collect pass on
/// what they know.
void Scheduler::release(uint32_t step) {
  llvm::SmallVector<uint32_t, 8> list{step};
  while (!list.empty()) {
    const uint32_t now = list.pop_back_val();
    if (now < impl.code.size()) {
      Line &line = lines[lineOf(impl, moves, now)];
      if (!line.ordered)
        line.coming.push({ready[now], now});
      continue;
    }
    for (const Graph::Edge &edge : graph.after(now)) {
      ready[edge.later] = std::max(ready[edge.later], ready[now]);
      if (--before[edge.later] == 0)
        list.push_back(edge.later);
    }
  }
}

uint64_t Scheduler::startOf(uint32_t index) const {
  uint64_t start =
      std::max(ready[index], queues[queueFor(impl.queues[index])].cursor);
  for (const Claim &claim : work[index].claims)
    start = std::max(start, servers.earliest(claim).cycle);
  return start;
}

/// Which servers an instruction needs. More than 64 share bits: then some heap
/// has instructions of several kinds, and its first may not start first.
uint64_t Scheduler::claimed(uint32_t index) const {
  uint64_t servers = 0;
  if (pick == Pick::FirstToStart)
    for (const Claim &claim : work[index].claims)
      servers |= uint64_t(1) << (claim.server % 64);
  return servers;
}

/// Whether \p a starts before \p b, or with it and is more urgent.
bool Scheduler::precedes(const Entry &a, const Entry &b) const {
  return std::pair(a.first, urgency[a.second]) <
         std::pair(b.first, urgency[b.second]);
}

/// Whether DRAM works for \p entry when \p other, which is more urgent, could
/// have it.
bool Scheduler::delays(const Entry &entry, const Entry &other) const {
  if (urgency[entry.second] <= urgency[other.second])
    return false;
  auto dramOf = [&](uint32_t index) {
    return llvm::find_if(work[index].claims, [](const Claim &claim) {
      return claim.server == Servers::dram;
    });
  };
  const Claim *own = dramOf(entry.second), *next = dramOf(other.second);
  return own != work[entry.second].claims.end() &&
         next != work[other.second].claims.end() &&
         entry.first + own->after + own->cycles > other.first + next->after;
}

std::optional<Scheduler::Entry> Scheduler::nextOrdered(const Line &line) const {
  if (line.next == line.instructions.size() ||
      before[line.instructions[line.next]] > 0)
    return std::nullopt;
  const uint32_t index = line.instructions[line.next];
  return Entry{startOf(index), index};
}

/// What may start by now becomes available.
void Scheduler::collect(Line &line, unsigned queue) {
  const uint64_t now = queues[queueFor(queue)].cursor;
  while (!line.coming.empty() && line.coming.top().first <= now) {
    const uint32_t index = line.coming.top().second;
    line.available[claimed(index)].push({urgency[index], index});
    line.coming.pop();
  }
}

/// What a line would do next, and when.
std::optional<Scheduler::Entry> Scheduler::candidate(Line &line,
                                                     unsigned queue) {
  if (line.ordered)
    return nextOrdered(line);
  collect(line, queue);
  std::optional<Entry> best;
  auto consider = [&](Heap &heap, bool first) {
    const uint32_t index = heap.top().second;
    const Entry entry{startOf(index), index};
    if (!best || first || precedes(entry, *best))
      best = entry, line.chosen = &heap;
  };
  for (auto &[servers, heap] : line.available)
    if (!heap.empty())
      consider(heap, /*first=*/false);
  if (line.coming.empty())
    return best;
  // With nothing to start, the queue waits for what becomes ready first.
  if (!best)
    consider(line.coming, /*first=*/true);
  else if (pick == Pick::FirstToStart) {
    const uint32_t index = line.coming.top().second;
    consider(line.coming, delays(*best, {startOf(index), index}));
  }
  return best;
}

void Scheduler::perform(uint32_t index) {
  Line &line = lines[lineOf(impl, moves, index)];
  if (line.ordered)
    ++line.next;
  else
    line.chosen->pop();
  tensors.ran(index, static_cast<uint32_t>(order.size()));
  order.push_back(index);
  const Work &own = work[index];
  const uint64_t start = startOf(index);
  for (const Claim &claim : own.claims)
    servers.grant(claim, start, index);
  queueOf[index] = static_cast<uint8_t>(queueFor(impl.queues[index]));
  Queue &queue = queues[queueOf[index]];
  uint64_t complete = start + own.complete;
  if (!std::holds_alternative<isa::PeSwap>(impl.code[index]))
    complete = queue.retired = std::max(queue.retired, complete);
  queue.cursor = start + own.issue;
  end = std::max(end, complete);
  for (const Graph::Edge &edge : graph.after(index)) {
    // Where queues are shared, the later one may go to any of them.
    const bool follows = edge.later < impl.code.size() && !edge.result &&
                         impl.queues[edge.later] == queueOf[index] &&
                         !(moves == Moves::Shared && isDma(queueOf[index]));
    ready[edge.later] = std::max(ready[edge.later], follows ? start : complete);
    if (--before[edge.later] == 0)
      release(edge.later);
  }
}

bool Scheduler::run() {
  for (unsigned queue = 0; queue < numQueues; ++queue)
    lines[queue].ordered = isOrdered(queue, moves);
  for (uint32_t i = 0; i < impl.code.size(); ++i)
    if (Line &line = lines[lineOf(impl, moves, i)]; line.ordered)
      line.instructions.push_back(i);
  std::vector<uint32_t> free;
  for (uint32_t i = 0; i < graph.steps(); ++i)
    if (before[i] == 0)
      free.push_back(i);
  llvm::for_each(free, [&](uint32_t step) { release(step); });
  order.reserve(impl.code.size());
  while (order.size() < impl.code.size()) {
    std::optional<Entry> first;
    for (unsigned queue = 0; queue < numQueues; ++queue) {
      std::optional<Entry> next = candidate(lines[queue], queue);
      if (next && (!first || precedes(*next, *first)))
        first = next;
    }
    if (!first)
      return false;
    perform(first->second);
  }
  return true;
}

/// A height by the factor of its node: a hash, so that a seed means the same on
/// every host.
static uint64_t scaled(uint64_t height, uint32_t node, uint32_t seed) {
  if (seed == 0)
    return height;
  uint64_t hash = (uint64_t(seed) << 32 | node) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  return height + height * (hash >> 48) / (2 << 16);
}

std::optional<ProgramOrder>
OrderTrials::listSchedule(const ListRule &rule) const {
  const Impl &impl = state->impl;
  PlannedTensors tensors(impl, *state->rooms, {});
  const Graph graph(state->dependences, tensors);
  std::vector<uint64_t> urgency;
  if (rule.urgency == Urgency::Program) {
    urgency.resize(graph.steps());
    std::iota(urgency.begin(), urgency.end(), 0);
  } else {
    urgency = graph.heights(state->work, followers(impl, rule.moves));
    if (urgency.empty())
      return std::nullopt;
    for (uint32_t i = 0; i < urgency.size(); ++i)
      urgency[i] = ~scaled(urgency[i], impl.nodeOf(i), rule.seed);
  }
  Scheduler scheduler(impl, graph, tensors, state->work, std::move(urgency),
                      rule);
  if (!scheduler.run())
    return std::nullopt;
  ProgramOrder result;
  result.instructions = std::move(scheduler.order);
  result.dumps = tensors.take();
  if (rule.moves == Moves::Shared)
    for (uint8_t queue : scheduler.queueOf)
      result.queues.push_back(static_cast<isa::Queue>(queue));
  result.after = scheduler.end;
  return result;
}
