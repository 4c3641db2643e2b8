// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File reading and atomic writing on POSIX.

#include "ashlar/Support/FileIO.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
support::readFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return makeError(ErrorClass::Malformed, "cannot read '{}': {}", path.str(),
                     code.message());
  if (llvm::sys::fs::is_directory(status))
    return makeError(ErrorClass::Malformed,
                     "cannot read '{}': it is a directory, expected a file",
                     path.str());
  // Some devices have no end.
  if (status.type() == llvm::sys::fs::file_type::character_file ||
      status.type() == llvm::sys::fs::file_type::block_file)
    return makeError(ErrorClass::Malformed,
                     "cannot read '{}': it is a device, expected a file",
                     path.str());
  // Copied rather than mapped: a file that another process truncates while we
  // read it must not become a bus error.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return makeError(ErrorClass::Malformed, "cannot read '{}': {}", path.str(),
                     buffer.getError().message());
  return std::move(*buffer);
}

namespace {

llvm::Error writeError(llvm::StringRef path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return makeError(full ? ErrorClass::Capacity : ErrorClass::Usage,
                   "cannot write '{}': {}", path.str(),
                   std::generic_category().message(code));
}

/// Writes everything or returns the errno.
int writeAll(int descriptor, llvm::ArrayRef<uint8_t> bytes) {
  // Linux transfers at most 2 GiB per call.
  constexpr size_t chunk = size_t(1) << 30;
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(descriptor, bytes.data(), std::min(bytes.size(), chunk));
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    bytes = bytes.drop_front(static_cast<size_t>(written));
  }
  return 0;
}

/// fsync reports errors that delayed allocation hides from write; pipes and
/// devices cannot be synchronised, which is fine.
int flushAndClose(int descriptor) {
  int code = 0;
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS)
    code = errno;
  if (::close(descriptor) != 0 && code == 0 && errno != EINTR)
    code = errno;
  return code;
}

llvm::Error writeInPlace(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes) {
  const int descriptor = ::open(path.str().c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return writeError(path, errno);
  int code = writeAll(descriptor, bytes);
  const int closing = flushAndClose(descriptor);
  if (code == 0)
    code = closing;
  return code ? writeError(path, code) : llvm::Error::success();
}

/// The permissions a plain open() would have given.
mode_t defaultMode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

} // namespace

llvm::Error support::writeFileAtomically(llvm::StringRef path,
                                         llvm::ArrayRef<uint8_t> bytes) {
  struct stat status;
  const bool exists = ::stat(path.str().c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return writeError(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode))
    return writeInPlace(path, bytes);

  // A link keeps pointing where it pointed: write beside its target.
  llvm::SmallString<256> target(path);
  if (exists) {
    llvm::SmallString<256> real;
    if (!llvm::sys::fs::real_path(path, real))
      target = real;
  }
  std::string temporary = (target + ".XXXXXX").str();
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return writeError(path, errno);
  int code = writeAll(descriptor, bytes);
  const mode_t mode = exists ? (status.st_mode & 0777) : defaultMode();
  if (code == 0 && ::fchmod(descriptor, mode) != 0)
    code = errno;
  const int closing = flushAndClose(descriptor);
  if (code == 0)
    code = closing;
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0)
    code = errno;
  if (code == 0)
    return llvm::Error::success();
  ::unlink(temporary.c_str());
  return writeError(path, code);
}

llvm::Expected<FolderWriter> FolderWriter::create(llvm::StringRef path) {
  FolderWriter writer(path.str());
  writer.created = !llvm::sys::fs::exists(path);
  if (std::error_code code = llvm::sys::fs::create_directories(path)) {
    writer.created = false;
    return makeError(ErrorClass::Usage, "cannot create folder '{}': {}",
                     path.str(), code.message());
  }
  return writer;
}

FolderWriter::FolderWriter(FolderWriter &&other) noexcept
    : folder(std::move(other.folder)), created(other.created),
      files(std::move(other.files)) {
  other.keep();
}

FolderWriter::~FolderWriter() {
  for (const std::string &file : files)
    ::unlink(file.c_str());
  // Empty by now; whatever somebody else put there stays.
  if (created)
    ::rmdir(folder.c_str());
}

std::string FolderWriter::add(llvm::StringRef file) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, file);
  files.push_back(path.str().str());
  return files.back();
}
