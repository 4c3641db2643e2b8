// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes on the instructions of a program.

#ifndef ASHLAR_TRANSFORMS_ISA_PASSES_TD
#define ASHLAR_TRANSFORMS_ISA_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertSemaphores : Pass<"ashlar-isa-insert-semaphores", "::mlir::ModuleOp"> {
  let summary = "Order conflicting instructions of different queues";
  let description = [{
    Before: a program that is right when executed in program order. After: one
    that is right when its queues run concurrently. Inserts `isa.sem.wait` before
    and `isa.sem.signal` after instructions so that every two conflicting
    accesses of different queues are ordered as in program order; waits that
    follow from earlier ones are left out. Sets `semaphores` of the program.

    The machine is read from the module attribute `npu.machine` (YAML text).
  }];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numWaits", "waits", "Waits inserted">,
    Statistic<"numSemaphores", "semaphores", "Semaphores in use">];
}

#endif // ASHLAR_TRANSFORMS_ISA_PASSES_TD
