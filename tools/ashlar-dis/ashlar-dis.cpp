// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-dis: container, or raw code words with --raw -> program text.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace ashlar;

static llvm::cl::OptionCategory category("ashlar-dis options");
static llvm::cl::opt<std::string> inputPath(llvm::cl::Positional,
                                            llvm::cl::desc("<input>"),
                                            llvm::cl::Required,
                                            llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    outputPath("o", llvm::cl::desc("Output file, standard output by default"),
               llvm::cl::value_desc("file"), llvm::cl::init("-"),
               llvm::cl::cat(category));
static llvm::cl::opt<bool> raw("raw",
                               llvm::cl::desc("Input is code words only"),
                               llvm::cl::cat(category));

static llvm::Expected<std::string> disassembleInput() {
  if (raw) {
    auto file = support::readFile(inputPath);
    if (!file)
      return file.takeError();
    return isa::disassembleRaw((*file)->getBuffer(), inputPath);
  }
  llvm::Expected<container::Program> program = container::read(inputPath);
  if (!program)
    return program.takeError();
  return container::disassemble(*program);
}

static llvm::Error run() {
  llvm::Expected<std::string> text = disassembleInput();
  if (!text)
    return text.takeError();
  if (outputPath != "-")
    return support::writeFileAtomically(outputPath, llvm::StringRef(*text));
  llvm::outs() << *text;
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << support::versionLine("ashlar-dis") << "\n";
  });
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, "Ashlar disassembler\n",
                                         &llvm::errs()))
    return static_cast<int>(ErrorClass::Usage);
  return reportAndExitCode("ashlar-dis", run());
}
