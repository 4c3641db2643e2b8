// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command lines of the tools: one table of flags per tool drives parsing and
// --help. A small parser of our own keeps the options that linked libraries
// register out of the tools.

#ifndef ASHLAR_SUPPORT_COMMANDLINE_H
#define ASHLAR_SUPPORT_COMMANDLINE_H

#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileUse.h"
#include "llvm/ADT/ArrayRef.h"
#include <fmt/format.h>
#include <string>
#include <tuple>
#include <vector>

namespace ashlar::support {

/// What every --help ends with.
inline constexpr const char *exitCodeLines =
    "exit codes: 0 ok, 1 internal, 2 usage, 3 unsupported, 4 malformed input,\n"
    "            5 capacity, 6 mismatch\n";

/// One flag of a tool whose settings are a struct `Options`.
template <typename Options>
struct Flag {
  const char *name;
  const char *value; ///< Placeholder in --help, or null for a switch.
  const char *help;
  /// Stores the value; a non-empty result says what was expected instead.
  std::string (*set)(Options &, llvm::StringRef);
  FileUse use = FileUse::None; ///< What the value is to the file system.
};

/// The files of the options given so far.
class UsedFiles {
public:
  /// The last value of an option counts, unless it may be repeated.
  void add(std::string option, llvm::StringRef value, FileUse use);
  llvm::ArrayRef<UsedFile> get() const { return files; }

private:
  std::vector<UsedFile> files;
};

/// Parses `args` (without the tool's name). Accepts `--flag=value`,
/// `--flag value`, one or two dashes, and -h. Positional arguments go to
/// `positional`, whose result is an error message as in Flag::set; they are
/// files that are read as \p positionalUse says. All errors are usage errors
/// that name the argument, files that collide included (checkFiles).
template <typename Options>
llvm::Error
parseCommandLine(llvm::ArrayRef<std::string> args,
                 llvm::ArrayRef<Flag<Options>> flags,
                 std::string (*positional)(Options &, llvm::StringRef),
                 Options &options, FileUse positionalUse = FileUse::Reads) {
  UsedFiles files;
  auto find = [&](llvm::StringRef name) -> const Flag<Options> * {
    for (const Flag<Options> &flag : flags)
      if (name == flag.name)
        return &flag;
    return nullptr;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    llvm::StringRef argument = args[i];
    if (!argument.starts_with("-") || argument == "-") {
      std::string problem = positional(options, argument);
      if (!problem.empty())
        return makeError(ErrorClass::Usage, "argument '{}': {}", argument.str(),
                         problem);
      files.add("the input", argument, positionalUse);
      continue;
    }
    llvm::StringRef name = argument.drop_while([](char c) { return c == '-'; });
    const bool attached = name.contains('=');
    llvm::StringRef value;
    if (attached)
      std::tie(name, value) = name.split('=');
    const Flag<Options> *flag = find(argument == "-h" ? "help" : name);
    if (!flag)
      return makeError(ErrorClass::Usage, "unknown option '{}', see --help",
                       argument.str());
    if (!flag->value && attached)
      return makeError(ErrorClass::Usage,
                       "option --{} takes no value, found '{}'", flag->name,
                       value.str());
    if (flag->value && !attached) {
      if (++i == args.size())
        return makeError(ErrorClass::Usage, "option {} lacks its value {}",
                         argument.str(), flag->value);
      value = args[i];
    }
    const std::string problem = flag->set(options, value);
    if (!problem.empty())
      return makeError(ErrorClass::Usage, "option {}{} is '{}', {}",
                       flag->name[1] == 0 ? "-" : "--", flag->name, value.str(),
                       problem);
    files.add((flag->name[1] == 0 ? "-" : "--") + std::string(flag->name),
              value, flag->use);
  }
  return checkFiles(files.get());
}

/// The option lines of --help.
template <typename Options>
std::string describeFlags(llvm::ArrayRef<Flag<Options>> flags) {
  std::string text;
  for (const Flag<Options> &flag : flags) {
    // Flags of one letter are written the old way: -o FILE.
    const bool letter = flag.name[1] == 0;
    std::string form = (letter ? "-" : "--") + std::string(flag.name);
    if (flag.value)
      form += (letter ? " " : "=") + std::string(flag.value);
    text += fmt::format("  {:<32} {}\n", form, flag.help);
  }
  return text;
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_COMMANDLINE_H
