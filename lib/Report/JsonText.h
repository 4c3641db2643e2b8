// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names come from files and may hold any bytes; JSON strings may not.

#ifndef ASHLAR_LIB_REPORT_JSONTEXT_H
#define ASHLAR_LIB_REPORT_JSONTEXT_H

#include "llvm/Support/JSON.h"
#include <string>

namespace ashlar::report {

/// \p text with invalid UTF-8 replaced, as llvm::json asserts otherwise.
inline std::string jsonText(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_JSONTEXT_H
