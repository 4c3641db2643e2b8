// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of the compiler and the passes of each.

#include "ashlar/Pipelines/Compile.h"

#include "Compilation.h"
#include "DiagnosticText.h"
#include "PhaseFile.h"
#include "PlainMessage.h"

#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <chrono>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

constexpr std::array<llvm::StringLiteral, 8> names = {
    "import", "simplify", "fold", "quantise", "assign", "plan", "tile", "emit"};

/// Remembers the pass that failed.
class FailedPass : public PassInstrumentation {
public:
  explicit FailedPass(std::string &name) : name(name) {}
  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (name.empty())
      name = pass->getName();
  }

private:
  std::string &name;
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

} // namespace

llvm::Error
Compilation::runPasses(ErrorClass failure,
                       llvm::function_ref<void(OpPassManager &)> build) {
  DiagnosticText diagnostics(context);
  PassManager manager(&context);
  build(manager);
  if (options.afterPass)
    manager.addInstrumentation(std::make_unique<PassHook>(options));
  std::string failed;
  manager.addInstrumentation(std::make_unique<FailedPass>(failed));
  if (succeeded(manager.run(*result.module)))
    return llvm::Error::success();
  // Every rule of ours that a model breaks has a message.
  if (diagnostics.isEmpty())
    return makeError(ErrorClass::Internal, "pass {} failed without a message",
                     failed);
  return makeError(failure, "{}", diagnostics.take());
}

llvm::Error Compilation::import() {
  auto module = frontend::importOnnx(options.model, options.import, &context);
  if (!module)
    return module.takeError();
  result.module = std::move(*module);
  setTarget();
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
  quantise.blockArithmetic = options.epilogue == "block";
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

/// The form that was asked for, or found best for the module.
static WeightForm weightFormOf(llvm::StringRef name, ModuleOp module) {
  if (name == "auto" && npu::tuningOf(module).getPackedExponents())
    return WeightForm::AutoExponents;
  return llvm::StringSwitch<WeightForm>(name)
      .Case("off", WeightForm::Dense)
      .Case("bitmap", WeightForm::Bitmap)
      .Case("runs", WeightForm::Runs)
      .Case("exponents", WeightForm::Exponents)
      .Default(WeightForm::Auto);
}

/// \p most: instructions after which the program is given up.
llvm::Error Compilation::generate(std::optional<uint64_t> most) {
  // The operations that carry the decisions leave with the conversion.
  DecisionList found = DecisionList::ofNodes(*result.module);
  DecisionList ofProgram = DecisionList::ofProgram(*result.module);
  if (!most && mayGiveUp)
    most = budget->mostInstructions();
  InstructionLimit limit{most.value_or(0)};
  if (llvm::Error error = convertNPUToISA(
          *result.module, &result.weights,
          weightFormOf(options.weightCompression, *result.module), dataName,
          most ? &limit : nullptr)) {
    if (limit.exceeded)
      budget->giveUp();
    return error;
  }
  if (options.afterPass)
    options.afterPass(createConvertNPUToISAPass()->getArgument(),
                      *result.module);
  // Where queues share nothing but DRAM, the order of emission is as good.
  const bool shared = machine.sb.banks > 0 || machine.fetch.bytesPerCycle > 0;
  if (llvm::Error error = runPasses(Phase::Emit, [&](OpPassManager &manager) {
        manager.addPass(isadialect::createSchedule({options.schedule}));
        manager.addPass(isadialect::createInsertSemaphores());
        manager.addPass(isadialect::createChooseDrainOrder());
        if (shared)
          manager.addPass(isadialect::createOrderByStart());
      }))
    return error;
  found.append(DecisionList::ofNodes(*result.module));
  found.append(std::move(ofProgram));
  decisions = std::move(found);
  return assemble();
}

llvm::Error Compilation::assemble() {
  auto program = codegen::assemble(*result.module,
                                   options.programOnly && !options.afterPass
                                       ? codegen::ConstantBytes::Taken
                                       : codegen::ConstantBytes::Copied,
                                   pool.get());
  if (!program)
    return program.takeError();
  program->numericPlanJson = result.numericPlanJson;
  program->decisionsJson = result.decisionsJson;
  result.program = std::move(*program);
  uint64_t constantBytes = 0;
  for (const container::Segment &segment : result.program->constants)
    constantBytes += segment.bytes.size();
  budget->addProgram(result.program->nodeOfInstruction.size(), constantBytes);
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

/// An operation that meets a layout which its code does not handle would give
/// wrong results: that is an error of ours, found before there is any code.
llvm::Error Compilation::verifyLayouts() {
  return runPasses(ErrorClass::Internal, [](OpPassManager &manager) {
    manager.addPass(npu::createVerifyLayouts());
  });
}

/// Measured densities for the passes of a phase, if there are any.
void Compilation::setProfile() {
  if (DictionaryAttr profiles =
          analysis::toAttr(&context, options.sparse.profile))
    (*result.module)->setAttr(npu::kProfileAttr, profiles);
}

/// The part of assign that no choice between programs changes: operations of
/// engines, the stationary operand, what is known of zeros.
llvm::Error Compilation::bind() {
  if (llvm::Error error = checkBorders())
    return error;
  if (options.sparse.mode == "auto" || options.sparse.mode == "scatter")
    setProfile();
  return runPasses(Phase::Assign, [&](OpPassManager &manager) {
    manager.addPass(createConvertNNToNPUPass());
    manager.addPass(npu::createVerifyFormats());
    manager.addPass(npu::createChoosePatterns({options.nmWeights}));
    manager.addPass(npu::createChooseStationary());
    manager.addPass(npu::createChooseFunctionEngine({options.functionEngine}));
    manager.addPass(npu::createAnalyseZeros());
  });
}

npu::ChooseClusterOptions Compilation::clusterOptions() const {
  npu::ChooseClusterOptions cluster;
  cluster.mode = choices.clusters.mode;
  cluster.reason = choices.clusters.reason;
  cluster.useScatter = choices.clusters.scatter;
  cluster.skipZeros = options.sparse.zeroSkip != "off";
  cluster.bias = options.sparse.bias;
  cluster.binding = options.sparse.bind;
  cluster.rule = options.sparse.rule;
  cluster.variant = options.sparse.variant;
  cluster.blockRows = options.sparse.block[0];
  cluster.blockCols = options.sparse.block[1];
  cluster.order = options.sparse.order;
  cluster.algorithm = options.sparse.algorithm;
  cluster.metric = options.sparse.metric;
  cluster.threshold = options.sparse.threshold;
  cluster.cutTime = options.sparse.cutTime;
  cluster.halo = options.sparse.halo;
  return cluster;
}

/// Engines, axes and lanes of every operation.
llvm::Error Compilation::assign() {
  if (!isBound)
    if (llvm::Error error = bind())
      return error;
  npu::setTuning(*result.module, choices.tuning);
  auto record = [&](llvm::StringRef name, records::DecisionAttr decision) {
    if (decision)
      (*result.module)->setAttr(name, decision);
  };
  record(npu::kBanksDecisionAttr, choices.banksDecision);
  record(npu::kExponentsDecisionAttr, choices.exponentsDecision);
  record(npu::kComparisonsDecisionAttr, comparisonsDecision);
  if (measured)
    (*result.module)->setAttr(npu::kMeasuredAttr, measured->toAttr(context));
  return runPasses(Phase::Assign, [&](OpPassManager &manager) {
    manager.addPass(npu::createAssignAxis());
    manager.addPass(npu::createSplitMeans());
    manager.addPass(npu::createChooseCluster(clusterOptions()));
    manager.addPass(npu::createDecodeOperands());
    manager.addPass(npu::createClassifyTransposes({options.transpose}));
    if (options.foldWidth != "off" && options.foldWidth != "stride") {
      npu::FoldLanesOptions lanes;
      lanes.policy = options.pciPolicy;
      manager.addPass(npu::createFoldLanes(lanes));
    }
    manager.addPass(npu::createConvertInPlace());
    manager.addPass(npu::createPackRows());
    manager.addPass(npu::createReadWindows());
    manager.addPass(npu::createSpreadMaps({choices.keepLarge}));
    manager.addPass(
        npu::createPoolInDrain({choices.poolDrain, choices.poolReason}));
    manager.addPass(npu::createShareFunctions({options.functionEngine}));
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
      nn::FoldOptions fold;
      fold.foldWidth = options.foldWidth;
      fold.activationBits = options.formats.activations.mantissa;
      fold.weightBits = options.formats.weights.mantissa;
      fold.interleave =
          !options.formats.scale.isStateful() &&
          llvm::none_of(options.formats.nodes, [](const auto &node) {
            return node.second.scale && node.second.scale->isStateful();
          });
      fold.removeChannels = options.sparse.deadChannels != "keep";
      fold.block = std::max(options.formats.activations.block, 1);
      fold.foldOnly = foldOnly;
      fold.useCluster = choices.clusters.mode != "off";
      nn::buildFoldPipeline(manager, fold);
    });
  case Phase::Quantise:
    return quantise();
  case Phase::Assign:
    return assign();
  case Phase::Plan:
    setProfile();
    if (llvm::Error error = runPasses(phase, [&](OpPassManager &manager) {
          manager.addPass(npu::createPlanMemory());
          manager.addPass(npu::createKeepMaps(
              {choices.keep, choices.keepReason, options.sparse.copies}));
          manager.addPass(npu::createDescribeClusters());
          manager.addPass(npu::createChooseMapForm({options.mapCompression}));
        }))
      return error;
    return checkPlan();
  case Phase::Tile:
    // Emission trusts the sequences as it does the plan. Tiles of a plan of our
    // own that make no result are a bug of ours, those of a file may be its.
    return runPasses(first == static_cast<int>(phase) ? ErrorClass::Malformed
                                                      : ErrorClass::Internal,
                     [](OpPassManager &manager) {
                       tile::buildTilePipeline(manager, /*checkPlan=*/false);
                     });
  case Phase::Emit:
    return emit();
  }
  return llvm::Error::success();
}

/// Share of the time of a compilation that has passed when each phase begins,
/// for the line of progress alone: the means of six networks of 1 to 12 s, as
/// tools/scripts/bench_stages.py measures them.
static constexpr double stageBegin[] = {0,    0.02, 0.06, 0.08,
                                        0.44, 0.57, 0.58, 0.585};
static constexpr double kChoicesBegin = 0.19;

void Compilation::announce(llvm::StringRef stage, double share) const {
  if (options.onStage && !trial)
    options.onStage(stage, share);
}

llvm::Expected<CompileResult> Compilation::run() {
  if (llvm::Error error = findMachine())
    return error;
  if (llvm::Error error = options.checkMachine(machine))
    return error;
  if (!machine.sparse.exists()) {
    choices.clusters.mode = "off";
    choices.clusters.reason = "the machine has no sparse cluster";
  }
  if (first > 0 && !trial)
    if (llvm::Error error = checkEntry())
      return error;
  for (int i = first; i <= static_cast<int>(options.stopAfter); ++i) {
    auto phase = static_cast<Phase>(i);
    if (phase == Phase::Assign && !trial) {
      announce("comparing alternatives", kChoicesBegin);
      auto finished = measureChoices();
      if (!finished)
        return finished.takeError();
      if (*finished)
        return std::move(result);
    }
    announce(phaseName(phase), stageBegin[i]);
    auto start = std::chrono::steady_clock::now();
    OwningOpRef<ModuleOp> before;
    if (phase == Phase::Fold && comparesFolds())
      before = result.module->clone();
    if (llvm::Error error = runPhase(phase))
      return error;
    if (before)
      if (llvm::Error error = chooseFolds(*before))
        return error;
    // Plan ends with a check of its own.
    if (phase == Phase::Assign) {
      if (llvm::Error error = verifyLayouts())
        return error;
      if (trial && machine.sb.banks > 1)
        assigned = result.module->clone();
    }
    if (phase == Phase::Tile && trial)
      tiled = result.module->clone();
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.times.push_back({phase, elapsed.count()});
  }
  if (first > static_cast<int>(Phase::Emit))
    if (llvm::Error error = assemble())
      return error;
  if (options.stopAfter != Phase::Emit) {
    decisions = DecisionList::ofNodes(*result.module);
    decisions.append(DecisionList::ofProgram(*result.module));
  }
  // After emit, those of the file stay.
  if (!trial && first <= static_cast<int>(Phase::Emit))
    publishDecisions();
  return std::move(result);
}

void Compilation::publishDecisions() {
  result.decisionsJson = decisions.toJson();
  if (result.program)
    result.program->decisionsJson = result.decisionsJson;
}

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
  auto &deferred = nn::DeferredElements::of(&context);
  const bool before = deferred.isEnabled();
  deferred.setEnabled(options.programOnly && !options.afterPass &&
                      options.stopAfter == Phase::Emit);
  auto result = Compilation(options, context).run();
  deferred.setEnabled(before);
  // Whatever was said of weights that changed meanwhile is beside the point.
  if (llvm::Error changed = deferred.runChecks()) {
    llvm::consumeError(result.takeError());
    return changed;
  }
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
