// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders that appear whole. Files wait as descriptors; where there are no
// files without names, in a hidden folder.

#include "FileOutput.h"
#include "Publish.h"
#include "ashlar/Support/AtSignal.h"
#include "ashlar/Support/FileIO.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

/// As the kernel lays it out.
struct DirectoryEntry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[1];
};

/// Removes a folder of files; also called by signal handlers, so it reads the
/// folder without memory of its own.
void removeFlatFolder(void *path) {
  const char *folder = static_cast<const char *>(path);
  const int descriptor = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  alignas(DirectoryEntry) char buffer[4096];
  long bytes;
  while ((bytes =
              ::syscall(SYS_getdents64, descriptor, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < bytes;) {
      auto *entry = reinterpret_cast<DirectoryEntry *>(buffer + at);
      ::unlinkat(descriptor, entry->name, 0);
      at += entry->length;
    }
  ::close(descriptor);
  ::rmdir(folder);
}

/// A dump may have thousands of files; they are open until they are published.
void allowManyFiles() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Descriptors that stay free for others, and for reading what is dumped.
constexpr int reserve = 32;

std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

} // namespace

struct FolderWriter::State {
  struct File {
    std::string name;
    int descriptor; ///< -1: lies in the hidden folder.
  };

  ~State() {
    for (const File &file : files)
      if (file.descriptor >= 0)
        ::close(file.descriptor);
    if (!hidden.empty())
      removeFlatFolder(hidden.data());
  }

  int addNamed(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes);
  int addUnlinked(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes);
  int publishInto(const std::string &folder);
  int publishNew();

  std::string path; ///< As the user wrote it.
  /// The folder that exists: this one, or the nearest above it.
  std::string existing;
  /// What is missing below `existing`, outermost first.
  std::vector<std::string> missing;
  std::vector<File> files;
  std::string hidden;
  std::optional<AtSignal> cleanup;
};

int FolderWriter::State::addNamed(llvm::StringRef name,
                                  llvm::ArrayRef<uint8_t> bytes) {
  if (hidden.empty()) {
    hidden = hiddenName(existing);
    // A signal may come right after the folder is made.
    cleanup.emplace(removeFlatFolder, hidden.data());
    if (::mkdir(hidden.c_str(), 0777) != 0) {
      const int code = errno;
      cleanup.reset();
      hidden.clear();
      return code;
    }
  }
  const std::string file = joinPath(hidden, name);
  ::unlink(file.c_str());
  if (int code = writeNewFile(file.c_str(), bytes))
    return code;
  files.push_back({name.str(), -1});
  return 0;
}

int FolderWriter::State::addUnlinked(llvm::StringRef name,
                                     llvm::ArrayRef<uint8_t> bytes) {
  const int descriptor = openUnlinked(existing.c_str());
  if (descriptor < 0)
    return needsName(errno) ? addNamed(name, bytes) : errno;
  struct rlimit limit;
  const bool scarce = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                      rlim_t(descriptor) + reserve > limit.rlim_cur;
  if (scarce) {
    ::close(descriptor);
    return addNamed(name, bytes);
  }
  files.push_back({name.str(), descriptor});
  return writeDescriptor(descriptor, bytes);
}

/// Into a folder that is there.
int FolderWriter::State::publishInto(const std::string &folder) {
  Publication publication;
  for (const File &file : files)
    if (file.descriptor >= 0)
      publication.link(file.descriptor, joinPath(folder, file.name));
    else
      publication.rename(joinPath(hidden, file.name),
                         joinPath(folder, file.name));
  return publication.run();
}

/// A whole tree under a hidden name, which then gets its own.
int FolderWriter::State::publishNew() {
  Publication publication;
  const std::string top = hiddenName(existing);
  std::string folder = top;
  publication.makeFolder(folder);
  for (const std::string &name : llvm::ArrayRef(missing).drop_front())
    publication.makeFolder(folder = joinPath(folder, name));
  for (const File &file : files)
    if (file.descriptor >= 0)
      publication.link(file.descriptor, joinPath(folder, file.name));
    else
      publication.rename(joinPath(hidden, file.name),
                         joinPath(folder, file.name));
  publication.rename(top, joinPath(existing, missing.front()));
  return publication.run();
}

FolderWriter::FolderWriter(std::unique_ptr<State> state)
    : state(std::move(state)) {}
FolderWriter::FolderWriter(FolderWriter &&) noexcept = default;
FolderWriter::~FolderWriter() = default;

llvm::Expected<FolderWriter> FolderWriter::create(llvm::StringRef path) {
  auto state = std::make_unique<State>();
  state->path = path.str();
  llvm::StringRef trimmed = path.rtrim('/');
  std::string place =
      resolveDestination(trimmed.empty() && !path.empty() ? "/" : trimmed);
  struct stat status;
  while (::stat(place.c_str(), &status) != 0) {
    const int code = errno;
    const std::string parent = folderOf(place).str();
    if (code != ENOENT || parent == place)
      return writeError(path, code);
    state->missing.insert(state->missing.begin(),
                          llvm::sys::path::filename(place).str());
    place = parent;
  }
  if (!S_ISDIR(status.st_mode))
    return writeError(path, ENOTDIR);
  state->existing = std::move(place);
  allowManyFiles();
  return FolderWriter(std::move(state));
}

llvm::Error FolderWriter::add(llvm::StringRef name,
                              llvm::ArrayRef<uint8_t> bytes) {
  // Once one file lies in the hidden folder the others may follow it.
  const int code = state->hidden.empty() ? state->addUnlinked(name, bytes)
                                         : state->addNamed(name, bytes);
  return code ? writeError(joinPath(state->path, name), code)
              : llvm::Error::success();
}

llvm::Error FolderWriter::publish() {
  const int code = state->missing.empty() ? state->publishInto(state->existing)
                                          : state->publishNew();
  return code ? writeError(state->path, code) : llvm::Error::success();
}
