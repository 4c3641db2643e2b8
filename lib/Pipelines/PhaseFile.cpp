// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing and reading of modules between two phases.

#include "PhaseFile.h"

#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ModuleText.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPTypes.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ashlar::pipelines {
namespace {

std::string printModule(ModuleOp module, const OpPrintingFlags &flags) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, flags);
  stream << "\n";
  return text;
}

std::string takeText(ModuleOp module, llvm::StringRef name) {
  auto text = dyn_cast_or_null<StringAttr>(module->removeDiscardableAttr(name));
  return text ? text.getValue().str() : "";
}

/// Dialects whose operations a module of this phase consists of.
llvm::SmallVector<llvm::StringRef, 4> dialectsOf(Phase phase) {
  if (phase == Phase::Emit)
    return {"isa"};
  if (phase == Phase::Tile)
    return {"tile", "npu", "bfp", "nn"};
  if (phase >= Phase::Assign)
    return {"npu", "bfp", "nn"};
  if (phase == Phase::Quantise)
    return {"bfp", "nn"};
  return {"nn"};
}

bool isEncoded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && mlir::isa<bfp::BlockType>(tensor.getElementType());
}

/// What the passes after `phase` take for granted of its module; a problem
/// if a file does not have it.
std::string findForeign(ModuleOp module, Phase phase) {
  if (phase >= Phase::Assign &&
      !module->getAttrOfType<records::TargetAttr>(records::kTargetAttr))
    return "the module names no machine";
  auto allowed = dialectsOf(phase);
  std::string problem;
  module.walk([&](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    bool frame =
        mlir::isa<ModuleOp>(op) ||
        (phase != Phase::Emit && mlir::isa<func::FuncOp, func::ReturnOp>(op));
    bool encoded = phase < Phase::Quantise &&
                   llvm::any_of(op->getResultTypes(), isEncoded);
    if (!encoded && (frame || llvm::is_contained(allowed, dialect)))
      return WalkResult::advance();
    problem = "'" + op->getName().getStringRef().str() + "'" +
              (encoded ? " with an encoded result" : "") +
              " is not an operation of phase '" + phaseName(phase).str() + "'";
    return WalkResult::interrupt();
  });
  if (problem.empty() && phase == Phase::Emit &&
      !llvm::hasSingleElement(module.getOps<isadialect::ProgramOp>()))
    return "the module has not one isa.program";
  return problem;
}

/// Keeps the first error of parser and verifiers, with its place.
struct FirstError {
  explicit FirstError(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              text.empty()) {
            llvm::raw_string_ostream stream(text);
            if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
              stream << "line " << place.getLine() << ": ";
            stream << diagnostic;
          }
          return success();
        }) {}
  std::string text;
  ScopedDiagnosticHandler handler;
};

} // namespace

std::string phaseText(ModuleOp module) {
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16);
  flags.elideLargeResourceString(64);
  return printModule(module, flags);
}

std::string completePhaseText(const CompileResult &result, Phase phase) {
  ModuleOp module = *result.module;
  Builder builder(module.getContext());
  module->setDiscardableAttr(records::kPhaseAttr,
                             builder.getStringAttr(phaseName(phase)));
  if (!result.numericPlanJson.empty())
    module->setDiscardableAttr(records::kNumericPlanAttr,
                               builder.getStringAttr(result.numericPlanJson));
  if (phase == Phase::Emit)
    module->setDiscardableAttr(records::kDecisionsAttr,
                               builder.getStringAttr(result.decisionsJson));
  // Locations hold the names of the ONNX nodes.
  std::string text = printModule(
      module, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  takePhaseState(module);
  return text;
}

PhaseState takePhaseState(ModuleOp module) {
  module->removeDiscardableAttr(records::kPhaseAttr);
  return {takeText(module, records::kNumericPlanAttr),
          takeText(module, records::kDecisionsAttr)};
}

llvm::Expected<OwningOpRef<ModuleOp>>
readPhaseFile(llvm::StringRef path, Phase phase, MLIRContext &context) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  if (llvm::Error error = support::checkModuleText((*buffer)->getBuffer()))
    return withContext(std::move(error), path.str());
  FirstError error(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return makeError(ErrorClass::Malformed, "{}: {}", path.str(),
                     error.text.empty() ? "not a module" : error.text);
  auto written = (*module)->getAttrOfType<StringAttr>(records::kPhaseAttr);
  if (!written)
    return makeError(ErrorClass::Usage,
                     "{}: the module does not name its phase, expected a file "
                     "that --compile-to={} -o wrote",
                     path.str(), phaseName(phase).str());
  if (written.getValue() != phaseName(phase))
    return makeError(
        ErrorClass::Usage, "{}: the module is of phase '{}', expected '{}'",
        path.str(), written.getValue().str(), phaseName(phase).str());
  std::string problem = findForeign(*module, phase);
  if (problem.empty() && phase != Phase::Emit &&
      failed(analysis::verifyForm(*module)))
    problem = error.text;
  if (!problem.empty())
    return makeError(ErrorClass::Malformed, "{}: {}", path.str(), problem);
  return module;
}

} // namespace ashlar::pipelines
