// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// YAML in and out, walking the parameter table.

#include "Fields.h"
#include "Presets.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/YamlText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <string>

using namespace ashlar;
using namespace ashlar::machine;

namespace {

using support::YamlText;
using Node = YamlText::Node;

/// A deep flow sequence would recurse once per bracket when skipped.
constexpr size_t mostBrackets = 64;

class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef name)
      : name(name), yaml(text, name, "a description", mostBrackets) {}

  llvm::Expected<Description> parse();

private:
  llvm::Error parseEntry(llvm::StringRef section, llvm::StringRef key, Node *at,
                         Node *value);
  llvm::Error parseField(Node *key, Node *value, llvm::StringRef section,
                         llvm::StringRef field);
  llvm::Error parseBase(Node *key, Node *value);
  static const Field *find(llvm::StringRef section, llvm::StringRef key);
  static std::string known(llvm::StringRef section);

  llvm::StringRef name;
  YamlText yaml;
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

llvm::Error Parser::parseBase(Node *key, Node *value) {
  llvm::Expected<std::string> found = yaml.scalar(value, "base");
  if (!found)
    return found.takeError();
  // The stream is read once, so a late base would undo what came before it.
  if (!given.empty())
    return yaml.error(key,
                      "base '{}' comes after parameters, expected it before "
                      "them",
                      *found);
  const Preset *preset = llvm::find_if(
      presets(), [&](const Preset &entry) { return entry.name == *found; });
  if (preset == presets().end())
    return yaml.error(value, "base is '{}', expected one of {}", *found,
                      llvm::join(builtinNames(), ", "));
  const std::string name = result.name;
  result = preset->make();
  result.name = name;
  return llvm::Error::success();
}

llvm::Error Parser::parseField(Node *key, Node *value, llvm::StringRef section,
                               llvm::StringRef field) {
  if (section.empty() && field == "base")
    return parseBase(key, value);
  const std::string path =
      section.empty() ? field.str() : (section + "." + field).str();
  const bool isName = section.empty() && field == "name";
  const Field *entry = find(section, field);
  if (!isName && !entry)
    return yaml.error(key, "unknown field '{}', expected one of {}", path,
                      known(section));
  llvm::Expected<std::string> found = yaml.scalar(value, path);
  if (!found)
    return found.takeError();
  lines[path] = yaml.lineOf(key);
  if (isName) {
    result.name = *found;
    named = true;
    return llvm::Error::success();
  }
  given.insert(entry);
  if (!entry->names.empty()) {
    const auto *chosen = llvm::find(entry->names, *found);
    if (chosen == entry->names.end())
      return yaml.error(value, "{} is '{}', expected one of {}", path, *found,
                        llvm::join(entry->names, ", "));
    *entry->access(result) =
        entry->minimum + static_cast<uint64_t>(chosen - entry->names.begin());
    return llvm::Error::success();
  }
  uint64_t number = 0;
  if (llvm::StringRef(*found).getAsInteger(10, number))
    return yaml.error(value,
                      "{} is '{}', expected a whole number {} to {} ({})", path,
                      *found, entry->minimum, entry->maximum, entry->unit);
  *entry->access(result) = number;
  return llvm::Error::success();
}

llvm::Error Parser::parseEntry(llvm::StringRef section, llvm::StringRef key,
                               Node *at, Node *value) {
  if (!section.empty() || !isSection(key))
    return parseField(at, value, section, key);
  return yaml.mapping(
      value, "section '" + key.str() + "'",
      [&](llvm::StringRef field, Node *place, Node *found) {
        return parseEntry(key, field, place, found);
      },
      at);
}

llvm::Expected<Description> Parser::parse() {
  auto read = [&](Node *root) {
    return yaml.mapping(root, "the description",
                        [&](llvm::StringRef key, Node *at, Node *value) {
                          return parseEntry("", key, at, value);
                        });
  };
  if (llvm::Error failure = yaml.document(read))
    return failure;
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
