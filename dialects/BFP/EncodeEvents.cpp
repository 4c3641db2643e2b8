// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers encode events in program order. Assumption: operands are defined
// before their uses (one block).

#include "dialects/BFP/EncodeEvents.h"

#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ashlar::bfp {

numerics::ScalePolicy getScalePolicy(Operation *op) {
  auto scale = op->getAttrOfType<records::ScaleAttr>(records::kScaleAttr);
  return scale ? scale.getPolicy() : numerics::ScalePolicy();
}

bool isMovement(Operation *op) {
  return isa<nn::ReshapeOp, nn::SliceOp, nn::ConcatOp, nn::InterleaveOp,
             nn::TransposeOp, nn::PadOp, nn::BroadcastOp, nn::GatherOp,
             nn::Im2ColOp>(op);
}

EncodeEvents::EncodeEvents(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : block)
      visit(&op);
}

unsigned EncodeEvents::addEvent(Value root, ArrayRef<unsigned> parts) {
  events.push_back({root, llvm::to_vector(parts)});
  unsigned id = events.size() - 1;
  eventOf[root] = id;
  return id;
}

void EncodeEvents::visit(Operation *op) {
  // Weights own an exponent per output channel instead.
  if (auto encode = dyn_cast<EncodeOp>(op); encode && encode.getWeights())
    return;
  for (Value result : op->getResults()) {
    if (!isEncoded(result.getType()))
      continue;
    llvm::SmallSetVector<unsigned, 4> parents;
    if (isMovement(op))
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> event = getEvent(operand))
          parents.insert(*event);
    if (parents.size() == 1)
      eventOf[result] = parents.front();
    else
      addEvent(result, parents.getArrayRef());
  }
}

std::optional<unsigned> EncodeEvents::getEvent(Value value) const {
  auto found = eventOf.find(value);
  if (found == eventOf.end())
    return std::nullopt;
  return found->second;
}

SmallVector<unsigned> EncodeEvents::getLeaves(unsigned event) const {
  // Parts always have smaller numbers, so the recursion ends.
  if (events[event].parts.empty())
    return {event};
  SmallVector<unsigned> leaves;
  for (unsigned part : events[event].parts)
    llvm::append_range(leaves, getLeaves(part));
  llvm::sort(leaves);
  leaves.erase(llvm::unique(leaves), leaves.end());
  return leaves;
}

} // namespace ashlar::bfp
