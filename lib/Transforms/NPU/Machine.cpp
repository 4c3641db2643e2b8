// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine description that travels with a module.

#include "ashlar/Transforms/NPU/Passes.h"

using namespace mlir;

namespace ashlar::npu {

FailureOr<machine::Description> machineOf(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(kMachineAttr);
  if (!text) {
    module.emitError() << "has no '" << kMachineAttr << "' attribute";
    return failure();
  }
  llvm::Expected<machine::Description> machine =
      machine::parseYaml(text.getValue(), kMachineAttr);
  if (!machine) {
    module.emitError() << llvm::toString(machine.takeError());
    return failure();
  }
  return *machine;
}

} // namespace ashlar::npu
