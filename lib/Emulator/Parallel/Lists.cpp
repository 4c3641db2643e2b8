// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists are made as a schedule: whichever thread is free first takes what can
// start first. Instructions of the array are in the lists that their drains
// are in, in program order; others go where they are done first: a copy
// should write where the same processor has read or written, and be read there.

#include "Lists.h"
#include "Dependencies.h"
#include "HostTime.h"
#include "Products.h"
#include "Shares.h"
#include "TilePlaces.h"
#include "TileSums.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

using namespace ashlar;
using namespace ashlar::emulator;

static bool isSemaphore(const isa::Instruction &inst) {
  return std::holds_alternative<isa::SemWait>(inst) ||
         std::holds_alternative<isa::SemSignal>(inst);
}

/// Whether the memories that threads share, and what an engine has for the
/// array, are all that an instruction of this kind reads and writes.
static bool usesMemoriesAlone(const isa::Instruction &inst) {
  return std::holds_alternative<isa::XrSet>(inst) ||
         std::holds_alternative<isa::XrMerge>(inst) ||
         std::holds_alternative<isa::XrSelect>(inst) ||
         std::holds_alternative<isa::DmaCopy>(inst) ||
         std::holds_alternative<isa::DmaFill>(inst) ||
         std::holds_alternative<isa::DmaUnpack>(inst) ||
         std::holds_alternative<isa::PeLoad>(inst) ||
         std::holds_alternative<isa::PeSwap>(inst) ||
         std::holds_alternative<isa::PeMatmul>(inst) ||
         std::holds_alternative<isa::ActDrain>(inst) ||
         std::holds_alternative<isa::ActPool>(inst) ||
         std::holds_alternative<isa::VecMap>(inst) ||
         std::holds_alternative<isa::VecPool>(inst) ||
         std::holds_alternative<isa::VecDrain>(inst) ||
         std::holds_alternative<isa::VecReduce>(inst) ||
         std::holds_alternative<isa::VecReduceChannels>(inst) ||
         std::holds_alternative<isa::VecGather>(inst);
}

/// Whether an instruction may be in another list than the first, to which
/// statistics and counters belong, and the cluster's memories as far as nobody
/// follows its sums.
static bool mayMove(const isa::Instruction &inst, bool followsTiles,
                    llvm::ArrayRef<isa::Access> accesses) {
  return usesMemoriesAlone(inst) &&
         llvm::all_of(accesses, [&](const isa::Access &access) {
           switch (access.space) {
           case isa::Space::Dram:
           case isa::Space::Sb:
           case isa::Space::Xm:
           case isa::Space::Psum:
           case isa::Space::Xr:
           case isa::Space::Shadow:
           case isa::Space::Active:
             return true;
           case isa::Space::Wm:
             return followsTiles;
           default:
             return false;
           }
         });
}

namespace {

/// Makes lists from shares and dependencies.
class Scheduler {
public:
  Scheduler(llvm::ArrayRef<isa::Instruction> code, const OperandReuse &reuse,
            llvm::ArrayRef<float> times, std::vector<ThreadSet> sets,
            const Dependencies &dependencies, unsigned threads);

  std::shared_ptr<const Lists> schedule();

private:
  /// When an instruction is done in the lists that have it.
  struct Done {
    float last = 0;       ///< In the list that took it last.
    float others = 0;     ///< In all lists before that one, 0 if there is none.
    uint32_t where = 0;   ///< The list that took it last.
    uint32_t missing = 0; ///< Lists that do not have it yet.
  };
  /// When a thread may start a ready instruction, and what it then has to fetch
  /// from others.
  struct Ready {
    float earliest = 0, crossing = 0;
  };
  /// What somebody may start: `start` holds for `thread` alone.
  struct Choice {
    float start;
    uint32_t instruction;
    unsigned thread;
  };

  void countReaders();
  void findFollowers();
  void becomeReady(uint32_t index);
  float earliestOn(uint32_t index, unsigned thread) const;
  const Ready &readyOn(uint32_t index, unsigned thread) const {
    return ready[uint64_t(index) * threads + thread];
  }
  float startOn(uint32_t index, unsigned thread) const {
    return std::max(free[thread], readyOn(index, thread).earliest);
  }
  float crossingTime(uint32_t index, unsigned thread) const;
  unsigned bestThread(uint32_t index) const;
  bool isReady(uint32_t index) const { return waiting[index] == 0; }
  void offer(std::optional<Choice> &best, uint32_t index,
             unsigned thread) const;
  std::optional<Choice> choose() const;
  void take(const Choice &choice);
  float timeOf(uint32_t index, unsigned thread);
  /// The operand that a matmul may share with others, or noOperand.
  uint32_t operandOf(uint32_t index) const {
    const llvm::ArrayRef<uint32_t> operands = reuse.found().operands;
    return index < operands.size() && operands[index] < mergedOperand
               ? operands[index]
               : noOperand;
  }
  void place(uint32_t index, unsigned thread);
  void findWaits(Lists &lists) const;

  llvm::ArrayRef<isa::Instruction> code;
  const OperandReuse &reuse;
  llvm::ArrayRef<float> times;
  std::vector<ThreadSet> sets; ///< 0: may be in any list.
  const Dependencies &dependencies;
  unsigned threads;

  /// By thread, what has to be in its list, in program order, and how much of
  /// it is.
  std::vector<std::vector<uint32_t>> chains;
  std::vector<size_t> heads;
  std::vector<float> free;      ///< By thread, when it is.
  std::set<uint32_t> movable;   ///< Ready and not bound to a thread.
  std::vector<uint64_t> readBy; ///< Units by instruction and reading thread.
  std::vector<Done> done;
  std::vector<Ready> ready; ///< By instruction and thread.
  /// Instructions that have to be done before, and who waits for one.
  std::vector<uint32_t> waiting, firstFollower, followers;
  std::vector<std::vector<uint32_t>> order; ///< The lists.
  std::vector<std::vector<bool>> packed;    ///< By thread, operands.
};

} // namespace

Scheduler::Scheduler(llvm::ArrayRef<isa::Instruction> code,
                     const OperandReuse &reuse, llvm::ArrayRef<float> times,
                     std::vector<ThreadSet> sets,
                     const Dependencies &dependencies, unsigned threads)
    : code(code), reuse(reuse), times(times), sets(std::move(sets)),
      dependencies(dependencies), threads(threads), chains(threads),
      heads(threads), free(threads), done(code.size()),
      ready(code.size() * threads), waiting(code.size()), order(threads),
      packed(threads, std::vector<bool>(reuse.found().uses.size())) {
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (isSemaphore(code[i]))
      continue;
    const ThreadSet set = this->sets[i];
    done[i].missing = std::max(1, llvm::popcount(set));
    for (unsigned t = 0; t < threads; ++t)
      if (set >> t & 1)
        chains[t].push_back(i);
  }
  findFollowers();
  countReaders();
  for (uint32_t i = 0; i < code.size(); ++i)
    if (waiting[i] == 0 && !isSemaphore(code[i]))
      becomeReady(i);
}

void Scheduler::findFollowers() {
  firstFollower.assign(code.size() + 1, 0);
  for (uint32_t i = 0; i < code.size(); ++i)
    for (const Dependencies::Edge &edge : dependencies.of(i)) {
      ++firstFollower[edge.earlier + 1];
      ++waiting[i];
    }
  for (uint32_t i = 0; i < code.size(); ++i)
    firstFollower[i + 1] += firstFollower[i];
  followers.resize(firstFollower.back());
  std::vector<uint32_t> next(firstFollower.begin(), firstFollower.end() - 1);
  for (uint32_t i = 0; i < code.size(); ++i) {
    for (const Dependencies::Edge &edge : dependencies.of(i))
      followers[next[edge.earlier]++] = i;
  }
}

void Scheduler::countReaders() {
  readBy.resize(code.size() * threads);
  for (uint32_t i = 0; i < code.size(); ++i)
    for (const Dependencies::Edge &edge : dependencies.of(i))
      for (unsigned t = 0; t < threads; ++t)
        if (sets[i] >> t & 1)
          readBy[uint64_t(edge.earlier) * threads + t] += edge.read;
}

/// Everything before an instruction is in some list: what it waits for there
/// does not change any more.
void Scheduler::becomeReady(uint32_t index) {
  for (unsigned t = 0; t < threads; ++t) {
    Ready &own = ready[uint64_t(index) * threads + t];
    own.earliest = earliestOn(index, t);
    own.crossing = sets[index] == 0 ? crossingTime(index, t) : 0;
  }
  if (sets[index] == 0)
    movable.insert(index);
}

/// Whatever the thread has to do until then.
float Scheduler::earliestOn(uint32_t index, unsigned thread) const {
  float start = 0;
  for (const Dependencies::Edge &edge : dependencies.of(index)) {
    const Done &before = done[edge.earlier];
    if (before.where != thread)
      start = std::max(start, before.last + messageTime);
    if (before.others > 0)
      start = std::max(start, before.others + messageTime);
  }
  return start;
}

namespace {
/// Parts of something by where they are.
struct Parts {
  uint64_t here = 0, elsewhere = 0;

  void add(bool isHere, uint64_t units) {
    (isHere ? here : elsewhere) += units;
  }
  /// Of \p all units, those elsewhere: the same unit may be in several parts.
  float elsewhereOf(uint64_t all) const {
    const uint64_t sum = here + elsewhere;
    return sum == 0
               ? 0
               : static_cast<float>(std::min(all, sum)) *
                     static_cast<float>(elsewhere) / static_cast<float>(sum);
  }
};
} // namespace

/// What has to come from the caches of other processors: before this
/// instruction, and after it to those that read its results.
float Scheduler::crossingTime(uint32_t index, unsigned thread) const {
  Parts reads, writes, readers;
  for (const Dependencies::Edge &edge : dependencies.of(index)) {
    const bool here = done[edge.earlier].where == thread;
    reads.add(here, edge.read);
    writes.add(here, edge.written);
  }
  for (unsigned t = 0; t < threads; ++t)
    readers.add(t == thread, readBy[uint64_t(index) * threads + t]);
  const Dependencies::Units &units = dependencies.unitsOf(index);
  return (reads.elsewhereOf(units.read) + readers.elsewhereOf(units.written)) *
             farReadTime +
         writes.elsewhereOf(units.written) * farWriteTime;
}

void Scheduler::offer(std::optional<Choice> &best, uint32_t index,
                      unsigned thread) const {
  const Choice choice{startOn(index, thread), index, thread};
  if (!best || choice.start < best->start ||
      (choice.start == best->start && index < best->instruction))
    best = choice;
}

/// Where an instruction that may move is done first, its readers included.
unsigned Scheduler::bestThread(uint32_t index) const {
  unsigned best = 0;
  float least = 0;
  for (unsigned t = 0; t < threads; ++t) {
    const float time = startOn(index, t) + readyOn(index, t).crossing;
    if (t == 0 || time < least) {
      least = time;
      best = t;
    }
  }
  return best;
}

std::optional<Scheduler::Choice> Scheduler::choose() const {
  // Later ones can wait: what comes first in the program is needed first.
  constexpr unsigned looks = 8;
  std::optional<Choice> best;
  for (unsigned t = 0; t < threads; ++t)
    if (heads[t] < chains[t].size() && isReady(chains[t][heads[t]]))
      offer(best, chains[t][heads[t]], t);
  unsigned looked = 0;
  for (uint32_t index : movable) {
    if (++looked > looks)
      break;
    offer(best, index, bestThread(index));
  }
  return best;
}

float Scheduler::timeOf(uint32_t index, unsigned thread) {
  const uint32_t operand = operandOf(index);
  if (operand == noOperand)
    return times[index];
  if (packed[thread][operand])
    return packedTime;
  packed[thread][operand] = true;
  return times[index];
}

void Scheduler::place(uint32_t index, unsigned thread) {
  order[thread].push_back(index);
  Done &now = done[index];
  now.others = std::max(now.others, now.last);
  now.last = free[thread];
  now.where = thread;
  if (--now.missing > 0)
    return;
  for (uint32_t k = firstFollower[index]; k < firstFollower[index + 1]; ++k) {
    const uint32_t follower = followers[k];
    if (--waiting[follower] == 0)
      becomeReady(follower);
  }
}

void Scheduler::take(const Choice &choice) {
  const uint32_t index = choice.instruction;
  const bool moves = sets[index] == 0;
  free[choice.thread] = choice.start + timeOf(index, choice.thread) +
                        readyOn(index, choice.thread).crossing;
  if (moves)
    movable.erase(index);
  else
    ++heads[choice.thread];
  place(index, choice.thread);
}

/// Waits that no earlier one of the list, nor of what it waited for, implies.
void Scheduler::findWaits(Lists &lists) const {
  // In each list, where an instruction is: 0 if it is not.
  std::vector<std::vector<uint32_t>> after(threads,
                                           std::vector<uint32_t>(code.size()));
  for (unsigned t = 0; t < threads; ++t)
    for (uint32_t p = 0; p < order[t].size(); ++p)
      after[t][order[t][p]] = p + 1;
  for (unsigned t = 0; t < threads; ++t) {
    Lists::List &list = lists.lists[t];
    std::vector<uint32_t> known(threads);
    for (uint32_t index : order[t]) {
      std::array<uint32_t, Lists::mostThreads> needed = {};
      for (const Dependencies::Edge &edge : dependencies.of(index))
        for (unsigned other = 0; other < threads; ++other)
          if (other != t)
            needed[other] = std::max(needed[other], after[other][edge.earlier]);
      for (unsigned other = 0; other < threads; ++other) {
        if (needed[other] <= known[other])
          continue;
        known[other] = needed[other];
        list.waits.push_back({other, needed[other]});
      }
      list.entries.push_back({index, static_cast<uint32_t>(list.waits.size()),
                              (sets[index] & ((ThreadSet(1) << t) - 1)) == 0,
                              false});
    }
  }
  for (const Lists::List &list : lists.lists)
    for (const Lists::Wait &wait : list.waits)
      lists.lists[wait.thread].entries[wait.position - 1].isAwaited = true;
}

std::shared_ptr<const Lists> Scheduler::schedule() {
  auto lists = std::make_shared<Lists>();
  while (std::optional<Choice> choice = choose())
    take(*choice);
  lists->lists.resize(threads);
  findWaits(*lists);
  lists->together = *llvm::max_element(free);
  std::vector<bool> seen(reuse.found().uses.size());
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (isSemaphore(code[i]))
      continue;
    const uint32_t operand = operandOf(i);
    const bool again = operand != noOperand && seen[operand];
    if (operand != noOperand)
      seen[operand] = true;
    lists->alone += again ? packedTime : times[i];
  }
  for (unsigned t = 0; t < threads; ++t) {
    std::vector<uint32_t> &uses = lists->lists[t].uses;
    uses.resize(seen.size());
    for (uint32_t index : order[t])
      if (const uint32_t operand = operandOf(index); operand != noOperand)
        ++uses[operand];
  }
  return lists;
}

/// The drains of a window compute its products together.
static void addProducts(const Products &products,
                        llvm::ArrayRef<isa::Instruction> code,
                        std::vector<float> &times) {
  std::vector<uint32_t> drains(code.size());
  for (const Products::Reader &reader : products.readers())
    for (uint32_t matmul : reader.matmuls)
      ++drains[matmul];
  for (const Products::Reader &reader : products.readers())
    for (uint32_t matmul : reader.matmuls)
      times[reader.index] +=
          productTime(std::get<isa::PeMatmul>(code[matmul])) /
          static_cast<float>(drains[matmul]);
}

namespace {
/// What walks over a program find.
struct Survey {
  Products products;
  std::optional<TileSums> tileSums;
  std::vector<float> times;
  std::vector<bool> moves;
  bool isFollowed = true; ///< The use of PSUM.

  Survey(const container::Program &program,
         llvm::ArrayRef<isa::Instruction> code);
};
} // namespace

/// Follows the sums of the cluster, if that can be done.
static std::optional<TileSums>
followTiles(const machine::Description &machine,
            llvm::ArrayRef<isa::Instruction> code) {
  std::optional<TileSums> sums;
  if (!TileSums::areFollowed(code))
    return sums;
  sums.emplace(machine, code);
  TilePlaces places(machine);
  llvm::SmallVector<isa::Access, 16> own;
  for (uint32_t i = 0; i < code.size(); ++i) {
    own.clear();
    if (!isSemaphore(code[i])) {
      isa::footprints(code[i], machine, own);
      places.step(code[i], own);
    }
    if (!sums->step(i, own))
      return std::nullopt;
  }
  return sums;
}

Survey::Survey(const container::Program &program,
               llvm::ArrayRef<isa::Instruction> code)
    : products(code.size()), tileSums(followTiles(program.machine, code)),
      times(code.size()), moves(code.size()) {
  llvm::SmallVector<isa::Access, 16> own;
  for (uint32_t i = 0; isFollowed && i < code.size(); ++i) {
    if (isSemaphore(code[i]))
      continue;
    own.clear();
    isa::footprints(code[i], program.machine, own);
    isFollowed = products.step(i, code[i], own);
    const auto *matmul = std::get_if<isa::PeMatmul>(&code[i]);
    times[i] = matmul ? packTime(*matmul) : hostTime(code[i], own);
    moves[i] = mayMove(code[i], tileSums.has_value(), own);
  }
  isFollowed &=
      llvm::all_of(products.readers(), [&](const Products::Reader &reader) {
        return moves[reader.index];
      });
}

std::shared_ptr<const Lists>
emulator::cutIntoLists(const container::Program &program,
                       llvm::ArrayRef<isa::Instruction> code,
                       const OperandReuse &reuse, unsigned threads) {
  threads = std::min(threads, Lists::mostThreads);
  Survey survey(program, code);
  if (!survey.isFollowed)
    return nullptr;
  std::vector<ThreadSet> sets =
      cutShares({survey.products, survey.tileSums ? &*survey.tileSums : nullptr,
                 reuse, code, program.nodeOfInstruction, survey.times},
                threads);
  addProducts(survey.products, code, survey.times);
  Dependencies dependencies(program.machine, program.dramBytes, code.size());
  TilePlaces places(program.machine);
  llvm::SmallVector<isa::Access, 16> accesses;
  for (uint32_t i = 0; i < code.size(); ++i) {
    // To find them again takes less than to have kept them: they are large.
    accesses.clear();
    if (!isSemaphore(code[i])) {
      isa::footprints(code[i], program.machine, accesses);
      if (survey.tileSums)
        places.step(code[i], accesses);
      if (sets[i] == 0 && !survey.moves[i])
        sets[i] = 1;
    }
    if (!dependencies.step(i, sets[i], accesses))
      return nullptr;
  }
  return Scheduler(code, reuse, survey.times, std::move(sets), dependencies,
                   threads)
      .schedule();
}
