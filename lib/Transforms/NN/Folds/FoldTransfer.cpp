// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copies of a fold as transfers of lib/Machine: what moves bytes, and what
// forms runs and uses ports, is counted by the formulas that code generation
// orders its copies by.

#include "FoldPlan.h"

#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace ashlar::nn {

machine::Transfer foldTransfer(const FoldConv &conv,
                               const FoldAlternative &plan, int64_t rows,
                               int64_t columns, const MachineView &machine) {
  const int64_t partition = machine.partitionBytes;
  const bool pack = plan.kind == FoldKind::PackTaps;
  int64_t kernelRows = 1;
  if (plan.kind != FoldKind::Width)
    for (int64_t extent : llvm::ArrayRef(conv.kernel).drop_back())
      kernelRows *= extent;
  const int64_t phases = pack ? conv.kernel.back() : plan.fold.phases;
  const int64_t phaseStep = pack ? conv.dilations.back() : plan.fold.phaseStep;
  const int64_t stride = conv.strides.back();
  int64_t rowStep = 1, rowDilation = 1;
  if (conv.kernel.size() > 1) {
    rowStep =
        plan.kind == FoldKind::Width ? 1 : conv.strides[conv.kernel.size() - 2];
    rowDilation = conv.dilations[conv.kernel.size() - 2];
  }
  // A load folds as it reads; a gather reads what was staged before.
  const bool load = plan.tiles == 0 && conv.inputInDram;
  // A load fetches what several rows of the kernel read for one of them.
  const int64_t fetchedRows =
      load ? std::min(kernelRows, rowStep / std::gcd(rowStep, rowDilation))
           : kernelRows;
  const int64_t pitch = conv.width() * kFloatBytes;
  const int64_t plane = load ? pitch * rows * rowStep : partition;
  const int64_t pixels = llvm::divideCeilSigned(columns, plan.lanes);
  const int64_t lane = machine.rows / plan.lanes * partition;

  machine::Transfer transfer;
  transfer.elementBytes = kFloatBytes;
  const auto rowBytes = static_cast<uint64_t>(partition);
  transfer.sides[0] = {load, !load, load ? 0 : rowBytes, 0};
  transfer.sides[1] = {false, true, rowBytes, 0};
  auto add = [&](int64_t extent, int64_t from, int64_t to) {
    if (extent > 1)
      transfer.loops.push_back({extent, {from, to}, transfer.loops.size()});
  };
  add(conv.channels, plane, kernelRows * phases * partition);
  add(fetchedRows, rowDilation * pitch, phases * partition);
  add(phases, phaseStep * kFloatBytes, partition);
  add(rows, rowStep * pitch, pixels * kFloatBytes);
  add(pixels, plan.lanes * stride * kFloatBytes, kFloatBytes);
  add(plan.lanes, stride * kFloatBytes, lane);
  if (load)
    machine::sortBySide(transfer.loops, 0);
  return transfer;
}

int64_t transferCycles(machine::Transfer transfer, const MachineView &machine) {
  const auto queues = static_cast<uint64_t>(machine.copyQueues);
  machine::TransferCost cost =
      machine::TransferCosts(machine.description)
          .orderLoops(transfer, machine.copyQueues, queues);
  // Several tiles are on their way at the same time.
  cost.descriptors = std::max(cost.descriptors, queues);
  cost.dram = 0; // counted with its borders
  return static_cast<int64_t>(cost.cycles(queues));
}

int64_t clearCycles(const FoldAlternative &plan, int64_t rows, int64_t columns,
                    const MachineView &machine) {
  if (plan.lanes == 1)
    return 0;
  const int64_t pixels = llvm::divideCeilSigned(columns, plan.lanes);
  const int64_t between =
      (machine.rows / plan.lanes - plan.channels) * plan.lanes;
  // The last pixel of a row, in all partitions; whole rows between lanes.
  const int64_t open = columns % plan.lanes ? machine.rows * rows : 0;
  return static_cast<int64_t>(machine::dmaInside(
             machine.description, static_cast<uint64_t>(open * kFloatBytes),
             static_cast<uint64_t>(open), 0)) +
         static_cast<int64_t>(machine::dmaInside(
             machine.description,
             static_cast<uint64_t>(between * rows * pixels * kFloatBytes),
             static_cast<uint64_t>(between), 0));
}

} // namespace ashlar::nn
