// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands that a user gave, run by the shell with a time limit.

#ifndef ASHLAR_SUPPORT_SUBPROCESS_H
#define ASHLAR_SUPPORT_SUBPROCESS_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <sys/types.h>

namespace ashlar::support {

/// How a command ended.
struct ProcessEnd {
  bool timedOut = false;
  /// As a shell counts: 128 + n for signal n. Of no meaning if timedOut.
  int code = 0;

  bool succeeded() const { return !timedOut && code == 0; }
  bool operator==(const ProcessEnd &other) const {
    return timedOut == other.timedOut && (timedOut || code == other.code);
  }
};

/// "exit code 3", "signal 11" or "no end within the time limit".
std::string describe(const ProcessEnd &end);

/// Runs `/bin/sh -c COMMAND` with standard input from /dev/null, standard
/// output and standard error into the files given. After \p seconds the command
/// and what it started are killed. \p started, if given, is told the process
/// group of the command before the command begins, and 0 when nothing of it
/// runs any more. Fails only if the command cannot be started.
llvm::Expected<ProcessEnd>
runShell(const std::string &command, const std::string &outPath,
         const std::string &errorPath, double seconds,
         llvm::function_ref<void(pid_t)> started = {});

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_SUBPROCESS_H
