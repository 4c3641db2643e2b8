// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-as: program text -> container, or raw code words with --raw.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace ashlar;

static llvm::cl::OptionCategory category("ashlar-as options");
static llvm::cl::opt<std::string> inputPath(llvm::cl::Positional,
                                            llvm::cl::desc("<input.asm>"),
                                            llvm::cl::Required,
                                            llvm::cl::cat(category));
static llvm::cl::opt<std::string> outputPath("o", llvm::cl::desc("Output file"),
                                             llvm::cl::value_desc("file"),
                                             llvm::cl::Required,
                                             llvm::cl::cat(category));
static llvm::cl::opt<bool> raw("raw",
                               llvm::cl::desc("Write the code words only"),
                               llvm::cl::cat(category));

static llvm::Error run() {
  auto text = support::readFile(inputPath);
  if (!text)
    return text.takeError();
  llvm::Expected<container::Program> program =
      container::assemble((*text)->getBuffer(), inputPath);
  if (!program)
    return program.takeError();
  if (!raw)
    return container::write(*program, outputPath);
  return support::writeFileAtomically(
      outputPath,
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(program->code.data()),
                     program->code.size() * sizeof(uint64_t)));
}

int main(int argc, char **argv) {
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << support::versionLine("ashlar-as") << "\n";
  });
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, "Ashlar assembler\n",
                                         &llvm::errs()))
    return static_cast<int>(ErrorClass::Usage);
  return reportAndExitCode("ashlar-as", run());
}
