// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <fmt/format.h>
#include <map>
#include <vector>

namespace ashlar::pipelines {
namespace {

using llvm::json::Object;
using llvm::json::Value;

constexpr size_t kLineWidth = 110;

/// Members by key: a JSON object has no order of its own.
std::map<std::string, const Value *> sorted(const Object &object) {
  std::map<std::string, const Value *> members;
  for (const auto &[key, value] : object)
    members[llvm::StringRef(key).str()] = &value;
  return members;
}

std::string textOf(const Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  return llvm::formatv("{0}", value).str();
}

/// The alternatives from the cheapest on; equal ones by name.
std::vector<std::pair<int64_t, std::string>> ranked(const Object &totals) {
  std::vector<std::pair<int64_t, std::string>> alternatives;
  for (const auto &[name, value] : totals)
    alternatives.push_back(
        {value.getAsInteger().value_or(0), llvm::StringRef(name).str()});
  llvm::sort(alternatives);
  return alternatives;
}

/// What the cycles of an alternative are made of, how much of the array is
/// useful by cause, and the bytes that it copies.
std::string termsText(const Object &terms) {
  auto count = [&](llvm::StringRef key) {
    return terms.getInteger(key).value_or(0);
  };
  auto share = [&](llvm::StringRef key) {
    return terms.getNumber(key).value_or(1.0);
  };
  return fmt::format(
      "array {}, drain {}, read {}, copy {}, encode {}; {} lanes; useful: tap "
      "{:.2f}, lane {:.2f}, width {:.2f}, channel {:.2f}; copies {} bytes",
      count("array_cycles"), count("drain_cycles"), count("read_cycles"),
      count("copy_cycles"), count("encode_cycles"), count("lanes"),
      share("useful_taps"), share("useful_rows"), share("useful_width"),
      share("useful_columns"), count("copied_bytes"));
}

/// A line per alternative if the pass recorded their terms, else one for all.
std::string alternativesText(const Object &totals, const Object *details) {
  std::string text, all;
  for (const auto &[cycles, name] : ranked(totals)) {
    const Object *terms = details ? details->getObject(name) : nullptr;
    if (terms)
      text += fmt::format("  {:<22} {:>9} cycles: {}\n", name, cycles,
                          termsText(*terms));
    else
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", name, cycles);
  }
  return all.empty() ? text : text + "  cycles: " + all + "\n";
}

/// `key: member value, member value` of an object of numbers or texts.
std::string objectText(const std::string &key, const Object &object) {
  std::string members;
  for (const auto &[name, value] : sorted(object))
    members += fmt::format("{}{} {}", members.empty() ? "" : ", ", name,
                           textOf(*value));
  return fmt::format("  {}: {}\n", key, members);
}

/// Words in lines of at most kLineWidth characters.
std::string wrapped(const std::vector<std::string> &words) {
  std::string text, line;
  for (const std::string &word : words) {
    if (!line.empty() && line.size() + 2 + word.size() > kLineWidth) {
      text += line + "\n";
      line.clear();
    }
    line += "  " + word;
  }
  return line.empty() ? text : text + line + "\n";
}

std::string entryText(const Object &entry) {
  auto text = [&](llvm::StringRef key) {
    return entry.getString(key).value_or("").str();
  };
  std::string below;
  if (const Object *totals = entry.getObject("alternatives"))
    below += alternativesText(*totals, entry.getObject("details"));
  std::vector<std::string> plain;
  for (const auto &[key, value] : sorted(entry)) {
    if (llvm::is_contained(
            {"node", "choice", "reason", "alternatives", "details"}, key))
      continue;
    if (const Object *object = value->getAsObject())
      below += objectText(key, *object);
    else
      plain.push_back(fmt::format("{}={}", key, textOf(*value)));
  }
  std::string head = fmt::format("{:<32} {:<16} {}", text("node"),
                                 text("choice"), text("reason"));
  if (below.empty() && plain.size() == 1)
    return head + "; " + plain.front() + "\n";
  return head + "\n" + below + wrapped(plain);
}

} // namespace

std::string explain(const llvm::json::Array &decisions) {
  std::string text;
  for (const Value &value : decisions)
    if (const Object *entry = value.getAsObject())
      text += entryText(*entry);
  return text;
}

} // namespace ashlar::pipelines
