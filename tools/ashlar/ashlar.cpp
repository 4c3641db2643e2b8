// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar COMMAND: all tools under one name. It becomes the tool of the same
// folder, so options, messages and exit codes are the tool's.

#include "ashlar/Support/Nearest.h"
#include "ashlar/Support/ToolMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

using namespace ashlar;

#define ASHLAR_OPTIONS "tools/ashlar/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct Options : support::ToolOptions {
  std::string command;
};

/// In the order of use.
constexpr struct {
  const char *name, *tool, *about;
} commands[] = {
    {"compile", "ashlarc", "compile an ONNX model to a program"},
    {"run", "ashlar-run", "run a program: outputs, cycles, energy, reports"},
    {"eval", "ashlar-eval", "accuracy and latency over a data set"},
    {"sweep", "ashlar-sweep", "models x machines x options, table and plots"},
    {"prune", "ashlar-prune", "set the smallest weights of a model to zero"},
    {"tiles", "ashlar-tiles", "study the zeros of feature maps"},
    {"reduce", "ashlar-reduce", "find the smallest model that fails"},
    {"reference", "ashlar-reference", "interpret a model on the host"},
    {"as", "ashlar-as", "assemble a program"},
    {"dis", "ashlar-dis", "disassemble a program"},
    {"translate", "ashlar-translate", "import a model as textual IR"},
    {"opt", "ashlar-opt", "run passes on textual IR"},
};

std::string aboutText() {
  std::string text = "One name for all tools. COMMAND --help prints the "
                     "options of a command.\n\ncommands:\n";
  for (const auto &command : commands)
    text += fmt::format("  {:<10} {:<17} {}\n", command.name, command.tool,
                        command.about);
  text.pop_back();
  return text;
}

std::string toolPath(const char *tool) {
  static int anchor;
  llvm::SmallString<128> path(
      llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, tool);
  return std::string(path);
}

const char *toolOf(llvm::StringRef name) {
  for (const auto &command : commands)
    if (name == command.name || name == command.tool)
      return command.tool;
  return nullptr;
}

/// Becomes a tool; returns only if that fails.
llvm::Error become(const char *tool, llvm::ArrayRef<char *> args) {
  std::string path = toolPath(tool);
  std::vector<char *> words = {path.data()};
  llvm::append_range(words, args);
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  return makeError(ErrorClass::Usage,
                   "cannot run '{}': {}; install or build it, or call the tool "
                   "by its own name",
                   path, std::strerror(errno));
}

/// What is left to do if no tool took over.
llvm::Error run(const Options &options) {
  if (options.command.empty())
    return makeError(ErrorClass::Usage, "expected a command; see --help");
  std::vector<llvm::StringRef> names = {"help"};
  for (const auto &command : commands)
    names.push_back(command.name);
  return makeError(ErrorClass::Usage, "unknown command '{}'{}; see --help",
                   options.command,
                   support::didYouMean(options.command, names));
}

constexpr support::Setting<Options> settings[] = {
    {OPT_help, support::setHelp<Options>},
    {OPT_version, support::setVersion<Options>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of Options.td does something");

} // namespace

int main(int argc, char **argv) {
  llvm::ArrayRef<char *> args(argv + (argc > 0), argv + argc);
  static char help[] = "--help";
  char *helpOnly[] = {help};
  if (!args.empty() && llvm::StringRef(args.front()) == "help") {
    // help COMMAND is COMMAND --help; help is --help.
    const char *tool = args.size() == 2 ? toolOf(args[1]) : nullptr;
    if (tool)
      return reportAndExitCode("ashlar", become(tool, helpOnly));
    if (args.size() == 1)
      argv[1] = help;
    else
      --argc, ++argv; // The name is judged below.
  } else if (!args.empty()) {
    if (const char *tool = toolOf(args.front()))
      return reportAndExitCode("ashlar", become(tool, args.drop_front()));
    // Arguments of an unknown command are not ours to judge.
    argc = 2;
  }
  const std::string about = aboutText();
  const support::Tool<Options> tool{
      "ashlar",
      "COMMAND [arguments]",
      about.c_str(),
      optionTable(),
      settings,
      support::setOnly<Options, &Options::command>,
      run};
  return support::toolMain(tool, argc, argv);
}
