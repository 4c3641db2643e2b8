// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the readers of arrays.

#ifndef ASHLAR_LIB_SUPPORT_MALFORMED_H
#define ASHLAR_LIB_SUPPORT_MALFORMED_H

#include "ashlar/Support/Error.h"
#include <fmt/format.h>

namespace ashlar::support {

/// "WHAT: text" as an error of class Malformed.
template <typename... Args>
llvm::Error malformed(llvm::StringRef what, fmt::format_string<Args...> format,
                      Args &&...args) {
  return makeError(ErrorClass::Malformed, "{}: {}", what.str(),
                   fmt::vformat(format, fmt::make_format_args(args...)));
}

} // namespace ashlar::support

#endif // ASHLAR_LIB_SUPPORT_MALFORMED_H
