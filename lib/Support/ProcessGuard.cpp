// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler on a stack of its own tells an overflow by the address of the
// fault: it lies at the end of the guarded stack.

#include "ashlar/Support/ProcessGuard.h"
#include "ashlar/Support/AtSignal.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/OutOfMemory.h"

#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

using namespace ashlar;

namespace {

/// A frame that is written before the page of its end is touched may fault so
/// far below the stack; the kernel keeps as much free of other mappings.
constexpr uintptr_t reach = 1 << 20;

const char *guardedTool = "";
uintptr_t stackEnd = 0;   ///< Lowest address that the stack may ever have.
uintptr_t stackBegin = 0; ///< Where it is called from.
struct sigaction before;
alignas(16) char handlerStack[1 << 16];

/// Only calls what a signal handler may call.
void say(const char *text) {
  // There is nothing left to do about a failed write.
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text, std::strlen(text));
}

void onFault(int, siginfo_t *info, void *) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  // Within the limit, but the system has no page for it.
  if (address > stackEnd + reach && address < stackBegin &&
      info->si_code == SEGV_MAPERR)
    ashlar::support::outOfMemory(static_cast<size_t>(stackBegin - address),
                                 "for the stack");
  if (address + reach < stackEnd || address > stackEnd + reach) {
    // Runs the faulting instruction again, for the handler before this one.
    sigaction(SIGSEGV, &before, nullptr);
    return;
  }
  say(guardedTool);
  say(": error: the input nests too deeply: it needs more stack than there "
      "is\n");
  _exit(static_cast<int>(ErrorClass::Malformed));
}

/// Before LLVM's streams are destroyed, which would end the process their way.
void onExit(int status, void *) {
  llvm::outs().flush();
  const std::error_code failure = llvm::outs().error();
  llvm::outs().clear_error();
  llvm::errs().clear_error();
  if (!failure || failure == std::errc::broken_pipe || status != 0)
    return;
  say(guardedTool);
  say(": error: cannot write to standard output: ");
  say(failure.message().c_str());
  say("\n");
  _exit(static_cast<int>(ErrorClass::Capacity));
}

} // namespace

void ashlar::support::guardProcess(const char *tool) {
  guardedTool = tool;
  guardMemory(tool);
  takeSignals();
  // Made before the handler is registered, they are destroyed after it.
  llvm::outs();
  llvm::errs();
  on_exit(onExit, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  void *end = nullptr;
  size_t bytes = 0;
  const int failed = pthread_attr_getstack(&attributes, &end, &bytes);
  pthread_attr_destroy(&attributes);
  stack_t own = {};
  own.ss_sp = handlerStack;
  own.ss_size = sizeof(handlerStack);
  if (failed != 0 || sigaltstack(&own, nullptr) != 0)
    return;
  stackEnd = reinterpret_cast<uintptr_t>(end);
  stackBegin = stackEnd + bytes;
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

void ashlar::support::endProcess(int status) {
#ifdef NDEBUG
  onExit(status, nullptr);
  (void)std::fflush(nullptr);
  _exit(status);
#else
  std::exit(status);
#endif
}
