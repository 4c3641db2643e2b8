// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading and running.

#include "ashlar/Emulator/Emulator.h"
#include "Cache/ProofCache.h"
#include "Impl.h"
#include "Parallel/ListRun.h"
#include "Prove/Cluster/KnownStreams.h"
#include "Prove/LastReads.h"
#include "Prove/SettledCopies.h"
#include "State/FirstContents.h"
#include "Step.h"
#include "Time/AccountThread.h"
#include "Time/DramServer.h"
#include "Time/KeptAccount.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Support/LargePages.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <utility>

using namespace ashlar;
using namespace ashlar::emulator;

LoadedProgram::LoadedProgram(std::unique_ptr<Impl> impl)
    : pimpl(std::move(impl)) {}
LoadedProgram::LoadedProgram(LoadedProgram &&) noexcept = default;
LoadedProgram &LoadedProgram::operator=(LoadedProgram &&) noexcept = default;
LoadedProgram::~LoadedProgram() = default;

LoadedProgram::Impl::Impl() = default;
LoadedProgram::Impl::~Impl() = default;

const container::Program &LoadedProgram::program() const {
  return pimpl->program;
}

uint64_t LoadedProgram::numInstructions() const { return pimpl->code.size(); }

std::string LoadedProgram::disassemble(uint64_t index) const {
  return isa::print(pimpl->code[index]);
}

unsigned LoadedProgram::queueOf(uint64_t index) const {
  return pimpl->queues[index];
}

//===- Loading ------------------------------------------------------------===//

/// Decodes all words; a fault names the instruction that is none.
std::optional<Fault> emulator::decodeProgram(LoadedProgram::Impl &impl) {
  llvm::ArrayRef<uint64_t> words = impl.program.code;
  support::reserveInLargePages(impl.code, isa::countInstructions(words));
  for (size_t position = 0; position < words.size();) {
    llvm::Expected<isa::Instruction> inst = isa::decode(words, position);
    if (!inst)
      return makeFault(impl, impl.code.size(), FaultKind::BadEncoding,
                       llvm::toString(inst.takeError()));
    if (impl.code.size() == noInstruction)
      return makeFault(impl, 0, FaultKind::Capacity,
                       "more than 2^32 - 1 instructions");
    impl.queues.push_back(static_cast<uint8_t>(isa::queueOf(*inst)));
    impl.code.push_back(std::move(*inst));
  }
  return std::nullopt;
}

bool emulator::usesSparse(llvm::ArrayRef<isa::Instruction> code) {
  return llvm::any_of(code, [](const isa::Instruction &inst) {
    const auto *copy = std::get_if<isa::DmaCopy>(&inst);
    const auto *drain = std::get_if<isa::ActDrain>(&inst);
    return std::holds_alternative<isa::TccTile>(inst) ||
           std::holds_alternative<isa::DmaTile>(inst) ||
           std::holds_alternative<isa::TccInit>(inst) ||
           std::holds_alternative<isa::TccRun>(inst) ||
           std::holds_alternative<isa::TccNnz>(inst) ||
           std::holds_alternative<isa::TccPart>(inst) ||
           std::holds_alternative<isa::TccOperand>(inst) ||
           std::holds_alternative<isa::TccBind>(inst) ||
           std::holds_alternative<isa::ActPool>(inst) ||
           (copy && copy->dstMem == isa::Memory::Wm) ||
           (drain && (drain->fromTcu || drain->counted));
  });
}

/// Bytes of a partition that the results of a tile take which no drain stores.
static uint64_t stagedBytes(llvm::ArrayRef<isa::Instruction> code,
                            const machine::Description &machine) {
  const bool any = llvm::any_of(code, [](const isa::Instruction &inst) {
    const auto *drain = std::get_if<isa::ActDrain>(&inst);
    return drain && drain->unstored;
  });
  return any ? 2 * machine.sparse.accumulatorEntries : 0;
}

static llvm::Error prepare(LoadedProgram::Impl &impl, const Options &options) {
  const container::Program &program = impl.program;
  Engine &engine = impl.engine;
  engine.machine = &program.machine;
  impl.costMachine = costMachineOf(program.machine);
  engine.costMachine = &impl.costMachine;
  if (llvm::Error error = engine.memory.plan(
          program.machine, program.dramBytes, options.maxMemory,
          usesSparse(impl.code), stagedBytes(impl.code, program.machine)))
    return error;
  // What is only timed reads no memory.
  if (options.functional)
    if (llvm::Error error = engine.memory.take())
      return error;
  for (uint32_t i = 0; i < program.dumps.size(); ++i)
    impl.dumpOrder.push_back(i);
  llvm::sort(impl.dumpOrder, [&](uint32_t a, uint32_t b) {
    return std::pair(program.dumps[a].afterInstruction, a) <
           std::pair(program.dumps[b].afterInstruction, b);
  });
  impl.zeroMemory = !options.checkUndefined;
  engine.lastReads = lastReads(impl.code, program.machine.psum.entries());
  return llvm::Error::success();
}

/// Proves the program, or finds that this has been done before. Only a whole
/// proof is kept.
static std::optional<Fault> proveOrRestore(LoadedProgram::Impl &impl,
                                           const Options &options) {
  if (!impl.proofs->restore(impl))
    return verify(impl, options);
  if (options.functional)
    decodeKnownStreams(impl);
  return std::nullopt;
}

std::string emulator::keepProof(LoadedProgram &program) {
  LoadedProgram::Impl &impl = program.impl();
  if (!impl.proofs)
    return "";
  impl.proofs->store(impl);
  return impl.proofs->note;
}

llvm::Expected<LoadedProgram> emulator::load(container::Program program,
                                             const Options &options,
                                             Fault *fault) {
  if (llvm::Error error = container::check(program))
    return error;
  auto impl = std::make_unique<LoadedProgram::Impl>();
  impl->program = std::move(program);
  const bool wholeProof = options.checkRaces && options.checkUndefined;
  impl->proofs = std::make_unique<ProofCache>(
      impl->program, isa::countInstructions(impl->program.code),
      wholeProof ? llvm::StringRef(options.proofFolder) : "", options.threads);
  // A program whose time alone is asked for reads no memory. If DRAM cannot be
  // had, prepare() says so after the code has been looked at.
  Memory &memory = impl->engine.memory;
  std::optional<FirstContents> contents;
  if (options.functional &&
      memory.allocateDram(impl->program.dramBytes, options.maxMemory))
    contents.emplace(impl->program, memory, options.threads);
  std::optional<Fault> found = decodeProgram(*impl);
  // Memory limits come first: the verifier allocates in proportion to them.
  if (!found) {
    if (llvm::Error error = prepare(*impl, options))
      return error;
    if (contents)
      contents->allocated();
    found = proveOrRestore(*impl, options);
    if (contents)
      contents->finish();
    impl->hasConstants = contents.has_value();
  }
  if (found) {
    if (fault)
      *fault = *found;
    return toError(*found);
  }
  return LoadedProgram(std::move(impl));
}

uint64_t LoadedProgram::memoryBytes() const {
  return pimpl->engine.memory.size();
}

llvm::Expected<LoadedProgram> emulator::replicate(const LoadedProgram &program,
                                                  const Options &options) {
  const LoadedProgram::Impl &from = program.impl();
  auto impl = std::make_unique<LoadedProgram::Impl>();
  impl->program = from.program; // The bytes of constants are shared.
  impl->code = from.code;
  impl->queues = from.queues;
  impl->hazards = from.hazards;
  impl->earlyWaits = from.earlyWaits;
  impl->clusterCosts = from.clusterCosts;
  impl->tileClaims = from.tileClaims;
  impl->engine.reuse = from.engine.reuse;
  impl->engine.tapPrograms = from.engine.tapPrograms;
  impl->listThreads = from.listThreads;
  if (from.listRun)
    impl->listRun = ListRun::of(from.listRun->cut());
  if (llvm::Error error = prepare(*impl, options))
    return error;
  if (llvm::Error error = impl->engine.memory.take())
    return error;
  impl->hasConstants = true;
  FirstContents contents(impl->program, impl->engine.memory, options.threads);
  contents.allocated();
  contents.finish();
  return LoadedProgram(std::move(impl));
}

llvm::Error emulator::prove(const container::Program &program, Fault *fault) {
  if (llvm::Error error = container::check(program))
    return error;
  // Tables and code are copied, the bytes of constants are shared.
  auto impl = std::make_unique<LoadedProgram::Impl>();
  impl->program = program;
  std::optional<Fault> found = decodeProgram(*impl);
  Options options;
  options.functional = false; // Nothing is prepared for a run.
  if (!found)
    found = verify(*impl, options);
  if (!found)
    return llvm::Error::success();
  if (fault)
    *fault = *found;
  return toError(*found);
}

//===- Running ------------------------------------------------------------===//

static llvm::Error checkInputs(const container::Program &program,
                               llvm::ArrayRef<support::HostTensor> inputs) {
  if (inputs.size() != program.inputs.size())
    return makeError(ErrorClass::Malformed, "found {} inputs, expected {}",
                     inputs.size(), program.inputs.size());
  for (auto [binding, input] : llvm::zip(program.inputs, inputs)) {
    const bool sameShape =
        llvm::equal(binding.shape, input.shape) && binding.type == input.type;
    const uint64_t bytes = *support::countElements(binding.shape) *
                           support::byteSize(binding.type);
    if (!sameShape || input.data.size() != bytes)
      return makeError(
          ErrorClass::Malformed, "input '{}' is {} with {} bytes, expected {}",
          binding.name, support::describe(input), input.data.size(),
          support::describe(binding.type, binding.shape));
  }
  return llvm::Error::success();
}

static llvm::Error checkState(const container::Program &program,
                              llvm::ArrayRef<int16_t> state) {
  if (state.empty() || state.size() == program.state.initial.size())
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed,
                   "state of {} numbers, the program has {}", state.size(),
                   program.state.initial.size());
}

static llvm::Error checkKept(const container::Program &program,
                             llvm::ArrayRef<support::HostTensor> kept) {
  const auto &tensors = program.cache.tensors;
  if (!kept.empty() && kept.size() != tensors.size())
    return makeError(ErrorClass::Malformed,
                     "{} kept tensors, the program has {}", kept.size(),
                     tensors.size());
  for (auto [binding, tensor] : llvm::zip(tensors, kept))
    if (binding.type != tensor.type ||
        !llvm::equal(binding.shape, tensor.shape))
      return makeError(ErrorClass::Malformed,
                       "kept tensor '{}' is {}, expected {}", binding.name,
                       support::describe(tensor),
                       support::describe(binding.type, binding.shape));
  return llvm::Error::success();
}

/// What the run before has left, or zeros.
static void restoreKept(Memory &memory, const container::Cache &cache,
                        llvm::ArrayRef<support::HostTensor> kept) {
  for (auto [i, binding] : llvm::enumerate(cache.tensors)) {
    uint8_t *at = memory.dram(binding.dramOffset);
    if (kept.empty())
      std::memset(at, 0,
                  *support::countElements(binding.shape) *
                      support::byteSize(binding.type));
    else
      llvm::copy(kept[i].data, at);
  }
}

static std::vector<support::HostTensor> keptOf(Memory &memory,
                                               const container::Cache &cache) {
  std::vector<support::HostTensor> kept;
  for (const container::KeptTensor &binding : cache.tensors) {
    kept.push_back(support::HostTensor::zeros(binding.type, binding.shape));
    std::memcpy(kept.back().data.data(), memory.dram(binding.dramOffset),
                kept.back().data.size());
  }
  return kept;
}

static llvm::Error selectKernels(LoadedProgram::Impl &impl,
                                 const Options &options) {
  Engine &engine = impl.engine;
  engine.kernels = options.kernels == "best"
                       ? &numerics::bestKernels()
                       : numerics::kernelsByName(options.kernels);
  if (!engine.kernels)
    return makeError(ErrorClass::Usage,
                     "kernels '{}' are unknown or cannot run on this host, "
                     "which has {}",
                     options.kernels, numerics::kernelNames());
  const unsigned threads = std::max(1u, options.threads);
  if (threads == 1)
    impl.pool.reset();
  else if (!impl.pool || impl.pool->size() != threads)
    impl.pool = std::make_unique<support::ThreadPool>(threads);
  engine.observer = options.observer;
  // Operands are packed for one kernel table, and from one run's inputs.
  engine.operands.clear();
  engine.sets = {};
  return llvm::Error::success();
}

/// The state of the memories before cycle 0.
static void resetMemories(LoadedProgram::Impl &impl,
                          llvm::ArrayRef<support::HostTensor> inputs,
                          const Options &options) {
  Memory &memory = impl.engine.memory;
  llvm::ArrayRef<int16_t> state = options.state;
  if (impl.zeroMemory)
    memory.clearOnChip();
  memory.clearScales();
  impl.engine.clearTables();
  impl.engine.kept.assign(impl.program.machine.sparse.fmuSets, {});
  impl.engine.nonZeros.assign(impl.program.machine.sparse.countEntries, 0);
  impl.engine.measured.clear();
  impl.engine.chosen.clear();
  impl.engine.cuts.clear();
  impl.engine.maps.clear();
  impl.engine.units.clear();
  impl.engine.unitIndex.clear();
  impl.engine.nodes = impl.program.nodeOfInstruction;
  impl.engine.statistics.assign(impl.program.machine.sr.registers, {});
  for (auto [binding, input] : llvm::zip(impl.program.inputs, inputs))
    llvm::copy(input.data, memory.dram(binding.dramOffset));
  restoreKept(memory, impl.program.cache, options.kept);
  const container::StateBinding &binding = impl.program.state;
  if (state.empty())
    state = binding.initial;
  if (!state.empty())
    std::memcpy(memory.dram(binding.dramOffset), state.data(),
                state.size() * sizeof(int16_t));
}

/// The finding of instruction \p index as a fault; sums that nothing drained
/// are computed all the same, as at the end of a run.
static Fault runFault(LoadedProgram::Impl &impl, uint64_t index) {
  Engine &engine = impl.engine;
  engine.batch.flush(engine);
  Fault fault = makeFault(impl, index, engine.finding->kind,
                          std::move(engine.finding->message));
  if (engine.finding->address) {
    fault.space = "sb";
    fault.address = *engine.finding->address;
  }
  engine.finding.reset();
  return fault;
}

/// A tensor that the run has left in DRAM, as far as its extent goes. An extent
/// beyond the room for it is a finding.
static support::HostTensor outputOf(LoadedProgram::Impl &impl,
                                    const container::TensorBinding &binding) {
  Memory &memory = impl.engine.memory;
  support::HostTensor output;
  output.type = binding.type;
  output.shape.assign(binding.shape.begin(), binding.shape.end());
  const uint8_t *data = memory.dram(binding.dramOffset);
  output.data.assign(data, data + *support::countElements(binding.shape) *
                                      support::byteSize(binding.type));
  if (!binding.hasRunTimeExtent())
    return output;
  int64_t extent;
  std::memcpy(&extent, memory.dram(binding.extentOffset), sizeof(extent));
  const auto axis = static_cast<size_t>(binding.extentAxis);
  const int64_t most = binding.shape[axis];
  if (extent >= 0 && extent <= most)
    return support::firstIndices(output, axis, extent);
  impl.engine.finding = RunFinding{
      FaultKind::OutOfRange,
      fmt::format("output '{}' ends with an extent of {} on axis {}, expected "
                  "0 to {}",
                  binding.name, extent, axis, most)};
  return output;
}

/// Finds what later runs need not fetch again. The first run of a program pays
/// nothing for it. A run that ends early leaves memories as they are.
static void findSettled(LoadedProgram::Impl &impl) {
  if (!std::exchange(impl.wasRun, false))
    impl.settled.clear();
  else if (impl.settled.empty() && !impl.zeroMemory)
    impl.settled = settledCopies(impl.code, impl.program);
}

/// Stops at the first instruction that the contents of memory make impossible.
static std::optional<Fault> executeInOrder(LoadedProgram::Impl &impl,
                                           const Options &options,
                                           RunResult &result) {
  numerics::FloatEnvironment environment;
  Engine &engine = impl.engine;
  size_t nextDump = 0;
  for (size_t i = 0; i < impl.code.size(); ++i) {
    executeStep(impl, engine, static_cast<uint32_t>(i));
    if (engine.finding)
      return runFault(impl, i);
    if (options.traceArray)
      traceValues(impl, static_cast<uint32_t>(i), result);
    addStep(impl, engine, result);
    if (!options.dumpTensors)
      continue;
    for (; nextDump < impl.dumpOrder.size(); ++nextDump) {
      uint32_t dump = impl.dumpOrder[nextDump];
      if (impl.program.dumps[dump].afterInstruction != i)
        break;
      result.dumps.push_back(copyOut(impl, dump));
      if (engine.finding)
        return runFault(impl, i);
    }
  }
  // Sums that nothing drained are computed all the same: nothing of a run may
  // be left for the next.
  engine.batch.flush(engine);
  return std::nullopt;
}

/// Side by side, if there are lists, and otherwise in program order.
static std::optional<Fault> execute(LoadedProgram::Impl &impl,
                                    llvm::ArrayRef<support::HostTensor> inputs,
                                    const Options &options, ListRun *lists,
                                    RunResult &result) {
  if (lists) {
    if (lists->run(impl, result))
      return std::nullopt;
    resetMemories(impl, inputs, options);
    impl.engine.setThreads(impl.pool.get(),
                           options.threadsNear.value_or(false));
  }
  return executeInOrder(impl, options, result);
}

/// What the run has left in the memories.
static std::optional<Fault> takeResults(LoadedProgram::Impl &impl,
                                        RunResult &result) {
  Engine &engine = impl.engine;
  result.cuts = engine.cuts;
  result.units = engine.units;
  for (const auto &entry : engine.maps)
    result.maps.push_back(entry.second);
  for (const container::TensorBinding &binding : impl.program.outputs) {
    result.outputs.push_back(outputOf(impl, binding));
    if (engine.finding)
      return runFault(impl, impl.code.size() - 1);
  }
  const container::StateBinding &state = impl.program.state;
  result.state.resize(state.initial.size());
  if (!result.state.empty())
    std::memcpy(result.state.data(), engine.memory.dram(state.dramOffset),
                result.state.size() * sizeof(int16_t));
  result.kept = keptOf(engine.memory, impl.program.cache);
  impl.wasRun = true;
  return std::nullopt;
}

/// What the threads of a run do: lists, or if there are none loops. Whether
/// they are near is measured if the options do not say so.
static ListRun *prepareThreads(LoadedProgram::Impl &impl,
                               const Options &options) {
  using Distance = support::ThreadPool::Distance;
  const Distance distance =
      impl.pool ? impl.pool->distance() : Distance::Unknown;
  ListRun *const lists = ListRun::prepare(impl, options, distance);
  if (!lists)
    impl.engine.setThreads(impl.pool.get(), options.threadsNear.value_or(
                                                distance == Distance::Near));
  return lists;
}

llvm::Expected<RunResult>
emulator::run(LoadedProgram &program,
              llvm::ArrayRef<support::HostTensor> inputs,
              const Options &asked) {
  Options options = asked;
  options.recordTimes |= options.traceArray;
  LoadedProgram::Impl &impl = program.impl();
  RunResult result;
  result.nodes.resize(impl.program.nodes.size());
  if (options.functional) {
    if (llvm::Error error = checkInputs(impl.program, inputs))
      return error;
    if (llvm::Error error = checkState(impl.program, options.state))
      return error;
    if (llvm::Error error = checkKept(impl.program, options.kept))
      return error;
    if (llvm::Error error = selectKernels(impl, options))
      return error;
    if (llvm::Error error = impl.engine.memory.take())
      return error;
    if (!std::exchange(impl.hasConstants, true))
      copyConstants(impl.program, impl.engine.memory);
  }
  ListRun *const lists =
      options.functional ? prepareThreads(impl, options) : nullptr;
  const auto begin = std::chrono::steady_clock::now();
  if (options.functional) {
    resetMemories(impl, inputs, options);
    findSettled(impl);
    impl.engine.keepSums = options.traceArray;
    impl.engine.keepChosen = needsRequests(impl.program.machine, options);
  }
  const bool counted = addKeptAccount(impl, options, result);
  std::optional<AccountThread> account;
  // Its thread would take the processor of a list.
  if (!counted && !lists)
    account.emplace(impl, options, result);
  if (options.functional) {
    std::optional<Fault> fault = execute(impl, inputs, options, lists, result);
    if (!fault)
      fault = takeResults(impl, result);
    if (fault)
      return toError(*fault);
  }
  if (!counted) {
    if (!(account && account->finish()) && options.timing)
      accountCycles(impl, options, result);
    keepAccount(impl, options, result);
  }
  if (options.traceArray && options.timing)
    traceTimes(impl, result);
  result.wallSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return result;
}
