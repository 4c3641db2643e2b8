// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text for the terminal. Writing never throws and never kills the tool: a full
// disk or a reader that left is an error at the end (fmt::print would throw).

#ifndef ASHLAR_SUPPORT_CONSOLE_H
#define ASHLAR_SUPPORT_CONSOLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace ashlar::support {

/// Appends \p text to standard output, or to standard error after takeOut().
/// Does nothing after a failure.
void printOut(llvm::StringRef text);

/// Reserves standard output for a file ("-"): messages go to standard error
/// from this call on.
void takeOut();

/// Writes the bytes of a file to standard output, even if it was redirected
/// inside the process.
llvm::Error writeOut(llvm::ArrayRef<uint8_t> bytes);

/// Appends \p text to standard error. Failures are ignored, because there is no
/// other place to report them.
void printErr(llvm::StringRef text);

/// Flushes standard output. Capacity if the disk is full; a reader that closed
/// its end of a pipe (`| head`) is no error.
llvm::Error finishOut();

/// Writes `text` to the file `path` as writeFileAtomically does; to standard
/// output if `path` is empty.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_CONSOLE_H
