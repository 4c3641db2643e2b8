// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files in, whole files out. A written file appears under its name
// complete or not at all, and nothing appears next to it.

#ifndef ASHLAR_SUPPORT_FILEIO_H
#define ASHLAR_SUPPORT_FILEIO_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::support {

/// Which file was read, and its state from before the first byte to after the
/// last one. If isReliable(), a file in the same state has the same bytes:
/// every write to a file updates `changed`, which can only be set through the
/// system's clock (docs/decisions/machine/2026-11-23-kept-proofs.md).
struct FileState {
  uint64_t device = 0, number = 0, bytes = 0;
  int64_t modified = 0, changed = 0; ///< Nanoseconds since 1970.
  int64_t read = 0;                  ///< When the first byte was.
  bool isOwn = false; ///< Nobody but the effective user may write to it.

  /// Whether a write after the read must have another time.
  bool isReliable() const {
    constexpr int64_t coarsest = 2'000'000'000; // clocks of file systems
    return isOwn && changed + coarsest <= read;
  }
  bool isSame(const FileState &other) const {
    return device == other.device && number == other.number &&
           bytes == other.bytes && modified == other.modified &&
           changed == other.changed && isOwn == other.isOwn;
  }
};

/// Reads (or maps) a regular file. Errors are Malformed and name the path: a
/// missing file, a directory, a failed read. Two threads read halves of a large
/// file, if there may be several. \p state, if given, becomes that of the file;
/// none if it changed meanwhile, or is no regular file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path, unsigned threads = 1,
         std::optional<FileState> *state = nullptr);

/// The bytes of \p buffer.
inline llvm::ArrayRef<uint8_t> contents(const llvm::MemoryBuffer &buffer) {
  return llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(buffer.getBufferStart()),
      buffer.getBufferSize());
}

/// The real location of a file written to \p path: symbolic links are followed,
/// dangling ones too, and the path of the folder is resolved if the folder
/// exists.
std::string resolveDestination(llvm::StringRef path);

/// Writes \p bytes to a file without a name, flushes it to the disk, and gives
/// it the name \p path, in place of an older file at one moment. No failure and
/// no signal leaves other files. On a file system without unnamed files, a
/// hidden file next to \p path is used, which SIGKILL leaves
/// (docs/decisions/tools/2026-11-22-files-without-names.md). Errors are
/// Capacity for a full disk or exceeded quota, Usage otherwise (no such folder,
/// no permission). A \p path that exists and is not a regular file (a pipe,
/// /dev/null) is written in place; "-" is standard output.
llvm::Error writeFileAtomically(llvm::StringRef path,
                                llvm::ArrayRef<uint8_t> bytes);

/// The same for the concatenation of several byte ranges.
llvm::Error writePartsAtomically(llvm::StringRef path,
                                 llvm::ArrayRef<llvm::ArrayRef<uint8_t>> parts);

/// The same for text.
inline llvm::Error writeFileAtomically(llvm::StringRef path,
                                       llvm::StringRef text) {
  return writeFileAtomically(
      path, llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()),
                           text.size()));
}

/// A folder of files that appears whole. Files have no names until publish(). A
/// new folder gets its name last. In an existing folder, files replace those of
/// the same names, in the order in which they were added. Without publish()
/// nothing remains.
class FolderWriter {
public:
  /// Chooses the place; parents that do not exist are made by publish().
  static llvm::Expected<FolderWriter> create(llvm::StringRef path);
  FolderWriter(FolderWriter &&) noexcept;
  FolderWriter(const FolderWriter &) = delete;
  FolderWriter &operator=(const FolderWriter &) = delete;
  ~FolderWriter();

  /// Writes the file \p name of the folder. Errors as in writeFileAtomically.
  llvm::Error add(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error add(llvm::StringRef name, llvm::StringRef text) {
    return add(name,
               llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()),
                              text.size()));
  }
  /// Everything has been written.
  llvm::Error publish();

private:
  struct State;
  explicit FolderWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_FILEIO_H
