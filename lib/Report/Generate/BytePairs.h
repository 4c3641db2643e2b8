// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-level byte pair encoding: words are cut out of a text, and pairs of
// neighbours joined in the order of their ranks.

#ifndef ASHLAR_LIB_REPORT_GENERATE_BYTEPAIRS_H
#define ASHLAR_LIB_REPORT_GENERATE_BYTEPAIRS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace ashlar::report {

/// The bytes that the letters of a byte-level token stand for; nothing if a
/// letter stands for none.
std::optional<std::string> bytesOfLetters(llvm::StringRef text);

class BytePairs {
public:
  /// Reads the merges and the options of a `tokenizer.json`. Unsupported: steps
  /// that are not those of byte-level encoding.
  static llvm::Expected<BytePairs> read(const llvm::json::Object &file);

  /// The parts, as bytes, that the words of \p text end up as. Unsupported:
  /// words of text outside ASCII, whose classes of characters are not known
  /// here.
  llvm::Expected<std::vector<std::string>> split(llvm::StringRef text) const;

private:
  llvm::Error readMerges(const llvm::json::Array &list);
  void join(std::vector<std::string> &parts) const;

  llvm::StringMap<uint32_t> ranks; ///< By both parts as bytes, 0xff between.
  bool words = true;               ///< Words first, by the usual pattern.
  bool leadingSpace = false;       ///< A text begins with a space.
};

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_GENERATE_BYTEPAIRS_H
