// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the emulator's numbers to named statistics.

#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Peak.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Json.h"

#include "llvm/ADT/StringMap.h"
#include <array>
#include <deque>

using namespace ashlar;
using namespace ashlar::report;

namespace {

machine::Engine engineOf(unsigned queue) {
  switch (static_cast<isa::Queue>(queue)) {
  case isa::Queue::Peload:
    return machine::Engine::PeLoad;
  case isa::Queue::Pe:
    return machine::Engine::Pe;
  case isa::Queue::Act:
    return machine::Engine::Act;
  case isa::Queue::Vec:
    return machine::Engine::Vec;
  case isa::Queue::Tcc:
    return machine::Engine::Tcc;
  case isa::Queue::Host:
    return machine::Engine::Host;
  default:
    return machine::Engine::Dma;
  }
}

void collectEngines(const emulator::RunResult &result, RunStatistics &s) {
  for (unsigned q = 0; q < emulator::numQueues; ++q) {
    const emulator::QueueStats &queue = result.queues[q];
    EngineStatistics engine;
    engine.name = emulator::queueName(q).str();
    engine.instructions = queue.instructions;
    engine.busy = queue.busy;
    engine.copied = queue.copied;
    engine.work = queue.work;
    const machine::Engine kind = engineOf(q);
    engine.peak = machine::peakPerCycle(s.machine, kind);
    engine.unit = machine::workUnit(kind).str();
    for (unsigned c = 0; c < emulator::numStallCauses; ++c)
      if (queue.stall[c] != 0)
        engine.stalls.push_back(
            {emulator::stallCauseName(static_cast<emulator::StallCause>(c))
                 .str(),
             queue.stall[c]});
    s.engines.push_back(std::move(engine));
  }
}

/// The numbers of a node that the emulator counted.
void collectCounts(const emulator::NodeStats &stats, NodeStatistics &node) {
  node.cycles = stats.cycles;
  node.start = stats.start;
  node.end = stats.end;
  node.issued = stats.macs;
  node.busy.assign(stats.busy.begin(), stats.busy.end());
  node.work.assign(stats.work.begin(), stats.work.end());
  node.dramRead = stats.dramRead;
  node.dramWrite = stats.dramWrite;
  node.dramActivations = stats.dramActivations;
  node.copied = stats.copied;
  node.saturated = stats.saturated;
  node.underflow = stats.underflow;
  node.repaired = stats.repaired;
  node.repairCycles = stats.repairCycles;
  node.actions = stats.actions;
}

/// What engines did for the model: the sum over the nodes.
void collectUseful(RunStatistics &s) {
  for (size_t q = 0; q < s.engines.size(); ++q) {
    EngineStatistics &engine = s.engines[q];
    engine.useful = s.unassigned.useful(q, engine);
    for (const NodeStatistics &node : s.nodes)
      engine.useful += node.useful(q, engine);
  }
}

void collectNodes(const container::Program &program,
                  const emulator::RunResult &result, RunStatistics &s) {
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const container::NodeInfo &info = program.nodes[i];
    NodeStatistics node;
    node.name = info.name;
    node.opType = info.opType;
    node.engine = info.engine;
    node.absorbed = info.absorbed;
    if (i < result.nodes.size()) {
      collectCounts(result.nodes[i], node);
      // What the model requested; zeros that block-diagonal tiles feed to the
      // array are no work. Programs without this count report the array's.
      node.macs = info.macs ? info.macs : node.issued;
    }
    s.nodes.push_back(std::move(node));
  }
  collectCounts(result.unassigned, s.unassigned);
  s.unassigned.macs = s.unassigned.issued;
  collectUseful(s);
}

/// For each instruction those whose completion it waits for: of each wait since
/// the one before in its queue, the last one of the signalling queue before the
/// signal with which the wait is paired.
std::vector<std::vector<uint32_t>>
sourcesOf(llvm::ArrayRef<isa::Instruction> code) {
  constexpr uint32_t none = ~uint32_t(0);
  std::vector<std::vector<uint32_t>> result(code.size());
  std::vector<std::vector<uint32_t>> waited(emulator::numQueues);
  std::vector<uint32_t> last(emulator::numQueues, none);
  std::vector<std::deque<uint32_t>> signals(256);
  for (size_t i = 0; i < code.size(); ++i) {
    const auto queue = static_cast<size_t>(isa::queueOf(code[i]));
    if (const auto *signal = std::get_if<isa::SemSignal>(&code[i])) {
      signals[signal->sem].push_back(last[queue]);
    } else if (const auto *wait = std::get_if<isa::SemWait>(&code[i])) {
      std::deque<uint32_t> &waiting = signals[wait->sem];
      if (waiting.empty())
        continue;
      if (waiting.front() != none)
        waited[queue].push_back(waiting.front());
      waiting.pop_front();
    } else {
      last[queue] = static_cast<uint32_t>(i);
      result[i] = std::move(waited[queue]);
      waited[queue].clear();
    }
  }
  return result;
}

llvm::Error collectTimeline(const container::Program &program,
                            const emulator::RunResult &result,
                            RunStatistics &s) {
  llvm::Expected<std::vector<isa::Instruction>> code =
      isa::decodeAll(program.code);
  if (!code)
    return code.takeError();
  std::vector<std::vector<uint32_t>> sources = sourcesOf(*code);
  const size_t count = std::min(code->size(), result.times.size());
  s.timeline.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const isa::Instruction &instruction = (*code)[i];
    TimedInstruction timed;
    timed.start = result.times[i].start;
    timed.issueEnd = result.times[i].issueEnd;
    timed.complete = result.times[i].complete;
    timed.copied = result.times[i].copied;
    timed.macs = result.times[i].macs;
    timed.index = static_cast<uint32_t>(i);
    timed.engine = static_cast<uint32_t>(isa::queueOf(instruction));
    if (i < program.nodeOfInstruction.size())
      timed.node = program.nodeOfInstruction[i];
    timed.opcode = isa::info(instruction).mnemonic.str();
    timed.isSemaphore = std::holds_alternative<isa::SemWait>(instruction) ||
                        std::holds_alternative<isa::SemSignal>(instruction);
    timed.sources = std::move(sources[i]);
    s.timeline.push_back(std::move(timed));
  }
  for (const emulator::Stall &stall : result.stalls)
    if (stall.instruction < count)
      s.stalls.push_back({stall.begin, stall.end, stall.instruction,
                          emulator::stallCauseName(stall.cause).str()});
  for (const emulator::DramTime &time : result.dramTimes) {
    const TimedInstruction &timed = s.timeline[time.instruction];
    s.transfers.push_back({time.granted, time.end, time.bursts,
                           time.instruction, timed.node, timed.opcode});
  }
  return llvm::Error::success();
}

/// The node of an instruction, or nodes.size().
size_t nodeOf(const container::Program &program, uint32_t instruction) {
  const uint32_t node = instruction < program.nodeOfInstruction.size()
                            ? program.nodeOfInstruction[instruction]
                            : container::Program::noNode;
  return std::min<size_t>(node, program.nodes.size());
}

void collectUnits(const container::Program &program,
                  const emulator::RunResult &result, RunStatistics &s) {
  for (const emulator::UnitWork &work : result.units)
    if (const size_t node = nodeOf(program, work.first); node < s.nodes.size())
      s.nodes[node].units.push_back({work.first, work.unit, work.group,
                                     work.image, work.tile, work.cycles,
                                     work.products});
}

void collectCuts(const container::Program &program,
                 const emulator::RunResult &result, RunStatistics &s) {
  for (const emulator::CutResult &cut : result.cuts) {
    const size_t node = nodeOf(program, cut.instruction);
    s.cuts.push_back(
        {cut.instruction,
         node < program.nodes.size() ? program.nodes[node].name : std::string(),
         cut.met, cut.spread, cut.imbalance, cut.probes, cut.tiles});
  }
}

void collectMaps(const container::Program &program,
                 const emulator::RunResult &result, RunStatistics &s) {
  for (const emulator::StoredMaps &map : result.maps)
    s.maps.push_back({map.node < program.nodes.size()
                          ? program.nodes[map.node].name
                          : std::string(),
                      map.cells, map.bytes, map.denseBytes, map.nonZeros});
}

/// Bytes from the first to the last of a placement; of one in SB those of a
/// partition.
uint64_t extentOf(const container::TensorPlacement &place,
                  uint64_t partitions) {
  const bool inDram = place.memory == container::PlacementMemory::Dram;
  int64_t last = 0;
  for (size_t d = 0; d < place.shape.size() && d < place.strides.size(); ++d) {
    const int64_t extent = std::max<int64_t>(place.shape[d], 1);
    if (inDram || static_cast<int32_t>(d) != place.channelAxis)
      last += (d + 1 == place.shape.size() ? (extent - 1) / place.lanes
                                           : extent - 1) *
              std::abs(place.strides[d]);
    else
      last += static_cast<int64_t>(
          (place.basePartition + uint64_t(extent) - 1) / partitions *
          uint64_t(std::abs(place.tileStride)));
  }
  return static_cast<uint64_t>(last) + place.elementBytes();
}

/// Adds \p cycle to the end of each tensor that \p input names: a string or a
/// list of strings.
void extendTo(const llvm::json::Value &input, uint64_t cycle,
              llvm::StringMap<uint64_t> &ends) {
  if (auto name = input.getAsString())
    ends[*name] = std::max(ends[*name], cycle);
  else if (const llvm::json::Array *names = input.getAsArray())
    for (const llvm::json::Value &name : *names)
      extendTo(name, cycle, ends);
}

/// For each tensor of the numeric plan the cycle in which its last reader
/// completes. A plan that is not JSON has no readers; toHtml() complains of it.
llvm::StringMap<uint64_t>
lastReads(const container::Program &program,
          const llvm::StringMap<const NodeStatistics *> &nodes) {
  llvm::StringMap<uint64_t> ends;
  auto plan = support::parseJson(program.numericPlanJson);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return ends;
  }
  const llvm::json::Object *all = plan->getAsObject();
  const llvm::json::Array *ops = all ? all->getArray("ops") : nullptr;
  if (!ops)
    return ends;
  for (const llvm::json::Value &entry : *ops) {
    const llvm::json::Object *op = entry.getAsObject();
    const llvm::json::Object *inputs = op ? op->getObject("inputs") : nullptr;
    const auto name = op ? op->getString("name") : std::nullopt;
    const NodeStatistics *reader = name ? nodes.lookup(*name) : nullptr;
    if (inputs && reader)
      for (const auto &input : *inputs)
        extendTo(input.second, reader->end, ends);
  }
  return ends;
}

void collectPlacements(const container::Program &program, bool timeline,
                       RunStatistics &s) {
  llvm::StringMap<const NodeStatistics *> nodes, makers;
  for (const NodeStatistics &node : s.nodes)
    nodes[node.name] = &node;
  for (const container::NodeInfo &node : program.nodes)
    for (const std::string &name : node.plannedTensors)
      makers[name] = nodes.lookup(node.name);
  // Without a timeline nothing asks how long tensors live; reading the plan for
  // it would take longer than many a run.
  const llvm::StringMap<uint64_t> ends =
      timeline ? lastReads(program, nodes) : llvm::StringMap<uint64_t>();
  for (const container::TensorPlacement &place : program.dumps) {
    const NodeStatistics *maker = makers.lookup(place.name);
    PlacementStatistics &own = s.placements.emplace_back();
    own.name = place.name;
    own.inDram = place.memory == container::PlacementMemory::Dram;
    own.offset = place.baseOffset;
    own.bytes = extentOf(place, program.machine.sb.partitions);
    if (!maker)
      continue;
    own.node = maker->name;
    own.start = maker->start;
    own.end = std::max(maker->end, ends.lookup(place.name));
  }
}

} // namespace

llvm::Expected<RunStatistics>
report::collectStatistics(const emulator::LoadedProgram &loaded,
                          const emulator::RunResult &result) {
  const container::Program &program = loaded.program();
  RunStatistics s;
  s.model = program.modelName;
  s.machine = program.machine;
  s.timed = result.timed;
  s.totalCycles = result.totalCycles;
  s.idleCycles = result.idleCycles;
  s.dramBusy = result.dramBusy;
  s.dramUseful = result.dramUseful;
  s.dramActivations = result.dramActivations;
  s.dramRowHits = result.dramRowHits;
  s.dramRefresh = result.dramRefresh;
  s.wallSeconds = result.wallSeconds;
  s.saturated = result.saturated;
  s.underflow = result.underflow;
  s.nonFinite = result.nonFinite;
  s.decisionsJson = program.decisionsJson;
  s.planJson = program.numericPlanJson;
  collectEngines(result, s);
  collectNodes(program, result, s);
  collectCuts(program, result, s);
  collectUnits(program, result, s);
  collectMaps(program, result, s);
  collectPlacements(program, !result.times.empty(), s);
  if (!result.times.empty())
    if (llvm::Error error = collectTimeline(program, result, s))
      return error;
  return s;
}
