// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has to go before a signal ends the process: temporary files with names,
// helpers that wait for this process.

#ifndef ASHLAR_SUPPORT_ATSIGNAL_H
#define ASHLAR_SUPPORT_ATSIGNAL_H

namespace ashlar::support {

/// While one lives, SIGINT, SIGTERM and SIGHUP first call its function and then
/// end the process as they always do. The function runs in a signal handler, on
/// any thread: it may only call what POSIX allows there. A signal that the
/// process ignored stays ignored. Without takeSignals() nothing is done at a
/// signal: it is not a library's to handle.
class AtSignal {
public:
  AtSignal(void (*function)(void *), void *argument);
  ~AtSignal();
  AtSignal(const AtSignal &) = delete;
  AtSignal &operator=(const AtSignal &) = delete;

private:
  int slot = -1;
};

/// AtSignals handle signals from now on. Part of guardProcess.
void takeSignals();

/// Calls the functions of all living AtSignals: for an end of the process that
/// is not a signal.
void runAtSignal();

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_ATSIGNAL_H
