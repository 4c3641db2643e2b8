// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synchronisation and scale-exponent registers: instructions that touch no
// tensor.

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
  let isaOperands = [
    Xr<Write, "$xr">
  ];
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
  let isaOperands = [
    Xr<Read, "$src">,
    Xr<Write, "$dst", merge="!$clear">
  ];
}

def ISA_XrSelectOp : ISA_Op<"XrSelect", "xr.select", 0x05, ["vec"]> {
  let summary = "Choose a scale exponent from a statistics register.";
  let description = [{
    The exponent is chosen from the magnitudes m that were sampled:

    | rule | result |
    |---|---|
    | stats | `XR[dst] = lead(log2(mean + k/16 * sd)) - (mantissa - 2)`, decided exactly in integers |
    | maximum | the same for the largest magnitude |
    | error | E, E - 1, E + 1 or that of rule maximum, by the errors that they would cause |

    Without a nonzero sample, dst becomes cleared.

    Rule error starts from the exponent E in `XR[dst]`. A sample whose leading
    place is l = floor(log2 m) can lose

    - `2^(l+1) - 2^(E+mantissa-1)` if l > E + mantissa - 2;
    - `2^(l+1)` if l < E - 1;
    - `2^(E-1)` otherwise.

    E stays if the sum of all losses is at most 2^-t of the sum of the
    magnitudes, with t in the field k. Otherwise the exponent with the smallest
    loss among E, E - 1, E + 1 and that of rule maximum is taken, the first of
    equal ones. A cleared E gives the exponent of rule maximum.

    Example: `isa.xr.select(dst = 4, sr = 0, k = 64, mantissa = 8)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"dst", 10, 1, 0, "register", "register written">,
    U<"sr", 6, 1, 10, "register", "statistics register read">,
    U<"k", 8, 1, 16, "sixteenths", "deviations above the mean; rule error: bits of t">,
    Limited<"mantissa", 5, 16, 1, 24, "bits", "mantissa width W that the exponent is for">,
    E<"lead", 1, ISA_Lead, 1, 29, "rounding of the logarithm">,
    E<"rule", 2, ISA_SelectRule, 1, 30, "what decides the range">
  ];
  let isaReserved = [Reserved<1, 32, 32>];
  let isaOperands = [
    Sr<Read, "$sr">,
    Xr<Read, "$dst", "$rule == SelectRule::Error">,
    Xr<Write, "$dst">
  ];
}

def ISA_XrPickOp : ISA_Op<"XrPick", "xr.pick", 0x06, ["vec"]> {
  let summary = "Take one scale exponent, or another if it is cleared.";
  let description = [{
    `XR[dst] = XR[preferred]` unless that is cleared, else `XR[fallback]`.

    Example: `isa.xr.pick(dst = 4, preferred = 2, fallback = 3)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"dst", 10, 1, 0, "register", "register written">,
    U<"preferred", 10, 1, 10, "register", "register read first">,
    U<"fallback", 10, 1, 20, "register", "register read if that is cleared">
  ];
  let isaReserved = [Reserved<1, 30, 34>];
  let isaOperands = [
    Xr<Read, "$preferred">,
    Xr<Read, "$fallback">,
    Xr<Write, "$dst">
  ];
}

def ISA_XrPredictOp : ISA_Op<"XrPredict", "xr.predict", 0x07, ["vec"]> {
  let summary = "Predict the next iteration's scale exponent.";
  let description = [{
    `XR[dst]` holds the exponent E that this iteration used and receives that of
    the next iteration. The history is `2 + 2*depth` registers from
    `XR[history]`: fill count, write index, then pairs (mantissa, exponent) of
    past maxima.

    1. An overflow (`XR[observed] > E`) or an underflow
       (`E - XR[observed] > range`) clears the history. Neither occurs if E or
       `XR[observed]` is cleared.
    2. The largest magnitude of `SR[sr]` joins the history, doubled after an
       overflow. A magnitude of zero does not join.
    3. The result is
       `floor(log2(max(last maximum, mean + k/16 * sd))) - (mantissa - 2)` over
       the history, exactly, or cleared while the history is empty.

    Example: `isa.xr.predict(dst = 4, history = 16, depth = 8, sr = 0, observed = 5, mantissa = 8, range = 7, k = 48)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"dst", 10, 1, 0, "register", "exponent used, then the next one">,
    U<"history", 10, 1, 10, "register", "first register of the history">,
    U<"observed", 10, 1, 20, "register", "running maximum of this iteration">,
    U<"sr", 6, 1, 30, "register", "statistics register read">,
    U<"k", 8, 1, 36, "sixteenths", "deviations above the mean">,
    Limited<"mantissa", 5, 16, 1, 44, "bits", "mantissa width W that the exponent is for">,
    U<"range", 4, 1, 49, "octaves", "range D of the format">,
    CountTo<"depth", 5, 16, 1, 53, "maxima", "length of the history">
  ];
  let isaReserved = [Reserved<1, 58, 6>];
  let isaOperands = [
    Sr<Read, "$sr">,
    Xr<Read, "$observed">,
    Xr<Read, "$dst">,
    Xr<Read, "$history", count="2 + 2 * $depth">,
    Xr<Write, "$dst">,
    Xr<Write, "$history", count="2 + 2 * $depth">
  ];
}

#endif // ASHLAR_ISA_SYNC_OPS
