// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One compilation: its module, the phase that it has reached, and the choices
// that are made by timing whole programs. Compile.cpp has the phases, Tune.cpp
// the choices.

#ifndef ASHLAR_LIB_PIPELINES_COMPILATION_H
#define ASHLAR_LIB_PIPELINES_COMPILATION_H

#include "ComparisonBudget.h"
#include "MeasureClusters.h"
#include "PhaseFile.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/Placement.h"
#include "mlir/Pass/PassManager.h"

namespace ashlar::pipelines {

/// What a failing pass of a phase means to the user.
inline ErrorClass failureClass(Phase phase) {
  return phase == Phase::Plan ? ErrorClass::Capacity : ErrorClass::Unsupported;
}

/// Why results lie where they do, once that was compared.
inline records::DecisionAttr exponentsDecisionOf(mlir::ModuleOp module) {
  return module->getAttrOfType<records::DecisionAttr>(
      npu::kExponentsDecisionAttr);
}
inline records::DecisionAttr banksDecisionOf(mlir::ModuleOp module) {
  return module->getAttrOfType<records::DecisionAttr>(npu::kBanksDecisionAttr);
}

/// Which choices whole programs did not make, if any.
inline records::DecisionAttr comparisonsDecisionOf(mlir::ModuleOp module) {
  return module->getAttrOfType<records::DecisionAttr>(
      npu::kComparisonsDecisionAttr);
}

/// What choose-cluster is told.
struct ClusterChoice {
  std::string mode;
  bool scatter = true; ///< auto may use scatter mode
  std::string reason;  ///< that mode off gives
};

/// A program that is compared with others.
struct Tried {
  CompileResult result;
  /// The module after assign: what differs later starts from here.
  mlir::OwningOpRef<mlir::ModuleOp> assigned;
  /// The module before emission.
  mlir::OwningOpRef<mlir::ModuleOp> tiled;

  /// The cycles of the program; it is run once.
  llvm::Expected<const NetworkCycles *>
  cycles(ComparisonBudget &budget, llvm::ArrayRef<HostTensor> sample);

  /// Once it was run.
  std::optional<NetworkCycles> known;
};

class Compilation {
public:
  Compilation(const CompileOptions &options, mlir::MLIRContext &context)
      : options(options), context(context),
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

  void choose(const ClusterChoice &choice) {
    measured.clear();
    clusters = choice.mode;
    scatter = choice.scatter;
    denseReason = choice.reason;
  }

private:
  /// True if folds are chosen together with clusters.
  bool comparesFolds() const {
    return !trial && clusters == "auto" && options.foldWidth == "auto";
  }
  llvm::Error chooseFolds(mlir::ModuleOp before);
  llvm::Expected<int64_t> cyclesFrom(mlir::ModuleOp module, Phase next,
                                     llvm::StringRef foldOnly,
                                     std::shared_ptr<ComparisonBudget> of);
  llvm::Expected<NetworkCycles> cyclesOfResult();
  llvm::Expected<Tried> tryClusters(const ClusterChoice &choice);
  llvm::Expected<Tried> tryPredicted(ClusterChoice &choice);
  llvm::Expected<Tried> tryRows(ClusterChoice &choice);
  llvm::Expected<Tried> trySpilled(ClusterChoice &choice, llvm::Error refusal);
  llvm::Expected<Tried> tryLayouts(ClusterChoice &choice);
  llvm::Expected<Tried> tryPools(ClusterChoice &choice);
  llvm::Expected<Tried> tryKept(ClusterChoice &choice);
  llvm::Error bindCommon();
  llvm::Expected<bool> measureChoices();
  void finishWith(CompileResult best, double binding);
  llvm::Expected<Tried> tryBanks(const ClusterChoice &choice, Tried dense);
  void packManyExponents();
  llvm::Expected<Tried> tryExponents(const ClusterChoice &choice, Tried bytes);
  llvm::Expected<Tried> tryFirst(ClusterChoice &choice);
  llvm::Expected<std::optional<Tried>> tryOther(const ClusterChoice &choice);
  llvm::Expected<Tried> runTrial(const ClusterChoice &choice,
                                 mlir::ModuleOp module, Phase next);
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
  llvm::Error checkPlan();
  llvm::Error verifyLayouts();

  const CompileOptions &options;
  mlir::MLIRContext &context;
  /// Of all programs that are compared.
  std::shared_ptr<ComparisonBudget> budget;
  machine::Description machine;
  CompileResult result;
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
  std::string clusters = options.sparse.mode; ///< of choose-cluster
  bool scatter = true;                        ///< auto may use scatter mode
  std::string packRows = options.packRows;    ///< kPackRowsAttr, or auto
  bool keepLarge = true;                      ///< option of spread-maps
  /// Option of pool-in-drain: programs that are compared may try more.
  std::string poolDrain =
      options.poolDrain == "auto" && options.comparedWork > 0
          ? "eager"
          : options.poolDrain;
  std::string poolReason;                 ///< that mode off gives
  std::string keep = options.sparse.keep; ///< of keep-maps
  std::string keepReason;                 ///< that mode off gives
  bool banksApart = false; ///< results lie in other banks than operands
  records::DecisionAttr banksDecision;       ///< why, once it was compared
  bool packsExponents = false;               ///< kPackedExponentsAttr
  records::DecisionAttr exponentsDecision;   ///< why, once it was compared
  records::DecisionAttr comparisonsDecision; ///< what was not compared
  std::string denseReason;
  std::string measured; ///< option of choose-cluster
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_COMPILATION_H
