// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded program and the passes that prepare and account for it.

#ifndef ASHLAR_LIB_EMULATOR_IMPL_H
#define ASHLAR_LIB_EMULATOR_IMPL_H

#include "Cost/Costs.h"
#include "Execute/Engine.h"
#include "Prove/StreamDrains.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Ports.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <optional>
#include <vector>

namespace ashlar::emulator {

inline constexpr uint32_t noInstruction = ~uint32_t(0);

class ListRun;
class ProofCache;

struct LoadedProgram::Impl {
  Impl();
  ~Impl();
  container::Program program;
  std::vector<isa::Instruction> code;
  std::vector<uint8_t> queues; ///< Queue of every instruction.
  /// Per instruction: the latest earlier instruction of the same queue whose
  /// results it reads and that may still be in flight, or noInstruction.
  std::vector<uint32_t> hazards;
  /// Waits of drains that follow a stream, ascending.
  std::vector<EarlyWait> earlyWaits;
  /// The machine that instructions cost by: where DRAM's banks are walked, one
  /// whose DRAM takes a cycle for whatever it is asked.
  machine::Description costMachine;
  /// Costs of the instructions whose tiles and coefficients decide them.
  llvm::DenseMap<uint32_t, Cost> clusterCosts;
  /// Claims on banks of SB of those whose tiles decide them; the orders of a
  /// program share them.
  llvm::DenseMap<uint32_t, std::shared_ptr<const isa::BankClaims>> tileClaims;
  /// Indices of Program::dumps, ordered by afterInstruction.
  std::vector<uint32_t> dumpOrder;
  /// The timed fields of a run, where no run's data changes them.
  std::optional<RunResult> account;
  /// By instruction, copies of constants whose results the memories still have
  /// since the last run; empty before a whole run and a look for them.
  std::vector<bool> settled;
  bool wasRun = false;       ///< A run has come to its end.
  bool proofWasKept = false; ///< By an earlier process.
  bool zeroMemory = false;   ///< Undefined reads were not excluded.
  bool hasConstants = false; ///< DRAM has them.
  Engine engine;
  std::unique_ptr<support::ThreadPool> pool;
  std::unique_ptr<ProofCache> proofs;
  /// Lists of instructions for this many threads; null if they are of no use.
  std::unique_ptr<ListRun> listRun;
  unsigned listThreads = 0;

  uint32_t nodeOf(uint64_t index) const {
    return index < program.nodeOfInstruction.size()
               ? program.nodeOfInstruction[index]
               : container::Program::noNode;
  }
};

/// Fills code and queues from the words of the program.
std::optional<Fault> decodeProgram(LoadedProgram::Impl &impl);

/// What instruction \p index takes of the banks of SB.
isa::BankClaims claimsOf(const LoadedProgram::Impl &impl, uint32_t index,
                         const Cost &cost);

/// Keeps the claims of an instruction that goes by tiles; \p accesses are
/// exact.
void keepTileClaims(LoadedProgram::Impl &impl, uint32_t index,
                    llvm::ArrayRef<isa::Access> accesses);

/// Whether a program has instructions of the sparse cluster.
bool usesSparse(llvm::ArrayRef<isa::Instruction> code);

/// A fault of instruction \p index with disassembly and node filled in.
Fault makeFault(const LoadedProgram::Impl &impl, uint64_t index, FaultKind kind,
                std::string message);

/// Everything static: fields, bounds, semaphores, races, undefined reads,
/// accumulator bounds. Fills `hazards` and `earlyWaits`.
std::optional<Fault> verify(LoadedProgram::Impl &impl, const Options &options);

/// The cycle accounting, by the formulas of Machine/Cycles.h alone.
void accountCycles(const LoadedProgram::Impl &impl, const Options &options,
                   RunResult &result);

/// Appends what instruction \p index has done to PSUM, without times.
void traceValues(LoadedProgram::Impl &impl, uint32_t index, RunResult &result);
/// Fills in the times from RunResult::times.
void traceTimes(const LoadedProgram::Impl &impl, RunResult &result);

/// Copies planned tensor \p index out of the memories.
TensorDump copyOut(LoadedProgram::Impl &impl, uint32_t index);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_IMPL_H
