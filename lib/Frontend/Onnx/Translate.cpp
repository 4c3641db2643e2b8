// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `ashlar-translate`: prints an imported model, the list of its nodes, or the
// page of supported operators. MLIR's translate main turns every failure into
// exit code 1, so this one keeps the project's codes.

#include "ashlar/Frontend/Onnx/Translate.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/ToolMain.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace ashlar;
using namespace ashlar::frontend;

#define ASHLAR_OPTIONS "lib/Frontend/Onnx/TranslateOptions.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

/// Elements of a constant that are still printed.
constexpr int64_t longestPrinted = 16;

struct Options : support::ToolOptions {
  std::string file, output;
  bool importOnnx = false, check = false, supportedOps = false;
  bool keepResources = false, locations = false;
  ImportOptions import;
};

llvm::Expected<std::string> moduleText(const Options &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = frontend::importOnnx(options.file, options.import, &context);
  if (!module)
    return module.takeError();
  mlir::OpPrintingFlags printing;
  if (!options.keepResources)
    printing.elideLargeElementsAttrs(longestPrinted)
        .elideLargeResourceString(longestPrinted);
  if (options.locations)
    printing.enableDebugInfo(true, false).useLocalScope();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream, printing);
  return text + "\n";
}

llvm::Error printCheck(const Options &options) {
  auto statuses = checkOnnx(options.file, options.import);
  if (!statuses)
    return statuses.takeError();
  std::string text;
  size_t unsupported = 0;
  for (const NodeStatus &status : *statuses) {
    text += fmt::format("{:<12}{:<24}{}({}){}{}\n",
                        nodeStateName(status.state).str(), status.name,
                        status.op, status.shapes,
                        status.detail.empty() ? "" : ": ", status.detail);
    unsupported += status.state == NodeState::Unsupported;
  }
  if (llvm::Error error = support::writeText(options.output, text))
    return error;
  if (unsupported == 0)
    return llvm::Error::success();
  return makeError(ErrorClass::Unsupported, "{}: {} of {} nodes not supported",
                   options.file, unsupported, statuses->size());
}

llvm::Error run(const Options &options) {
  if (options.supportedOps)
    return support::writeText(options.output, supportedOpsMarkdown());
  if (options.file.empty() || options.importOnnx == options.check)
    return makeError(ErrorClass::Usage, "{}",
                     "expected a model and either --import-onnx or --check");
  if (options.check)
    return printCheck(options);
  llvm::Expected<std::string> text = moduleText(options);
  if (!text)
    return text.takeError();
  return support::writeText(options.output, *text);
}

std::string setShape(Options &options, llvm::StringRef text) {
  return llvm::toString(addInputShape(options.import, text));
}

std::string setConstant(Options &options, llvm::StringRef text) {
  return llvm::toString(addConstant(options.import, text));
}

std::string setElements(Options &options, llvm::StringRef text) {
  return llvm::toString(addElements(options.import, text));
}

constexpr support::Setting<Options> settings[] = {
    {OPT_o, support::setText<Options, &Options::output>},
    {OPT_import_onnx, support::setSwitch<Options, &Options::importOnnx>},
    {OPT_check, support::setSwitch<Options, &Options::check>},
    {OPT_supported_ops, support::setSwitch<Options, &Options::supportedOps>},
    {OPT_keep_resources, support::setSwitch<Options, &Options::keepResources>},
    {OPT_locations, support::setSwitch<Options, &Options::locations>},
    {OPT_input_shape, setShape},
    {OPT_constant, setConstant},
    {OPT_elements, setElements},
    {OPT_help, support::setHelp<Options>},
    {OPT_version, support::setVersion<Options>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of TranslateOptions.td does something");

} // namespace

int ashlar::frontend::translateMain(int argc, char **argv) {
  const support::Tool<Options> tool{
      "ashlar-translate",
      "MODEL.onnx --import-onnx|--check [options]",
      "Imports an ONNX model and prints the result.",
      optionTable(),
      settings,
      support::setOnly<Options, &Options::file>,
      run};
  return support::toolMain(tool, argc, argv);
}
