// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine description that travels with a module.

#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::npu {

FailureOr<machine::Description> machineOf(ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(kTargetAttr);
  if (target)
    return target.getMachine();
  module.emitError() << "has no '" << kTargetAttr << "' attribute";
  return failure();
}

} // namespace ashlar::npu
