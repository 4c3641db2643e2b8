// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File reading and atomic writing on POSIX.

#include "ashlar/Support/FileIO.h"
#include "FileOutput.h"
#include "Publish.h"
#include "ashlar/Support/AtSignal.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/LargePages.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {
/// Fills `to` from `offset` of a file on; zeros after its end, should somebody
/// have truncated it. The errno.
int readPart(int descriptor, llvm::MutableArrayRef<char> to, uint64_t offset) {
  constexpr size_t chunk = size_t(1) << 30;
  while (!to.empty()) {
    const ssize_t got =
        ::pread(descriptor, to.data(), std::min(to.size(), chunk),
                static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    if (got == 0) {
      std::fill(to.begin(), to.end(), 0);
      return 0;
    }
    to = to.drop_front(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return 0;
}

/// None if it is no regular file.
std::optional<FileState> stateOf(int descriptor) {
  struct stat status;
  struct timespec now;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      ::clock_gettime(CLOCK_REALTIME, &now) != 0)
    return std::nullopt;
  constexpr int64_t second = 1'000'000'000;
  FileState state;
  state.device = status.st_dev;
  state.number = status.st_ino;
  state.bytes = static_cast<uint64_t>(status.st_size);
  state.modified = status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec;
  state.changed = status.st_ctim.tv_sec * second + status.st_ctim.tv_nsec;
  state.read = now.tv_sec * second + now.tv_nsec;
  state.isOwn = status.st_uid == ::geteuid() &&
                (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return state;
}

/// In two halves side by side: most of the time goes into copies and new pages.
/// The errno.
int readHalves(int descriptor, llvm::MutableArrayRef<char> to) {
  const uint64_t half = llvm::alignDown(to.size() / 2, largePageBytes);
  int other = 0, own = 0;
  try {
    std::thread thread(
        [&] { other = readPart(descriptor, to.drop_front(half), half); });
    own = readPart(descriptor, to.take_front(half), 0);
    thread.join();
  } catch (const std::system_error &) {
    own = readPart(descriptor, to, 0); // No thread: then here.
  }
  return own != 0 ? own : other;
}

/// A regular file by one descriptor. Null if that is not possible.
std::unique_ptr<llvm::MemoryBuffer>
readRegular(llvm::StringRef path, bool inHalves,
            std::optional<FileState> *state) {
  const int descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return nullptr;
  const std::optional<FileState> before = stateOf(descriptor);
  std::unique_ptr<llvm::WritableMemoryBuffer> buffer;
  if (before)
    buffer =
        llvm::WritableMemoryBuffer::getNewUninitMemBuffer(before->bytes, path);
  int failure = 0;
  if (buffer)
    failure = inHalves ? readHalves(descriptor, buffer->getBuffer())
                       : readPart(descriptor, buffer->getBuffer(), 0);
  const std::optional<FileState> after = stateOf(descriptor);
  ::close(descriptor);
  if (!buffer || failure != 0)
    return nullptr;
  if (state && after && before->isSame(*after))
    *state = before;
  return buffer;
}
} // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
support::readFile(llvm::StringRef path, unsigned threads,
                  std::optional<FileState> *state) {
  if (state)
    state->reset();
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
  constexpr uint64_t large = uint64_t(8) << 20; // bytes
  const bool inHalves = threads > 1 && status.getSize() >= large;
  if ((inHalves || state) &&
      status.type() == llvm::sys::fs::file_type::regular_file)
    if (auto buffer = readRegular(path, inHalves, state))
      return buffer;
  // Copied rather than mapped: a file that another process truncates while we
  // read it must not become a bus error. Without the terminator LLVM maps
  // volatile files, too.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true,
                                            /*IsVolatile=*/true);
  if (buffer.getError() == std::errc::not_enough_memory)
    return makeError(ErrorClass::Capacity,
                     "cannot read '{}': out of memory, its {} bytes could not "
                     "be allocated",
                     path.str(), status.getSize());
  if (!buffer)
    return makeError(ErrorClass::Malformed, "cannot read '{}': {}", path.str(),
                     buffer.getError().message());
  return std::move(*buffer);
}

llvm::Error support::writeError(llvm::StringRef path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG ||
                    code == ENOMEM || code == EMFILE || code == ENFILE;
  if (code == ENOENT && !llvm::sys::fs::exists(folderOf(path)))
    return makeError(ErrorClass::Usage,
                     "cannot write '{}': there is no folder '{}'", path.str(),
                     folderOf(path).str());
  return makeError(full ? ErrorClass::Capacity : ErrorClass::Usage,
                   "cannot write '{}': {}", path.str(),
                   std::generic_category().message(code));
}

llvm::StringRef support::folderOf(llvm::StringRef path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

namespace {

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

/// The first of two results that is an error.
int close(int descriptor, int code) {
  const bool failed = ::close(descriptor) != 0 && errno != EINTR;
  return code == 0 && failed ? errno : code;
}

using Parts = llvm::ArrayRef<llvm::ArrayRef<uint8_t>>;

llvm::Error writeInPlace(llvm::StringRef path, Parts parts) {
  const int descriptor = ::open(path.str().c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return writeError(path, errno);
  const int code = close(descriptor, writeDescriptor(descriptor, parts));
  return code ? writeError(path, code) : llvm::Error::success();
}

void removeFile(void *path) { ::unlink(static_cast<const char *>(path)); }

/// For file systems without nameless files: a hidden name first. The errno.
int writeNamed(const std::string &target, Parts parts, const struct stat *old) {
  std::string temporary = hiddenName(folderOf(target));
  AtSignal cleanup(removeFile, temporary.data());
  int code = writeNewFile(temporary.c_str(), parts);
  if (code == 0 && old && ::chmod(temporary.c_str(), old->st_mode & 0777) != 0)
    code = errno;
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0)
    code = errno;
  if (code != 0)
    ::unlink(temporary.c_str());
  return code;
}

/// Writes \p target, which is \p old so far if that is not null. The errno.
int writeUnlinked(const std::string &target, Parts parts,
                  const struct stat *old) {
  const int descriptor = openUnlinked(folderOf(target).str().c_str());
  if (descriptor < 0)
    return errno == EMFILE || !needsName(errno)
               ? errno
               : writeNamed(target, parts, old);
  int code = 0;
  if (old && ::fchmod(descriptor, old->st_mode & 0777) != 0)
    code = errno;
  if (code == 0)
    code = writeDescriptor(descriptor, parts);
  if (code == 0) {
    Publication publication;
    publication.link(descriptor, target);
    code = publication.run();
  }
  return close(descriptor, code);
}

} // namespace

int support::writeDescriptor(int descriptor, Parts parts) {
  for (llvm::ArrayRef<uint8_t> bytes : parts)
    if (int code = writeAll(descriptor, bytes))
      return code;
  // fsync reports errors that delayed allocation hides from write; pipes and
  // devices cannot be synchronised, which is fine.
  const bool failed = ::fsync(descriptor) != 0;
  return failed && errno != EINVAL && errno != EROFS ? errno : 0;
}

int support::writeNewFile(const char *path, Parts parts) {
  const int descriptor =
      ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errno;
  return close(descriptor, writeDescriptor(descriptor, parts));
}

std::string support::resolveDestination(llvm::StringRef path) {
  llvm::SmallString<256> place(path), real;
  // A link may lead to a file that does not exist yet, through other links. The
  // system gives up after 40.
  for (unsigned links = 0; links < 40; ++links) {
    char to[PATH_MAX];
    const ssize_t length = ::readlink(place.c_str(), to, sizeof to);
    if (length < 0)
      break;
    llvm::StringRef next(to, static_cast<size_t>(length));
    if (llvm::sys::path::is_relative(next)) {
      llvm::sys::path::remove_filename(place);
      llvm::sys::path::append(place, next);
    } else {
      place = next;
    }
  }
  if (!llvm::sys::fs::real_path(place, real))
    return real.str().str();
  if (llvm::sys::fs::real_path(folderOf(place), real))
    return place.str().str();
  llvm::sys::path::append(real, llvm::sys::path::filename(place));
  return real.str().str();
}

llvm::Error support::writeFileAtomically(llvm::StringRef path,
                                         llvm::ArrayRef<uint8_t> bytes) {
  return writePartsAtomically(path, bytes);
}

llvm::Error support::writePartsAtomically(llvm::StringRef path, Parts parts) {
  if (path == "-") {
    for (llvm::ArrayRef<uint8_t> bytes : parts)
      if (llvm::Error error = writeOut(bytes))
        return error;
    return llvm::Error::success();
  }
  struct stat status;
  const bool exists = ::stat(path.str().c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return writeError(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode))
    return writeInPlace(path, parts);
  const int code = writeUnlinked(resolveDestination(path), parts,
                                 exists ? &status : nullptr);
  return code ? writeError(path, code) : llvm::Error::success();
}
