// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of the instructions as values: what an instruction reads and
// writes, without the names of its fields. The records of dialects/ISA say
// which fields an operand consists of; ashlar-tblgen makes from them, for every
// instruction, visitOperands(x, visitor) and for each operand in SB or by
// address a function that gives it: operandA(x), operandDst(x), ..., of an
// instruction whose fields have no prefix operandOf(x).

#ifndef ASHLAR_ISA_OPERANDS_H
#define ASHLAR_ISA_OPERANDS_H

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Numerics/SparseCodes.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <initializer_list>

namespace ashlar::isa {

/// Loops of an access pattern, outermost first.
using Dims = llvm::SmallVector<AccessDim, 8>;

enum class Effect : uint8_t { Read, Write };

/// What all operands have.
struct Operand {
  Effect effect = Effect::Read;
  /// Its name in messages: "A", "source", "result". Null: it has none.
  const char *what = nullptr;
  Dims loops;

  bool writes() const { return effect == Effect::Write; }
  llvm::SmallVector<uint64_t, 5> counts() const {
    llvm::SmallVector<uint64_t, 5> all;
    for (const AccessDim &loop : loops)
      all.push_back(loop.count);
    return all;
  }
  llvm::SmallVector<int64_t, 5> strides() const {
    llvm::SmallVector<int64_t, 5> all;
    for (const AccessDim &loop : loops)
      all.push_back(loop.stride);
    return all;
  }
};

/// A tensor in SB whose channels run over partitions and then over tiles.
/// Offsets and strides are bytes of a partition.
struct TensorOperand : Operand {
  ElemType type = ElemType::F32;
  uint32_t mantissa = 0;
  uint32_t block = 0; ///< Channels of a block of an encoded result, 0: all.
  uint32_t part = 0;  ///< Partition of channel 0.
  uint64_t offset = 0;
  uint64_t channels = 1;      ///< Channels of the instruction.
  bool broadcastPart = false; ///< All of them use channel 0.
  int64_t tileStride = 0;     ///< Distance of two channel tiles.
  Orientation orientation = Orientation::P;
  /// An axis along which data choose the element.
  AccessDim axis;
  bool cells = true; ///< Exponents of encoded elements matter.

  /// Channels that lie in memory.
  uint64_t ownChannels() const { return broadcastPart ? 1 : channels; }
  unsigned bytes() const { return elementBytes(type, mantissa); }
  bool encoded() const { return isBlock(type); }
};

/// The same pattern in partitions [part, part + rows) of SB.
struct RowsOperand : Operand {
  ElemType type = ElemType::F32;
  uint32_t mantissa = 0;
  unsigned bytes = 0; ///< Of an element; 0: those of the type.
  uint64_t part = 0;
  uint64_t rows = 1;
  int64_t offset = 0;
  Orientation orientation = Orientation::P;

  unsigned elementSize() const {
    return bytes ? bytes : elementBytes(type, mantissa);
  }
};

/// Elements of a memory by linear address, in bytes.
struct LinearOperand : Operand {
  Memory mem = Memory::Dram;
  uint64_t base = 0;
  unsigned bytes = 1;
  /// An axis along which data choose the element.
  AccessDim axis;
};

/// Elements of a dense tensor: the product of its extents. More than any memory
/// holds stays so.
inline uint64_t denseCount(std::initializer_list<uint64_t> extents) {
  uint64_t count = 1;
  for (uint64_t extent : extents)
    count = std::min(count, uint64_t(1) << 43) * extent;
  return std::min(count, uint64_t(1) << 43);
}

/// A stream of codes of `bits` bits in DRAM, one for each index, of which all
/// or some are stored.
struct CodesOperand : Operand {
  uint64_t base = 0;
  unsigned bits = 0;
  CodeForm form = CodeForm::Dense;
  unsigned unit = 0;
  uint64_t stored = 0;

  /// Dimensions that the queue repeats: of exponents, 3 repeats rows of codes,
  /// or 2 does and 4 repeats each code of them.
  bool repeats(size_t dim) const {
    return form == CodeForm::Exponents &&
           (unit == 1 ? dim == 3 : unit == 2 && (dim == 2 || dim == 4));
  }
  /// The stream as its codec describes it.
  numerics::CodeStream stream() const;
};

/// Entries of PSUM in columns [0, columns).
struct PsumOperand : Operand {
  uint32_t base = 0, columns = 1;
};

/// Consecutive scale-exponent or statistics registers. A write that merges
/// joins the old value, in any order.
struct RegisterOperand : Operand {
  Space space = Space::Xr;
  uint32_t index = 0, count = 1;
  bool merge = false;
};

/// The register of a result's scale exponent; it matters if that is encoded.
struct ScaleOperand : Operand {
  ElemType type = ElemType::F32;
  uint32_t xr = 0;
  bool xrClear = false; ///< The old value is forgotten.
  bool given = false;   ///< The exponent is read, not merged.
  bool keepOwn = false; ///< Another register collects what is not taken.
};

/// One of the sets of the array as a whole.
struct WholeOperand : Operand {
  Space space = Space::Shadow;
};

/// `run` consecutive units of a memory of the sparse cluster.
struct ClusterOperand : Operand {
  Space space = Space::Tiles;
  uint64_t base = 0, run = 1;
  bool merge = false;
};

/// What a visitor of operands does with those that it does not look at, and
/// with those that fields alone do not describe: nothing, or what it does with
/// the operand as the fields say it.
template <typename Derived>
struct OperandVisitor {
  void tensor(const TensorOperand &) {}
  void rows(const RowsOperand &) {}
  void linear(const LinearOperand &) {}
  void codes(const CodesOperand &) {}
  void psum(const PsumOperand &) {}
  void registers(const RegisterOperand &) {}
  void scale(const ScaleOperand &) {}
  void whole(const WholeOperand &) {}
  void cluster(const ClusterOperand &) {}

  /// What windows reach of the source of a pool.
  void pooled(const VecPool &, const TensorOperand &o) { self().tensor(o); }
  /// What lies in [lo, hi) of a moving operand, in its row groups.
  void moving(const PeMatmul &, const RowsOperand &o) { self().rows(o); }
  /// What a form of compression reads, as often as it does.
  void compressed(const DmaCompress &, const LinearOperand &o) {
    self().linear(o);
  }
  /// Channels that may begin in a later channel tile.
  void tiles(const DmaTile &, const TensorOperand &o) { self().tensor(o); }
  /// Accumulators of the cluster that a drain reads.
  void accumulators(const ActDrain &, Effect) {}
  void accumulators(const ActPool &, Effect) {}
  /// Slots and cells of a buffer set.
  template <typename Op>
  void featureMaps(const Op &, Effect) {}

private:
  Derived &self() { return static_cast<Derived &>(*this); }
};

#include "ashlar/Isa/Operands.h.inc"

} // namespace ashlar::isa

#endif // ASHLAR_ISA_OPERANDS_H
