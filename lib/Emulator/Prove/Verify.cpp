// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The static pass over a decoded program: one walk in program order through
// all checks. Data decides which elements vec.gather and dma.gather read, how
// many bytes the cells of dma.compress and dma.expand take, and nothing else
// but tiles that tcc.part cuts: all that is possible is checked. What passes
// here can only fault at an index, or at a compressed cell, while it runs.

#include "../Impl.h"
#include "../State/Words.h"
#include "Checks.h"
#include "Defined.h"
#include "FieldRules.h"
#include "KeptPlaces.h"
#include "Races.h"
#include "SparseCheck.h"
#include "WordChecks.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/PooledDrain.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

namespace {

/// What an access costs to keep and to compare with later ones.
constexpr uint64_t stepsPerAccess = 256;

/// What the verifier knows of a stationary set.
struct LoadedSet {
  bool present = false;
  uint64_t rows = 0, cols = 0;
  uint64_t terms = 0; ///< Cells of a column that may be other than zero.
  isa::OperandMode mode = isa::OperandMode::Bfp;
  double bound = 0;
  bool pattern = false;  ///< N:M weights.
  uint64_t mantissa = 0; ///< Mode bfp: width of its elements.
};

/// Queues of a semaphore and how many signals are waiting to be taken.
struct SemaphoreState {
  int signaller = -1, waiter = -1;
  uint64_t pending = 0;
};

class Verifier {
public:
  Verifier(LoadedProgram::Impl &impl, const Options &options)
      : impl(impl), machine(impl.program.machine), options(options),
        work(impl.program), races(machine, options.checkRaces, work),
        defined(work), wordEntries(work) {
    if (usesSparse(impl.code))
      sparse.emplace(machine, impl.program.constants, work);
  }

  std::optional<Fault> run();

private:
  std::optional<Fault> bind(const std::string &what, uint64_t begin,
                            uint64_t bytes);
  std::optional<Fault> step(uint32_t index);
  std::optional<Fault> operation(uint32_t index);
  std::optional<Fault> semaphore(uint32_t index, unsigned queue, unsigned sem,
                                 bool signal);
  std::optional<Fault> order(uint32_t index);
  std::optional<Fault> definedReads(uint32_t index);
  std::optional<Fault> array(uint32_t index);
  void markDrained();
  std::optional<Finding> checkStationary(const isa::PeMatmul &op) const;
  std::optional<Fault> matmul(uint32_t index, const isa::PeMatmul &op);
  std::optional<Fault> constantWrites(uint32_t index);
  std::optional<Fault> outputs();

  Fault fault(uint32_t index, Finding finding) const {
    // Whatever was found is an answer of checks that stopped half way.
    if (work.exhausted())
      finding = {FaultKind::Capacity,
                 fmt::format("the proof of this program needs more than the {} "
                             "steps that its {} words and its constants are "
                             "allowed",
                             work.limit(), impl.program.code.size())};
    Fault result =
        makeFault(impl, index, finding.kind, std::move(finding.message));
    result.space = std::move(finding.space);
    result.address = finding.address;
    return result;
  }
  Finding at(FaultKind kind, const Access &access, uint64_t unit,
             std::string message) const {
    return {kind, std::move(message), isa::spaceName(access.space).str(),
            linearAddress(access.space, access.partBegin, unit, machine)};
  }

  LoadedProgram::Impl &impl;
  const machine::Description &machine;
  const Options &options;
  ProofWork work;
  RaceChecker races;
  DefinedState defined;
  WindowContents windows;
  StreamDrains streams;
  WordEntries wordEntries;
  LoadedSet shadow, active;
  SemaphoreState semaphores[256];
  std::optional<SparseChecker> sparse; ///< If the program uses the cluster.
  llvm::SmallVector<Access, 16> accesses;
};

} // namespace

std::optional<Fault> Verifier::run() {
  if (!defined.allocate(machine, impl.program.dramBytes)) {
    Fault fault;
    fault.kind = FaultKind::Capacity;
    fault.message =
        fmt::format("the host refuses {} bytes for the verifier's "
                    "bit planes",
                    DefinedState::bytesFor(machine, impl.program.dramBytes));
    return fault;
  }
  for (const container::TensorBinding &input : impl.program.inputs)
    if (std::optional<Fault> found =
            bind("input '" + input.name + "'", input.dramOffset,
                 *support::countElements(input.shape) *
                     support::byteSize(input.type)))
      return found;
  for (const container::KeptTensor &kept : impl.program.cache.tensors)
    if (std::optional<Fault> found = bind(
            "kept tensor '" + kept.name + "'", kept.dramOffset,
            *support::countElements(kept.shape) * support::byteSize(kept.type)))
      return found;
  const container::StateBinding &state = impl.program.state;
  if (std::optional<Fault> found =
          bind("the state", state.dramOffset, 2 * state.initial.size()))
    return found;
  for (const container::Segment &segment : impl.program.constants)
    defined.defineDram(segment.dramOffset,
                       segment.dramOffset + segment.bytes.size());
  wordEntries.allocate(machine);
  windows.collect(impl.code);
  impl.hazards.assign(impl.code.size(), noInstruction);
  for (uint32_t i = 0; i < impl.code.size(); ++i)
    if (std::optional<Fault> found = step(i))
      return found;
  impl.earlyWaits = streams.take();
  llvm::sort(impl.earlyWaits, [](const EarlyWait &a, const EarlyWait &b) {
    return a.wait < b.wait;
  });
  return outputs();
}

/// What a run puts into DRAM before it begins. Streams of coefficients are
/// proven by the constants that they lie in, which nothing may change.
std::optional<Fault> Verifier::bind(const std::string &what, uint64_t begin,
                                    uint64_t bytes) {
  defined.defineDram(begin, begin + bytes);
  auto segment = llvm::partition_point(
      impl.program.constants, [&](const container::Segment &s) {
        return s.dramOffset + s.bytes.size() <= begin;
      });
  while (segment != impl.program.constants.end() && segment->bytes.empty())
    ++segment;
  if (bytes == 0 || segment == impl.program.constants.end() ||
      segment->dramOffset >= begin + bytes)
    return std::nullopt;
  Fault fault;
  fault.kind = FaultKind::BadPlacement;
  fault.space = "dram";
  fault.address = begin;
  fault.message = fmt::format("{} of {} bytes at {} overwrites constants at {}",
                              what, bytes, begin, segment->dramOffset);
  return fault;
}

std::optional<Fault> Verifier::step(uint32_t index) {
  const isa::Instruction &inst = impl.code[index];
  if (const auto *wait = std::get_if<isa::SemWait>(&inst))
    return semaphore(index, static_cast<unsigned>(wait->queue), wait->sem,
                     false);
  if (const auto *signal = std::get_if<isa::SemSignal>(&inst))
    return semaphore(index, static_cast<unsigned>(signal->queue), signal->sem,
                     true);
  return operation(index);
}

std::optional<Fault> Verifier::semaphore(uint32_t index, unsigned queue,
                                         unsigned sem, bool signal) {
  auto finding = [&](FaultKind kind, std::string text) {
    return fault(index, {kind, std::move(text)});
  };
  if (sem >= impl.program.semaphores)
    return finding(FaultKind::Semaphore,
                   fmt::format("semaphore {}, the program declares {}", sem,
                               impl.program.semaphores));
  SemaphoreState &state = semaphores[sem];
  int &owner = signal ? state.signaller : state.waiter;
  if (owner >= 0 && owner != static_cast<int>(queue))
    return finding(FaultKind::Semaphore,
                   fmt::format("semaphore {} has two {} queues, {} and {}", sem,
                               signal ? "signalling" : "waiting",
                               queueName(static_cast<unsigned>(owner)).str(),
                               queueName(queue).str()));
  owner = static_cast<int>(queue);
  if (signal) {
    ++state.pending;
    races.signal(queue, sem);
    streams.signal(queue, sem);
    return std::nullopt;
  }
  if (state.pending == 0)
    return finding(FaultKind::Deadlock,
                   fmt::format("queue {} waits for semaphore {}, which nothing "
                               "before has signalled",
                               queueName(queue).str(), sem));
  --state.pending;
  races.wait(queue, sem);
  streams.wait(index, queue, sem);
  return std::nullopt;
}

std::optional<Fault> Verifier::operation(uint32_t index) {
  const isa::Instruction &inst = impl.code[index];
  if (std::optional<Finding> finding = checkClusterExists(inst, machine))
    return fault(index, std::move(*finding));
  if (std::optional<Finding> finding = checkFields(inst, machine))
    return fault(index, std::move(*finding));
  accesses.clear();
  isa::footprints(inst, machine, accesses);
  // Each is kept until the end of the program.
  work.spend(stepsPerAccess * accesses.size());
  if (std::optional<Finding> finding =
          checkBounds(accesses, machine, impl.program.dramBytes))
    return fault(index, std::move(*finding));
  if (sparse) {
    std::optional<Cost> cost;
    if (std::optional<Finding> finding = sparse->step(inst, accesses, cost))
      return fault(index, std::move(*finding));
    if (cost)
      impl.clusterCosts[index] = *cost;
    keepTileClaims(impl, index, accesses);
    // Exact places can only be inside what was checked, except accesses of a
    // drain, whose fields do not say how large the tiles are.
    if (std::optional<Finding> finding =
            checkBounds(accesses, machine, impl.program.dramBytes))
      return fault(index, std::move(*finding));
  }
  if (std::optional<Finding> finding = checkPlaces(inst, impl.program, machine))
    return fault(index, std::move(*finding));
  if (std::optional<Finding> finding = checkOverlap(inst, accesses, work))
    return fault(index, std::move(*finding));
  if (std::optional<Fault> found = constantWrites(index))
    return found;
  if (std::optional<Fault> found = order(index))
    return found;
  if (std::optional<Fault> found = definedReads(index))
    return found;
  impl.engine.reuse.step(index, inst, accesses, work);
  windows.step(inst, accesses, impl.program, work);
  if (std::optional<Fault> found = array(index))
    return found;
  streams.operation(index, impl.queues[index]);
  if (work.exhausted())
    return fault(index, {FaultKind::Capacity, {}});
  // Only now: an unfinished check has not seen whether streams are legal.
  const auto *run = std::get_if<isa::TccRun>(&inst);
  if (run && options.functional)
    sparse->prepare(*run, *impl.engine.tapPrograms);
  return std::nullopt;
}

std::optional<Fault> Verifier::constantWrites(uint32_t index) {
  for (const Access &access : accesses) {
    if (access.space != Space::Dram || !access.write)
      continue;
    // They ascend and do not overlap: the first that ends after the beginning.
    auto segment = llvm::partition_point(
        impl.program.constants, [&](const container::Segment &s) {
          return static_cast<int64_t>(s.dramOffset + s.bytes.size()) <=
                 access.begin;
        });
    for (; segment != impl.program.constants.end(); ++segment) {
      Access constant;
      constant.space = Space::Dram;
      constant.base = constant.begin =
          static_cast<int64_t>(segment->dramOffset);
      constant.runLength = segment->bytes.size();
      constant.end = constant.begin + static_cast<int64_t>(constant.runLength);
      if (constant.begin >= access.end)
        break;
      uint64_t steps = 0;
      const bool meets = constant.begin < constant.end &&
                         isa::conflict(access, constant, steps);
      if (!work.spend(steps))
        break;
      if (meets)
        return fault(
            index, at(FaultKind::OutOfRange, access,
                      static_cast<uint64_t>(access.begin),
                      fmt::format("{} overwrites constants at {}",
                                  isa::describe(access), segment->dramOffset)));
    }
  }
  return std::nullopt;
}

std::optional<Fault> Verifier::order(uint32_t index) {
  const bool swap = std::holds_alternative<isa::PeSwap>(impl.code[index]);
  std::optional<RaceChecker::Finding> race =
      races.operation(index, impl.queues[index], swap, accesses);
  if (!race) {
    impl.hazards[index] = races.hazard();
    return std::nullopt;
  }
  return fault(
      index,
      at(FaultKind::Race, race->access,
         static_cast<uint64_t>(race->access.begin),
         fmt::format("{} {} while instruction {} of queue {} {}: no semaphore "
                     "orders them",
                     queueName(impl.queues[index]).str(),
                     isa::describe(race->access), race->earlier,
                     queueName(impl.queues[race->earlier]).str(),
                     isa::describe(race->conflicts))));
}

std::optional<Fault> Verifier::definedReads(uint32_t index) {
  for (const Access &access : accesses) {
    const bool reads = !access.write || access.merge;
    if (!options.checkUndefined || !reads)
      continue;
    if (std::optional<uint64_t> unit = defined.undefined(access))
      return fault(index,
                   at(FaultKind::UndefinedRead, access, *unit,
                      fmt::format("{}, of which unit {} has not been written",
                                  isa::describe(access), *unit)));
  }
  for (const Access &access : accesses)
    if (access.write && access.space != Space::Psum)
      defined.define(access);
  return std::nullopt;
}

/// The state of the array: stationary sets and accumulators.
std::optional<Fault> Verifier::array(uint32_t index) {
  const isa::Instruction &inst = impl.code[index];
  if (const auto *load = std::get_if<isa::PeLoad>(&inst)) {
    shadow = {true,
              load->rows,
              load->cols,
              load->terms ? std::min<uint64_t>(load->terms, load->rows)
                          : load->rows,
              load->mode,
              operandBound(load->mode, load->type, load->mantissa, load->range,
                           load->zero),
              load->pattern,
              load->mode == isa::OperandMode::Bfp ? load->mantissa : 0};
    wordEntries.load(*load, accesses);
  } else if (std::holds_alternative<isa::PeSwap>(inst)) {
    if (!shadow.present)
      return fault(index, {FaultKind::UndefinedRead,
                           "no stationary set was loaded since the last swap"});
    active = shadow;
    shadow.present = false;
    wordEntries.swap();
  } else if (const auto *op = std::get_if<isa::PeMatmul>(&inst)) {
    return matmul(index, *op);
  } else if (const auto *drain = std::get_if<isa::ActDrain>(&inst);
             drain && !drain->fromTcu) {
    std::optional<Finding> finding = wordEntries.drain(*drain, accesses);
    if (!finding)
      finding = streams.drain(*drain, accesses, impl.code, machine, work);
    if (finding)
      return fault(index, std::move(*finding));
    markDrained();
  } else if (const auto *drain = std::get_if<isa::VecDrain>(&inst)) {
    if (std::optional<Finding> finding =
            wordEntries.drain(isa::entriesDrain(*drain), accesses))
      return fault(index, std::move(*finding));
    markDrained();
  }
  return std::nullopt;
}

void Verifier::markDrained() {
  for (const Access &access : accesses)
    if (access.space == Space::Psum)
      defined.markDrained(access);
}

/// What contradicts the active stationary set or the machine.
std::optional<Finding>
Verifier::checkStationary(const isa::PeMatmul &op) const {
  auto bad = [](std::string detail) {
    return Finding{FaultKind::BadField, std::move(detail)};
  };
  if (!active.present)
    return Finding{FaultKind::UndefinedRead, "no stationary set is active"};
  if (shadow.present && !machine.pe.shadowSet)
    return bad(
        fmt::format("a set was loaded that no pe.swap has activated, and "
                    "machine {} has no second one (pe.shadow_set is "
                    "false)",
                    machine.name));
  if (op.rows != active.rows || op.cols != active.cols)
    return bad(fmt::format("{} rows and {} columns, the active set has {} and "
                           "{}",
                           op.rows, op.cols, active.rows, active.cols));
  const bool words = holdsWords(op.mode) || holdsWords(active.mode);
  if (words && op.mode != active.mode)
    return bad(fmt::format("mode {} with a stationary set of mode {}",
                           isa::name(op.mode).str(),
                           isa::name(active.mode).str()));
  if (op.pattern != active.pattern)
    return bad(fmt::format("pattern {:d}, the active set was loaded with {:d}",
                           op.pattern, active.pattern));
  if (op.narrow && (active.mantissa == 0 ||
                    !machine::isNarrow(machine, op.mantissa, active.mantissa)))
    return bad(fmt::format(
        "narrow operands, the active set has {}, expected mantissas of at most "
        "pe.narrow_bits {}",
        active.mantissa == 0
            ? fmt::format("mode {}", isa::name(active.mode).str())
            : fmt::format("{} bits", active.mantissa),
        machine.pe.narrowBits));
  return std::nullopt;
}

std::optional<Fault> Verifier::matmul(uint32_t index, const isa::PeMatmul &op) {
  std::optional<Finding> finding = checkStationary(op);
  if (!finding && (op.window != isa::Window::Identity ||
                   work.spend(uint64_t(op.rows) * op.rows)))
    finding = windows.check(op);
  if (!finding)
    finding = wordEntries.matmul(op, accesses);
  if (finding)
    return fault(index, std::move(*finding));
  const double bound =
      operandBound(op.mode, op.type, op.mantissa, op.range, op.zero) *
      active.bound * static_cast<double>(active.terms);
  for (const Access &access : accesses) {
    if (access.space != Space::Psum || !access.write)
      continue;
    if (!op.accumulate)
      if (std::optional<uint64_t> entry = defined.restart(access);
          entry && options.checkUndefined)
        return fault(index, at(FaultKind::PsumOverwrite, access, *entry,
                               fmt::format("entry {} holds sums that were not "
                                           "drained",
                                           *entry)));
    if (std::optional<uint64_t> entry =
            defined.addBound(access, bound, !op.accumulate, accumulatorLimit))
      return fault(index,
                   at(FaultKind::AccumulatorBound, access, *entry,
                      fmt::format("sums of entry {} may leave 63 bits by the "
                                  "widths of their operands",
                                  *entry)));
    defined.define(access);
    defined.markAccumulated(access);
  }
  return std::nullopt;
}

std::optional<Fault> Verifier::outputs() {
  for (const container::TensorBinding &output : impl.program.outputs) {
    uint64_t end = output.dramOffset + *support::countElements(output.shape) *
                                           support::byteSize(output.type);
    std::optional<uint64_t> unit =
        defined.undefinedDram(output.dramOffset, end);
    if (!unit && output.hasRunTimeExtent())
      unit = defined.undefinedDram(output.extentOffset,
                                   output.extentOffset + sizeof(int64_t));
    if (!options.checkUndefined || !unit || work.exhausted())
      continue;
    Fault fault;
    fault.kind = FaultKind::UndefinedRead;
    fault.space = "dram";
    fault.address = *unit;
    fault.message = fmt::format(
        "the program ends without having written output '{}'", output.name);
    return fault;
  }
  if (work.exhausted())
    return fault(static_cast<uint32_t>(impl.code.size()) - 1,
                 {FaultKind::Capacity, {}});
  return std::nullopt;
}

std::optional<Fault> emulator::verify(LoadedProgram::Impl &impl,
                                      const Options &options) {
  // The state of a run is small but has fixed arrays; keep it off the stack.
  auto verifier = std::make_unique<Verifier>(impl, options);
  return verifier->run();
}
