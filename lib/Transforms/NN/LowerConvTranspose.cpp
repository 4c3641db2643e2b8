// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposed convolution as convolutions. Input: conv_transpose; output: one
// conv for each phase of the result and their interleave, or pad (interior
// zeros) and conv; and data movement of the weights.

#include "MachineView.h"
#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <optional>

namespace ashlar::nn {
#define GEN_PASS_DEF_LOWERCONVTRANSPOSE
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// Weights [C, O/g, k...] as [O, C/g, k...] with every kernel mirrored.
Value turnWeights(OpBuilder &builder, Location loc, Value w, int64_t group) {
  ArrayRef<int64_t> shape = shapeOf(w);
  Type element = typeOf(w).getElementType();
  int64_t inPerGroup = shape[0] / group, outPerGroup = shape[1];
  SmallVector<int64_t> grouped{group, inPerGroup, outPerGroup};
  grouped.append(shape.begin() + 2, shape.end());
  Value value = makeReshape(builder, loc, w, grouped);

  SmallVector<int64_t> perm{0, 2, 1}, turned{group, outPerGroup, inPerGroup};
  turned.append(shape.begin() + 2, shape.end());
  for (size_t d = 3; d < grouped.size(); ++d)
    perm.push_back(static_cast<int64_t>(d));
  value = TransposeOp::create(
      builder, loc, RankedTensorType::get(turned, element), value, perm);

  SmallVector<int64_t> kernel{group * outPerGroup, inPerGroup};
  kernel.append(shape.begin() + 2, shape.end());
  value = makeReshape(builder, loc, value, kernel);

  SmallVector<int64_t> starts(kernel.size(), 0), steps(kernel.size(), 1);
  for (size_t d = 2; d < kernel.size(); ++d) {
    starts[d] = kernel[d] - 1;
    steps[d] = -1;
  }
  return SliceOp::create(builder, loc, typeOf(value), value, starts, steps);
}

/// One phase of the result along a spatial dimension: its elements at
/// `q * stride + phase`.
struct Phase {
  SmallVector<int64_t> taps; ///< Descending: those that meet these elements.
  int64_t tapStep = 1;       ///< Between two of them.
  int64_t extent = 0;        ///< Elements, of the shorter phases one too many.
  int64_t low = 0, high = 0; ///< Pads of the convolution; negative: cuts.
  int64_t dilation = 1;
};

/// Element j and tap t meet at `j * stride + t * dilation - pad`.
Phase phaseOf(ConvTransposeOp op, size_t dim, int64_t phase) {
  const int64_t stride = op.getStrides()[dim];
  const int64_t dilation = op.getDilations()[dim];
  const int64_t at = phase + op.getPads()[dim];
  const int64_t common = std::gcd(stride, dilation);
  Phase result;
  for (int64_t t = shapeOf(op.getW())[dim + 2] - 1; t >= 0; --t)
    if ((at - t * dilation) % stride == 0)
      result.taps.push_back(t);
  result.tapStep = stride / common;
  result.dilation = dilation / common;
  result.extent = llvm::divideCeil(shapeOf(op.getY())[dim + 2], stride);
  if (result.taps.empty())
    return result;
  const int64_t first = (at - result.taps.front() * dilation) / stride;
  const auto reach =
      (static_cast<int64_t>(result.taps.size()) - 1) * result.dilation;
  result.low = -first;
  result.high = result.extent + first + reach - shapeOf(op.getX())[dim + 2];
  return result;
}

/// Products of an element with one of `taps` whose result is kept, along one
/// spatial dimension.
int64_t keptProducts(ConvTransposeOp op, size_t dim, ArrayRef<int64_t> taps) {
  const int64_t extent = shapeOf(op.getX())[dim + 2];
  const int64_t result = shapeOf(op.getY())[dim + 2];
  const int64_t stride = op.getStrides()[dim];
  int64_t kept = 0;
  for (int64_t t : taps) {
    const int64_t shift = t * op.getDilations()[dim] - op.getPads()[dim];
    // 0 <= j * stride + shift < result
    const int64_t first =
        std::max<int64_t>(llvm::divideCeilSigned(-shift, stride), 0);
    const int64_t end = std::min<int64_t>(
        llvm::divideCeilSigned(result - shift, stride), extent);
    kept += std::max<int64_t>(end - first, 0);
  }
  return kept;
}

/// Multiply-accumulates of a transposed convolution, or of those of its taps
/// that `phases` name: those of its own elements, none of the zeros that a
/// lowering puts between them.
int64_t macsOf(ConvTransposeOp op, ArrayRef<Phase> phases = {}) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), w = shapeOf(op.getW());
  int64_t macs = x[0] * w[0] * w[1];
  for (size_t dim = 0; dim + 2 < w.size(); ++dim)
    macs *= keptProducts(op, dim,
                         phases.empty()
                             ? llvm::to_vector(llvm::seq<int64_t>(w[dim + 2]))
                             : phases[dim].taps);
  return macs;
}

/// Phases of a result beyond which it is not worth a convolution for each.
constexpr int64_t kMostPhases = 64;

/// With a stride, elements of the result that are a multiple of it apart meet
/// the same taps: a convolution for each phase multiplies no zeros.
struct SplitPhases : OpRewritePattern<ConvTransposeOp> {
  SplitPhases(MLIRContext *context, const MachineView &machine,
              Pass::Statistic &lowered)
      : OpRewritePattern(context, /*benefit=*/2), machine(machine),
        lowered(lowered) {}

  LogicalResult matchAndRewrite(ConvTransposeOp op,
                                PatternRewriter &rewriter) const override {
    int64_t count = 1;
    for (int64_t stride : op.getStrides())
      if (stride > kMostPhases || (count *= stride) > kMostPhases)
        return rewriter.notifyMatchFailure(op, "has too many phases");
    if (count == 1)
      return rewriter.notifyMatchFailure(op, "has one phase");
    if (!fitsOnChip(op.getY(), shapeOf(op.getY()), machine))
      return rewriter.notifyMatchFailure(op, "is too large to interleave");
    SmallVector<SmallVector<Phase, 1>, 4> phases;
    for (int64_t number = 0; number < count; ++number)
      if (!splitPhase(op, number, phases.emplace_back()))
        return rewriter.notifyMatchFailure(op, "has a phase without taps");
    Value turned = turnWeights(rewriter, op.getLoc(), op.getW(), op.getGroup());
    SmallVector<Value> parts;
    for (ArrayRef<Phase> phase : phases)
      parts.push_back(convolve(rewriter, op, phase, turned));
    rewriter.replaceOp(op, join(rewriter, op, parts));
    ++lowered;
    return success();
  }

private:
  static bool splitPhase(ConvTransposeOp op, int64_t number,
                         SmallVectorImpl<Phase> &dims) {
    dims.resize(op.getStrides().size());
    for (size_t dim = dims.size(); dim-- > 0;) {
      const int64_t stride = op.getStrides()[dim];
      dims[dim] = phaseOf(op, dim, number % stride);
      number /= stride;
      const Phase &own = dims[dim];
      if (own.taps.empty() || shapeOf(op.getX())[dim + 2] +
                                      std::min<int64_t>(own.low, 0) +
                                      std::min<int64_t>(own.high, 0) <
                                  1)
        return false;
    }
    return true;
  }

  static Value convolve(PatternRewriter &rewriter, ConvTransposeOp op,
                        ArrayRef<Phase> phase, Value turned) {
    const size_t spatial = phase.size(), rank = spatial + 2;
    SmallVector<int64_t> low(rank, 0), high(rank, 0), pads(2 * spatial, 0);
    SmallVector<int64_t> starts(rank, 0), steps(rank, 1), dilations;
    SmallVector<int64_t> kernel(shapeOf(turned)), x(shapeOf(op.getX()));
    SmallVector<int64_t> result(shapeOf(op.getY()));
    for (auto [dim, own] : llvm::enumerate(phase)) {
      starts[dim + 2] = kernel[dim + 2] - 1 - own.taps.front();
      steps[dim + 2] = own.tapStep;
      kernel[dim + 2] = static_cast<int64_t>(own.taps.size());
      low[dim + 2] = std::min<int64_t>(own.low, 0);
      high[dim + 2] = std::min<int64_t>(own.high, 0);
      x[dim + 2] += low[dim + 2] + high[dim + 2];
      pads[dim] = std::max<int64_t>(own.low, 0);
      pads[dim + spatial] = std::max<int64_t>(own.high, 0);
      dilations.push_back(own.dilation);
      result[dim + 2] = own.extent;
    }
    Location loc = op.getLoc();
    Type element = typeOf(op.getX()).getElementType();
    Value input = op.getX();
    if (!llvm::equal(x, shapeOf(input)))
      input = PadOp::create(rewriter, loc, RankedTensorType::get(x, element),
                            input, low, high, SmallVector<int64_t>(rank, 0),
                            PadMode::Constant, APFloat(0.0));
    Value weights = SliceOp::create(
        rewriter, loc,
        RankedTensorType::get(kernel, typeOf(turned).getElementType()), turned,
        starts, steps);
    auto conv = ConvOp::create(
        rewriter, loc,
        RankedTensorType::get(result, typeOf(op.getY()).getElementType()),
        input, weights, op.getBias(),
        rewriter.getDenseI64ArrayAttr(SmallVector<int64_t>(spatial, 1)),
        rewriter.getDenseI64ArrayAttr(pads),
        rewriter.getDenseI64ArrayAttr(dilations), op.getGroupAttr());
    conv->setAttr(records::kMacsAttr,
                  rewriter.getI64IntegerAttr(macsOf(op, phase)));
    return conv;
  }

  /// The phases side by side, without what the shorter ones have too much.
  static Value join(PatternRewriter &rewriter, ConvTransposeOp op,
                    ArrayRef<Value> parts) {
    SmallVector<int64_t> factors{1, 1}, whole(shapeOf(parts.front()));
    llvm::append_range(factors, op.getStrides());
    for (auto [extent, factor] : llvm::zip(whole, factors))
      extent *= factor;
    Type element = typeOf(op.getY()).getElementType();
    Value joined = InterleaveOp::create(rewriter, op.getLoc(),
                                        RankedTensorType::get(whole, element),
                                        parts, factors);
    if (llvm::equal(whole, shapeOf(op.getY())))
      return joined;
    return SliceOp::create(rewriter, op.getLoc(), op.getType(), joined,
                           SmallVector<int64_t>(whole.size(), 0),
                           SmallVector<int64_t>(whole.size(), 1));
  }

  const MachineView &machine;
  Pass::Statistic &lowered;
};

struct LowerConvTransposePattern : OpRewritePattern<ConvTransposeOp> {
  LowerConvTransposePattern(MLIRContext *context, Pass::Statistic &lowered)
      : OpRewritePattern(context), lowered(lowered) {}

  LogicalResult matchAndRewrite(ConvTransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> kernel = shapeOf(op.getW()).drop_front(2);
    size_t rank = kernel.size() + 2;
    SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0);
    SmallVector<int64_t> padded(shapeOf(op.getX()));
    SmallVector<int64_t> convPads(2 * kernel.size(), 0);
    bool needsPad = false;
    for (size_t i = 0; i < kernel.size(); ++i) {
      // A kernel tap reaches back over its extent: full correlation, less what
      // the op cuts.
      int64_t reach = (kernel[i] - 1) * op.getDilations()[i];
      int64_t begin = reach - op.getPads()[i];
      int64_t end = reach - op.getPads()[i + kernel.size()];
      interior[i + 2] = op.getStrides()[i] - 1;
      low[i + 2] = std::min<int64_t>(0, begin);
      high[i + 2] = std::min<int64_t>(0, end);
      convPads[i] = std::max<int64_t>(0, begin);
      convPads[i + kernel.size()] = std::max<int64_t>(0, end);
      needsPad |= (interior[i + 2] != 0 && padded[i + 2] > 1) ||
                  low[i + 2] != 0 || high[i + 2] != 0;
      padded[i + 2] +=
          std::max<int64_t>(0, padded[i + 2] - 1) * interior[i + 2] +
          low[i + 2] + high[i + 2];
      if (padded[i + 2] < 1)
        return rewriter.notifyMatchFailure(op, "cuts more than the input");
    }
    Location loc = op.getLoc();
    Value x = op.getX();
    if (needsPad)
      x = PadOp::create(
          rewriter, loc,
          RankedTensorType::get(padded, typeOf(x).getElementType()), x, low,
          high, interior, PadMode::Constant, APFloat(0.0));
    SmallVector<int64_t> ones(kernel.size(), 1);
    Value w = turnWeights(rewriter, loc, op.getW(), op.getGroup());
    auto macs = rewriter.getI64IntegerAttr(macsOf(op));
    auto conv = rewriter.replaceOpWithNewOp<ConvOp>(
        op, op.getType(), x, w, op.getBias(),
        rewriter.getDenseI64ArrayAttr(ones),
        rewriter.getDenseI64ArrayAttr(convPads), op.getDilationsAttr(),
        op.getGroupAttr());
    conv->setAttr(records::kMacsAttr, macs);
    ++lowered;
    return success();
  }

  Pass::Statistic &lowered;
};

struct LowerConvTransposePass
    : ashlar::nn::impl::LowerConvTransposeBase<LowerConvTransposePass> {
  using LowerConvTransposeBase::LowerConvTransposeBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerConvTransposePattern>(&getContext(), lowered);
    std::optional<MachineView> machine;
    if (interleave) {
      FailureOr<MachineView> found = MachineView::of(getOperation());
      if (failed(found))
        return signalPassFailure();
      machine = *found;
      patterns.add<SplitPhases>(&getContext(), *machine, lowered);
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
