// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program for the sparse cluster: waves of tiles, passes of results, loads
// of live channels.

#include "ProgramBuilder.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Partition/Binding.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::test;

static uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

namespace {
/// One tile of the output, or of the operand with the results that it reaches.
struct Tile {
  int64_t n, y, x, images, rows, cols;
  partition::Box operand;
};

/// The program for the sparse cluster.
class TileBuilder : public Builder {
public:
  TileBuilder(const Convolution &conv, const TilePlan &plan,
              const machine::Description &machine, std::mt19937_64 &random)
      : Builder(conv, machine), plan(plan), random(random) {}
  TileProgram build();

private:
  /// What a unit does at a time. Channel c of a pass is channel `firstChannel`
  /// + c of the feature map, result z result `firstResult` + z; those of the
  /// next group of units are `channelStep` and `resultStep` further on.
  struct Pass {
    int64_t firstChannel, channels, channelStep;
    int64_t firstResult, results, resultStep;
    int64_t groupChannels, groupResults; ///< Groups within the pass.
  };
  std::vector<Tile> tiles() const;
  std::vector<Tile> cutTiles();
  isa::TccTile tileOf(const Tile &tile) const;
  isa::TccOperand operandOf(const Tile &tile) const;
  void cutAtRunTime();
  void bindUnits(size_t units);
  void writeTable(const std::vector<Tile> &part);
  void wave(const std::vector<Tile> &part);
  void pass(const Pass &pass, const std::vector<Tile> &part);
  void block(const Pass &pass, int64_t channel, int64_t channels,
             const std::vector<Tile> &part);
  bool live(const Pass &pass, int64_t channel) const;
  std::vector<std::vector<isa::Coefficient>> coefficients(const Pass &pass,
                                                          int64_t copy,
                                                          int64_t channel,
                                                          int64_t channels);
  /// Copies whose results one drain takes.
  int64_t together(const Pass &pass) const {
    return plan.drainTogether && pass.resultStep == pass.results ? plan.copies
                                                                 : 1;
  }
  bool mapped(const Pass &pass) const {
    return plan.mapped && together(pass) > 1;
  }
  /// The result at a place of a pass.
  int64_t resultAt(const Pass &pass, int64_t place) const {
    const int64_t cols = pass.results * together(pass);
    return mapped(pass)
               ? pass.firstResult + (place - pass.firstResult + 1) % cols
               : place;
  }
  void loadLanes(const Pass &pass);
  /// The weight of channel c and kernel k of its group.
  const isa::Coefficient &weight(const Pass &pass, int64_t copy, int64_t c,
                                 int64_t k, int64_t tap) const {
    return conv.weight(
        resultAt(pass, pass.firstResult + copy * pass.resultStep +
                           c / pass.groupChannels * pass.groupResults + k),
        (pass.firstChannel + c) % conv.groupChannels(), tap / conv.kW,
        tap % conv.kW);
  }
  uint64_t regionStride() const {
    return static_cast<uint64_t>(plan.tileImages * plan.tileH * plan.tileW);
  }
  ExpectedRun
  expect(const std::vector<std::vector<std::vector<isa::Coefficient>>> &lists,
         uint64_t kernels, const std::vector<Tile> &part) const;
  template <typename Op>
  void setGeometry(Op &op) const;
  isa::DmaTile loadOf(const Pass &pass, int64_t channel,
                      int64_t channels) const;
  isa::TccRun runOf(const Pass &pass, int64_t channel,
                    const isa::DmaTile &load) const;

  const TilePlan &plan;
  std::mt19937_64 &random;
  TileProgram result;
  unsigned set = 0, table = 0;
  int64_t firstRow = 0, endRow = 0; ///< Of the fold.
  uint64_t route = 0;               ///< Cycles to the farthest memory unit.
};
} // namespace

//===- Sparse cluster -----------------------------------------------------===//

std::vector<Tile> TileBuilder::tiles() const {
  std::vector<Tile> all;
  for (int64_t n = 0; n < conv.images; n += plan.tileImages)
    for (int64_t y = 0; y < conv.outHeight(); y += plan.tileH)
      for (int64_t x = 0; x < conv.outWidth(); x += plan.tileW)
        all.push_back({n,
                       y,
                       x,
                       std::min(plan.tileImages, conv.images - n),
                       std::min(plan.tileH, conv.outHeight() - y),
                       std::min(plan.tileW, conv.outWidth() - x),
                       {}});
  return all;
}

std::vector<Tile> TileBuilder::cutTiles() {
  result.cut = llvm::cantFail(cutOf(conv, plan, firstRow, endRow));
  std::vector<Tile> all;
  for (int64_t n = 0; n < conv.images; n += plan.tileImages)
    for (const partition::Tile &tile : result.cut.tiles)
      if (!tile.output.empty())
        all.push_back({n, firstRow + tile.output.y0, tile.output.x0,
                       std::min(plan.tileImages, conv.images - n),
                       tile.output.rows, tile.output.cols, tile.core});
  return all;
}

isa::TccTile TileBuilder::tileOf(const Tile &tile) const {
  isa::TccTile op;
  op.copies = static_cast<uint32_t>(plan.copies);
  op.images = static_cast<uint32_t>(plan.tileImages);
  op.n0 = static_cast<uint32_t>(tile.n);
  op.y0 = static_cast<uint32_t>(tile.y);
  op.x0 = static_cast<uint32_t>(tile.x);
  op.tileH = static_cast<uint32_t>(tile.rows);
  op.tileW = static_cast<uint32_t>(tile.cols);
  op.endN = static_cast<uint32_t>(conv.images);
  op.endH = static_cast<uint32_t>(conv.outHeight());
  op.endW = static_cast<uint32_t>(conv.outWidth());
  return op;
}

/// Kernel and operand of an instruction that cuts.
template <typename Op>
static void setLayer(Op &op, const Convolution &conv) {
  op.kH = static_cast<uint32_t>(conv.kH);
  op.kW = static_cast<uint32_t>(conv.kW);
  op.sH = static_cast<uint32_t>(conv.sH);
  op.sW = static_cast<uint32_t>(conv.sW);
  op.dH = static_cast<uint32_t>(conv.dH);
  op.dW = static_cast<uint32_t>(conv.dW);
  op.pH = static_cast<int32_t>(conv.padTop);
  op.pW = static_cast<int32_t>(conv.padLeft);
  op.inH = static_cast<uint32_t>(conv.height);
  op.inW = static_cast<uint32_t>(conv.width);
}

isa::TccOperand TileBuilder::operandOf(const Tile &tile) const {
  isa::TccOperand op;
  setLayer(op, conv);
  op.copies = static_cast<uint32_t>(plan.copies);
  op.images = static_cast<uint32_t>(plan.tileImages);
  op.n0 = static_cast<uint32_t>(tile.n);
  op.y0 = static_cast<uint32_t>(tile.operand.y0);
  op.x0 = static_cast<uint32_t>(tile.operand.x0);
  op.tileH = static_cast<uint32_t>(tile.operand.rows);
  op.tileW = static_cast<uint32_t>(tile.operand.cols);
  op.endN = static_cast<uint32_t>(conv.images);
  op.outH = static_cast<uint32_t>(conv.outHeight());
  op.outW = static_cast<uint32_t>(conv.outWidth());
  return op;
}

void TileBuilder::cutAtRunTime() {
  isa::TccNnz count;
  count.channels = static_cast<uint32_t>(conv.channels);
  count.type = conv.mantissa ? isa::ElemType::Bfp : isa::ElemType::I8;
  count.mantissa = conv.mantissa;
  count.inN = static_cast<uint32_t>(conv.images);
  count.inH = static_cast<uint32_t>(conv.height);
  count.inW = static_cast<uint32_t>(conv.width);
  const auto element = static_cast<int64_t>(conv.elementBytes());
  count.srcStrideN = static_cast<int32_t>(conv.height * conv.width * element);
  count.srcStrideH = static_cast<int32_t>(conv.width * element);
  count.srcStrideW = static_cast<int32_t>(element);
  count.counts = 3;
  count.pitch = count.inW + 2;
  count.clear = true;
  code.push_back(count);
  isa::TccPart part;
  setLayer(part, conv);
  part.table = table;
  part.unit = static_cast<uint32_t>(plan.firstUnit);
  part.y0 = static_cast<uint32_t>(firstRow);
  part.copies = static_cast<uint32_t>(plan.copies);
  part.units = plan.cut->units;
  part.gridN = static_cast<uint32_t>((conv.images + plan.tileImages - 1) /
                                     plan.tileImages);
  part.images = static_cast<uint32_t>(plan.tileImages);
  part.endN = static_cast<uint32_t>(conv.images);
  part.endH = static_cast<uint32_t>(endRow);
  part.endW = static_cast<uint32_t>(conv.outWidth());
  part.tileH = static_cast<uint32_t>(plan.tileH);
  part.tileW = static_cast<uint32_t>(plan.tileW);
  part.alignH = part.alignW = plan.cut->align;
  part.algorithm = plan.cut->algorithm;
  part.metric = plan.cut->metric;
  part.threshold = 300;
  part.rounds = 64;
  part.moveBands = true;
  part.multipliers = 16;
  part.disjoint = plan.cut->disjoint;
  part.counts = count.counts;
  part.pitch = count.pitch;
  part.capacity = static_cast<uint32_t>(conv.images * conv.channels);
  code.push_back(part);
}

void TileBuilder::writeTable(const std::vector<Tile> &part) {
  if (plan.cut && plan.cut->runTime)
    return cutAtRunTime();
  for (size_t i = 0; i < part.size(); ++i) {
    auto put = [&](auto op) {
      op.table = table;
      op.clear = i == 0;
      op.unit = static_cast<uint32_t>(plan.firstUnit +
                                      i * static_cast<size_t>(plan.copies));
      code.push_back(op);
    };
    if (plan.cut && plan.cut->disjoint)
      put(operandOf(part[i]));
    else
      put(tileOf(part[i]));
  }
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
    for (int64_t k = 0; k < pass.groupResults; ++k)
      for (int64_t tap = 0; tap < conv.kH * conv.kW; ++tap)
        if (weight(pass, copy, channel, k, tap).mantissa != 0)
          return true;
  return false;
}

std::vector<std::vector<isa::Coefficient>>
TileBuilder::coefficients(const Pass &pass, int64_t copy, int64_t channel,
                          int64_t channels) {
  std::vector<std::vector<isa::Coefficient>> lists(
      static_cast<size_t>(channels));
  // Regions count from the group of the first channel.
  const int64_t firstGroup = channel / pass.groupChannels;
  for (int64_t c = channel; c < channel + channels; ++c) {
    auto &list = lists[static_cast<size_t>(c - channel)];
    const int64_t z = (c / pass.groupChannels - firstGroup) * pass.groupResults;
    for (int64_t k = 0; k < pass.groupResults; ++k)
      for (int64_t i = 0; i < conv.kH * conv.kW; ++i) {
        // With turns some rows come from right to left.
        const bool back = plan.turn > 0 && i / conv.kW / plan.turn % 2 != 0;
        const int64_t tap =
            back ? i / conv.kW * conv.kW + conv.kW - 1 - i % conv.kW : i;
        isa::Coefficient entry = weight(pass, copy, c, k, tap);
        entry.z = static_cast<uint32_t>(z + k);
        entry.ky = static_cast<uint32_t>(tap / conv.kW);
        entry.kx = static_cast<uint32_t>(tap % conv.kW);
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
  // The sign of a mantissa is that of its highest digit.
  const uint64_t sign = conv.mantissa ? 1 : 0;
  const uint64_t passes =
      divideUp((conv.mantissa ? conv.mantissa : 8) - sign, digit) *
      divideUp(conv.weightBits - sign, digit);
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

isa::DmaTile TileBuilder::loadOf(const Pass &pass, int64_t channel,
                                 int64_t channels) const {
  isa::DmaTile load;
  setGeometry(load);
  load.queue = isa::Queue::Dma1;
  load.channels = static_cast<uint32_t>(channels);
  load.part = static_cast<uint32_t>(pass.firstChannel + channel);
  load.groupStep = static_cast<uint32_t>(pass.channelStep);
  load.inN = static_cast<uint32_t>(conv.images);
  load.inH = static_cast<uint32_t>(conv.height);
  load.inW = static_cast<uint32_t>(conv.width);
  load.pH = static_cast<int32_t>(conv.padTop);
  load.pW = static_cast<int32_t>(conv.padLeft);
  const auto element = static_cast<int64_t>(conv.elementBytes());
  load.srcStrideN = static_cast<int32_t>(conv.height * conv.width * element);
  load.srcStrideH = static_cast<int32_t>(conv.width * element);
  load.srcStrideW = static_cast<int32_t>(element);
  load.exponents = static_cast<uint32_t>(load.channels *
                                         isa::geometryOf(load).slotElements() *
                                         conv.elementBytes());
  return load;
}

isa::TccRun TileBuilder::runOf(const Pass &pass, int64_t channel,
                               const isa::DmaTile &load) const {
  const int64_t before = channel / pass.groupChannels * pass.groupResults;
  isa::TccRun run;
  setGeometry(run);
  run.channels = load.channels;
  run.exponents = load.exponents;
  run.mode = conv.mantissa ? isa::OperandMode::Bfp : isa::OperandMode::Int;
  run.range = conv.range;
  run.phase = conv.mantissa ? load.part % 8 : 0;
  run.regions = static_cast<uint32_t>(pass.results - before);
  run.regionStride = static_cast<uint32_t>(regionStride());
  run.acc = static_cast<uint32_t>(before) * run.regionStride;
  run.issueZeros = plan.issueZeros;
  run.wmStep = static_cast<uint32_t>(
      machine.sparse.wmBytes / machine.sparse.wmBanks *
      (machine.sparse.wmBanks / static_cast<uint64_t>(plan.copies)));
  return run;
}

void TileBuilder::block(const Pass &pass, int64_t channel, int64_t channels,
                        const std::vector<Tile> &part) {
  const isa::DmaTile load = loadOf(pass, channel, channels);
  code.push_back(load);
  const machine::TileGeometry geometry = isa::geometryOf(load);
  const uint64_t planes =
      conv.mantissa ? divideUp(load.part % 8 + load.channels, 8) : 0;
  uint64_t bytes = 0;
  for (const Tile &tile : part) {
    uint64_t elements = geometry.loadedElements(
        static_cast<uint64_t>(tile.images), static_cast<uint64_t>(tile.rows),
        static_cast<uint64_t>(tile.cols));
    if (plan.cut && plan.cut->disjoint)
      elements = std::min(
          elements, static_cast<uint64_t>(tile.images * tile.operand.area()));
    bytes += elements * (load.channels * conv.elementBytes() + planes);
  }
  // Groups of units with channels of their own do not share a transfer.
  bytes *= pass.channelStep ? static_cast<uint64_t>(plan.copies) : 1;
  result.inputBytes += bytes;
  result.loads.push_back(divideUp(bytes, machine.dma.onchipBytesPerCycle));

  isa::TccRun run = runOf(pass, channel, load);
  isa::StreamShape shape;
  shape.channels = load.channels;
  shape.channelsPerGroup = static_cast<uint32_t>(pass.groupChannels);
  shape.firstInGroup = static_cast<uint32_t>(channel % pass.groupChannels);
  shape.kernels = static_cast<uint32_t>(pass.groupResults);
  shape.kH = run.kH;
  shape.kW = run.kW;
  shape.mantissaBits = conv.weightBits;
  shape.shiftBits = conv.shiftBits;
  shape.turn = plan.turn;
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
  result.runs.push_back(expect(lists, shape.kernels, part));
  result.runs.back().cycles += route;
  set = 1 - set;
}

/// Puts the lane to take into each record; there are no others if the drain
/// stores sums.
void TileBuilder::loadLanes(const Pass &pass) {
  const int64_t cols = pass.results * together(pass);
  const size_t words = conv.epilogue == Epilogue::Raw ? 4 : 1;
  std::vector<uint8_t> bytes(static_cast<size_t>(cols) * words * 4);
  for (int64_t c = 0; c < cols; ++c)
    bytes[(static_cast<size_t>(c) * words + words - 1) * 4] =
        static_cast<uint8_t>((c + cols - 1) % cols);
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Sb;
  copy.elemBytes = 4;
  copy.srcBase = constant(bytes);
  copy.dstBase =
      static_cast<uint64_t>(pass.firstResult) * machine.sb.bytesPerPartition +
      static_cast<uint64_t>(parameters()) + 16 - words * 4;
  copy.n3 = static_cast<uint32_t>(cols);
  copy.n4 = static_cast<uint32_t>(words);
  copy.srcStride3 = static_cast<int64_t>(words) * 4;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  copy.srcStride4 = copy.dstStride4 = 4;
  code.push_back(copy);
}

void TileBuilder::pass(const Pass &pass, const std::vector<Tile> &part) {
  isa::TccInit init;
  init.regions = static_cast<uint32_t>(pass.results);
  init.regionStride = static_cast<uint32_t>(regionStride());
  init.count = init.regionStride;
  code.push_back(init);
  for (int64_t c = 0; c < pass.channels;) {
    // Only runs of channels that have a coefficient are loaded.
    int64_t end = c;
    while (end < pass.channels && end - c < plan.channelsPerLoad &&
           live(pass, end))
      ++end;
    if (end > c)
      block(pass, c, end - c, part);
    c = std::max(end, c + 1);
  }
  // Copies with adjacent results can be drained side by side.
  const int64_t together = this->together(pass);
  if (mapped(pass))
    loadLanes(pass);
  for (int64_t copy = 0; copy < plan.copies; copy += together) {
    isa::ActDrain op = drain();
    op.fromTcu = true;
    op.table = table;
    op.group = static_cast<uint32_t>(copy);
    op.cols = init.regions * static_cast<uint32_t>(together);
    op.groupLanes = together > 1 ? init.regions : 0;
    op.mapped = mapped(pass);
    if (op.mapped)
      op.paramOffset = static_cast<uint32_t>(parameters());
    op.regionStride = init.regionStride;
    op.psumStride0 = static_cast<int32_t>(plan.tileH * plan.tileW);
    op.psumStride1 = static_cast<int32_t>(plan.tileW);
    op.psumStride2 = 1;
    op.dstPart = op.paramPart =
        static_cast<uint32_t>(pass.firstResult + copy * pass.resultStep);
    code.push_back(op);
  }
}

void TileBuilder::bindUnits(size_t units) {
  route = 0;
  for (uint64_t u = plan.firstUnit;
       u < plan.firstUnit + units && u < plan.memories.size(); ++u) {
    isa::TccBind bind;
    bind.table = table;
    bind.unit = static_cast<uint32_t>(u);
    bind.memory = plan.memories[u];
    code.push_back(bind);
    route =
        std::max(route, *partition::hops(static_cast<partition::Binding>(
                                             machine.sparse.binding),
                                         machine.sparse.tcus, bind.memory, u));
  }
}

void TileBuilder::wave(const std::vector<Tile> &part) {
  table = static_cast<unsigned>(result.waves++ % machine.sparse.tileTables);
  writeTable(part);
  bindUnits(part.size() * static_cast<size_t>(plan.copies));
  if (plan.splitGroups) {
    const int64_t channels = conv.channels / plan.copies;
    const int64_t results = conv.results / plan.copies;
    pass({0, channels, channels, 0, results, results, conv.groupChannels(),
          conv.groupResults()},
         part);
    return;
  }
  const int64_t results = conv.groupResults() / plan.copies;
  for (int64_t q = 0; q < conv.groups; ++q)
    for (int64_t z = 0; z < results; z += plan.regions) {
      const int64_t count = std::min(plan.regions, results - z);
      pass({q * conv.groupChannels(), conv.groupChannels(), 0,
            q * conv.groupResults() + z, count, results, conv.groupChannels(),
            count},
           part);
    }
}

TileProgram TileBuilder::build() {
  loadInput();
  loadParameters();
  if (plan.cut) {
    const int64_t rows =
        plan.cut->foldRows ? plan.cut->foldRows : conv.outHeight();
    for (; endRow < conv.outHeight(); firstRow = endRow) {
      endRow = std::min(conv.outHeight(), firstRow + rows);
      wave(cutTiles());
    }
    result.program = finish();
    return std::move(result);
  }
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
