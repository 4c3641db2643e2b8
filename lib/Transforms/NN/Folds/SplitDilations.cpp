// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions whose taps lie far apart. Input: conv with a dilation of d along
// an axis before the last; output: data movement that puts the d phases of the
// map side by side in the batch, a conv of dilation 1 along that axis, and the
// way back. A tile of the conv then holds rows that follow each other in a
// phase, and not those between its taps.

#include "../Rewrite.h"
#include "FoldPlan.h"
#include "FoldShape.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

namespace ashlar::nn {
#define GEN_PASS_DEF_SPLITDILATIONS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// A number of cycles for what does not fit.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;
/// The part of its cycles by which the phases have to be better: tiles are
/// chosen later, with more knowledge.
constexpr int64_t kClear = 8;
/// Positions and channels of maps whose bytes and cycles are counted in 64
/// bits.
constexpr int64_t kMostPositions = int64_t(1) << 36;
constexpr int64_t kMostChannels = int64_t(1) << 16;

/// Windows along one axis; the batch is an axis of windows of one element.
struct Axis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1;

  /// Elements that `count` neighbouring windows span.
  int64_t span(int64_t count) const {
    return std::min((count - 1) * stride + (kernel - 1) * dilation + 1, input);
  }
};

/// A convolution as memory sees it.
struct Layer {
  SmallVector<Axis, 4> axes; ///< the batch first
  int64_t operandBytes = 1;  ///< of a position, in every partition
  int64_t resultBytes = 1;   ///< the same of a result
  int64_t loadedBytes = 1;   ///< of a position in DRAM
  int64_t storedBytes = 1;   ///< of a result in DRAM
  int64_t work = 0;          ///< cycles of the busier of array and drain
  /// The same of the array, with the map folded into lanes so that it fits.
  int64_t inLanes = kNever;
  int64_t inputs() const { return product(&Axis::input); }
  int64_t results() const { return product(&Axis::output); }

private:
  int64_t product(int64_t Axis::*extent) const {
    int64_t all = 1;
    for (const Axis &axis : axes)
      all *= axis.*extent;
    return all;
  }
};

/// Where the phases of an axis begin, and their length.
struct Phases {
  int64_t count = 1;          ///< the dilation
  int64_t low = 0, high = 0;  ///< zeros around the map; negative: cropped
  int64_t begin = 0, end = 0; ///< padding of a phase
  int64_t outputs = 0;        ///< results of a phase
};

/// Result o reads x at `o + tap * d - pad`. With `pad = begin * d + low` and
/// `low` zeros before the map, phase r of the results reads phase r of the map,
/// at `i + tap - begin`.
Phases phasesOf(const Axis &axis, int64_t pad) {
  Phases phases;
  phases.count = axis.dilation;
  phases.begin = pad / axis.dilation;
  phases.low = pad % axis.dilation;
  phases.outputs = llvm::divideCeilSigned(axis.output, axis.dilation);
  // Elements after the last tap of the last result are not read.
  const int64_t read = phases.outputs - phases.begin + axis.kernel - 1;
  const int64_t length = std::min(
      llvm::divideCeilSigned(axis.input + phases.low, axis.dilation), read);
  phases.end = read - length;
  phases.high = length * axis.dilation - axis.input - phases.low;
  return phases;
}

/// Cycles of a layer whose tiles are chosen as memory planning chooses them:
/// all of the inner axes as long as they fit, two tiles at a time if possible.
class Cost {
public:
  Cost(const Layer &layer, const MachineView &machine)
      : layer(layer), machine(machine) {
    for (const Axis &axis : layer.axes)
      tile.push_back(axis.output);
  }

  int64_t run() {
    const int64_t capacity =
        machine.partitionBytes - machine.partitionBytes / 8;
    // Maps that fit are not loaded.
    if (bytes() <= capacity)
      return layer.work;
    if (!cut(capacity / 2) && !cut(capacity))
      return layer.inLanes;
    int64_t tiles = 1;
    for (auto [axis, extent] : llvm::zip(layer.axes, tile))
      tiles *= llvm::divideCeilSigned(axis.output, extent);
    const int64_t loaded = std::min(tiles * box(), kMostPositions);
    return std::min(
        layer.inLanes,
        std::max(layer.work, machine.dramCycles(loaded * layer.loadedBytes)) +
            tiles * machine.latency);
  }

private:
  /// Elements that the windows of the tile span.
  int64_t box() const {
    int64_t elements = 1;
    for (auto [axis, extent] : llvm::zip(layer.axes, tile))
      elements *= axis.span(extent);
    return elements;
  }
  int64_t bytes() const {
    return box() * layer.operandBytes +
           llvm::product_of(tile) * layer.resultBytes;
  }

  /// Shortens the tile, outer axes first, until it takes `room` bytes; false if
  /// one result takes more.
  bool cut(int64_t room) {
    for (int64_t &extent : tile) {
      int64_t most = std::exchange(extent, 1);
      if (bytes() > room)
        continue;
      for (int64_t least = 1; least < most;) {
        extent = least + (most - least + 1) / 2;
        if (bytes() <= room)
          least = extent;
        else
          most = extent - 1;
      }
      extent = most;
      return true;
    }
    return false;
  }

  const Layer &layer;
  const MachineView &machine;
  SmallVector<int64_t, 4> tile;
};

struct SplitDilationsPass
    : ashlar::nn::impl::SplitDilationsBase<SplitDilationsPass> {
  using SplitDilationsBase::SplitDilationsBase;

  void runOnOperation() override {
    FailureOr<MachineView> view =
        MachineView::of(getOperation(), activationBits, weightBits, useCluster);
    if (failed(view))
      return signalPassFailure();
    SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp op) { convs.push_back(op); });
    for (ConvOp op : convs)
      // What one axis leaves may be split along another.
      while (op && isCandidate(op))
        op = decide(op, *view);
  }

  /// True if there is an axis to split, and its maps can be counted.
  static bool isCandidate(ConvOp op) {
    return llvm::any_of(op.getDilations().drop_back(),
                        [](int64_t dilation) { return dilation > 1; }) &&
           isCounted(op.getX()) && isCounted(op.getY());
  }

  static bool isCounted(Value map) {
    int64_t left = kMostPositions;
    for (auto [i, extent] : llvm::enumerate(shapeOf(map))) {
      if (extent < 1 || extent > (i == 1 ? kMostChannels : left))
        return false;
      if (i != 1)
        left /= extent;
    }
    return true;
  }

  Layer layerOf(ConvOp op, const MachineView &machine) const {
    const FoldConv conv = foldConvOf(op);
    const int64_t bytes =
        llvm::divideCeilSigned(activationBits.getValue(), int64_t(8));
    const bool returned =
        llvm::any_of(functionsAfter(op).getUsers(),
                     [](Operation *user) { return isa<func::ReturnOp>(user); });
    auto tiles = [&](int64_t channels) {
      return llvm::divideCeilSigned(channels, machine.partitions);
    };
    Layer layer;
    const int64_t out = returned ? kFloatBytes : bytes;
    layer.operandBytes = tiles(conv.channels) * bytes;
    layer.resultBytes = tiles(conv.outputs) * out;
    layer.loadedBytes = conv.channels * bytes;
    layer.storedBytes = conv.outputs * out;
    layer.work = workOf(op, conv, machine);
    layer.axes.push_back({conv.batch, conv.batch});
    for (size_t i = 0; i < conv.kernel.size(); ++i)
      layer.axes.push_back({conv.input[i], conv.output[i], conv.kernel[i],
                            conv.strides[i], conv.dilations[i]});
    // Half of a partition leaves room for results.
    for (const FoldAlternative &fold : foldsOf(op, conv, machine))
      if (fold.lanes > 1 && layer.inputs() * layer.operandBytes <=
                                fold.lanes * machine.partitionBytes / 2)
        layer.inLanes =
            std::min(layer.inLanes, std::max(fold.array, fold.drain));
    return layer;
  }

  /// The folds of few channels that read the map as it is, or in lanes.
  static SmallVector<FoldAlternative, 4>
  foldsOf(ConvOp op, const FoldConv &conv, const MachineView &machine) {
    if (op.getGroup() != 1 || conv.channels >= 16 || conv.channels % 8 == 0)
      return {};
    auto folds = foldAlternatives(conv, machine, /*lanes=*/true);
    llvm::erase_if(folds, [](const FoldAlternative &fold) {
      return fold.kind != FoldKind::Plain && fold.kind != FoldKind::Width;
    });
    return folds;
  }

  /// Cycles of the busier of multipliers and drain, by the cheapest way: folds
  /// are chosen later, and so is the cluster.
  static int64_t workOf(ConvOp op, const FoldConv &conv,
                        const MachineView &machine) {
    int64_t work = resultCycles(conv, machine);
    for (const FoldAlternative &fold : foldsOf(op, conv, machine))
      work = std::min(work, std::max(fold.array, fold.drain));
    if (machine.clusterMultipliers == 0)
      return work;
    const int64_t results = conv.batch * llvm::product_of(conv.output);
    const int64_t drain = results * machine.drainCycles *
                          llvm::divideCeilSigned(conv.outputs, machine.columns);
    const double products =
        static_cast<double>(results) *
        static_cast<double>(typeOf(op.getW()).getNumElements()) *
        static_cast<double>(machine.passes) /
        static_cast<double>(machine.clusterMultipliers);
    return products < static_cast<double>(work)
               ? std::min(work, std::max(drain, static_cast<int64_t>(products)))
               : work;
  }

  /// The result of the functions of an element that follow `op` alone: they
  /// stay with it.
  static Value functionsAfter(ConvOp op) {
    Value y = op.getY();
    while (y.hasOneUse())
      if (auto unary = dyn_cast<UnaryOp>(*y.getUsers().begin()))
        y = unary.getY();
      else
        break;
    return y;
  }

  /// Splits the axis that gains most, if that is clear; the new convolution, or
  /// null.
  ConvOp decide(ConvOp op, const MachineView &machine) {
    const Layer whole = layerOf(op, machine);
    const int64_t plain = Cost(whole, machine).run();
    int64_t least = kNever;
    std::optional<size_t> best;
    for (size_t i = 1; i + 1 < whole.axes.size(); ++i) {
      const Axis &axis = whole.axes[i];
      if (axis.dilation == 1 || axis.stride != 1 || axis.kernel == 1)
        continue;
      if (int64_t cycles = cyclesOfPhases(op, whole, i, machine);
          cycles < least)
        least = cycles, best = i;
    }
    if (!best || least + least / kClear >= plain)
      return {};
    const int64_t dilation = whole.axes[*best].dilation;
    ConvOp split =
        rewrite(op, *best, phasesOf(whole.axes[*best], padOf(op, *best)));
    records::Decision(
        &getContext(), fmt::format("{}-phases", dilation),
        fmt::format("taps {} apart along axis {}: tiles hold rows of one phase",
                    dilation, *best + 1))
        .alternative("dilated", std::min(plain, kMostPositions))
        .alternative(fmt::format("{}-phases", dilation), least)
        .record(split, "ashlar.decision.phases");
    ++numSplit;
    return split;
  }

  static int64_t padOf(ConvOp op, size_t axis) {
    return op.getPads()[axis - 1];
  }

  /// Cycles with phases of axis `i`, movement of the map and the result
  /// through DRAM included.
  static int64_t cyclesOfPhases(ConvOp op, const Layer &whole, size_t i,
                                const MachineView &machine) {
    Layer layer = whole;
    Axis &axis = layer.axes[i];
    const Phases phases = phasesOf(axis, padOf(op, i));
    layer.axes.front().input *= phases.count;
    layer.axes.front().output *= phases.count;
    axis.input = (axis.input + phases.low + phases.high) / phases.count;
    axis.output = phases.outputs;
    axis.dilation = 1;
    if (axis.input <= 0)
      return kNever;
    const int64_t run = Cost(layer, machine).run();
    if (run == kNever)
      return kNever;
    return run + 2 * machine.dramCycles(layer.inputs() * layer.loadedBytes +
                                        layer.results() * layer.storedBytes);
  }

  /// `x` with its axes taken apart, exchanged, and joined again.
  static Value rearranged(OpBuilder &builder, Location loc, Value x,
                          ArrayRef<int64_t> apart, ArrayRef<int64_t> perm,
                          ArrayRef<int64_t> joined) {
    SmallVector<int64_t> moved;
    for (int64_t from : perm)
      moved.push_back(apart[from]);
    Value value = makeReshape(builder, loc, x, apart);
    value =
        TransposeOp::create(builder, loc, typeOf(x).clone(moved), value, perm);
    return makeReshape(builder, loc, value, joined);
  }

  /// [N, C, .., L * d, ..] as [N * d, C, .., L, ..].
  static Value toBatch(OpBuilder &builder, Location loc, Value x, size_t axis,
                       int64_t count) {
    SmallVector<int64_t> apart(shapeOf(x)), joined(shapeOf(x)), perm;
    apart[axis] /= count, joined[axis] /= count, joined[0] *= count;
    apart.insert(apart.begin() + static_cast<ptrdiff_t>(axis) + 1, count);
    const auto phase = static_cast<int64_t>(axis) + 1;
    perm = {0, phase};
    for (int64_t i = 1; i < static_cast<int64_t>(apart.size()); ++i)
      if (i != phase)
        perm.push_back(i);
    return rearranged(builder, loc, x, apart, perm, joined);
  }

  /// The way back.
  static Value fromBatch(OpBuilder &builder, Location loc, Value y, size_t axis,
                         int64_t count) {
    SmallVector<int64_t> apart(shapeOf(y)), joined(shapeOf(y)), perm;
    joined[axis] *= count, joined[0] /= count;
    apart[0] /= count;
    apart.insert(apart.begin() + 1, count);
    for (int64_t i = 0; i < static_cast<int64_t>(apart.size()); ++i)
      if (i != 1)
        perm.push_back(i);
    perm.insert(perm.begin() + static_cast<ptrdiff_t>(axis) + 1, 1);
    return rearranged(builder, loc, y, apart, perm, joined);
  }

  /// `x` with zeros before and after axis `axis`, or less of it.
  static Value padded(OpBuilder &builder, Location loc, Value x, size_t axis,
                      int64_t low, int64_t high) {
    if (low == 0 && high == 0)
      return x;
    SmallVector<int64_t> shape(shapeOf(x)), lows(shape.size(), 0), highs(lows),
        interiors(lows);
    lows[axis] = low, highs[axis] = high;
    shape[axis] += low + high;
    return PadOp::create(builder, loc, typeOf(x).clone(shape), x, lows, highs,
                         interiors, PadMode::Constant, APFloat(0.0));
  }

  /// \p number counts the batch, as the axes of a Layer do.
  ConvOp rewrite(ConvOp op, size_t number, const Phases &phases) {
    const size_t axis = number + 1, spatial = op.getDilations().size();
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value x = padded(builder, loc, op.getX(), axis, phases.low, phases.high);
    x = toBatch(builder, loc, x, axis, phases.count);
    SmallVector<int64_t> shape(shapeOf(op.getY())), pads(op.getPads()),
        dilations(op.getDilations());
    shape[0] *= phases.count;
    shape[axis] = phases.outputs;
    pads[number - 1] = phases.begin;
    pads[number - 1 + spatial] = phases.end;
    dilations[number - 1] = 1;
    auto split = ConvOp::create(
        builder, loc, typeOf(op.getY()).clone(shape), x, op.getW(),
        op.getBias(), op.getStridesAttr(), builder.getDenseI64ArrayAttr(pads),
        builder.getDenseI64ArrayAttr(dilations), op.getGroupAttr());
    if (auto macs = op->getAttr(records::kMacsAttr))
      split->setAttr(records::kMacsAttr, macs);
    else
      // Results that fill the last phases are no work of the network.
      split->setAttr(
          records::kMacsAttr,
          builder.getI64IntegerAttr(typeOf(op.getY()).getNumElements() /
                                    shapeOf(op.getW())[0] *
                                    typeOf(op.getW()).getNumElements()));
    moveBehindFunctions(op, split, axis, phases);
    return split;
  }

  /// Puts the functions that follow `op` after `split`, and the way back after
  /// them: they become parts of the drain.
  static void moveBehindFunctions(ConvOp op, ConvOp split, size_t axis,
                                  const Phases &phases) {
    const Value end = functionsAfter(op);
    OpBuilder builder(split);
    builder.setInsertionPointAfter(split);
    Value y = split.getY();
    Location loc = op.getLoc();
    for (Value old = op.getY(); old != end;) {
      auto unary = cast<UnaryOp>(*old.getUsers().begin());
      builder.setInsertionPoint(unary);
      y = UnaryOp::create(
          builder, unary.getLoc(),
          typeOf(y).clone(typeOf(unary.getY()).getElementType()),
          unary.getFunctionAttr(), y, unary.getAlphaAttr(),
          unary.getBetaAttr());
      loc = unary.getLoc();
      old = unary.getY();
    }
    y = fromBatch(builder, loc, y, axis, phases.count);
    if (shapeOf(y) != shapeOf(end)) {
      SmallVector<int64_t> starts(shapeOf(y).size(), 0),
          steps(starts.size(), 1);
      y = SliceOp::create(builder, loc, end.getType(), y, starts, steps);
    }
    SmallVector<Operation *> gone{op};
    for (Value old = op.getY(); old != end; old = gone.back()->getResult(0))
      gone.push_back(*old.getUsers().begin());
    Value(end).replaceAllUsesWith(y);
    for (Operation *old : llvm::reverse(gone))
      old->erase();
  }
};

} // namespace
