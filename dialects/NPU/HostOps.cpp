// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/NPU/HostOps.h"

#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::npu {

/// `op` as an operation of another dialect: what both have an attribute for is
/// carried over.
template <typename To>
static Operation *rebound(OpBuilder &builder, Operation *op) {
  llvm::SmallVector<NamedAttribute> attributes;
  for (StringRef name : To::getAttributeNames())
    if (Attribute value = op->getAttr(name))
      attributes.push_back(builder.getNamedAttr(name, value));
  return To::create(builder, op->getLoc(), op->getResultTypes(),
                    op->getOperands(), attributes);
}

Operation *bindToHost(OpBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, Operation *>(op)
      .Case([&](nn::NonzeroOp o) { return rebound<HostNonzeroOp>(builder, o); })
      .Case([&](nn::ArgSortOp o) { return rebound<HostSortOp>(builder, o); })
      .Case([&](nn::UniqueOp o) { return rebound<HostUniqueOp>(builder, o); })
      .Case([&](nn::NmsOp o) { return rebound<HostNmsOp>(builder, o); })
      .Default([](Operation *) { return nullptr; });
}

Operation *unbindFromHost(OpBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, Operation *>(op)
      .Case([&](HostNonzeroOp o) { return rebound<nn::NonzeroOp>(builder, o); })
      .Case([&](HostSortOp o) { return rebound<nn::ArgSortOp>(builder, o); })
      .Case([&](HostUniqueOp o) { return rebound<nn::UniqueOp>(builder, o); })
      .Case([&](HostNmsOp o) { return rebound<nn::NmsOp>(builder, o); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace ashlar::npu
