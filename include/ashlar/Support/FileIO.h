// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files in, whole files out. A written file appears under its name
// complete or not at all.

#ifndef ASHLAR_SUPPORT_FILEIO_H
#define ASHLAR_SUPPORT_FILEIO_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>

namespace ashlar::support {

/// Reads (or maps) a regular file. Errors are Malformed and name the path: a
/// missing file, a directory, a failed read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path);

/// The bytes of \p buffer.
inline llvm::ArrayRef<uint8_t> contents(const llvm::MemoryBuffer &buffer) {
  return llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(buffer.getBufferStart()),
      buffer.getBufferSize());
}

/// Writes \p bytes to a temporary file beside \p path, flushes it to the disk,
/// and renames it to \p path. On any failure nothing is left behind and the
/// error is Capacity for a full disk or exceeded quota, Usage otherwise (no
/// such folder, no permission).
/// A \p path that exists and is not a regular file (a pipe, /dev/null) is
/// written in place.
llvm::Error writeFileAtomically(llvm::StringRef path,
                                llvm::ArrayRef<uint8_t> bytes);

/// The same for text.
inline llvm::Error writeFileAtomically(llvm::StringRef path,
                                       llvm::StringRef text) {
  return writeFileAtomically(
      path, llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()),
                           text.size()));
}

/// Creates \p path and its parents if they do not exist.
llvm::Error createDirectories(llvm::StringRef path);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_FILEIO_H
