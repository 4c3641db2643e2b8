// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools in drains (see Passes.td). Input: npu operations with their layouts and
// lanes. Output: convolutions with `pooling` in place of those whose windows
// their drain reduces, and a decision on every convolution that has the choice.

#include "ClusterPools.h"

#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Partition/Windows.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_POOLINDRAIN
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Bands in which a pool follows the drains of its map at most, and the
/// latencies of the vector unit that one is worth, as code generation has them.
constexpr int64_t kMostBands = 28, kBandLatencies = 4;

/// The part of the cycles that predictions of two ways may differ by and still
/// leave the choice to a whole program.
constexpr int64_t kCloseCycles = 32;
/// The same on the cluster: a pool apart also waits for banks of the state
/// buffer that drains write, and plans take all bands to be as high as the
/// first.
constexpr int64_t kCloseOnCluster = 8;

/// Largest step and dilation of an instruction.
constexpr int64_t kMostStep = 4095;

bool isObserved(Operation *op) {
  return bfp::getScalePolicy(op) != numerics::ScalePolicy();
}

/// Values that pass through binary32 unchanged.
bool isExact(const analysis::StorageType &type, bool average) {
  if (type.encoded)
    return true;
  switch (type.plain) {
  case support::ElementType::F32:
  case support::ElementType::F16:
  case support::ElementType::BF16:
    return true;
  case support::ElementType::I8:
  case support::ElementType::U8:
  case support::ElementType::I16:
  case support::ElementType::U16:
    return !average;
  default:
    return false;
  }
}

/// True if the columns of the array hold whole blocks of `type`.
bool mayDrain(const analysis::StorageType &type, int64_t channels,
              const machine::Description &machine) {
  return !type.encoded || analysis::drainEncodes(type, channels, machine);
}

struct PoolInDrainPass : impl::PoolInDrainBase<PoolInDrainPass> {
  using PoolInDrainBase::PoolInDrainBase;

  void runOnOperation() override {
    auto known = assignedMachineOf(getOperation());
    if (failed(known))
      return signalPassFailure();
    if ((mode == "off" && reason.empty()) ||
        (known->vec.psumLanes == 0 && known->act.poolColumns == 0))
      return;
    llvm::SmallVector<VecPoolOp> pools;
    getOperation().walk([&](VecPoolOp pool) { pools.push_back(pool); });
    for (VecPoolOp pool : pools)
      decide(pool, *known);
  }

private:
  static bool mayReduce(PeConvOp conv, VecPoolOp pool,
                        const machine::Description &machine);
  static PeConvOp pooledConv(PeConvOp conv, VecPoolOp pool);
  void decide(VecPoolOp pool, const machine::Description &machine);
  void decideOnCluster(VecPoolOp pool, llvm::ArrayRef<Operation *> convs,
                       const machine::Description &machine);
  bool takes(int64_t direct, int64_t separate, int64_t closeCycles) const;
  records::Decision decisionOf(bool uses, int64_t direct, int64_t separate,
                               llvm::StringRef from);
  static int64_t separateCycles(PeConvOp conv, VecPoolOp pool,
                                const machine::Description &machine);
};

bool PoolInDrainPass::mayReduce(PeConvOp conv, VecPoolOp pool,
                                const machine::Description &machine) {
  const bool average = pool.getKind() == "avg";
  const analysis::StorageType map = storageOf(conv.getY());
  const analysis::StorageType result = storageOf(pool.getY());
  const LayoutAttr from = layoutAttrOf(conv), to = layoutAttrOf(pool);
  if (!conv.getY().hasOneUse() || conv.getPoolingAttr() ||
      pool.getKernel().size() != 2 || shapeOf(conv.getY()).size() != 4 ||
      conv.getResidual() || conv.getIntegerEpilogue() ||
      hasStationaryActivations(conv) || !analysis::hasStreamedWeights(conv) ||
      isObserved(conv) || isObserved(pool))
    return false;
  if (!from || !to || from.getAxis() != 1 || to.getAxis() != 1 ||
      to.getWorkAxis().value_or(1) != 1 || from.isFolded() || to.isFolded() ||
      analysis::workLanesOf(pool).count > 1)
    return false;
  const int64_t channels = shapeOf(conv.getY())[1];
  if (!isExact(map, average) || !mayDrain(map, channels, machine) ||
      !mayDrain(result, channels, machine))
    return false;
  for (size_t i = 0; i < 2; ++i)
    if (pool.getStrides()[i] > kMostStep ||
        pool.getDilations()[i] > kMostStep || pool.getKernel()[i] > kMostStep)
      return false;
  // Sums between two windows would never be drained.
  return (pool.getKernel()[0] - 1) * pool.getDilations()[0] + 1 >=
         pool.getStrides()[0];
}

/// The convolution whose drain reduces the windows of `pool`.
PeConvOp PoolInDrainPass::pooledConv(PeConvOp conv, VecPoolOp pool) {
  OpBuilder builder(conv);
  auto pooled = cast<PeConvOp>(builder.clone(*conv));
  pooled.setPoolingAttr(PoolingAttr::get(
      conv.getContext(), pool.getKindAttr(), pool.getKernelAttr(),
      pool.getStridesAttr(), pool.getPadsAttr(), pool.getDilationsAttr(),
      pool.getCountIncludePad(),
      cast<RankedTensorType>(conv.getY().getType())));
  pooled.getY().setType(cast<RankedTensorType>(pool.getY().getType()));
  pooled.setOriginAttr(pool.getOriginAttr());
  // Windows reach over the rows that a step would have side by side.
  pooled.setPackedRows(1);
  pooled.setRowsApart(false);
  pooled->removeAttr(kRowsDecisionAttr);
  pooled.setLayoutAttr(pool.getLayoutAttr());
  return pooled;
}

/// Cycles of drains and of the windows that follow them band by band.
static int64_t followedCycles(int64_t drained, int64_t windows,
                              const machine::Description &machine) {
  const auto latency = static_cast<int64_t>(machine.vec.latency);
  const int64_t bands = std::clamp<int64_t>(
      windows / (kBandLatencies * std::max<int64_t>(latency, 1)), 1,
      kMostBands);
  return std::max(drained, windows) + std::min(drained, windows) / bands +
         latency;
}

/// The map stored by ACT and reduced by the vector unit band by band. A map
/// that the state buffer cannot hold goes through DRAM.
int64_t PoolInDrainPass::separateCycles(PeConvOp conv, VecPoolOp pool,
                                        const machine::Description &machine) {
  const analysis::Lanes lanes = analysis::widthLanesOf(conv.getX());
  const int64_t dense = analysis::denseCycles({conv}, lanes, machine).total;
  const int64_t windows =
      analysis::vectorCycles(pool, analysis::workLanesOf(pool), machine);
  int64_t cycles = followedCycles(dense, windows, machine);
  const int64_t bytes = analysis::bufferBytes(storageOf(conv.getY()),
                                              shapeOf(conv.getY()), 1, machine);
  if (bytes > static_cast<int64_t>(machine.sb.bytesPerPartition)) {
    uint64_t moved = 2 * static_cast<uint64_t>(storageOf(conv.getY()).bytes());
    for (int64_t extent : shapeOf(conv.getY()))
      moved *= static_cast<uint64_t>(extent);
    cycles += static_cast<int64_t>(machine::dramCycles(machine, moved, 0));
  }
  return cycles;
}

bool PoolInDrainPass::takes(int64_t direct, int64_t separate,
                            int64_t closeCycles) const {
  // Programs that are compared as a whole may try what takes about as long.
  const bool close =
      mode == "eager" && direct <= separate + separate / closeCycles;
  return mode == "on" || close || (mode == "auto" && direct < separate);
}

records::Decision PoolInDrainPass::decisionOf(bool uses, int64_t direct,
                                              int64_t separate,
                                              llvm::StringRef from) {
  const std::string why = fmt::format(
      "{} cycles with windows reduced on the way from {}, {} with a stored "
      "map{}",
      direct, from.str(), separate,
      mode == "on" && direct >= separate ? ": requested" : "");
  records::Decision decision(&getContext(),
                             uses ? "pool-in-drain" : "drain-then-pool",
                             mode == "off" ? reason.getValue() : why);
  decision.alternative("drain-then-pool", separate)
      .alternative("pool-in-drain", direct);
  return decision;
}

void PoolInDrainPass::decideOnCluster(VecPoolOp pool,
                                      llvm::ArrayRef<Operation *> convs,
                                      const machine::Description &machine) {
  auto pools = poolOnCluster(convs, pool, machine);
  if (!pools)
    return;
  const int64_t separate = followedCycles(
      pools->stored,
      analysis::vectorCycles(pool, analysis::workLanesOf(pool), machine),
      machine);
  const bool uses = takes(pools->direct, separate, kCloseOnCluster);
  const records::Decision decision =
      decisionOf(uses, pools->direct, separate, "the accumulators");
  for (auto [conv, pooled] : llvm::zip(convs, pools->pooled))
    decision.record(uses ? pooled.getOperation() : conv, kPoolDecisionAttr);
  if (!uses)
    return pools->erase();
  Operation *concat = pool.getX().getDefiningOp<DmaMoveOp>();
  pool.getY().replaceAllUsesWith(pools->result);
  pool.erase();
  if (concat)
    concat->erase();
  for (Operation *conv : convs)
    conv->erase();
  ++numPooled;
}

void PoolInDrainPass::decide(VecPoolOp pool,
                             const machine::Description &machine) {
  if (auto convs = poolingConvs(pool, machine); !convs.empty())
    return decideOnCluster(pool, convs, machine);
  auto conv = pool.getX().getDefiningOp<PeConvOp>();
  if (machine.vec.psumLanes == 0 || !conv || !mayReduce(conv, pool, machine))
    return;
  PeConvOp pooled = pooledConv(conv, pool);
  const analysis::Lanes lanes = analysis::widthLanesOf(conv.getX());
  if (partition::pooledRows(analysis::pooledAxis(pooled, 0),
                            shapeOf(conv.getY())[3],
                            analysis::pooledEntries(machine)) == 0) {
    pooled.erase();
    return;
  }
  const int64_t separate = separateCycles(conv, pool, machine);
  const int64_t direct = analysis::denseCycles({pooled}, lanes, machine).total;
  const bool uses = takes(direct, separate, kCloseCycles);
  const records::Decision decision = decisionOf(uses, direct, separate, "PSUM");
  if (!uses) {
    decision.record(conv, kPoolDecisionAttr);
    pooled.erase();
    return;
  }
  decision.record(pooled, kPoolDecisionAttr);
  pool.getY().replaceAllUsesWith(pooled.getY());
  pool.erase();
  conv.erase();
  ++numPooled;
}

} // namespace
} // namespace ashlar::npu
