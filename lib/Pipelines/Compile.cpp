// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of the compiler and the passes of each.

#include "ashlar/Pipelines/Compile.h"

#include "FoldMachine.h"
#include "MeasureClusters.h"
#include "PhaseFile.h"
#include "PlainMessage.h"

#include "ashlar/Analysis/MapForm.h"
#include "ashlar/Analysis/NodeNames.h"
#include "ashlar/Analysis/NumericPlan.h"
#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <chrono>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

constexpr std::array<llvm::StringLiteral, 7> names = {
    "import", "simplify", "fold", "quantise", "assign", "plan", "emit"};

/// Collects error diagnostics as text that names the ONNX node.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          add(diagnostic);
          return success();
        }) {}

  std::string take() {
    return text.empty() ? "a pass failed without a message" : text;
  }

private:
  void add(Diagnostic &diagnostic) {
    if (!text.empty())
      text += "\n";
    std::string node = analysis::getNodeName(diagnostic.getLocation());
    if (!node.empty())
      text += "node '" + node + "': ";
    text += diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      text += "; " + note.str();
  }

  std::string text;
  ScopedDiagnosticHandler handler;
};

/// Tells the hook of the options about every pass that has a name.
class PassHook : public PassInstrumentation {
public:
  explicit PassHook(const CompileOptions &options) : options(options) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!pass->getArgument().empty())
      options.afterPass(pass->getArgument(),
                        module ? module : op->getParentOfType<ModuleOp>());
  }

private:
  const CompileOptions &options;
};

/// What a failing pass of a phase means to the user.
ErrorClass failureClass(Phase phase) {
  return phase == Phase::Plan ? ErrorClass::Capacity : ErrorClass::Unsupported;
}

/// What choose-cluster is told.
struct ClusterChoice {
  std::string mode;
  bool scatter = true; ///< auto may use scatter mode
  std::string reason;  ///< that mode off gives
};

class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context)
      : options(options), context(context) {}

  llvm::Expected<CompileResult> run();

  /// Starts after the phase `done` from a copy of what it left.
  void resume(ModuleOp module, Phase done) {
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
  llvm::Expected<CompileResult> tryClusters(const ClusterChoice &choice);
  llvm::Expected<CompileResult> tryPredicted(ClusterChoice &choice);
  llvm::Expected<CompileResult> tryLayouts(ClusterChoice &choice);
  llvm::Expected<bool> measureChoices();
  llvm::Error runPhase(Phase phase);
  llvm::Error runPasses(Phase phase,
                        llvm::function_ref<void(OpPassManager &)> build) {
    return runPasses(failureClass(phase), build);
  }
  llvm::Error runPasses(ErrorClass failure,
                        llvm::function_ref<void(OpPassManager &)> build);
  llvm::Error import();
  llvm::Error quantise();
  llvm::Error emit();
  llvm::Error assign();
  llvm::Error generate();
  llvm::Error measureMaps();
  void setProfile();
  llvm::Error assemble();
  llvm::Error checkEntry();
  llvm::Error checkPlan();
  llvm::Error verifyLayouts();

  const CompileOptions &options;
  MLIRContext &context;
  machine::Description machine;
  CompileResult result;
  int first = 0;      ///< Number of the phase to start with.
  bool trial = false; ///< one of the compilations that measureChoices compares
  std::string clusters = options.sparse.mode; ///< of choose-cluster
  bool scatter = true;                        ///< auto may use scatter mode
  bool keepLarge = true;                      ///< option of spread-maps
  std::string denseReason;
  std::string measured; ///< option of choose-cluster
};

llvm::Error
Compilation::runPasses(ErrorClass failure,
                       llvm::function_ref<void(OpPassManager &)> build) {
  DiagnosticText diagnostics(context);
  PassManager manager(&context);
  build(manager);
  if (options.afterPass)
    manager.addInstrumentation(std::make_unique<PassHook>(options));
  if (succeeded(manager.run(*result.module)))
    return llvm::Error::success();
  return makeError(failure, "{}", diagnostics.take());
}

llvm::Error Compilation::import() {
  auto module = frontend::importOnnx(options.model, options.import, &context);
  if (!module)
    return module.takeError();
  result.module = std::move(*module);
  if (options.import.batch == 0)
    return llvm::Error::success();
  nn::SetBatchOptions batch;
  batch.batch = options.import.batch;
  for (const auto &[name, shape] : options.import.inputShapes)
    batch.keep.push_back(name);
  return runPasses(ErrorClass::Unsupported, [&](OpPassManager &manager) {
    manager.addNestedPass<func::FuncOp>(nn::createSetBatch(batch));
  });
}

llvm::Error Compilation::quantise() {
  bfp::QuantiseOptions quantise;
  quantise.format =
      llvm::formatv("{0}", numerics::toJson(options.formats)).str();
  quantise.residual = options.residual;
  quantise.exponents = options.scaleExponents;
  quantise.weightScaling = options.weightScaling;
  llvm::Error error = runPasses(Phase::Quantise, [&](OpPassManager &manager) {
    bfp::buildQuantisePipeline(manager, quantise);
  });
  if (error)
    return error;
  result.numericPlanJson = analysis::buildNumericPlanJson(*result.module);
  if (!options.dumpPlan.empty())
    return analysis::dumpPlan(*result.module, options.dumpPlan);
  return llvm::Error::success();
}

llvm::Error Compilation::emit() {
  bool compresses = false;
  result.module->walk([&](Operation *op) {
    npu::MemoryAttr memory = npu::memoryOf(op);
    compresses |= memory && memory.getForm();
  });
  if (options.mapCompression == "auto" && compresses && !options.afterPass)
    return measureMaps();
  return generate();
}

/// Emits the program with compressed maps and without, and keeps the one of
/// fewer cycles.
llvm::Error Compilation::measureMaps() {
  OwningOpRef<ModuleOp> dense = result.module->clone();
  if (llvm::Error error = generate())
    return error;
  auto compressed = cyclesOf(*result.program, options.sparse.sample);
  if (!compressed)
    return compressed.takeError();
  CompileResult kept = std::move(result);
  result = CompileResult();
  result.numericPlanJson = kept.numericPlanJson;
  result.module = std::move(dense);
  result.module->walk([](npu::DecisionInterface op) {
    if (npu::MemoryAttr memory = op.getMemoryAttr())
      op.setMemoryAttr(memory.withForm({}));
  });
  OwningOpRef<ModuleOp> again = result.module->clone();
  if (llvm::Error error = generate())
    return error;
  auto plain = cyclesOf(*result.program, options.sparse.sample);
  if (!plain)
    return plain.takeError();
  if (compressed->total < plain->total) {
    result = std::move(kept);
    return llvm::Error::success();
  }
  // The reason has to be in the decisions of the program that stays.
  const std::string reason =
      llvm::formatv("the whole network takes {0} cycles with compressed maps, "
                    "{1} without",
                    compressed->total, plain->total);
  again->walk([&](Operation *op) {
    auto decision = op->getAttrOfType<DictionaryAttr>(npu::kMapDecisionAttr);
    if (!decision || !decision.get("alternatives"))
      return;
    NamedAttrList entries(decision);
    entries.set("choice", StringAttr::get(&context, "map-dense"));
    entries.set("reason", StringAttr::get(&context, reason));
    op->setAttr(npu::kMapDecisionAttr, entries.getDictionary(&context));
  });
  result.times = std::move(kept.times);
  result.decisionsJson = collectDecisions(*again);
  result.program->decisionsJson = result.decisionsJson;
  return llvm::Error::success();
}

llvm::Error Compilation::generate() {
  // The operations that carry the decisions leave with the conversion.
  result.decisionsJson = collectDecisions(*result.module);
  if (llvm::Error error = convertNPUToISA(*result.module, &result.weights))
    return error;
  if (options.afterPass)
    options.afterPass(createConvertNPUToISAPass()->getArgument(),
                      *result.module);
  // Where queues share nothing but DRAM, the order of emission is as good.
  const bool shared = machine.sb.banks > 0 || machine.fetch.bytesPerCycle > 0;
  if (llvm::Error error = runPasses(Phase::Emit, [&](OpPassManager &manager) {
        manager.addPass(isadialect::createInsertSemaphores());
        if (shared)
          manager.addPass(isadialect::createOrderByStart());
      }))
    return error;
  return assemble();
}

llvm::Error Compilation::assemble() {
  auto program = codegen::assemble(*result.module);
  if (!program)
    return program.takeError();
  program->numericPlanJson = result.numericPlanJson;
  program->decisionsJson = result.decisionsJson;
  result.program = std::move(*program);
  return llvm::Error::success();
}

/// A plan of our own that breaks its invariants is a bug of ours: emission
/// trusts it.
llvm::Error Compilation::checkPlan() {
  return runPasses(ErrorClass::Internal, [](OpPassManager &manager) {
    manager.addPass(npu::createVerifyPlan());
    manager.addPass(npu::createVerifyLayouts());
  });
}

/// Without the host nothing of a module from a file may be its work: import
/// was not there to refuse it.
static llvm::Error refuseHost(ModuleOp module) {
  Operation *found = nullptr;
  module->walk([&](Operation *op) {
    const bool host = op->hasTrait<nn::HostFunction>() ||
                      op->hasTrait<npu::HostEngine>() ||
                      op->getName().getStringRef().starts_with("isa.host.");
    if (host && !found)
      found = op;
  });
  if (!found)
    return llvm::Error::success();
  return makeError(ErrorClass::Unsupported,
                   "'{}' (node '{}') is work of the host, which --no-host "
                   "leaves out",
                   found->getName().getStringRef().str(),
                   analysis::getNodeName(found->getLoc()));
}

/// A module from a file is checked as the phases before would have left it.
llvm::Error Compilation::checkEntry() {
  if (!options.import.useHost)
    if (llvm::Error error = refuseHost(*result.module))
      return error;
  DiagnosticText diagnostics(context);
  PassManager manager(&context);
  LogicalResult valid = success(first < static_cast<int>(Phase::Plan) ||
                                succeeded(npu::machineOf(*result.module)));
  if (first == static_cast<int>(Phase::Assign))
    manager.addPass(bfp::createVerifyPlan());
  if (succeeded(valid) && first == static_cast<int>(Phase::Plan))
    valid = success(succeeded(npu::assignedMachineOf(*result.module)));
  if (first == static_cast<int>(Phase::Emit)) {
    manager.addPass(npu::createVerifyPlan());
    manager.addPass(npu::createVerifyLayouts());
  }
  if (succeeded(valid) && succeeded(manager.run(*result.module)))
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed, "{}", diagnostics.take());
}

/// An operation that meets a layout which its code does not handle would give
/// wrong results: that is an error of ours, found before there is any code.
llvm::Error Compilation::verifyLayouts() {
  return runPasses(ErrorClass::Internal, [](OpPassManager &manager) {
    manager.addPass(npu::createVerifyLayouts());
  });
}

/// Measured densities for the passes of a phase, if there are any.
void Compilation::setProfile() {
  if (!options.sparse.profile.empty())
    (*result.module)
        ->setAttr(npu::kProfileAttr,
                  StringAttr::get(&context, options.sparse.profile));
}

/// Engines, axes and lanes of every operation.
llvm::Error Compilation::assign() {
  (*result.module)
      ->setAttr(npu::kTargetAttr, npu::TargetAttr::get(&context, machine));
  if (options.sparse.mode == "auto" || options.sparse.mode == "scatter")
    setProfile();
  return runPasses(Phase::Assign, [&](OpPassManager &manager) {
    manager.addPass(createConvertNNToNPUPass());
    manager.addPass(npu::createVerifyFormats());
    manager.addPass(npu::createChooseStationary());
    manager.addPass(npu::createAnalyseZeros());
    npu::ChooseClusterOptions cluster;
    cluster.mode = clusters;
    if (!denseReason.empty())
      (*result.module)
          ->setAttr(npu::kDenseReasonAttr,
                    StringAttr::get(&context, denseReason));
    cluster.useScatter = scatter;
    cluster.measured = measured;
    cluster.rule = options.sparse.rule;
    cluster.variant = options.sparse.variant;
    cluster.algorithm = options.sparse.algorithm;
    cluster.metric = options.sparse.metric;
    cluster.threshold = options.sparse.threshold;
    cluster.cutTime = options.sparse.cutTime;
    cluster.halo = options.sparse.halo;
    manager.addPass(npu::createChooseCluster(cluster));
    manager.addPass(npu::createAssignAxis());
    manager.addPass(npu::createDecodeOperands());
    manager.addPass(npu::createClassifyTransposes({options.transpose}));
    if (options.foldWidth != "off" && options.foldWidth != "stride") {
      npu::FoldLanesOptions lanes;
      lanes.policy = options.pciPolicy;
      manager.addPass(npu::createFoldLanes(lanes));
    }
    manager.addPass(npu::createSpreadMaps({keepLarge}));
  });
}

llvm::Error Compilation::runPhase(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return import();
  case Phase::Simplify:
    return runPasses(phase, nn::buildSimplifyPipeline);
  case Phase::Fold:
    return runPasses(phase, [&](OpPassManager &manager) {
      nn::buildFoldPipeline(manager, foldOptions(machine, options.foldWidth));
    });
  case Phase::Quantise:
    return quantise();
  case Phase::Assign:
    return assign();
  case Phase::Plan:
    setProfile();
    if (llvm::Error error = runPasses(phase, [&](OpPassManager &manager) {
          manager.addPass(npu::createPlanMemory());
          manager.addPass(npu::createDescribeClusters());
          manager.addPass(npu::createChooseMapForm({options.mapCompression}));
        }))
      return error;
    return checkPlan();
  case Phase::Emit:
    return emit();
  }
  return llvm::Error::success();
}

/// The phases from assign on, of a copy of the module, without hooks.
llvm::Expected<CompileResult>
Compilation::tryClusters(const ClusterChoice &choice) {
  CompileOptions now = options;
  now.afterPass = nullptr;
  now.stopAfter = Phase::Emit;
  Compilation other(now, context);
  other.trial = true;
  other.choose(choice);
  other.keepLarge = keepLarge;
  other.result.module = result.module->clone();
  other.result.numericPlanJson = result.numericPlanJson;
  other.first = static_cast<int>(Phase::Assign);
  return other.run();
}

/// A compilation with the predicted choice of clusters. What does not fit with
/// the sparse cluster may fit without, where that is left to the compiler.
llvm::Expected<CompileResult> Compilation::tryPredicted(ClusterChoice &choice) {
  auto tried = tryClusters(choice);
  if (tried || choice.mode != "auto")
    return tried;
  llvm::Error refusal = tried.takeError();
  const ErrorClass kind = support::classify(refusal);
  if (kind != ErrorClass::Capacity && kind != ErrorClass::Unsupported)
    return std::move(refusal);
  choice = {"off", false,
            "the network does not fit with the sparse cluster: " +
                llvm::toString(std::move(refusal))};
  return tryClusters(choice);
}

/// tryPredicted() with large feature maps kept on chip, or as they would lie
/// otherwise, whichever takes fewer cycles: what a plan gains by the one and
/// loses by the other shows in the whole network only.
llvm::Expected<CompileResult> Compilation::tryLayouts(ClusterChoice &choice) {
  auto kept = tryPredicted(choice);
  if (!kept || !keepsLargeMaps(kept->decisionsJson))
    return kept;
  keepLarge = false;
  auto plain = tryClusters(choice);
  keepLarge = !plain;
  if (!plain) {
    llvm::consumeError(plain.takeError());
    return kept;
  }
  auto with = cyclesOf(*kept->program, options.sparse.sample);
  if (!with)
    return with.takeError();
  auto without = cyclesOf(*plain->program, options.sparse.sample);
  if (!without)
    return without.takeError();
  keepLarge = with->total <= without->total;
  return keepLarge ? std::move(kept) : std::move(plain);
}

/// Decides between layouts, and between the predicted choice of clusters, the
/// same without scatter mode, and none at all by the cycles of the whole
/// network; a choice that was asked for is only compared with none. True if
/// `result` is the finished program.
llvm::Expected<bool> Compilation::measureChoices() {
  std::vector<ClusterChoice> choices{{clusters, true, denseReason}};
  const bool open = clusters == "auto";
  std::optional<CompileResult> best;
  std::optional<NetworkCycles> least;
  for (size_t i = 0; i < choices.size(); ++i) {
    ClusterChoice choice = choices[i];
    auto tried = i == 0 ? tryLayouts(choice) : tryClusters(choice);
    if (!tried)
      return tried.takeError();
    auto use = clusterUseOf(*tried->program);
    if (!use)
      return use.takeError();
    if (i == 0 && use->scatters && open)
      choices.push_back({"auto", false, ""});
    if (i == 0 && use->runs)
      choices.push_back({"off", false, kComparedReason.str()});
    if (choices.size() > 1) {
      auto cycles = cyclesOf(*tried->program, options.sparse.sample);
      if (!cycles)
        return cycles.takeError();
      if (best && (!open || cycles->total >= least->total)) {
        if (choice.mode == "off")
          measured = measuredText(*cycles, *least);
        continue;
      }
      if (choice.mode == "off") {
        choice.reason = llvm::formatv("the whole network takes {0} cycles with "
                                      "the sparse cluster, {1} without",
                                      least->total, cycles->total);
        tried->decisionsJson = giveReason(tried->decisionsJson, choice.reason);
        tried->program->decisionsJson = tried->decisionsJson;
      }
      least = std::move(*cycles);
    }
    choose(choice);
    best = std::move(*tried);
  }
  if (options.afterPass || options.stopAfter != Phase::Emit)
    return false;
  for (PhaseTime &time : best->times)
    result.times.push_back(time);
  best->times = std::move(result.times);
  result = std::move(*best);
  if (!measured.empty()) {
    result.decisionsJson = addMeasured(result.decisionsJson, measured);
    result.program->decisionsJson = result.decisionsJson;
  }
  return true;
}

llvm::Expected<CompileResult> Compilation::run() {
  auto description = machine::load(options.machine);
  if (!description)
    return description.takeError();
  machine = std::move(*description);
  if (llvm::Error error = options.sparse.check(machine))
    return error;
  if (!machine.sparse.exists()) {
    clusters = "off";
    denseReason = "the machine has no sparse cluster";
  }
  if (first > 0 && !trial)
    if (llvm::Error error = checkEntry())
      return error;
  for (int i = first; i <= static_cast<int>(options.stopAfter); ++i) {
    auto phase = static_cast<Phase>(i);
    if (phase == Phase::Assign && !trial) {
      auto finished = measureChoices();
      if (!finished)
        return finished.takeError();
      if (*finished)
        return std::move(result);
    }
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = runPhase(phase))
      return error;
    // Plan ends with a check of its own.
    if (phase == Phase::Assign)
      if (llvm::Error error = verifyLayouts())
        return error;
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.times.push_back({phase, elapsed.count()});
  }
  if (first > static_cast<int>(Phase::Emit))
    if (llvm::Error error = assemble())
      return error;
  if (options.stopAfter != Phase::Emit)
    result.decisionsJson = collectDecisions(*result.module);
  return std::move(result);
}

} // namespace

llvm::StringRef phaseName(Phase phase) {
  return names[static_cast<size_t>(phase)];
}

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string phaseNames() { return llvm::join(names, ", "); }

llvm::Expected<CompileResult> compile(const CompileOptions &options,
                                      MLIRContext &context) {
  auto result = Compilation(options, context).run();
  if (!result)
    return inPlainWords(result.takeError());
  return result;
}

llvm::Expected<CompileResult> compileFrom(ModuleOp module, Phase done,
                                          const CompileOptions &options,
                                          MLIRContext &context) {
  Compilation compilation(options, context);
  compilation.resume(module, done);
  return compilation.run();
}

} // namespace ashlar::pipelines
