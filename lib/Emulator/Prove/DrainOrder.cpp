// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the orders of drains by the proof that the loader demands of them and
// by the cycles that the machine charges.

#include "ashlar/Emulator/DrainOrder.h"

#include "../Cost/Costs.h"
#include "StreamDrains.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Transposes.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::DrainOrder;

namespace {

class OrderChooser {
public:
  OrderChooser(llvm::ArrayRef<isa::Instruction> code,
               const machine::Description &machine)
      : code(code), machine(machine), work(code.size()) {}

  std::vector<FollowingDrain> run();

private:
  void choose(uint32_t index, const isa::ActDrain &drain);
  bool mayFollow(const isa::ActDrain &drain);
  int64_t endOf(const isa::ActDrain &drain) const;

  llvm::ArrayRef<isa::Instruction> code;
  const machine::Description &machine;
  ProofWork work;
  StreamDrains streams;
  uint32_t signals[256] = {}; ///< That wait to be taken.
  std::vector<FollowingDrain> chosen;
};

} // namespace

/// Cycles from the end of the stream to the end of the drain.
int64_t OrderChooser::endOf(const isa::ActDrain &drain) const {
  const auto complete = static_cast<int64_t>(
      CostModel(machine)(isa::Instruction(drain)).timing.complete);
  const uint64_t steps = uint64_t(drain.n0) * drain.n1 * drain.n2;
  switch (drain.order) {
  case DrainOrder::Block:
    return complete;
  case DrainOrder::Row:
    return complete - static_cast<int64_t>(machine::rowLead(steps));
  case DrainOrder::Partition:
    return complete - static_cast<int64_t>(machine::columnLead(drain.cols));
  }
  return complete;
}

bool OrderChooser::mayFollow(const isa::ActDrain &drain) {
  llvm::SmallVector<isa::Access, 16> accesses;
  isa::footprints(drain, machine, accesses);
  return !streams.drain(drain, accesses, code, machine, work);
}

void OrderChooser::choose(uint32_t index, const isa::ActDrain &drain) {
  if (drain.order != DrainOrder::Block || drain.fromTcu)
    return;
  isa::ActDrain best = drain, other = drain;
  for (DrainOrder order : {DrainOrder::Row, DrainOrder::Partition}) {
    other.order = order;
    if (endOf(other) < endOf(best))
      best = other;
  }
  if (best.order != DrainOrder::Block && mayFollow(best))
    chosen.push_back({index, best.order});
}

std::vector<FollowingDrain> OrderChooser::run() {
  for (auto [i, instruction] : llvm::enumerate(code)) {
    const auto index = static_cast<uint32_t>(i);
    const auto queue = static_cast<unsigned>(isa::queueOf(instruction));
    if (const auto *signal = std::get_if<isa::SemSignal>(&instruction)) {
      streams.signal(queue, signal->sem);
      ++signals[signal->sem];
      continue;
    }
    if (const auto *wait = std::get_if<isa::SemWait>(&instruction)) {
      // No loader takes the program; what was found so far is harmless.
      if (signals[wait->sem] == 0)
        return chosen;
      --signals[wait->sem];
      streams.wait(index, queue, wait->sem);
      continue;
    }
    if (const auto *drain = std::get_if<isa::ActDrain>(&instruction))
      choose(index, *drain);
    streams.operation(index, queue);
  }
  return chosen;
}

std::vector<FollowingDrain>
emulator::followingDrains(llvm::ArrayRef<isa::Instruction> code,
                          const machine::Description &machine) {
  return OrderChooser(code, machine).run();
}
