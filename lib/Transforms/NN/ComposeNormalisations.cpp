// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes normalisations as one scale and one shift per channel. Input: chains
// of constants composed, statistics computed on the map. Output: one product
// and one sum for each normalisation, which later become one pass; where the
// statistics vary along several axes, a product in place of the quotient.
//
// The rounded mean is off by up to half a unit in its last place, which gives
// the quotient an error of that size over the deviation, however exact the
// difference is. `x * a + b` has two more roundings of the same size.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_COMPOSENORMALISATIONS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// (x - mean) / deviation * scale + shift, the last two if they are there.
struct Normalisation {
  Value x, mean, deviation, scale, shift;
  SmallVector<Operation *> steps; ///< From the quotient on.

  /// True if mean and deviation vary along one axis at most, so that the scale
  /// and the shift of an element do.
  bool perChannel = false;
};

/// Where numbers that vary along one axis at most vary, counted from the last
/// axis; -1 for one number, nothing for other tensors.
std::optional<int64_t> variesAlong(Value value) {
  int64_t axis = -1;
  for (auto [back, extent] : llvm::enumerate(llvm::reverse(shapeOf(value)))) {
    if (extent == 1)
      continue;
    if (axis >= 0)
      return std::nullopt;
    axis = static_cast<int64_t>(back);
  }
  return axis;
}

/// The constant that the only reader of the last step, an `Op`, adds to it or
/// multiplies it with; null if it varies along another axis than `axis`, which
/// it fixes if it is open (-1).
template <typename Op>
Value nextConstant(Normalisation &norm, int64_t &axis) {
  Operation *last = norm.steps.back();
  Value y = last->getResult(0);
  auto next = last->hasOneUse() ? dyn_cast<Op>(*last->user_begin()) : Op();
  if (!next || next.getType() != y.getType())
    return nullptr;
  Value constant = next.getA() == y ? next.getB() : next.getA();
  std::optional<int64_t> own = variesAlong(constant);
  if (!isConstant(constant) || !own ||
      (*own != -1 && axis != -1 && *own != axis))
    return nullptr;
  axis = std::max(axis, *own);
  norm.steps.push_back(next);
  return constant;
}

std::optional<Normalisation> normalisationFrom(DivOp quotient) {
  auto centred = quotient.getA().getDefiningOp<SubOp>();
  if (!centred || !quotient.getType().getElementType().isF32())
    return std::nullopt;
  Normalisation norm{centred.getA(), centred.getB(), quotient.getB(), {}, {},
                     {quotient}};
  auto axis = variesAlong(norm.deviation), own = variesAlong(norm.mean);
  if (norm.x.getType() != quotient.getType() || own != axis ||
      isConstant(norm.deviation) || isConstant(norm.mean) ||
      typeOf(norm.deviation).getNumElements() ==
          typeOf(norm.x).getNumElements())
    return std::nullopt;
  norm.perChannel = axis.has_value();
  if (!axis)
    return norm.mean.getType() == norm.deviation.getType() ? std::optional(norm)
                                                           : std::nullopt;
  norm.scale = nextConstant<MulOp>(norm, *axis);
  norm.shift = nextConstant<AddOp>(norm, *axis);
  return norm;
}

struct ComposeNormalisationsPass
    : ashlar::nn::impl::ComposeNormalisationsBase<ComposeNormalisationsPass> {
  void runOnOperation() override {
    SmallVector<DivOp> quotients;
    getOperation().walk([&](DivOp op) { quotients.push_back(op); });
    // One by one: what one writes anew may be the operand of the next one.
    for (DivOp quotient : quotients)
      if (auto norm = normalisationFrom(quotient)) {
        norm->perChannel ? rewrite(*norm) : multiply(*norm);
        ++numComposed;
      }
  }

private:
  static void rewrite(const Normalisation &norm);
  static void multiply(const Normalisation &norm);
};

} // namespace

static Value reciprocal(OpBuilder &builder, Location loc, Value x) {
  return UnaryOp::create(builder, loc, x.getType(), UnaryFunction::Reciprocal,
                         x, APFloat(0.0f), APFloat(0.0f));
}

/// The difference by the reciprocal: a quotient per statistic, not per element.
void ComposeNormalisationsPass::multiply(const Normalisation &norm) {
  auto quotient = cast<DivOp>(norm.steps.front());
  OpBuilder builder(quotient);
  const Location loc = quotient.getLoc();
  Value y = MulOp::create(builder, loc, quotient.getType(), quotient.getA(),
                          reciprocal(builder, loc, norm.deviation));
  quotient.getResult().replaceAllUsesWith(y);
  quotient->erase();
}

void ComposeNormalisationsPass::rewrite(const Normalisation &norm) {
  Operation *quotient = norm.steps.front(), *last = norm.steps.back();
  OpBuilder builder(last);
  // The numbers of a channel belong to the node of the statistics, the elements
  // to all nodes.
  const Location own = quotient->getLoc();
  Value a, b;
  if (norm.scale)
    a = DivOp::create(builder, own, broadcastType(norm.scale, norm.deviation),
                      norm.scale, norm.deviation);
  else
    a = reciprocal(builder, own, norm.deviation);
  b = MulOp::create(builder, own, broadcastType(norm.mean, a), norm.mean, a);
  if (norm.shift)
    b = SubOp::create(builder, own, broadcastType(norm.shift, b), norm.shift,
                      b);
  else
    b = UnaryOp::create(builder, own, b.getType(), UnaryFunction::Neg, b,
                        APFloat(0.0f), APFloat(0.0f));
  const Location all =
      fuseLocations(quotient, ArrayRef(norm.steps).drop_front());
  Value y = MulOp::create(builder, all, norm.x.getType(), norm.x, a);
  y = AddOp::create(builder, all, norm.x.getType(), y, b);
  last->getResult(0).replaceAllUsesWith(y);
  for (Operation *step : llvm::reverse(norm.steps))
    step->erase();
}
