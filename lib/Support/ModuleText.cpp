// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan of words outside strings and comments.

#include "ashlar/Support/ModuleText.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Json.h"
#include "llvm/ADT/StringExtras.h"

namespace ashlar::support {

/// Drops a string literal or a comment that `text` begins with; false if it
/// begins with neither.
static bool skipQuoted(llvm::StringRef &text) {
  if (text.starts_with("//")) {
    text = text.drop_until([](char c) { return c == '\n'; });
    return true;
  }
  if (!text.consume_front("\""))
    return false;
  // No string goes beyond its line.
  while (!text.empty() && text.front() != '\n') {
    char c = text.front();
    text = text.drop_front(c == '\\' && text.size() > 1 && text[1] != '\n' ? 2
                                                                           : 1);
    if (c == '"')
      break;
  }
  return true;
}

/// The first element type of an `array<` that is not an integer or float.
static llvm::StringRef findForeignArray(llvm::StringRef text) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  while (!text.empty()) {
    if (skipQuoted(text))
      continue;
    if (!isWord(text.front())) {
      text = text.drop_front();
      continue;
    }
    llvm::StringRef word = text.take_while(isWord);
    text = text.drop_front(word.size());
    llvm::StringRef rest = text.ltrim();
    if (word != "array" || !rest.consume_front("<"))
      continue;
    rest = rest.ltrim();
    llvm::StringRef type =
        rest.take_while([&](char c) { return isWord(c) || c == '!'; });
    if (type == "index" || type.starts_with("!"))
      return type;
  }
  return {};
}

llvm::Error checkModuleText(llvm::StringRef text) {
  if (nestsDeeper(text))
    return makeError(ErrorClass::Malformed,
                     "brackets nest deeper than {} levels", deepestNesting);
  if (llvm::StringRef type = findForeignArray(text); !type.empty())
    return makeError(ErrorClass::Malformed,
                     "an array has elements of '{}', expected integers or "
                     "floats",
                     type.str());
  return llvm::Error::success();
}

} // namespace ashlar::support
