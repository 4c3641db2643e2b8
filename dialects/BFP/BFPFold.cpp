// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of the `bfp` dialect. Only folds that cannot change a bit: encode of
// a decode of the same type. (Decode of an encode is not an identity: encode
// rounds.)

#include "dialects/BFP/BFPOps.h"

using namespace mlir;
using namespace ashlar::bfp;

OpFoldResult EncodeOp::fold(FoldAdaptor) {
  auto decode = getInput().getDefiningOp<DecodeOp>();
  if (decode && decode.getInput().getType() == getType())
    return decode.getInput();
  return {};
}
