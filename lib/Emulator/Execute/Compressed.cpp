// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.compress and dma.expand: cells of a feature map through planes. What a
// cell holds decides how long it takes.

#include "Compressed.h"
#include "../State/LinearAddress.h"
#include "Engine.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Partition/Compress.h"
#include "ashlar/Support/Error.h"
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using partition::Plane;

namespace {

/// SB addresses of the elements of one cell.
struct CellPattern {
  uint64_t base;
  uint64_t rows[2];
  uint64_t cols;
  int64_t stride[3];
  unsigned bytes;
};

} // namespace

/// Calls fn(address, index) for every element, index counting row by row.
template <typename Fn>
static void forElements(const CellPattern &cell, Fn fn) {
  size_t index = 0;
  for (uint64_t i = 0; i < cell.rows[0]; ++i)
    for (uint64_t j = 0; j < cell.rows[1]; ++j) {
      uint64_t at = cell.base + i * static_cast<uint64_t>(cell.stride[0]) +
                    j * static_cast<uint64_t>(cell.stride[1]);
      for (uint64_t k = 0; k < cell.cols; ++k, ++index) {
        fn(at, index);
        at += static_cast<uint64_t>(cell.stride[2]);
      }
    }
}

/// The plane of a cell, elements as signed numbers.
static Plane readPlane(Memory &memory, const CellPattern &cell) {
  Plane plane{static_cast<int64_t>(cell.rows[0] * cell.rows[1]),
              static_cast<int64_t>(cell.cols), cell.bytes, 0,
              std::vector<int32_t>(cell.rows[0] * cell.rows[1] * cell.cols)};
  const unsigned shift = 32 - 8 * cell.bytes;
  forElements(cell, [&](uint64_t address, size_t index) {
    // An element may straddle a row of SB.
    uint32_t value = 0;
    for (unsigned b = 0; b < cell.bytes; ++b)
      value |= uint32_t(*translate(memory, isa::Memory::Sb, address + b))
               << 8 * b;
    plane.values[index] = static_cast<int32_t>(value << shift) >> shift;
  });
  return plane;
}

static void writePlane(Memory &memory, const CellPattern &cell,
                       const Plane &plane) {
  forElements(cell, [&](uint64_t address, size_t index) {
    for (unsigned b = 0; b < cell.bytes; ++b)
      *translate(memory, isa::Memory::Sb, address + b) =
          static_cast<uint8_t>(plane.values[index] >> 8 * b);
  });
}

llvm::Expected<StoredCell> emulator::readCell(llvm::ArrayRef<uint8_t> room,
                                              uint64_t rows, uint64_t cols,
                                              unsigned bytes) {
  auto head = partition::readHeader(room, rows * cols);
  if (!head)
    return head.takeError();
  if (head->bytes > room.size() || head->elementBytes != bytes ||
      head->zero != 0 || static_cast<uint64_t>(head->rows) != rows ||
      static_cast<uint64_t>(head->cols) != cols)
    return makeError(ErrorClass::Malformed,
                     "a plane of {} x {} elements of {} bytes with zero {} in "
                     "{} bytes, expected {} x {} of {} with zero 0 in at most "
                     "{}",
                     head->rows, head->cols, head->elementBytes, head->zero,
                     head->bytes, rows, cols, bytes, room.size());
  auto plane = partition::decompress(room.take_front(head->bytes), rows * cols);
  if (!plane)
    return plane.takeError();
  return StoredCell{std::move(*plane), head->bytes};
}

void Engine::execute(const isa::DmaCompress &op) {
  const uint64_t cells = uint64_t(op.n0) * op.n1;
  const uint64_t elements = uint64_t(op.n2) * op.n3 * op.n4;
  std::vector<partition::PlaneHeader> stored(cells);
  std::vector<uint64_t> places(cells);
  split(cells, cells * elements, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t i0 = i / op.n1, i1 = i % op.n1;
      const CellPattern cell{op.srcBase +
                                 i0 * static_cast<uint64_t>(op.srcStride0) +
                                 i1 * static_cast<uint64_t>(op.srcStride1),
                             {op.n2, op.n3},
                             op.n4,
                             {op.srcStride2, op.srcStride3, op.srcStride4},
                             op.elemBytes};
      // The loader has checked all that could make this fail.
      const std::vector<uint8_t> bytes = llvm::cantFail(partition::compress(
          readPlane(memory, cell), static_cast<partition::Format>(op.form),
          op.levels));
      places[i] = op.dstBase + i0 * static_cast<uint64_t>(op.dstStride0) +
                  i1 * static_cast<uint64_t>(op.dstStride1);
      uint8_t *room = memory.dram(places[i]);
      std::memcpy(room, bytes.data(), bytes.size());
      std::memset(room + bytes.size(), 0, op.cellBytes - bytes.size());
      stored[i] = llvm::cantFail(partition::readHeader(bytes));
    }
  });
  uint64_t bytes = 0, bursts = 0;
  const uint32_t node = current < nodes.size() ? nodes[current] : ~uint32_t(0);
  StoredMaps &map = maps[node];
  map.node = node;
  map.cells += cells;
  map.denseBytes += cells * elements * op.elemBytes;
  for (auto [head, place] : llvm::zip(stored, places)) {
    bursts += machine::runBursts(*machine, place, head.bytes);
    bytes += head.bytes;
    map.nonZeros += head.nonZeros;
  }
  map.bytes += bytes;
  measured[current] = compressedCost(*costMachine, op, bytes,
                                     bursts * machine->dram.burstBytes);
  if (keepChosen)
    for (const partition::PlaneHeader &head : stored)
      chosen[current].push_back(head.bytes);
}

void Engine::execute(const isa::DmaExpand &op) {
  const uint64_t cells = uint64_t(op.n0) * op.n1;
  const uint64_t elements = uint64_t(op.n2) * op.n3 * op.n4;
  std::vector<uint64_t> stored(cells), places(cells);
  uint64_t firstBad = cells;
  std::string problem;
  split(cells, cells * elements, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t i0 = i / op.n1, i1 = i % op.n1;
      const uint64_t from = op.srcBase +
                            i0 * static_cast<uint64_t>(op.srcStride0) +
                            i1 * static_cast<uint64_t>(op.srcStride1);
      auto read = readCell({memory.dram(from), op.cellBytes},
                           uint64_t(op.n2) * op.n3, op.n4, op.elemBytes);
      if (!read) {
        // The first cell decides, whatever the number of threads.
        std::string text = fmt::format("cell {} at dram address {}: {}", i,
                                       from, toString(read.takeError()));
        std::lock_guard<std::mutex> lock(mutex);
        if (i < firstBad) {
          firstBad = i;
          problem = std::move(text);
        }
        return;
      }
      writePlane(memory,
                 {op.dstBase + i0 * static_cast<uint64_t>(op.dstStride0) +
                      i1 * static_cast<uint64_t>(op.dstStride1),
                  {op.n2, op.n3},
                  op.n4,
                  {op.dstStride2, op.dstStride3, op.dstStride4},
                  op.elemBytes},
                 read->plane);
      stored[i] = read->bytes;
      places[i] = from;
    }
  });
  if (firstBad < cells) {
    finding = RunFinding{FaultKind::BadData, std::move(problem)};
    return;
  }
  uint64_t bytes = 0, bursts = 0;
  for (auto [count, place] : llvm::zip(stored, places)) {
    bytes += count;
    bursts += machine::runBursts(*machine, place, count);
  }
  measured[current] = compressedCost(*costMachine, op, bytes,
                                     bursts * machine->dram.burstBytes);
  if (keepChosen)
    chosen[current] = std::move(stored);
}
