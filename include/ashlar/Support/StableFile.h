// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that is read in parts over a long time. It is not mapped: a mapped
// file that another process shortens is a signal, a short read is an error.

#ifndef ASHLAR_SUPPORT_STABLEFILE_H
#define ASHLAR_SUPPORT_STABLEFILE_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace ashlar::support {

class StableFile {
public:
  /// Opens a regular file. Malformed where it cannot be, or is none.
  static llvm::Expected<std::shared_ptr<const StableFile>>
  open(llvm::StringRef path);
  StableFile(const StableFile &) = delete;
  StableFile &operator=(const StableFile &) = delete;
  ~StableFile();

  const std::string &path() const { return name; }
  /// Bytes when it was opened.
  uint64_t size() const { return bytes; }

  /// Fills \p to from \p offset on; false if the file has fewer bytes, or they
  /// cannot be read, which check() tells from then on. From any thread.
  bool read(uint64_t offset, llvm::MutableArrayRef<char> to) const;

  /// Malformed if something could not be read, or the file has been written to
  /// since it was opened. A file that another one has replaced is still there.
  llvm::Error check() const;

private:
  StableFile(llvm::StringRef path, int descriptor);

  std::string name;
  int descriptor;
  uint64_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0; ///< When it was written last.
  mutable std::atomic<int> failure = 0; ///< The errno; -1: its end came early.
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_STABLEFILE_H
