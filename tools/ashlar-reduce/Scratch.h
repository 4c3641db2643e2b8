// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder that trials use, and what they started: gone with the tool,
// however it ends.

#ifndef ASHLAR_TOOLS_REDUCE_SCRATCH_H
#define ASHLAR_TOOLS_REDUCE_SCRATCH_H

#include "ashlar/Support/AtSignal.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <sys/types.h>

namespace ashlar::reduce {

/// A temporary folder with a process that watches over it: when this process
/// has ended, or lets go, the watcher kills the command that runs and removes
/// the folder. Before SIGINT, SIGTERM and SIGHUP end this process it waits for
/// the watcher; after SIGKILL the watcher needs a moment.
class Scratch {
public:
  static llvm::Expected<std::unique_ptr<Scratch>> create();
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  const std::string &folder() const { return path; }

  /// \p group is the process group of the command that runs, 0 if none does.
  void setCommand(pid_t group);

private:
  Scratch(std::string path, pid_t watcher, int pipe);
  /// Tells the watcher and waits for it; for signal handlers too.
  static void letGo(void *self);

  std::string path;
  pid_t watcher;
  int pipe;
  support::AtSignal atSignal;
};

} // namespace ashlar::reduce

#endif // ASHLAR_TOOLS_REDUCE_SCRATCH_H
