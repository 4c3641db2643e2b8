// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for convolutions on both clusters. Results o lie in partition o, as
// i64 in the order (image, y, x); channels c in partition c.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Machine/TileGeometry.h"
#include <algorithm>
#include <cstring>
#include <map>

using namespace ashlar;
using namespace ashlar::test;

static uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

namespace {
/// One tile of the output.
struct Tile {
  int64_t n, y, x, images, rows, cols;
};

/// Common parts of both programs: DRAM, input and output.
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
  container::Program finish();
  int64_t inputBytes() const {
    return conv.images * conv.height * conv.width *
           static_cast<int64_t>(conv.elementBytes());
  }
  int64_t outBase() const { return (inputBytes() + 63) / 64 * 64; }
  int64_t outPixels() const { return conv.outHeight() * conv.outWidth(); }
  isa::ActDrain drain() const;

  const Convolution &conv;
  const machine::Description &machine;
  container::Program program;
  std::vector<isa::Instruction> code;
  uint64_t dramEnd = 0;
};

/// The program for the sparse cluster.
class TileBuilder : public Builder {
public:
  TileBuilder(const Convolution &conv, const TilePlan &plan,
              const machine::Description &machine, std::mt19937_64 &random)
      : Builder(conv, machine), plan(plan), random(random) {}
  TileProgram build();

private:
  /// Channels [first, first + channels) and results of one unit at a time.
  struct Pass {
    int64_t convGroup, firstResult, results; ///< Of the first unit group.
  };
  std::vector<Tile> tiles() const;
  void wave(const std::vector<Tile> &part);
  void pass(const Pass &pass, const std::vector<Tile> &part);
  void block(const Pass &pass, int64_t channel, int64_t channels,
             const std::vector<Tile> &part);
  bool live(const Pass &pass, int64_t channel) const;
  std::vector<std::vector<isa::Coefficient>> coefficients(const Pass &pass,
                                                          int64_t copy,
                                                          int64_t channel,
                                                          int64_t channels);
  int64_t unitResults() const { return conv.groupResults() / plan.copies; }
  uint64_t regionStride() const {
    return static_cast<uint64_t>(plan.tileImages * plan.tileH * plan.tileW);
  }
  ExpectedRun
  expect(const std::vector<std::vector<std::vector<isa::Coefficient>>> &lists,
         uint64_t kernels, const std::vector<Tile> &part) const;
  template <typename Op>
  void setGeometry(Op &op) const;

  const TilePlan &plan;
  std::mt19937_64 &random;
  TileProgram result;
  unsigned set = 0, table = 0;
};
} // namespace

//===- Input and output
//------------------------------------------------------===//

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

isa::ActDrain Builder::drain() const {
  isa::ActDrain op;
  op.mode = isa::DrainMode::Raw64;
  op.dstType = isa::ElemType::I64;
  op.n0 = static_cast<uint32_t>(conv.images);
  op.n1 = static_cast<uint32_t>(conv.outHeight());
  op.n2 = static_cast<uint32_t>(conv.outWidth());
  op.dstOffset = static_cast<uint32_t>(outBase());
  op.dstStride0 = static_cast<int32_t>(outPixels() * 8);
  op.dstStride1 = static_cast<int32_t>(conv.outWidth() * 8);
  op.dstStride2 = 8;
  return op;
}

void Builder::storeOutput() {
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Sb;
  copy.dstMem = isa::Memory::Dram;
  copy.elemBytes = 8;
  copy.srcBase = static_cast<uint64_t>(outBase());
  copy.dstBase = dramEnd;
  copy.n2 = static_cast<uint32_t>(conv.images);
  copy.n3 = static_cast<uint32_t>(conv.results);
  copy.n4 = static_cast<uint32_t>(outPixels());
  copy.srcStride2 = outPixels() * 8;
  copy.srcStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  copy.srcStride4 = copy.dstStride4 = 8;
  copy.dstStride2 = conv.results * outPixels() * 8;
  copy.dstStride3 = outPixels() * 8;
  code.push_back(copy);
}

container::Program Builder::finish() {
  storeOutput();
  container::TensorBinding output;
  output.name = "y";
  output.type = support::ElementType::I64;
  output.shape = {conv.images, conv.results, conv.outHeight(), conv.outWidth()};
  output.dramOffset = dramEnd;
  program.outputs.push_back(output);
  program.dramBytes =
      dramEnd +
      static_cast<uint64_t>(conv.images * conv.results * outPixels()) * 8;
  program.code = serialise(code);
  program.semaphores = 100;
  return std::move(program);
}

//===- Sparse cluster
//--------------------------------------------------------===//

std::vector<Tile> TileBuilder::tiles() const {
  std::vector<Tile> all;
  for (int64_t n = 0; n < conv.images; n += plan.tileImages)
    for (int64_t y = 0; y < conv.outHeight(); y += plan.tileH)
      for (int64_t x = 0; x < conv.outWidth(); x += plan.tileW)
        all.push_back({n, y, x, std::min(plan.tileImages, conv.images - n),
                       std::min(plan.tileH, conv.outHeight() - y),
                       std::min(plan.tileW, conv.outWidth() - x)});
  return all;
}

template <typename Op>
void TileBuilder::setGeometry(Op &op) const {
  op.table = table;
  op.set = set;
  op.type = conv.mantissa ? isa::ElemType::Bfp : isa::ElemType::I8;
  op.mantissa = conv.mantissa;
  op.block = conv.mantissa ? 8 : 0;
  op.kH = static_cast<uint32_t>(conv.kH);
  op.kW = static_cast<uint32_t>(conv.kW);
  op.sH = static_cast<uint32_t>(conv.sH);
  op.sW = static_cast<uint32_t>(conv.sW);
  op.dH = static_cast<uint32_t>(conv.dH);
  op.dW = static_cast<uint32_t>(conv.dW);
  op.images = static_cast<uint32_t>(plan.tileImages);
  op.tileH = static_cast<uint32_t>(plan.tileH);
  op.tileW = static_cast<uint32_t>(plan.tileW);
  op.groups = static_cast<uint32_t>(plan.copies);
}

bool TileBuilder::live(const Pass &pass, int64_t channel) const {
  for (int64_t copy = 0; copy < plan.copies; ++copy)
    for (int64_t z = 0; z < pass.results; ++z)
      for (int64_t k = 0; k < conv.kH * conv.kW; ++k)
        if (conv.weight(pass.firstResult + copy * unitResults() + z, channel,
                        k / conv.kW, k % conv.kW)
                .mantissa != 0)
          return true;
  return false;
}

std::vector<std::vector<isa::Coefficient>>
TileBuilder::coefficients(const Pass &pass, int64_t copy, int64_t channel,
                          int64_t channels) {
  std::vector<std::vector<isa::Coefficient>> lists(
      static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c) {
    auto &list = lists[static_cast<size_t>(c)];
    for (int64_t z = 0; z < pass.results; ++z)
      for (int64_t ky = 0; ky < conv.kH; ++ky)
        for (int64_t kx = 0; kx < conv.kW; ++kx) {
          isa::Coefficient entry = conv.weight(
              pass.firstResult + copy * unitResults() + z, channel + c, ky, kx);
          entry.z = static_cast<uint32_t>(z);
          entry.ky = static_cast<uint32_t>(ky);
          entry.kx = static_cast<uint32_t>(kx);
          if (entry.mantissa != 0)
            list.push_back(entry);
        }
    if (plan.shuffle)
      std::shuffle(list.begin(), list.end(), random);
  }
  return lists;
}

/// Section 9 of the zero-skip specification, evaluated afresh.
ExpectedRun TileBuilder::expect(
    const std::vector<std::vector<std::vector<isa::Coefficient>>> &lists,
    uint64_t kernels, const std::vector<Tile> &part) const {
  const uint64_t lanes = machine.sparse.lanes;
  const auto pitch = static_cast<uint64_t>(plan.tileW);
  const uint64_t taps = static_cast<uint64_t>(conv.kH * conv.kW);
  const uint64_t digit = machine.pe.cellDigitBits;
  const uint64_t passes = divideUp(conv.mantissa ? conv.mantissa : 8, digit) *
                          divideUp(conv.weightBits, digit);
  const bool dense = plan.encoding == isa::StreamEncoding::Dense;
  ExpectedRun run;
  for (const auto &list : lists) {
    uint64_t decoded = 0;
    for (const auto &channel : list)
      decoded += dense ? kernels * taps : channel.size();
    run.cycles =
        std::max(run.cycles, divideUp(decoded, machine.sparse.wmBroadcast));
    for (const Tile &tile : part) {
      const auto lines = static_cast<uint64_t>(tile.images * tile.rows);
      const uint64_t rows = std::max<uint64_t>(1, lanes / pitch);
      const uint64_t steps = divideUp(static_cast<uint64_t>(tile.cols), lanes) *
                             divideUp(lines, rows);
      const uint64_t side = lines * pitch <= lanes
                                ? std::min(machine.sparse.coefficientsPerStep,
                                           lanes / (lines * pitch))
                                : 1;
      uint64_t cycles = 0;
      for (const auto &channel : list) {
        const uint64_t entries =
            plan.issueZeros ? kernels * taps : channel.size();
        cycles += divideUp(entries, side) * steps * passes;
        run.entries += entries;
      }
      run.cycles = std::max(run.cycles, cycles);
    }
  }
  return run;
}

void TileBuilder::block(const Pass &pass, int64_t channel, int64_t channels,
                        const std::vector<Tile> &part) {
  const int64_t first = pass.convGroup * conv.groupChannels() + channel;
  isa::DmaTile load;
  setGeometry(load);
  load.queue = isa::Queue::Dma1;
  load.channels = static_cast<uint32_t>(channels);
  load.part = static_cast<uint32_t>(first);
  load.inN = static_cast<uint32_t>(conv.images);
  load.inH = static_cast<uint32_t>(conv.height);
  load.inW = static_cast<uint32_t>(conv.width);
  load.pH = static_cast<int32_t>(conv.padTop);
  load.pW = static_cast<int32_t>(conv.padLeft);
  const auto element = static_cast<int64_t>(conv.elementBytes());
  load.srcStrideN = static_cast<int32_t>(conv.height * conv.width * element);
  load.srcStrideH = static_cast<int32_t>(conv.width * element);
  load.srcStrideW = static_cast<int32_t>(element);
  machine::TileGeometry geometry;
  geometry.h = machine::AxisPhases(conv.kH, conv.sH, conv.dH);
  geometry.w = machine::AxisPhases(conv.kW, conv.sW, conv.dW);
  geometry.images = static_cast<uint64_t>(plan.tileImages);
  geometry.rows = static_cast<uint64_t>(plan.tileH);
  geometry.cols = static_cast<uint64_t>(plan.tileW);
  load.exponents =
      static_cast<uint32_t>(static_cast<uint64_t>(channels) *
                            geometry.slotElements() * conv.elementBytes());
  code.push_back(load);
  const uint64_t planes = conv.mantissa
                              ? (static_cast<uint64_t>(first) % 8 +
                                 static_cast<uint64_t>(channels) + 7) /
                                    8
                              : 0;
  uint64_t bytes = 0;
  for (const Tile &tile : part)
    bytes += geometry.loadedElements(static_cast<uint64_t>(tile.images),
                                     static_cast<uint64_t>(tile.rows),
                                     static_cast<uint64_t>(tile.cols)) *
             (static_cast<uint64_t>(channels) * conv.elementBytes() + planes);
  result.inputBytes += bytes;
  result.loads.push_back(divideUp(bytes, machine.dma.onchipBytesPerCycle));

  isa::TccRun run;
  setGeometry(run);
  run.channels = load.channels;
  run.exponents = load.exponents;
  run.mode = conv.mantissa ? isa::OperandMode::Bfp : isa::OperandMode::Int;
  run.range = conv.range;
  run.phase = conv.mantissa ? static_cast<uint32_t>(first % 8) : 0;
  run.regions = static_cast<uint32_t>(pass.results);
  run.regionStride = static_cast<uint32_t>(regionStride());
  run.issueZeros = plan.issueZeros;
  run.wmStep = static_cast<uint32_t>(
      machine.sparse.wmBytes / machine.sparse.wmBanks *
      (machine.sparse.wmBanks / static_cast<uint64_t>(plan.copies)));
  isa::StreamShape shape;
  shape.channels = shape.channelsPerGroup = load.channels;
  shape.kernels = run.regions;
  shape.kH = run.kH;
  shape.kW = run.kW;
  shape.mantissaBits = conv.weightBits;
  shape.shiftBits = conv.shiftBits;
  std::vector<std::vector<std::vector<isa::Coefficient>>> lists;
  for (int64_t copy = 0; copy < plan.copies; ++copy) {
    lists.push_back(coefficients(pass, copy, channel, channels));
    std::vector<uint8_t> stream =
        llvm::cantFail(isa::encodeStream(shape, lists.back(), plan.encoding));
    run.bytes = std::max(run.bytes, static_cast<uint32_t>(stream.size()));
    isa::DmaCopy copyOp;
    copyOp.srcMem = isa::Memory::Dram;
    copyOp.dstMem = isa::Memory::Wm;
    copyOp.n4 = static_cast<uint32_t>(stream.size());
    copyOp.srcStride4 = copyOp.dstStride4 = 1;
    copyOp.dstBase = static_cast<uint64_t>(copy) * run.wmStep;
    copyOp.srcBase = constant(std::move(stream));
    code.push_back(copyOp);
  }
  code.push_back(run);
  result.runs.push_back(expect(lists, run.regions, part));
  set = 1 - set;
}

void TileBuilder::pass(const Pass &pass, const std::vector<Tile> &part) {
  isa::TccInit init;
  init.regions = static_cast<uint32_t>(pass.results);
  init.regionStride = static_cast<uint32_t>(regionStride());
  init.count = init.regionStride;
  code.push_back(init);
  for (int64_t c = 0; c < conv.groupChannels();) {
    // Only runs of channels that have a coefficient are loaded.
    int64_t end = c;
    while (end < conv.groupChannels() && end - c < plan.channelsPerLoad &&
           live(pass, end))
      ++end;
    if (end > c)
      block(pass, c, end - c, part);
    c = std::max(end, c + 1);
  }
  for (int64_t copy = 0; copy < plan.copies; ++copy) {
    isa::ActDrain op = drain();
    op.fromTcu = true;
    op.table = table;
    op.group = static_cast<uint32_t>(copy);
    op.cols = init.regions;
    op.regionStride = init.regionStride;
    op.psumStride0 = static_cast<int32_t>(plan.tileH * plan.tileW);
    op.psumStride1 = static_cast<int32_t>(plan.tileW);
    op.psumStride2 = 1;
    op.dstPart = static_cast<uint32_t>(pass.firstResult + copy * unitResults());
    code.push_back(op);
  }
}

void TileBuilder::wave(const std::vector<Tile> &part) {
  table = static_cast<unsigned>(result.waves++ % machine.sparse.tileTables);
  for (size_t i = 0; i < part.size(); ++i) {
    isa::TccTile op;
    op.table = table;
    op.clear = i == 0;
    op.unit = static_cast<uint32_t>(i * static_cast<size_t>(plan.copies));
    op.copies = static_cast<uint32_t>(plan.copies);
    op.images = static_cast<uint32_t>(plan.tileImages);
    op.n0 = static_cast<uint32_t>(part[i].n);
    op.y0 = static_cast<uint32_t>(part[i].y);
    op.x0 = static_cast<uint32_t>(part[i].x);
    op.tileH = static_cast<uint32_t>(plan.tileH);
    op.tileW = static_cast<uint32_t>(plan.tileW);
    op.endN = static_cast<uint32_t>(conv.images);
    op.endH = static_cast<uint32_t>(conv.outHeight());
    op.endW = static_cast<uint32_t>(conv.outWidth());
    code.push_back(op);
  }
  for (int64_t q = 0; q < conv.groups; ++q)
    for (int64_t z = 0; z < unitResults(); z += plan.regions)
      pass({q, q * conv.groupResults() + z,
            std::min(plan.regions, unitResults() - z)},
           part);
}

TileProgram TileBuilder::build() {
  loadInput();
  const std::vector<Tile> all = tiles();
  const size_t units = machine.sparse.tcus / static_cast<size_t>(plan.copies);
  for (size_t i = 0; i < all.size(); i += units)
    wave({all.begin() + static_cast<ptrdiff_t>(i),
          all.begin() +
              static_cast<ptrdiff_t>(std::min(all.size(), i + units))});
  result.program = finish();
  return std::move(result);
}

TileProgram test::buildTiles(const Convolution &conv, const TilePlan &plan,
                             const machine::Description &machine,
                             std::mt19937_64 &random) {
  return TileBuilder(conv, plan, machine, random).build();
}

//===- Dense cluster
//---------------------------------------------------------===//

namespace {
class DenseBuilder : public Builder {
public:
  using Builder::Builder;
  container::Program build();
};
} // namespace

container::Program DenseBuilder::build() {
  loadInput();
  const int64_t taps = conv.kH * conv.kW;
  const int64_t base = outBase() + conv.images * outPixels() * 8;
  // Weights by (channel, tap, result), channels over partitions.
  std::vector<uint8_t> bytes;
  for (int64_t c = 0; c < conv.channels; ++c)
    for (int64_t k = 0; k < taps; ++k)
      for (int64_t o = 0; o < conv.results; ++o)
        bytes.push_back(static_cast<uint8_t>(
            conv.weight(o, c, k / conv.kW, k % conv.kW).mantissa));
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Sb;
  copy.srcBase = constant(bytes);
  copy.dstBase = static_cast<uint64_t>(base);
  copy.n3 = static_cast<uint32_t>(conv.channels);
  copy.n4 = static_cast<uint32_t>(taps * conv.results);
  copy.srcStride3 = taps * conv.results;
  copy.srcStride4 = copy.dstStride4 = 1;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  code.push_back(copy);
  auto range = [](int64_t start, int64_t stride, int64_t extent) {
    const int64_t low = start >= 0 ? 0 : (-start + stride - 1) / stride;
    const int64_t high =
        extent <= start ? 0 : (extent - start + stride - 1) / stride;
    return std::pair(static_cast<int32_t>(low),
                     static_cast<int32_t>(std::max(low, high)));
  };
  for (int64_t k = 0; k < taps; ++k) {
    isa::PeLoad load;
    load.rows = static_cast<uint32_t>(conv.channels);
    load.cols = static_cast<uint32_t>(conv.results);
    load.offset = static_cast<uint32_t>(base + k * conv.results);
    load.colStride = 1;
    load.type = isa::ElemType::I8;
    load.mode = isa::OperandMode::Int;
    code.push_back(load);
    code.push_back(isa::PeSwap());
    const int64_t y = k / conv.kW * conv.dH - conv.padTop;
    const int64_t x = k % conv.kW * conv.dW - conv.padLeft;
    isa::PeMatmul op;
    op.rows = load.rows;
    op.cols = load.cols;
    op.type = load.type;
    op.mode = load.mode;
    op.accumulate = k > 0;
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
    std::tie(op.lo1, op.hi1) = range(y, conv.sH, conv.height);
    std::tie(op.lo2, op.hi2) = range(x, conv.sW, conv.width);
    code.push_back(op);
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

std::vector<int64_t> test::sumsOf(const container::Program &program,
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
  const std::vector<uint8_t> &data = ran->outputs[0].data;
  std::vector<int64_t> sums(data.size() / sizeof(int64_t));
  std::memcpy(sums.data(), data.data(), data.size());
  if (result)
    *result = std::move(*ran);
  return sums;
}
