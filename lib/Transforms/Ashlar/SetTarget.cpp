// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets the machine of a module by name or file, as --machine of ashlarc does.

#include "ashlar/Transforms/Ashlar/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace ashlar::records {
#define GEN_PASS_DEF_SETTARGET
#include "ashlar/Transforms/Ashlar/Passes.h.inc"
} // namespace ashlar::records

using namespace mlir;
using namespace ashlar;

namespace {

struct SetTargetPass : records::impl::SetTargetBase<SetTargetPass> {
  using SetTargetBase::SetTargetBase;

  void runOnOperation() override {
    if (machine.empty()) {
      getOperation().emitError()
          << "option machine is empty, expected "
          << llvm::join(machine::builtinNames(), ", ") << " or a YAML file";
      return signalPassFailure();
    }
    llvm::Expected<machine::Description> loaded =
        machine::load(machine.getValue());
    if (loaded) {
      getOperation()->setAttr(records::kTargetAttr,
                              records::TargetAttr::get(&getContext(), *loaded));
      return;
    }
    getOperation().emitError() << llvm::toString(loaded.takeError());
    signalPassFailure();
  }
};

} // namespace
