// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of both clusters share: DRAM, input and output. Channel c
// of the input lies in partition c, result o in partition o after it, both in
// the order (image, y, x).

#ifndef ASHLAR_TEST_SPARSE_PROGRAMBUILDER_H
#define ASHLAR_TEST_SPARSE_PROGRAMBUILDER_H

#include "Convolution.h"

namespace ashlar::test {

class Builder {
public:
  Builder(const Convolution &conv, const machine::Description &machine)
      : conv(conv), machine(machine) {
    program.machine = machine;
    program.modelName = "convolution";
  }

protected:
  uint64_t constant(std::vector<uint8_t> bytes) {
    const uint64_t at = dramEnd;
    dramEnd += (bytes.size() + 63) / 64 * 64 + 64;
    program.addConstant(at, std::move(bytes));
    return at;
  }
  void loadInput();
  void storeOutput();
  void addOutput(const char *name, int64_t bytes);
  container::Program finish();
  int64_t inputBytes() const {
    return conv.images * conv.height * conv.width *
           static_cast<int64_t>(conv.elementBytes());
  }
  int64_t outBase() const { return (inputBytes() + 63) / 64 * 64; }
  int64_t outPixels() const { return conv.outHeight() * conv.outWidth(); }
  isa::ActDrain drain();
  /// Records of scale, bias and exponent for every result.
  void loadParameters();
  int64_t outBytes() const {
    return conv.epilogue == Epilogue::Raw     ? 8
           : conv.epilogue == Epilogue::Float ? 4
                                              : 1;
  }
  int64_t outEnd() const {
    return outBase() + conv.images * outPixels() * outBytes();
  }
  int64_t parameters() const { return (outEnd() + 63) / 64 * 64; }

  const Convolution &conv;
  const machine::Description &machine;
  container::Program program;
  std::vector<isa::Instruction> code;
  uint64_t dramEnd = 0;
  bool drained = false;
};

} // namespace ashlar::test

#endif // ASHLAR_TEST_SPARSE_PROGRAMBUILDER_H
