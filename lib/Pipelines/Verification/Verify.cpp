// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three kinds of comparison. The network as imported must be what ONNX defines,
// node by node. Phases up to plan rewrite the network: their modules are
// computed in binary64 without formats and must give the layers of the import,
// up to the one rounding of folded constants. What the machine stores is then
// compared layer by layer, each for the operands that it really had, with the
// guaranteed bound of its format. Where only the machine is wrong, the program
// is executed as each pass after the plan left it.

#include "Verify.h"
#include "../ProveProgram.h"

#include "../Samples/Evaluate.h"
#include "LayerBound.h"
#include "ModuleComparison.h"
#include "TileEvaluation.h"

#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Frontend/OnnxReference/Reference.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <deque>
#include <map>
#include <thread>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// Phases that leave a module which binary64 can compute.
constexpr Phase widePhases[] = {Phase::Simplify, Phase::Fold, Phase::Quantise,
                                Phase::Assign, Phase::Plan};
/// Of the phase whose module is the numeric plan.
constexpr size_t kQuantised = 2;

/// Counts of one layer and one sample.
void judgeElements(const LayerExpectation &expected, const Tensor &found,
                   LayerCheck &check) {
  for (int64_t i = 0, e = expected.exact.size(); i < e; ++i) {
    double right = elementOf(expected.exact, i), is = elementOf(found, i);
    double bound = expected.bound[i];
    double error = differenceOf(right, is);
    if (!expected.limit.empty()) {
      check.vanished += is == 0 && right != 0;
      check.saturated += std::abs(right) > expected.limit[i];
    }
    if (!(bound < HUGE_VAL) || !std::isfinite(right))
      continue;
    check.guaranteed = true;
    check.maxError = std::max(check.maxError, error);
    check.maxBound = std::max(check.maxBound, bound);
    if (error > 0)
      check.ratio = std::max(check.ratio, bound > 0 ? error / bound : HUGE_VAL);
  }
}

class Verifier {
public:
  Verifier(const CompileOptions &given, MLIRContext &context)
      : options(given), context(context) {
    options.dumpPlan.clear();
    if (options.threads == 0)
      options.threads = std::max(1u, std::thread::hardware_concurrency());
  }

  llvm::Expected<Verification> run(const SampleArchive &inputs);

private:
  llvm::Error compilePhases();
  llvm::Error checkSample(const Sample &sample);
  llvm::Error checkImport(const Sample &sample, const ValueMap &values);
  llvm::Error checkMachine(const Sample &sample, const ValueMap &wide);
  llvm::Error checkLayer(Operation &op, const ValueMap &wide,
                         LayerCheck &check);
  llvm::Error bindOperands(const Sample &sample);
  llvm::Error findPass(size_t phase, const Sample &sample,
                       const ExactValues &right);
  /// Against the import, or after quantise against the module after it, whose
  /// values \p right then are.
  void compare(size_t phase, const ExactValues &right, ModuleOp module,
               const ValueMap &values, PhaseCheck &check) {
    if (phase > kQuantised)
      comparePlanned(right, module, values, check);
    else
      compareModules(right, module, values, check);
  }
  llvm::Error checkPhase(size_t phase, const Sample &sample, ExactValues &right,
                         const ValueMap &values);
  llvm::Error findEmitPass(const Sample &sample, const ExactValues &wide);
  bool changesPlan(ModuleOp module, const Sample &sample,
                   const ExactValues &wide);
  llvm::Expected<bool> leavesBound(ModuleOp code, const Sample &sample,
                                   const ValueMap &wide);
  bool anyBeyondBound() const {
    return llvm::any_of(
        result.layers, [](const LayerCheck &layer) { return layer.ratio > 1; });
  }
  void judge();
  func::FuncOp plan() {
    return modules[kQuantised]->lookupSymbol<func::FuncOp>("main");
  }

  CompileOptions options;
  MLIRContext &context;
  OwningOpRef<ModuleOp> imported;
  /// Values of the import by their names in the model.
  llvm::StringMap<frontend::NamedValue> importedNames;
  std::optional<onnxref::ModelReference> definition;
  /// After each of widePhases.
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::optional<emulator::LoadedProgram> program;
  emulator::Options how;
  /// Operands of the plan's operations: constants, inputs, what was stored.
  llvm::DenseMap<Value, LayerOperand> operands;
  /// What the machine stored, by tensor of the plan.
  std::map<std::string, size_t> dumpOf;
  emulator::RunResult found;
  /// The pass after the plan with which the machine leaves a bound, and its
  /// phase.
  std::string emitPass;
  Phase emitPhase = Phase::Emit;
  Verification result;
};

llvm::Error Verifier::compilePhases() {
  frontend::ValueNames names;
  auto first =
      frontend::importOnnx(options.model, options.import, &context, &names);
  if (!first)
    return first.takeError();
  imported = std::move(*first);
  for (frontend::NamedValue &named : names)
    importedNames[named.name] = named;
  if (options.afterPass)
    options.afterPass(phaseName(Phase::Import), *imported);
  auto model = onnxref::ModelReference::load(options.model, options.import);
  if (!model)
    return model.takeError();
  definition.emplace(std::move(*model));
  CompileOptions now = options;
  Phase done = Phase::Import;
  for (Phase phase : widePhases) {
    now.stopAfter = phase;
    ModuleOp before = modules.empty() ? *imported : *modules.back();
    auto next = compileFrom(before, done, now, context);
    if (!next)
      return next.takeError();
    modules.push_back(std::move(next->module));
    done = phase;
  }
  now.stopAfter = Phase::Emit;
  auto last = compileFrom(*modules.back(), done, now, context);
  if (!last)
    return last.takeError();
  how.threads = options.threads;
  how.timing = false;
  how.dumpTensors = true;
  auto loaded = loadCompiled(std::move(*last->program), how);
  if (!loaded)
    return loaded.takeError();
  program.emplace(std::move(*loaded));
  return llvm::Error::success();
}

llvm::Error Verifier::bindOperands(const Sample &sample) {
  auto main = plan();
  for (auto [argument, input] : llvm::zip(main.getArguments(), sample)) {
    auto tensor = reference::fromHost(input);
    if (!tensor)
      return tensor.takeError();
    operands[argument].values = std::move(*tensor);
  }
  for (Operation &op : main.getBody().front().without_terminator()) {
    Value value = op.getResult(0);
    if (!analysis::isPlanConstant(value) || operands.contains(value))
      continue;
    auto constant = operandFromConstant(value);
    if (!constant)
      return constant.takeError();
    operands[value] = std::move(*constant);
  }
  return llvm::Error::success();
}

llvm::Error Verifier::checkLayer(Operation &op, const ValueMap &wide,
                                 LayerCheck &check) {
  SmallVector<const LayerOperand *> given;
  for (Value operand : op.getOperands())
    given.push_back(&operands.find(operand)->second);
  auto expected = expectLayer(&op, given);
  if (!expected)
    return expected.takeError();
  if (isBlockProduct(&op))
    for (const LayerOperand *operand : given)
      check.fetchSaturated += operand->saturated;
  Value value = op.getResult(0);
  auto dump = dumpOf.find(check.name);
  if (dump == dumpOf.end()) {
    // The plan's tensor is not a tensor of the state buffer: a part of another
    // one, reduced before it is stored, or in the sparse cluster alone.
    operands[value] = operandUnseen(value, std::move(*expected));
    return llvm::Error::success();
  }
  const emulator::TensorDump &stored = found.dumps[dump->second];
  auto operand = operandFromDump(program->program().dumps[stored.placement],
                                 stored, value);
  if (!operand)
    return operand.takeError();
  judgeElements(*expected, operand->values, check);
  const Tensor &exact = wide.find(value)->second;
  for (int64_t i = 0, e = exact.size(); i < e; ++i) {
    double right = elementOf(exact, i);
    double error = differenceOf(right, elementOf(operand->values, i));
    check.signal += right * right;
    check.noise += error * error;
  }
  operands[value] = std::move(*operand);
  return llvm::Error::success();
}

llvm::Error Verifier::checkMachine(const Sample &sample, const ValueMap &wide) {
  auto run = emulator::run(*program, sample, how);
  if (!run)
    return run.takeError();
  found = std::move(*run);
  dumpOf.clear();
  for (auto [i, dump] : llvm::enumerate(found.dumps))
    dumpOf[program->program().dumps[dump.placement].name] = i;
  if (llvm::Error error = bindOperands(sample))
    return error;
  analysis::PlanNames names(plan());
  size_t row = 0;
  for (Operation &op : plan().getBody().front().without_terminator()) {
    Value value = op.getResult(0);
    if (isa<nn::ConstantOp>(op) || analysis::isPlanConstant(value))
      continue;
    if (row == result.layers.size()) {
      LayerCheck fresh;
      fresh.name = names.getName(value).str();
      fresh.op = op.getName().getStringRef().str();
      result.layers.push_back(std::move(fresh));
    }
    if (llvm::Error error = checkLayer(op, wide, result.layers[row]))
      return withContext(std::move(error), result.layers[row].name);
    ++row;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::findPass(size_t phase, const Sample &sample,
                               const ExactValues &right) {
  CompileOptions now = options;
  now.stopAfter = widePhases[phase];
  llvm::Error failed = llvm::Error::success();
  std::string pass;
  // Chained: what the caller does after a pass belongs to the pass.
  now.afterPass = [&](llvm::StringRef name, ModuleOp module) {
    if (options.afterPass)
      options.afterPass(name, module);
    if (!pass.empty() || failed)
      return;
    auto values = evaluateModule(module, sample);
    if (!values) {
      failed = values.takeError();
      return;
    }
    PhaseCheck check;
    compare(phase, right, module, *values, check);
    if (check.worst > kFoldTolerance)
      pass = name.str();
  };
  ModuleOp before = phase == 0 ? *imported : *modules[phase - 1];
  Phase done = phase == 0 ? Phase::Import : widePhases[phase - 1];
  auto again = compileFrom(before, done, now, context);
  if (!again)
    return llvm::joinErrors(std::move(failed), again.takeError());
  if (failed)
    return failed;
  result.violation->pass = pass;
  return llvm::Error::success();
}

/// Executes a program of the `isa` dialect as it is.
llvm::Expected<bool> Verifier::leavesBound(ModuleOp code, const Sample &sample,
                                           const ValueMap &wide) {
  auto assembled = codegen::assemble(code);
  if (!assembled)
    return assembled.takeError();
  // Without its semaphores a program races, but runs in order here.
  emulator::Options plain = how;
  plain.checkRaces = plain.checkUndefined = false;
  auto loaded = loadCompiled(std::move(*assembled), plain);
  if (!loaded)
    return loaded.takeError();
  program.emplace(std::move(*loaded));
  result.layers.clear();
  operands.clear();
  if (llvm::Error error = checkMachine(sample, wide))
    return error;
  return anyBeyondBound();
}

/// Tiles of an operation that are evaluated one by one.
constexpr int64_t kMostTiles = 16;

/// True if a module of the tile phase computes something else than the plan,
/// operations of few tiles tile by tile.
bool Verifier::changesPlan(ModuleOp module, const Sample &sample,
                           const ExactValues &wide) {
  auto values = evaluateTiles(module, sample, kMostTiles);
  // What cannot be computed is judged as a program.
  if (!values) {
    llvm::consumeError(values.takeError());
    return false;
  }
  PhaseCheck check;
  comparePlanned(wide, module, *values, check);
  return check.worst > kFoldTolerance;
}

llvm::Error Verifier::findEmitPass(const Sample &sample,
                                   const ExactValues &wide) {
  std::vector<LayerCheck> layers = result.layers;
  CompileOptions now = options;
  now.stopAfter = Phase::Emit;
  now.afterPass = [&](llvm::StringRef name, ModuleOp module) {
    if (options.afterPass)
      options.afterPass(name, module);
    if (!emitPass.empty())
      return;
    // A function main is still the plan, with its tiles.
    if (module.lookupSymbol("main")) {
      if (changesPlan(module, sample, wide)) {
        emitPass = name;
        emitPhase = Phase::Tile;
      }
      return;
    }
    auto wrong = leavesBound(module, sample, wide.all());
    // What cannot run yet is judged after a later pass.
    if (!wrong)
      llvm::consumeError(wrong.takeError());
    else if (*wrong)
      emitPass = name.str();
  };
  auto again = compileFrom(*modules.back(), Phase::Plan, now, context);
  if (!again)
    return again.takeError();
  result.layers = std::move(layers);
  return llvm::Error::success();
}

llvm::Error Verifier::checkImport(const Sample &sample,
                                  const ValueMap &values) {
  std::deque<Tensor> cut; // What counts of values with run-time extents.
  auto importedValue = [&](llvm::StringRef name) -> const Tensor * {
    auto known = importedNames.find(name);
    if (known == importedNames.end())
      return nullptr;
    const frontend::NamedValue &named = known->second;
    auto value = values.find(named.value);
    if (value == values.end() || named.extentAxis < 0)
      return value == values.end() ? nullptr : &value->second;
    auto extent = values.find(named.extent);
    if (extent == values.end())
      return nullptr;
    return &cut.emplace_back(reference::firstIndices(
        value->second, named.extentAxis, extent->second.ints.front()));
  };
  auto found = definition->compare(sample, importedValue, kFoldTolerance);
  if (!found)
    return found.takeError();
  PhaseCheck &check = result.phases.front();
  check.layers = found->values;
  if (found->worst > check.worst || check.layer.empty()) {
    check.worst = found->worst;
    check.layer = found->worstNode;
  }
  if (found->first && !result.violation)
    result.violation =
        Violation{found->first->node, Phase::Import, "", found->first->text};
  return llvm::Error::success();
}

llvm::Error Verifier::checkPhase(size_t phase, const Sample &sample,
                                 ExactValues &right, const ValueMap &values) {
  PhaseCheck &check = result.phases[phase + 1];
  const PhaseCheck before = check;
  compare(phase, right, *modules[phase], values, check);
  if (check.worst <= kFoldTolerance || result.violation)
    return llvm::Error::success();
  // Rare, and several evaluations: only where the plain tolerance is left.
  if (llvm::Error error = right.measureMovement())
    return error;
  check = before;
  compare(phase, right, *modules[phase], values, check);
  if (check.worst <= kFoldTolerance)
    return llvm::Error::success();
  result.violation =
      Violation{check.layer, check.phase, "",
                fmt::format("differs by {:.3g} of its largest element, "
                            "expected at most {:.3g}",
                            check.worst, kFoldTolerance)};
  return findPass(phase, sample, right);
}

llvm::Error Verifier::checkSample(const Sample &sample) {
  auto right = ExactValues::compute(*imported, sample);
  if (!right)
    return right.takeError();
  if (llvm::Error error = checkImport(sample, right->all()))
    return error;
  std::optional<ExactValues> quantised;
  for (size_t i = 0; i < std::size(widePhases); ++i) {
    auto values = ExactValues::compute(*modules[i], sample);
    if (!values)
      return values.takeError();
    if (llvm::Error error = checkPhase(
            i, sample, i > kQuantised ? *quantised : *right, values->all()))
      return error;
    if (i == kQuantised)
      quantised.emplace(std::move(*values));
  }
  if (llvm::Error error = checkMachine(sample, quantised->all()))
    return error;
  if (result.violation || !emitPass.empty() || !anyBeyondBound())
    return llvm::Error::success();
  return findEmitPass(sample, *quantised);
}

/// The first layer beyond its bound; the phases come first.
void Verifier::judge() {
  if (result.violation)
    return;
  for (const LayerCheck &layer : result.layers) {
    if (!(layer.ratio > 1))
      continue;
    std::string text =
        fmt::format("error is {:.3g} times its bound", layer.ratio);
    // Only scale exponents below their blocks saturate at operand fetch.
    bool scales = layer.fetchSaturated > 0;
    if (scales)
      text += fmt::format(", {} operand elements are above their scale "
                          "exponent",
                          layer.fetchSaturated);
    result.violation = Violation{
        layer.name, scales ? Phase::Quantise : emitPhase,
        scales ? "ashlar-bfp-choose-scales" : emitPass, std::move(text)};
    return;
  }
}

llvm::Expected<Verification> Verifier::run(const SampleArchive &inputs) {
  if (llvm::Error error = compilePhases())
    return error;
  auto samples = readSamples(*imported, inputs);
  if (!samples)
    return samples.takeError();
  result.phases.resize(1 + std::size(widePhases));
  for (size_t i = 0; i < std::size(widePhases); ++i)
    result.phases[i + 1].phase = widePhases[i];
  for (const Sample &sample : *samples)
    if (llvm::Error error = checkSample(sample))
      return error;
  result.samples = samples->size();
  for (LayerCheck &layer : result.layers)
    layer.saturated += layer.fetchSaturated;
  judge();
  return std::move(result);
}

} // namespace

llvm::Expected<Verification> verify(const CompileOptions &options,
                                    const SampleArchive &inputs,
                                    MLIRContext &context) {
  return Verifier(options, context).run(inputs);
}

} // namespace ashlar::pipelines
