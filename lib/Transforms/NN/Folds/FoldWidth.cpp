// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites few-channel convolutions so that they fill the array (see
// Passes.td). Input: conv of group 1; output: im2col of the columns of a
// stride, or of more of the kernel, and a convolution of W stride 1; the
// alternatives with their cycles as an attribute either way.

#include "../Rewrite.h"
#include "FoldShape.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/Decision.h"

#include <fmt/format.h>

namespace ashlar::nn {
#define GEN_PASS_DEF_FOLDWIDTH
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

int64_t productOf(ArrayRef<int64_t> values) {
  return reference::elementCount(values);
}

/// Builds the folded form of one convolution.
class FoldRewriter {
public:
  FoldRewriter(ConvOp op, const FoldAlternative &plan)
      : op(op), plan(plan), conv(foldConvOf(op)), builder(op),
        loc(op.getLoc()) {}

  ConvOp run();

private:
  Value foldInput();
  Value foldKernel();
  Value pad(Value value, int64_t axis, int64_t low, int64_t high,
            int64_t interior);
  bool packsRows() const { return plan.kind != FoldKind::Width; }

  ConvOp op;
  const FoldAlternative &plan;
  FoldConv conv;
  OpBuilder builder;
  Location loc;
};

Value FoldRewriter::pad(Value value, int64_t axis, int64_t low, int64_t high,
                        int64_t interior) {
  if (low == 0 && high == 0 && interior == 0)
    return value;
  SmallVector<int64_t> shape(shapeOf(value));
  SmallVector<int64_t> lows(shape.size(), 0), highs(lows), interiors(lows);
  lows[axis] = low, highs[axis] = high, interiors[axis] = interior;
  shape[axis] += low + high + (shape[axis] - 1) * interior;
  return PadOp::create(
      builder, loc,
      RankedTensorType::get(shape, typeOf(value).getElementType()), value, lows,
      highs, interiors, PadMode::Constant, APFloat(0.0));
}

/// im2col of the part of the kernel that becomes channels (c, kernel position).
Value FoldRewriter::foldInput() {
  size_t spatial = conv.kernel.size();
  bool whole = plan.kind == FoldKind::PackTaps;
  SmallVector<int64_t> kernel(ArrayRef<int64_t>(conv.kernel)),
      strides(ArrayRef<int64_t>(conv.strides)),
      dilations(ArrayRef<int64_t>(conv.dilations)),
      pads(ArrayRef<int64_t>(conv.pads));
  Value x = op.getX();
  if (!packsRows())
    for (size_t i = 0; i + 1 < spatial; ++i) {
      kernel[i] = strides[i] = dilations[i] = 1;
      pads[i] = pads[i + spatial] = 0;
    }
  if (!whole) {
    kernel.back() = plan.fold.phases;
    strides.back() = plan.fold.stride;
    dilations.back() = plan.fold.phaseStep;
    pads[spatial - 1] = plan.fold.padLow;
    pads.back() = plan.fold.padHigh;
    if (plan.fold.padHigh < 0) {
      // Less than a step after the last column is never read anyway.
      if (plan.fold.padHigh <= -plan.fold.stride)
        x = pad(x, static_cast<int64_t>(spatial) + 1, 0, plan.fold.padHigh, 0);
      pads.back() = 0;
    }
  }
  SmallVector<int64_t> shape{conv.batch, conv.channels * productOf(kernel)};
  for (size_t i = 0; i < spatial; ++i) {
    bool folded = packsRows() || i + 1 == spatial;
    shape.push_back(folded ? conv.output[i] : conv.input[i]);
  }
  if (!whole)
    shape.back() = plan.fold.width;
  return Im2ColOp::create(
      builder, loc,
      RankedTensorType::get(shape, typeOf(op.getX()).getElementType()), x,
      kernel, strides, pads, dilations);
}

/// The kernel in the same channel order: [O, C, .., Kf * S] with the taps of a
/// stride as channels.
Value FoldRewriter::foldKernel() {
  Value w = op.getW();
  size_t spatial = conv.kernel.size();
  SmallVector<int64_t> ones(spatial, 1);
  if (plan.kind == FoldKind::PackTaps) {
    SmallVector<int64_t> flat{conv.outputs,
                              conv.channels * productOf(conv.kernel)};
    llvm::append_range(flat, ones);
    return makeReshape(builder, loc, w, flat);
  }
  int64_t phases = plan.fold.phases, taps = plan.fold.kernel;
  int64_t axis = static_cast<int64_t>(spatial) + 1;
  w = pad(w, axis, plan.fold.leadingTaps,
          plan.fold.trailingTaps(conv.kernel.back()), plan.fold.interiorTaps);
  // [O, C, kernel rows, Kf, phases], the phase moved before the kernel rows or
  // after them.
  int64_t rows = productOf(ArrayRef(conv.kernel).drop_back());
  w = makeReshape(builder, loc, w,
                  {conv.outputs, conv.channels, rows, taps, phases});
  SmallVector<int64_t> perm = packsRows() ? SmallVector<int64_t>{0, 1, 2, 4, 3}
                                          : SmallVector<int64_t>{0, 1, 4, 2, 3};
  SmallVector<int64_t> moved;
  for (int64_t from : perm)
    moved.push_back(shapeOf(w)[from]);
  w = TransposeOp::create(
      builder, loc, RankedTensorType::get(moved, typeOf(w).getElementType()), w,
      perm);
  SmallVector<int64_t> shape{conv.outputs, plan.channels};
  for (size_t i = 0; i + 1 < spatial; ++i)
    shape.push_back(packsRows() ? 1 : conv.kernel[i]);
  shape.push_back(taps);
  return makeReshape(builder, loc, w, shape);
}

ConvOp FoldRewriter::run() {
  Value x = foldInput(), w = foldKernel();
  size_t spatial = conv.kernel.size();
  SmallVector<int64_t> strides(ArrayRef<int64_t>(conv.strides)),
      dilations(ArrayRef<int64_t>(conv.dilations)),
      pads(ArrayRef<int64_t>(conv.pads));
  if (packsRows()) {
    strides.assign(spatial, 1);
    dilations.assign(spatial, 1); // of a packed kernel, one tap
    pads.assign(2 * spatial, 0);
  }
  strides.back() = 1;
  if (plan.kind != FoldKind::PackTaps)
    dilations.back() = plan.fold.dilation;
  pads[spatial - 1] = plan.fold.foldedLow;
  pads.back() = plan.fold.foldedHigh;
  auto folded = ConvOp::create(
      builder, loc, op.getType(), x, w, op.getBias(),
      builder.getDenseI64ArrayAttr(strides), builder.getDenseI64ArrayAttr(pads),
      builder.getDenseI64ArrayAttr(dilations), builder.getI64IntegerAttr(1));
  op.replaceAllUsesWith(folded.getResult());
  op.erase();
  return folded;
}

struct FoldWidthPass : ashlar::nn::impl::FoldWidthBase<FoldWidthPass> {
  using FoldWidthBase::FoldWidthBase;

  void runOnOperation() override {
    if (mode != "auto" && mode != "off" && mode != "stride" && mode != "lane" &&
        mode != "both") {
      getOperation().emitError() << "fold mode '" << mode
                                 << "', expected auto, off, stride, lane or "
                                    "both";
      return signalPassFailure();
    }
    FailureOr<MachineView> view =
        MachineView::of(getOperation(), activationBits, weightBits, useCluster);
    if (failed(view))
      return signalPassFailure();
    SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp op) {
      if (isCandidate(op, *view))
        convs.push_back(op);
      else
        explainRefusal(op);
    });
    for (ConvOp op : convs)
      decide(op, *view);
  }

  // Few channels, and several taps or columns that are passed over: the case
  // in which array rows idle.
  static bool isCandidate(ConvOp op, const MachineView &machine) {
    int64_t channels = shapeOf(op.getX())[1];
    bool few = channels < 8 || (channels < 16 && channels % 8 != 0);
    return (few || kernelOverflows(op, machine)) && op.getGroup() == 1 &&
           (productOf(shapeOf(op.getW()).drop_front(2)) > 1 ||
            op.getStrides().back() > 1);
  }

  /// True if the kernel is computed, and as it is leaves the partitions of its
  /// channels no room.
  static bool kernelOverflows(ConvOp op, const MachineView &machine) {
    const FoldConv conv = foldConvOf(op);
    return conv.computesKernel() &&
           !kernelFits(conv, plainAlternative(conv), machine);
  }

  /// A decision on convolutions that a fold might be expected for.
  static void explainRefusal(ConvOp op) {
    int64_t channels = shapeOf(op.getX())[1], groups = op.getGroup();
    int64_t stride = op.getStrides().back();
    std::string reason;
    if (groups > 1 && channels == groups) {
      reason = "depthwise: a fold would multiply every channel by the zero "
               "weights of its neighbours";
    } else if (groups > 1) {
      reason = fmt::format("{} groups: the columns of a step would mix "
                           "channels of different groups",
                           groups);
    } else if (stride > 1) {
      reason = fmt::format(
          "{} channels fill their blocks: the array reads one of {} columns in "
          "place, without the taps of zeros that a fold adds",
          channels, stride);
    } else {
      return;
    }
    records::Decision(op.getContext(), "plain", reason)
        .record(op, records::kDecisionAttr);
  }

  bool allowsLanes() const { return mode != "off" && mode != "stride"; }

  /// True if the option admits the alternative.
  bool admits(const FoldAlternative &plan) const {
    bool strideFold =
        plan.kind == FoldKind::Width || plan.kind == FoldKind::HeightWidth;
    if (strideFold && plan.fold.stride > 1)
      return mode == "auto" || mode == "stride" || mode == "both";
    return mode != "off" || plan.kind == FoldKind::Plain ||
           plan.kind == FoldKind::PackTaps;
  }

  void decide(ConvOp op, const MachineView &machine) {
    FoldConv conv = foldConvOf(op);
    auto plans = foldAlternatives(conv, machine, allowsLanes());
    const FoldAlternative *best = &plans.front();
    // Asked for by name, the stride fold is taken where it is possible.
    bool forced =
        (mode == "stride" || mode == "both") && conv.strides.back() > 1;
    for (const FoldAlternative &plan : plans)
      if (name(plan) == only)
        return take(op, conv, plans, plan, machine);
    for (const FoldAlternative &plan : plans) {
      bool wanted = !forced || (plan.kind == FoldKind::Width &&
                                plan.fold.phases == plan.fold.stride);
      if (!kernelFits(conv, *best, machine)
              ? kernelElements(conv, plan, machine) <
                    kernelElements(conv, *best, machine)
              : admits(plan) && wanted && kernelFits(conv, plan, machine) &&
                    (plan.total() < best->total() ||
                     (forced && best->kind == FoldKind::Plain)))
        best = &plan;
    }
    take(op, conv, plans, *best, machine);
  }

  void take(ConvOp op, const FoldConv &conv, ArrayRef<FoldAlternative> plans,
            const FoldAlternative &best, const MachineView &machine) {
    records::Decision decision = describe(op, conv, plans, best, machine);
    if (best.kind == FoldKind::Plain)
      return decision.record(op, records::kDecisionAttr);
    const int64_t onCluster =
        clusterCycles(op, conv, plans.front(), best, machine);
    // Zero taps of a fold are no work of the network.
    const int64_t perResult = conv.channels * productOf(conv.kernel);
    auto known = op->getAttrOfType<IntegerAttr>(records::kMacsAttr);
    const int64_t macs =
        known ? known.getInt() : productOf(shapeOf(op.getY())) * perResult;
    const int64_t weights = shapeOf(op.getW())[0] * perResult;
    SmallVector<NamedAttribute> decisions;
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (records::isDecisionName(attr.getName()))
        decisions.push_back(attr);
    ConvOp folded = FoldRewriter(op, best).run();
    for (NamedAttribute attr : decisions)
      folded->setAttr(attr.getName(), attr.getValue());
    OpBuilder builder(folded);
    if (onCluster > 0) {
      folded->setAttr(records::kLeastOnClusterAttr,
                      builder.getI64IntegerAttr(onCluster));
      decision.facts.set("least_on_cluster", onCluster);
    }
    decision.record(folded, records::kDecisionAttr);
    folded->setAttr(records::kMacsAttr, builder.getI64IntegerAttr(macs));
    folded->setAttr(records::kWeightsAttr, builder.getI64IntegerAttr(weights));
    ++numFolded;
  }

  /// The terms of one alternative's cost.
  static DictionaryAttr detailsOf(MLIRContext *context,
                                  const FoldAlternative &plan,
                                  const FoldConv &conv,
                                  const MachineView &machine) {
    const FoldUtilisation use = utilisation(conv, plan, machine);
    const std::pair<StringRef, int64_t> counts[] = {
        {"array_cycles", plan.array},
        {"drain_cycles", plan.drain},
        {"encode_cycles", plan.encode},
        {"copy_cycles", plan.copy},
        {"read_cycles", plan.read},
        {"lanes", plan.lanes},
        {"copied_bytes", plan.copiedBytes},
        {"weight_cycles", plan.weights},
        {"latency", plan.latency},
        {"first_cycles", plan.first},
        {"last_cycles", plan.last},
        {"fill_cycles", plan.fill},
        {"tiles", plan.tiles}};
    const std::pair<StringRef, double> shares[] = {
        {"useful_taps", use.tap},
        {"useful_rows", use.lane},
        {"useful_width", use.width},
        {"useful_columns", use.channel}};
    records::Facts details(context);
    for (auto [key, value] : counts)
      details.set(key, value);
    for (auto [key, value] : shares)
      details.set(key, value);
    return details.get();
  }

  /// What the sparse cluster takes at least for the layer as it is, where that
  /// is less than the best fold takes on the array; 0 if the fold is faster
  /// than any plan of the cluster.
  static int64_t clusterCycles(ConvOp op, const FoldConv &conv,
                               const FoldAlternative &plain,
                               const FoldAlternative &best,
                               const MachineView &machine) {
    const int64_t none = leastOnCluster(conv, plain, 0, machine);
    if (best.kind == FoldKind::Plain || none == 0 || none >= best.total())
      return 0;
    auto weights = constantTensor(op.getW());
    if (!weights)
      return 0;
    const int64_t nonZeros =
        llvm::count_if(weights->floats, [](double w) { return w != 0; });
    const int64_t least = leastOnCluster(conv, plain, nonZeros, machine);
    return least < best.total() ? least : 0;
  }

  static records::Decision describe(ConvOp op, const FoldConv &conv,
                                    ArrayRef<FoldAlternative> plans,
                                    const FoldAlternative &best,
                                    const MachineView &machine) {
    FoldUtilisation use = utilisation(conv, best, machine);
    std::string reason = fmt::format(
        "{} channels x {} taps as {} x {}, {} results a step: {} array cycles "
        "(useful: taps {:.2f}, rows {:.2f}, width {:.2f}, columns {:.2f}), {} "
        "to drain; before: {} to read, {} to copy {} bytes, {} to encode",
        conv.channels, productOf(conv.kernel), best.channels, best.taps,
        best.lanes, best.array, use.tap, use.lane, use.width, use.channel,
        best.drain, best.read, best.copy, best.copiedBytes, best.encode);
    MLIRContext *context = op.getContext();
    records::Decision decision(context, name(best), reason);
    records::Facts details(context);
    for (const FoldAlternative &plan : plans) {
      decision.alternative(name(plan), plan.total());
      details.set(name(plan), detailsOf(context, plan, conv, machine));
    }
    decision.facts.set("details", details.get());
    return decision;
  }
};

} // namespace
