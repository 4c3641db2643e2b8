// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When cycles may be counted beside the execution.

#include "AccountThread.h"
#include "llvm/ADT/STLExtras.h"
#include <system_error>

using namespace ashlar;
using namespace ashlar::emulator;

/// Whether the exponent of a result comes from a register.
template <typename Op>
static bool takesGivenExponent(const Op &op) {
  if constexpr (requires { op.cellFromXr; })
    return op.cellFromXr;
  return false;
}

bool emulator::dataDecidesTime(llvm::ArrayRef<isa::Instruction> code) {
  return llvm::any_of(code, [](const isa::Instruction &inst) {
    const auto *run = std::get_if<isa::TccRun>(&inst);
    return (run && run->scatter) ||
           std::holds_alternative<isa::DmaGather>(inst) ||
           std::holds_alternative<isa::DmaPut>(inst) ||
           std::holds_alternative<isa::DmaCompress>(inst) ||
           std::holds_alternative<isa::DmaExpand>(inst) ||
           std::holds_alternative<isa::HostNonzero>(inst) ||
           std::holds_alternative<isa::HostSort>(inst) ||
           std::holds_alternative<isa::HostUnique>(inst) ||
           std::holds_alternative<isa::HostNms>(inst) ||
           // Tables that a run cuts decide what loads, runs and drains take.
           std::holds_alternative<isa::TccNnz>(inst) ||
           std::holds_alternative<isa::TccPart>(inst) ||
           std::holds_alternative<isa::TccOperand>(inst) ||
           std::holds_alternative<isa::TccBind>(inst) ||
           // Blocks beyond a given exponent run again; those without one are
           // measured first.
           std::visit([](const auto &op) { return takesGivenExponent(op); },
                      inst);
  });
}

AccountThread::AccountThread(const LoadedProgram::Impl &impl,
                             const Options &options, RunResult &result) {
  if (!options.functional || !options.timing || options.threads < 2 ||
      dataDecidesTime(impl.code))
    return;
  try {
    thread = std::thread([&] { accountCycles(impl, options, result); });
  } catch (const std::system_error &) {
    // No thread: the account follows the execution.
  }
}

bool AccountThread::finish() {
  if (!thread.joinable())
    return false;
  thread.join();
  return true;
}
