// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A coarse schedule: convolutions as they were predicted one by one, all other
// operations by what their results take, without tiles.

#include "NetworkTime.h"

#include "ashlar/Analysis/DenseCycles.h"
#include "ashlar/Analysis/HostCost.h"
#include "ashlar/Analysis/MovementQueues.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Transforms/NPU/Passes.h"

#include <array>

namespace ashlar::npu {

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;
using machine::VecCost;
using machine::VecStore;

NetworkTime::NetworkTime(llvm::ArrayRef<Candidate> candidates,
                         const machine::Description &machine)
    : machine(machine) {
  for (auto [i, candidate] : llvm::enumerate(candidates)) {
    PeConvOp conv = candidate.conv;
    numbers[conv] = static_cast<int64_t>(i);
    readers[conv.getX()].push_back(static_cast<int64_t>(i));
  }
  if (candidates.empty())
    return;
  PeConvOp first = candidates.front().conv;
  for (Operation &op : *first->getBlock())
    if (op.getNumResults() == 1 && isa_and_nonnull<NPUDialect>(op.getDialect()))
      add(&op);
}

size_t NetworkTime::addStep(Engine engine, int64_t cycles,
                            llvm::ArrayRef<Value> operands) {
  Step step;
  step.engine = engine;
  step.cycles = step.folded = cycles;
  for (Value operand : operands)
    if (auto producer = producers.find(operand); producer != producers.end())
      step.after.push_back(producer->second);
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

/// One pass of the vector unit over a feature map, its channels in the lanes.
int64_t NetworkTime::mapCycles(Value map, VecCost cost, VecStore store) const {
  auto shape = shapeOf(map);
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  const int64_t channels = shape.empty()      ? 1
                           : shape.size() > 2 ? shape[1]
                                              : shape.back();
  return static_cast<int64_t>(
      machine::vecMap(machine, cost, store, channels,
                      elements / std::max<int64_t>(channels, 1))
          .complete);
}

int64_t NetworkTime::vectorCycles(Operation *op) const {
  Value result = op->getResult(0), x = op->getOperand(0);
  const VecStore store =
      storageOf(result).encoded ? VecStore::Encode : VecStore::Same;
  auto classOf = [](llvm::StringRef name) {
    return machine::vecCostOf(name).value_or(VecCost::VeryExpensive);
  };
  if (auto map = dyn_cast<MapInterface>(op))
    return mapCycles(result,
                     std::max(classOf(map.getOp()), map.getScale()
                                                        ? VecCost::Medium
                                                        : VecCost::Cheap),
                     store);
  if (auto pool = dyn_cast<VecPoolOp>(op)) {
    machine::PoolShape shape;
    auto in = shapeOf(x), out = shapeOf(result);
    auto kernel = pool.getKernel();
    for (size_t i = 0; i < std::min<size_t>(kernel.size(), 3); ++i) {
      shape.kernel[2 - i] = kernel[kernel.size() - 1 - i];
      shape.in[2 - i] = in[in.size() - 1 - i];
      shape.out[2 - i] = out[out.size() - 1 - i];
    }
    const auto kind = pool.getKind() == "max" ? machine::PoolKind::Max
                                              : machine::PoolKind::Average;
    return static_cast<int64_t>(
        machine::vecPool(machine, kind, store,
                         in.size() > 1 ? in[in.size() - kernel.size() - 1] : 1,
                         shape)
            .complete);
  }
  if (auto reduce = dyn_cast<VecReduceOp>(op))
    return mapCycles(x, classOf(reduce.getKind()), VecStore::Same);
  if (isa<VecSoftmaxOp>(op)) // maximum, difference, exponential, sum, quotient
    return 3 * mapCycles(x, VecCost::Cheap, VecStore::Same) +
           mapCycles(x, VecCost::VeryExpensive, VecStore::Same) +
           mapCycles(x, VecCost::Expensive, store);
  return mapCycles(result, VecCost::Medium, store);
}

/// Blocks that are moved element by element are decoded once for all movements.
Value NetworkTime::decoded(Value map) {
  if (decodes.try_emplace(map, steps.size()).second)
    addStep(Vector, mapCycles(map, VecCost::Cheap, VecStore::Convert), map);
  return map;
}

void NetworkTime::addMove(Operation *op) {
  auto move = cast<DmaMoveOp>(op);
  Value result = move.getY();
  llvm::SmallVector<Value, 4> inputs(move.getInputs());
  if (move.getPatterns().empty() && !move.getFill()) {
    producers[result] = addStep(Copies, 0, inputs);
    return;
  }
  int64_t bytes = storageOf(result).bytes();
  for (int64_t extent : shapeOf(result))
    bytes *= extent;
  const bool encodes = storageOf(result).encoded;
  llvm::SmallVector<size_t, 2> before;
  bool outside = false;
  for (Value input : inputs) {
    if (storageOf(input).encoded && !encodes)
      before.push_back(decodes[decoded(input)]);
    outside |= !input.getDefiningOp();
  }
  const int64_t cycles =
      outside ? static_cast<int64_t>(
                    machine::dmaContiguous(machine, bytes).complete)
              : bytes / static_cast<int64_t>(machine.dma.onchipBytesPerCycle) /
                    analysis::movementQueues(machine);
  size_t last = addStep(Copies, cycles, inputs);
  steps[last].after.append(before);
  producers[result] = last;
  if (!encodes ||
      analysis::encodeCycles(result, analysis::Lanes(), machine) == 0)
    return;
  const size_t encode = addStep(
      Vector, analysis::encodeCycles(result, analysis::Lanes(), machine),
      result);
  steps[encode].result = result;
  auto shape = shapeOf(result);
  for (const analysis::Lanes &fold : analysis::laneFolds(
           shape.size() > 1 ? shape[1] : 1, shape.back(), machine))
    steps[encode].folded = std::min(
        steps[encode].folded, analysis::encodeCycles(result, fold, machine));
  producers[result] = encode;
}

void NetworkTime::add(Operation *op) {
  llvm::SmallVector<Value, 4> operands(op->getOperands());
  Value result = op->getResult(0);
  if (isa<DmaMoveOp>(op))
    return addMove(op);
  if (auto number = numbers.find(op); number != numbers.end()) {
    producers[result] = addStep(Array, 0, operands);
    steps.back().candidate = number->second;
    steps.back().result = op->getOperand(0);
    return;
  }
  if (op->hasTrait<HostEngine>()) {
    producers[result] =
        addStep(Host, analysis::hostCycles(op, machine), operands);
    return;
  }
  if (!isa<PeConvOp, PeMatmulOp>(op)) {
    producers[result] = addStep(Vector, vectorCycles(op), operands);
    return;
  }
  int64_t cycles = 0;
  if (auto decision =
          op->getAttrOfType<DictionaryAttr>(kStationaryDecisionAttr))
    if (auto all = decision.getAs<DictionaryAttr>("alternatives"))
      for (NamedAttribute alternative : all) {
        auto own = cast<IntegerAttr>(alternative.getValue()).getInt();
        cycles = cycles == 0 ? own : std::min(cycles, own);
      }
  producers[result] = addStep(Array, cycles, operands);
}

/// True if `map` lies in lanes: all its readers are on the array, and what
/// writes it can write it so.
bool NetworkTime::liesFolded(Value map,
                             llvm::ArrayRef<Candidate> candidates) const {
  auto found = readers.find(map);
  if (found == readers.end())
    return false;
  for (int64_t reader : found->second)
    if (candidates[reader].sparse || !candidates[reader].mayFold)
      return false;
  Operation *producer = map.getDefiningOp();
  auto number = producer ? numbers.find(producer) : numbers.end();
  return number == numbers.end() || !candidates[number->second].sparse;
}

int64_t NetworkTime::cycles(llvm::ArrayRef<Candidate> candidates) const {
  std::array<int64_t, Engines> free{};
  std::vector<int64_t> done(steps.size());
  int64_t end = 0;
  for (auto [i, step] : llvm::enumerate(steps)) {
    const bool folded = step.result && liesFolded(step.result, candidates);
    Engine engine = step.engine;
    int64_t cycles = folded ? step.folded : step.cycles;
    if (step.candidate >= 0) {
      const Candidate &candidate = candidates[step.candidate];
      engine = candidate.sparse ? Cluster : Array;
      cycles = candidate.sparse ? candidate.plan()->cycles
               : folded         ? candidate.folded
                                : candidate.plain;
    }
    int64_t start = free[engine];
    for (size_t before : step.after)
      start = std::max(start, done[before]);
    done[i] = start + cycles;
    if (cycles > 0)
      free[engine] = done[i];
    end = std::max(end, done[i]);
  }
  return end;
}

} // namespace ashlar::npu
