// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words, bytes and merges.

#include "BytePairs.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <fmt/format.h>
#include <map>

using namespace ashlar;
using namespace ashlar::report;

/// Byte-level files write a byte as one letter: itself if it is printable in
/// Latin-1, else the next free one from 256 on.
static const std::map<uint32_t, uint8_t> &byteOfLetter() {
  static const std::map<uint32_t, uint8_t> table = [] {
    std::map<uint32_t, uint8_t> found;
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 33 && byte <= 126) ||
                             (byte >= 161 && byte <= 172) || byte >= 174;
      found[printable ? byte : next++] = static_cast<uint8_t>(byte);
    }
    return found;
  }();
  return table;
}

std::optional<std::string> report::bytesOfLetters(llvm::StringRef text) {
  std::string bytes;
  // All letters have one or two bytes in UTF-8.
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    uint32_t letter = first;
    if (first >= 0xc0 && first < 0xe0 && i + 1 < text.size()) {
      letter =
          (first & 0x1fu) << 6 | (static_cast<uint8_t>(text[i + 1]) & 0x3f);
      ++i;
    }
    ++i;
    auto byte = byteOfLetter().find(letter);
    if (byte == byteOfLetter().end())
      return std::nullopt;
    bytes += static_cast<char>(byte->second);
  }
  return bytes;
}

static std::string keyOf(llvm::StringRef a, llvm::StringRef b) {
  return (a + "\xff" + b).str();
}

llvm::Error BytePairs::readMerges(const llvm::json::Array &list) {
  for (const llvm::json::Value &entry : list) {
    std::string a, b;
    // Older files have "a b", newer ones ["a", "b"].
    if (auto text = entry.getAsString()) {
      auto [left, right] = text->split(' ');
      a = left.str(), b = right.str();
    } else if (const llvm::json::Array *both = entry.getAsArray();
               both && both->size() == 2 && (*both)[0].getAsString() &&
               (*both)[1].getAsString()) {
      a = both->front().getAsString()->str();
      b = both->back().getAsString()->str();
    }
    auto left = bytesOfLetters(a), right = bytesOfLetters(b);
    if (a.empty() || b.empty() || !left || !right)
      return makeError(ErrorClass::Malformed,
                       "merge {} is not a pair of byte-level tokens",
                       ranks.size());
    ranks.try_emplace(keyOf(*left, *right),
                      static_cast<uint32_t>(ranks.size()));
  }
  return llvm::Error::success();
}

llvm::Expected<BytePairs> BytePairs::read(const llvm::json::Object &file) {
  auto unsupported = [](llvm::StringRef part, llvm::StringRef found) {
    return makeError(ErrorClass::Unsupported,
                     "{} '{}' is not understood, expected byte-level byte pair "
                     "encoding; give token numbers with --tokens",
                     part.str(), found.str());
  };
  const llvm::json::Object *model = file.getObject("model");
  const llvm::json::Array *merges = model ? model->getArray("merges") : nullptr;
  if (!merges)
    return unsupported("model", "");
  BytePairs pairs;
  if (llvm::Error error = pairs.readMerges(*merges))
    return error;
  if (const llvm::json::Object *normalizer = file.getObject("normalizer"))
    return unsupported("normalizer",
                       normalizer->getString("type").value_or(""));
  const llvm::json::Object *before = file.getObject("pre_tokenizer");
  const llvm::StringRef type =
      before ? before->getString("type").value_or("") : "none";
  if (type != "ByteLevel")
    return unsupported("pre_tokenizer", type);
  pairs.words = before->getBoolean("use_regex").value_or(true);
  pairs.leadingSpace = before->getBoolean("add_prefix_space").value_or(true);
  return pairs;
}

/// Letters, digits, white space, everything else.
static int classOf(char c) {
  return llvm::isAlpha(c) ? 0 : llvm::isDigit(c) ? 1 : llvm::isSpace(c) ? 2 : 3;
}

/// Bytes of the word that begins at \p at: a contraction, a run of one class
/// with the space before it, or white space but for the last of it.
static size_t wordLength(llvm::StringRef text, size_t at) {
  for (llvm::StringRef end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(at).starts_with(end))
      return end.size();
  auto runEnd = [&](size_t from) {
    size_t end = from;
    while (end < text.size() && classOf(text[end]) == classOf(text[from]))
      ++end;
    return end;
  };
  const bool space =
      text[at] == ' ' && at + 1 < text.size() && classOf(text[at + 1]) != 2;
  if (space || classOf(text[at]) != 2)
    return runEnd(at + space) - at;
  const size_t end = runEnd(at);
  return end == text.size() || end - at == 1 ? end - at : end - at - 1;
}

void BytePairs::join(std::vector<std::string> &parts) const {
  while (parts.size() > 1) {
    size_t best = parts.size();
    uint32_t rank = ~uint32_t(0);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      auto found = ranks.find(keyOf(parts[i], parts[i + 1]));
      if (found != ranks.end() && found->second < rank) {
        rank = found->second;
        best = i;
      }
    }
    if (best == parts.size())
      return;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

llvm::Expected<std::vector<std::string>>
BytePairs::split(llvm::StringRef given) const {
  std::string text = given.str();
  if (leadingSpace && !text.empty() && text[0] != ' ')
    text = " " + text;
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    size_t length = text.size() - at;
    if (words) {
      if (llvm::any_of(text, [](char c) { return (c & 0x80) != 0; }))
        return makeError(ErrorClass::Unsupported,
                         "the words of text outside ASCII are not found here; "
                         "give token numbers with --tokens");
      length = wordLength(text, at);
    }
    std::vector<std::string> parts;
    for (size_t i = 0; i < length; ++i)
      parts.emplace_back(1, text[at + i]);
    join(parts);
    result.insert(result.end(), parts.begin(), parts.end());
    at += length;
  }
  return result;
}
