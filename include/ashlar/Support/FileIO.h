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
#include <string>
#include <vector>

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

/// A folder that is filled file by file. If filling fails, what is new goes
/// again: the folder itself, or in a folder that was there before the files.
class FolderWriter {
public:
  /// Creates \p path and its parents if they do not exist.
  static llvm::Expected<FolderWriter> create(llvm::StringRef path);
  FolderWriter(FolderWriter &&other) noexcept;
  FolderWriter(const FolderWriter &) = delete;
  FolderWriter &operator=(const FolderWriter &) = delete;
  ~FolderWriter();

  /// Path of a file in the folder that is about to be written.
  std::string add(llvm::StringRef file);
  /// Everything has been written.
  void keep() { files.clear(), created = false; }

private:
  explicit FolderWriter(std::string folder) : folder(std::move(folder)) {}

  std::string folder;
  bool created = false;
  std::vector<std::string> files;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_FILEIO_H
