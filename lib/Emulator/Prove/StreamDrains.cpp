// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that follow a stream.

#include "StreamDrains.h"
#include "../Cost/Costs.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Transposes.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;

static constexpr auto actQueue = static_cast<unsigned>(isa::Queue::Act);

void StreamDrains::operation(uint32_t index, unsigned queue) {
  last[queue] = index;
  if (queue == actQueue)
    taken.clear();
}

void StreamDrains::signal(unsigned queue, unsigned semaphore) {
  semaphores[semaphore].push_back(last[queue]);
}

void StreamDrains::wait(uint32_t index, unsigned queue, unsigned semaphore) {
  const uint32_t signaller = semaphores[semaphore].front();
  semaphores[semaphore].pop_front();
  if (queue == actQueue)
    taken.push_back({index, signaller});
}

/// The loops of an operation over PSUM, innermost first, as few as address the
/// same entries in the same order.
template <typename Op>
static llvm::SmallVector<std::pair<int64_t, int64_t>, 3>
loopsOver(const Op &op) {
  const std::pair<int64_t, int64_t> all[] = {{op.n2, op.psumStride2},
                                             {op.n1, op.psumStride1},
                                             {op.n0, op.psumStride0}};
  llvm::SmallVector<std::pair<int64_t, int64_t>, 3> loops;
  for (auto [count, stride] : all) {
    if (count == 1)
      continue;
    if (!loops.empty() && stride == loops.back().first * loops.back().second)
      loops.back().first *= count;
    else
      loops.push_back({count, stride});
  }
  return loops;
}

/// Whether a drain reads exactly the entries that a matmul addresses, in the
/// same order.
static bool sameEntries(const isa::ActDrain &drain,
                        const isa::PeMatmul &matmul) {
  return matmul.groups == 1 && drain.cols == matmul.cols &&
         drain.psum == matmul.psum && loopsOver(drain) == loopsOver(matmul);
}

std::optional<Finding>
StreamDrains::drain(const isa::ActDrain &op, llvm::ArrayRef<Access> accesses,
                    llvm::ArrayRef<isa::Instruction> code,
                    const machine::Description &machine, ProofWork &work) {
  if (op.order == isa::DrainOrder::Block)
    return std::nullopt;
  auto bad = [&](std::string text) {
    return Finding{
        FaultKind::BadField,
        fmt::format("order {}: {}", isa::name(op.order).str(), text)};
  };
  if (op.fromTcu)
    return bad("the sparse cluster has no stream");
  const Taken *found = nullptr;
  const isa::PeMatmul *matmul = nullptr;
  for (const Taken &wait : taken) {
    if (wait.instruction == none)
      continue;
    const auto *stream = std::get_if<isa::PeMatmul>(&code[wait.instruction]);
    if (stream && sameEntries(op, *stream) &&
        (!found || found->instruction < wait.instruction)) {
      found = &wait;
      matmul = stream;
    }
  }
  if (!found)
    return bad("no wait directly before takes the signal of a matmul with "
               "these entries and columns");
  llvm::SmallVector<Access, 8> reads;
  isa::footprints(*matmul, machine, reads);
  uint64_t overlaps = taken.size();
  for (const Access &write : accesses)
    for (const Access &read : reads)
      if (write.write && !read.write && write.space == read.space &&
          isa::conflict(write, read, overlaps))
        return bad(fmt::format("{} while the stream {}", isa::describe(write),
                               isa::describe(read)));
  work.spend(overlaps);
  // A drain takes at most one entry a cycle: it may begin with the first step
  // of the stream, however many entries a step gives.
  const uint64_t steps = streamSteps(machine, *matmul);
  early.push_back({found->wait, found->instruction,
                   op.order == isa::DrainOrder::Row
                       ? machine::rowLead(steps)
                       : machine::columnLead(op.cols)});
  return std::nullopt;
}
