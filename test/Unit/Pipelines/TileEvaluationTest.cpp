// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks computed tile by tile, each tile from what it has loaded alone, have
// the values of the networks computed whole: the tiling models name all that a
// tile reads, and sequences put every tile in its place.

#include "lib/Pipelines/Verification/TileEvaluation.h"

#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Pipelines/Registration.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::pipelines;

namespace {

constexpr int64_t kAllTiles = 1 << 20;

HostTensor image() {
  HostTensor image = HostTensor::zeros(support::ElementType::F32,
                                       llvm::ArrayRef<int64_t>{1, 1, 28, 28});
  auto *pixels = reinterpret_cast<float *>(image.data.data());
  for (int i = 0; i < 28 * 28; ++i)
    pixels[i] = static_cast<float>((i * 37) % 255) / 128 - 1;
  return image;
}

/// The demo network after the tile phase.
class Tiled {
public:
  explicit Tiled(const std::string &machine)
      : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    CompileOptions options;
    options.model = ASHLAR_DEMO_NETWORK "/glyphs.onnx";
    options.threads = 1;
    options.machine = machine;
    options.stopAfter = Phase::Tile;
    auto result = compile(options, context);
    if (!result)
      ADD_FAILURE() << llvm::toString(result.takeError());
    else
      module = std::move(result->module);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry all;
    registerDialects(all);
    return all;
  }
};

/// Operations of npu whose values tile by tile are other ones.
std::vector<std::string> differences(mlir::ModuleOp module) {
  std::vector<std::string> found;
  auto whole = evaluateTiles(module, {image()}, /*mostTiles=*/0);
  auto tiled = evaluateTiles(module, {image()}, kAllTiles);
  if (!whole || !tiled) {
    ADD_FAILURE() << llvm::toString(
        llvm::joinErrors(whole.takeError(), tiled.takeError()));
    return found;
  }
  module.walk([&](npu::DecisionInterface op) {
    const Tensor &right = whole->find(op->getResult(0))->second;
    const Tensor &is = tiled->find(op->getResult(0))->second;
    bool equal =
        right.ints == is.ints && right.floats.size() == is.floats.size();
    for (size_t i = 0; equal && i < is.floats.size(); ++i)
      equal = right.floats[i] == is.floats[i];
    if (!equal)
      found.push_back(op->getName().getStringRef().str());
  });
  return found;
}

TEST(TileEvaluation, TilesOfEveryMachineMakeTheWhole) {
  for (const char *machine : {"a1", "a1-edge", "a1-tiny"}) {
    Tiled network(machine);
    ASSERT_TRUE(network.module);
    int64_t tiles = 0, loops = 0;
    network.module->walk([&](tile::ComputeOp) { ++tiles; });
    network.module->walk([&](tile::ForOp) { ++loops; });
    EXPECT_GE(tiles, 9) << machine;
    EXPECT_TRUE(differences(*network.module).empty()) << machine;
  }
}

/// A tile that reads a row less than it needs.
TEST(TileEvaluation, WrongRegionsGiveOtherValues) {
  Tiled network("a1-tiny");
  ASSERT_TRUE(network.module);
  tile::ViewOp view;
  network.module->walk([&](tile::ViewOp op) {
    auto sequence = op->getParentOfType<tile::SequenceOp>();
    if (!view && op.getOperand() &&
        sequence.getNode().getDefiningOp()->getName().stripDialect() ==
            "pe.conv")
      view = op;
  });
  ASSERT_TRUE(view);
  mlir::AffineMap start = view.getStart();
  llvm::SmallVector<mlir::AffineExpr> moved(start.getResults());
  moved[2] = moved[2] + 1;
  view.setStart(
      mlir::AffineMap::get(start.getNumDims(), 0, moved, &network.context));
  EXPECT_FALSE(differences(*network.module).empty());
}

} // namespace
