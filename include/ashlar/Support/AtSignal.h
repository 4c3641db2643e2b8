// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cleanup before a signal ends the process: temporary files with names, and
// helpers that wait for this process.

#ifndef ASHLAR_SUPPORT_ATSIGNAL_H
#define ASHLAR_SUPPORT_ATSIGNAL_H

namespace ashlar::support {

/// While an object lives, SIGINT, SIGTERM and SIGHUP call its function before
/// they end the process. The function runs in a signal handler, on any thread:
/// it may only call what POSIX allows there. A signal that the process ignored
/// stays ignored. Nothing happens without takeSignals(), because a library must
/// not handle signals on its own.
class AtSignal {
public:
  AtSignal(void (*function)(void *), void *argument);
  ~AtSignal();
  AtSignal(const AtSignal &) = delete;
  AtSignal &operator=(const AtSignal &) = delete;

private:
  int slot = -1;
};

/// From this call on, AtSignal objects handle signals. Part of guardProcess.
void takeSignals();

/// Calls the functions of all live AtSignal objects, for a process that ends
/// without a signal.
void runAtSignal();

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_ATSIGNAL_H
