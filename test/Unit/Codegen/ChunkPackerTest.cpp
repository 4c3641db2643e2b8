// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a chunk load leaves in SB and XM, element by element against the encoded
// weights, for every width, block and shape; and how much DRAM it takes.

#include "lib/Conversion/NPUToISA/ChunkPacker.h"
#include "../Emulator/NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Isa/Operands.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;

namespace {

constexpr int64_t partitionBytes = 16384;

struct Case {
  int mantissa = 8;
  std::string block = "16";
  int64_t outputs = 1, channels = 1, kernel = 1, groups = 1, part = 0;
  int64_t rows = 1;
  bool moves = false;
  WeightForm form = WeightForm::Auto;
};

/// Values of very different sizes, some zero.
std::string randomConstant(Random &random, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    float value = random.chance(15)
                      ? 0.0f
                      : std::ldexp(static_cast<float>(random.between(-99, 99)),
                                   static_cast<int>(random.between(-12, 0)));
    char word[sizeof(value)];
    std::memcpy(word, &value, sizeof(value));
    bytes.append(word, sizeof(word));
  }
  return llvm::toHex(bytes);
}

std::string moduleText(const Case &c, Random &random) {
  std::string type = fmt::format("!bfp.block<mantissa = {}, block = {}, range "
                                 "= 7, axis = 1>",
                                 c.mantissa, c.block);
  std::string weights = type;
  if (c.rows > 1)
    weights.insert(weights.size() - 1, fmt::format(", rows = {}", c.rows));
  int64_t depth = c.channels / c.groups;
  std::string shape =
      fmt::format("{}x{}x{}x{}", c.outputs, depth, c.kernel, c.kernel);
  std::string x = fmt::format("tensor<1x{}x4x4x{}>", c.channels, type);
  std::string y =
      fmt::format("tensor<1x{0}x{1}x{1}xf32>", c.outputs, 5 - c.kernel);
  return fmt::format(
      "func.func @f(%x: {0}) {{\n"
      "  %c = nn.constant dense<\"0x{1}\"> : tensor<{2}xf32>\n"
      "  %w = bfp.encode %c weights : tensor<{2}xf32> -> tensor<{2}x{3}>\n"
      "  %y = npu.pe.conv(%x, %w) {{strides = array<i64: 1, 1>, pads = "
      "array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = {4} : "
      "i64, function = \"copy\", alpha = 0.0 : f32, beta = 0.0 : f32}} : "
      "({0}, tensor<{2}x{3}>) -> {5}\n"
      "  return\n}}\n",
      x, randomConstant(random, c.outputs * depth * c.kernel * c.kernel), shape,
      weights, c.groups, y);
}

class ChunkPackerTest : public ::testing::Test {
protected:
  ChunkPackerTest() : machine(smallMachine(partitionBytes)) {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, bfp::BFPDialect, npu::NPUDialect,
                    mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  StreamedProduct parse(const Case &c, Random &random) {
    module = mlir::parseSourceString<mlir::ModuleOp>(moduleText(c, random),
                                                     &context);
    StreamedProduct product;
    module->walk([&](npu::PeConvOp op) { product.op = op; });
    product.shape = analysis::productShape(product.op);
    product.shape.part = c.part;
    product.shape.weightsMove = c.moves;
    product.columns = analysis::planStationary(product.shape, machine);
    product.elementBytes = product.shape.weightFormat.mantissaBytes();
    return product;
  }

  /// Packs and loads every chunk of a product, and looks at each.
  void check(const Case &c, uint64_t seed) {
    Random random(seed);
    StreamedProduct product = parse(c, random);
    EncodedWeights weights(product.op);
    NaiveMachine naive(machine, 1 << 20);
    builder.emplace(machine);
    builder->weightForm = c.form;
    for (size_t i = 0; i < product.columns.size(); ++i) {
      PackedChunk chunk = packChunk(*builder, product, i, &weights);
      builder->entries.clear();
      emitChunkLoad(*builder, product, i, chunk, 64);
      for (const ConstantBytes &constant : builder->constants)
        llvm::copy(constant.bytes, naive.dram.begin() + constant.address);
      for (const Entry &entry : builder->entries)
        naive.execute(entry.instruction);
      for (size_t t = 0; t < product.columns[i].tiles.size(); ++t)
        checkTile(naive, product, weights, i, t);
    }
  }

  void checkTile(const NaiveMachine &naive, const StreamedProduct &product,
                 const EncodedWeights &weights, size_t column, size_t index) {
    const analysis::ColumnTile &columns = product.columns[column];
    const analysis::StationaryTile &tile = columns.tiles[index];
    int64_t depth = product.shape.channels / product.shape.groups;
    int64_t perGroup = product.shape.outputs / product.shape.groups;
    int64_t pitch = llvm::alignTo(columns.cols * product.elementBytes, 8);
    for (int64_t row = 0; row < tile.rows; ++row)
      for (int64_t col = 0; col < columns.cols; ++col) {
        int64_t output = columns.firstOutput + col;
        int64_t channel = tile.channel + row - output / perGroup * depth;
        int64_t part = (product.shape.part + tile.channel + row) %
                       static_cast<int64_t>(machine.sb.partitions);
        int64_t at = 64 + static_cast<int64_t>(index) * pitch +
                     col * product.elementBytes;
        const uint8_t *stored = &naive.sb[part * partitionBytes + at];
        int value = static_cast<int8_t>(stored[product.elementBytes - 1]);
        if (product.elementBytes == 2)
          value = value * 256 + stored[0];
        bool mine = channel >= 0 && channel < depth && tile.layer < 0;
        if (!mine) {
          // Zero, or of the layer that is tested by whole programs.
          if (tile.layer < 0)
            ASSERT_EQ(value, 0);
          continue;
        }
        ASSERT_EQ(value, weights.mantissa(output, tile.tap, channel))
            << "row " << row << ", column " << col;
        ASSERT_EQ(naive.xm[part / machine.xmGroup * partitionBytes + at],
                  weights.cell(output, tile.tap, channel))
            << "row " << row << ", column " << col;
      }
  }

  machine::Description machine;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<ProgramBuilder> builder;
};

} // namespace

TEST_F(ChunkPackerTest, EveryWidthAndBlock) {
  uint64_t seed = 0;
  for (int mantissa = 3; mantissa <= 16; ++mantissa)
    for (const char *block : {"8", "16", "32", "64", "axis", "tensor"}) {
      Random random(++seed);
      Case c;
      c.mantissa = mantissa;
      c.block = block;
      c.outputs = random.between(1, 9);
      c.channels = random.between(1, 90);
      c.kernel = random.pick<int64_t>({1, 1, 2});
      c.part = c.channels <= 8 ? 8 * random.between(0, 1) : 0;
      c.moves = random.chance(30);
      SCOPED_TRACE(fmt::format("{} bits, block {}, {} x {}, part {}", mantissa,
                               block, c.outputs, c.channels, c.part));
      ASSERT_NO_FATAL_FAILURE(check(c, seed));
    }
}

TEST_F(ChunkPackerTest, GroupsAreBlockDiagonal) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Case c;
    c.mantissa = static_cast<int>(random.between(3, 16));
    c.groups = random.between(2, 12);
    c.channels = c.groups * random.between(1, 12);
    c.outputs = c.groups * random.between(1, 3);
    SCOPED_TRACE(fmt::format("{} bits, {} groups of {}", c.mantissa, c.groups,
                             c.channels / c.groups));
    ASSERT_NO_FATAL_FAILURE(check(c, seed));
  }
}

TEST_F(ChunkPackerTest, ChannelsShareExponents) {
  machine.dram.burstBytes = 8; // Few bits save bursts of single tiles.
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    Case c;
    c.mantissa = static_cast<int>(random.between(3, 16));
    c.block = random.pick<const char *>({"8", "16", "32", "64", "axis"});
    c.rows = random.pick<int64_t>({2, 3, 4, 5, 7, 8, 40});
    c.groups = random.chance(40) ? random.between(2, 8) : 1;
    c.outputs = c.groups * random.between(1, 9);
    c.channels = c.groups * random.between(1, c.groups > 1 ? 12 : 90);
    c.kernel = random.pick<int64_t>({1, 1, 2});
    c.part = c.channels <= 8 ? 8 * random.between(0, 1) : 0;
    c.moves = random.chance(30);
    c.form = random.pick<WeightForm>(
        {WeightForm::Dense, WeightForm::Exponents, WeightForm::AutoExponents});
    SCOPED_TRACE(fmt::format(
        "seed {}: {} bits, block {}, rows {}, {} x {} in {}"
        " groups",
        seed, c.mantissa, c.block, c.rows, c.outputs, c.channels, c.groups));
    ASSERT_NO_FATAL_FAILURE(check(c, seed));
  }
}

TEST_F(ChunkPackerTest, StoresOneCellForEachTile) {
  // 8 outputs in columns of four; tiles of two outputs by a block of 16 in
  // 32 channels. Rows of XM come twice from one cell, and so do columns.
  Case c;
  c.block = "16";
  c.rows = 2;
  c.outputs = 8;
  c.channels = 32;
  c.form = WeightForm::Dense;
  ASSERT_NO_FATAL_FAILURE(check(c, 1));
  EXPECT_EQ(builder->storage.begin()->second.exponents, (8 / 2) * (32 / 16));
  uint64_t cells = 0;
  for (const Entry &entry : builder->entries)
    if (auto *copy = std::get_if<isa::DmaCopy>(&entry.instruction);
        copy && copy->dstMem == isa::Memory::Xm)
      cells += uint64_t(copy->n0) * copy->n1 * copy->n2 * copy->n3 * copy->n4;
  EXPECT_EQ(cells, 4u * 32 / machine.xmGroup) << "of the second chunk";
}

TEST_F(ChunkPackerTest, StreamsRepeatExponentsOverColumns) {
  // Nine taps of two tiles each in one stream.
  machine.dram.burstBytes = 8;
  Case c;
  c.block = "8";
  c.rows = 2;
  c.outputs = 4;
  c.channels = 8;
  c.kernel = 3;
  c.form = WeightForm::Exponents;
  ASSERT_NO_FATAL_FAILURE(check(c, 1));
  uint64_t streams = 0;
  for (const Entry &entry : builder->entries)
    if (auto *unpack = std::get_if<isa::DmaUnpack>(&entry.instruction);
        unpack && unpack->form == isa::CodeForm::Exponents) {
      ++streams;
      EXPECT_EQ(uint32_t(unpack->unit), 2u);
      EXPECT_EQ(uint32_t(unpack->n2), 8 / machine.xmGroup);
      EXPECT_EQ(uint32_t(unpack->n3), 2u);
      EXPECT_EQ(uint32_t(unpack->n4), 2u);
      const numerics::CodeStream codes = operandSrc(*unpack).stream();
      EXPECT_EQ(codes.count, 9u * 2);
      EXPECT_EQ(codes.decoded(), 9u * 2);
    }
  EXPECT_EQ(streams, 1u);
}

TEST_F(ChunkPackerTest, LeavesZerosOut) {
  // Half of each tile are the zeros of the other group.
  Case c;
  c.mantissa = 8;
  c.groups = 2;
  c.channels = c.outputs = 32;
  c.form = WeightForm::Dense;
  ASSERT_NO_FATAL_FAILURE(check(c, 1));
  const NodeStorage all = builder->storage.begin()->second;
  EXPECT_EQ(all.omitted, 0);
  for (WeightForm form :
       {WeightForm::Bitmap, WeightForm::Runs, WeightForm::Auto}) {
    c.form = form;
    ASSERT_NO_FATAL_FAILURE(check(c, 1));
    const NodeStorage &some = builder->storage.begin()->second;
    EXPECT_LT(some.mantissas, all.mantissas * 3 / 4);
    EXPECT_EQ(some.mantissas + some.omitted, all.mantissas);
    auto &load = std::get<isa::DmaUnpack>(builder->entries[0].instruction);
    EXPECT_NE(load.form, isa::CodeForm::Dense);
  }
}

TEST_F(ChunkPackerTest, StoresWBitsAndOneByteForEachBlock) {
  // 8 outputs of 8 channels, 2 x 2 taps: two chunks of four tiles of 8 x 4
  // mantissas of 5 bits, 80 bytes in 128, and of 4 x 4 blocks.
  Case c;
  c.mantissa = 5;
  c.block = "32";
  c.outputs = c.channels = 8;
  c.kernel = 2;
  c.form = WeightForm::Dense;
  ASSERT_NO_FATAL_FAILURE(check(c, 1));
  ASSERT_EQ(builder->storage.size(), 1u);
  const NodeStorage &stored = builder->storage.begin()->second;
  EXPECT_EQ(stored.mantissas, 2 * 80);
  EXPECT_EQ(stored.exponents, 2 * 16);
  EXPECT_EQ(stored.parameters, 2 * 64);
  EXPECT_EQ(stored.padding, 2 * (48 + 48));
  EXPECT_EQ(stored.segments() + stored.padding, builder->dramEnd());
  int64_t bytes = 0;
  for (const ConstantBytes &constant : builder->constants)
    bytes += static_cast<int64_t>(constant.bytes.size());
  EXPECT_EQ(stored.segments(), bytes);
  EXPECT_EQ(builder->entries.size(), 2u) << "mantissas, cells";
  // A cell of the block fills two rows of XM and is one byte in DRAM.
  auto &cells = std::get<isa::DmaCopy>(builder->entries[1].instruction);
  EXPECT_EQ(cells.n1 * cells.n2 * cells.n3, 16u);
  EXPECT_EQ(cells.n4, 2u);
  EXPECT_EQ(cells.srcStride4, 0);
}
