// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks for text on which MLIR's own parser crashes.

#ifndef ASHLAR_SUPPORT_MODULETEXT_H
#define ASHLAR_SUPPORT_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ashlar::support {

/// An error of class Malformed if the text of a module nests deeper than
/// deepestNesting levels, or has a dense array of `index` or of a type alias:
/// the parser asks these elements for their width (LLVM 22).
llvm::Error checkModuleText(llvm::StringRef text);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_MODULETEXT_H
