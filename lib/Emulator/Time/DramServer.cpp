// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transfers in the order of service.

#include "DramServer.h"

#include "ashlar/Machine/Dram.h"
#include <fmt/format.h>
#include <iterator>

using namespace ashlar;
using namespace ashlar::emulator;
using machine::DramModel;

machine::Description
emulator::costMachineOf(const machine::Description &machine) {
  machine::Description cost = machine;
  if (cost.dram.kind() == DramModel::Banked) {
    cost.dram.model = static_cast<uint64_t>(DramModel::Ideal);
    cost.dram.bytesPerCycle = machine::maxCycles;
  }
  return cost;
}

bool emulator::needsRequests(const machine::Description &machine,
                             const Options &options) {
  return options.timing &&
         (machine.dram.kind() == DramModel::Banked || options.traceDram);
}

DramServer::DramServer(const LoadedProgram::Impl &impl, const Options &options,
                       RunResult &result)
    : impl(impl), options(options), result(result) {
  if (impl.program.machine.dram.kind() == DramModel::Banked)
    banks.emplace(impl.program.machine);
}

/// A line of the trace for each burst.
static void appendTrace(const machine::Description &machine,
                        const DramLine &line, std::string &trace) {
  const uint64_t burst = machine.dram.burstBytes;
  uint64_t start = line.address;
  for (uint64_t run = 0; run < line.runs; ++run) {
    const uint64_t bursts = machine::runBursts(machine, start, line.bytes);
    for (uint64_t i = 0; i < bursts; ++i)
      fmt::format_to(std::back_inserter(trace), "{} {:#x}\n",
                     line.write ? "ST" : "LD",
                     start / burst * burst + i * burst);
    start += static_cast<uint64_t>(line.stride);
  }
}

uint64_t DramServer::serve(uint32_t index, uint64_t granted, Cost &cost) {
  const machine::Description &machine = impl.program.machine;
  if (banks || options.traceDram) {
    const auto found = impl.engine.chosen.find(index);
    llvm::ArrayRef<uint64_t> chosen;
    if (found != impl.engine.chosen.end())
      chosen = found->second;
    if (banks)
      banks->begin(granted);
    dramRequests(machine, impl.code[index], chosen, [&](const DramLine &line) {
      if (banks)
        banks->serve(line);
      if (options.traceDram)
        appendTrace(machine, line, result.dramTrace);
    });
  }
  if (banks) {
    const DramBanks::Served served = banks->end();
    cost.setDram(served.cycles);
    cost.dramActivations = served.activations;
    result.dramActivations += served.activations;
    result.dramRowHits += served.hits;
    result.dramRefresh += served.refresh;
  }
  if (options.recordTimes)
    result.dramTimes.push_back(
        {index, granted, granted + cost.timing.dram,
         (cost.dramRead + cost.dramWrite) / machine.dram.burstBytes});
  return cost.timing.dram;
}
