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
    before and `isa.sem.signal` after instructions, so that every two
    conflicting accesses of different queues are ordered as in program order.
    Waits that follow from earlier ones are omitted. Sets `semaphores` of the
    program.
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
    cycles, or the program unchanged.

    1. Dependences are found from the memory that instructions touch.
    2. List schedules let each queue start what it can start, whichever
       operation of the network it belongs to. Vector instructions of the next
       operation fill the pauses of the current one, independent branches
       overlap, and loads run as early as memory allows. A queue takes the
       instruction that starts first, or the most urgent one, by turns. The
       array and the sparse cluster keep their order.
    3. The emulator's timing model times the order of emission, and each schedule
       that promises fewer cycles, with their semaphores. The fastest stays;
       `ashlar.decision.schedule` of the program has the cycles of each.

    Fewer schedules are tried for programs of more than 30,000 instructions, and
    none for more than 150,000. `search` tries more schedules, with random
    priorities of the nodes from fixed seeds. `isa.planned` stands where its
    tensor is complete and unchanged. A program that has semaphores stays as it
    is.
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
  let summary = "Let drains overlap the streams that they wait for";
  let description = [{
    Before: a program with its semaphores. After: the same program, in which a
    drain that waits for a single stream and reads exactly its entries has the
    `order` that ends first (docs/Machine.md, drain orders): `block` after the
    stream, `row` one entry after the array, `partition` one column after it.

    Drains that the loader would refuse in another order stay `block`: a drain
    that writes what its stream still reads, or whose wait is not the one
    directly before it.
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
    order that takes fewer cycles, or the program unchanged.

    Resources that queues share (DRAM, the banks of the state buffer, the
    instruction stream) are granted in program order, so an instruction that is
    early in the program but starts late delays those after it. The emulator's
    timing model follows all queues; of their next instructions, the one that
    can start first becomes the next of the program. Each queue keeps its order,
    and each semaphore its signals and waits. `isa.planned` stands where its
    tensor is complete and unchanged.
  }];
  let dependentDialects = ["::ashlar::isadialect::ISADialect"];
  let statistics = [
    Statistic<"numMoved", "moved", "Instructions that moved">];
}

#endif // ASHLAR_TRANSFORMS_ISA_PASSES_TD
