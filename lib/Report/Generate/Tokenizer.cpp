// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vocabulary files.

#include "Tokenizer.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Json.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;

/// More tokens than any vocabulary has.
static constexpr int64_t mostTokens = int64_t(1) << 24;

llvm::Error Tokenizer::addToken(llvm::StringRef text, int64_t number) {
  if (number < 0 || number >= mostTokens)
    return makeError(ErrorClass::Malformed,
                     "token number {} is outside 0 to {}", number,
                     mostTokens - 1);
  if (texts.size() <= static_cast<size_t>(number))
    texts.resize(static_cast<size_t>(number) + 1);
  std::optional<std::string> &slot = texts[static_cast<size_t>(number)];
  if (slot && *slot != text)
    return makeError(ErrorClass::Malformed, "token number {} is given twice",
                     number);
  slot = text.str();
  numbers.try_emplace(text, number);
  longest = std::max(longest, text.size());
  return llvm::Error::success();
}

llvm::Error Tokenizer::readList(const llvm::json::Array &list) {
  for (auto [number, entry] : llvm::enumerate(list)) {
    auto text = entry.getAsString();
    if (!text || text->empty())
      return makeError(ErrorClass::Malformed,
                       "token {} of the vocabulary is not a string", number);
    if (llvm::Error error = addToken(*text, static_cast<int64_t>(number)))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Tokenizer::readAdded(const llvm::json::Object &file) {
  const llvm::json::Array *list = file.getArray("added_tokens");
  if (!list)
    return llvm::Error::success();
  for (const llvm::json::Value &entry : *list) {
    const llvm::json::Object *token = entry.getAsObject();
    auto number = token ? token->getInteger("id") : std::nullopt;
    auto text = token ? token->getString("content") : std::nullopt;
    if (!number || !text || text->empty())
      return makeError(ErrorClass::Malformed,
                       "an added token has no id or content");
    if (llvm::Error error = addToken(*text, *number))
      return error;
    added[*text] = *number;
  }
  return llvm::Error::success();
}

llvm::Error Tokenizer::readFile(const llvm::json::Object &file) {
  const llvm::json::Object *model = file.getObject("model");
  const llvm::json::Object *vocabulary =
      model ? model->getObject("vocab") : nullptr;
  if (!vocabulary)
    return makeError(ErrorClass::Unsupported,
                     "no model with a vocabulary of byte pairs");
  auto read = BytePairs::read(file);
  if (!read)
    return read.takeError();
  pairs = std::move(*read);
  // Added tokens are not written byte by byte.
  if (llvm::Error error = readAdded(file))
    return error;
  for (const auto &[text, value] : *vocabulary) {
    auto number = value.getAsInteger();
    if (number && added.contains(llvm::StringRef(text)))
      continue;
    auto bytes = bytesOfLetters(llvm::StringRef(text));
    if (!number || !bytes)
      return makeError(ErrorClass::Malformed,
                       "token '{}' of the vocabulary has no number, or is not "
                       "written byte by byte",
                       llvm::StringRef(text).str());
    if (llvm::Error error = addToken(*bytes, *number))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Tokenizer> Tokenizer::read(llvm::StringRef path) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::Expected<llvm::json::Value> json =
      support::parseJson((*buffer)->getBuffer());
  if (!json)
    return withContext(json.takeError(), path.str());
  Tokenizer tokenizer;
  llvm::Error error = llvm::Error::success();
  if (const llvm::json::Array *list = json->getAsArray())
    error = tokenizer.readList(*list);
  else if (const llvm::json::Object *file = json->getAsObject())
    error = tokenizer.readFile(*file);
  if (!error && tokenizer.texts.empty())
    error = makeError(ErrorClass::Malformed, "no vocabulary: {}",
                      "expected an array of texts or a tokenizer.json");
  if (error)
    return withContext(std::move(error), path.str());
  return tokenizer;
}

llvm::Expected<std::vector<int64_t>>
Tokenizer::encodeLongest(llvm::StringRef text) const {
  std::vector<int64_t> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min(longest, text.size() - at);
    while (length > 0 && !numbers.contains(text.substr(at, length)))
      --length;
    if (length == 0)
      return makeError(ErrorClass::Malformed,
                       "no token of the vocabulary fits the text at byte {}",
                       at);
    tokens.push_back(numbers.lookup(text.substr(at, length)));
    at += length;
  }
  return tokens;
}

llvm::Expected<std::vector<int64_t>>
Tokenizer::encodePairs(llvm::StringRef text) const {
  std::vector<int64_t> tokens;
  auto parts = pairs->split(text);
  if (!parts)
    return parts.takeError();
  for (const std::string &part : *parts) {
    auto found = numbers.find(part);
    if (found == numbers.end())
      return makeError(ErrorClass::Malformed,
                       "the vocabulary has no token for a part of {} bytes",
                       part.size());
    tokens.push_back(found->second);
  }
  return tokens;
}

llvm::Expected<std::vector<int64_t>>
Tokenizer::encode(llvm::StringRef text) const {
  if (!pairs)
    return encodeLongest(text);
  std::vector<int64_t> tokens;
  while (!text.empty()) {
    // The first added token, the longest of those at the same place.
    size_t place = text.size(), length = 0;
    int64_t number = 0;
    for (const auto &entry : added) {
      const size_t at = text.find(entry.first());
      if (at < place || (at == place && length < entry.first().size())) {
        place = at, length = entry.first().size();
        number = entry.second;
      }
    }
    auto part = encodePairs(text.take_front(place));
    if (!part)
      return part.takeError();
    tokens.insert(tokens.end(), part->begin(), part->end());
    if (length > 0)
      tokens.push_back(number);
    text = text.drop_front(std::min(text.size(), place + length));
  }
  return tokens;
}

std::optional<std::string> Tokenizer::decode(int64_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= texts.size())
    return std::nullopt;
  return texts[static_cast<size_t>(token)];
}
