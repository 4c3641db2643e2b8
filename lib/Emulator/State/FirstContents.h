// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What memories hold before the first run: the constants in DRAM, and pages of
// the host for the others.

#ifndef ASHLAR_LIB_EMULATOR_STATE_FIRSTCONTENTS_H
#define ASHLAR_LIB_EMULATOR_STATE_FIRSTCONTENTS_H

#include "Memory.h"
#include "ashlar/Container/Container.h"
#include <atomic>
#include <thread>

namespace ashlar::emulator {

/// Puts the constants of a program into DRAM.
void copyConstants(const container::Program &program, Memory &memory);

/// Does so on a thread of its own, and takes the pages that a run will touch,
/// while the caller decodes and proves the program: no proof looks there. Where
/// there is no thread, or none is allowed, the caller does it in finish().
class FirstContents {
public:
  /// DRAM is allocated before, or, where `threads` is 1, before finish(). Both
  /// objects outlive this one.
  FirstContents(const container::Program &program, Memory &memory,
                unsigned threads);
  ~FirstContents();
  FirstContents(const FirstContents &) = delete;
  FirstContents &operator=(const FirstContents &) = delete;

  /// All memories are allocated: their pages may be taken.
  void allocated();
  /// Returns when the constants are there.
  void finish();

private:
  /// Whether the memories beside DRAM are allocated. An atomic rather than a
  /// promise: that uses thread-local storage of the C++ library, which a
  /// process that loads this one late, such as Python, may have no room for.
  enum class Others { Unknown, Allocated, Missing };

  void tell(Others state);

  const container::Program &program;
  Memory &memory;
  std::atomic<Others> others = Others::Unknown;
  std::thread thread;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_FIRSTCONTENTS_H
