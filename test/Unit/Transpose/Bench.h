// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds programs that transpose matrices on the array, tile by tile, with
// their semaphores: the loads of a tile overlap the stream of the one before,
// the drains the stream of the next.
//
// A matrix of m x n lies with row i in partition i mod P, at byte
// (i div P)*n*bytes; element j of a row j*bytes further.

#ifndef ASHLAR_TEST_UNIT_TRANSPOSE_BENCH_H
#define ASHLAR_TEST_UNIT_TRANSPOSE_BENCH_H

#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"
#include <string>
#include <vector>

namespace ashlar::test {

using Bytes = std::vector<uint8_t>;

/// n bytes that depend on the seed only.
Bytes randomBytes(uint64_t n, uint64_t seed);

/// The transpose of an m x n matrix of elements of `bytes` bytes: moves bytes,
/// knows nothing of the machine.
Bytes transposed(const Bytes &matrix, uint64_t m, uint64_t n, unsigned bytes);

/// Blocks of at most p x q elements that an m x n matrix splits into.
inline uint64_t blockCount(uint64_t m, uint64_t n, uint64_t p, uint64_t q) {
  return (m + p - 1) / p * ((n + q - 1) / q);
}

/// How tiles go through the array.
struct TileOptions {
  isa::OperandMode mode = isa::OperandMode::Select;
  isa::ElemType type = isa::ElemType::U8;
  /// One pass for each byte of an element, in integer arithmetic.
  bool bytePlanes = false;
  isa::Window window = isa::Window::Identity;
  isa::DrainOrder order = isa::DrainOrder::Block;
  isa::Overflow overflow = isa::Overflow::Wrap;
  /// Applied on the drain; copy moves bits.
  isa::Function function = isa::Function::Copy;
  unsigned mantissa = 0; ///< Of encoded elements.
  isa::Orientation source = isa::Orientation::P;
};

/// One program under construction.
class Bench {
public:
  explicit Bench(const std::string &machineName);
  explicit Bench(const machine::Description &machine);

  const machine::Description &machine() const { return program.machine; }
  uint64_t partitions() const { return machine().sb.partitions; }

  /// Instructions from here on belong to a node of this name.
  void node(const std::string &name);
  void add(const isa::Instruction &inst);
  /// `to` continues when what `from` has done so far is complete.
  void order(isa::Queue from, isa::Queue to);
  /// Bytes in DRAM before cycle 0.
  uint64_t constant(const Bytes &bytes);
  /// Space in DRAM.
  uint64_t space(uint64_t bytes);
  /// An output of so many bytes at a DRAM address.
  void output(uint64_t at, uint64_t bytes);

  /// A matrix from DRAM to SB at `offset`, on queue dma0.
  void load(uint64_t dram, uint64_t m, uint64_t n, unsigned bytes,
            uint64_t offset, isa::Memory memory = isa::Memory::Sb);
  /// The identity of P x P elements with the given one, stored at `offset`.
  void loadIdentity(uint64_t offset, const Bytes &one = {1});
  /// The array's queues may use what dma0 has loaded.
  void ready();
  /// Transposes the matrix at `source` with the identity at `identity`.
  void transpose(uint64_t m, uint64_t n, uint64_t source, uint64_t target,
                 uint64_t identity, const TileOptions &options = {});
  /// A matrix from SB to a new output, on queue dma0 after ACT.
  void store(uint64_t m, uint64_t n, unsigned bytes, uint64_t offset,
             isa::Memory memory = isa::Memory::Sb);

  /// One tile as the next step of the pipeline.
  void tile(const isa::PeLoad &load, isa::PeMatmul matmul, isa::ActDrain drain);

  container::Program finish() const;
  /// Loads and runs; adds a test failure or gives up if it cannot.
  emulator::RunResult run(const emulator::Options &options = {}) const;
  /// The fault that loading gives; kind Race and an empty message if none.
  emulator::Fault fault() const;

  std::vector<isa::Instruction> code;
  container::Program program;

private:
  void signal(isa::Queue queue, uint32_t semaphore);
  void wait(isa::Queue queue, uint32_t semaphore);

  uint64_t dramEnd = 0;
  uint32_t nextSemaphore = 8;
  uint64_t tiles = 0;
};

/// Loads, transposes and stores one matrix; bytes of the result.
Bytes transposeOnArray(const std::string &machineName, const Bytes &matrix,
                       uint64_t m, uint64_t n, unsigned bytes,
                       const TileOptions &options = {});

} // namespace ashlar::test

#endif // ASHLAR_TEST_UNIT_TRANSPOSE_BENCH_H
