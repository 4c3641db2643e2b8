// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching by name: passes keep the names of nodes, fused operations carry
// those of all their parts, and no pass keeps values apart from that.

#include "ModuleComparison.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

Block &bodyOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main").getBody().front();
}

/// The last value of each node name.
llvm::StringMap<Value> lastValues(ModuleOp module) {
  llvm::StringMap<Value> last;
  for (Operation &op : bodyOf(module).without_terminator())
    if (!isa<nn::ConstantOp>(op))
      for (const std::string &name : analysis::getNodeNames(op.getLoc()))
        last[name] = op.getResult(0);
  return last;
}

/// All values of each node name: a node may be imported as several operations.
llvm::StringMap<SmallVector<Value>> stepValues(ModuleOp module) {
  llvm::StringMap<SmallVector<Value>> steps;
  for (Operation &op : bodyOf(module).without_terminator())
    if (!isa<nn::ConstantOp>(op))
      for (const std::string &name : analysis::getNodeNames(op.getLoc()))
        steps[name].push_back(op.getResult(0));
  return steps;
}

/// Values that depend on no input: weights, and what is computed of them.
llvm::DenseSet<Value> findConstants(ModuleOp module) {
  llvm::DenseSet<Value> found;
  for (Operation &op : bodyOf(module).without_terminator())
    if (llvm::all_of(op.getOperands(),
                     [&](Value operand) { return found.contains(operand); }))
      found.insert(op.getResults().begin(), op.getResults().end());
  return found;
}

bool jumps(Operation *op) {
  if (auto unary = dyn_cast<nn::UnaryOp>(op))
    switch (unary.getFunction()) {
    case nn::UnaryFunction::Floor:
    case nn::UnaryFunction::Ceil:
    case nn::UnaryFunction::Round:
    case nn::UnaryFunction::Sign:
    case nn::UnaryFunction::Not:
      return true;
    default:
      return false;
    }
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return !isa<FloatType>(
        mlir::cast<RankedTensorType>(op->getResult(0).getType())
            .getElementType());
  return isa<nn::CompareOp, nn::LogicalOp, nn::ArgReduceOp, nn::ModOp>(op);
}

/// Values that do not follow their operands continuously.
llvm::DenseSet<Value> findJumps(ModuleOp module) {
  llvm::DenseSet<Value> found;
  for (Operation &op : bodyOf(module).without_terminator())
    if (jumps(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return found.contains(operand);
        }))
      found.insert(op.getResult(0));
  return found;
}

/// Roundings that a chain of rewrites may add up, in a result.
constexpr double kRoundings = 16;

/// Largest difference relative to the largest element. Where roundings alone
/// move \p right by \p movement, that counts as the tolerance.
double relativeDifference(const Tensor &right, const Tensor &found,
                          double movement) {
  double top = kRoundings * movement / kFoldTolerance, difference = 0;
  for (int64_t i = 0, e = right.size(); i < e; ++i) {
    double a = elementOf(right, i);
    if (std::isfinite(a))
      top = std::max(top, std::abs(a));
    difference = std::max(difference, differenceOf(a, elementOf(found, i)));
  }
  return difference == 0 ? 0 : difference / top;
}

/// Takes the difference of one layer into the check of a phase.
void addLayer(PhaseCheck &check, StringRef name, double difference) {
  if (difference <= check.worst && !check.layer.empty())
    return;
  // The first layer beyond the tolerance stays named.
  if (check.worst <= kFoldTolerance)
    check.layer = name.str();
  check.worst = std::max(check.worst, difference);
}

} // namespace

double differenceOf(double right, double found) {
  if (right == found || (std::isnan(right) && std::isnan(found)))
    return 0;
  double difference = std::abs(found - right);
  return difference >= 0 ? difference : HUGE_VAL;
}

namespace {

/// Compares values of a module with those of the module it was made from.
class Comparison {
public:
  Comparison(const ExactValues &right, const ValueMap &found, PhaseCheck &check)
      : right(right), found(found), check(check),
        jumping(findJumps(right.module())) {}

  /// The least difference of `value` to one of `candidates`; nothing if none
  /// can be compared with it.
  std::optional<double> least(Value value, ArrayRef<Value> candidates) const {
    const Tensor &is = found.find(value)->second;
    std::optional<double> least;
    for (Value candidate : candidates) {
      const Tensor &wanted = right[candidate];
      if (wanted.size() != is.size() || jumping.contains(candidate) ||
          wanted.isFloat() != is.isFloat())
        continue;
      const double difference =
          relativeDifference(wanted, is, right.movementOf(candidate));
      least = least ? std::min(*least, difference) : difference;
    }
    return least;
  }

  /// True if `value` may be one of `candidates` that rounding moves by whole
  /// steps.
  bool mayJump(Value value, ArrayRef<Value> candidates) const {
    const int64_t size = found.find(value)->second.size();
    return llvm::any_of(candidates, [&](Value candidate) {
      return jumping.contains(candidate) && right[candidate].size() == size;
    });
  }

  void add(StringRef name, std::optional<double> difference) {
    if (!difference)
      return;
    ++check.layers;
    addLayer(check, name, *difference);
  }

private:
  const ExactValues &right;
  const ValueMap &found;
  PhaseCheck &check;
  llvm::DenseSet<Value> jumping;
};

} // namespace

void compareModules(const ExactValues &right, ModuleOp later,
                    const ValueMap &found, PhaseCheck &check) {
  ModuleOp first = right.module();
  llvm::StringMap<Value> before = lastValues(first), after = lastValues(later);
  llvm::StringMap<SmallVector<Value>> steps = stepValues(first);
  check.layers = 0;
  const llvm::DenseSet<Value> constants = findConstants(later);
  Comparison comparison(right, found, check);
  for (Operation &op : bodyOf(later).without_terminator()) {
    // A pass may scale weights as their reader likes.
    if (constants.contains(op.getResult(0)) || analysis::isAltered(op.getLoc()))
      continue;
    SmallVector<Value> candidates, inside;
    std::string name;
    bool endsLater = false;
    for (const std::string &own : analysis::getNodeNames(op.getLoc())) {
      // A pass may have taken in the first steps of a node alone, or moved its
      // last one to another place.
      if (auto known = steps.find(own); known != steps.end())
        llvm::append_range(inside, known->second);
      if (after.lookup(own) == op.getResult(0))
        if (Value candidate = before.lookup(own)) {
          candidates.push_back(candidate);
          if (name.empty())
            name = own;
        }
      endsLater |= after.lookup(own) != op.getResult(0);
    }
    std::optional<double> least = comparison.least(op.getResult(0), candidates);
    if (least && *least > kFoldTolerance)
      least = comparison.least(op.getResult(0), inside);
    // A value between the steps of a node may have no counterpart: the factor
    // of a batch normalisation went into weights, its sum is still to come.
    // The node's last step is compared.
    if (least && *least > kFoldTolerance &&
        (endsLater || comparison.mayJump(op.getResult(0), inside)))
      continue;
    comparison.add(name, least);
  }
  for (auto [value, wanted] :
       llvm::zip(bodyOf(later).getTerminator()->getOperands(),
                 bodyOf(first).getTerminator()->getOperands()))
    comparison.add("the graph output", comparison.least(value, wanted));
}

void comparePlanned(const ExactValues &right, ModuleOp later,
                    const ValueMap &found, PhaseCheck &check) {
  ModuleOp plan = right.module();
  analysis::PlanNames names(plan.lookupSymbol<func::FuncOp>("main"));
  llvm::StringMap<Value> planned;
  for (Operation &op : bodyOf(plan).without_terminator())
    if (StringRef name = names.getName(op.getResult(0)); !name.empty())
      planned[name] = op.getResult(0);
  uint64_t layers = 0;
  auto compare = [&](Value value, StringRef name, Value wanted) {
    const Tensor &a = right[wanted];
    const Tensor &b = found.find(value)->second;
    ++layers;
    addLayer(check, name,
             a.size() == b.size()
                 ? relativeDifference(a, b, right.movementOf(wanted))
                 : HUGE_VAL);
  };
  for (Operation &op : bodyOf(later).without_terminator())
    if (npu::OriginAttr origin = npu::originOf(&op);
        StringAttr name = origin ? origin.getName() : StringAttr())
      if (Value wanted = planned.lookup(name.getValue()))
        compare(op.getResult(0), name.getValue(), wanted);
  for (auto [value, wanted] :
       llvm::zip(bodyOf(later).getTerminator()->getOperands(),
                 bodyOf(plan).getTerminator()->getOperands()))
    compare(value, "the graph output", wanted);
  check.layers = layers;
}

} // namespace ashlar::pipelines
