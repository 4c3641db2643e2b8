// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs for one block of the machine, free of races, as queues run
// them side by side.

#ifndef ASHLAR_TEST_RTL_PROGRAMS_H
#define ASHLAR_TEST_RTL_PROGRAMS_H

#include "Chip.h"
#include "ashlar/Isa/Instruction.h"
#include <optional>
#include <random>

namespace ashlar::rtl {

/// A program without semaphores, the machine it is for and what lies in DRAM.
struct Draft {
  machine::Description machine;
  std::vector<uint8_t> image; ///< Of DRAM.
  std::vector<isa::Instruction> operations;
  size_t fixed = 0; ///< The first ones, which fill the memories.
  /// Elements of N:M weights that are pruned have this value: 0, or the zero
  /// point of their loads.
  int32_t pruned = 0;
  /// Signals of the array stand after the waits of its next operation, where
  /// nothing needs them before that.
  bool lateSignals = false;
};

/// A matmul's operand words, three loops and a window.
struct Loops {
  uint32_t n[3];
  int32_t stride[3];
};

/// Draws numbers; the same seed gives the same program everywhere.
class Dice {
public:
  explicit Dice(uint64_t seed) : state(seed) {}
  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  std::mt19937_64 state;
};

/// Which prices a drawn machine may have.
struct Prices {
  bool engines = false; ///< PSUM ports, functions of ACT.
  bool copies = false;  ///< Set-up, latency on chip and runs of copies.
  bool ports = false;   ///< Banks of SB.
};

/// A machine of the chip's sizes.
machine::Description drawMachine(Dice &dice, const Sizes &sizes,
                                 const Prices &prices);

/// DRAM: SB, then XM, then parameters of the epilogue, as `fillMemories` copies
/// them.
std::vector<uint8_t> drawImage(Dice &dice, const machine::Description &machine,
                               size_t bytes);

/// The last bytes of the image: an operand of N:M weights in words of two
/// bytes, a row of the array after the other. Random copies leave them alone.
uint64_t patternBytes(const machine::Description &machine);
/// Draws `pruned` and writes the operand into the image.
void drawWeights(Dice &dice, Draft &draft);

/// Copies that fill SB and XM from the image, and registers 0 to 7.
void fillMemories(Dice &dice, Draft &draft);

// One random operation or group of operations.
isa::Instruction drawCopy(Dice &dice, const Draft &draft);
isa::PeLoad drawLoad(Dice &dice, const machine::Description &machine);
/// Makes \p load one of N:M weights, now and then: returns the copy of such
/// weights that it has to follow.
std::optional<isa::DmaCopy> drawPruned(Dice &dice, const Draft &draft,
                                       isa::PeLoad &load);
isa::PeMatmul drawMatmul(Dice &dice, const machine::Description &machine,
                         const isa::PeLoad &load);
isa::ActDrain drawDrain(Dice &dice, const machine::Description &machine,
                        const isa::PeLoad &load, const isa::PeMatmul &matmul);

/// Offset of three loops of elements of \p bytes bytes inside \p room bytes;
/// false if they do not fit.
bool place(Dice &dice, const Loops &loops, int64_t bytes, int64_t room,
           int64_t &offset);

/// A random program for `array`, `drain` or `dma`.
Draft drawProgram(uint64_t seed, llvm::StringRef block, const Sizes &sizes,
                  const Prices &prices);

/// Whether the loader's proof takes an operation for a reader of what an older
/// one of its queue writes though no byte is the same. The emulator then waits
/// for the older one, the hardware does not; nothing says that it must not.
bool waitsForNothing(const Draft &draft, const isa::Instruction &next);

/// The operations in their order with the semaphores that keep the queues from
/// racing, encoded.
std::vector<isa::Instruction> withSemaphores(const Draft &draft);

/// Semaphores of such a program.
inline constexpr unsigned semaphoresUsed = 128;

} // namespace ashlar::rtl

#endif // ASHLAR_TEST_RTL_PROGRAMS_H
