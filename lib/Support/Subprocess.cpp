// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands run by the shell. Each gets a process group of its own, so that the
// time limit also ends what the shell started.

#include "ashlar/Support/Subprocess.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

/// Where a command's streams go, and the group it leads.
class SpawnSettings {
public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    // The tools ignore these; a command shall not inherit that.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings &) = delete;
  SpawnSettings &operator=(const SpawnSettings &) = delete;

  void redirect(int stream, const char *path, int mode) {
    posix_spawn_file_actions_addopen(&actions, stream, path, mode, 0600);
  }

  /// Makes \p descriptor number \p stream of the command.
  void give(int descriptor, int stream) {
    posix_spawn_file_actions_adddup2(&actions, descriptor, stream);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

/// A pipe that a command waits on. Both ends are kept until it may begin, so
/// that a write never meets a closed pipe; if this process is killed before,
/// the command sees the end of the pipe instead of a line.
class StartGate {
public:
  StartGate() { isOpen = ::pipe2(ends, O_CLOEXEC) == 0; }
  ~StartGate() {
    if (!isOpen)
      return;
    ::close(ends[0]);
    ::close(ends[1]);
  }
  StartGate(const StartGate &) = delete;
  StartGate &operator=(const StartGate &) = delete;

  explicit operator bool() const { return isOpen; }
  int readEnd() const { return ends[0]; }
  void open() {
    while (::write(ends[1], "\n", 1) < 0 && errno == EINTR) {
    }
  }

private:
  int ends[2];
  bool isOpen;
};

int codeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Waits for \p pid; kills its group when the time is over.
ProcessEnd waitFor(pid_t pid, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  ProcessEnd result;
  int status = 0;
  // Short commands are frequent: look often at first, seldom later.
  auto pause = std::chrono::microseconds(500);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      result.timedOut = true;
      kill(-pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      return result;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  // Processes that outlive the shell would write into the next trial.
  kill(-pid, SIGKILL);
  result.code = codeOf(status);
  return result;
}

} // namespace

std::string support::describe(const ProcessEnd &end) {
  if (end.timedOut)
    return "no end within the time limit";
  if (end.code > 128)
    return fmt::format("signal {}", end.code - 128);
  return fmt::format("exit code {}", end.code);
}

llvm::Expected<ProcessEnd>
support::runShell(const std::string &command, const std::string &outPath,
                  const std::string &errorPath, double seconds,
                  llvm::function_ref<void(pid_t)> started) {
  SpawnSettings settings;
  constexpr int write = O_WRONLY | O_CREAT | O_TRUNC;
  settings.redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  settings.redirect(STDOUT_FILENO, outPath.c_str(), write);
  settings.redirect(STDERR_FILENO, errorPath.c_str(), write);
  // The command begins when its group is known: whoever ends the group if this
  // process is killed would miss a command that ran before.
  StartGate gate;
  if (!gate)
    return makeError(ErrorClass::Capacity, "cannot start a shell: {}",
                     std::strerror(errno));
  settings.give(gate.readEnd(), 3);
  std::string shell = "sh", flag = "-c", text = command,
              wait = "read -r _ <&3 || exit; exec 3<&-; exec /bin/sh -c \"$1\"";
  char *arguments[] = {shell.data(), flag.data(), wait.data(),
                       shell.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int failure = posix_spawn(&pid, "/bin/sh", &settings.actions,
                                  &settings.attributes, arguments, environ);
  if (failure != 0)
    return makeError(ErrorClass::Internal, "cannot start a shell: {}",
                     std::strerror(failure));
  if (started)
    started(pid);
  gate.open();
  ProcessEnd end = waitFor(pid, seconds);
  if (started)
    started(0);
  return end;
}
