// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing by llvm::opt, and what it leaves to its users: messages, response
// files, values that an option lists, and the layout of --help.

#include "ashlar/Support/OptionTable.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/VirtualFileSystem.h"
#include <fmt/format.h>
#include <map>

using namespace ashlar;
using namespace ashlar::support;
using llvm::StringRef;

namespace {

constexpr size_t kFormWidth = 32; ///< Of --option=WHAT in --help.
constexpr size_t kLineWidth = 80;

/// Files of arguments are files: some devices have no end.
class ResponseFiles : public llvm::vfs::ProxyFileSystem {
public:
  ResponseFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &path) override {
    llvm::ErrorOr<llvm::vfs::Status> status = this->status(path);
    if (!status)
      return status.getError();
    using llvm::sys::fs::file_type;
    if (status->getType() != file_type::regular_file &&
        status->getType() != file_type::fifo_file) {
      refused = path.str();
      return std::make_error_code(std::errc::invalid_argument);
    }
    return ProxyFileSystem::openFileForRead(path);
  }

  std::string refused; ///< What is not a file.
};

llvm::Error expandResponseFiles(llvm::SmallVectorImpl<const char *> &argv,
                                llvm::BumpPtrAllocator &storage) {
  llvm::IntrusiveRefCntPtr<ResponseFiles> files(new ResponseFiles);
  llvm::cl::ExpansionContext context(storage, llvm::cl::TokenizeGNUCommandLine,
                                     files.get());
  llvm::Error error = context.expandResponseFiles(argv);
  if (!error)
    return error;
  const std::string problem = llvm::toString(std::move(error));
  if (!files->refused.empty())
    return makeError(ErrorClass::Usage,
                     "cannot take arguments from '{}': it is a folder or a "
                     "device, expected a file",
                     files->refused);
  return makeError(ErrorClass::Usage, "cannot take arguments from a file: {}",
                   problem);
}

/// "a, b or c"; lists that are longer say so first.
std::string listed(llvm::ArrayRef<StringRef> values) {
  if (values.size() > 5)
    return "one of " + llvm::join(values, ", ");
  return llvm::join(values.drop_back(), ", ") + " or " + values.back().str();
}

llvm::SmallVector<StringRef, 8>
valuesOf(const llvm::opt::OptTable::Info &info) {
  llvm::SmallVector<StringRef, 8> values;
  if (info.Values)
    StringRef(info.Values).split(values, ',');
  return values;
}

/// Help that ends with a colon continues with the values, the default first.
std::string helpText(const llvm::opt::OptTable::Info &info) {
  std::string text = info.HelpText;
  if (!StringRef(text).ends_with(":"))
    return text;
  llvm::SmallVector<StringRef, 8> values = valuesOf(info);
  const std::string first = (values[0] + " (default)").str();
  values[0] = first;
  return text + " " + llvm::join(llvm::ArrayRef(values).drop_back(), ", ") +
         " or " + values.back().str();
}

/// One option of --help.
std::string helpLines(StringRef form, StringRef text) {
  std::string lines = fmt::format("  {:<{}}", form.str(), kFormWidth);
  if (form.size() > kFormWidth)
    lines += "\n" + std::string(2 + kFormWidth, ' ');
  size_t column = 2 + kFormWidth;
  for (StringRef word : llvm::split(text, ' ')) {
    if (column + 1 + word.size() > kLineWidth) {
      lines += "\n" + std::string(2 + kFormWidth, ' ');
      column = 2 + kFormWidth;
    }
    lines += " " + word.str();
    column += 1 + word.size();
  }
  return lines + "\n";
}

bool isListed(const llvm::opt::OptTable::Info &info) {
  return info.HelpText && info.AliasID == 0 &&
         info.Kind != llvm::opt::Option::GroupClass;
}

} // namespace

std::string OptionTable::nameOf(unsigned id) const {
  return getOptionPrefixedName(id).rtrim('=').str();
}

bool OptionTable::isSwitch(unsigned id) const {
  return infos[id - 1].Kind == llvm::opt::Option::FlagClass;
}

std::optional<unsigned> OptionTable::find(StringRef name) const {
  for (const Info &info : infos)
    if (isListed(info) && getOptionName(info.ID).rtrim('=') == name)
      return info.ID;
  return std::nullopt;
}

FileUse OptionTable::fileUse(unsigned id) const {
  constexpr std::pair<optionflags::OptionFlag, FileUse> uses[] = {
      {optionflags::Reads, FileUse::Reads},
      {optionflags::ReadsNamed, FileUse::ReadsNamed},
      {optionflags::Writes, FileUse::Writes},
      {optionflags::ReadsDump, FileUse::ReadsDump},
      {optionflags::WritesDump, FileUse::WritesDump}};
  for (auto [flag, use] : uses)
    if (hasFlag(id, flag))
      return use;
  return FileUse::None;
}

std::string OptionTable::checkValue(unsigned id, StringRef value) const {
  const llvm::SmallVector<StringRef, 8> values = valuesOf(infos[id - 1]);
  if (values.empty() || llvm::is_contained(values, value))
    return "";
  return "expected " + listed(values) + didYouMean(value, values);
}

llvm::Error OptionTable::unknown(StringRef argument) const {
  auto [spelling, value] = argument.split('=');
  const std::optional<unsigned> known = find(spelling.ltrim('-'));
  if (known && isSwitch(*known) && argument.contains('='))
    return makeError(ErrorClass::Usage, "option {} takes no value, found '{}'",
                     nameOf(*known), value.str());
  std::string nearest;
  const unsigned distance =
      findNearest(argument, nearest, llvm::opt::Visibility(),
                  /*MinimumLength=*/3, misspelling(spelling.size()));
  const bool close = distance <= misspelling(spelling.size());
  return makeError(ErrorClass::Usage, "unknown option '{}', see --help{}",
                   argument.str(),
                   close ? ", did you mean '" +
                               StringRef(nearest).split('=').first.str() + "'"
                         : "");
}

llvm::Expected<std::vector<GivenOption>>
OptionTable::parse(llvm::ArrayRef<std::string> args) const {
  llvm::BumpPtrAllocator storage;
  llvm::SmallVector<const char *, 32> argv;
  for (const std::string &arg : args)
    argv.push_back(arg.c_str());
  if (llvm::Error error = expandResponseFiles(argv, storage))
    return error;
  unsigned missingIndex = 0, missingCount = 0;
  const llvm::opt::InputArgList list =
      ParseArgs(argv, missingIndex, missingCount);
  std::vector<GivenOption> given;
  for (const llvm::opt::Arg *arg : list) {
    const llvm::opt::Option option = arg->getOption();
    const std::string value = arg->getNumValues() ? arg->getValue() : "";
    if (option.getKind() == llvm::opt::Option::UnknownClass)
      return unknown(arg->getAsString(list));
    if (option.getKind() == llvm::opt::Option::InputClass) {
      if (StringRef(value).starts_with("@"))
        return makeError(ErrorClass::Usage,
                         "no file '{}' to take arguments from, expected one "
                         "(./{} is a file of that name)",
                         value.substr(1), value);
      given.push_back({option.getID(), "", value});
      continue;
    }
    const std::string problem = checkValue(option.getID(), value);
    if (!problem.empty())
      return makeError(ErrorClass::Usage, "option {} is '{}', {}",
                       nameOf(option.getID()), value, problem);
    given.push_back({option.getID(), nameOf(option.getID()), value});
  }
  if (missingCount == 0)
    return given;
  const StringRef last = argv[missingIndex];
  const std::optional<unsigned> id = find(last.ltrim('-'));
  return makeError(ErrorClass::Usage, "option {} lacks its value{}", last.str(),
                   id ? std::string(" ") + getOptionMetaVar(*id) : "");
}

std::string OptionTable::helpForm(unsigned id) const {
  std::string form = getOptionPrefixedName(id).str();
  if (getOptionKind(id) == llvm::opt::Option::SeparateClass)
    form += " ";
  if (const char *what = getOptionMetaVar(id))
    form += what;
  return form;
}

std::string OptionTable::describe() const {
  // By the number of the group (Options.td).
  std::map<StringRef, std::string> groups;
  for (const Info &info : infos) {
    if (!isListed(info))
      continue;
    std::string &text = groups[getOptionName(info.GroupID)];
    if (text.empty())
      text = std::string(getOptionHelpText(info.GroupID)) + ":\n";
    text += helpLines(helpForm(info.ID), helpText(info));
  }
  std::string text;
  for (const auto &[order, lines] : groups)
    text += (text.empty() ? "" : "\n") + lines;
  return text;
}

void UsedFiles::add(std::string option, StringRef value, FileUse use) {
  if (use == FileUse::None)
    return;
  if (use == FileUse::ReadsNamed) {
    // As the options read it: NAME may hold '='.
    files.push_back({std::move(option), value.rsplit('=').second.str(), use});
    return;
  }
  for (UsedFile &file : files)
    if (file.option == option) {
      file.path = value.str();
      return;
    }
  files.push_back({std::move(option), value.str(), use});
}
