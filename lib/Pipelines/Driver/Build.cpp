// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options to a program, in order.

#include "Build.h"

#include "../PhaseFile.h"
#include "../ProveProgram.h"
#include "../Samples/MeasureDensity.h"
#include "../Samples/MeasureScales.h"
#include "ashlar/Pipelines/Registration.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Progress.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Threading.h"

namespace ashlar::pipelines {
namespace {

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

/// Replaces --format=auto by what the search found, and measures
/// scale exponents.
llvm::Error chooseFormats(CompilerArguments &arguments,
                          mlir::MLIRContext &context,
                          std::optional<SearchResult> &search) {
  // The reserves of the search were set for weights that round as they are
  // (docs/decisions/numerics/2026-11-21-channel-scaling.md).
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
  return llvm::Error::success();
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

} // namespace

CompilerContext::CompilerContext(unsigned threads) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  if (threads == 1)
    return;
  pool = std::make_unique<llvm::DefaultThreadPool>(
      llvm::hardware_concurrency(threads));
  context->setThreadPool(*pool);
}

llvm::Expected<Build> build(CompilerArguments &arguments,
                            mlir::MLIRContext &context) {
  // Before anything is measured or searched.
  if (!arguments.compile.machine.empty()) {
    auto machine = machine::load(arguments.compile.machine);
    if (!machine)
      return machine.takeError();
    if (llvm::Error error = arguments.compile.checkMachine(*machine))
      return error;
  }
  Build built;
  if (llvm::Error error = chooseFormats(arguments, context, built.search))
    return error;
  auto result = [&] {
    support::Progress progress("compiling", 100, arguments.showProgress);
    arguments.compile.onStage = [&](llvm::StringRef stage, double share) {
      progress.update(static_cast<uint64_t>(100 * share), stage.str());
    };
    arguments.compile.programOnly = !arguments.stopRequested;
    auto compiled = compileInput(arguments, context);
    arguments.compile.programOnly = false;
    arguments.compile.onStage = nullptr;
    return compiled;
  }();
  if (!result)
    return result.takeError();
  built.result = std::move(*result);
  // First of all: nothing else that could be said of a wrong program is true.
  if (built.result.program && !arguments.stopRequested)
    if (llvm::Error error = proveProgram(
            *built.result.program,
            arguments.startAfter ? ProgramSource::File : ProgramSource::Model))
      return error;
  if (!arguments.verify)
    return built;
  auto found = verify(arguments.compile, arguments.verifyInputs, context);
  if (!found)
    return found.takeError();
  built.verification = std::move(*found);
  return built;
}

llvm::Error violationError(const Build &build) {
  if (!build.verification || !build.verification->violation)
    return llvm::Error::success();
  const Violation &violation = *build.verification->violation;
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

std::string formatsText(const CompilerArguments &arguments) {
  llvm::json::Value table = numerics::toJson(arguments.compile.formats);
  // The file has to give this program again.
  if (!arguments.compile.weightScaling)
    (*table.getAsObject())["weight_scaling"] = "off";
  return llvm::formatv("{0:2}\n", table).str();
}

} // namespace ashlar::pipelines
