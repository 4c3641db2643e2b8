// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables from YAML, line by line.

#include "ParseLines.h"
#include "ashlar/Energy/Table.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/YamlText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace ashlar;
using namespace ashlar::energy;

namespace {

using support::YamlText;
using Node = YamlText::Node;

/// Lines are short and few; the bound keeps hostile nesting small.
constexpr size_t mostBrackets = 512;

class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef name)
      : name(name), yaml(text, name, "a table", mostBrackets) {}

  llvm::Expected<Table> parse();

private:
  /// A line whose source is looked up when all of them are known.
  struct Citation {
    std::string key, path;
    unsigned line;
  };
  llvm::Expected<double> number(Node *node, const std::string &path, double low,
                                double high);
  llvm::Expected<uint64_t> nanometres(Node *node, const std::string &path);
  llvm::Error top(llvm::StringRef key, Node *at, Node *value);
  llvm::Error section(const std::string &component, Node *node);
  llvm::Error curve(const LineKind &kind, Node *node);
  llvm::Expected<Entry> entry(const LineKind &kind, const std::string &path,
                              Node *node);
  llvm::Error field(const LineKind &kind, const std::string &path,
                    llvm::StringRef key, Node *at, Node *value, RawEntry &raw);
  llvm::Error checkSizes(const LineKind &kind, unsigned line);
  llvm::Error resolve();

  llvm::StringRef name;
  YamlText yaml;
  Table result;
  std::vector<std::pair<std::string, std::string>> known; ///< key, citation
  /// Of every entry of every curve: path, key of the source, line.
  std::vector<Citation> citations;
};

} // namespace

llvm::Expected<double> Parser::number(Node *node, const std::string &path,
                                      double low, double high) {
  llvm::Expected<std::string> found = yaml.scalar(node, path);
  if (!found)
    return found.takeError();
  double value = 0;
  if (llvm::StringRef(*found).getAsDouble(value) || !std::isfinite(value) ||
      value < low || value > high)
    return yaml.error(yaml.lineOf(node),
                      "{} is '{}', expected a number {:g} to {:g}", path,
                      *found, low, high);
  return value;
}

llvm::Expected<uint64_t> Parser::nanometres(Node *node,
                                            const std::string &path) {
  llvm::Expected<double> value = number(node, path, 1, 1000);
  if (!value)
    return value.takeError();
  if (*value != std::floor(*value))
    return yaml.error(yaml.lineOf(node),
                      "{} is {}, expected a whole number of nm", path, *value);
  return static_cast<uint64_t>(*value);
}

//===- One line -----------------------------------------------------------===//

llvm::Error Parser::field(const LineKind &kind, const std::string &path,
                          llvm::StringRef key, Node *at, Node *value,
                          RawEntry &raw) {
  const std::string where = path + "." + key.str();
  auto text = [&](std::string &target) -> llvm::Error {
    llvm::Expected<std::string> found = yaml.scalar(value, where);
    if (!found)
      return found.takeError();
    target = *found;
    return llvm::Error::success();
  };
  auto real = [&](std::optional<double> &target, double low,
                  double high) -> llvm::Error {
    llvm::Expected<double> found = number(value, where, low, high);
    if (!found)
      return found.takeError();
    target = *found;
    return llvm::Error::success();
  };
  if (key == "value")
    return real(raw.value, 0, 1e9);
  if (key == "uncertainty")
    return real(raw.uncertainty, 1, 1000);
  if (!kind.size().empty() && key == kind.size())
    return real(raw.size, 1, 1e12);
  if (key == "unit") {
    raw.unitLine = yaml.lineOf(value ? value : at);
    raw.unit.emplace();
    return text(*raw.unit);
  }
  if (key == "source")
    return text(raw.source);
  if (key == "note")
    return text(raw.note);
  if (key == "node_nm") {
    llvm::Expected<uint64_t> node = nanometres(value, where);
    if (!node)
      return node.takeError();
    raw.nodeNm = *node;
    return llvm::Error::success();
  }
  return yaml.error(
      yaml.lineOf(at),
      "unknown field '{}', expected one of value, unit, {}source, "
      "uncertainty, node_nm, note",
      where, kind.size().empty() ? "" : kind.size().str() + ", ");
}

llvm::Expected<Entry> Parser::entry(const LineKind &kind,
                                    const std::string &path, Node *node) {
  const unsigned line = yaml.lineOf(node);
  RawEntry raw;
  if (llvm::Error failure = yaml.mapping(
          node, path, [&](llvm::StringRef key, Node *at, Node *value) {
            return field(kind, path, key, at, value, raw);
          }))
    return failure;
  if (!raw.value)
    return yaml.error(line, "{} has no value", path);
  if (!raw.unit)
    return yaml.error(line, "{} has no unit, expected one of {}", path,
                      kind.units());
  const std::optional<double> factor = kind.factor(*raw.unit);
  if (!factor)
    return yaml.error(raw.unitLine, "{}.unit is '{}', expected one of {}", path,
                      *raw.unit, kind.units());
  if (raw.source.empty())
    return yaml.error(line, "{} has no source, expected a key of 'sources'",
                      path);
  Entry entry;
  entry.size = raw.size.value_or(0);
  entry.value = *raw.value * *factor;
  if (entry.value > maxValue)
    return yaml.error(line, "{} is {} {}, expected at most 1e9 pJ, um2 or mW",
                      path, *raw.value, *raw.unit);
  entry.uncertainty = raw.uncertainty.value_or(1);
  entry.nodeNm = raw.nodeNm.value_or(0);
  entry.note = raw.note;
  entry.source = raw.source;
  return entry;
}

//===- Lines --------------------------------------------------------------===//

llvm::Error Parser::checkSizes(const LineKind &kind, unsigned line) {
  const std::vector<Entry> &entries = kind.target(result).entries;
  for (size_t i = 0; entries.size() > 1 && i < entries.size(); ++i) {
    if (entries[i].size == 0)
      return yaml.error(line, "{} has several entries, expected {} in each",
                        kind.path(), kind.size().str());
    if (i > 0 && entries[i].size <= entries[i - 1].size)
      return yaml.error(line, "{} has {} {} after {}, expected ascending ones",
                        kind.path(), kind.size().str(), entries[i].size,
                        entries[i - 1].size);
  }
  return llvm::Error::success();
}

llvm::Error Parser::curve(const LineKind &kind, Node *node) {
  const unsigned line = yaml.lineOf(node);
  Curve &target = kind.target(result);
  target.scaling = kind.scaling;
  auto add = [&](Node *item, const std::string &path) -> llvm::Error {
    const unsigned at = yaml.lineOf(item);
    llvm::Expected<Entry> parsed = entry(kind, path, item);
    if (!parsed)
      return parsed.takeError();
    citations.push_back({parsed->source, path, at});
    target.entries.push_back(std::move(*parsed));
    return llvm::Error::success();
  };
  auto *list = llvm::dyn_cast_or_null<llvm::yaml::SequenceNode>(node);
  if (!list)
    return add(node, kind.path());
  if (kind.size().empty())
    return yaml.error(line, "{} is a list, expected one entry: it has no sizes",
                      kind.path());
  size_t index = 0;
  for (Node &item : *list)
    if (llvm::Error failure =
            add(&item, fmt::format("{}[{}]", kind.path(), index++)))
      return failure;
  if (index == 0)
    return yaml.error(line, "{} is empty, expected an entry", kind.path());
  return checkSizes(kind, line);
}

llvm::Error Parser::section(const std::string &component, Node *node) {
  return yaml.mapping(
      node, component, [&](llvm::StringRef key, Node *at, Node *value) {
        if (std::optional<LineKind> kind = findLine(component, key))
          return curve(*kind, value);
        return yaml.error(yaml.lineOf(at),
                          "unknown field '{}.{}', expected one of {}",
                          component, key.str(), linesOf(component));
      });
}

//===- The whole ----------------------------------------------------------===//

llvm::Error Parser::top(llvm::StringRef key, Node *at, Node *value) {
  if (key == "name" || key == "description") {
    llvm::Expected<std::string> found = yaml.scalar(value, key);
    if (!found)
      return found.takeError();
    (key == "name" ? result.name : result.description) = *found;
    return llvm::Error::success();
  }
  if (key == "node_nm") {
    llvm::Expected<uint64_t> node = nanometres(value, key.str());
    if (!node)
      return node.takeError();
    result.nodeNm = *node;
    return llvm::Error::success();
  }
  if (key == "sources")
    return yaml.mapping(
        value, "sources",
        [&](llvm::StringRef id, Node *, Node *citation) -> llvm::Error {
          llvm::Expected<std::string> found =
              yaml.scalar(citation, "sources." + id.str());
          if (!found)
            return found.takeError();
          known.push_back({id.str(), *found});
          return llvm::Error::success();
        });
  if (key == "leakage") {
    llvm::Expected<Entry> parsed = entry(LineKind::leakage(), "leakage", value);
    if (!parsed)
      return parsed.takeError();
    citations.push_back({parsed->source, "leakage", yaml.lineOf(value)});
    result.leakage = std::move(*parsed);
    return llvm::Error::success();
  }
  if (isSection(key))
    return section(key.str(), value);
  return yaml.error(
      yaml.lineOf(at),
      "unknown component '{}', expected one of name, description, "
      "node_nm, sources, leakage, {}",
      key.str(), sectionNames());
}

/// Sources by their keys; technology nodes of lines that do not name one.
llvm::Error Parser::resolve() {
  for (const Citation &citation : citations) {
    auto found = llvm::find_if(
        known, [&](const auto &entry) { return entry.first == citation.key; });
    if (found == known.end())
      return yaml.error(citation.line,
                        "{}.source is '{}', expected a key of 'sources'",
                        citation.path, citation.key);
  }
  auto finish = [&](Entry &entry) {
    for (const auto &[key, citation] : known)
      if (key == entry.source) {
        entry.source = citation;
        break;
      }
    if (entry.nodeNm == 0)
      entry.nodeNm = result.nodeNm;
  };
  forEachCurve(result, [&](Curve &curve) {
    for (Entry &entry : curve.entries)
      finish(entry);
  });
  if (result.leakage)
    finish(*result.leakage);
  return llvm::Error::success();
}

llvm::Expected<Table> Parser::parse() {
  auto read = [&](Node *root) {
    return yaml.mapping(root, "the table",
                        [&](llvm::StringRef key, Node *at, Node *value) {
                          return top(key, at, value);
                        });
  };
  if (llvm::Error failure = yaml.document(read))
    return failure;
  if (result.nodeNm == 0)
    return yaml.error(
        1, "{}", "no node_nm, expected the technology node of the table in nm");
  if (result.name.empty())
    result.name = llvm::sys::path::stem(name).str();
  if (!llvm::json::isUTF8(result.name))
    result.name = llvm::json::fixUTF8(result.name);
  if (llvm::Error failure = resolve())
    return failure;
  return std::move(result);
}

llvm::Expected<Table> energy::parseTable(llvm::StringRef text,
                                         llvm::StringRef name) {
  return Parser(text, name).parse();
}
