// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Absorbs spatial constant padding into its users. Input: pad in front of conv,
// avg_pool or max_pool; output: the user with larger pads. A pad with several
// users goes into each that can take it.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_FOLDPAD
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// True if `pad` adds elements to spatial dimensions only, at the ends.
bool padsSpaceOnly(PadOp pad) {
  if (pad.getMode() != PadMode::Constant)
    return false;
  for (unsigned d = 0; d < shapeOf(pad.getX()).size(); ++d) {
    int64_t low = pad.getLow()[d], high = pad.getHigh()[d];
    if (low < 0 || high < 0 || pad.interiorAt(d) != 0)
      return false;
    if (d < 2 && (low != 0 || high != 0))
      return false;
  }
  return true;
}

SmallVector<int64_t> addPads(ArrayRef<int64_t> own, PadOp pad) {
  SmallVector<int64_t> sum(own);
  size_t spatial = own.size() / 2;
  for (size_t i = 0; i < spatial; ++i) {
    sum[i] += pad.getLow()[i + 2];
    sum[spatial + i] += pad.getHigh()[i + 2];
  }
  return sum;
}

bool canAbsorb(ConvOp, PadOp pad) { return pad.getValue().isZero(); }

bool canAbsorb(AvgPoolOp pool, PadOp pad) {
  bool ownPads = llvm::any_of(pool.getPads(), [](int64_t p) { return p != 0; });
  // The padded elements counted as data, the pool's own would not.
  return pad.getValue().isZero() && (pool.getCountIncludePad() || !ownPads);
}

bool canAbsorb(MaxPoolOp pool, PadOp pad) {
  // What a pool ignores is below every value; integers have no such value.
  return isa<FloatType>(typeOf(pool.getX()).getElementType()) &&
         pad.getValue().isInfinity() && pad.getValue().isNegative();
}

template <typename UserOp>
struct AbsorbPad : OpRewritePattern<UserOp> {
  AbsorbPad(MLIRContext *context, Pass::Statistic &absorbed)
      : OpRewritePattern<UserOp>(context), absorbed(absorbed) {}

  LogicalResult matchAndRewrite(UserOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getX().template getDefiningOp<PadOp>();
    if (!pad || !padsSpaceOnly(pad) || !canAbsorb(op, pad))
      return rewriter.notifyMatchFailure(op, "no pad that it can absorb");
    Location loc = fuseLocations(op, {pad});
    rewriter.modifyOpInPlace(op, [&] {
      op.setPads(addPads(op.getPads(), pad));
      op.getXMutable().assign(pad.getX());
      if constexpr (std::is_same_v<UserOp, AvgPoolOp>)
        op.setCountIncludePad(true);
      op->setLoc(loc);
    });
    ++absorbed;
    return success();
  }

  Pass::Statistic &absorbed;
};

struct FoldPadPass : ashlar::nn::impl::FoldPadBase<FoldPadPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<AbsorbPad<ConvOp>, AbsorbPad<AvgPoolOp>, AbsorbPad<MaxPoolOp>>(
        &getContext(), absorbed);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
