// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: the developer's tool behind the IR tests.

#include "ashlar/Pipelines/Registration.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/FileUse.h"
#include "ashlar/Support/ModuleText.h"
#include "ashlar/Support/ProcessGuard.h"
#include "ashlar/Support/Version.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <unistd.h>

using namespace ashlar;

static constexpr const char *tool = "ashlar-opt";
static bool parsing = true; ///< The command line.

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(llvm::StringRef path) {
  if (path != "-")
    return support::readFile(path);
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input)
    return makeError(ErrorClass::Malformed, "cannot read standard input: {}",
                     input.getError().message());
  return std::move(*input);
}

/// The text after the passes; diagnostics have been printed if there is none.
static llvm::Expected<std::string> transform(llvm::StringRef path,
                                             mlir::DialectRegistry &registry) {
  auto read = readInput(path);
  if (!read)
    return read.takeError();
  std::unique_ptr<llvm::MemoryBuffer> input = std::move(*read);
  const bool isText = !mlir::isBytecode(input->getMemBufferRef());
  // The lexer would take the first NUL for the end.
  if (isText && input->getBuffer().contains('\0'))
    return makeError(ErrorClass::Malformed, "{}: neither text nor bytecode",
                     path.str());
  if (isText)
    if (llvm::Error error = support::checkModuleText(input->getBuffer()))
      return withContext(std::move(error), path.str());
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (mlir::failed(
          mlir::MlirOptMain(stream, std::move(input), registry,
                            mlir::MlirOptMainConfig::createFromCLOptions())))
    return makeError(ErrorClass::Malformed,
                     "{}: the text or a pass on it has failed", path.str());
  return text;
}

static llvm::Error run(llvm::StringRef input, llvm::StringRef output,
                       mlir::DialectRegistry &registry) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses()) {
    // Neither reads a file.
    if (mlir::failed(mlir::MlirOptMain(llvm::outs(),
                                       llvm::MemoryBuffer::getMemBuffer(""),
                                       registry, config)))
      return makeError(ErrorClass::Internal, "nothing could be listed");
    return llvm::Error::success();
  }
  // Standard input is not a file that could be written.
  std::vector<support::UsedFile> files = {
      {"-o", output.str(), support::FileUse::Writes}};
  if (input != "-")
    files.push_back({"the input", input.str(), support::FileUse::Reads});
  if (llvm::Error error = support::checkFiles(files))
    return error;
  llvm::Expected<std::string> text = transform(input, registry);
  return text ? support::writeText(output, *text) : text.takeError();
}

/// libLLVM registers the options of its targets and passes when it is loaded;
/// none of them acts here, so only --help-hidden lists them.
static void hideOptionsOfLlvm() {
  constexpr llvm::StringLiteral general[] = {"color", "help", "help-hidden",
                                             "help-list", "version"};
  for (auto &option : llvm::cl::getRegisteredOptions())
    if (!llvm::is_contained(general, option.first))
      option.second->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  support::guardProcess(tool);
  hideOptionsOfLlvm();
  mlir::DialectRegistry registry;
  pipelines::registerDialects(registry);
  pipelines::registerPasses();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << support::versionLine(tool) << "\n";
  });
  // Parsing ends the process on a wrong option, with 1; ours is usage.
  on_exit(
      [](int status, void *) {
        if (parsing && status == 1)
          _exit(static_cast<int>(ErrorClass::Usage));
      },
      nullptr);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "runs passes on textual IR of the dialects nn, bfp, npu and isa\n",
      registry);
  parsing = false;
  llvm::Error error = run(input, output, registry);
  if (!error)
    error = support::finishOut();
  return reportAndExitCode(tool, std::move(error));
}
