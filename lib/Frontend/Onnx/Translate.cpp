// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `ashlar-translate`: prints an imported model, the list of its nodes, or the
// page of supported operators. MLIR's translate main turns every failure into
// exit code 1, so this one keeps the project's codes.

#include "ashlar/Frontend/Onnx/Translate.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
namespace cl = llvm::cl;

namespace {

/// Elements of a constant that are still printed.
constexpr int64_t longestPrinted = 16;

struct Flags {
  cl::OptionCategory category{"ashlar-translate options"};
  cl::opt<std::string> file{cl::Positional, cl::desc("MODEL.onnx"),
                            cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file"), cl::init("-"),
                              cl::cat(category)};
  cl::opt<bool> importOnnx{"import-onnx", cl::desc("Print the model as MLIR"),
                           cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("List what becomes of every node"),
                      cl::cat(category)};
  cl::opt<bool> supportedOps{"supported-ops",
                             cl::desc("Print the page of supported operators"),
                             cl::cat(category)};
  cl::opt<bool> keepResources{"keep-resources",
                              cl::desc("Print large constants in full"),
                              cl::cat(category)};
  cl::opt<bool> locations{"locations", cl::desc("Print locations"),
                          cl::cat(category)};
  cl::list<std::string> shapes{
      "input-shape", cl::desc("Shape of a graph input"),
      cl::value_desc("NAME=1x3x224x224"), cl::cat(category)};
  cl::list<std::string> constants{
      "constant", cl::desc("Make a graph input constant"),
      cl::value_desc("NAME=FILE.npy"), cl::cat(category)};
};

llvm::Error printModule(const Flags &flags, const ImportOptions &options,
                        llvm::raw_ostream &os) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = frontend::importOnnx(flags.file, options, &context);
  if (!module)
    return module.takeError();
  mlir::OpPrintingFlags printing;
  if (!flags.keepResources)
    printing.elideLargeElementsAttrs(longestPrinted)
        .elideLargeResourceString(longestPrinted);
  if (flags.locations)
    printing.enableDebugInfo(true, false).useLocalScope();
  (*module)->print(os, printing);
  os << '\n';
  return llvm::Error::success();
}

llvm::Error printCheck(const Flags &flags, const ImportOptions &options,
                       llvm::raw_ostream &os) {
  auto statuses = checkOnnx(flags.file, options);
  if (!statuses)
    return statuses.takeError();
  size_t unsupported = 0;
  for (const NodeStatus &status : *statuses) {
    os << fmt::format("{:<12}{:<24}{}({}){}{}\n",
                      nodeStateName(status.state).str(), status.name, status.op,
                      status.shapes, status.detail.empty() ? "" : ": ",
                      status.detail);
    unsupported += status.state == NodeState::Unsupported;
  }
  if (unsupported == 0)
    return llvm::Error::success();
  return makeError(ErrorClass::Unsupported, "{}: {} of {} nodes not supported",
                   flags.file.getValue(), unsupported, statuses->size());
}

llvm::Error run(const Flags &flags, llvm::raw_ostream &os) {
  if (flags.supportedOps) {
    os << supportedOpsMarkdown();
    return llvm::Error::success();
  }
  if (flags.file.empty() || flags.importOnnx == flags.check)
    return makeError(ErrorClass::Usage,
                     "expected a model and either --import-onnx or --check");
  ImportOptions options;
  for (const std::string &flag : flags.shapes)
    if (llvm::Error error = addInputShape(options, flag))
      return error;
  for (const std::string &flag : flags.constants)
    if (llvm::Error error = addConstant(options, flag))
      return error;
  return flags.check ? printCheck(flags, options, os)
                     : printModule(flags, options, os);
}

} // namespace

int ashlar::frontend::translateMain(int argc, char **argv) {
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  std::string problems;
  llvm::raw_string_ostream problemStream(problems);
  if (!cl::ParseCommandLineOptions(argc, argv, "Ashlar ONNX import\n",
                                   &problemStream)) {
    llvm::errs() << problems;
    return static_cast<int>(ErrorClass::Usage);
  }
  std::error_code code;
  llvm::ToolOutputFile output(flags.output, code, llvm::sys::fs::OF_Text);
  if (code)
    return reportAndExitCode(
        "ashlar-translate",
        makeError(ErrorClass::Usage, "cannot write '{}': {}",
                  flags.output.getValue(), code.message()));
  if (llvm::Error error = run(flags, output.os()))
    return reportAndExitCode("ashlar-translate", std::move(error));
  output.keep();
  return 0;
}
