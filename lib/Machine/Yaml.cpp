// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// YAML in and out. LLVM's YAML stream parser is used directly, walking the
// parameter table: it throws nothing and knows the line of every node.

#include "Fields.h"
#include "Presets.h"
#include "ashlar/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <algorithm>
#include <string>

using namespace ashlar;
using namespace ashlar::machine;

namespace {

class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef name) : text(text), name(name) {
    // The parser would print to stderr; keep the first message instead.
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic &diagnostic, void *context) {
          Parser &self = *static_cast<Parser *>(context);
          if (self.syntaxError.empty())
            self.syntaxError = fmt::format("{}:{}: {}", self.name.str(),
                                           diagnostic.getLineNo(),
                                           diagnostic.getMessage().str());
        },
        this);
  }

  llvm::Expected<Description> parse();

private:
  template <typename... Args>
  llvm::Error error(llvm::yaml::Node *node, fmt::format_string<Args...> format,
                    Args &&...args) {
    // Nodes can be missing after a syntax error, which then says more.
    if (!syntaxError.empty() || !node)
      return makeError(ErrorClass::Malformed, "{}",
                       syntaxError.empty() ? name.str() + ": invalid YAML"
                                           : syntaxError);
    const unsigned line =
        sources.getLineAndColumn(node->getSourceRange().Start).first;
    return makeError(ErrorClass::Malformed, "{}:{}: {}", name.str(), line,
                     fmt::vformat(format, fmt::make_format_args(args...)));
  }

  llvm::Error parseMap(llvm::yaml::MappingNode *map, llvm::StringRef section);
  llvm::Error parseField(llvm::yaml::Node *key, llvm::yaml::Node *value,
                         llvm::StringRef section, llvm::StringRef field);
  llvm::Error parseBase(llvm::yaml::Node *key, llvm::yaml::Node *value);
  llvm::Expected<std::string> scalar(llvm::yaml::Node *node,
                                     llvm::StringRef what);
  static const Field *find(llvm::StringRef section, llvm::StringRef key);
  static std::string known(llvm::StringRef section);

  llvm::StringRef text;
  llvm::StringRef name;
  llvm::SourceMgr sources;
  std::string syntaxError;
  Description result = presets().front().make();
  bool named = false;
  llvm::SmallPtrSet<const Field *, 16> given;
  llvm::StringMap<unsigned> lines; ///< Of "section.key".
};

/// What a machine without a name is called: its file without folders and
/// suffix, as text that YAML, JSON and terminals can carry.
std::string nameOfFile(llvm::StringRef path) {
  std::string result = llvm::sys::path::stem(path).str();
  const bool isText = llvm::json::isUTF8(result);
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 32 || c == 127 || (c < 0 && !isText))
      c = '_';
  return result.empty() ? "unnamed" : result;
}

bool isSection(llvm::StringRef key) {
  for (const Field &field : fields())
    if (*field.section && key == field.section)
      return true;
  return false;
}

} // namespace

const Field *Parser::find(llvm::StringRef section, llvm::StringRef key) {
  for (const Field &field : fields())
    if (section == field.section && key == field.key)
      return &field;
  return nullptr;
}

std::string Parser::known(llvm::StringRef section) {
  std::string list = section.empty() ? "name, base" : "";
  llvm::StringSet<> seen;
  for (const Field &field : fields()) {
    llvm::StringRef key = field.key;
    if (section.empty() && *field.section)
      key = field.section;
    else if (section != field.section)
      continue;
    if (seen.insert(key).second)
      list += (list.empty() ? "" : ", ") + key.str();
  }
  return list;
}

llvm::Expected<std::string> Parser::scalar(llvm::yaml::Node *node,
                                           llvm::StringRef what) {
  auto *value = llvm::dyn_cast_or_null<llvm::yaml::ScalarNode>(node);
  if (!value)
    return error(node, "{} is not a plain value, expected one", what.str());
  llvm::SmallString<32> storage;
  return value->getValue(storage).str();
}

llvm::Error Parser::parseBase(llvm::yaml::Node *key, llvm::yaml::Node *value) {
  llvm::Expected<std::string> found = scalar(value, "base");
  if (!found)
    return found.takeError();
  // The stream is read once, so a late base would undo what came before it.
  if (!given.empty())
    return error(key,
                 "base '{}' comes after parameters, expected it before "
                 "them",
                 *found);
  const Preset *preset = llvm::find_if(
      presets(), [&](const Preset &entry) { return entry.name == *found; });
  if (preset == presets().end())
    return error(value, "base is '{}', expected one of {}", *found,
                 llvm::join(builtinNames(), ", "));
  const std::string name = result.name;
  result = preset->make();
  result.name = name;
  return llvm::Error::success();
}

llvm::Error Parser::parseField(llvm::yaml::Node *key, llvm::yaml::Node *value,
                               llvm::StringRef section, llvm::StringRef field) {
  if (section.empty() && field == "base")
    return parseBase(key, value);
  const std::string path =
      section.empty() ? field.str() : (section + "." + field).str();
  const bool isName = section.empty() && field == "name";
  const Field *entry = find(section, field);
  if (!isName && !entry)
    return error(key, "unknown field '{}', expected one of {}", path,
                 known(section));
  llvm::Expected<std::string> found = scalar(value, path);
  if (!found)
    return found.takeError();
  lines[path] = sources.getLineAndColumn(key->getSourceRange().Start).first;
  if (isName) {
    result.name = *found;
    named = true;
    return llvm::Error::success();
  }
  given.insert(entry);
  if (!entry->names.empty()) {
    const auto *chosen = llvm::find(entry->names, *found);
    if (chosen == entry->names.end())
      return error(value, "{} is '{}', expected one of {}", path, *found,
                   llvm::join(entry->names, ", "));
    *entry->access(result) =
        entry->minimum + static_cast<uint64_t>(chosen - entry->names.begin());
    return llvm::Error::success();
  }
  uint64_t number = 0;
  if (llvm::StringRef(*found).getAsInteger(10, number))
    return error(value, "{} is '{}', expected a whole number {} to {} ({})",
                 path, *found, entry->minimum, entry->maximum, entry->unit);
  *entry->access(result) = number;
  return llvm::Error::success();
}

llvm::Error Parser::parseMap(llvm::yaml::MappingNode *map,
                             llvm::StringRef section) {
  llvm::StringSet<> seen;
  for (llvm::yaml::KeyValueNode &pair : *map) {
    llvm::yaml::Node *key = pair.getKey();
    llvm::Expected<std::string> field = scalar(key, "a field name");
    if (!field)
      return field.takeError();
    if (!seen.insert(*field).second)
      return error(key, "field '{}' appears twice", *field);
    llvm::yaml::Node *value = pair.getValue();
    if (section.empty() && isSection(*field)) {
      auto *child = llvm::dyn_cast_or_null<llvm::yaml::MappingNode>(value);
      if (!child)
        return error(value ? value : key,
                     "section '{}' is not a mapping, expected one", *field);
      if (llvm::Error failure = parseMap(child, *field))
        return failure;
      continue;
    }
    if (llvm::Error failure = parseField(key, value, section, *field))
      return failure;
  }
  return syntaxError.empty() ? llvm::Error::success()
                             : error(map, "{}", "invalid YAML");
}

llvm::Expected<Description> Parser::parse() {
  // A description is a page; the bound keeps nesting attacks small too.
  constexpr size_t maxBytes = 1 << 20;
  if (text.size() > maxBytes)
    return makeError(ErrorClass::Malformed,
                     "{}: {} bytes, expected a description of at most {}",
                     name.str(), text.size(), maxBytes);
  if (text.contains('\0'))
    return makeError(ErrorClass::Malformed,
                     "{}: contains a zero byte, expected YAML text",
                     name.str());
  // A deep flow sequence would recurse once per bracket when skipped.
  if (text.count('[') + text.count('{') > 64)
    return makeError(ErrorClass::Malformed,
                     "{}: more than 64 brackets, expected a plain mapping",
                     name.str());
  llvm::yaml::Stream stream(text, sources, /*ShowColors=*/false);
  llvm::yaml::document_iterator document = stream.begin();
  if (document == stream.end())
    return makeError(ErrorClass::Malformed, "{}: empty, expected a mapping",
                     name.str());
  llvm::yaml::Node *root = document->getRoot();
  auto *map = llvm::dyn_cast_or_null<llvm::yaml::MappingNode>(root);
  if (!map)
    return error(root, "{}", "not a mapping, expected one of fields");
  if (llvm::Error failure = parseMap(map, ""))
    return failure;
  if (stream.failed() || !syntaxError.empty())
    return error(root, "{}", "invalid YAML");
  if (++document != stream.end())
    return makeError(ErrorClass::Malformed,
                     "{}: several documents, expected one", name.str());
  if (!named)
    result.name = nameOfFile(name);
  // The user did not ask for more ports than a smaller memory has entries.
  if (!given.contains(find("psum", "write_ports")))
    result.psum.writePorts =
        std::min(result.psum.writePorts, result.psum.entries());
  auto lineOf = [&](llvm::StringRef field) -> std::optional<unsigned> {
    auto found = lines.find(field);
    return found == lines.end() ? std::nullopt : std::optional(found->second);
  };
  if (llvm::Error failure = validateWithLines(result, lineOf))
    return support::withContext(std::move(failure), name.str());
  return result;
}

llvm::Expected<Description> machine::parseYaml(llvm::StringRef text,
                                               llvm::StringRef name) {
  return Parser(text, name).parse();
}

/// YAML single-quoted form: safe for any text, and a number stays a name.
static std::string quote(llvm::StringRef text) {
  std::string quoted = "'";
  for (char c : text) {
    quoted += c;
    if (c == '\'')
      quoted += c;
  }
  return quoted + "'";
}

std::string machine::toYaml(const Description &description) {
  Description copy = description;
  std::string yaml = fmt::format("name: {}\n", quote(description.name));
  llvm::StringRef section;
  auto line = [&](const std::string &entry, const char *unit) {
    yaml += fmt::format("{}{:<32} # {}\n", section.empty() ? "" : "  ", entry,
                        unit);
  };
  for (const Field &field : fields()) {
    if (section != field.section) {
      section = field.section;
      yaml += section.str() + ":\n";
    }
    const uint64_t value = *field.access(copy);
    line(fmt::format("{}: {}", field.key,
                     value - field.minimum < field.names.size()
                         ? field.names[value - field.minimum].str()
                         : std::to_string(value)),
         field.unit);
  }
  return yaml;
}
