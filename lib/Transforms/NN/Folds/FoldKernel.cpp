// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it takes to lay a kernel that is computed at run time into array rows:
// the fold moves its taps inside the chip, and the vector unit encodes them.
// Constant kernels are folded and encoded by the compiler.

#include "FoldPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::nn {
namespace {

/// Collects the loops of one copy of a kernel.
class KernelCopy {
public:
  KernelCopy(bool fromDram, const MachineView &machine) : machine(machine) {
    const auto partition = static_cast<uint64_t>(machine.partitionBytes);
    transfer.elementBytes = kFloatBytes;
    transfer.sides[0] = {fromDram, !fromDram, fromDram ? 0 : partition, 0};
    transfer.sides[1] = {false, true, partition, 0};
  }

  /// \p extent elements at \p from and \p to bytes of each other.
  void add(int64_t extent, int64_t from, int64_t to) {
    if (extent > 1)
      transfer.loops.push_back({extent, {from, to}, transfer.loops.size()});
  }

  int64_t cycles() {
    if (transfer.sides[0].inDram)
      machine::sortBySide(transfer.loops, 0);
    return transferCycles(transfer, machine);
  }

private:
  const MachineView &machine;
  machine::Transfer transfer;
};

/// [O, C, taps] of DRAM with C across partitions, or with C and the taps there.
int64_t kernelReadCycles(const FoldConv &conv, bool packed,
                         const MachineView &machine) {
  const int64_t taps = llvm::product_of(conv.kernel);
  const int64_t pitch = conv.channels * taps * kFloatBytes;
  KernelCopy copy(/*fromDram=*/true, machine);
  if (packed) {
    copy.add(conv.outputs, pitch, kFloatBytes);
    copy.add(conv.channels * taps, kFloatBytes, machine.partitionBytes);
  } else {
    copy.add(conv.outputs, pitch, taps * kFloatBytes);
    copy.add(conv.channels, taps * kFloatBytes, machine.partitionBytes);
    copy.add(taps, kFloatBytes, kFloatBytes);
  }
  return std::max(machine.dramCycles(conv.outputs * pitch), copy.cycles());
}

/// From C across partitions to C and the phases of a step, and the rows of the
/// kernel, if they become channels as well.
int64_t kernelFoldCycles(const FoldConv &conv, const FoldAlternative &plan,
                         const MachineView &machine) {
  const int64_t rows =
      llvm::product_of(llvm::ArrayRef(conv.kernel).drop_back());
  const int64_t phases = plan.fold.phases, taps = plan.fold.kernel;
  const bool packsRows = plan.kind == FoldKind::HeightWidth;
  const int64_t rowBytes = taps * phases * kFloatBytes;
  const int64_t partition = machine.partitionBytes;
  KernelCopy copy(/*fromDram=*/false, machine);
  copy.add(conv.channels, partition,
           phases * (packsRows ? rows : 1) * partition);
  copy.add(conv.outputs, rows * rowBytes, plan.taps * kFloatBytes);
  copy.add(rows, rowBytes, packsRows ? phases * partition : taps * kFloatBytes);
  copy.add(taps, phases * kFloatBytes, kFloatBytes);
  copy.add(phases, kFloatBytes, partition);
  return copy.cycles();
}

} // namespace

int64_t kernelElements(const FoldConv &conv, const FoldAlternative &plan,
                       const MachineView &machine) {
  return conv.outputs * plan.taps *
         llvm::divideCeilSigned(plan.channels, machine.partitions);
}

bool kernelFits(const FoldConv &conv, const FoldAlternative &plan,
                const MachineView &machine) {
  constexpr int64_t kMostMantissaBytes = 2;
  return !conv.computesKernel() ||
         kernelElements(conv, plan, machine) * kMostMantissaBytes <=
             machine.partitionBytes / 2;
}

int64_t kernelCycles(const FoldConv &conv, const FoldAlternative &plan,
                     const MachineView &machine) {
  int64_t cycles = kernelElements(conv, plan, machine) * machine.encodeCycles;
  if (conv.kernelSource == KernelSource::Dram)
    cycles += kernelReadCycles(conv, plan.kind == FoldKind::PackTaps, machine);
  const bool folds =
      plan.kind == FoldKind::Width || plan.kind == FoldKind::HeightWidth;
  if (folds && plan.channels > conv.channels)
    cycles += kernelFoldCycles(conv, plan, machine);
  return cycles;
}

} // namespace ashlar::nn
