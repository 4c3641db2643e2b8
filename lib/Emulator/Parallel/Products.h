// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loads and matmuls the sums of a drain come from. A thread that executes
// a drain may execute these itself: sets of the array, packed operands and
// sums belong to the engine that makes them, and a program only sees what its
// drains write.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_PRODUCTS_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_PRODUCTS_H

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// Walks over a program in order.
class Products {
public:
  static constexpr uint32_t none = ~uint32_t(0);

  /// An instruction that reads PSUM.
  struct Reader {
    uint32_t index;
    /// Every matmul that its entries may hold sums of, in program order.
    llvm::SmallVector<uint32_t, 8> matmuls;
  };

  explicit Products(size_t numInstructions)
      : sets(numInstructions, none), swaps(numInstructions, none) {}

  /// The next instruction. False if PSUM is used in a way that is not followed
  /// here, or more than the loader has time for.
  bool step(uint32_t index, const isa::Instruction &inst,
            llvm::ArrayRef<isa::Access> accesses);

  llvm::ArrayRef<Reader> readers() const { return found; }
  /// The pe.load of the set that a matmul multiplies with.
  uint32_t loadOf(uint32_t matmul) const { return sets[matmul]; }
  /// The pe.swap that makes a loaded set the active one; none if another load
  /// replaces it before.
  uint32_t swapOf(uint32_t load) const { return swaps[load]; }

private:
  /// A matmul whose sums may still be in some entries and columns.
  struct Live {
    uint32_t matmul;
    int64_t begin, end;
    uint32_t partBegin, partEnd;

    bool meets(const isa::Access &access) const {
      return begin < access.end && access.begin < end &&
             partBegin < access.partEnd && access.partBegin < partEnd;
    }
  };

  void matmul(uint32_t index, bool accumulates,
              llvm::ArrayRef<isa::Access> accesses);
  void forget(const isa::Access &replaced);
  bool reads(uint32_t index, llvm::ArrayRef<isa::Access> accesses);

  std::vector<Live> live;
  std::vector<Reader> found;
  std::vector<uint32_t> sets, swaps;
  uint32_t shadow = none, active = none;
  uint64_t steps = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_PRODUCTS_H
