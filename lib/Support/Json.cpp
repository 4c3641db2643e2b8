// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON, parsed after a check of its nesting.

#include "ashlar/Support/Json.h"

using namespace ashlar;
using namespace ashlar::support;

bool support::nestsDeeper(llvm::StringRef text, unsigned limit) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      // No string goes beyond its line, not even after a backslash.
      if (c == '\\' && i + 1 < text.size() && text[i + 1] != '\n')
        ++i;
      else if (c == '"' || c == '\n')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (llvm::StringRef("([{<").contains(c)) {
      if (++depth > limit)
        return true;
    } else if (llvm::StringRef(")]}>").contains(c) && depth > 0 &&
               !(c == '>' && text[i - 1] == '-')) {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> support::parseJson(llvm::StringRef text) {
  if (nestsDeeper(text))
    return makeError(ErrorClass::Malformed,
                     "brackets nest deeper than {} levels", deepestNesting);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return makeError(ErrorClass::Malformed, "{}",
                     llvm::toString(value.takeError()));
  return value;
}
