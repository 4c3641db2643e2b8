// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function that the smaller tools share: options, --help, --version,
// messages and exit codes are alike in all of them.

#ifndef ASHLAR_SUPPORT_TOOLMAIN_H
#define ASHLAR_SUPPORT_TOOLMAIN_H

#include "ashlar/Support/Console.h"
#include "ashlar/Support/OptionTable.h"
#include "ashlar/Support/ProcessGuard.h"
#include "ashlar/Support/Version.h"

#include <fmt/format.h>
#include <vector>

namespace ashlar::support {

/// Settings that every tool has; a tool's own settings derive from it.
struct ToolOptions {
  bool help = false, version = false;
};

/// What tells one tool from another.
template <typename Options>
struct Tool {
  const char *name;
  const char *usage; ///< What follows the name on the usage line.
  const char *about; ///< One sentence.
  const OptionTable &table;
  llvm::ArrayRef<Setting<Options>> settings; ///< Of all options of the table.
  std::string (*positional)(Options &, llvm::StringRef);
  llvm::Error (*run)(const Options &);
};

/// Parses, answers or runs; the exit code. Text that could not be written to
/// standard output is an error as well.
template <typename Options>
int toolMain(const Tool<Options> &tool, int argc, char **argv) {
  guardProcess(tool.name);
  std::vector<std::string> args(argv + (argc > 0), argv + argc);
  Options options;
  llvm::Error error = parseCommandLine(tool.table, llvm::ArrayRef(args),
                                       tool.settings, tool.positional, options)
                          .takeError();
  if (!error && options.help)
    printOut(fmt::format("usage: {} {}\n\n{}\n\n{}\n{}", tool.name, tool.usage,
                         tool.about, tool.table.describe(), exitCodeLines));
  else if (!error && options.version)
    printOut(versionLine(tool.name) + "\n");
  else if (!error)
    error = tool.run(options);
  if (!error)
    error = finishOut();
  else
    llvm::consumeError(finishOut());
  return reportAndExitCode(tool.name, std::move(error));
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_TOOLMAIN_H
