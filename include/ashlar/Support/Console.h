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

/// Appends \p text to standard output; after a failure does nothing. Once
/// takeOut() was called, to standard error.
void printOut(llvm::StringRef text);

/// Standard output is the place of a file ("-") from now on, which messages
/// must not mix with.
void takeOut();

/// Writes the bytes of a file to standard output, even if it was redirected
/// inside the process.
llvm::Error writeOut(llvm::ArrayRef<uint8_t> bytes);

/// Appends \p text to standard error and ignores failures: there is no one left
/// to tell.
void printErr(llvm::StringRef text);

/// Flushes standard output. Capacity if the disk is full; a reader that closed
/// its end (`| head`) has what it wants and is not an error.
llvm::Error finishOut();

/// Writes `text` to the file `path` as writeFileAtomically does; to standard
/// output if `path` is empty.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_CONSOLE_H
