// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of operands, found by widening one and looking which others follow.

#include "FormatSpace.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/BFPTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// An operand of a product as the quantise phase left it.
struct Operand {
  Slot slot;
  unsigned mantissa = 0;
  uint64_t weights = 0;   ///< Elements, if known at compile time.
  bool oneReader = false; ///< Weights that nothing else reads.
};

std::vector<Operand> listOperands(ModuleOp module) {
  std::vector<Operand> operands;
  module.walk([&](Operation *op) {
    if (!isa<bfp::ConvOp, bfp::MatmulOp>(op))
      return;
    std::string node = analysis::getNodeName(op->getLoc());
    for (unsigned index : {0u, 1u}) {
      Value value = op->getOperand(index);
      auto type = dyn_cast<bfp::BlockType>(getElementTypeOrSelf(value));
      if (!type)
        continue;
      Operand operand{{node, index == 1}, type.getMantissa()};
      auto encode = value.getDefiningOp<bfp::EncodeOp>();
      if (encode && encode.getWeights()) {
        operand.weights = static_cast<uint64_t>(
            cast<RankedTensorType>(value.getType()).getNumElements());
        operand.oneReader = value.hasOneUse();
      }
      operands.push_back(std::move(operand));
    }
  });
  return operands;
}

void setFormat(numerics::FormatTable &table, const Slot &slot,
               numerics::BlockFormat format) {
  numerics::NodeFormats &node = table.nodes[slot.node];
  (slot.weights ? node.weights : node.activations) = format;
}

/// The operands that widen if `slot` requests more than all others.
llvm::Expected<std::vector<Slot>> probe(const Evaluator &evaluator,
                                        const Slot &slot) {
  numerics::FormatTable table;
  numerics::BlockFormat wide;
  wide.mantissa = 9;
  setFormat(table, slot, wide);
  auto module = evaluator.quantise(table);
  if (!module)
    return module.takeError();
  std::vector<Slot> slots;
  for (const Operand &operand : listOperands(**module))
    if (operand.mantissa == 9 && !llvm::is_contained(slots, operand.slot))
      slots.push_back(operand.slot);
  return slots;
}

} // namespace

llvm::Expected<std::vector<FormatGroup>>
findFormatGroups(const Evaluator &evaluator) {
  auto module = evaluator.quantise({});
  if (!module)
    return module.takeError();
  std::vector<FormatGroup> groups;
  std::vector<Slot> known;
  for (const Operand &operand : listOperands(**module)) {
    if (llvm::is_contained(known, operand.slot))
      continue;
    FormatGroup group;
    group.weights = operand.weights;
    if (operand.oneReader) {
      group.slots.push_back(operand.slot);
    } else {
      auto slots = probe(evaluator, operand.slot);
      if (!slots)
        return slots.takeError();
      group.slots = std::move(*slots);
    }
    known.push_back(operand.slot);
    known.insert(known.end(), group.slots.begin(), group.slots.end());
    if (llvm::is_contained(group.slots, operand.slot))
      groups.push_back(std::move(group));
  }
  return groups;
}

numerics::FormatTable makeUniform(numerics::BlockFormat activations,
                                  numerics::BlockFormat weights) {
  numerics::FormatTable table;
  table.activations = activations;
  table.weights = weights;
  return table;
}

std::string operandsText(numerics::BlockFormat activations,
                         numerics::BlockFormat weights) {
  return "activations " + numerics::toString(activations) + ", weights " +
         numerics::toString(weights);
}

/// Calls fn(format) for the format of all activations, or of all weights, and
/// for those of single nodes.
static void forFormats(numerics::FormatTable &table, bool weights,
                       llvm::function_ref<void(numerics::BlockFormat &)> fn) {
  fn(weights ? table.weights : table.activations);
  for (auto &[name, node] : table.nodes)
    if (auto &own = weights ? node.weights : node.activations)
      fn(*own);
}

numerics::FormatTable withoutSigns(numerics::FormatTable table) {
  forFormats(table, /*weights=*/false, [](numerics::BlockFormat &format) {
    format.dropsSigns = format.mantissa <= 9;
    if (format.mantissa == 9)
      --format.mantissa;
  });
  return table;
}

numerics::FormatTable withNarrowerWeights(numerics::FormatTable table,
                                          int least) {
  forFormats(table, /*weights=*/true, [&](numerics::BlockFormat &format) {
    format.mantissa = std::max(format.mantissa - 1, least);
  });
  return table;
}

numerics::FormatTable makeTable(const numerics::FormatTable &base,
                                llvm::ArrayRef<FormatGroup> groups,
                                llvm::ArrayRef<numerics::BlockFormat> formats) {
  numerics::FormatTable table = base;
  for (auto [group, format] : llvm::zip(groups, formats))
    for (const Slot &slot : group.slots)
      setFormat(table, slot, format);
  return table;
}

} // namespace ashlar::pipelines
