// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where threads start. A system that packs tasks starts a new or woken thread
// on the processor of the thread that asks for it. If that one goes on working,
// the other one waits there for the next balancing of loads, some milliseconds
// away, while other processors are idle. So a thread that is about to run is
// shown to a processor; as soon as it runs it may go wherever it could before.

#ifndef ASHLAR_SUPPORT_PROCESSORS_H
#define ASHLAR_SUPPORT_PROCESSORS_H

#include <atomic>
#include <bitset>
#include <cstdint>
#include <optional>
#include <thread>

namespace ashlar::support {

/// Processors by number. On larger systems no thread is placed.
using ProcessorSet = std::bitset<1024>;

/// The processor that the calling thread runs on, where the system tells.
std::optional<unsigned> currentProcessor();

/// Where one thread is to start. Does nothing where the system has no masks of
/// processors. Another thread may call place() at any time; the thread itself
/// calls arrive() and leave() in turn.
class StartingPlace {
public:
  /// Shows \p thread, which this place belongs to, to a processor that its mask
  /// allows and that is none of \p taken. Nothing happens to a thread that is
  /// awake or has a place already, or if all processors are taken. The thread
  /// must not be joined meanwhile.
  void place(std::thread &thread, const ProcessorSet &taken);

  /// The thread runs: gives it back the mask that it had before place().
  void arrive();
  /// The thread is about to sleep. A thread that has just been created is in
  /// the same state.
  void leave() { state.store(State::Away, std::memory_order_release); }

  /// Whether the thread sleeps or has not run yet, and has no place.
  bool isAway() const {
    return state.load(std::memory_order_relaxed) == State::Away;
  }
  /// The processor that the thread was seen on last, or that it is to start on.
  std::optional<unsigned> processor() const {
    const int32_t number = last.load(std::memory_order_relaxed);
    return number < 0 ? std::nullopt : std::optional(unsigned(number));
  }

private:
  enum class State : uint8_t {
    Away,    ///< Sleeps, or has not run yet.
    Placing, ///< Its mask is being changed.
    Placed,  ///< `restore` has to be undone.
    Awake,
  };
  std::atomic<State> state{State::Away};
  std::atomic<int32_t> last{-1};
  /// Written by who has made the state Placing, read by the thread once the
  /// state is Placed.
  ProcessorSet restore;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_PROCESSORS_H
