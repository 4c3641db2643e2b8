// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ClusterPools.h"

#include "Cluster/ClusterConvolution.h"

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/AccessPattern.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;
using analysis::StorageType;

/// A map whose values pass through binary32 unchanged and whose blocks lie in
/// the columns of a drain.
static bool mayDrain(const StorageType &type, int64_t channels,
                     const machine::Description &machine) {
  if (type.encoded)
    return analysis::drainEncodes(type, channels, machine);
  switch (type.plain) {
  case support::ElementType::F32:
  case support::ElementType::F16:
  case support::ElementType::BF16:
  case support::ElementType::I8:
  case support::ElementType::U8:
  case support::ElementType::I16:
  case support::ElementType::U16:
    return true;
  default:
    return false;
  }
}

/// Windows whose maxima ACT takes.
static bool comparesWindows(VecPoolOp pool,
                            const machine::Description &machine) {
  if (pool.getKind() != "max" || pool.getKernel().size() != 2 ||
      shapeOf(pool.getY()).size() != 4)
    return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t kernel = pool.getKernel()[i], step = pool.getStrides()[i];
    if (pool.getDilations()[i] != 1 || kernel > 2 * step || step > 4095 ||
        kernel > 4095)
      return false;
  }
  // Each window has an entry.
  auto in = shapeOf(pool.getX()), out = shapeOf(pool.getY());
  for (size_t i = 0; i < 2; ++i)
    if (pool.getPads()[i] >= pool.getKernel()[i] ||
        (out[2 + i] - 1) * pool.getStrides()[i] - pool.getPads()[i] >=
            in[2 + i])
      return false;
  const int64_t open =
      llvm::divideCeilSigned(pool.getKernel()[0] - 1, pool.getStrides()[0]);
  return open * out[3] <= static_cast<int64_t>(machine.act.poolColumns);
}

/// True if the cluster computes a convolution, or had a plan for it.
static bool mayRun(Operation *op) {
  if (auto conv = dyn_cast<TcuConvOp>(op))
    return !conv.getScatterAttr() && !conv.getKeptAttr();
  auto written = records::decisionOf(op, kSparseDecisionAttr);
  return isa<PeConvOp>(op) && written &&
         records::Decision(written).cyclesOf("sparse-tile") &&
         !hasStationaryActivations(op) &&
         analysis::widthLanesOf(op->getOperand(0)).count == 1;
}

template <typename Op>
static bool mayPool(Op conv, VecPoolOp pool,
                    const machine::Description &machine) {
  auto isPlain = [](Operation *op) {
    LayoutAttr layout = layoutAttrOf(op);
    return layout && layout.getAxis() == 1 &&
           layout.getWorkAxis().value_or(1) == 1 && !layout.isFolded();
  };
  auto isObserved = [](Operation *op) {
    return bfp::getScalePolicy(op) != numerics::ScalePolicy();
  };
  const int64_t channels = shapeOf(conv.getY())[1];
  return mayRun(conv) && conv.getY().hasOneUse() && !conv.getPoolingAttr() &&
         conv.getStrides().size() == 2 && !conv.getResidual() &&
         !conv.getIntegerEpilogue() && !isObserved(conv) && !isObserved(pool) &&
         isPlain(conv) && isPlain(pool) &&
         analysis::workLanesOf(pool).count <= 1 &&
         mayDrain(storageOf(conv.getY()), channels, machine) &&
         mayDrain(storageOf(pool.getY()), channels, machine);
}

/// True if the operands of a concatenation have whole blocks of channels.
static bool joinsBlocks(DmaMoveOp concat, VecPoolOp pool) {
  const int64_t block = std::max<int64_t>(
      storageOf(pool.getY()).encoded ? storageOf(pool.getY()).format.block : 1,
      1);
  int64_t start = 0;
  for (Value input : concat.getInputs()) {
    if (start % block != 0)
      return false;
    start += shapeOf(input)[1];
  }
  return concat->getNumOperands() == concat.getInputs().size();
}

llvm::SmallVector<Operation *>
poolingConvs(VecPoolOp pool, const machine::Description &machine) {
  llvm::SmallVector<Operation *> convs;
  if (!machine.sparse.exists() || machine.act.poolColumns == 0 ||
      !comparesWindows(pool, machine))
    return {};
  llvm::SmallVector<Value> maps{pool.getX()};
  if (auto concat = pool.getX().getDefiningOp<DmaMoveOp>()) {
    if (!concat.getY().hasOneUse() || concat.getInputs().size() < 2 ||
        !analysis::joinsChannels(concat) || !joinsBlocks(concat, pool))
      return {};
    maps.assign(concat.getInputs().begin(), concat.getInputs().end());
    const Type element = getElementTypeOrSelf(concat.getY());
    if (llvm::any_of(maps, [&](Value map) {
          return getElementTypeOrSelf(map) != element;
        }))
      return {};
  }
  for (Value map : maps) {
    auto sparse = map.getDefiningOp<TcuConvOp>();
    auto dense = map.getDefiningOp<PeConvOp>();
    if (!(sparse && mayPool(sparse, pool, machine)) &&
        !(dense && mayPool(dense, pool, machine)))
      return {};
    convs.push_back(map.getDefiningOp());
  }
  if (llvm::none_of(convs, llvm::IsaPred<TcuConvOp>))
    return {};
  return convs;
}

void ClusterPools::erase() {
  if (Operation *concat = result.getDefiningOp(); isa<DmaMoveOp>(concat))
    concat->erase();
  for (TcuConvOp conv : pooled)
    conv.erase();
}

static RankedTensorType withChannels(RankedTensorType type, int64_t channels) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[1] = channels;
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

/// A convolution of the array as one on the cluster, with the options of one
/// that is there.
static TcuConvOp toCluster(PeConvOp conv, TcuConvOp like) {
  TcuConvOp tcu = createOnCluster(conv);
  tcu.setIssueZeros(like.getIssueZeros());
  tcu.setBiasInSums(like.getBiasInSums() && analysis::biasFitsSums(conv));
  tcu.setBindingAttr(like.getBindingAttr());
  records::Decision decision(records::decisionOf(conv, kSparseDecisionAttr));
  decision.choose("sparse-tile")
      .because("its drains take the maxima of the pool behind it");
  decision.record(tcu, kSparseDecisionAttr);
  return tcu;
}

static TcuConvOp pooledConv(Operation *op, VecPoolOp pool, TcuConvOp like) {
  OpBuilder builder(op);
  auto dense = dyn_cast<PeConvOp>(op);
  auto pooled =
      dense ? toCluster(dense, like) : cast<TcuConvOp>(builder.clone(*op));
  pooled.setPoolingAttr(PoolingAttr::get(
      op->getContext(), pool.getKindAttr(), pool.getKernelAttr(),
      pool.getStridesAttr(), pool.getPadsAttr(), pool.getDilationsAttr(),
      pool.getCountIncludePad(),
      cast<RankedTensorType>(op->getResult(0).getType())));
  pooled.getY().setType(
      withChannels(cast<RankedTensorType>(pool.getY().getType()),
                   shapeOf(op->getResult(0))[1]));
  pooled.setLayoutAttr(pool.getLayoutAttr());
  return pooled;
}

/// The concatenation of pooled maps in place of that of the maps.
static DmaMoveOp pooledConcat(DmaMoveOp concat,
                              llvm::ArrayRef<TcuConvOp> pooled,
                              VecPoolOp pool) {
  OpBuilder builder(concat);
  auto joined = cast<DmaMoveOp>(builder.clone(*concat));
  llvm::SmallVector<Attribute> patterns;
  auto out = shapeOf(pool.getY());
  for (Attribute attribute : concat.getPatterns()) {
    // The attribute's verifier has read it.
    AccessPattern pattern = *AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attribute).asArrayRef());
    for (PatternDim &dim : pattern.dims)
      if (dim.resultAxis >= 2)
        dim.extent = out[dim.resultAxis];
    patterns.push_back(builder.getDenseI64ArrayAttr(
        pattern.toArray(static_cast<int64_t>(pattern.sourceStart.size()))));
  }
  for (size_t i = 0; i < pooled.size(); ++i)
    joined.getInputsMutable()[i].set(pooled[i]->getResult(0));
  joined.setPatternsAttr(builder.getArrayAttr(patterns));
  joined.getY().setType(cast<RankedTensorType>(pool.getY().getType()));
  joined.setOriginAttr(pool.getOriginAttr());
  joined.setLayoutAttr(pool.getLayoutAttr());
  return joined;
}

/// The plan of a convolution on the cluster; nothing without one, or if `parts`
/// groups of units cannot share its drains.
static std::optional<analysis::TilePlan>
planOf(TcuConvOp conv, int64_t parts, const machine::Description &machine) {
  auto out = shapeOf(conv.getY());
  llvm::SmallVector<int64_t, 4> extent{out[0]};
  extent.append(out.begin() + 2, out.end());
  const analysis::TileProblem problem = analysis::tileProblem(
      conv, analysis::tilePattern(conv, machine), extent, machine, parts);
  if (parts > 1 && analysis::mostParts(problem) != parts)
    return std::nullopt;
  return analysis::TilePlans(problem, machine).best();
}

/// Cycles of convolutions one after the other, of which each begins while the
/// one before drains: those of the busiest engine of each, and what one of them
/// waits for at its beginning and its end.
namespace {
struct Sequence {
  int64_t busy = 0, rest = 0;
  void add(int64_t cycles, int64_t busiest) {
    busy += busiest;
    rest = std::max(rest, cycles - busiest);
  }
  void add(const analysis::TilePlan &plan) {
    add(plan.inNetwork(), std::max({plan.run, plan.drain, plan.load}));
  }
  int64_t cycles() const { return busy + rest; }
};
} // namespace

/// Chooses the groups of units that share a drain. The plan, or nothing.
static std::optional<analysis::TilePlan>
chooseParts(TcuConvOp conv, const machine::Description &machine) {
  std::optional<analysis::TilePlan> best;
  const auto most =
      static_cast<int64_t>(std::min<uint64_t>(machine.sparse.tcus, 16));
  for (int64_t parts = 1; parts <= most; parts *= 2) {
    auto plan = planOf(conv, parts, machine);
    if (!plan || (best && best->inNetwork() <= plan->inNetwork()))
      continue;
    best = std::move(plan);
    conv.setColumnParts(static_cast<uint64_t>(parts));
  }
  return best;
}

/// Adds a convolution that stores its map; false without a plan.
static bool addStored(Sequence &sequence, Operation *op,
                      const machine::Description &machine) {
  if (auto conv = dyn_cast<PeConvOp>(op)) {
    const int64_t cycles =
        analysis::denseCycles({conv}, analysis::widthLanesOf(conv.getX()),
                              machine)
            .total;
    sequence.add(cycles, cycles);
    return true;
  }
  auto plan = planOf(cast<TcuConvOp>(op), 0, machine);
  if (plan)
    sequence.add(*plan);
  return plan.has_value();
}

std::optional<ClusterPools> poolOnCluster(llvm::ArrayRef<Operation *> convs,
                                          VecPoolOp pool,
                                          const machine::Description &machine) {
  ClusterPools pools;
  auto like = cast<TcuConvOp>(*llvm::find_if(convs, llvm::IsaPred<TcuConvOp>));
  for (Operation *conv : convs)
    pools.pooled.push_back(pooledConv(conv, pool, like));
  pools.result = pools.pooled.front().getY();
  if (auto concat = pool.getX().getDefiningOp<DmaMoveOp>()) {
    // The numeric plan has no name for a part.
    for (TcuConvOp conv : pools.pooled)
      if (OriginAttr origin = conv.getOriginAttr())
        conv.setOriginAttr(
            OriginAttr::get(conv.getContext(), StringAttr(), origin.getOp()));
    pools.result = pooledConcat(concat, pools.pooled, pool).getY();
  } else {
    pools.pooled.front().setOriginAttr(pool.getOriginAttr());
  }
  Sequence stored, direct;
  for (auto [conv, pooled] : llvm::zip(convs, pools.pooled)) {
    const auto plan = chooseParts(pooled, machine);
    if (!plan || !addStored(stored, conv, machine)) {
      pools.erase();
      return std::nullopt;
    }
    direct.add(*plan);
  }
  pools.stored = stored.cycles();
  pools.direct = direct.cycles();
  return pools;
}

} // namespace ashlar::npu
