// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlarc: what the flags ask for, in order.

#include "../PhaseFile.h"
#include "../ProveProgram.h"
#include "../Samples/MeasureDensity.h"
#include "../Samples/MeasureScales.h"
#include "../Verification/Verify.h"
#include "Arguments.h"
#include "CheckModel.h"
#include "Explain.h"
#include "ashlar/Machine/Json.h"
#include "ashlar/Pipelines/Registration.h"
#include "ashlar/Transforms/NPU/Passes.h"

#include "ashlar/Support/Console.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Version.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

namespace ashlar::pipelines {
namespace {

/// Formatted text for standard output.
template <typename... Args>
void print(fmt::format_string<Args...> format, Args &&...args) {
  support::printOut(fmt::format(format, std::forward<Args>(args)...));
}

/// The formats as an option would say them; a module that is quantised has its
/// own.
std::string formatText(const CompilerArguments &arguments) {
  if (arguments.startAfter && *arguments.startAfter >= Phase::Quantise)
    return "as quantised";
  return numerics::toString(arguments.compile.formats);
}

/// The decisions of all passes; none if a phase file carries something else.
llvm::json::Array decisionsOf(const CompileResult &result) {
  auto decisions = llvm::json::parse(result.decisionsJson);
  if (!decisions) {
    llvm::consumeError(decisions.takeError());
    return {};
  }
  llvm::json::Array *entries = decisions->getAsArray();
  return entries ? std::move(*entries) : llvm::json::Array();
}

/// What constants take, of all nodes and of each.
void addStorage(llvm::json::Object &report, const WeightStorage &storage) {
  const NodeStorage total = storage.total();
  if (total.weights == 0)
    return;
  report["weights"] = total.weights;
  report["weight_bytes"] =
      total.mantissas + total.exponents + total.coefficients;
  report["bits_per_weight"] = total.bitsPerWeight();
  report["parameter_bytes"] = total.parameters;
  report["tensor_bytes"] = total.tensors;
  report["padding_bytes"] = total.padding;
  llvm::json::Array nodes;
  for (const NodeStorage &node : storage.nodes)
    nodes.push_back(
        llvm::json::Object{{"node", llvm::json::fixUTF8(node.node)},
                           {"weights", node.weights},
                           {"mantissas", node.mantissas},
                           {"exponents", node.exponents},
                           {"coefficients", node.coefficients},
                           {"parameters", node.parameters},
                           {"tensors", node.tensors},
                           {"padding", node.padding},
                           {"bits_per_weight", node.bitsPerWeight()}});
  report["storage"] = std::move(nodes);
}

/// The machine that was compiled for: a phase file carries its own.
llvm::Expected<machine::Description>
machineOf(const CompilerArguments &arguments, const CompileResult &result) {
  if (result.program)
    return result.program->machine;
  if (auto target =
          (*result.module)->getAttrOfType<npu::TargetAttr>(npu::kTargetAttr))
    return target.getMachine();
  return machine::load(arguments.compile.machine);
}

llvm::Expected<std::string>
reportText(const CompilerArguments &arguments, const CompileResult &result,
           const std::optional<SearchResult> &search,
           const std::optional<Verification> &verification) {
  auto machine = machineOf(arguments, result);
  if (!machine)
    return machine.takeError();
  llvm::json::Object phases;
  for (const PhaseTime &time : result.times)
    phases[phaseName(time.phase)] = time.seconds;
  llvm::json::Object report{{"schema_version", 1},
                            {"kind", "compile"},
                            {"model", arguments.compile.model},
                            {"machine", llvm::json::fixUTF8(machine->name)},
                            {"machine_parameters", machine::toJson(*machine)},
                            {"format", formatText(arguments)},
                            {"phase_seconds", std::move(phases)}};
  if (search)
    report["format_search"] = toJson(*search);
  if (verification)
    report["verification"] = toJson(*verification);
  report["decisions"] = decisionsOf(result);
  if (result.program) {
    uint64_t bytes = 0;
    for (const container::Segment &segment : result.program->constants)
      bytes += segment.bytes.size();
    report["instructions"] =
        static_cast<int64_t>(result.program->nodeOfInstruction.size());
    report["constant_bytes"] = static_cast<int64_t>(bytes);
    report["dram_bytes"] = static_cast<int64_t>(result.program->dramBytes);
  }
  addStorage(report, result.weights);
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str();
}

void printSummary(const CompilerArguments &arguments,
                  const CompileResult &result) {
  const container::Program &program = *result.program;
  uint64_t bytes = 0, macs = 0;
  for (const container::Segment &segment : program.constants)
    bytes += segment.bytes.size();
  for (const container::NodeInfo &node : program.nodes)
    macs += node.macs;
  // A program that was not generated here says nothing about its weights.
  std::string weights;
  if (const NodeStorage storage = result.weights.total(); storage.weights > 0)
    weights = fmt::format("{:.2f} bits per weight, ", storage.bitsPerWeight());
  print("{}: {} nodes, {} instructions, {:.2f} M multiply-accumulates, "
        "{:.1f} kB of constants, {}machine {}, format {}\n",
        arguments.output, program.nodes.size(),
        program.nodeOfInstruction.size(), macs / 1e6, bytes / 1e3, weights,
        program.machine.name, formatText(arguments));
}

/// Densities of the calibration samples, for the choice of engines.
llvm::Error profileData(CompilerArguments &arguments,
                        mlir::MLIRContext &context) {
  const std::string &mode = arguments.compile.sparse.mode;
  const bool wanted = mode == "auto" || mode == "scatter" ||
                      arguments.compile.mapCompression != "off";
  if (!wanted || arguments.startAfter || arguments.search.calibration.empty())
    return llvm::Error::success();
  return measureDensity(arguments.compile, arguments.search.calibration,
                        context);
}

/// Replaces --format=auto by what the search found, and writes the formats.
llvm::Error chooseFormats(CompilerArguments &arguments,
                          mlir::MLIRContext &context,
                          std::optional<SearchResult> &search) {
  // The reserves of the search were set for weights that round as they are
  // (docs/decisions/2026-11-21-channel-scaling.md).
  if (arguments.autoFormats)
    arguments.compile.weightScaling = false;
  // Before the search, which counts the cycles of the engines that are chosen.
  if (llvm::Error error = profileData(arguments, context))
    return error;
  if (arguments.autoFormats) {
    auto found = searchFormats(arguments.compile, arguments.search, context);
    if (!found)
      return found.takeError();
    search = std::move(*found);
    numerics::ScalePolicy scale = arguments.compile.formats.scale;
    arguments.compile.formats = search->formats();
    arguments.compile.formats.scale = scale;
  }
  if (needsScales(arguments.compile.formats) &&
      !arguments.search.calibration.empty()) {
    auto measured =
        measureScales(arguments.compile, arguments.search.calibration, context);
    if (!measured)
      return measured.takeError();
    arguments.compile.scaleExponents = std::move(*measured);
  }
  if (arguments.dumpFormats.empty())
    return llvm::Error::success();
  llvm::json::Value table = numerics::toJson(arguments.compile.formats);
  // The file has to give this program again.
  if (!arguments.compile.weightScaling)
    (*table.getAsObject())["weight_scaling"] = "off";
  return support::writeFileAtomically(arguments.dumpFormats,
                                      llvm::formatv("{0:2}\n", table).str());
}

/// Compiles the model, or what an earlier compilation left of it.
llvm::Expected<CompileResult> compileInput(const CompilerArguments &arguments,
                                           mlir::MLIRContext &context) {
  if (!arguments.startAfter)
    return compile(arguments.compile, context);
  auto module =
      readPhaseFile(arguments.compile.model, *arguments.startAfter, context);
  if (!module)
    return module.takeError();
  return compileFrom(**module, *arguments.startAfter, arguments.compile,
                     context);
}

/// --verify: the table, and what it found.
llvm::Error runVerification(const CompilerArguments &arguments,
                            mlir::MLIRContext &context,
                            std::optional<Verification> &verification) {
  if (!arguments.verify)
    return llvm::Error::success();
  auto found = verify(arguments.compile, arguments.verifyInputs, context);
  if (!found)
    return found.takeError();
  verification = std::move(*found);
  support::printOut(describe(*verification));
  return llvm::Error::success();
}

/// A layer beyond its bound as the error that ends the compilation.
llvm::Error violationError(const std::optional<Verification> &verification) {
  if (!verification || !verification->violation)
    return llvm::Error::success();
  const Violation &violation = *verification->violation;
  if (violation.phase == Phase::Import)
    return makeError(ErrorClass::Mismatch,
                     "node '{}' is not imported as ONNX defines it: {}",
                     violation.layer, violation.text);
  return makeError(
      ErrorClass::Mismatch, "layer '{}' leaves its bound in phase {}{}: {}",
      violation.layer, phaseName(violation.phase).str(),
      violation.pass.empty() ? std::string() : ", pass " + violation.pass,
      violation.text);
}

/// A context with all dialects. It runs in one thread until it gets a pool.
std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

llvm::Error runCheck(const CompilerArguments &arguments) {
  auto context = makeContext();
  auto nodes = checkModel(arguments.compile, *context);
  if (!nodes)
    return nodes.takeError();
  size_t unsupported = 0;
  for (const frontend::NodeStatus &node : *nodes) {
    print("{:<32} {:<24} {:<12} {}\n", node.name, node.op,
          frontend::nodeStateName(node.state).str(), node.detail);
    unsupported += node.state == frontend::NodeState::Unsupported;
  }
  print("{} nodes, {} unsupported\n", nodes->size(), unsupported);
  if (unsupported > 0)
    return makeError(ErrorClass::Unsupported,
                     "{} of {} nodes are unsupported, listed above",
                     unsupported, nodes->size());
  return llvm::Error::success();
}

llvm::Error runCompiler(CompilerArguments arguments) {
  // Before anything is measured or searched.
  auto machine = machine::load(arguments.compile.machine);
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = arguments.compile.sparse.check(*machine))
    return error;
  auto owner = makeContext();
  mlir::MLIRContext &context = *owner;
  std::unique_ptr<llvm::DefaultThreadPool> pool;
  if (arguments.compile.threads != 1) {
    pool = std::make_unique<llvm::DefaultThreadPool>(
        llvm::hardware_concurrency(arguments.compile.threads));
    context.setThreadPool(*pool);
  }
  std::optional<SearchResult> search;
  if (llvm::Error error = chooseFormats(arguments, context, search))
    return error;
  auto result = compileInput(arguments, context);
  if (!result)
    return result.takeError();
  // First of all: nothing else that could be said of a wrong program is true.
  if (result->program && !arguments.stopRequested)
    if (llvm::Error error = proveProgram(
            *result->program,
            arguments.startAfter ? ProgramSource::File : ProgramSource::Model))
      return error;
  std::optional<Verification> verification;
  if (llvm::Error error = runVerification(arguments, context, verification))
    return error;
  if (arguments.explain && search)
    support::printOut(describe(*search));
  if (arguments.explain)
    support::printOut(explain(decisionsOf(*result)));
  if (!arguments.report.empty()) {
    auto text = reportText(arguments, *result, search, verification);
    if (!text)
      return text.takeError();
    if (llvm::Error error = support::writeText(arguments.report, *text))
      return error;
  }
  if (llvm::Error error = violationError(verification))
    return error;
  // A file is for --compile-from, a terminal for readers.
  if (arguments.stopRequested)
    return support::writeText(
        arguments.output,
        arguments.output.empty()
            ? phaseText(*result->module)
            : completePhaseText(*result, arguments.compile.stopAfter));
  if (arguments.output.empty() || !result->program)
    return llvm::Error::success();
  if (llvm::Error error = container::write(*result->program, arguments.output))
    return error;
  printSummary(arguments, *result);
  return llvm::Error::success();
}

llvm::Error dumpMachine(llvm::StringRef name) {
  auto machine = machine::load(name);
  if (!machine)
    return machine.takeError();
  return support::writeText("", machine::toYaml(*machine));
}

/// The exit code; text that could not be written is an error as well.
int finish(llvm::Error error) {
  if (!error)
    error = support::finishOut();
  else
    llvm::consumeError(support::finishOut());
  return reportAndExitCode("ashlarc", std::move(error));
}

} // namespace

int compilerMain(llvm::ArrayRef<std::string> args) {
  auto arguments = parseCompilerArguments(args);
  if (!arguments)
    return reportAndExitCode("ashlarc", arguments.takeError());
  if (arguments->help) {
    return finish(support::writeText("", compilerHelp()));
  }
  if (arguments->version) {
    return finish(
        support::writeText("", support::versionLine("ashlarc") + "\n"));
  }
  if (arguments->listMachines) {
    for (llvm::StringRef name : machine::builtinNames())
      print("{}\n", name.str());
    return finish(llvm::Error::success());
  }
  if (!arguments->dumpMachine.empty())
    return finish(dumpMachine(arguments->dumpMachine));
  if (arguments->check)
    return finish(runCheck(*arguments));
  return finish(runCompiler(*arguments));
}

} // namespace ashlar::pipelines
