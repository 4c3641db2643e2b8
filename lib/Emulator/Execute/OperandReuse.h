// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving operands that several matmuls share. A layer whose output channels
// need several column tiles streams the same operand once per tile; fetching,
// aligning and packing it again each time would cost the host more than the
// products. A program has no branches, so which matmuls find the same bytes is
// known when it is loaded; a run only keeps packed operands for as long as
// there is use for them.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDREUSE_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDREUSE_H

#include "../Prove/ProofWork.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace ashlar::emulator {

inline constexpr uint32_t noOperand = ~uint32_t(0);
/// The operands of several matmuls one below the other; never found again.
inline constexpr uint32_t mergedOperand = noOperand - 1;

/// Finds shared operands while the loader walks over the program.
class OperandReuse {
public:
  /// To be called for every instruction with its accesses, in program order.
  void step(uint32_t index, const isa::Instruction &inst,
            llvm::ArrayRef<isa::Access> accesses, ProofWork &work);

  /// The operand of a matmul, except of select mode.
  uint32_t operandOf(uint32_t index) const { return operands[index]; }
  /// Matmuls with this operand.
  uint32_t usesOf(uint32_t operand) const { return uses[operand]; }

  /// What the walk has found, to be kept and given back without one.
  struct Found {
    llvm::ArrayRef<uint32_t> operands, uses;
  };
  Found found() const { return {operands, uses}; }
  void restore(std::vector<uint32_t> allOperands,
               std::vector<uint32_t> allUses) {
    operands = std::move(allOperands);
    uses = std::move(allUses);
  }

private:
  /// All fields that choose what is fetched.
  using Key = std::array<int64_t, 26>;
  struct Live {
    Key key = {};
    uint32_t operand = 0;
    uint32_t lastUse = 0;
    llvm::SmallVector<isa::Access, 3> reads;
  };
  /// Hull of what an operand reads of each space: SB, XM, XR. Kept apart from
  /// the rest, because every write is compared with all of them.
  struct Hull {
    int64_t begin = 0, end = 0;
    uint32_t partBegin = 0, partEnd = 0;
  };
  using Hulls = std::array<Hull, 3>;

  static Key keyOf(const isa::PeMatmul &op);
  void use(uint32_t index, const isa::PeMatmul &op,
           llvm::ArrayRef<isa::Access> accesses);
  void written(const isa::Access &access, ProofWork &work);

  static Hulls hullsOf(const Live &live);

  std::vector<Live> live;         ///< Operands that nothing has overwritten.
  std::vector<Hulls> hulls;       ///< Of `live`.
  std::vector<uint32_t> operands; ///< Per instruction, up to the last matmul.
  std::vector<uint32_t> uses;     ///< Per operand.
};

/// The packed operands of a run.
class OperandCache {
public:
  struct Slot {
    uint32_t operand = noOperand;
    uint32_t usesLeft = 0;
    uint64_t lastUse = 0;
    uint64_t bytes = 0;
    /// What fetching counted; every further use counts it again.
    uint64_t saturated = 0;
    numerics::PackedMoving packed;
  };

  /// The slot of an operand, or null.
  Slot *find(uint32_t operand);
  /// Whether insert() would have to give up another operand.
  bool isFull(uint64_t bytes) const;
  /// A slot for an operand of about `bytes` that `uses` matmuls share.
  /// References to slots stay valid until they are given up.
  Slot &insert(uint32_t operand, uint32_t uses, uint64_t bytes);
  /// One use is over.
  void release(Slot &slot);
  void clear() { slots.clear(); }

private:
  std::deque<Slot> slots;
  uint64_t clock = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_OPERANDREUSE_H
