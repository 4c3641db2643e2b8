// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoded tensors move as whole blocks: mantissas and exponent cells, from
// blocks across partitions to blocks along the free axis and back.

#include "Bench.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::test;
using isa::Orientation;

namespace {

struct Encoded {
  Bytes mantissas, cells;
};

/// An m x n tensor with blocks across its rows: one cell for each group of
/// rows and each element's even byte.
Encoded randomEncoded(uint64_t m, uint64_t n, unsigned bytes, uint64_t group) {
  Encoded tensor;
  tensor.mantissas = randomBytes(m * n * bytes, m + n);
  tensor.cells = randomBytes((m + group - 1) / group * n * bytes, m * n);
  return tensor;
}

/// Flips an m x n tensor to blocks along the free axis, and back again.
struct Flipped {
  Encoded along, again;
};

Flipped flip(const std::string &machineName, const Encoded &tensor, uint64_t m,
             uint64_t n, unsigned mantissa) {
  const unsigned bytes = mantissa <= 8 ? 1 : 2;
  Bench bench(machineName);
  const uint64_t group = bench.machine().xmGroup;
  auto groups = [&](uint64_t rows) { return (rows + group - 1) / group; };
  // Places in multiples of a tile of cells.
  const uint64_t source = 4096, along = 16384, again = 32768;
  bench.load(bench.constant(tensor.mantissas), m, n, bytes, source);
  bench.load(bench.constant(tensor.cells), groups(m), n * bytes, 1, source,
             isa::Memory::Xm);
  bench.loadIdentity(0);
  bench.ready();
  TileOptions options;
  options.type = isa::ElemType::Bfp;
  options.mantissa = mantissa;
  bench.transpose(m, n, source, along, 0, options);
  bench.order(isa::Queue::Act, isa::Queue::Peload);
  options.source = Orientation::F;
  bench.transpose(n, m, along, again, 0, options);
  bench.store(n, m, bytes, along);
  bench.store(m, n, bytes, again);
  bench.store(groups(m), n * bytes, 1, again, isa::Memory::Xm);
  bench.store(groups(n), m * bytes, 1, along, isa::Memory::Xm);
  emulator::Options run;
  // Cells of odd bytes and of missing partitions have never been written.
  run.checkUndefined = false;
  const emulator::RunResult result = bench.run(run);
  return {{result.outputs[0].data, result.outputs[3].data},
          {result.outputs[1].data, result.outputs[2].data}};
}

struct Shape {
  const char *machine;
  uint64_t m, n;
  unsigned mantissa;
};

class Blocks : public testing::TestWithParam<Shape> {};

TEST_P(Blocks, MoveWholeAndFlip) {
  const auto [name, m, n, mantissa] = GetParam();
  const unsigned bytes = mantissa <= 8 ? 1 : 2;
  const uint64_t group = llvm::cantFail(machine::load(name)).xmGroup;
  const Encoded tensor = randomEncoded(m, n, bytes, group);
  const Flipped flipped = flip(name, tensor, m, n, mantissa);
  EXPECT_EQ(flipped.along.mantissas, transposed(tensor.mantissas, m, n, bytes));
  EXPECT_EQ(flipped.again.mantissas, tensor.mantissas);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      const uint8_t cell = tensor.cells[(i / group * n + j) * bytes];
      // Element (j, i) of the result: partition j, tile i / group, and in it
      // the cell of partition j mod group.
      const uint64_t place =
          (j / group * m + i / group * group + j % group) * bytes;
      if (place < flipped.along.cells.size() &&
          i / group * group + j % group < m) {
        EXPECT_EQ(flipped.along.cells[place], cell) << i << " " << j;
      }
      EXPECT_EQ(flipped.again.cells[(i / group * n + j) * bytes], cell)
          << i << " " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Blocks,
    testing::Values(Shape{"a1-tiny", 8, 8, 8}, Shape{"a1-tiny", 8, 4, 8},
                    Shape{"a1-tiny", 16, 24, 8}, Shape{"a1-tiny", 8, 8, 16},
                    Shape{"a1-tiny", 6, 5, 8}, Shape{"a1-tiny", 7, 3, 12},
                    Shape{"fig3-4x4", 4, 4, 4}, Shape{"a1", 128, 64, 8},
                    Shape{"a1", 256, 128, 16}, Shape{"a1", 100, 72, 8}));

} // namespace
