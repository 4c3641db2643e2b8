// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading by position on POSIX.

#include "ashlar/Support/StableFile.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

static llvm::Error cannotRead(llvm::StringRef path, const std::string &why) {
  return makeError(ErrorClass::Malformed, "cannot read '{}': {}", path.str(),
                   why);
}

StableFile::StableFile(llvm::StringRef path, int descriptor)
    : name(path.str()), descriptor(descriptor) {}

StableFile::~StableFile() { ::close(descriptor); }

llvm::Expected<std::shared_ptr<const StableFile>>
StableFile::open(llvm::StringRef path) {
  // A pipe without a writer would be waited for.
  const int descriptor =
      ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannotRead(path, std::generic_category().message(errno));
  std::shared_ptr<StableFile> file(new StableFile(path, descriptor));
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return cannotRead(path, std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode))
    return cannotRead(path, "it is not a regular file");
  file->bytes = static_cast<uint64_t>(status.st_size);
  file->seconds = status.st_mtim.tv_sec;
  file->nanoseconds = status.st_mtim.tv_nsec;
  return std::shared_ptr<const StableFile>(std::move(file));
}

bool StableFile::read(uint64_t offset, llvm::MutableArrayRef<char> to) const {
  // Linux transfers at most 2 GiB per call.
  constexpr size_t chunk = size_t(1) << 30;
  while (!to.empty()) {
    const ssize_t got =
        ::pread(descriptor, to.data(), std::min(to.size(), chunk),
                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      failure = got < 0 ? errno : -1;
      return false;
    }
    offset += static_cast<uint64_t>(got);
    to = to.drop_front(static_cast<size_t>(got));
  }
  return true;
}

llvm::Error StableFile::check() const {
  if (const int code = failure; code > 0)
    return cannotRead(name, std::generic_category().message(code));
  struct stat status;
  const bool known = ::fstat(descriptor, &status) == 0;
  const auto now = known ? static_cast<uint64_t>(status.st_size) : 0;
  if (known && failure == 0 && now == bytes &&
      status.st_mtim.tv_sec == seconds && status.st_mtim.tv_nsec == nanoseconds)
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed,
                   "'{}' changed while it was read: it had {} bytes, now it "
                   "has {}; compile again when nothing writes to it",
                   name, bytes, now);
}
