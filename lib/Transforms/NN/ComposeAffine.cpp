// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composes chains of sums and products with constants per channel into one
// product and one sum. Input: batch_norms expanded, constants next to products
// merged; what is left follows concatenations, pools and the like, where
// exporters write a normalisation as up to four operations.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_COMPOSEAFFINE
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// One operation of a chain: how its result depends on its computed operand.
struct Step {
  Operation *op = nullptr;
  Value x, constant;
  bool constantFirst = false; ///< c - x, not x - c
};

/// y = x * scale + shift along one axis, in binary64.
struct Affine {
  std::vector<double> scale, shift;

  void apply(const Step &step, ArrayRef<double> values) {
    for (auto [s, t, c] : llvm::zip(scale, shift, values)) {
      if (isa<AddOp>(step.op)) {
        t += c;
      } else if (isa<MulOp>(step.op)) {
        s *= c, t *= c;
      } else if (isa<DivOp>(step.op)) {
        s /= c, t /= c;
      } else {
        const double sign = step.constantFirst ? -1 : 1;
        s *= sign, t = sign * (t - c);
      }
    }
  }

  bool scales() const {
    return !llvm::all_of(scale, [](double s) { return s == 1; });
  }
  bool shifts() const {
    return !llvm::all_of(shift, [](double t) { return t == 0; });
  }
};

/// The step that an operation is, if it has a float constant as one operand and
/// its result has the shape of the other one.
std::optional<Step> stepOf(Operation *op) {
  if (!op || !isa<AddOp, SubOp, MulOp, DivOp>(op))
    return std::nullopt;
  Value a = op->getOperand(0), b = op->getOperand(1);
  const bool constantFirst = isConstant(a) && !isConstant(b);
  Step step{op, constantFirst ? b : a, constantFirst ? a : b, constantFirst};
  if (!isConstant(step.constant) || isConstant(step.x) ||
      step.x.getType() != op->getResult(0).getType() ||
      !isa<FloatType>(typeOf(step.x).getElementType()) ||
      (constantFirst && isa<DivOp>(op)))
    return std::nullopt;
  return step;
}

/// The axis along which a constant varies in a result of rank `rank`; -1 if it
/// is one number, nothing if it varies along several.
std::optional<int64_t> axisOf(Value constant, int64_t rank) {
  ArrayRef<int64_t> shape = shapeOf(constant);
  int64_t axis = -1;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (extent == 1)
      continue;
    if (axis >= 0)
      return std::nullopt;
    axis = rank - static_cast<int64_t>(shape.size()) + static_cast<int64_t>(d);
  }
  return axis;
}

/// Operations that follow each other, the last one first.
struct AffineChain {
  SmallVector<Step> steps;
  int64_t axis = -1; ///< along which its constants vary; -1: none does
};

AffineChain chainTo(Operation *last) {
  AffineChain chain;
  const auto rank = static_cast<int64_t>(shapeOf(last->getResult(0)).size());
  for (std::optional<Step> step = stepOf(last); step;
       step = stepOf(step->x.getDefiningOp())) {
    std::optional<int64_t> axis = axisOf(step->constant, rank);
    if (!axis || (*axis >= 0 && chain.axis >= 0 && *axis != chain.axis))
      break;
    chain.axis = std::max(chain.axis, *axis);
    chain.steps.push_back(*step);
    if (!step->x.hasOneUse())
      break;
  }
  return chain;
}

/// What a chain computes; nothing if its factors or terms are no numbers of
/// the type that they are stored in.
std::optional<Affine> compose(const AffineChain &chain) {
  ArrayRef<int64_t> shape = shapeOf(chain.steps.front().x);
  // A scalar has one value and no axis.
  const int64_t extent = chain.axis < 0 ? 1 : shape[chain.axis];
  Affine affine{std::vector<double>(extent, 1), std::vector<double>(extent, 0)};
  for (const Step &step : llvm::reverse(chain.steps)) {
    std::optional<reference::Tensor> values = floatConstant(step.constant);
    if (!values || values->floats.empty())
      return std::nullopt;
    std::vector<double> own = std::move(values->floats);
    if (own.size() == 1)
      own.assign(extent, own.front());
    affine.apply(step, own);
  }
  auto element =
      cast<FloatType>(typeOf(chain.steps.front().x).getElementType());
  const double most =
      APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
  auto isNumber = [&](double value) { return std::abs(value) <= most; };
  if (!llvm::all_of(affine.scale, isNumber) ||
      !llvm::all_of(affine.shift, isNumber))
    return std::nullopt;
  return affine;
}

/// The values of an axis as a constant that broadcasts to results of `rank`.
Value alongAxis(OpBuilder &builder, Location loc, ArrayRef<double> values,
                int64_t axis, int64_t rank, Type element) {
  reference::Tensor tensor = vectorTensor(values);
  tensor.shape.clear();
  if (axis >= 0) {
    tensor.shape.assign(rank - axis, 1);
    tensor.shape.front() = static_cast<int64_t>(values.size());
  }
  return makeConstant(builder, loc, tensor, element);
}

struct ComposeAffinePass
    : ashlar::nn::impl::ComposeAffineBase<ComposeAffinePass> {
  void runOnOperation() override;

private:
  bool rewrite(const AffineChain &chain);
};

} // namespace

/// Replaces a chain where that leaves fewer operations.
bool ComposeAffinePass::rewrite(const AffineChain &chain) {
  if (chain.steps.size() < 2)
    return false;
  std::optional<Affine> affine = compose(chain);
  if (!affine ||
      chain.steps.size() <= size_t(affine->scales()) + affine->shifts())
    return false;
  SmallVector<Operation *> absorbed;
  for (const Step &step : llvm::reverse(chain.steps))
    absorbed.push_back(step.op);
  Operation *last = absorbed.back();
  Location loc =
      fuseLocations(absorbed.front(), ArrayRef(absorbed).drop_front());
  OpBuilder builder(last);
  Value y = chain.steps.back().x;
  const auto rank = static_cast<int64_t>(shapeOf(y).size());
  Type element = typeOf(y).getElementType();
  auto constant = [&](ArrayRef<double> values) {
    return alongAxis(builder, loc, values, chain.axis, rank, element);
  };
  if (affine->scales())
    y = MulOp::create(builder, loc, y.getType(), y, constant(affine->scale));
  if (affine->shifts())
    y = AddOp::create(builder, loc, y.getType(), y, constant(affine->shift));
  last->getResult(0).replaceAllUsesWith(y);
  for (Operation *op : llvm::reverse(absorbed))
    op->erase();
  composed += absorbed.size();
  return true;
}

/// From the end: a chain is found at its last operation, whole.
void ComposeAffinePass::runOnOperation() {
  SmallVector<Operation *> candidates;
  getOperation().walk([&](Operation *op) {
    if (stepOf(op))
      candidates.push_back(op);
  });
  llvm::DenseSet<Operation *> gone;
  for (Operation *op : llvm::reverse(candidates)) {
    if (gone.contains(op))
      continue;
    AffineChain chain = chainTo(op);
    // The operations in front of the last one are no chains of their own.
    for (const Step &step : chain.steps)
      gone.insert(step.op);
    rewrite(chain);
  }
}
