// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-dis: container, or raw code words with --raw -> program text.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ToolMain.h"

using namespace ashlar;

#define ASHLAR_OPTIONS "tools/ashlar-dis/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct Options : support::ToolOptions {
  std::string input, output;
  bool raw = false;
};

llvm::Expected<std::string> disassembleInput(const Options &options) {
  if (options.raw) {
    auto file = support::readFile(options.input);
    if (!file)
      return file.takeError();
    return isa::disassembleRaw((*file)->getBuffer(), options.input);
  }
  llvm::Expected<container::Program> program = container::read(options.input);
  if (!program)
    return program.takeError();
  return container::disassemble(*program);
}

llvm::Error run(const Options &options) {
  if (options.input.empty())
    return makeError(ErrorClass::Usage, "{}", "expected a program; see --help");
  llvm::Expected<std::string> text = disassembleInput(options);
  if (!text)
    return text.takeError();
  return support::writeText(options.output, *text);
}

constexpr support::Setting<Options> settings[] = {
    {OPT_o, support::setText<Options, &Options::output>},
    {OPT_raw, support::setSwitch<Options, &Options::raw>},
    {OPT_help, support::setHelp<Options>},
    {OPT_version, support::setVersion<Options>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of Options.td does something");

} // namespace

int main(int argc, char **argv) {
  const support::Tool<Options> tool{
      "ashlar-dis",
      "PROGRAM.ash [options]",
      "Prints a program as text that ashlar-as reads.",
      optionTable(),
      settings,
      support::setOnly<Options, &Options::input>,
      run};
  return support::toolMain(tool, argc, argv);
}
