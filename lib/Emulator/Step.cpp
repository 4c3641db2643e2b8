// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction.

#include "Step.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// An instruction that repaired blocks has passed its operands twice.
static void repairBlocks(const LoadedProgram::Impl &impl, Engine &engine,
                         uint64_t blocks, RunResult &result) {
  const uint32_t index = engine.current;
  const auto known = impl.clusterCosts.find(index);
  const auto found = engine.measured.find(index);
  const Cost once = found != engine.measured.end() ? found->second
                    : known != impl.clusterCosts.end()
                        ? known->second
                        : CostModel(*engine.costMachine)(impl.code[index]);
  engine.measured[index] = once.repeated();
  if (const uint32_t node = impl.nodeOf(index); node < result.nodes.size())
    result.nodes[node].repaired += blocks;
}

/// Where the given exponent turns out to be unknown, the vector unit has to
/// find the maxima of the blocks first.
template <typename Op>
static void measureOwnExponents(Engine &engine, const Op &op) {
  if constexpr (requires { op.cellFromXr, op.channels; })
    if (op.cellFromXr && engine.memory.xr(op.dstXr) == clearedScale) {
      Op own = op;
      own.cellFromXr = false;
      engine.measured[engine.current] = CostModel(*engine.costMachine)(own);
    }
}

/// Adds what the current instruction counted, of node `node`, to the result.
static void addCounters(const Engine &engine, uint32_t node,
                        RunResult &result) {
  const numerics::EncodeCounters &counters = engine.counters;
  if (engine.fetched != 0 && node < result.nodes.size()) {
    // What fetches encodes nothing.
    result.nodes[node].fetched += engine.fetched;
    result.nodes[node].saturatedAtFetch += counters.saturated;
  }
  result.saturated += counters.saturated;
  result.underflow += counters.underflow;
  result.nonFinite += counters.nan + counters.infinite;
  if (node >= result.nodes.size())
    return;
  result.nodes[node].saturated += counters.saturated;
  result.nodes[node].underflow += counters.underflow;
  result.nodes[node].nonFinite += counters.nan + counters.infinite;
}

void emulator::executeStep(const LoadedProgram::Impl &impl, Engine &engine,
                           uint32_t index) {
  engine.counters = {};
  engine.fetched = 0;
  engine.current = index;
  if (!impl.settled.empty() && impl.settled[index])
    return;
  std::visit(
      [&](const auto &op) {
        measureOwnExponents(engine, op);
        engine.execute(op);
      },
      impl.code[index]);
}

void emulator::addStep(const LoadedProgram::Impl &impl, Engine &engine,
                       RunResult &result) {
  addCounters(engine, impl.nodeOf(engine.current), result);
  if (const uint64_t repaired = engine.counters.repaired; repaired > 0)
    repairBlocks(impl, engine, repaired, result);
}
