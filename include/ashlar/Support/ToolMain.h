// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function that the smaller tools share: flags, --help, --version,
// messages and exit codes are alike in all of them.

#ifndef ASHLAR_SUPPORT_TOOLMAIN_H
#define ASHLAR_SUPPORT_TOOLMAIN_H

#include "ashlar/Support/CommandLine.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/ProcessGuard.h"
#include "ashlar/Support/Version.h"

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
  std::vector<Flag<Options>> flags; ///< Without --help and --version.
  std::string (*positional)(Options &, llvm::StringRef);
  llvm::Error (*run)(const Options &);
};

/// Stores a text that may not be empty.
template <typename Options, std::string Options::*member>
std::string setText(Options &options, llvm::StringRef text) {
  options.*member = text.str();
  return text.empty() ? "expected a value" : "";
}

/// Turns a switch on.
template <typename Options, bool Options::*member>
std::string setSwitch(Options &options, llvm::StringRef) {
  options.*member = true;
  return "";
}

/// The only positional argument of a tool.
template <typename Options, std::string Options::*member>
std::string setOnly(Options &options, llvm::StringRef text) {
  if (!(options.*member).empty())
    return "second file after '" + options.*member + "', expected one";
  options.*member = text.str();
  return text.empty() ? "expected a file" : "";
}

/// Parses, answers or runs; the exit code. Text that could not be written to
/// standard output is an error as well.
template <typename Options>
int toolMain(Tool<Options> tool, int argc, char **argv) {
  guardProcess(tool.name);
  tool.flags.push_back(
      {"help", nullptr, "print this", [](Options &o, llvm::StringRef) {
         o.help = true;
         return std::string();
       }});
  tool.flags.push_back({"version", nullptr, "print the version",
                        [](Options &o, llvm::StringRef) {
                          o.version = true;
                          return std::string();
                        }});
  llvm::ArrayRef<Flag<Options>> flags(tool.flags);
  std::vector<std::string> args(argv + (argc > 0), argv + argc);
  Options options;
  llvm::Error error =
      parseCommandLine(llvm::ArrayRef(args), flags, tool.positional, options);
  if (!error && options.help)
    printOut(fmt::format("usage: {} {}\n\n{}\n\noptions:\n{}\n{}", tool.name,
                         tool.usage, tool.about, describeFlags(flags),
                         exitCodeLines));
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
