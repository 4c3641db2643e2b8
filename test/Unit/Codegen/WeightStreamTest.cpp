// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks of weights stay intact from acquire to release whatever the ring's
// size, and the ring is used without waiting for its end.

#include "lib/Conversion/NPUToISA/WeightStream.h"
#include "../Emulator/NaiveMachine.h"
#include "TestSupport.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <fmt/format.h>
#include <map>

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;

namespace {

constexpr unsigned partitionBytes = 8192;

struct ConvSize {
  int64_t outputs, channels, kernel;
};

std::string moduleText(const std::vector<ConvSize> &sizes) {
  std::string text;
  for (auto [i, s] : llvm::enumerate(sizes)) {
    std::string block =
        "!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>";
    std::string shape =
        fmt::format("{}x{}x{}x{}", s.outputs, s.channels, s.kernel, s.kernel);
    std::string x = fmt::format("1x{}x8x8", s.channels);
    text += fmt::format(
        "func.func @f{0}(%x: tensor<{1}x{2}>) {{\n"
        "  %c = nn.constant dense<{6}.5> : tensor<{3}xf32>\n"
        "  %w = bfp.encode %c weights : tensor<{3}xf32> -> tensor<{3}x{2}>\n"
        "  %y = npu.pe.conv(%x, %w) {{strides = array<i64: 1, 1>, pads = "
        "array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : "
        "i64, function = \"copy\", alpha = 0.0 : f32, beta = 0.0 : f32}} : "
        "(tensor<{1}x{2}>, tensor<{3}x{2}>) -> tensor<1x{4}x{5}x{5}xf32>\n"
        "  return\n}}\n",
        i, x, block, shape, s.outputs, 9 - s.kernel, i);
  }
  return text;
}

class WeightStreamTest : public ::testing::Test {
protected:
  WeightStreamTest() : machine(smallMachine(partitionBytes)) {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, bfp::BFPDialect, npu::NPUDialect,
                    mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void parse(const std::vector<ConvSize> &sizes) {
    module =
        mlir::parseSourceString<mlir::ModuleOp>(moduleText(sizes), &context);
    ASSERT_TRUE(module);
    module->walk([&](npu::PeConvOp op) { ops.push_back(op); });
  }

  void addProducts(WeightStream &stream) {
    for (auto [i, op] : llvm::enumerate(ops)) {
      StreamedProduct product;
      product.op = op;
      product.node = i;
      product.shape = analysis::productShape(op);
      product.columns = analysis::planStationary(product.shape, machine);
      stream.addProduct(std::move(product));
    }
  }

  int64_t largest() {
    int64_t bytes = 0;
    for (mlir::Operation *op : ops)
      bytes = std::max(bytes, analysis::largestChunk(op, machine));
    return bytes;
  }

  /// What every result tile does: each column in turn.
  template <typename Use, typename Done>
  void use(WeightStream &stream, int64_t tiles, Use onUse, Done onDone) {
    for (size_t p = 0; p < ops.size(); ++p) {
      size_t columns = stream.product(p).columns.size();
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (size_t c = 0; c < columns; ++c) {
          auto place = stream.acquire(p, c);
          ASSERT_TRUE(!!place) << llvm::toString(place.takeError());
          onUse(p, c, *place);
          stream.release(p, c);
          onDone();
        }
      stream.finish(p);
      onDone();
    }
  }

  /// Executes what has been emitted since the last call.
  void catchUp(NaiveMachine &naive, const ProgramBuilder &builder) {
    for (; constants < builder.constants.size(); ++constants)
      llvm::copy(builder.constants[constants].bytes,
                 naive.dram.begin() + builder.constants[constants].address);
    for (; executed < builder.entries.size(); ++executed)
      naive.execute(builder.entries[executed].instruction);
  }

  /// The bytes of a chunk in all partitions.
  std::vector<uint8_t> chunk(const NaiveMachine &naive,
                             const StreamedProduct &product, size_t column,
                             const ChunkPlace &place) {
    std::vector<uint8_t> bytes;
    const analysis::ColumnTile &tiles = product.columns[column];
    for (size_t t = 0; t < tiles.tiles.size(); ++t)
      for (int64_t row = 0; row < tiles.tiles[t].rows; ++row) {
        int64_t part = (tiles.tiles[t].channel + row) % machine.sb.partitions;
        auto begin = naive.sb.begin() + part * partitionBytes + place.tiles +
                     static_cast<int64_t>(t) * place.tilePitch;
        bytes.insert(bytes.end(), begin, begin + tiles.cols);
      }
    return bytes;
  }

  machine::Description machine;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<mlir::Operation *> ops;
  size_t executed = 0, constants = 0;
};

} // namespace

TEST_F(WeightStreamTest, ChunksInUseAreNeverOverwritten) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    std::vector<ConvSize> sizes;
    for (int i = 0; i < 5; ++i)
      sizes.push_back({random.between(1, 30), random.between(1, 70),
                       random.pick<int64_t>({1, 3})});
    ops.clear();
    parse(sizes);
    executed = constants = 0;
    ProgramBuilder builder(machine);
    WeightStream stream(builder);
    int64_t ring = largest() * random.between(1, 3) + 64 * random.between(0, 5);
    ring = std::min<int64_t>(ring, partitionBytes);
    stream.setBase(partitionBytes - ring);
    addProducts(stream);
    int64_t tiles = random.between(1, 3);
    use(stream, tiles, [](size_t, size_t, ChunkPlace) {}, [] {});
    stream.replay();
    addProducts(stream);
    NaiveMachine naive(machine, 1 << 20);
    std::map<std::pair<size_t, size_t>, std::vector<uint8_t>> first;
    use(
        stream, tiles,
        [&](size_t p, size_t c, ChunkPlace place) {
          EXPECT_GE(place.tiles, partitionBytes - ring);
          EXPECT_LE(place.parameters + 16, partitionBytes);
          catchUp(naive, builder);
          auto bytes = chunk(naive, stream.product(p), c, place);
          auto [found, inserted] = first.insert({{p, c}, bytes});
          EXPECT_EQ(found->second, bytes) << "seed " << seed;
          // Product p has weights p + 0.5 (p > 0): never zero.
          EXPECT_FALSE(llvm::is_contained(bytes, 0)) << "seed " << seed;
        },
        [&] { catchUp(naive, builder); });
    if (HasFailure())
      return;
  }
}

TEST_F(WeightStreamTest, LoadsRunAhead) {
  parse({{8, 16, 1}, {8, 16, 1}, {8, 16, 1}});
  ProgramBuilder builder(machine);
  WeightStream stream(builder);
  stream.setBase(0);
  addProducts(stream);
  use(stream, 2, [](size_t, size_t, ChunkPlace) {}, [] {});
  EXPECT_TRUE(builder.entries.empty()) << "the recording run loads nothing";
  stream.replay();
  addProducts(stream);
  // All six chunks fit: the end of the first use loads all that follow, and
  // tiles of one product share its chunks.
  size_t afterFirst = 0;
  std::vector<size_t> counts;
  use(
      stream, 2, [](size_t, size_t, ChunkPlace) {},
      [&] { counts.push_back(builder.entries.size()); });
  afterFirst = builder.entries.size();
  ASSERT_FALSE(counts.empty());
  EXPECT_EQ(builder.constants.size() % 6, 0u);
  EXPECT_GT(afterFirst, 0u);
  // After the first product everything has been requested.
  EXPECT_EQ(counts[4], afterFirst);
}

TEST_F(WeightStreamTest, RecordsOfMovingWeightsLieBehindTheRing) {
  parse({{30, 16, 1}, {30, 16, 1}});
  for (mlir::Operation *op : ops)
    npu::setStationary(op, npu::Stationary::Activations);
  ProgramBuilder builder(machine);
  WeightStream stream(builder);
  stream.setBase(0);
  int64_t bytes = llvm::alignTo(
      analysis::movingOutputs(machine) * analysis::kParameterBytes, 64);
  stream.reserveRecords(bytes);
  addProducts(stream);
  use(stream, 1, [](size_t, size_t, ChunkPlace) {}, [] {});
  stream.replay();
  addProducts(stream);
  NaiveMachine naive(machine, 1 << 20);
  int64_t chunks = 0;
  use(
      stream, 1,
      [&](size_t p, size_t c, ChunkPlace place) {
        catchUp(naive, builder);
        EXPECT_EQ(place.parameters, partitionBytes - bytes);
        EXPECT_EQ(place.parameterPart,
                  chunks++ % static_cast<int64_t>(machine.sb.partitions));
        const analysis::ColumnTile &column = stream.product(p).columns[c];
        for (int64_t lane = 0; lane < column.cols; ++lane) {
          size_t at = place.parameterPart * partitionBytes + place.parameters +
                      lane * analysis::kParameterBytes;
          EXPECT_EQ(naive.sb[at + 3], 0x3f) << "a scale of one";
          EXPECT_EQ(naive.sb[at + 2], 0x80);
        }
      },
      [&] { catchUp(naive, builder); });
  EXPECT_GT(chunks, 2);
}

TEST_F(WeightStreamTest, TooSmallARingIsAnErrorOfThePlan) {
  parse({{4, 64, 3}});
  ProgramBuilder builder(machine);
  WeightStream stream(builder);
  stream.setBase(partitionBytes - 64);
  addProducts(stream);
  ASSERT_TRUE(!!stream.acquire(0, 0));
  stream.replay();
  addProducts(stream);
  auto place = stream.acquire(0, 0);
  ASSERT_FALSE(!!place);
  EXPECT_EQ(
      llvm::toString(place.takeError()),
      "node '': 640 bytes of weights per partition find no room in the 64 "
      "bytes of the weight ring, of which 0 are in use, although memory "
      "planning set aside enough");
}
