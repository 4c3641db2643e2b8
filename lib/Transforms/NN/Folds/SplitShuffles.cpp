// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pixel shuffles of convolutions. Input: reshape, transpose, reshape of a
// convolution that spread groups of its channels over space (depth_to_space);
// output: one conv for each phase, and their interleave. Products write an
// interleave where it belongs, so that no element is moved.

#include "../Rewrite.h"
#include "FoldShape.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_SPLITSHUFFLES
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// What a pixel shuffle does to the channels of a feature map.
struct Shuffle {
  SmallVector<int64_t> digits; ///< Extents that the channel number has.
  /// Per spatial dimension, the digit that goes there; -1: none.
  SmallVector<int64_t> digitOf;

  int64_t factor(size_t dim) const {
    return digitOf[dim] < 0 ? 1 : digits[digitOf[dim]];
  }
  int64_t phases() const {
    int64_t count = 1;
    for (size_t dim = 0; dim < digitOf.size(); ++dim)
      count *= factor(dim);
    return count;
  }
};

/// Assigns to every dimension of \p shape the dimensions of the transpose that
/// merge into it; false if they do not.
bool groupAxes(TransposeOp transpose, ArrayRef<int64_t> shape,
               SmallVectorImpl<SmallVector<int64_t, 4>> &groups) {
  ArrayRef<int64_t> source = shapeOf(transpose.getX());
  size_t next = 0;
  for (int64_t extent : shape) {
    auto &group = groups.emplace_back();
    int64_t product = 1;
    do {
      if (next == transpose.getPerm().size())
        return false;
      group.push_back(transpose.getPerm()[next++]);
      product *= source[group.back()];
    } while (product < extent);
    if (product != extent)
      return false;
  }
  return next == transpose.getPerm().size();
}

/// The shuffle of a map of \p channels and \p spatial dimensions that \p
/// transpose and a reshape to \p shape do, after a reshape that splits the
/// channels.
std::optional<Shuffle> shuffleOf(TransposeOp transpose, ArrayRef<int64_t> map,
                                 ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> split = shapeOf(transpose.getX());
  const size_t spatial = map.size() - 2;
  if (shape.size() != map.size() || split.size() < map.size() ||
      split.front() != map.front() ||
      split.take_back(spatial) != map.take_back(spatial))
    return std::nullopt;
  SmallVector<SmallVector<int64_t, 4>> groups;
  if (!groupAxes(transpose, shape, groups) || groups[0].size() != 1 ||
      groups[0][0] != 0 || !llvm::is_sorted(groups[1]))
    return std::nullopt;
  Shuffle shuffle;
  shuffle.digits.assign(split.begin() + 1, split.end() - spatial);
  const auto digits = static_cast<int64_t>(shuffle.digits.size());
  for (int64_t axis : groups[1])
    if (axis < 1 || axis > digits)
      return std::nullopt;
  for (size_t dim = 0; dim < spatial; ++dim) {
    ArrayRef<int64_t> group = groups[dim + 2];
    if (group.size() > 2 ||
        group[0] != digits + 1 + static_cast<int64_t>(dim) ||
        (group.size() == 2 && (group[1] < 1 || group[1] > digits)))
      return std::nullopt;
    shuffle.digitOf.push_back(group.size() == 2 ? group[1] - 1 : -1);
  }
  return shuffle;
}

/// A convolution, and the functions of its result alone that lie between it and
/// a shuffle, the last one first.
struct Producer {
  ConvOp conv;
  SmallVector<UnaryOp> functions;

  static std::optional<Producer> of(Value value) {
    Producer result;
    while (value.hasOneUse()) {
      if (auto function = value.getDefiningOp<UnaryOp>()) {
        result.functions.push_back(function);
        value = function.getX();
        continue;
      }
      result.conv = value.getDefiningOp<ConvOp>();
      break;
    }
    if (!result.conv || result.conv.getGroup() != 1 ||
        !isConstant(result.conv.getW()) ||
        (result.conv.getBias() && !isConstant(result.conv.getBias())))
      return std::nullopt;
    return result;
  }
};

struct SplitShuffle : OpRewritePattern<ReshapeOp> {
  SplitShuffle(MLIRContext *context, const MachineView &machine,
               Pass::Statistic &split)
      : OpRewritePattern(context), machine(machine), split(split) {}

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<TransposeOp>();
    auto first = transpose && op.getX().hasOneUse()
                     ? transpose.getX().getDefiningOp<ReshapeOp>()
                     : ReshapeOp();
    auto producer = first && transpose.getX().hasOneUse()
                        ? Producer::of(first.getX())
                        : std::nullopt;
    if (!producer)
      return failure();
    ArrayRef<int64_t> map = shapeOf(first.getX());
    auto shuffle = shuffleOf(transpose, map, shapeOf(op.getY()));
    if (!shuffle || shuffle->phases() == 1 || !pays(producer->conv, *shuffle) ||
        !fitsOnChip(op.getY(), shapeOf(op.getY()), machine))
      return failure();
    SmallVector<Value> parts;
    for (int64_t phase = 0; phase < shuffle->phases(); ++phase)
      parts.push_back(makePart(rewriter, *producer, *shuffle, phase));
    SmallVector<int64_t> factors{1, 1};
    for (size_t dim = 0; dim < shuffle->digitOf.size(); ++dim)
      factors.push_back(shuffle->factor(dim));
    rewriter.replaceOpWithNewOp<InterleaveOp>(op, op.getType(), parts, factors);
    ++split;
    return success();
  }

private:
  /// True if what the array takes longer, because the channels of a phase fill
  /// its columns worse, is less than the copies of all elements.
  bool pays(ConvOp conv, const Shuffle &shuffle) const {
    const FoldConv whole = foldConvOf(conv);
    FoldConv phase = whole;
    phase.outputs /= shuffle.phases();
    const int64_t more = shuffle.phases() * resultCycles(phase, machine) -
                         resultCycles(whole, machine);
    // A copy queue moves one element in a cycle that no other follows.
    return more < llvm::divideCeilSigned(llvm::product_of(shapeOf(conv.getY())),
                                         machine.copyQueues);
  }

  /// The part of a constant along the output channels that belongs to a phase.
  static Value channelsOf(PatternRewriter &rewriter, Value constant,
                          const Shuffle &shuffle, int64_t phase) {
    ArrayRef<int64_t> rest = shapeOf(constant).drop_front();
    SmallVector<int64_t> apart(shuffle.digits), own(shuffle.digits);
    SmallVector<int64_t> starts(own.size() + rest.size(), 0);
    for (size_t dim = shuffle.digitOf.size(); dim-- > 0;) {
      if (shuffle.digitOf[dim] < 0)
        continue;
      starts[shuffle.digitOf[dim]] = phase % shuffle.factor(dim);
      own[shuffle.digitOf[dim]] = 1;
      phase /= shuffle.factor(dim);
    }
    SmallVector<int64_t> result{llvm::product_of(own)};
    llvm::append_range(apart, rest);
    llvm::append_range(own, rest);
    llvm::append_range(result, rest);
    Location loc = constant.getLoc();
    Value cut = SliceOp::create(
        rewriter, loc,
        RankedTensorType::get(own, typeOf(constant).getElementType()),
        makeReshape(rewriter, loc, constant, apart), starts,
        SmallVector<int64_t>(starts.size(), 1));
    return makeReshape(rewriter, loc, cut, result);
  }

  static Value makePart(PatternRewriter &rewriter, const Producer &producer,
                        const Shuffle &shuffle, int64_t phase) {
    ConvOp conv = producer.conv;
    SmallVector<int64_t> shape(shapeOf(conv.getY()));
    shape[1] /= shuffle.phases();
    Value bias;
    if (conv.getBias())
      bias = channelsOf(rewriter, conv.getBias(), shuffle, phase);
    Value part = ConvOp::create(
        rewriter, conv.getLoc(),
        RankedTensorType::get(shape, typeOf(conv.getY()).getElementType()),
        conv.getX(), channelsOf(rewriter, conv.getW(), shuffle, phase), bias,
        conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
        conv.getGroupAttr());
    for (UnaryOp function : llvm::reverse(producer.functions))
      part = UnaryOp::create(
          rewriter, function.getLoc(),
          RankedTensorType::get(shape, function.getType().getElementType()),
          function.getFunctionAttr(), part, function.getAlphaAttr(),
          function.getBetaAttr());
    return part;
  }

  const MachineView &machine;
  Pass::Statistic &split;
};

struct SplitShufflesPass
    : ashlar::nn::impl::SplitShufflesBase<SplitShufflesPass> {
  using SplitShufflesBase::SplitShufflesBase;

  void runOnOperation() override {
    FailureOr<MachineView> machine =
        MachineView::of(getOperation(), activationBits, weightBits);
    if (failed(machine))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitShuffle>(&getContext(), *machine, split);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
