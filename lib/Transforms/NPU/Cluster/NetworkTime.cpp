// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A coarse schedule: convolutions as they were predicted one by one, all other
// operations by what their results take, without tiles.

#include "NetworkTime.h"

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/HostCost.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/StationaryCycles.h"
#include "ashlar/Analysis/Layout/LaneFolds.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Transforms/NPU/Passes.h"

#include <array>

namespace ashlar::npu {

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

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

size_t NetworkTime::addVector(int64_t cycles, llvm::ArrayRef<Value> operands) {
  const size_t step = addStep(Vector, cycles, operands);
  if (cycles > 0)
    steps[step].latency = static_cast<int64_t>(machine.vec.latency);
  return step;
}

/// Blocks that are moved element by element are decoded once for all movements.
size_t NetworkTime::decoded(Value map) {
  auto [found, fresh] = decodes.try_emplace(map, 0);
  if (!fresh)
    return found->second;
  const size_t step = addVector(analysis::decodeCycles(map, machine), map);
  return decodes[map] = step;
}

void NetworkTime::addMove(Operation *op) {
  auto move = cast<DmaMoveOp>(op);
  Value result = move.getY();
  const bool encodes = storageOf(result).encoded;
  llvm::SmallVector<size_t, 2> before;
  for (Value input : move.getInputs())
    if (storageOf(input).encoded && !encodes)
      before.push_back(decoded(input));
  const analysis::OperationCycles plain =
      analysis::moveCycles(move, analysis::Lanes(), machine);
  const size_t copies = addStep(Copies, plain.copied(machine),
                                llvm::SmallVector<Value, 4>(move.getInputs()));
  steps[copies].after.append(before);
  producers[result] = copies;
  if (plain.vector == 0)
    return;
  const size_t stored = addVector(plain.vector, result);
  producers[result] = stored;
  auto shape = shapeOf(result);
  if (!encodes || shape.size() < 3 || !mayFold(result))
    return;
  // In the lanes that take least, copies and encode together.
  for (const analysis::Lanes &fold :
       analysis::laneFolds(shape[1], shape.back(), machine)) {
    const analysis::OperationCycles own =
        analysis::moveCycles(move, fold, machine);
    if (own.copied(machine) + own.vector >=
        steps[copies].folded + steps[stored].folded)
      continue;
    steps[copies].folded = own.copied(machine);
    steps[stored].folded = own.vector;
  }
  steps[copies].result = steps[stored].result = result;
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
    producers[result] = addVector(
        analysis::vectorCycles(op, analysis::workLanesOf(op), machine),
        operands);
    return;
  }
  producers[result] =
      addStep(Array, analysis::stationaryCycles(op, machine).least(), operands);
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
      cycles = candidate.sparse ? candidate.plan()->inNetwork()
               : folded         ? candidate.folded
                                : candidate.plain;
    }
    int64_t start = free[engine];
    for (size_t before : step.after)
      start = std::max(start, done[before]);
    if (cycles > 0)
      free[engine] = start + cycles;
    done[i] = start + cycles + step.latency;
    if (step.candidate >= 0) {
      // The drain, which serves both, goes on beside the sums.
      free[Drain] =
          std::max(free[Drain], start) + candidates[step.candidate].drain;
      done[i] = std::max(done[i], free[Drain]);
    }
    end = std::max(end, done[i]);
  }
  return end;
}

} // namespace ashlar::npu
