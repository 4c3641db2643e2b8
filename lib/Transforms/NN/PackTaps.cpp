// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain tap packing of few-channel convolutions. Input: conv of group 1;
// output: im2col + 1x1 conv where that needs fewer array passes, and the reason
// as an attribute either way.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"

#include <fmt/format.h>

namespace ashlar::nn {
#define GEN_PASS_DEF_PACKTAPS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

int64_t productOf(ArrayRef<int64_t> values) {
  return reference::elementCount(values);
}

// `b` is positive.
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct PackTapsPass : ashlar::nn::impl::PackTapsBase<PackTapsPass> {
  using PackTapsBase::PackTapsBase;

  void runOnOperation() override {
    if (rows < 1 || columns < 1) {
      getOperation().emitError()
          << "array of " << rows.getValue() << " rows and "
          << columns.getValue() << " columns, expected at least 1 of each";
      return signalPassFailure();
    }
    SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp op) {
      if (isCandidate(op))
        convs.push_back(op);
    });
    for (ConvOp op : convs)
      decide(op);
  }

  // Few channels, several taps: the case in which array rows idle.
  static bool isCandidate(ConvOp op) {
    int64_t channels = shapeOf(op.getX())[1];
    bool few = channels < 8 || (channels < 16 && channels % 8 != 0);
    return few && op.getGroup() == 1 && isConstant(op.getW()) &&
           productOf(shapeOf(op.getW()).drop_front(2)) > 1;
  }

  void decide(ConvOp op) {
    int64_t channels = shapeOf(op.getX())[1];
    int64_t taps = productOf(shapeOf(op.getW()).drop_front(2));
    ArrayRef<int64_t> out = shapeOf(op.getY());
    // One stream of all output positions per pass and column tile.
    int64_t stream =
        out[0] * productOf(out.drop_front(2)) * ceilDiv(out[1], columns);
    int64_t plain = taps * ceilDiv(channels, rows);
    int64_t packedPasses = ceilDiv(channels * taps, rows);
    bool pack = packedPasses < plain;
    OpBuilder builder(op);
    std::string reason = fmt::format(
        "{} channels x {} taps: {} array passes packed, {} one tap at a time",
        channels, taps, packedPasses, plain);
    NamedAttribute alternatives[] = {
        builder.getNamedAttr("pack-taps",
                             builder.getI64IntegerAttr(packedPasses * stream)),
        builder.getNamedAttr("plain",
                             builder.getI64IntegerAttr(plain * stream))};
    NamedAttribute decision[] = {
        builder.getNamedAttr("alternatives",
                             builder.getDictionaryAttr(alternatives)),
        builder.getNamedAttr(
            "choice", builder.getStringAttr(pack ? "pack-taps" : "plain")),
        builder.getNamedAttr("reason", builder.getStringAttr(reason))};
    auto attribute = builder.getDictionaryAttr(decision);
    if (!pack) {
      op->setAttr("ashlar.decision", attribute);
      return;
    }
    rewrite(op, builder)->setAttr("ashlar.decision", attribute);
    ++packed;
  }

  static ConvOp rewrite(ConvOp op, OpBuilder &builder) {
    ArrayRef<int64_t> weights = shapeOf(op.getW());
    ArrayRef<int64_t> kernel = weights.drop_front(2);
    int64_t depth = productOf(weights.drop_front(1));
    SmallVector<int64_t> unfolded(shapeOf(op.getY()));
    unfolded[1] = depth;
    Location loc = op.getLoc();
    Value patches = Im2ColOp::create(
        builder, loc,
        RankedTensorType::get(unfolded, typeOf(op.getX()).getElementType()),
        op.getX(), kernel, op.getStrides(), op.getPads(), op.getDilations());
    // Row-major weights already run over (channel, taps).
    SmallVector<int64_t> flat(weights.size(), 1);
    flat[0] = weights[0];
    flat[1] = depth;
    Value w = makeReshape(builder, loc, op.getW(), flat);
    SmallVector<int64_t> ones(kernel.size(), 1), zeros(2 * kernel.size(), 0);
    auto conv = ConvOp::create(
        builder, loc, op.getType(), patches, w, op.getBias(),
        builder.getDenseI64ArrayAttr(ones), builder.getDenseI64ArrayAttr(zeros),
        builder.getDenseI64ArrayAttr(ones), builder.getI64IntegerAttr(1));
    op.replaceAllUsesWith(conv.getResult());
    op.erase();
    return conv;
  }
};

} // namespace
