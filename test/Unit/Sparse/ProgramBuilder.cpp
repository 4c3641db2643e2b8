// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input and output of both programs, and the program for the dense cluster.

#include "ProgramBuilder.h"
#include "../Emulator/NaiveMachine.h"
#include "../Emulator/TestSupport.h"
#include <algorithm>
#include <cstring>
#include <tuple>

using namespace ashlar;
using namespace ashlar::test;

//===- Input and output ---------------------------------------------------===//

void Builder::loadInput() {
  const auto bytes = conv.elementBytes();
  std::vector<uint8_t> raw(conv.stored.size() * bytes);
  for (size_t i = 0; i < conv.stored.size(); ++i)
    std::memcpy(&raw[i * bytes], &conv.stored[i], bytes);
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Sb;
  copy.elemBytes = static_cast<uint32_t>(bytes);
  copy.srcBase = constant(raw);
  const int64_t plane = conv.height * conv.width;
  const auto element = static_cast<int64_t>(bytes);
  copy.n2 = static_cast<uint32_t>(conv.images);
  copy.n3 = static_cast<uint32_t>(conv.channels);
  copy.n4 = static_cast<uint32_t>(plane);
  copy.srcStride2 = conv.channels * plane * element;
  copy.srcStride3 = plane * element;
  copy.srcStride4 = copy.dstStride4 = element;
  copy.dstStride2 = plane * element;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  code.push_back(copy);
  if (conv.mantissa == 0)
    return;
  // A row of cells for every group of partitions, the first channel's.
  const auto group = static_cast<int64_t>(machine.xmGroup);
  const int64_t rows = (conv.channels + group - 1) / group;
  std::vector<uint8_t> cells;
  for (int64_t n = 0; n < conv.images; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t p = 0; p < plane; ++p)
        cells.push_back(static_cast<uint8_t>(conv.cells[static_cast<size_t>(
            conv.pixel(n, r * group, 0, 0) + p)]));
  copy.elemBytes = 1;
  copy.dstMem = isa::Memory::Xm;
  copy.srcBase = constant(cells);
  copy.n3 = static_cast<uint32_t>(rows);
  copy.srcStride2 = rows * plane;
  copy.srcStride3 = plane;
  copy.srcStride4 = 1;
  code.push_back(copy);
  code.push_back(isa::XrSet());
}

void Builder::loadParameters() {
  if (conv.epilogue == Epilogue::Raw)
    return;
  for (uint32_t xr = 0; xr < 2; ++xr) {
    isa::XrSet set;
    set.xr = xr;
    set.value = -3 - static_cast<int32_t>(xr);
    code.push_back(set);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(conv.results) * 16);
  for (int64_t o = 0; o < conv.results; ++o) {
    const float scale = 0.75f + 0.125f * static_cast<float>(o % 5);
    const float bias = static_cast<float>(o % 7) - 3;
    const auto exponent = static_cast<int32_t>(o % 3);
    uint8_t *record = &bytes[static_cast<size_t>(o) * 16];
    std::memcpy(record, &scale, 4);
    std::memcpy(record + 4, &bias, 4);
    std::memcpy(record + 8, &exponent, 4);
  }
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Sb;
  copy.elemBytes = 4;
  copy.srcBase = constant(bytes);
  copy.dstBase = static_cast<uint64_t>(parameters());
  copy.n3 = static_cast<uint32_t>(conv.results);
  copy.n4 = 4;
  copy.srcStride3 = 16;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  copy.srcStride4 = copy.dstStride4 = 4;
  code.push_back(copy);
}

isa::ActDrain Builder::drain() {
  isa::ActDrain op;
  op.mode = isa::DrainMode::Raw64;
  op.dstType = isa::ElemType::I64;
  if (conv.epilogue != Epilogue::Raw) {
    op.mode = isa::DrainMode::F32;
    op.dstType = isa::ElemType::F32;
    op.hasScale = op.hasBias = op.hasExp = true;
    op.paramOffset = static_cast<uint32_t>(parameters());
    op.function = isa::Function::Relu;
    op.xrS = 1;
  }
  if (conv.epilogue == Epilogue::Encoded) {
    op.dstType = isa::ElemType::Bfp;
    op.dstMantissa = 8;
    op.dstBlock = 8;
    op.dstXr = 2;
    op.dstXrClear = !drained;
    drained = true;
  }
  op.n0 = static_cast<uint32_t>(conv.images);
  op.n1 = static_cast<uint32_t>(conv.outHeight());
  op.n2 = static_cast<uint32_t>(conv.outWidth());
  op.dstOffset = static_cast<uint32_t>(outBase());
  op.dstStride0 = static_cast<int32_t>(outPixels() * outBytes());
  op.dstStride1 = static_cast<int32_t>(conv.outWidth() * outBytes());
  op.dstStride2 = static_cast<int32_t>(outBytes());
  return op;
}

void Builder::storeOutput() {
  const int64_t bytes = outBytes();
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Sb;
  copy.dstMem = isa::Memory::Dram;
  copy.elemBytes = static_cast<uint32_t>(bytes);
  copy.srcBase = static_cast<uint64_t>(outBase());
  copy.dstBase = dramEnd;
  copy.n2 = static_cast<uint32_t>(conv.images);
  copy.n3 = static_cast<uint32_t>(conv.results);
  copy.n4 = static_cast<uint32_t>(outPixels());
  copy.srcStride2 = outPixels() * bytes;
  copy.srcStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  copy.srcStride4 = copy.dstStride4 = bytes;
  copy.dstStride2 = conv.results * outPixels() * bytes;
  copy.dstStride3 = outPixels() * bytes;
  code.push_back(copy);
  addOutput("y", conv.images * conv.results * outPixels() * bytes);
  if (conv.epilogue != Epilogue::Encoded)
    return;
  const auto group = static_cast<int64_t>(machine.xmGroup);
  copy.srcMem = isa::Memory::Xm;
  copy.dstBase = dramEnd;
  copy.n3 = static_cast<uint32_t>((conv.results + group - 1) / group);
  copy.dstStride2 = copy.n3 * outPixels();
  code.push_back(copy);
  addOutput("cells", conv.images * copy.n3 * outPixels());
}

void Builder::addOutput(const char *name, int64_t bytes) {
  container::TensorBinding output;
  output.name = name;
  output.type = support::ElementType::U8;
  output.shape = {bytes};
  output.dramOffset = dramEnd;
  program.outputs.push_back(output);
  dramEnd += static_cast<uint64_t>(bytes + 63) / 64 * 64;
}

container::Program Builder::finish() {
  storeOutput();
  program.dramBytes = dramEnd;
  program.code = serialise(code);
  program.semaphores = serialSemaphores;
  return std::move(program);
}

//===- Dense cluster ------------------------------------------------------===//

namespace {
class DenseBuilder : public Builder {
public:
  using Builder::Builder;
  container::Program build();

private:
  int64_t taps() const { return conv.kH * conv.kW; }
  /// Byte offset of the weights in a partition.
  int64_t base() const { return parameters() + 64; }
  void loadWeights();
  isa::PeLoad load(int64_t tap) const;
  isa::PeMatmul matmul(int64_t tap) const;
};
} // namespace

void DenseBuilder::loadWeights() {
  // By (channel, tap, result), channels over partitions.
  std::vector<uint8_t> bytes;
  for (int64_t c = 0; c < conv.channels; ++c)
    for (int64_t k = 0; k < taps(); ++k)
      for (int64_t o = 0; o < conv.results; ++o)
        bytes.push_back(static_cast<uint8_t>(
            conv.weight(o, c, k / conv.kW, k % conv.kW).mantissa));
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Sb;
  copy.srcBase = constant(bytes);
  copy.dstBase = static_cast<uint64_t>(base());
  copy.n3 = static_cast<uint32_t>(conv.channels);
  copy.n4 = static_cast<uint32_t>(taps() * conv.results);
  copy.srcStride3 = taps() * conv.results;
  copy.srcStride4 = copy.dstStride4 = 1;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  code.push_back(copy);
}

/// The steps from `start` on that lie inside an extent.
static std::pair<int32_t, int32_t> inside(int64_t start, int64_t stride,
                                          int64_t extent) {
  const int64_t low = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const int64_t high =
      extent <= start ? 0 : (extent - start + stride - 1) / stride;
  return std::pair(static_cast<int32_t>(low),
                   static_cast<int32_t>(std::max(low, high)));
}

isa::PeLoad DenseBuilder::load(int64_t tap) const {
  isa::PeLoad op;
  op.rows = static_cast<uint32_t>(conv.channels);
  op.cols = static_cast<uint32_t>(conv.results);
  op.offset = static_cast<uint32_t>(base() + tap * conv.results);
  op.colStride = 1;
  op.type = isa::ElemType::I8;
  op.mode = isa::OperandMode::Int;
  return op;
}

isa::PeMatmul DenseBuilder::matmul(int64_t tap) const {
  const int64_t y = tap / conv.kW * conv.dH - conv.padTop;
  const int64_t x = tap % conv.kW * conv.dW - conv.padLeft;
  isa::PeMatmul op;
  op.rows = static_cast<uint32_t>(conv.channels);
  op.cols = static_cast<uint32_t>(conv.results);
  op.type = isa::ElemType::I8;
  op.mode = isa::OperandMode::Int;
  op.accumulate = tap > 0;
  op.offset = static_cast<int32_t>(y * conv.width + x);
  op.n0 = static_cast<uint32_t>(conv.images);
  op.n1 = static_cast<uint32_t>(conv.outHeight());
  op.n2 = static_cast<uint32_t>(conv.outWidth());
  op.stride0 = static_cast<int32_t>(conv.height * conv.width);
  op.stride1 = static_cast<int32_t>(conv.sH * conv.width);
  op.stride2 = static_cast<int32_t>(conv.sW);
  op.psumStride0 = static_cast<int32_t>(outPixels());
  op.psumStride1 = static_cast<int32_t>(conv.outWidth());
  op.psumStride2 = 1;
  op.lo0 = 0;
  op.hi0 = static_cast<int32_t>(conv.images);
  std::tie(op.lo1, op.hi1) = inside(y, conv.sH, conv.height);
  std::tie(op.lo2, op.hi2) = inside(x, conv.sW, conv.width);
  return op;
}

container::Program DenseBuilder::build() {
  loadInput();
  loadParameters();
  loadWeights();
  for (int64_t tap = 0; tap < taps(); ++tap) {
    code.push_back(load(tap));
    code.push_back(isa::PeSwap());
    code.push_back(matmul(tap));
  }
  isa::ActDrain op = drain();
  op.cols = static_cast<uint32_t>(conv.results);
  op.psumStride0 = static_cast<int32_t>(outPixels());
  op.psumStride1 = static_cast<int32_t>(conv.outWidth());
  op.psumStride2 = 1;
  code.push_back(op);
  return finish();
}

container::Program test::buildDense(const Convolution &conv,
                                    const machine::Description &machine) {
  return DenseBuilder(conv, machine).build();
}

std::vector<uint8_t> test::bytesOf(const container::Program &program,
                                   const emulator::Options &options,
                                   emulator::RunResult *result) {
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(program, options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  llvm::Expected<emulator::RunResult> ran = emulator::run(*loaded, {}, options);
  if (!ran) {
    ADD_FAILURE() << llvm::toString(ran.takeError());
    return {};
  }
  std::vector<uint8_t> bytes;
  for (const support::HostTensor &output : ran->outputs)
    bytes.insert(bytes.end(), output.data.begin(), output.data.end());
  if (result)
    *result = std::move(*ran);
  return bytes;
}

std::vector<uint8_t> test::naiveBytesOf(const container::Program &program) {
  NaiveMachine naive(program.machine, program.dramBytes);
  for (const container::Segment &segment : program.constants)
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              naive.dram.begin() + static_cast<ptrdiff_t>(segment.dramOffset));
  for (const isa::Instruction &inst :
       llvm::cantFail(isa::decodeAll(program.code)))
    naive.execute(inst);
  std::vector<uint8_t> bytes;
  for (const container::TensorBinding &output : program.outputs) {
    const auto begin =
        naive.dram.begin() + static_cast<ptrdiff_t>(output.dramOffset);
    bytes.insert(bytes.end(), begin, begin + output.shape[0]);
  }
  return bytes;
}

std::vector<int64_t> test::sumsOf(const container::Program &program,
                                  const emulator::Options &options,
                                  emulator::RunResult *result) {
  const std::vector<uint8_t> bytes = bytesOf(program, options, result);
  std::vector<int64_t> sums(bytes.size() / sizeof(int64_t));
  if (!sums.empty())
    std::memcpy(sums.data(), bytes.data(), bytes.size());
  return sums;
}
