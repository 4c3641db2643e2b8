// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator: loads a program, proves it well formed, executes it bit exactly
// and counts its cycles (docs/Machine.md, docs/Numerics.md). Hostile programs
// end in errors; timing never changes data.

#ifndef ASHLAR_EMULATOR_EMULATOR_H
#define ASHLAR_EMULATOR_EMULATOR_H

#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ashlar::emulator {

class SparseObserver;

/// How to load and run. Nothing here changes a result bit.
struct Options {
  unsigned threads = 1;
  /// Whether the threads run on cores that share a cache, so that even small
  /// loops are worth sharing; measured if it is not given.
  std::optional<bool> threadsNear;
  /// Whether each thread executes a list of instructions of its own, where the
  /// program can be cut into lists, instead of sharing the loops of one
  /// instruction; estimated if it is not given.
  std::optional<bool> lists;
  bool functional = true;   ///< Execute (else only time).
  bool timing = true;       ///< Count cycles.
  bool recordTimes = false; ///< Keep RunResult::times (for traces).
  bool dumpTensors = false; ///< Fill RunResult::dumps.
  /// Fill RunResult::arrayTrace; functional and timed runs only.
  bool traceArray = false;
  /// Fill RunResult::dramTrace; timed runs only. Addresses that data decides
  /// need a functional run too.
  bool traceDram = false;
  /// Upper limit of host memory for the machine's memories, in bytes; 0 means
  /// no limit but the machine description's own.
  uint64_t maxMemory = 0;
  /// Kernel set: "best", or the name of a table of
  /// numerics::availableKernels().
  std::string kernels = "best";
  /// Watches the sparse cluster; slow.
  SparseObserver *observer = nullptr;
  bool checkRaces = true; ///< Race freedom by happens-before.
  /// Reads of memory that nothing wrote, sums replaced before their drain.
  bool checkUndefined = true;
  /// Folder of proofs that load() may find and keepProof() may leave; empty:
  /// every program is proved.
  std::string proofFolder;
  /// State of the program before the run; empty: as before the first run.
  llvm::ArrayRef<int16_t> state;
  /// The kept tensors before the run, in order of Cache::tensors; empty: as
  /// before the first run.
  llvm::ArrayRef<support::HostTensor> kept;
};

/// A verified program with its memories. Movable, not copyable. One run at a
/// time.
class LoadedProgram {
public:
  LoadedProgram(LoadedProgram &&) noexcept;
  LoadedProgram &operator=(LoadedProgram &&) noexcept;
  ~LoadedProgram();

  const container::Program &program() const;
  /// Number of instructions, semaphore instructions included.
  uint64_t numInstructions() const;
  /// Text of instruction \p index.
  std::string disassemble(uint64_t index) const;
  /// Queue (0..9) of instruction \p index.
  unsigned queueOf(uint64_t index) const;

  /// Bytes of host memory that its memories take at most.
  uint64_t memoryBytes() const;

  struct Impl;
  Impl &impl() { return *pimpl; }
  const Impl &impl() const { return *pimpl; }
  explicit LoadedProgram(std::unique_ptr<Impl> impl);

private:
  std::unique_ptr<Impl> pimpl;
};

/// Decodes and verifies \p program and allocates its memories. Errors:
/// Malformed or Capacity, naming instruction, ONNX node and address; the same
/// finding is stored to \p fault if given.
llvm::Expected<LoadedProgram> load(container::Program program,
                                   const Options &options,
                                   Fault *fault = nullptr);

/// Keeps the proof of a program that load() has proved in the folder that its
/// options named. Returns a sentence that says what is wrong with a kept proof,
/// or why none can be kept; empty if all is well.
std::string keepProof(LoadedProgram &program);

/// A second copy of a loaded program with memories of its own, to run at the
/// same time; nothing is proved again. \p options are those of load(). Error:
/// Capacity.
llvm::Expected<LoadedProgram> replicate(const LoadedProgram &program,
                                        const Options &options);

/// What load() proves of a program, without memory for its data or a copy of
/// its constants. Errors and \p fault are those of load().
llvm::Error prove(const container::Program &program, Fault *fault = nullptr);

/// Executes \p program once. \p inputs are in the order of Program::inputs and
/// must have exactly their types and shapes (else a Malformed error; Usage is
/// the caller's business), and indices among them the values that vec.gather
/// allows (else Malformed, naming instruction and node). The memories start in
/// the same state every time.
llvm::Expected<RunResult> run(LoadedProgram &program,
                              llvm::ArrayRef<support::HostTensor> inputs,
                              const Options &options);

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_EMULATOR_H
