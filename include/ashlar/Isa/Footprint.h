// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction reads and writes, in every memory. The race check orders
// conflicting accesses; the compiler uses the same footprints to place
// semaphores. A footprint never omits a byte; it may name more than the
// instruction touches where a pattern has more than Access::maxDims dimensions.

#ifndef ASHLAR_ISA_FOOTPRINT_H
#define ASHLAR_ISA_FOOTPRINT_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"

#include <array>
#include <string>

namespace ashlar::isa {

/// A memory that instructions can conflict in.
enum class Space : uint8_t {
  Dram,
  Sb,
  Xm,
  Psum,
  Xr,
  Sr,
  Fmu,
  Wm,
  Acc,
  Tiles,
  Counts,
  Shadow,
  Active
};

/// "dram", "sb", ...
llvm::StringRef spaceName(Space space);

/// One dimension of a pattern: `count` steps of `stride` units.
struct AccessDim {
  uint64_t count = 1;
  int64_t stride = 0;
  bool operator==(const AccessDim &) const = default;
};

/// One read or write: in each partition of [partBegin, partEnd) the runs
/// [base + sum i[d]*stride[d], + runLength) over all indices.
///
/// | space | partition | unit |
/// |---|---|---|
/// | Sb | SB partition | byte of the partition |
/// | Xm | partition div xmGroup | cell |
/// | Psum | column | entry |
/// | Xr, Sr | 0 | register |
/// | Dram, Wm | 0 | byte |
/// | Fmu | buffer set, of all units | byte of the set |
/// | Acc | 0, all units | accumulator entry |
/// | Tiles | 0 | tile table |
/// | Counts | 0 | counter of non-zeros |
/// | Shadow, Active | 0 | the whole set, [0, 1) |
struct Access {
  static constexpr unsigned maxDims = 5;

  Space space = Space::Sb;
  bool write = false;
  /// Merges, in any order (XR, SR and Counts only): does not conflict with
  /// another merge.
  bool merge = false;
  /// Every unit of the pattern is touched. False where the pattern is a
  /// superset: such a write is ordered like any other, but it defines nothing.
  bool exact = true;
  uint32_t partBegin = 0, partEnd = 1;
  int64_t base = 0;
  uint64_t runLength = 1;
  unsigned numDims = 0;
  std::array<AccessDim, maxDims> dims = {};
  /// Bounding box [begin, end) of the units; may be negative or beyond the
  /// memory, which the loader refuses.
  int64_t begin = 0, end = 1;
};

/// Appends the accesses of \p inst, which must be legal (verify()). Semaphore
/// instructions have none.
///
/// - SB accesses to encoded data are accompanied by accesses to their XM cells.
/// - Counting that clears gives a write of the counters, else a merge.
/// - An operation that both reads and writes an XR register (xr.merge without
///   clear, xr.predict) gives both accesses; an encode, vec.stat or vec.measure
///   that clears gives a write, else a merge; an encode under a given exponent
///   reads its register.
/// - pe.load writes Shadow; pe.swap reads Shadow and writes both sets;
/// pe.matmul
///   reads Active.
/// - tcc.run reads all of its buffer set: buffers have a single port.
/// - Instructions that take tiles from a table cover all that their fields
///   allow; units work in step, so one access stands for all of them.
/// - DMA that addresses SB or XM linearly is split by partition where its
///   strides allow, else it covers whole partitions and is not exact.
void footprints(const Instruction &inst, const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out);

/// What a dma.tile reads of SB and XM when its channels start \p channel later.
void loadSource(const DmaTile &op, uint64_t channel,
                const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out);

/// What an act.drain reads and writes of SB and XM.
void drainMemory(const ActDrain &op, const machine::Description &machine,
                 llvm::SmallVectorImpl<Access> &out);

/// Whether two accesses may touch the same unit and at least one changes it:
/// exact for interleaved patterns and for those of few runs, by bounding box
/// otherwise. Never false for accesses that do conflict.
bool conflict(const Access &a, const Access &b);
/// The same; adds the comparisons that it took, each of some nanoseconds, to
/// \p steps.
bool conflict(const Access &a, const Access &b, uint64_t &steps);

/// What the compiler asks before it omits a semaphore: never false where
/// conflict() is true, and true where that takes many comparisons to refute.
bool mayConflict(const Access &a, const Access &b);

/// "writes sb[0..8)[128..256)", for messages.
std::string describe(const Access &access);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_FOOTPRINT_H
