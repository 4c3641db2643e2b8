// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks of processors, on systems that have them.

#include "ashlar/Support/Processors.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

using namespace ashlar::support;

std::optional<unsigned> ashlar::support::currentProcessor() {
#if defined(__linux__)
  if (const int number = sched_getcpu(); number >= 0)
    return static_cast<unsigned>(number);
#endif
  return std::nullopt;
}

#if defined(__linux__)
static_assert(CPU_SETSIZE == ProcessorSet().size());

static bool setMask(pthread_t thread, const ProcessorSet &processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (size_t number = 0; number < processors.size(); ++number)
    if (processors[number])
      CPU_SET(number, &mask);
  return pthread_setaffinity_np(thread, sizeof mask, &mask) == 0;
}

/// Empty if the system does not tell.
static ProcessorSet maskOf(pthread_t thread) {
  cpu_set_t mask;
  ProcessorSet processors;
  if (pthread_getaffinity_np(thread, sizeof mask, &mask) == 0)
    for (size_t number = 0; number < processors.size(); ++number)
      processors[number] = CPU_ISSET(number, &mask);
  return processors;
}

/// Shows a thread to the first processor of \p mask that is none of \p taken.
static std::optional<size_t> showTo(pthread_t thread, const ProcessorSet &mask,
                                    const ProcessorSet &taken) {
  for (size_t number = 0; number < mask.size(); ++number)
    if (mask[number] && !taken[number])
      return setMask(thread, ProcessorSet().set(number)) ? std::optional(number)
                                                         : std::nullopt;
  return std::nullopt;
}
#endif

void StartingPlace::place([[maybe_unused]] std::thread &thread,
                          [[maybe_unused]] const ProcessorSet &taken) {
#if defined(__linux__)
  State expected = State::Away;
  if (!state.compare_exchange_strong(expected, State::Placing,
                                     std::memory_order_acquire))
    return;
  restore = maskOf(thread.native_handle());
  const std::optional<size_t> number =
      showTo(thread.native_handle(), restore, taken);
  if (number)
    last.store(static_cast<int32_t>(*number), std::memory_order_relaxed);
  state.store(number ? State::Placed : State::Away, std::memory_order_release);
#endif
}

void StartingPlace::arrive() {
  State seen = State::Away;
  while (!state.compare_exchange_weak(seen, State::Awake,
                                      std::memory_order_acq_rel)) {
    if (seen == State::Placed)
      continue;
    // The other thread is inside a call of the system.
    std::this_thread::yield();
    seen = State::Away;
  }
#if defined(__linux__)
  if (seen == State::Placed)
    setMask(pthread_self(), restore);
  if (const std::optional<unsigned> number = currentProcessor())
    last.store(static_cast<int32_t>(*number), std::memory_order_relaxed);
#endif
}
