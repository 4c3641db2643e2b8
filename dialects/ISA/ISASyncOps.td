// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synchronisation and scale-exponent registers: instructions without cycles.

#ifndef ASHLAR_ISA_SYNC_OPS
#define ASHLAR_ISA_SYNC_OPS

include "dialects/ISA/ISABase.td"

def ISA_AllQueues {
  list<string> names = ["dma0", "dma1", "dma2", "dma3", "peload", "pe", "act",
                        "vec", "tcc", "host"];
}

def ISA_SemWaitOp
    : ISA_Op<"SemWait", "sem.wait", 0x01, ISA_AllQueues.names> {
  let summary = "Block a queue until a semaphore's next signal.";
  let description = [{
    The k-th wait on a semaphore is satisfied by the k-th signal. Each semaphore
    has one signalling and one waiting queue and starts at zero. In program order
    no wait may come before its signal.

    Example: `isa.sem.wait(queue = pe, sem = 3)`
  }];
  let isaWords = 2;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "queue that waits">,
    U<"sem", 8, 1, 0, "semaphore", "semaphore index">
  ];
  let isaReserved = [Reserved<1, 8, 56>];
}

def ISA_SemSignalOp
    : ISA_Op<"SemSignal", "sem.signal", 0x02, ISA_AllQueues.names> {
  let summary = "Signal a semaphore when the preceding operation completes.";
  let description = [{
    Fires when the immediately preceding operation of its queue has completed;
    an empty queue completes at cycle 0.

    Example: `isa.sem.signal(queue = dma0, sem = 3)`
  }];
  let isaWords = 2;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "queue that signals">,
    U<"sem", 8, 1, 0, "semaphore", "semaphore index">
  ];
  let isaReserved = [Reserved<1, 8, 56>];
}

def ISA_XrSetOp : ISA_Op<"XrSet", "xr.set", 0x03, ["vec"]> {
  let summary = "Write a scale-exponent register.";
  let description = [{
    `XR[xr] = value`. The value -32768 is the cleared state.

    Example: `isa.xr.set(xr = 1, value = -6)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"xr", 10, 1, 0, "register", "register written">,
    S<"value", 16, 1, 10, "exponent", "scale exponent E, in units of e">
  ];
  let isaReserved = [Reserved<1, 26, 38>];
}

def ISA_XrMergeOp : ISA_Op<"XrMerge", "xr.merge", 0x04, ["vec"]> {
  let summary = "Merge one scale-exponent register into another.";
  let description = [{
    `XR[dst] = max(clear ? cleared : XR[dst], XR[src])`.

    Example: `isa.xr.merge(dst = 4, src = 2, clear = 1)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"dst", 10, 1, 0, "register", "register written">,
    U<"src", 10, 1, 10, "register", "register read">,
    Flag<"clear", 1, 20, "forget the old value of dst">
  ];
  let isaReserved = [Reserved<1, 21, 43>];
}

#endif // ASHLAR_ISA_SYNC_OPS
