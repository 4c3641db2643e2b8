// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools whose windows are longer, further apart or wider spread than the fields
// of an instruction count, or larger than half a partition. Input: max_pool and
// avg_pool; output: several that fit and what joins their results. One spatial
// axis at a time; what would become too many pools stays, and code generation
// refuses it by name.
//
// The taps of a window along an axis are divided into runs: the maximum of the
// runs' maxima is that of the window, the weighted sum of their means its sum.
// Windows that begin too far from each other are taken one by one.

#include "MachineView.h"
#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <optional>

namespace ashlar::nn {
#define GEN_PASS_DEF_SPLITWINDOWS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Largest kernel, stride and dilation of vec.pool (docs/Isa.md).
constexpr int64_t kMostField = 4095;
/// Bytes of an element of a window in the state buffer at least: what is
/// encoded may be read as f32.
constexpr int64_t kElementBytes = 4;
/// Pools that one becomes along an axis at most.
constexpr int64_t kMostParts = 256;

/// The windows of a pool along one spatial axis.
struct WindowAxis {
  int64_t kernel, stride, dilation, begin, end; ///< begin, end: pads
  int64_t in, out;
  int64_t room; ///< elements along the axis that a partition holds

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Most taps of one pool.
  int64_t mostTaps() const {
    return std::clamp<int64_t>((room - 1) / dilation + 1, 1, kMostField);
  }
  /// One window has no stride, one tap no dilation.
  bool wideSteps() const { return out > 1 && stride > kMostField; }
  bool wideWindow() const {
    return kernel > mostTaps() || (kernel > 1 && dilation > kMostField);
  }
  /// Taps of window `i` inside the input, or inside the padded input; at
  /// least 1.
  int64_t counted(int64_t i, bool padded) const {
    int64_t first = i * stride - begin;
    auto tapsBelow = [&](int64_t limit) {
      int64_t taps = llvm::divideCeilSigned(limit - first, dilation);
      return std::clamp<int64_t>(taps, 0, kernel);
    };
    int64_t count =
        tapsBelow(in + (padded ? end : 0)) - tapsBelow(padded ? -begin : 0);
    return std::max<int64_t>(count, 1);
  }
  /// Taps of a run.
  int64_t run() const {
    return dilation > kMostField
               ? 1
               : llvm::divideCeil(kernel, llvm::divideCeil(kernel, mostTaps()));
  }
};

/// Attributes of a pool with one axis changed.
struct PoolShape {
  SmallVector<int64_t> kernel, strides, pads, dilations;

  template <typename Op>
  explicit PoolShape(Op op)
      : kernel(op.getKernel()), strides(op.getStrides()), pads(op.getPads()),
        dilations(op.getDilations()) {}

  void set(size_t s, const WindowAxis &axis) {
    size_t spatial = kernel.size();
    kernel[s] = axis.kernel, strides[s] = axis.stride;
    dilations[s] = axis.dilation;
    pads[s] = axis.begin, pads[s + spatial] = axis.end;
  }
};

/// Elements along axis `s` of a window that half of `partitionBytes` has room
/// for next to its other axes; without limit if that is not known.
template <typename Op>
int64_t roomOf(Op op, size_t s, std::optional<int64_t> partitionBytes) {
  if (!partitionBytes)
    return std::numeric_limits<int64_t>::max();
  const int64_t bytes = std::max<int64_t>(
      kElementBytes,
      llvm::divideCeil(typeOf(op.getX()).getElementTypeBitWidth(), 8));
  int64_t room = std::max<int64_t>(*partitionBytes / 2 / bytes, 1);
  for (size_t other = 0; other < op.getKernel().size(); ++other)
    if (other != s)
      room /= (op.getKernel()[other] - 1) * op.getDilations()[other] + 1;
  return std::max<int64_t>(room, 1);
}

template <typename Op>
WindowAxis axisOf(Op op, size_t s, std::optional<int64_t> partitionBytes) {
  size_t spatial = op.getKernel().size();
  return {op.getKernel()[s],         op.getStrides()[s],
          op.getDilations()[s],      op.getPads()[s],
          op.getPads()[s + spatial], shapeOf(op.getX())[s + 2],
          shapeOf(op.getY())[s + 2], roomOf(op, s, partitionBytes)};
}

template <typename Op>
class Splitter {
public:
  Splitter(Op op, size_t s, const WindowAxis &axis, PatternRewriter &rewriter)
      : op(op), s(s), axis(axis), rewriter(rewriter) {}

  /// The result, or null if the pool cannot be split.
  Value run() { return axis.wideSteps() ? windows() : taps(); }

private:
  Value windows();
  Value taps();
  Value maxima();
  Value means();

  RankedTensorType resized(Value like, int64_t extent) const {
    SmallVector<int64_t> shape(shapeOf(like));
    shape[s + 2] = extent;
    return RankedTensorType::get(shape, typeOf(like).getElementType());
  }

  /// The pool over elements [first, first + length) of the axis, which may
  /// begin and end in the padding; null if nothing but padding is there.
  Value part(Value x, WindowAxis own, int64_t first, int64_t length);

  Op op;
  size_t s;
  WindowAxis axis;
  PatternRewriter &rewriter;
};

template <typename Op>
Value Splitter<Op>::part(Value x, WindowAxis own, int64_t first,
                         int64_t length) {
  int64_t in = shapeOf(x)[s + 2];
  int64_t low = std::max<int64_t>(first, 0);
  int64_t high = std::min(first + length, in);
  if (high <= low)
    return {};
  own.begin = low - first, own.end = first + length - high;
  own.in = high - low;
  Value source = x;
  if (own.in != in) {
    SmallVector<int64_t> starts(shapeOf(x).size(), 0), steps(starts.size(), 1);
    starts[s + 2] = low;
    source = SliceOp::create(rewriter, op.getLoc(), resized(x, own.in), x,
                             starts, steps);
  }
  PoolShape shape(op);
  shape.set(s, own);
  auto pool = cast<Op>(rewriter.clone(*op));
  rewriter.modifyOpInPlace(pool, [&] {
    pool.getXMutable().assign(source);
    pool.setKernel(shape.kernel);
    pool.setStrides(shape.strides);
    pool.setPads(shape.pads);
    pool.setDilations(shape.dilations);
    pool.getY().setType(resized(op.getY(), own.out));
  });
  return pool.getY();
}

/// One pool for each window, joined along the axis.
template <typename Op>
Value Splitter<Op>::windows() {
  if (axis.out > kMostParts)
    return {};
  // Beyond its pads a window that counts them counts nothing: such a one is no
  // pool of its own.
  bool overhangs = (axis.out - 1) * axis.stride + axis.extent() >
                   axis.in + axis.begin + axis.end;
  if constexpr (std::is_same_v<Op, AvgPoolOp>)
    if (overhangs && op.getCountIncludePad())
      return {};
  SmallVector<Value> parts;
  WindowAxis own = axis;
  own.stride = own.out = 1;
  for (int64_t i = 0; i < axis.out; ++i) {
    parts.push_back(
        part(op.getX(), own, i * axis.stride - axis.begin, axis.extent()));
    if (!parts.back())
      return {};
  }
  return ConcatOp::create(rewriter, op.getLoc(), op.getY().getType(), parts,
                          s + 2);
}

template <typename Op>
Value Splitter<Op>::taps() {
  if (llvm::divideCeil(axis.kernel, axis.run()) > kMostParts ||
      !isa<FloatType>(typeOf(op.getX()).getElementType()))
    return {};
  if constexpr (std::is_same_v<Op, MaxPoolOp>)
    return maxima();
  return means();
}

/// Taps of nothing but padding leave no maximum.
template <typename Op>
Value Splitter<Op>::maxima() {
  Value all;
  for (int64_t tap = 0; tap < axis.kernel; tap += axis.run()) {
    WindowAxis own = axis;
    own.kernel = std::min(axis.run(), axis.kernel - tap);
    Value maximum = part(op.getX(), own, tap * axis.dilation - axis.begin,
                         (axis.out - 1) * axis.stride + own.extent());
    if (!maximum)
      continue;
    all = all ? MaxOp::create(rewriter, op.getLoc(), op.getY().getType(), all,
                              maximum)
                    .getResult()
              : maximum;
  }
  return all;
}

/// Sums of sums, or of means times their taps, over the positions that the pool
/// counts. The zeros of the padding are elements of every run.
template <typename Op>
Value Splitter<Op>::means() {
  Location loc = op.getLoc();
  Type element = typeOf(op.getX()).getElementType();
  int64_t span = (axis.out - 1) * axis.stride + axis.extent();
  SmallVector<int64_t> low(shapeOf(op.getX()).size(), 0), high(low);
  low[s + 2] = axis.begin;
  high[s + 2] = span - axis.begin - axis.in;
  Value x =
      PadOp::create(rewriter, loc, resized(op.getX(), span), op.getX(), low,
                    high, ArrayRef<int64_t>(), PadMode::Constant, APFloat(0.0));
  auto times = [&](Value mean, ArrayRef<double> factors) -> Value {
    reference::Tensor tensor = vectorTensor(factors);
    tensor.shape.append(op.getKernel().size() - s - 1, 1);
    return MulOp::create(rewriter, loc, mean.getType(), mean,
                         makeConstant(rewriter, loc, tensor, element));
  };
  bool padded = false, sums = false;
  if constexpr (std::is_same_v<Op, AvgPoolOp>)
    padded = op.getCountIncludePad(), sums = op.getSums();
  Value sum;
  for (int64_t tap = 0; tap < axis.kernel; tap += axis.run()) {
    WindowAxis own = axis;
    own.kernel = std::min(axis.run(), axis.kernel - tap);
    Value mean = part(x, own, tap * axis.dilation,
                      (axis.out - 1) * axis.stride + own.extent());
    Value weighted = sums ? mean
                          : times(mean, {static_cast<double>(own.kernel) /
                                         static_cast<double>(axis.kernel)});
    sum = sum ? AddOp::create(rewriter, loc, sum.getType(), sum, weighted)
                    .getResult()
              : weighted;
  }
  if (sums)
    return sum;
  SmallVector<double> factors;
  for (int64_t i = 0; i < axis.out; ++i)
    factors.push_back(static_cast<double>(axis.kernel) /
                      static_cast<double>(axis.counted(i, padded)));
  if (llvm::all_of(factors, [](double factor) { return factor == 1; }))
    return sum;
  return times(sum, factors);
}

template <typename Op>
struct SplitPool : OpRewritePattern<Op> {
  SplitPool(MLIRContext *context, std::optional<int64_t> partitionBytes,
            Pass::Statistic &numSplit)
      : OpRewritePattern<Op>(context), partitionBytes(partitionBytes),
        numSplit(numSplit) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    for (size_t s = 0; s < op.getKernel().size(); ++s) {
      WindowAxis axis = axisOf(op, s, partitionBytes);
      if (!axis.wideSteps() && !axis.wideWindow())
        continue;
      Value result = Splitter<Op>(op, s, axis, rewriter).run();
      if (!result)
        continue;
      rewriter.replaceOp(op, result);
      ++numSplit;
      return success();
    }
    return rewriter.notifyMatchFailure(op, "all windows fit");
  }

  std::optional<int64_t> partitionBytes;
  Pass::Statistic &numSplit;
};

struct SplitWindowsPass : ashlar::nn::impl::SplitWindowsBase<SplitWindowsPass> {
  using SplitWindowsBase::SplitWindowsBase;

  void runOnOperation() override {
    std::optional<int64_t> partitionBytes;
    if (forPartition) {
      FailureOr<MachineView> machine = MachineView::of(getOperation());
      if (failed(machine))
        return signalPassFailure();
      partitionBytes = machine->partitionBytes;
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitPool<MaxPoolOp>, SplitPool<AvgPoolOp>>(
        &getContext(), partitionBytes, numSplit);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
