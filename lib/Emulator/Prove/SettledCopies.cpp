// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who writes where, by squares of units and partitions: two instructions that
// write into one square are taken to meet.

#include "SettledCopies.h"
#include "ashlar/Isa/Footprint.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <array>
#include <optional>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

namespace {

constexpr uint32_t noWriter = ~uint32_t(0), manyWriters = noWriter - 1;

/// The writers of one memory. A square has a cache line's worth of units or
/// more, so that large memories take no more work than small ones.
class WriterMap {
public:
  WriterMap(uint64_t units, uint64_t partitions)
      : unitsPerSquare(std::max<uint64_t>(
            16, llvm::divideCeil(units, uint64_t(mostSquares)))),
        partsPerSquare(
            std::max<uint64_t>(1, llvm::divideCeil(partitions, rows))),
        columns(llvm::divideCeil(units, unitsPerSquare) + 1),
        writers(columns * rows, noWriter) {}

  /// Calls fn(writer) for the squares that the box of an access reaches.
  template <typename Fn>
  void forSquares(const Access &access, Fn fn) {
    if (access.end <= access.begin || access.partEnd <= access.partBegin)
      return;
    const auto squareOf = [&](int64_t unit) {
      return std::min<uint64_t>(
          static_cast<uint64_t>(std::max<int64_t>(unit, 0)) / unitsPerSquare,
          columns - 1);
    };
    const auto rowOf = [&](uint64_t part) {
      return std::min<uint64_t>(part / partsPerSquare, rows - 1);
    };
    for (uint64_t row = rowOf(access.partBegin);
         row <= rowOf(access.partEnd - 1); ++row)
      for (uint64_t column = squareOf(access.begin);
           column <= squareOf(access.end - 1); ++column)
        fn(writers[row * columns + column]);
  }

private:
  static constexpr uint64_t mostSquares = 8192, rows = 8;

  uint64_t unitsPerSquare, partsPerSquare, columns;
  std::vector<uint32_t> writers;
};

/// The memories that keep their contents between runs.
class KeptMemories {
public:
  explicit KeptMemories(const machine::Description &machine)
      : maps{
            WriterMap(machine.sb.bytesPerPartition, machine.sb.partitions),
            WriterMap(machine.sb.bytesPerPartition,
                      llvm::divideCeil(machine.sb.partitions, machine.xmGroup)),
            WriterMap(machine.sparse.wmBytes, 1)} {}

  /// Null for the other memories.
  WriterMap *of(Space space) {
    switch (space) {
    case Space::Sb:
      return &maps[0];
    case Space::Xm:
      return &maps[1];
    case Space::Wm:
      return &maps[2];
    default:
      return nullptr;
    }
  }

private:
  std::array<WriterMap, 3> maps;
};

} // namespace

static bool isTransfer(const isa::Instruction &inst) {
  return std::holds_alternative<isa::DmaCopy>(inst) ||
         std::holds_alternative<isa::DmaFill>(inst) ||
         std::holds_alternative<isa::DmaUnpack>(inst);
}

/// Whether all of an access lies in one segment of constants, which no program
/// may write to.
static bool readsConstants(const Access &access,
                           llvm::ArrayRef<container::Segment> constants) {
  return access.space == Space::Dram && access.begin >= 0 &&
         llvm::any_of(constants, [&](const container::Segment &segment) {
           const auto begin = static_cast<uint64_t>(access.begin),
                      end = static_cast<uint64_t>(access.end);
           return segment.dramOffset <= begin &&
                  end <= segment.dramOffset + segment.bytes.size();
         });
}

std::vector<bool> emulator::settledCopies(llvm::ArrayRef<isa::Instruction> code,
                                          const container::Program &program) {
  KeptMemories memories(program.machine);
  std::vector<bool> settled(code.size());
  std::vector<std::vector<Access>> written(code.size());
  llvm::SmallVector<Access, 16> accesses;
  for (uint32_t i = 0; i < code.size(); ++i) {
    accesses.clear();
    isa::footprints(code[i], program.machine, accesses);
    settled[i] = isTransfer(code[i]) &&
                 llvm::all_of(accesses, [&](const Access &access) {
                   return access.write
                              ? memories.of(access.space) != nullptr
                              : readsConstants(access, program.constants);
                 });
    for (const Access &access : accesses) {
      WriterMap *map = access.write ? memories.of(access.space) : nullptr;
      if (!map)
        continue;
      map->forSquares(access, [&](uint32_t &writer) {
        writer = writer == noWriter || writer == i ? i : manyWriters;
      });
      if (settled[i])
        written[i].push_back(access);
    }
  }
  for (uint32_t i = 0; i < code.size(); ++i)
    for (const Access &access : written[i])
      memories.of(access.space)->forSquares(access, [&](uint32_t &writer) {
        if (writer != i)
          settled[i] = false;
      });
  return settled;
}
