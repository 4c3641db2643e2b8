// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions for the tests of the sparse cluster: random data, the direct
// sum, and programs for both clusters built instruction by instruction.

#ifndef ASHLAR_TEST_SPARSE_CONVOLUTION_H
#define ASHLAR_TEST_SPARSE_CONVOLUTION_H

#include "../Emulator/TestSupport.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Partition/Partition.h"
#include "gtest/gtest.h"
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace ashlar::test {

/// What becomes of the sums: as they are (i64), binary32 after scale, bias and
/// relu, or that encoded in blocks of 8.
enum class Epilogue { Raw, Float, Encoded };

/// A convolution with its operands.
struct Convolution {
  int64_t images = 1, channels = 1, height = 1, width = 1;
  int64_t results = 1, groups = 1;
  int64_t kH = 1, kW = 1, sH = 1, sW = 1, dH = 1, dW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  /// Encoded maps: W bits under range D with scale exponent 0; 0: i8.
  unsigned mantissa = 0, range = 0;
  unsigned weightBits = 8, shiftBits = 0;
  Epilogue epilogue = Epilogue::Raw;

  /// Stored elements and cells by (image, channel, y, x); the value of each as
  /// an aligned integer.
  std::vector<int16_t> stored;
  std::vector<int8_t> cells;
  std::vector<int64_t> values;
  /// By (result, channel of its group, ky, kx).
  std::vector<isa::Coefficient> weights;

  int64_t outHeight() const {
    return (height + padTop + padBottom - (kH - 1) * dH - 1) / sH + 1;
  }
  int64_t outWidth() const {
    return (width + padLeft + padRight - (kW - 1) * dW - 1) / sW + 1;
  }
  int64_t groupChannels() const { return channels / groups; }
  int64_t groupResults() const { return results / groups; }
  int64_t pixel(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return ((n * channels + c) * height + y) * width + x;
  }
  const isa::Coefficient &weight(int64_t o, int64_t c, int64_t ky,
                                 int64_t kx) const {
    return weights[((o * groupChannels() + c) * kH + ky) * kW + kx];
  }
  uint64_t elementBytes() const { return mantissa > 8 ? 2 : 1; }

  /// Random operands; weights are kept with probability \p density.
  void fill(std::mt19937_64 &random, double density,
            const machine::Description &machine);
  /// The sums by (image, result, y, x), straight from the definition.
  std::vector<int64_t> direct() const;
  uint64_t nonZeros() const;
};

/// Tiles that follow the zeros of the feature map.
struct TileCut {
  uint32_t units = 1; ///< Tiles of each chunk of images.
  isa::Cut algorithm = isa::Cut::P2;
  isa::CutMetric metric = isa::CutMetric::Nnz;
  uint32_t align = 1;
  bool disjoint = false; ///< Tiles of the operand.
  bool runTime = false;  ///< Counted and cut by the program.
  int64_t foldRows = 0;  ///< Result rows at a time; 0: all.
};

/// How a convolution is laid over the units.
struct TilePlan {
  int64_t tileImages = 1, tileH = 1, tileW = 1;
  int64_t copies = 1;          ///< Groups of units.
  int64_t regions = 1;         ///< Results of a unit at a time.
  int64_t channelsPerLoad = 1; ///< Channels of a buffer set.
  isa::StreamEncoding encoding = isa::StreamEncoding::List;
  bool issueZeros = false;
  bool shuffle = false; ///< Coefficients of a channel in random order.
  uint32_t turn = 0; ///< Rows from turn to turn in snake order, not shuffled.
  /// Groups of units take groups of the convolution, all at once; else each
  /// group of the convolution has its turn, its results split over the units.
  /// One drain takes the results of all copies where they are adjacent.
  bool drainTogether = false;
  /// Such a drain restores the order of results that the copies share out: the
  /// next result is where one would be.
  bool mapped = false;
  bool splitGroups = false;
  /// Tiles of at most tileH x tileW, all at once.
  std::optional<TileCut> cut;
  uint64_t firstUnit = 0;         ///< Of all tiles.
  std::vector<uint32_t> memories; ///< Memory unit of each unit; empty: its own.
};

/// A tcc.run and the cycles that the closed form gives it.
struct ExpectedRun {
  uint64_t cycles = 0, entries = 0;
};

struct TileProgram {
  container::Program program;
  std::vector<ExpectedRun> runs; ///< In program order.
  std::vector<uint64_t> loads;   ///< Cycles of each dma.tile.
  uint64_t inputBytes = 0;       ///< Of all loads.
  uint64_t waves = 0;            ///< Tables of tiles.
  partition::Partition cut;      ///< With TilePlan::cut.
};

/// The cut that a plan requests of result rows [firstRow, endRow), counted from
/// firstRow, by the partition algorithms; an error if none
/// keeps to its largest tile.
llvm::Expected<partition::Partition> cutOf(const Convolution &conv,
                                           const TilePlan &plan,
                                           int64_t firstRow, int64_t endRow);
inline llvm::Expected<partition::Partition> cutOf(const Convolution &conv,
                                                  const TilePlan &plan) {
  return cutOf(conv, plan, 0, conv.outHeight());
}

/// A program for the sparse cluster whose only output holds the sums as i64 in
/// the order of Convolution::direct(). Instructions are serialised.
TileProgram buildTiles(const Convolution &conv, const TilePlan &plan,
                       const machine::Description &machine,
                       std::mt19937_64 &random);

/// The same for the dense cluster; one group only, i8 weights.
container::Program buildDense(const Convolution &conv,
                              const machine::Description &machine);

/// Runs a program and gives its outputs one after another.
std::vector<uint8_t> bytesOf(const container::Program &program,
                             const emulator::Options &options = {},
                             emulator::RunResult *result = nullptr);

/// The same by the naive machine.
std::vector<uint8_t> naiveBytesOf(const container::Program &program);

/// Runs a program; a failure of the test gives no sums.
std::vector<int64_t> sumsOf(const container::Program &program,
                            const emulator::Options &options = {},
                            emulator::RunResult *result = nullptr);

/// A random convolution that fits both machines' state buffers and a plan for
/// it.
Convolution randomConvolution(std::mt19937_64 &random,
                              const machine::Description &machine);
TilePlan randomPlan(std::mt19937_64 &random, const Convolution &conv,
                    const machine::Description &machine);

/// The kind of fault that loading a program with one instruction changed gives.
template <typename Op, typename Fn>
emulator::FaultKind faultAfter(container::Program program, Fn change) {
  const emulator::Fault fault =
      faultOf(withOne<Op>(std::move(program), change));
  EXPECT_FALSE(fault.message.empty()) << "the program loads";
  return fault.kind;
}

/// Clears data until about \p density of it is left, more of it at one end.
void makeSparse(Convolution &conv, std::mt19937_64 &random, double density);

} // namespace ashlar::test

#endif // ASHLAR_TEST_SPARSE_CONVOLUTION_H
