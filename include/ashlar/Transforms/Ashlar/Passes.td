// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes on the attributes that all dialects share.

#ifndef ASHLAR_TRANSFORMS_ASHLAR_PASSES_TD
#define ASHLAR_TRANSFORMS_ASHLAR_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetTarget : Pass<"ashlar-set-target", "::mlir::ModuleOp"> {
  let summary = "give a module its machine";
  let description = [{
    Sets the module attribute `ashlar.target`, which all passes that depend on
    the machine read: a built-in machine by name, or the YAML file of one
    (docs/Machine.md). A machine that the module had is replaced. `ashlarc` does
    this for `--machine` before the first pass.
  }];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "built-in name or YAML file; required">
  ];
  let dependentDialects = ["::ashlar::records::AshlarDialect"];
}

#endif // ASHLAR_TRANSFORMS_ASHLAR_PASSES_TD
