// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a program's instructions. Queues run side by side, but what they
// share - DRAM, the banks of SB, the instruction stream - is granted in program
// order: an instruction that comes early in the program and late in time holds
// all others up (docs/decisions, program order).

#ifndef ASHLAR_EMULATOR_ORDER_H
#define ASHLAR_EMULATOR_ORDER_H

#include "ashlar/Container/Container.h"
#include "ashlar/Isa/Instruction.h"
#include <memory>
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// Another order of the instructions of a program.
struct ProgramOrder {
  std::vector<uint32_t> instructions; ///< Old indices in the new order.
  /// Per Program::dumps, the new index of the instruction after which it is
  /// complete and unchanged.
  std::vector<uint32_t> dumps;
  /// By old index the queues, where they are others than in the program.
  std::vector<isa::Queue> queues;
  uint64_t before = 0, after = 0; ///< Predicted cycles.
};

/// The instructions of \p program in the order in which they could start if
/// every resource served requests first come, first served. Queues and
/// semaphores keep their orders. An instruction that writes the memory of a
/// planned tensor stays before or after the point at which the tensor is copied
/// out, so results are the same, bit by bit. Nothing if that order takes no
/// fewer cycles than the given one, or if load() would refuse the program.
/// Times are those of the timing model, without results in flight within a
/// queue.
std::optional<ProgramOrder> orderByStart(const container::Program &program);

/// Queues whose instructions stay in program order: what the array and the
/// sparse cluster do depends on what they were told before.
bool keepsOrder(isa::Queue queue);

/// What must follow what in a program: instructions and, from `steps` minus
/// their number on, steps that only collect.
struct Dependences {
  struct Pair {
    uint32_t earlier, later;
    bool result; ///< The later one reads what the earlier one writes.
  };
  std::vector<Pair> pairs;
  uint32_t steps = 0; ///< Instructions first.
};

/// The priority among the instructions that a queue could start.
enum class Urgency {
  Program,     ///< It comes first in the program.
  CriticalPath ///< The longest chain of dependent instructions follows it.
};

/// Which of the DMA queues does what.
enum class Moves {
  Free,    ///< As in the program; each queue in any order.
  InOrder, ///< So, but queues other than that of the weights keep their orders.
  Shared   ///< Every instruction goes to the queue that is free first.
};

/// Which of the instructions that depend on nothing any more a free queue
/// takes.
enum class Pick {
  /// The most urgent one, although DRAM or a bank of SB may serve others first.
  MostUrgent,
  /// The one that starts first, of several the most urgent one. But a transfer
  /// does not take DRAM from the next instruction that becomes ready if that
  /// one
  /// is more urgent.
  FirstToStart
};

struct ListRule {
  Urgency urgency = Urgency::Program;
  Moves moves = Moves::Free;
  Pick pick = Pick::FirstToStart;
  /// Other than 0: urgencies by critical path are multiplied by factors from 1
  /// to 1.5, drawn per node.
  uint32_t seed = 0;
};

/// A program without semaphores of which several orders are compared. What all
/// orders have in common is found once.
class OrderTrials {
public:
  /// Nothing if the program is one that load() would refuse, or if
  /// \p dependences has fewer steps than it has instructions.
  static std::optional<OrderTrials> of(const container::Program &program,
                                       Dependences dependences);
  OrderTrials(OrderTrials &&) noexcept;
  OrderTrials &operator=(OrderTrials &&) noexcept;
  ~OrderTrials();

  /// A list schedule: whenever a queue is free, it takes one of the ready
  /// instructions, or else the one that becomes ready first. `before` is 0,
  /// `after` what the schedule takes where queues wait for each other at no
  /// cost. Nothing if the dependences form a cycle.
  std::optional<ProgramOrder> listSchedule(const ListRule &rule) const;

  /// The program in some order, with its semaphores.
  struct Trial {
    std::vector<isa::Instruction> code;
    /// Per instruction its number in the program, kNone for semaphores.
    std::vector<uint32_t> origins;
    /// Per instruction the latest one of its queue whose results it reads.
    std::vector<std::optional<uint32_t>> inFlight;
    /// Per Program::dumps, the instruction after which it is copied out.
    std::vector<uint32_t> complete;
    uint32_t semaphores = 0;
  };
  static constexpr uint32_t kNone = ~uint32_t(0);

  /// Cycles of an order by the timing model; if \p byStart, in the order of
  /// orderByStart() where that is better. Nothing as there.
  std::optional<uint64_t> cycles(Trial trial, bool byStart) const;

private:
  struct State;
  explicit OrderTrials(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// One list schedule of \p program (OrderTrials).
std::optional<ProgramOrder> listSchedule(const container::Program &program,
                                         const Dependences &dependences,
                                         const ListRule &rule);

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_ORDER_H
