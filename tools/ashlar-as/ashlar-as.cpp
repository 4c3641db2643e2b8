// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-as: program text -> container, or raw code words with --raw.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ToolMain.h"

using namespace ashlar;

namespace {

struct Options : support::ToolOptions {
  std::string input, output;
  bool raw = false;
};

llvm::Error run(const Options &options) {
  if (options.input.empty() || options.output.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "expected INPUT.asm and -o FILE; see --help");
  auto text = support::readFile(options.input);
  if (!text)
    return text.takeError();
  llvm::Expected<container::Program> program =
      container::assemble((*text)->getBuffer(), options.input);
  if (!program)
    return program.takeError();
  if (!options.raw)
    return container::write(*program, options.output);
  return support::writeFileAtomically(
      options.output,
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(program->code.data()),
                     program->code.size() * sizeof(uint64_t)));
}

} // namespace

int main(int argc, char **argv) {
  support::Tool<Options> tool{
      "ashlar-as",
      "INPUT.asm -o FILE [options]",
      "Assembles the text of a program.",
      {{"o", "FILE", "output", support::setText<Options, &Options::output>,
        support::FileUse::Writes},
       {"raw", nullptr, "write the code words only",
        support::setSwitch<Options, &Options::raw>}},
      support::setOnly<Options, &Options::input>,
      run};
  return support::toolMain(std::move(tool), argc, argv);
}
