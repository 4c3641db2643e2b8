// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs of compiled networks. Predictions of layers omit what
// neighbours overlap; the emulator's clock does not.

#include "MeasureClusters.h"
#include "ProveProgram.h"

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

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

std::string measuredText(const NetworkCycles &dense,
                         const NetworkCycles &written) {
  auto both = [](uint64_t first, uint64_t second) {
    return llvm::json::Object{{"dense", first}, {"written", second}};
  };
  llvm::json::Object nodes;
  for (const auto &[name, cycles] : written.nodes)
    if (auto other = dense.nodes.find(name); other != dense.nodes.end())
      nodes[name] = both(other->second, cycles);
  llvm::json::Object all{{"network", both(dense.total, written.total)},
                         {"nodes", std::move(nodes)}};
  return llvm::formatv("{0}", llvm::json::Value(std::move(all)));
}

std::string giveReason(llvm::StringRef decisions, llvm::StringRef placeholder,
                       llvm::StringRef reason) {
  llvm::json::Value all = llvm::cantFail(llvm::json::parse(decisions));
  for (llvm::json::Value &value : *all.getAsArray()) {
    llvm::json::Object &entry = *value.getAsObject();
    for (llvm::json::Object *of : {&entry, entry.getObject("operand")})
      if (of && of->getString("reason") == placeholder)
        (*of)["reason"] = reason;
  }
  return llvm::formatv("{0}", all);
}

std::string addMeasured(llvm::StringRef decisions, llvm::StringRef measured) {
  llvm::json::Value all = llvm::cantFail(llvm::json::parse(decisions));
  const llvm::json::Value text = llvm::cantFail(llvm::json::parse(measured));
  const llvm::json::Object &cycles = *text.getAsObject();
  auto of = [](const llvm::json::Object &both, llvm::StringRef key) {
    return both.getInteger(key).value_or(0);
  };
  for (llvm::json::Value &value : *all.getAsArray()) {
    llvm::json::Object &entry = *value.getAsObject();
    const std::string choice = entry.getString("choice").value_or("").str();
    const llvm::json::Object *node = cycles.getObject("nodes")->getObject(
        entry.getString("node").value_or(""));
    if (!node || !entry.get("cycles_saved"))
      continue;
    auto named = [&](const llvm::json::Object &both) {
      return llvm::json::Object{{"dense", of(both, "dense")},
                                {choice, of(both, "written")}};
    };
    entry["measured"] = named(*node);
    entry["measured_network"] = named(*cycles.getObject("network"));
    entry["cycles_saved"] = of(*node, "dense") - of(*node, "written");
  }
  return llvm::formatv("{0}", all);
}

} // namespace ashlar::pipelines
