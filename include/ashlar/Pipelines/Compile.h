// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as a library: named phases, options, and the driver of ashlarc.

#ifndef ASHLAR_PIPELINES_COMPILE_H
#define ASHLAR_PIPELINES_COMPILE_H

#include "ashlar/Analysis/Sparse/DataProfile.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Support/Tensor.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::pipelines {

/// Phases in order; a phase ends with its exit invariants checked.
enum class Phase { Import, Simplify, Fold, Quantise, Assign, Plan, Tile, Emit };

/// "import", "simplify", ...
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// All phase names separated by ", ".
std::string phaseNames();

/// Use of the sparse cluster: options of choose-cluster (docs/Passes.md).
struct SparseOptions {
  std::string mode = "auto"; ///< auto, off, tile or scatter
  std::string rule = "cost"; ///< cost, majority or threshold
  /// on, or off: zero coefficients take their cycles, for comparison
  std::string zeroSkip = "on";
  /// drain, or sums: biases of integers are where the sums start
  std::string bias = "drain";
  /// auto, off or always: groups of units hand tiles on
  std::string bind = "auto";
  /// auto, off or always: results stay in the units for the next layer
  std::string keep = "auto";
  /// all, or needed: kept results that the state buffer has a copy of
  std::string copies = "all";
  /// remove, or keep: channels that no result needs
  std::string deadChannels = "remove";
  std::string variant = "D"; ///< unit that scatters: A, B, C or D
  /// Rows and columns of the blocks that it scatters; 0: the whole tile.
  std::array<int64_t, 2> block{0, 0};
  /// ascending, snake or auto: the coefficients of a kernel in scatter mode
  std::string order = "auto";
  std::string algorithm = "p2";
  std::string metric = "nnz";
  int64_t threshold = 300;      ///< 1/10000
  std::string cutTime = "auto"; ///< auto, profile, runtime or always
  std::string halo = "overlap"; ///< overlap, disjoint or auto
  /// Measured densities of feature maps, if there are any.
  analysis::DataProfiles profile;
  /// Inputs on which programs are timed whose time depends on data; empty:
  /// none.
  std::vector<HostTensor> sample;
};

/// Everything that decides what is compiled.
struct CompileOptions {
  std::string model;
  /// Built-in name or file; empty: the machine that the module of a phase file
  /// names, a1 if it names none.
  std::string machine = "a1";
  numerics::FormatTable formats;
  /// Storage of residual operands: bfp, bf16 or f32.
  std::string residual = "bfp";
  /// What follows sums: float, or block: in integers wherever that is possible.
  std::string epilogue = "float";
  /// Factors of output channels where weights round better with them.
  bool weightScaling = true;
  /// Measured scale exponents as JSON, {"TENSOR": E} by planned tensor, for
  /// the policies `fixed` and `table`; or empty.
  std::string scaleExponents;
  /// Folding of W: auto, off, stride, lane or both.
  std::string foldWidth = "auto";
  /// How the rows of a lane are chosen: cycles or source.
  std::string pciPolicy = "cycles";
  SparseOptions sparse;
  /// Maps in DRAM: auto, off, bitmap, coo or quadtree (docs/SparseTiles.md 4).
  std::string mapCompression = "auto";
  /// Zeros of weights in DRAM: auto, off, bitmap or runs (docs/Machine.md 3).
  std::string weightCompression = "auto";
  /// N:M weights on the array: auto, on or off (docs/Machine.md 4).
  std::string nmWeights = "auto";
  /// Rows of results in one step of the array: auto, apart, columns or
  /// off.
  std::string packRows = "auto";
  /// Pools that drain PSUM: auto, on or off.
  std::string poolDrain = "auto";
  /// What applies the functions that follow products: auto, drain, vector or
  /// shared.
  std::string functionEngine = "auto";
  /// How transposes are done: auto, pe, planes, floats, dma or copy.
  std::string transpose = "auto";
  /// Order of instructions in the queues: list, search or off.
  std::string schedule = "list";
  frontend::ImportOptions import;
  /// A usage error if an option asks for what the machine does not have.
  llvm::Error checkMachine(const machine::Description &machine) const;
  /// Last phase to run.
  Phase stopAfter = Phase::Emit;
  unsigned threads = 0; ///< 0: all hardware threads
  /// Only the program is wanted: constants are made when they are read, and the
  /// program takes the bytes of the last module, which cannot be printed then.
  /// Nothing while there is an `afterPass`, and where a phase before emit is
  /// the last.
  bool programOnly = false;
  /// Work limit for compiling whole programs in order to compare them, in
  /// instructions or what takes as long: about 10 s, because an instruction
  /// takes 12 to 25 us from the plan to its time. Choices beyond the limit
  /// follow the predictions. Only folds of the width can change bits of a
  /// result through it.
  uint64_t comparedWork = uint64_t(1) << 19;
  /// Folder for plan.json and the constants of the plan, or empty.
  std::string dumpPlan;
  /// Called after each pass with its argument name and the module; what it
  /// changes is compiled.
  std::function<void(llvm::StringRef, mlir::ModuleOp)> afterPass;
  /// Called when a stage begins, a phase or "choices" (compilations that are
  /// compared), with the share of the usual time that the stages before take.
  std::function<void(llvm::StringRef, double)> onStage;
};

/// Seconds spent in one phase.
struct PhaseTime {
  Phase phase;
  double seconds;
};

/// What compiling gave. `program` is set if the emit phase ran.
struct CompileResult {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<container::Program> program;
  std::vector<PhaseTime> times;
  /// Set with `program`.
  WeightStorage weights;
  /// Decisions of all passes as a JSON array (docs/ReportSchema.md).
  std::string decisionsJson;
  /// The numeric plan (docs/NumericPlan.md), from quantise on.
  std::string numericPlanJson;
};

/// Compiles a model. Diagnostics of passes become one error whose class says
/// what kind of thing went wrong.
llvm::Expected<CompileResult> compile(const CompileOptions &options,
                                      mlir::MLIRContext &context);

/// Continues an earlier compilation of the same model with a copy of `module`,
/// its result after the phase `done`: runs the later phases with `options`.
/// After emit, only the program is assembled.
llvm::Expected<CompileResult> compileFrom(mlir::ModuleOp module, Phase done,
                                          const CompileOptions &options,
                                          mlir::MLIRContext &context);

/// The whole of ashlarc; returns the exit code.
int compilerMain(llvm::ArrayRef<std::string> args);

} // namespace ashlar::pipelines

#endif // ASHLAR_PIPELINES_COMPILE_H
