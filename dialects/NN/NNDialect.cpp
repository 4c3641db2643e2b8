// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the `nn` dialect and builds its constants.

#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ashlar::nn;

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"

void NNDialect::initialize() {
  registerNNDialectOperations(this);
  addInterfaces<DeferredElements>();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
