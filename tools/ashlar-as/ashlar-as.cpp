// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-as: program text -> container, or raw code words with --raw.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ToolMain.h"

using namespace ashlar;

#define ASHLAR_OPTIONS "tools/ashlar-as/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

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
  const support::Tool<Options> tool{"ashlar-as",
                                    "INPUT.asm -o FILE [options]",
                                    "Assembles the text of a program.",
                                    optionTable(),
                                    settings,
                                    support::setOnly<Options, &Options::input>,
                                    run};
  return support::toolMain(tool, argc, argv);
}
