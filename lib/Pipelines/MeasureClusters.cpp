// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs of compiled networks. Predictions of layers omit what
// neighbours overlap; the emulator's clock does not.

#include "MeasureClusters.h"
#include "ProveProgram.h"

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::pipelines {

llvm::Expected<ClusterUse> clusterUseOf(const container::Program &program) {
  ClusterUse use;
  for (size_t position = 0; position < program.code.size();) {
    auto instruction = isa::decode(program.code, position);
    if (!instruction)
      return instruction.takeError();
    if (const auto *run = std::get_if<isa::TccRun>(&*instruction)) {
      use.runs = true;
      use.scatters |= run->scatter != 0;
    } else {
      use.compresses |= std::holds_alternative<isa::DmaCompress>(*instruction);
    }
  }
  return use;
}

llvm::Expected<NetworkCycles> cyclesOf(const container::Program &program,
                                       llvm::ArrayRef<HostTensor> sample) {
  auto use = clusterUseOf(program);
  if (!use)
    return use.takeError();
  emulator::Options how;
  how.checkRaces = how.checkUndefined = false;
  how.functional = (use->scatters || use->compresses) && !sample.empty();
  auto loaded = loadCompiled(program, how);
  if (!loaded)
    return loaded.takeError();
  auto timed = emulator::run(
      *loaded, how.functional ? sample : llvm::ArrayRef<HostTensor>(), how);
  if (!timed)
    return timed.takeError();
  NetworkCycles cycles{timed->totalCycles, {}, 0, 0};
  for (const emulator::QueueStats &queue : timed->queues)
    cycles.bankWaits = std::max(
        cycles.bankWaits,
        queue.stall[static_cast<size_t>(emulator::StallCause::SbBusy)]);
  for (auto [node, stats] : llvm::zip(program.nodes, timed->nodes))
    cycles.nodes[node.name] += stats.cycles;
  if (how.functional)
    for (const emulator::NodeStats &node : timed->nodes)
      cycles.multiplications += node.macs;
  return cycles;
}

npu::MeasuredAttr MeasuredCycles::toAttr(mlir::MLIRContext &context) const {
  mlir::NamedAttrList list;
  for (const auto &[name, cycles] : written.nodes)
    if (auto other = dense.nodes.find(name); other != dense.nodes.end())
      list.set(name, mlir::DenseI64ArrayAttr::get(
                         &context, {static_cast<int64_t>(other->second),
                                    static_cast<int64_t>(cycles)}));
  return npu::MeasuredAttr::get(&context, static_cast<int64_t>(dense.total),
                                static_cast<int64_t>(written.total),
                                list.getDictionary(&context));
}

} // namespace ashlar::pipelines
