// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Suggestions for misspelt names.

#ifndef ASHLAR_SUPPORT_NEAREST_H
#define ASHLAR_SUPPORT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace ashlar::support {

/// How many edits make a misspelling of a name of \p length characters.
inline unsigned misspelling(size_t length) {
  return unsigned(length < 3 ? 0 : length < 6 ? 1 : length / 3);
}

/// ", did you mean 'NAME'" for the closest of \p names, the first among equals;
/// empty if none is close.
std::string didYouMean(llvm::StringRef text,
                       llvm::ArrayRef<llvm::StringRef> names);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_NEAREST_H
