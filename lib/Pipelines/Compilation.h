// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One compilation: its module, the phase that it has reached, and the choices
// that are made by timing whole programs. Compile.cpp has the phases,
// CheckEntry.cpp the checks of modules from files, Tune*.cpp the choices.

#ifndef ASHLAR_LIB_PIPELINES_COMPILATION_H
#define ASHLAR_LIB_PIPELINES_COMPILATION_H

#include "ComparisonBudget.h"
#include "DecisionList.h"
#include "MeasureClusters.h"
#include "PhaseFile.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "mlir/Pass/PassManager.h"

namespace ashlar::pipelines {

/// What a failing pass of a phase means to the user.
inline ErrorClass failureClass(Phase phase) {
  return phase == Phase::Plan ? ErrorClass::Capacity : ErrorClass::Unsupported;
}

/// True if a program with other choices may fit the machine where one is
/// refused with this error.
bool mayFitOtherwise(const llvm::Error &refusal);

/// What choose-cluster is told.
struct ClusterChoice {
  std::string mode;
  bool scatter = true; ///< auto may use scatter mode
  std::string reason;  ///< that modes off and tile give
};

/// In what programs of one network differ that are compared.
struct ProgramChoices {
  ClusterChoice clusters;
  npu::TuningAttr tuning;                  ///< of the module
  bool keepLarge = true;                   ///< option of spread-maps
  std::string poolDrain, poolReason;       ///< options of pool-in-drain
  std::string keep, keepReason;            ///< options of keep-maps
  records::DecisionAttr banksDecision;     ///< why, once it was compared
  records::DecisionAttr exponentsDecision; ///< why, once it was decided

  /// What the options ask for.
  ProgramChoices(const CompileOptions &options, mlir::MLIRContext &context);
};

/// One of two programs as a decision says it: its choice, and what "the whole
/// network takes cycles with".
struct ComparedName {
  llvm::StringLiteral choice, words;
};

/// Cycles of an alternative, and of the program that it was compared with.
struct CycleComparison {
  uint64_t cycles = 0, otherwise = 0;
  bool isFaster() const { return cycles < otherwise; }
  /// The decision about both, for reports; `taken`: for the alternative.
  records::DecisionAttr decide(const ComparedName &alternative,
                               const ComparedName &other, bool taken,
                               mlir::MLIRContext &context) const;
};

/// A program that is compared with others.
struct Tried {
  CompileResult result;
  DecisionList decisions;
  /// The module after assign: what differs later starts from here.
  mlir::OwningOpRef<mlir::ModuleOp> assigned;
  /// The module before emission.
  mlir::OwningOpRef<mlir::ModuleOp> tiled;
  /// Once it was run.
  std::optional<NetworkCycles> known;

  /// The cycles of the program; it is run once.
  llvm::Expected<const NetworkCycles *>
  cycles(ComparisonBudget &budget, llvm::ArrayRef<HostTensor> sample);
};

/// A program, compared with another.
struct Alternative {
  Tried program;
  CycleComparison cycles;
};

class Compilation {
public:
  Compilation(const CompileOptions &options, mlir::MLIRContext &context)
      : options(options), context(context), choices(options, context),
        budget(std::make_shared<ComparisonBudget>(options.comparedWork)) {}

  llvm::Expected<CompileResult> run();

  /// Starts after the phase `done` from a copy of what it left.
  void resume(mlir::ModuleOp module, Phase done) {
    result.module = module.clone();
    PhaseState state = takePhaseState(*result.module);
    result.numericPlanJson = std::move(state.numericPlan);
    result.decisionsJson = std::move(state.decisions);
    if (done == Phase::Quantise && result.numericPlanJson.empty())
      result.numericPlanJson = analysis::buildNumericPlanJson(*result.module);
    first = static_cast<int>(done) + 1;
  }

private:
  /// True if folds are chosen together with clusters.
  bool comparesFolds() const {
    return !trial && choices.clusters.mode == "auto" &&
           options.foldWidth == "auto";
  }
  llvm::Error chooseFolds(mlir::ModuleOp before);
  llvm::Expected<int64_t> cyclesFrom(mlir::ModuleOp module, Phase next,
                                     llvm::StringRef foldOnly,
                                     std::shared_ptr<ComparisonBudget> of);
  void noteFoldsNotCompared();
  llvm::Expected<NetworkCycles> cyclesOfResult();

  // The frame of comparisons.
  llvm::Expected<Tried> runTrial(const ProgramChoices &of,
                                 mlir::ModuleOp module, Phase next);
  llvm::Expected<Tried> runTrial(const ProgramChoices &of);
  llvm::Expected<std::optional<Alternative>>
  compare(Tried &known, llvm::StringRef what,
          llvm::function_ref<llvm::Expected<Tried>()> make);
  llvm::Expected<std::optional<CycleComparison>>
  takeFaster(Tried &known, llvm::StringRef what, const ProgramChoices &other);

  // What is compared. Each keeps `choices` those of the program that it leaves.
  llvm::Error bindCommon();
  llvm::Expected<bool> measureChoices();
  llvm::Expected<Tried> tryPredicted();
  llvm::Expected<Tried> tryRows();
  llvm::Expected<Tried> trySpilled(llvm::Error refusal);
  llvm::Expected<Tried> tryLargeMaps();
  llvm::Expected<Tried> tryPools();
  llvm::Expected<Tried> tryKept();
  llvm::Error tryBanks(Tried &best);
  llvm::Expected<llvm::SmallVector<ClusterChoice, 3>>
  otherClusters(Tried &first, bool open);
  llvm::Expected<std::optional<Tried>>
  tryClusters(const ClusterChoice &clusters);
  llvm::Error takeClusters(Tried &best, ClusterChoice clusters, bool open);
  void packManyExponents();
  llvm::Error tryExponents(Tried &best);
  void takeEmission(Tried &best, Tried emitted);
  void finishWith(Tried best, double binding);
  void publishDecisions();

  llvm::Error runPhase(Phase phase);
  /// Tells CompileOptions::onStage, but not of trials.
  void announce(llvm::StringRef stage, double share) const;
  llvm::Error runPasses(Phase phase,
                        llvm::function_ref<void(mlir::OpPassManager &)> build) {
    return runPasses(failureClass(phase), build);
  }
  llvm::Error runPasses(ErrorClass failure,
                        llvm::function_ref<void(mlir::OpPassManager &)> build);
  llvm::Error findMachine();
  void setTarget();
  llvm::Error import();
  llvm::Error quantise();
  llvm::Error emit();
  llvm::Error bind();
  npu::ChooseClusterOptions clusterOptions() const;
  llvm::Error assign();
  llvm::Error generate(std::optional<uint64_t> most = {});
  llvm::Error measureMaps();
  void setProfile();
  llvm::Error assemble();
  llvm::Error checkEntry();
  llvm::Error checkBorders();
  llvm::Error checkPlan();
  llvm::Error verifyLayouts();

  const CompileOptions &options;
  mlir::MLIRContext &context;
  ProgramChoices choices;
  /// Of all programs that are compared.
  std::shared_ptr<ComparisonBudget> budget;
  machine::Description machine;
  CompileResult result;
  DecisionList decisions; ///< of the program
  /// Of all programs that are compared.
  std::shared_ptr<codegen::ConstantPool> pool =
      std::make_shared<codegen::ConstantPool>();
  /// The module after bind(), while programs are compared.
  mlir::OwningOpRef<mlir::ModuleOp> bound;
  /// Where a trial keeps the module after assign.
  mlir::OwningOpRef<mlir::ModuleOp> assigned;
  /// The same before emission.
  mlir::OwningOpRef<mlir::ModuleOp> tiled;
  bool isBound = false;   ///< bind() is done
  int first = 0;          ///< Number of the phase to start with.
  bool trial = false;     ///< one of the compilations that are compared
  bool mayGiveUp = false; ///< a program that is not needed
  std::optional<NetworkCycles> timed; ///< of the program, if it was run
  std::string dataName = "data";      ///< of resources that hold constants
  std::string foldOnly;               ///< the fold to take, or empty
  records::DecisionAttr comparisonsDecision; ///< what was not compared
  std::optional<MeasuredCycles> measured;    ///< of the program, once known
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_COMPILATION_H
