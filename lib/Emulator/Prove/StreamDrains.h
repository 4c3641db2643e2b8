// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains of order row or partition: which wait they turn into one for the
// first complete row or column of a stream, and that this is safe.
//
// Such a drain starts while its matmul still streams. Nothing else may rely on
// the wait: the drain reads exactly the entries of the matmul, one row or
// column after it, writes nothing that the matmul reads, and ends after it.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_STREAMDRAINS_H
#define ASHLAR_LIB_EMULATOR_PROVE_STREAMDRAINS_H

#include "Checks.h"
#include "ashlar/Emulator/Result.h"
#include <deque>
#include <vector>

namespace ashlar::emulator {

/// A wait that is satisfied before the signalling matmul is complete.
struct EarlyWait {
  uint32_t wait;   ///< Instruction index of the sem.wait.
  uint32_t matmul; ///< That signals it.
  uint64_t lead;   ///< Cycles before the matmul completes.
};

/// Walks the program in order.
class StreamDrains {
public:
  void operation(uint32_t index, unsigned queue);
  void signal(unsigned queue, unsigned semaphore);
  /// The semaphore must hold a signal.
  void wait(uint32_t index, unsigned queue, unsigned semaphore);
  /// A drain, before its operation(). \p accesses are its own.
  std::optional<Finding> drain(const isa::ActDrain &op,
                               llvm::ArrayRef<isa::Access> accesses,
                               llvm::ArrayRef<isa::Instruction> code,
                               const machine::Description &machine,
                               ProofWork &work);

  /// In the order of their waits.
  std::vector<EarlyWait> take() { return std::move(early); }

private:
  static constexpr uint32_t none = ~uint32_t(0);
  struct Taken {
    uint32_t wait, instruction;
  };

  uint32_t last[numQueues] = {none, none, none, none, none,
                              none, none, none, none, none};
  std::deque<uint32_t> semaphores[256];
  std::vector<Taken> taken; ///< By ACT, since its last operation.
  std::vector<EarlyWait> early;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_STREAMDRAINS_H
