// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command lines of the tools over llvm::opt. The options of a tool are in its
// TableGen file (ashlar/Support/Options.td); DefineOptions.inc makes the table
// of them, and a list of settings says what each one does.

#ifndef ASHLAR_SUPPORT_OPTIONTABLE_H
#define ASHLAR_SUPPORT_OPTIONTABLE_H

#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileUse.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Option/Option.h"
#include <optional>
#include <string>
#include <vector>

namespace ashlar::support {

/// Flags of Options.td; llvm::opt has the bits below.
namespace optionflags {
enum OptionFlag : unsigned {
  Reads = 1 << 4,
  ReadsNamed = 1 << 5,
  Writes = 1 << 6,
  ReadsDump = 1 << 7,
  WritesDump = 1 << 8,
  ToolOnly = 1 << 9,
};
} // namespace optionflags

/// One argument of a command line.
struct GivenOption {
  unsigned id;       ///< Of an alias that of its option.
  std::string name;  ///< As messages call it: "-o", "--report"; or empty.
  std::string value; ///< Empty for a switch.
  bool positional() const { return name.empty(); }
};

/// What every --help ends with.
inline constexpr const char *exitCodeLines =
    "exit codes: 0 ok, 1 internal, 2 usage, 3 unsupported, 4 malformed input,\n"
    "            5 capacity, 6 mismatch\n";

/// The options of one tool.
class OptionTable : public llvm::opt::GenericOptTable {
public:
  using Infos = llvm::ArrayRef<Info>;

  OptionTable(const llvm::StringTable &strings,
              llvm::ArrayRef<llvm::StringTable::Offset> prefixes, Infos infos)
      : GenericOptTable(strings, prefixes, infos), infos(infos) {
    setDashDashParsing(true);
  }

  /// Parses \p args (without the tool's name): `--name=value`, `--name value`,
  /// one or two dashes, `@FILE` for the arguments in a file, `--` before
  /// arguments that only look like options. Values are checked where the
  /// option lists them. Errors are usage errors that name the argument.
  llvm::Expected<std::vector<GivenOption>>
  parse(llvm::ArrayRef<std::string> args) const;

  /// The option that messages call \p name ("report"); none for others.
  std::optional<unsigned> find(llvm::StringRef name) const;

  /// Whether the option takes no value.
  bool isSwitch(unsigned id) const;

  bool hasFlag(unsigned id, optionflags::OptionFlag flag) const {
    return (infos[id - 1].Flags & flag) != 0;
  }

  /// What the option's value is to the file system.
  FileUse fileUse(unsigned id) const;

  /// What is wrong with a value where the option lists its values; or nothing.
  std::string checkValue(unsigned id, llvm::StringRef value) const;

  /// The option lines of --help, by group.
  std::string describe() const;

  /// Whether every option has a setting in \p ids, at compile time.
  template <size_t numInfos, typename Settings>
  static constexpr bool allSet(const Info (&infos)[numInfos],
                               const Settings &settings) {
    for (const Info &info : infos) {
      const bool option = info.Kind != llvm::opt::Option::GroupClass &&
                          info.Kind != llvm::opt::Option::InputClass &&
                          info.Kind != llvm::opt::Option::UnknownClass;
      bool found = !option || info.AliasID != 0;
      for (const auto &setting : settings)
        found |= setting.id == info.ID;
      if (!found)
        return false;
    }
    return true;
  }

private:
  std::string nameOf(unsigned id) const;
  std::string helpForm(unsigned id) const;
  llvm::Error unknown(llvm::StringRef argument) const;

  Infos infos;
};

/// What an option does to the settings of a tool, a struct `Options`.
template <typename Options>
struct Setting {
  unsigned id;
  /// Stores the value; a non-empty result says what was expected instead.
  std::string (*set)(Options &, llvm::StringRef);
};

/// Stores a value that may not be empty.
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

/// What --help and --version do.
template <typename Options>
std::string setHelp(Options &options, llvm::StringRef) {
  options.help = true;
  return "";
}
template <typename Options>
std::string setVersion(Options &options, llvm::StringRef) {
  options.version = true;
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

/// The setting of an option.
template <typename Options>
const Setting<Options> &settingOf(llvm::ArrayRef<Setting<Options>> settings,
                                  unsigned id) {
  return *llvm::find_if(settings, [&](const Setting<Options> &setting) {
    return setting.id == id;
  });
}

/// The files of the options given so far.
class UsedFiles {
public:
  /// The last value of an option counts, unless it may be repeated.
  void add(std::string option, llvm::StringRef value, FileUse use);
  llvm::ArrayRef<UsedFile> get() const { return files; }

private:
  std::vector<UsedFile> files;
};

/// Parses \p args and stores them in \p options; the arguments that were
/// given. Positional arguments go to \p positional, whose result is an error
/// message as in Setting::set; they are files that are read as
/// \p positionalUse says. All errors are usage errors, files that collide
/// included (checkFiles).
template <typename Options>
llvm::Expected<std::vector<GivenOption>>
parseCommandLine(const OptionTable &table, llvm::ArrayRef<std::string> args,
                 llvm::ArrayRef<Setting<Options>> settings,
                 std::string (*positional)(Options &, llvm::StringRef),
                 Options &options, FileUse positionalUse = FileUse::Reads) {
  auto given = table.parse(args);
  if (!given)
    return given.takeError();
  UsedFiles files;
  for (const GivenOption &option : *given) {
    if (option.positional()) {
      const std::string problem = positional(options, option.value);
      if (!problem.empty())
        return makeError(ErrorClass::Usage, "argument '{}': {}", option.value,
                         problem);
      files.add("the input", option.value, positionalUse);
      continue;
    }
    const std::string problem =
        settingOf(settings, option.id).set(options, option.value);
    if (!problem.empty())
      return makeError(ErrorClass::Usage, "option {} is '{}', {}", option.name,
                       option.value, problem);
    files.add(option.name, option.value, table.fileUse(option.id));
  }
  if (llvm::Error error = checkFiles(files.get()))
    return error;
  return given;
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_OPTIONTABLE_H
