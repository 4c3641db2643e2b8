// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed table that handlers can read at any moment: a slot is taken before
// its function is known and empty again before the owner continues.

#include "ashlar/Support/AtSignal.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

using namespace ashlar::support;

namespace {

constexpr int slots = 64;
constexpr int endings[] = {SIGINT, SIGTERM, SIGHUP};

struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<void (*)(void *)> function{nullptr};
  std::atomic<void *> argument{nullptr};
};

Slot table[slots];
std::once_flag installed;
std::atomic<bool> wanted = false;

void onEnding(int signal) {
  const int saved = errno;
  runAtSignal();
  std::signal(signal, SIG_DFL);
  errno = saved;
  // Blocked while its handler runs, delivered when it returns.
  std::raise(signal);
}

void install() {
  for (int signal : endings) {
    struct sigaction old = {};
    if (sigaction(signal, nullptr, &old) != 0 || old.sa_handler != SIG_DFL)
      continue; // nohup, or a handler that knows better.
    struct sigaction action = {};
    action.sa_handler = onEnding;
    // Two endings at once would clean up twice.
    for (int other : endings)
      sigaddset(&action.sa_mask, other);
    sigaction(signal, &action, nullptr);
  }
}

} // namespace

AtSignal::AtSignal(void (*function)(void *), void *argument) {
  if (wanted)
    std::call_once(installed, install);
  for (int i = 0; i < slots && slot < 0; ++i)
    if (!table[i].taken.exchange(true))
      slot = i;
  if (slot < 0)
    return; // Only a signal at this moment would notice.
  table[slot].argument.store(argument);
  table[slot].function.store(function);
}

AtSignal::~AtSignal() {
  if (slot < 0)
    return;
  table[slot].function.store(nullptr);
  table[slot].taken.store(false);
}

void ashlar::support::takeSignals() { wanted = true; }

void ashlar::support::runAtSignal() {
  for (Slot &slot : table)
    if (auto *function = slot.function.exchange(nullptr))
      function(slot.argument.load());
}
