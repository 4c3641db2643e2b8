// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes on the instructions of a program.

#ifndef ASHLAR_TRANSFORMS_ISA_PASSES_TD
#define ASHLAR_TRANSFORMS_ISA_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertSemaphores : Pass<"ashlar-isa-insert-semaphores", "::mlir::ModuleOp"> {
  let summary = "Order conflicting instructions of different queues";
  let description = [{
    Before: a program that is correct when executed in program order. After: one
    that is correct when its queues run concurrently. Inserts `isa.sem.wait`
    before and `isa.sem.signal` after instructions so that every two conflicting
    accesses of different queues are ordered as in program order; waits that
    follow from earlier ones are omitted. Sets `semaphores` of the program.

    The machine is read from the module attribute `npu.target`.
  }];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numWaits", "waits", "Waits inserted">,
    Statistic<"numSemaphores", "semaphores", "Semaphores in use">];
}

def Schedule : Pass<"ashlar-isa-schedule", "::mlir::ModuleOp"> {
  let summary = "Schedule the instructions of a whole program";
  let description = [{
    Before: a program without semaphores that is correct when executed in
    program order. After: the same instructions in an order that takes fewer
    cycles, or the program unchanged. Dependences are found from the memory that
    instructions touch; list schedules then let each queue start what it can
    start, whichever operation of the network it belongs to: vector operations
    of the next operation fill the pauses of this one, independent branches
    overlap, and loads run as early as memory allows. The array and the sparse
    cluster keep their order. Each schedule and the order of emission are timed
    with their semaphores by the emulator's timing model; the fastest stays, and
        `ashlar.decision.schedule` of the program has the cycles of each. For
    programs of more than 30,000 instructions fewer schedules are tried, for
    more than 120,000 none. `search` tries more schedules, with random
    priorities of the nodes from fixed seeds.
    `isa.planned` stands where its tensor is complete and unchanged.

    The machine is read from the module attribute `npu.target`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"list\"",
           "list, search (more schedules) or off (as emitted)">];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numMoved", "moved", "Instructions that moved">,
    Statistic<"numDependences", "dependences", "Pairs of instructions in order">,
    Statistic<"cyclesBefore", "cycles-before", "Predicted cycles as emitted">,
    Statistic<"cyclesAfter", "cycles-after", "Predicted cycles as scheduled">];
}

def ChooseDrainOrder : Pass<"ashlar-isa-choose-drain-order", "::mlir::ModuleOp"> {
  let summary = "Let drains follow their streams";
  let description = [{
    Before: a program with its semaphores. After: the same one, in which a
    drain that waits for a single stream and reads exactly its entries has the
    `order` that ends first (docs/Machine.md, drain orders): `block` after the
    stream, `row` one entry after the array, `partition` one column after it.
    What the loader would refuse stays `block`: a drain that writes what its
    stream still reads, or whose wait is not the one directly before it.

    The machine is read from the module attribute `npu.target`.
  }];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numRows", "rows", "Drains of order row">,
    Statistic<"numPartitions", "partitions", "Drains of order partition">];
}

def OrderByStart : Pass<"ashlar-isa-order", "::mlir::ModuleOp"> {
  let summary = "Order instructions by the time at which they can start";
  let description = [{
    Before: a program with its semaphores. After: the same instructions in an
    order that takes fewer cycles, or the program unchanged. Resources that
    queues share (DRAM, the banks of the state buffer, the instruction stream)
    are granted in program order, so an instruction that is early in the program
    but starts late delays those after it. The emulator's timing model follows
    all queues; of their next instructions the one that can start first becomes
    the next of the program. Each queue keeps its order, each semaphore its
    signals and waits, and `isa.planned` stays where its tensor is complete and
    unchanged.

    The machine is read from the module attribute `npu.target`.
  }];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numMoved", "moved", "Instructions that moved">];
}

#endif // ASHLAR_TRANSFORMS_ISA_PASSES_TD
