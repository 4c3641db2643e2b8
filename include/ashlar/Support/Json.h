// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nested text from untrusted files. Parsers recurse on brackets, so text that
// nests too deeply for the stack must not reach them.

#ifndef ASHLAR_SUPPORT_JSON_H
#define ASHLAR_SUPPORT_JSON_H

#include "ashlar/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace ashlar::support {

/// Levels of nesting that every parser of the project can handle.
inline constexpr unsigned deepestNesting = 256;

/// Whether the brackets ([{< outside of strings nest deeper than \p limit. A
/// string ends with its line at the latest; "->" is not a bracket.
bool nestsDeeper(llvm::StringRef text, unsigned limit = deepestNesting);

/// The value that \p text holds; Malformed, with the place, if it is not JSON
/// or nests too deeply.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_JSON_H
