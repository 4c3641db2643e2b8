// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text to the token numbers of a language model and back.

#ifndef ASHLAR_LIB_REPORT_GENERATE_TOKENIZER_H
#define ASHLAR_LIB_REPORT_GENERATE_TOKENIZER_H

#include "BytePairs.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::report {

/// A vocabulary and how text is cut into its tokens. Two files are understood:
/// a JSON array of the tokens' texts in the order of their numbers, of which
/// the longest that fits is taken; and a `tokenizer.json` with byte-level byte
/// pair encoding.
class Tokenizer {
public:
  /// Malformed: no such file. Unsupported: another kind of tokenizer.
  static llvm::Expected<Tokenizer> read(llvm::StringRef path);

  /// Malformed, with the place, where no token fits.
  llvm::Expected<std::vector<int64_t>> encode(llvm::StringRef text) const;
  /// The bytes of a token; nothing for a number outside the vocabulary.
  std::optional<std::string> decode(int64_t token) const;
  size_t size() const { return texts.size(); }

private:
  llvm::Error readList(const llvm::json::Array &list);
  llvm::Error readFile(const llvm::json::Object &file);
  llvm::Error readAdded(const llvm::json::Object &file);
  llvm::Error addToken(llvm::StringRef text, int64_t number);
  llvm::Expected<std::vector<int64_t>>
  encodeLongest(llvm::StringRef text) const;
  llvm::Expected<std::vector<int64_t>> encodePairs(llvm::StringRef text) const;

  std::vector<std::optional<std::string>> texts; ///< By number, as bytes.
  llvm::StringMap<int64_t> numbers;              ///< By text.
  size_t longest = 0;                            ///< Bytes of a text.
  llvm::StringMap<int64_t> added; ///< Tokens that are looked for first.
  std::optional<BytePairs> pairs;
};

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_GENERATE_TOKENIZER_H
