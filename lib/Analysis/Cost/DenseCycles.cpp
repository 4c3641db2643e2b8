// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array cycles of convolutions with stationary weights.

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "DensePipeline.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/RowPacking.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/FunctionCycles.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace ashlar::analysis {
namespace {

/// Windows that are tried have so many positions at least: two of them cover
/// the load of weights four times. With 128 SqueezeNet is faster still, but
/// engines wait for larger banks of the state buffer more than for smaller
/// ones.
constexpr int64_t kLeastWindow = 256;
/// The part of its cycles that smaller windows have to gain: their instructions
/// are more.
constexpr int64_t kWindowGain = 100;

int64_t bankEntries(const machine::Description &machine) {
  return static_cast<int64_t>(machine.psum.entriesPerBank);
}

} // namespace

int64_t pooledEntries(const machine::Description &machine) {
  return static_cast<int64_t>(machine.psum.entriesPerBank *
                              std::max<uint64_t>(machine.psum.banks / 2, 1));
}

partition::PoolAxis pooledAxis(Operation *op, int64_t i) {
  const npu::PoolingAttr pooling = npu::poolingOf(op);
  partition::PoolAxis axis;
  axis.in = pooling.getMap().getShape()[2 + i];
  axis.kernel = pooling.getKernel()[i];
  axis.step = pooling.getStrides()[i];
  axis.dilation = pooling.getDilations()[i];
  axis.pad = pooling.getPads()[i];
  axis.out = shapeOf(op->getResult(0))[2 + i];
  return axis;
}

int64_t windowEntries(npu::PeConvOp conv, const Lanes &lanes,
                      const Lanes &result,
                      const machine::Description &machine) {
  const ProductShape product = productShape(conv);
  const auto columns = planStationary(product, machine);
  auto totalOf = [&](int64_t entries) {
    DensePipeline pipeline(conv, product.packing.rows, lanes, result, entries,
                           machine);
    pipeline.add(columns);
    return pipeline.take().total;
  };
  int64_t best = bankEntries(machine), least = totalOf(best);
  // Powers of two: a larger memory has the windows of every smaller one.
  const uint64_t below = static_cast<uint64_t>(std::max<int64_t>(best - 1, 1));
  for (auto entries = static_cast<int64_t>(llvm::bit_floor(below));
       entries >= kLeastWindow; entries /= 2)
    if (const int64_t total = totalOf(entries);
        total < least - least / kWindowGain)
      best = entries, least = total;
  return best;
}

DenseCycles denseCycles(npu::PeConvOp conv, const Lanes &lanes,
                        llvm::ArrayRef<ColumnTile> columns,
                        const machine::Description &machine,
                        const Lanes &result) {
  const int64_t rows = columns.empty() ? 1 : columns.front().packing.rows;
  DensePipeline pipeline(conv, rows, lanes, result, bankEntries(machine),
                         machine);
  pipeline.add(columns);
  return pipeline.take();
}

DenseCycles denseCycles(llvm::ArrayRef<npu::PeConvOp> convs, const Lanes &lanes,
                        const machine::Description &machine,
                        const Lanes &result) {
  std::optional<DensePipeline> before;
  int64_t copies = 0;
  for (npu::PeConvOp conv : convs) {
    ProductShape product = productShape(conv);
    if (rowPackings(conv, lanes, machine).size() > 1) {
      const PackingChoice choice = choosePacking(conv, lanes, machine, result);
      const PackedRows &own = choice.chosen();
      product.packing = rowPacking(conv, own.rows, own.apart);
      copies += own.copies;
    }
    DensePipeline pipeline(conv, product.packing.rows, lanes, result,
                           bankEntries(machine), machine);
    if (before)
      pipeline.follow(*before);
    setBlocks(product, lanes, result);
    auto columns = planStationary(product, machine);
    if (usesPattern(conv, lanes, machine))
      markPatterns(columns, conv, WeightPattern(conv), machine);
    pipeline.add(columns);
    before.emplace(std::move(pipeline));
  }
  DenseCycles cycles = before ? before->take() : DenseCycles();
  cycles.total += copies;
  return cycles;
}

machine::VecCost drainFunction(mlir::Operation *product) {
  llvm::StringRef name =
      llvm::TypeSwitch<mlir::Operation *, llvm::StringRef>(product)
          .Case<npu::PeConvOp, npu::TcuConvOp, npu::PeMatmulOp>(
              [](auto op) { return op.getFunction(); })
          .Default([](mlir::Operation *) { return llvm::StringRef("copy"); });
  return machine::vecCostOf(name).value_or(machine::VecCost::VeryExpensive);
}

int64_t makingCycles(mlir::Value x, const Lanes &lanes,
                     machine::TransferCosts &costs) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move)
    return 0;
  const OperationCycles own = moveCycles(move, lanes, costs);
  const int64_t copied = own.copied(costs.description());
  return std::max(copied, own.vector) +
         llvm::divideCeil(std::min(copied, own.vector), kOverlapTiles);
}

int64_t encodeCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move || !storageOf(x).encoded ||
      llvm::any_of(move.getInputs(),
                   [](mlir::Value input) { return storageOf(input).encoded; }))
    return 0;
  return moveCycles(move, lanes, machine).vector;
}

} // namespace ashlar::analysis
