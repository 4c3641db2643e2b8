// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The account of cycles beside the execution. Where no cycle depends on what
// instructions find in memory, time is known from the program alone.

#ifndef ASHLAR_LIB_EMULATOR_TIME_ACCOUNTTHREAD_H
#define ASHLAR_LIB_EMULATOR_TIME_ACCOUNTTHREAD_H

#include "../Impl.h"
#include <thread>

namespace ashlar::emulator {

/// Whether contents of memory decide how long an instruction takes: it then
/// notes its cost as it executes (Engine::measured).
bool dataDecidesTime(llvm::ArrayRef<isa::Instruction> code);

/// Fills the timed fields of a result, which no execution writes, on a thread
/// of its own if that is allowed and the host has one.
class AccountThread {
public:
  AccountThread(const LoadedProgram::Impl &impl, const Options &options,
                RunResult &result);
  /// Waits: the result must not go before its writer.
  ~AccountThread() { finish(); }
  AccountThread(const AccountThread &) = delete;
  AccountThread &operator=(const AccountThread &) = delete;

  /// Waits; true if the account is done.
  bool finish();

private:
  std::thread thread;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_ACCOUNTTHREAD_H
