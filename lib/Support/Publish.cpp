// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linkat cannot replace a file, so a new version needs a hidden name between
// linkat and rename. A process that is killed between the two would leave it
// after; one that shares our memory and nothing else finishes both.

#include "Publish.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ashlar::support;

int ashlar::support::openUnlinked(const char *folder) {
  // A name is given through /proc, which a chroot need not have.
  if (::access("/proc/self/fd", X_OK) != 0) {
    errno = EOPNOTSUPP;
    return -1;
  }
  int descriptor;
  do
    descriptor = ::open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

bool ashlar::support::needsName(int code) {
  // Kernels before 3.11 take O_TMPFILE for opening the folder itself.
  return code == EOPNOTSUPP || code == EISDIR || code == EINVAL ||
         code == EMFILE;
}

std::string ashlar::support::hiddenName(llvm::StringRef folder) {
  static std::atomic<uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  // Threads differ by the counter, processes by their number, hosts that share
  // the folder by the clock.
  char name[64];
  std::snprintf(name, sizeof name, ".ashlar-%x-%llx-%llx",
                static_cast<unsigned>(::getpid()),
                static_cast<unsigned long long>(counter.fetch_add(1)),
                static_cast<unsigned long long>(now));
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

void Publication::makeFolder(std::string path) {
  steps.push_back({Kind::Folder, "", std::move(path), ""});
}

void Publication::link(int descriptor, std::string path) {
  std::string hidden = hiddenName(llvm::sys::path::parent_path(path));
  steps.push_back({Kind::Link, "/proc/self/fd/" + std::to_string(descriptor),
                   std::move(path), std::move(hidden)});
}

void Publication::rename(std::string from, std::string to) {
  steps.push_back({Kind::Rename, std::move(from), std::move(to), ""});
}

/// From here to runDetached: no allocation, another thread may have been killed
/// while it held the heap's lock.
int Publication::take(Step &step) {
  const char *from = step.from.c_str(), *to = step.to.c_str();
  if (step.kind == Kind::Folder)
    return ::mkdir(to, 0777) == 0 ? 0 : errno;
  if (step.kind == Kind::Rename)
    return ::rename(from, to) == 0 ? 0 : errno;
  if (::linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0)
    return 0;
  if (errno != EEXIST)
    return errno;
  step.fresh = false;
  const char *hidden = step.hidden.c_str();
  if (::linkat(AT_FDCWD, from, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) != 0)
    return errno;
  if (::rename(hidden, to) == 0)
    return 0;
  const int code = errno;
  ::unlink(hidden);
  return code;
}

void Publication::undo(const Step &step) {
  if (step.kind == Kind::Folder)
    ::rmdir(step.to.c_str());
  else if (step.kind == Kind::Link && step.fresh)
    ::unlink(step.to.c_str());
}

int Publication::take() {
  for (size_t i = 0; i < steps.size(); ++i) {
    const int code = take(steps[i]);
    if (code == 0)
      continue;
    while (i-- > 0)
      undo(steps[i]);
    return code;
  }
  return 0;
}

int Publication::runDetached(void *self) {
  // Out of the group that ^C and the end of a session are sent to.
  ::setpgid(0, 0);
  auto *publication = static_cast<Publication *>(self);
  publication->result = publication->take();
  return 0;
}

int Publication::run() {
  sigset_t all, before;
  sigfillset(&all);
  // The other process inherits this: no handler runs twice.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  constexpr size_t stackBytes = 1 << 15;
  alignas(16) char stack[stackBytes];
  result = EIO; // Should something end the other process.
  const pid_t child = ::clone(runDetached, stack + stackBytes,
                              CLONE_VM | CLONE_VFORK | SIGCHLD, this);
  if (child < 0)
    result = take();
  else
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}
