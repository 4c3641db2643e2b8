// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room for weights: the ring that their chunks go through, and the records of
// moving weights.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::npu {

/// End of the memory for tensors and scratch while operation `index` runs. The
/// ring never shrinks while weights of earlier operations may be in it, so what
/// they need counts here as well. Records of moving weights lie after it
/// throughout the program.
int64_t Planner::limitAt(size_t index) const {
  return static_cast<int64_t>(machine.sb.bytesPerPartition) -
         std::max(ring, plans[index].chunks + records);
}

/// First byte of the ring for each operation. A chunk loaded during an
/// operation stays in memory during later ones: the ring begins above
/// everything that is live from then on.
std::vector<int64_t> Planner::ringBases() const {
  std::vector<int64_t> rings(plans.size());
  int64_t base = 0;
  for (size_t i = plans.size(); i-- > 0;) {
    const OpPlan &plan = plans[i];
    base = std::max(base, plan.usedEnd);
    rings[i] = base;
  }
  return rings;
}

/// Other chunks of weights from now on.
void Planner::setChunkLimit(int64_t limit) {
  if (limit == chunkLimit)
    return;
  chunkLimit = limit;
  for (OpPlan &plan : plans)
    if (dropApart(plan.op))
      setModel(plan);
    else
      plan.weights = analysis::weightNeeds(plan.op, machine, limit);
}

/// The largest chunk of weights of any operation.
int64_t Planner::largestChunk() const {
  int64_t largest = 0;
  for (const OpPlan &plan : plans)
    largest = std::max(largest, plan.weights.chunk);
  return largest;
}

/// Counts what the weights of all operations need of a partition, with
/// `chunksAhead` chunks in the ring. True if that is not what was counted
/// before: every operation may then have another place. To be called again when
/// an operation's model has changed.
bool Planner::countWeights(int64_t chunksAhead) {
  bool changed = false;
  int64_t chunks = 0;
  for (OpPlan &plan : plans) {
    chunks = std::max(chunks, chunksAhead * plan.weights.chunk);
    changed |= plan.chunks != chunks;
    plan.chunks = chunks;
  }
  const int64_t before = records;
  records = analysis::movingRecordBytes(
      llvm::map_to_vector(plans, [](const OpPlan &plan) { return plan.op; }),
      machine);
  return changed || records != before;
}

} // namespace ashlar::npu
