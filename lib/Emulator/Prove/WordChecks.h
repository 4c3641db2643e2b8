// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the verifier follows through the program for words and transposes: the
// contents of identity windows, which accumulators hold words and where these
// come from, and drains that follow a stream.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_WORDCHECKS_H
#define ASHLAR_LIB_EMULATOR_PROVE_WORDCHECKS_H

#include "Checks.h"
#include "ashlar/Container/Container.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace ashlar::emulator {

/// Fields of the array's operands that depend on mode and orientation.
std::optional<Finding> checkOrientation(const isa::PeLoad &op,
                                        const machine::Description &machine);
std::optional<Finding> checkOrientation(const isa::PeMatmul &op,
                                        const machine::Description &machine);
/// An identity window is square and reads memory at every step.
/// Results with blocks along the free axis: encoded words that move, or the
/// consecutive entries of a lane in mode f32.
std::optional<Finding> checkBlocksAlong(const isa::ActDrain &op,
                                        const machine::Description &machine);
std::optional<Finding> checkWindow(const isa::PeMatmul &op);
/// act.drain of mode raw64.
std::optional<Finding> checkWordDrain(const isa::ActDrain &op,
                                      const machine::Description &machine);

/// Walks the program in order and knows the bytes of identity windows that
/// constants and fills have written; what computations or inputs write, and
/// windows beyond the first few, are checked when they are used.
class WindowContents {
public:
  /// Finds the windows of all instructions.
  void collect(llvm::ArrayRef<isa::Instruction> code);
  void step(const isa::Instruction &inst, llvm::ArrayRef<isa::Access> accesses,
            const container::Program &program, ProofWork &work);
  /// The first element of the window that is known to be wrong.
  std::optional<Finding> check(const isa::PeMatmul &op) const;

private:
  struct Window {
    uint64_t part, rows, begin, end; ///< Bytes [begin, end) per partition.
    std::vector<int16_t> bytes;      ///< rows x (end - begin); -1: unknown.
  };
  static bool isAt(const Window &a, const Window &b) {
    return a.part == b.part && a.rows == b.rows && a.begin == b.begin &&
           a.end == b.end;
  }
  static Window windowOf(const isa::PeMatmul &op);
  bool touches(const Window &window,
               llvm::ArrayRef<isa::Access> accesses) const;
  void forget(Window &window, llvm::ArrayRef<isa::Access> accesses) const;
  void copy(const isa::DmaCopy &op, const container::Program &program);
  void fill(const isa::DmaFill &op);
  void put(uint64_t address, llvm::ArrayRef<uint8_t> bytes);

  std::vector<Window> windows;
  uint64_t pitch = 1;
};

/// Which accumulators hold words, and what was transposed into them.
class WordEntries {
public:
  explicit WordEntries(ProofWork &work) : work(work) {}

  void allocate(const machine::Description &machine);
  void load(const isa::PeLoad &op, llvm::ArrayRef<isa::Access> accesses);
  void swap();
  std::optional<Finding> matmul(const isa::PeMatmul &op,
                                llvm::ArrayRef<isa::Access> accesses);
  std::optional<Finding> drain(const isa::ActDrain &op,
                               llvm::ArrayRef<isa::Access> accesses);

private:
  /// What a stationary set of words was loaded from.
  struct Source {
    isa::OperandMode mode = isa::OperandMode::Bfp;
    isa::ElemType type = isa::ElemType::F32;
    unsigned mantissa = 0;
    isa::Orientation orientation = isa::Orientation::P;
    llvm::SmallVector<isa::Access, 4> reads; ///< Of SB.
  };
  /// One stream of words.
  struct Flow {
    Source source;
    bool identity = false;
  };
  /// What an entry holds: sums of integers, if it has no flow.
  struct Entry {
    std::shared_ptr<const Flow> flow;
    uint32_t columns = 0;
    uint32_t sums = 0; ///< Columns from 0 on that hold sums again.

    /// The flow that the first \p cols columns hold, or null.
    const Flow *of(uint32_t cols) const {
      return cols > sums ? flow.get() : nullptr;
    }
  };

  std::optional<Finding> accumulated(const isa::PeMatmul &op, Flow &flow);
  std::optional<Finding> drained(const isa::ActDrain &op, const Flow *flow,
                                 llvm::ArrayRef<isa::Access> accesses) const;
  static void joinReads(llvm::SmallVectorImpl<isa::Access> &reads);

  ProofWork &work;
  Source shadow, active;
  std::vector<Entry> entries;
  bool anyWords = false; ///< Nothing to follow before the first word.
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_WORDCHECKS_H
