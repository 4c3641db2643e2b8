// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model under given number formats, measured in process: compiled, executed
// by the emulator on samples, timed once. The compiler asks this before it
// decides (FormatSearch.h) and when it checks its own work.

#ifndef ASHLAR_LIB_PIPELINES_EVALUATE_H
#define ASHLAR_LIB_PIPELINES_EVALUATE_H

#include "SampleArchive.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>

namespace ashlar::pipelines {

/// Arrays of one sample, in the order of the graph inputs or outputs.
using Sample = std::vector<HostTensor>;

/// What one set of formats gives.
struct Evaluation {
  /// Of one run, on the sample of SparseOptions if there is one.
  uint64_t cycles = 0;
  /// Bytes of constants in the program: packed weights, exponents, parameters.
  uint64_t weightBytes = 0;
  /// Cycles by ONNX node name.
  llvm::StringMap<uint64_t> nodeCycles;
};

/// Outputs of \p module for each of \p samples by the interpreter in binary64,
/// without any format, on \p threads threads (0: all of the host).
llvm::Expected<std::vector<Sample>>
evaluateExactly(mlir::ModuleOp module, llvm::ArrayRef<Sample> samples,
                unsigned threads);

/// Compiles and runs one model under as many formats as asked. Every evaluation
/// has a context of its own: what it leaves there goes with it. Not for use by
/// several threads at a time.
class Evaluator {
public:
  /// Imports, simplifies and folds the model of `options`; its formats,
  /// `stopAfter` and `dumpPlan` do not matter. `context` outlives the result.
  static llvm::Expected<Evaluator> create(const CompileOptions &options,
                                          mlir::MLIRContext &context);

  /// The module after the fold phase.
  mlir::ModuleOp folded() const { return *module; }

  /// The module after the quantise phase under `formats`.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  quantise(const numerics::FormatTable &formats) const;

  /// Exact outputs: the interpreter in binary64, without any format.
  llvm::Expected<std::vector<Sample>>
  reference(llvm::ArrayRef<Sample> samples) const;

  /// The module after the quantise phase of the program for the array alone,
  /// whose results have the same bits: no other engine changes any.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  quantiseForArray(const numerics::FormatTable &formats) const;

  /// Compiles and loads a module of the quantise phase, MLIR bytecode, for its
  /// values: no order of instructions is searched, nothing is compared. For use
  /// by several threads.
  llvm::Expected<emulator::LoadedProgram>
  compilePart(llvm::StringRef bytecode) const;

  /// Threads that evaluations may use.
  unsigned threads() const { return options.threads; }

  /// Cycles and bytes with all engines of several tables, some at a time.
  std::vector<llvm::Expected<Evaluation>>
  countAll(llvm::ArrayRef<numerics::FormatTable> tables) const;

private:
  explicit Evaluator(const CompileOptions &options) : options(options) {}

  llvm::Expected<Evaluation> count(const numerics::FormatTable &formats) const;
  CompileOptions optionsForArray() const;

  CompileOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> simplified; ///< after the simplify phase
  mlir::OwningOpRef<mlir::ModuleOp> module;     ///< after the fold phase
  /// Modules after the fold phase for the array alone, by what that phase knows
  /// of formats.
  mutable std::map<std::string, mlir::OwningOpRef<mlir::ModuleOp>> foldedBy;
};

/// Reads the samples of \p archive: one array per graph input of `module`, by
/// ONNX name, axis 0 n times the compiled one. Unknown or missing names,
/// shapes and types that do not fit, and values that are not finite are
/// Malformed errors naming file and input.
llvm::Expected<std::vector<Sample>> readSamples(mlir::ModuleOp module,
                                                const SampleArchive &archive);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_EVALUATE_H
