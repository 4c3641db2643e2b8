// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the npu dialect.

#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/NPUPatterns.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/NPU/NPUDialect.cpp.inc"
#include "dialects/NPU/NPUEnums.cpp.inc"
#include "dialects/NPU/NPUInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NPU/NPUAttrs.cpp.inc"

using namespace mlir;

namespace ashlar::npu {

void NPUDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NPU/NPUAttrs.cpp.inc"
      >();
  registerNPUDialectOperations(this);
  addInterfaces<WeightPatterns>();
}

} // namespace ashlar::npu
