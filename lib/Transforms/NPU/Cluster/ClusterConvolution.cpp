// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ClusterConvolution.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ashlar::npu {

TcuConvOp createOnCluster(PeConvOp conv) {
  OpBuilder builder(conv);
  auto tcu = TcuConvOp::create(
      builder, conv.getLoc(), conv.getY().getType(), conv.getX(), conv.getW(),
      conv.getBias(), conv.getScale(), conv.getSlope(), conv.getResidual(),
      conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
      conv.getGroupAttr(), conv.getFunctionAttr(), conv.getAlphaAttr(),
      conv.getBetaAttr());
  copyDecisions(conv, tcu);
  for (StringRef name :
       {StringRef(kStationaryDecisionAttr), StringRef(kPatternDecisionAttr),
        StringRef(kRowsDecisionAttr)})
    tcu->removeAttr(name);
  tcu.setIntegerEpilogue(conv.getIntegerEpilogue());
  tcu.setZerosAttr(conv.getZerosAttr());
  // Weights of another width are not stored with their zero point.
  const bool bytes = getElementTypeOrSelf(conv.getW()).isInteger(8);
  if (QuantAttr quant = conv.getQuantAttr())
    tcu.setQuantAttr(QuantAttr::get(conv.getContext(), quant.getXZero(),
                                    bytes ? quant.getWZero() : std::nullopt,
                                    quant.getYZero()));
  return tcu;
}

} // namespace ashlar::npu
