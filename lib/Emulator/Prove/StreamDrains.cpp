// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that follow a stream.

#include "StreamDrains.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Transposes.h"
#include <fmt/format.h>
#include <tuple>

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

/// Whether a drain reads exactly the entries that a matmul addresses.
static bool sameEntries(const isa::ActDrain &drain,
                        const isa::PeMatmul &matmul) {
  auto pattern = [](const auto &op) {
    return std::make_tuple(
        op.psum, op.n0, op.n1, op.n2, op.n0 > 1 ? op.psumStride0 : 0,
        op.n1 > 1 ? op.psumStride1 : 0, op.n2 > 1 ? op.psumStride2 : 0);
  };
  return matmul.groups == 1 && drain.cols == matmul.cols &&
         pattern(drain) == pattern(matmul);
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
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  early.push_back({found->wait, found->instruction,
                   op.order == isa::DrainOrder::Row
                       ? machine::rowLead(steps)
                       : machine::columnLead(op.cols)});
  return std::nullopt;
}
