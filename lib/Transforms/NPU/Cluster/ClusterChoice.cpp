// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predictions of every alternative and the choice among them.

#include "ClusterChoice.h"
#include "NetworkTime.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/RowPacking.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/StationaryCycles.h"
#include "ashlar/Analysis/Layout/LaneFolds.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Sparse/CounterAllocation.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Numerics/SparseCodes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

/// Predictions of a convolution that the search over a network may make.
constexpr size_t kMostPredictions = 1 << 18;

/// Why the sparse cluster cannot run a convolution of integers; empty if it
/// can. Its units subtract no zero points: weights of 16 bits are what is left
/// of bytes without theirs, and those of data are in the bias.
static std::string integerObstacle(PeConvOp conv) {
  using support::ElementType;
  const ElementType x = storageOf(conv.getX()).plain;
  if (x != ElementType::I8 && x != ElementType::U8)
    return "its input is neither encoded nor bytes";
  QuantAttr quant = conv.getQuantAttr();
  const ElementType w = storageOf(conv.getW()).plain;
  const bool bytes =
      w == ElementType::I8 && quant && quant.getWZero().value_or(0) == 0;
  if (!bytes && w != ElementType::I16)
    return "its weights are not signed integers without a zero point";
  if (quant && quant.getXZero().value_or(0) != 0)
    return "its input has a zero point";
  return "";
}

/// Why the sparse cluster cannot run a convolution; empty if it can.
static std::string obstacle(PeConvOp conv,
                            const machine::Description &machine) {
  auto w = shapeOf(conv.getW()), x = shapeOf(conv.getX());
  auto above = [](llvm::ArrayRef<int64_t> values, int64_t limit) {
    return llvm::any_of(values,
                        [=](int64_t v) { return v > limit || v < -limit; });
  };
  if (!machine.sparse.exists())
    return "the machine has no sparse cluster";
  if (conv.getStrides().size() > 2 && conv.getGroup() > 1)
    return "three spatial dimensions in groups";
  const analysis::StorageType type = storageOf(conv.getX());
  if (type.encoded && type.blockAxis != 1)
    return "its input is not encoded along channels";
  if (std::string reason = type.encoded ? "" : integerObstacle(conv);
      !reason.empty())
    return reason;
  if (!analysis::hasStreamedWeights(conv))
    return "its weights are not constant";
  if (type.encoded && analysis::cellPlane(type.format, machine) == 0)
    return "no plane of exponent cells has its blocks";
  if (above(w.drop_front(2), 255) || above(conv.getStrides(), 15) ||
      above(conv.getDilations(), 63) || above(x.drop_front(2), 65535) ||
      above(conv.getPads(), 65535) || above(shapeOf(conv.getY()), 65535) ||
      x[0] > 65535)
    return "larger than the fields of an instruction";
  return "";
}

bool mayFold(Value x) {
  Operation *producer = x.getDefiningOp();
  if (!producer || !isa<PeConvOp, DmaMoveOp>(producer))
    return false;
  if (auto move = dyn_cast<DmaMoveOp>(producer);
      move && !analysis::mayWriteLanes(move))
    return false;
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    auto conv = dyn_cast<PeConvOp>(user);
    // As a residual a map is read position by position, whatever the stride.
    return conv && !hasStationaryActivations(conv) &&
           (conv.getX() != x || analysis::mayReadLanes(conv));
  });
}

/// What making `x`, if a move makes it, takes less in the best lane fold than
/// as it is: few channels fill more lanes, pixels are copied one by one.
int64_t Chooser::gainOfFold(Value x) {
  auto [known, added] = foldGains.try_emplace(x, 0);
  if (!added)
    return known->second;
  auto shape = shapeOf(x);
  const int64_t plain = analysis::makingCycles(x, analysis::Lanes(), transfers);
  int64_t folded = plain == 0 ? 0 : INT64_MAX;
  if (plain > 0)
    for (const analysis::Lanes &fold :
         analysis::laneFolds(shape[1], shape.back(), machine))
      folded = std::min(folded, analysis::makingCycles(x, fold, transfers));
  return known->second = folded == INT64_MAX ? 0 : plain - folded;
}

/// Cycles of scatter mode follow from the data: not by an estimate alone.
bool Chooser::mayScatter(const Candidate &candidate) const {
  PeConvOp conv = candidate.conv;
  if (!storageOf(conv.getX()).encoded || conv.getStrides().size() > 2)
    return false;
  return policy.mode == "scatter" ||
         (policy.mode == "auto" && policy.useScatter &&
          machine::queuesHold(machine, policy.cut.variant) &&
          candidate.data.source == analysis::ProfileSource::Measured);
}

/// Plans of both modes where `parts` groups of units share the results of a
/// drain, where they are better than those so far;
/// nothing if they cannot be split into so many.
void Chooser::planParts(Candidate &candidate,
                        const analysis::WeightPattern &weights,
                        int64_t parts) const {
  PeConvOp conv = candidate.conv;
  auto out = shapeOf(conv.getY());
  llvm::SmallVector<int64_t, 4> extent{out[0]};
  extent.append(out.begin() + 2, out.end());
  analysis::TileProblem problem = analysis::tileProblem(
      conv, weights, extent, machine, parts, !policy.skipZeros);
  if (analysis::mostParts(problem) != parts)
    return;
  problem.biasInSums = policy.biasInSums && analysis::biasFitsSums(conv);
  problem.handOver = analysis::handOverOf(conv, policy.binding, machine);
  const bool handsOn = problem.handOver == analysis::HandOver::Always;
  // Asked for, cuts and tiles that are handed on may take more cycles than
  // equal tiles in the units' own memories.
  auto improve = [&](Alternative &best, bool cuts) {
    const bool forced = cuts || handsOn;
    auto asked = [&](const analysis::TilePlan &plan) {
      return cuts ? plan.isCut() : plan.turns > 1;
    };
    int64_t limit = best.plan && !forced ? best.plan->inNetwork() : INT64_MAX;
    const analysis::TilePlans plans(problem, machine);
    auto plan = plans.best(limit);
    if (!plan)
      return;
    if (best.plan && forced) {
      bool alike = asked(*best.plan) == asked(*plan);
      if (alike ? plan->inNetwork() >= best.plan->inNetwork()
                : asked(*best.plan))
        return;
    }
    best.plan = plan;
    best.parts = parts;
    best.unskipped = plans.unskippedCycles(*plan);
  };
  if (policy.mode != "scatter")
    improve(candidate.tile, false);
  if (mayScatter(candidate)) {
    analysis::addScatter(problem, conv, weights, candidate.data, policy.cut,
                         machine);
    candidate.snakes = problem.scatter->turn > 0;
    improve(candidate.scatter,
            partition::isForced(policy.cut.time) ||
                policy.cut.halo == partition::HaloMode::Disjoint);
  }
}

/// The best plans over the numbers of groups of units that the results of a
/// drain are split over: more groups occupy more units where maps are small.
void Chooser::planSparse(Candidate &candidate,
                         const analysis::WeightPattern &weights) const {
  // Where the multipliers alone take too long, no plan has to be searched.
  if (policy.mode == "auto" && policy.rule == partition::Rule::Cost &&
      !mayScatter(candidate)) {
    const int64_t least =
        analysis::leastTileCycles(candidate.conv, weights, machine);
    if (!candidate.isClear(least)) {
      candidate.tile.least = least;
      return;
    }
  }
  auto units = static_cast<int64_t>(machine.sparse.tcus);
  for (int64_t parts = 1; parts <= units; parts *= 2)
    planParts(candidate, weights, parts);
  if (!candidate.plan())
    candidate.obstacle = "no tile fits its units";
}

/// Cycles in which DRAM delivers the weights of the array, of which the share
/// `kept` lies in tiles that are not zero.
int64_t Chooser::weightCycles(PeConvOp conv, double kept) const {
  double elements = kept;
  for (int64_t extent : shapeOf(conv.getW()))
    elements *= static_cast<double>(extent);
  analysis::StorageType type = analysis::weightStorage(conv);
  auto cell = static_cast<int64_t>(machine.xmGroup);
  int64_t block = std::max<int64_t>(type.format.block, cell);
  double bits = type.storedBits();
  ZerosAttr zeros = conv.getZerosAttr();
  if (zeros && elements > 0 && machine.dma.decodedCodesPerCycle > 0) {
    const auto stored =
        static_cast<double>(zeros.getWeights() - zeros.getExact() -
                            zeros.getEncoded() - zeros.getStructural());
    bits = numerics::expectedBits(type.storedBits(),
                                  std::clamp(stored / elements, 0.0, 1.0));
  }
  return static_cast<int64_t>(machine::dramStreamCycles(
      machine, static_cast<uint64_t>(elements * (bits / 8 + 1.0 / block))));
}

/// The array, with `fetch` cycles of DRAM for the weights of one row of results
/// at a time, and `weights` if they are constants.
void Chooser::predictDense(Candidate &candidate, int64_t fetch,
                           const analysis::WeightPattern *weights) const {
  PeConvOp conv = candidate.conv;
  const int64_t fill = static_cast<int64_t>(
      machine.pe.rows + machine.pe.columns + machine.act.latency);
  auto cyclesOf = [&](const analysis::PackedRows &own) {
    return std::max(own.cycles.total + own.copies,
                    (own.rows == 1 ? fetch : own.fetch) + fill);
  };
  auto best = [&](const analysis::PackingChoice &choice) {
    int64_t cycles = INT64_MAX;
    for (const analysis::PackedRows &own : choice.alternatives)
      if (choice.allows(own))
        cycles = std::min(cycles, cyclesOf(own));
    return cycles;
  };
  const analysis::PackingChoice packed = analysis::choosePacking(
      conv, analysis::Lanes(), machine, analysis::Lanes(), weights);
  const analysis::DenseCycles &plain = packed.alternatives.front().cycles;
  candidate.drain = plain.drain;
  candidate.plain = best(packed);
  candidate.folded = candidate.plain;
  if (analysis::mayReadLanes(conv)) {
    auto folds = analysis::laneFolds(shapeOf(conv.getX())[1],
                                     shapeOf(conv.getX()).back(), machine);
    if (isa_and_nonnull<PeConvOp>(conv.getX().getDefiningOp()))
      folds.append(analysis::blockFolds(conv.getX(), machine));
    for (const analysis::Lanes &fold : folds)
      candidate.folded =
          std::min(candidate.folded,
                   best(analysis::choosePacking(conv, fold, machine,
                                                analysis::Lanes(), weights)));
  }
  // The other stationary operand streams other vectors, drained as many.
  const analysis::StationaryCycles either =
      analysis::stationaryCycles(conv, machine);
  for (std::optional<int64_t> moving : {either.activations, either.blocks})
    if (moving)
      candidate.plain = std::min(
          candidate.plain, std::max({*moving, plain.drain, fetch}) + fill);
}

void Chooser::predict(PeConvOp conv) {
  Candidate candidate;
  candidate.conv = conv;
  candidate.obstacle = obstacle(conv, machine);
  candidate.mayFold = mayFold(conv.getX());
  const bool holds = machine::queuesHold(machine, policy.cut.variant);
  if (policy.mode == "scatter" && !storageOf(conv.getX()).encoded &&
      candidate.obstacle.empty())
    candidate.obstacle = "scatter mode takes encoded data";
  if (policy.mode == "scatter" && conv.getStrides().size() > 2 &&
      candidate.obstacle.empty())
    candidate.obstacle = "scatter mode has two spatial dimensions";
  if (policy.mode == "scatter" && !holds && candidate.obstacle.empty())
    candidate.obstacle = "more products may wait than its queues hold";
  candidate.data = analysis::profileOf(conv.getX(), policy.profiles);
  candidate.encode =
      analysis::encodeCycles(conv.getX(), analysis::Lanes(), machine);
  candidate.drained = !analysis::countedResults(conv.getX(), machine).empty();
  auto columns =
      analysis::planStationary(analysis::productShape(conv), machine);
  int64_t fetch = 0;
  if (analysis::hasStreamedWeights(conv)) {
    analysis::WeightPattern weights(conv);
    for (const auto &column : columns)
      candidate.tiles += static_cast<int64_t>(column.tiles.size());
    // Tiles of zeros are omitted from the array's work too.
    candidate.zeroTiles = analysis::dropZeroTiles(columns, conv, weights);
    if (patternOf(conv))
      analysis::markPatterns(columns, conv, weights, machine);
    int64_t kept = candidate.tiles - candidate.zeroTiles;
    fetch = weightCycles(conv, static_cast<double>(kept) /
                                   std::max<int64_t>(candidate.tiles, 1));
    predictDense(candidate, fetch, &weights);
    if (candidate.obstacle.empty() && policy.mode != "off") {
      // The array's come from the model; the cluster's have a depth unfolded.
      if (conv.getStrides().size() > 2)
        weights = analysis::tilePattern(conv, machine);
      planSparse(candidate, weights);
    }
  } else {
    predictDense(candidate, fetch, nullptr);
  }
  numbers[conv] = candidates.size();
  candidates.push_back(std::move(candidate));
}

/// The choice for a convolution on its own.
bool Chooser::goesSparse(const Candidate &candidate) const {
  if (candidate.pinned)
    return false;
  if (candidate.pulled)
    return true;
  if (!candidate.plan() || policy.forced())
    return candidate.plan().has_value();
  if (policy.rule == partition::Rule::Cost)
    return candidate.gains();
  partition::Evidence evidence;
  evidence.nonZeros = static_cast<uint64_t>(candidate.data.mean());
  evidence.zeros = 1000 - evidence.nonZeros;
  evidence.vectorRuns = false;
  evidence.denseCycles = static_cast<uint64_t>(candidate.plain);
  evidence.sparseCycles = static_cast<uint64_t>(candidate.sparseCycles());
  return llvm::cantFail(partition::classify(evidence, policy.rule)) ==
         partition::Route::Sparse;
}

/// Cycles of readers of one feature map that each go to the sparse cluster, or
/// of which one runs on the array meanwhile where that is faster; the drain
/// serves both. Whether one does is for the network to decide: others may be
/// between them.
int64_t Chooser::cyclesTogether(llvm::ArrayRef<size_t> sparse) const {
  int64_t total = 0, drain = 0;
  for (size_t i : sparse) {
    total += candidates[i].sparseCycles();
    drain += candidates[i].drain;
  }
  int64_t best = total;
  for (size_t i : sparse) {
    const int64_t cycles = std::max(
        {candidates[i].plain, total - candidates[i].sparseCycles(), drain});
    if (isClearly(cycles, best, kClearLayer))
      best = cycles + cycles / kClearLayer;
  }
  return best;
}

/// The choices for the readers of one feature map that is not folded; their
/// cycles.
int64_t Chooser::decideUnfolded(llvm::ArrayRef<size_t> group) {
  llvm::SmallVector<size_t, 2> sparse;
  int64_t cycles = 0;
  for (size_t i : group) {
    Candidate &candidate = candidates[i];
    candidate.sparse = goesSparse(candidate);
    if (candidate.sparse)
      sparse.push_back(i);
    else
      cycles += candidate.plain;
  }
  return cycles + cyclesTogether(sparse);
}

/// Readers of one feature map, together: if one of them is on the sparse
/// cluster, the others cannot have the feature map folded.
void Chooser::decideGroup(llvm::ArrayRef<size_t> group) {
  int64_t plain = decideUnfolded(group), folded = 0;
  for (size_t i : group)
    folded += candidates[i].folded;
  Value x = candidates[group.front()].conv.getX();
  if (policy.forced() || policy.rule != partition::Rule::Cost || !mayFold(x))
    return;
  if (llvm::any_of(group, [&](size_t i) { return candidates[i].pulled; }))
    return;
  plain += gainOfFold(x);
  if (folded > plain)
    return;
  for (size_t i : group)
    candidates[i].sparse = false;
  if (auto producer = numbers.find(x.getDefiningOp());
      producer != numbers.end())
    candidates[producer->second].loss = plain - folded;
}

/// Later readers first: what they lose without a fold is a cost of their
/// producer. If that goes to the sparse cluster all the same, there is no fold,
/// and they decide without it.
void Chooser::decideAlone() {
  for (Candidate &candidate : candidates)
    candidate.sparse = false, candidate.loss = 0;
  llvm::MapVector<Value, llvm::SmallVector<size_t, 2>> readers;
  for (auto [i, candidate] : llvm::enumerate(candidates))
    readers[candidate.conv.getX()].push_back(i);
  for (auto &entry : llvm::reverse(readers))
    decideGroup(entry.second);
  for (auto &[map, group] : readers)
    if (isSparse(map))
      decideUnfolded(group);
}

/// Keeps a convolution `where` the network is predicted to be faster with it,
/// by more than `margin` cycles.
bool Chooser::tryNetwork(size_t number, bool Candidate::*where, int64_t margin,
                         const NetworkTime &network, int64_t &least) {
  Candidate &candidate = candidates[number];
  candidate.*where = true;
  decideAlone();
  const int64_t cycles = network.cycles(candidates);
  if (cycles + margin < least) {
    least = cycles;
    return true;
  }
  candidate.*where = false;
  decideAlone();
  return false;
}

/// True if other readers of the input of `candidate` are on the cluster.
bool Chooser::hasSparseSibling(const Candidate &candidate) const {
  PeConvOp conv = candidate.conv;
  return llvm::any_of(conv.getX().getUsers(), [&](Operation *user) {
    auto other = numbers.find(user);
    return other != numbers.end() && &candidates[other->second] != &candidate &&
           candidates[other->second].sparse;
  });
}

/// Each convolution that on its own, with its readers, is faster on the sparse
/// cluster stays on the array if that makes the network faster: another branch
/// may end later anyway, and a chain of convolutions keeps its lane folds. One
/// that takes about as long on both goes there if that makes the network
/// faster: the array has another branch to do meanwhile. A schedule this coarse
/// has to be clearly better, but of readers of one map it knows well what runs
/// side by side: one of them moves to the array where it costs the network
/// clearly less than on the cluster. Each try predicts the whole network: a
/// network of very many convolutions has only its first ones tried.
void Chooser::decide() {
  decideAlone();
  if (policy.forced() || policy.rule != partition::Rule::Cost)
    return;
  const NetworkTime network(candidates, machine);
  int64_t least = network.cycles(candidates);
  size_t tries = kMostPredictions / std::max<size_t>(candidates.size(), 1);
  for (bool Candidate::*where : {&Candidate::pinned, &Candidate::pulled})
    for (size_t i = 0; i < candidates.size() && tries > 0; ++i) {
      Candidate &candidate = candidates[i];
      const bool pins = where == &Candidate::pinned;
      if (pins ? !candidate.sparse : !candidate.mayMove())
        continue;
      --tries;
      const bool sibling = pins && hasSparseSibling(candidate);
      const int64_t margin = sibling ? candidate.plan()->cycles / kClearLayer
                                     : least / kClearNetwork;
      candidate.beside =
          tryNetwork(i, where, margin, network, least) && sibling;
    }
}

} // namespace ashlar::npu
