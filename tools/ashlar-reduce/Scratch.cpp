// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a pipe tells the watcher that this process is gone: the system
// closes it, whatever the reason.

#include "Scratch.h"
#include "ashlar/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::reduce;

namespace {

/// Removes the folder; commands that were killed may still write for a moment.
void removeFolder(const std::string &path) {
  for (unsigned i = 0; i < 100; ++i) {
    llvm::sys::fs::remove_directories(path);
    if (!llvm::sys::fs::exists(path))
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// The watcher's life: notes commands until the pipe ends.
[[noreturn]] void watch(const std::string &path, int pipe) {
  // ^C goes to the tool's group; the tool decides what it means.
  ::setsid();
  pid_t group = 0, next = 0;
  ssize_t bytes;
  while ((bytes = ::read(pipe, &next, sizeof next)) != 0)
    if (bytes == sizeof next)
      group = next;
    else if (bytes < 0 && errno != EINTR)
      break;
  if (group > 0)
    ::kill(-group, SIGKILL);
  removeFolder(path);
  ::_exit(0);
}

} // namespace

llvm::Expected<std::unique_ptr<Scratch>> Scratch::create() {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("ashlar-reduce", folder))
    return makeError(ErrorClass::Usage, "{}",
                     "cannot make a scratch folder, see TMPDIR");
  const std::string path = folder.str().str();
  int ends[2];
  pid_t watcher = -1;
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    watcher = ::fork();
    if (watcher == 0) {
      ::close(ends[1]);
      watch(path, ends[0]);
    }
    ::close(ends[0]);
    if (watcher < 0)
      ::close(ends[1]);
  }
  if (watcher < 0) {
    const int code = errno;
    llvm::sys::fs::remove_directories(path);
    return makeError(ErrorClass::Capacity,
                     "cannot start a process that watches over '{}': {}", path,
                     std::strerror(code));
  }
  return std::unique_ptr<Scratch>(new Scratch(path, watcher, ends[1]));
}

Scratch::Scratch(std::string path, pid_t watcher, int pipe)
    : path(std::move(path)), watcher(watcher), pipe(pipe),
      atSignal(letGo, this) {}

Scratch::~Scratch() { letGo(this); }

void Scratch::letGo(void *self) {
  auto *scratch = static_cast<Scratch *>(self);
  ::close(scratch->pipe);
  while (::waitpid(scratch->watcher, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Scratch::setCommand(pid_t group) {
  // Less than a pipe's atomic size; without the watcher there is no use in it.
  [[maybe_unused]] ssize_t bytes = ::write(pipe, &group, sizeof group);
}
