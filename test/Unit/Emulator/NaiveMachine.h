// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second machine for the differential test: one element at a time, sums in
// 128 bits, numbers in binary64. It shares the instruction structs and the
// scalar elementwise functions with the emulator and nothing else.

#ifndef ASHLAR_TEST_EMULATOR_NAIVEMACHINE_H
#define ASHLAR_TEST_EMULATOR_NAIVEMACHINE_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace ashlar::test {

class NaiveMachine {
public:
  NaiveMachine(const machine::Description &machine, uint64_t dramBytes);
  void execute(const isa::Instruction &inst);

  std::vector<uint8_t> dram, sb;
  std::vector<int8_t> xm;
  /// Value of a scale-exponent register that nothing wrote.
  static constexpr int cleared = -32768;

private:
  struct Tensor {
    isa::ElemType type;
    unsigned mantissa;
    uint64_t part, offset;
    int64_t tileStride, stride[3];
    bool broadcast;
  };
  struct Place {
    uint64_t partition;
    int64_t offset;
  };

  /// A unit's tile: images, rows, columns; count[0] = 0: idle.
  struct Tile {
    int64_t group = 0, first[3] = {}, count[3] = {};
    /// Operand rows and columns that it may hold.
    bool partial = false;
    int64_t own[2] = {}, ownEnd[2] = {};
    int64_t memory = -1; ///< Memory unit; -1: its own.
  };

  void run(const isa::SemWait &) {}
  void run(const isa::SemSignal &) {}
  void run(const isa::XrSet &op);
  void run(const isa::XrMerge &op);
  void run(const isa::XrSelect &op);
  void run(const isa::XrPick &op);
  void run(const isa::XrPredict &op);
  void run(const isa::DmaCopy &op);
  std::vector<int64_t> codesOf(const isa::DmaUnpack &op) const;
  void run(const isa::DmaUnpack &op);
  void run(const isa::DmaGather &op);
  void run(const isa::DmaCompress &op);
  void run(const isa::DmaExpand &op);
  void run(const isa::DmaPut &op);
  void run(const isa::DmaFill &op);
  void run(const isa::PeLoad &op);
  void run(const isa::PeSwap &op);
  void run(const isa::PeMatmul &op);
  void run(const isa::ActDrain &op);
  void run(const isa::VecMap &op);
  void run(const isa::VecPool &op);
  void run(const isa::VecDrain &op);
  void run(const isa::ActPool &op);
  void run(const isa::VecReduce &op);
  void run(const isa::VecReduceChannels &op);
  void run(const isa::VecStat &op);
  void run(const isa::VecMeasure &op);
  void run(const isa::VecGather &op);
  void run(const isa::HostNonzero &op);
  void run(const isa::HostSort &op);
  void run(const isa::HostUnique &op);
  void run(const isa::HostNms &op);
  void run(const isa::TccTile &op);
  void run(const isa::DmaTile &op);
  void run(const isa::TccInit &op);
  void run(const isa::TccRun &op);
  void run(const isa::TccNnz &op);
  void run(const isa::TccPart &op);
  void run(const isa::TccOperand &op);
  void run(const isa::TccBind &op);
  /// Counts the non-zero results of a drain.
  void countDrained(const isa::ActDrain &op);
  template <typename Op>
  Tile operandTile(const Op &op, int64_t g, int64_t a, int64_t y, int64_t yEnd,
                   int64_t x, int64_t xEnd, int64_t outH, int64_t outW);
  /// A drain of units that hold parts of the operand.
  void drainPartial(const isa::ActDrain &op);
  /// A drain of the sparse cluster, unit by unit.
  void drainTiles(const isa::ActDrain &op);
  void drainGroups(const isa::ActDrain &op);
  /// A drain of PSUM, or of `drained`.
  void drainPart(const isa::ActDrain &op);
  /// An element of a feature map whose lanes do not compute in binary32.
  int64_t mappedWord(const isa::VecMap &op, const Tensor &a, const Tensor &b,
                     uint64_t channel, const int64_t index[3]) const;
  uint32_t parameter(const isa::ActDrain &op, uint64_t lane, int64_t step,
                     int64_t k) const;
  int64_t sumOf(const isa::ActDrain &op, uint64_t lane,
                const int64_t index[3]) const;
  int64_t drainInteger(const isa::ActDrain &op, uint64_t lane, int64_t step,
                       int64_t acc) const;
  long double alignedSum(const isa::ActDrain &op, const Tensor &res,
                         uint64_t lane, const int64_t index[3], int64_t step,
                         int64_t acc, int exponent) const;
  float stored(isa::ElemType type, float value);
  /// Values of the entries of a column, before any is rounded with others.
  std::vector<float> entriesOf(const isa::VecDrain &op, uint64_t column);
  float epilogue(const isa::ActDrain &op, const Tensor &res, uint64_t lane,
                 const int64_t index[3], int64_t step, long double sum) const;

  uint8_t byteOf(isa::Memory memory, uint64_t address) const;
  void setByte(isa::Memory memory, uint64_t address, uint8_t value);
  Place placeOf(const Tensor &x, uint64_t channel,
                const int64_t index[3]) const;
  float load(const Tensor &x, uint64_t channel, const int64_t index[3]) const;
  int64_t loadInteger(const Tensor &x, uint64_t channel,
                      const int64_t index[3]) const;
  double loadDouble(const Tensor &x, uint64_t channel,
                    const int64_t index[3]) const;
  void storeRaw(const Tensor &x, uint64_t channel, const int64_t index[3],
                int64_t bits);
  void store(const Tensor &x, uint64_t channel, const int64_t index[3],
             float value);
  int64_t aligned(isa::OperandMode mode, isa::ElemType type, unsigned mantissa,
                  unsigned range, unsigned xr, isa::Orientation orientation,
                  uint64_t partition, int64_t offset) const;
  int64_t alignedWord(isa::OperandMode mode, isa::ElemType type,
                      unsigned mantissa, unsigned range, unsigned xr,
                      uint64_t word, int cell) const;
  uint64_t rawElement(uint64_t partition, int64_t offset, unsigned bytes) const;

  /// Stores a whole result: values[channel][flat index].
  void finish(const Tensor &x, const uint64_t count[3],
              const std::vector<std::vector<float>> &values, uint64_t block,
              unsigned xr, bool clear);

  /// Stores a drained result whose blocks run along the free axis.
  void finishAlong(const isa::ActDrain &op, const Tensor &x,
                   const std::vector<std::vector<long double>> &values);

  /// An encoded result whose elements are exact numbers.
  struct Exact {
    Tensor tensor;
    uint64_t count[3];
    uint64_t block;
    unsigned xr;
    bool clear, given, wrap;
    bool repair, keepOwn;
    unsigned ownXr;
  };
  /// Cell and mantissas of elements [first, end) at step k of an exact result.
  int exactBlock(const Exact &x,
                 const std::vector<std::vector<long double>> &values,
                 uint64_t first, uint64_t end, uint64_t k,
                 std::vector<int64_t> &mantissas);
  /// The target of an instruction, with the loop counts of its result.
  template <typename Op>
  static Exact exactOf(const Op &op, const Tensor &dst, uint64_t n0,
                       uint64_t n1, uint64_t n2) {
    return {dst,
            {n0, n1, n2},
            op.dstBlock,
            static_cast<unsigned>(op.dstXr),
            op.dstXrClear != 0,
            op.cellFromXr != 0,
            op.overflow == isa::Overflow::Wrap,
            op.repair != 0,
            op.keepOwn != 0,
            static_cast<unsigned>(op.ownXr)};
  }
  /// Stores a result of floats, exponents given or not.
  template <typename Op>
  void finishFloats(const Op &op, const Tensor &dst, const uint64_t count[3],
                    const std::vector<std::vector<float>> &result) {
    if (!op.cellFromXr)
      return finish(dst, count, result, op.dstBlock, op.dstXr, op.dstXrClear);
    std::vector<std::vector<long double>> values;
    for (const std::vector<float> &row : result)
      values.emplace_back(row.begin(), row.end());
    finishExact(exactOf(op, dst, count[0], count[1], count[2]), values);
  }
  void finishExact(const Exact &x,
                   const std::vector<std::vector<long double>> &values);
  void blockFunction(const isa::VecMap &op, const Tensor &a, const Tensor &b,
                     const Exact &dst);

  machine::Description machine;
  std::vector<__int128> psum;

  /// A channel of a tile by (image, row, column) of the source.
  struct Slot {
    std::map<std::array<int64_t, 3>, std::pair<uint64_t, int>> pixels;
    int64_t padH = 0, padW = 0;
  };
  std::vector<std::vector<Tile>> tables;
  /// By unit, set, byte.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, Slot> slots;
  std::vector<std::vector<int64_t>> sums; ///< Accumulators by unit.
  std::vector<uint8_t> wm;
  std::vector<uint64_t> nonZeros;
  const std::vector<int64_t> *drained = nullptr;
  uint64_t firstColumn = 0; ///< of PSUM that lane 0 drains
  std::vector<int> xr;
  /// Every sample of a statistics register, as a value: W = 16 mantissas and
  /// cells of 8 bits are exact in binary64.
  std::vector<std::vector<double>> samples;
  struct Set {
    std::vector<int64_t> values;
    uint64_t cols = 0;
  } shadow, active;
};

} // namespace ashlar::test

#endif // ASHLAR_TEST_EMULATOR_NAIVEMACHINE_H
