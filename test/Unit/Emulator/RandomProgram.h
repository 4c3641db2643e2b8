// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random legal programs for the differential test.

#ifndef ASHLAR_TEST_EMULATOR_RANDOMPROGRAM_H
#define ASHLAR_TEST_EMULATOR_RANDOMPROGRAM_H

#include "TestSupport.h"
#include <random>

namespace ashlar::test {

using isa::ElemType;
using isa::Instruction;

class Generator {
public:
  explicit Generator(uint64_t seed, llvm::StringRef name = "a1-tiny")
      : random(seed) {
    machine = llvm::cantFail(machine::load(name));
    machine.sb.bytesPerPartition = 8192;
    machine.vec.psumLanes = machine.act.lanes;
  }

  machine::Description machine;

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  std::vector<uint8_t> image(uint64_t bytes);
  std::vector<uint8_t> cells(uint64_t bytes);
  std::vector<Instruction> program(unsigned length);
  /// Windows of PSUM that are filled and drained side by side; for an array of
  /// 128 x 64.
  std::vector<Instruction> windows();

private:
  struct Shape {
    uint32_t n[3];
  };
  Shape shape() {
    auto n2 =
        static_cast<uint32_t>(chance(10) ? between(200, 1000) : between(1, 20));
    return {{static_cast<uint32_t>(between(1, 2)),
             static_cast<uint32_t>(between(1, 4)), n2}};
  }
  /// Strides that keep elements apart, sometimes with gaps.
  void strides(const Shape &s, unsigned bytes, int32_t out[3]) {
    int32_t span = static_cast<int32_t>(bytes);
    for (int d = 2; d >= 0; --d) {
      out[d] = span + (chance(25) ? static_cast<int32_t>(between(1, 3)) : 0);
      span = out[d] * static_cast<int32_t>(s.n[d]);
    }
  }
  ElemType type() {
    return chance(40)   ? ElemType::Bfp
           : chance(50) ? ElemType::F32
                        : static_cast<ElemType>(between(0, 12));
  }
  uint32_t mantissa() {
    return static_cast<uint32_t>(chance(50) ? 8 : between(3, 16));
  }
  static unsigned bytes(ElemType type, uint32_t mantissa) {
    if (type == ElemType::Bfp)
      return mantissa <= 8 ? 1 : 2;
    return support::byteSize(static_cast<ElementType>(type));
  }
  uint32_t offset() { return static_cast<uint32_t>(between(0, 8000)); }
  uint32_t xr() { return static_cast<uint32_t>(between(0, 7)); }
  /// Where an encoded result finds and leaves exponents; its register is drawn.
  template <typename Op>
  void encodeTarget(Op &op, int given, bool mayWrap) {
    op.cellFromXr = op.dstType == isa::ElemType::Bfp && chance(given);
    if (op.cellFromXr) {
      op.ownXr = xr();
      op.keepOwn = op.ownXr != op.dstXr && chance(60);
      op.repair = chance(40);
      if (!op.repair && mayWrap)
        op.overflow = static_cast<isa::Overflow>(between(0, 1));
    }
    op.dstXrClear = (!op.cellFromXr || op.keepOwn) && chance(50);
  }
  uint32_t block() {
    static constexpr uint32_t blocks[] = {0, 8, 16, 32};
    return blocks[between(0, 3)];
  }
  float number() { return static_cast<float>(between(-16, 16)) / 4; }
  bool legal(const std::vector<Instruction> &code);

  Instruction dma();
  Instruction unpack();
  Instruction registers();
  Instruction scale();
  Instruction map();
  void quantise(isa::VecMap &op);
  Instruction pool();
  Instruction reduce();
  Instruction reduceChannels();
  template <typename Op>
  void zeroPoint(Op &op);
  std::vector<Instruction> array();
  /// The parts of `array`: a stationary load, a stream over it, its drain.
  isa::PeLoad arrayLoad();
  isa::PeMatmul arrayMatmul(const isa::PeLoad &load);
  isa::ActDrain arrayDrain(const isa::PeLoad &load, const isa::PeMatmul &op);
  void arrayEpilogue(isa::ActDrain &drain, const isa::PeMatmul &op);
  void arrayResidual(isa::ActDrain &drain, const isa::PeMatmul &op);
  void alongSteps(isa::ActDrain &drain);
  isa::VecDrain pooledDrain(const isa::ActDrain &drain);
  isa::ElemType operandType(isa::OperandMode mode);
  /// The parts of `windows`.
  isa::PeLoad windowLoad(uint32_t cols);
  isa::PeMatmul windowStream(const isa::PeLoad &load, uint32_t entry,
                             uint32_t steps);
  std::vector<Instruction> windowDrains(uint32_t entry, uint32_t steps,
                                        uint32_t cols);

  std::mt19937_64 random;
};

} // namespace ashlar::test

#endif // ASHLAR_TEST_EMULATOR_RANDOMPROGRAM_H
