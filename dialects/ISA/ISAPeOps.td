// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PE array: stationary loads, the swap of the two stationary sets, matmul.

#ifndef ASHLAR_ISA_PE_OPS
#define ASHLAR_ISA_PE_OPS

include "dialects/ISA/ISABase.td"

/// The scale exponent that encoded elements are aligned to.
def ScaledBy
    : Xr<Read, "$xr", "isBlock($type) && $mode == OperandMode::Bfp">;

/// The entries that a matmul addresses.
def ResultLoops
    : ISA_Loops<["$n0", "$n1", "$groups > 1 ? $validW : $n2"], ["0", "1", "2"]>;

def ISA_PeLoadOp : ISA_Op<"PeLoad", "pe.load", 0x20, ["peload"]> {
  let summary = "Load the shadow stationary set.";
  let description = [{
    `S[i][c] = SB[part + i][offset + c*colStride]` for i < rows, c < cols.
    Encoded operands are aligned to XR[xr] (docs/Numerics.md 3). All other cells
    are zero. The set becomes active with the next `pe.swap`.

    - `terms` > 0 (modes bfp and int): only the first `terms` cells of a column
      that are not zero count, in row order; the others read as zero.
    - Mode select: a cell holds the stored word. That of an encoded element is
      its mantissa and, from bit 16 on, its exponent cell.
    - Mode float takes f16, bf16 and f32.
    - Mode int: the loader subtracts `zero` from every element on its way into
      the cell, whose digits of 9 bits hold the difference of two bytes. This is
      for elements of i8 and u8 only, and `zero` is one of their values. Cells
      outside stay zero.

    With `pattern` the operand has N:M weights: of M neighbouring rows, counted
    from row 0, at most N cells of a column are not zero. N and M are
    `pe.pattern_kept` and `pe.pattern_group` of the machine. Cells keep these
    words with their places in log2 M bits, so that the array holds M / N copies
    of the operand. A column without the pattern is a fault.

    Example: `isa.pe.load(rows = 16, cols = 4, colStride = 1, type = bfp, mantissa = 8, range = 7)`
  }];
  let isaWords = 4;
  let isaFields = [
    U<"part", 12, 1, 0, "partition", "first partition">,
    Count<"rows", 12, 1, 12, "partitions", "rows loaded">,
    U<"offset", 24, 1, 24, "bytes", "offset in the partition">,
    Count<"cols", 12, 1, 48, "columns", "columns loaded">,
    S<"colStride", 32, 2, 0, "bytes", "distance of two columns">,
    E<"type", 5, ISA_ElemType, 2, 32, "stored type">,
    Limited<"mantissa", 5, 16, 2, 37, "bits", "mantissa width W of a bfp operand">,
    OneOf<"range", 5, [0, 1, 3, 7, 15], 2, 42, "octaves", "range D of a bfp operand">,
    U<"xr", 10, 2, 47, "register", "scale exponent of the operand">,
    E<"orientation", 1, ISA_Orientation, 1, 60, "direction of the blocks">,
    E<"mode", 2, ISA_OperandMode, 1, 61, "what a cell reads">,
    U<"terms", 7, 2, 57, "cells", "cells of a column other than zero, 0: all rows">,
    S<"zero", 9, 3, 0, "element", "mode int: zero point of i8 or u8 elements">,
    FlagSince<3, "pattern", 3, 9, "N:M weights: cells keep words with their places">
  ];
  let isaReserved = [Reserved<1, 63, 1>, Reserved<3, 10, 54>];
  let isaOperands = [
    Rows<"", Read, "operand", StridedBy<["$cols"], ["$colStride"]>>,
    ScaledBy,
    Whole<"Shadow", Write>
  ];
}

def ISA_PeSwapOp : ISA_Op<"PeSwap", "pe.swap", 0x21, ["pe"]> {
  let summary = "Make the shadow stationary set the active one.";
  let description = [{
    Costs no cycle; completes when the PE queue reaches it, i.e. when the stream
    of the preceding matmul has been issued. Results of earlier matmuls may still
    be in flight.

    Example: `isa.pe.swap`
  }];
  let isaOperands = [
    Whole<"Shadow", Read>,
    Whole<"Shadow", Write>,
    Whole<"Active", Write>
  ];
}

def ISA_PeMatmulOp : ISA_Op<"PeMatmul", "pe.matmul", 0x22, ["pe"]> {
  let summary = "Stream a moving operand through the active stationary set.";
  let description = [{
    With t over (i0, i1, i2), i2 fastest:
    `M[i][t] = SB[part + i][offset + sum i*stride]`, with a zero mantissa where
    an index is outside its [lo, hi), and `PSUM[c][psum + sum i*psumStride] (+)=
    sum over rows of M[i][t]*S[i][c]`. Without accumulate every addressed entry
    is overwritten, with zero where nothing was read.

    **Row groups.** With `groups` = Ws > 1 the array works as Ws row groups of
    PCi = R / Ws rows, which share the stationary rows and sum separately: a
    step gives Ws results. Dimension 2 then counts pixels, whose elements lie in
    turn in the Ws groups of partitions. Result w = i2*Ws + g < validW of a row

    - reads pixel p = w*(1 + skip) + shift, at `SB[part + (p mod Ws)*PCi +
      i][offset + i0*stride0 + i1*stride1 + (p div Ws)*stride2]`, or zero unless
      lo2 <= p < hi2;
    - goes to the entry
      `psum + i0*psumStride0 + i1*psumStride1 + w*psumStride2`.

    Results from validW on read nothing and leave PSUM unchanged.

    **Modes.**

    - select: PSUM receives the sum (modulo 2^64) of the stationary words whose
      moving element has a bit set. With an identity window that is the word of
      row t; `window` = identity promises such a window and is checked.
    - float: products and sums are binary32. A sum runs from row 0 on and starts
      at +0 or, to accumulate, at the low half of the entry. NaN is canonical.
    - int: `zero` is subtracted from every element that is read, as in
      `pe.load`; what is not read is zero.

    **Several positions per step.** Neither flag changes the sums.

    - `pattern`: the active set has N:M weights. Every cell picks the element of
      its place from the M rows of its group, and a step takes M / N neighbours
      of dimension 2 at once, one for each copy of the operand.
    - `narrow`: both operands are mantissas of at most `pe.narrow_bits` bits,
      and a step takes two neighbours of dimension 2 at once (with `pattern`,
      two for each copy). A cell multiplies both by its word and has a sum for
      each.

    Example: `isa.pe.matmul(rows = 16, cols = 4, type = bfp, mantissa = 8, range = 7, n2 = 9, stride2 = 1, psumStride2 = 1, hi0 = 1, hi1 = 1, hi2 = 9)`
  }];
  let isaWords = 9;
  let isaFields = [
    U<"part", 12, 1, 0, "partition", "first partition">,
    Count<"rows", 12, 1, 12, "partitions", "rows of the array used">,
    Count<"cols", 12, 1, 24, "columns", "columns of the array used">,
    S<"offset", 24, 1, 36, "bytes", "offset of index 0; may be negative when lo > 0, padding reads nothing">,
    E<"type", 5, ISA_ElemType, 2, 0, "stored type">,
    Limited<"mantissa", 5, 16, 2, 5, "bits", "mantissa width W of a bfp operand">,
    OneOf<"range", 5, [0, 1, 3, 7, 15], 2, 10, "octaves", "range D of a bfp operand">,
    U<"xr", 10, 2, 15, "register", "scale exponent of the operand">,
    E<"orientation", 1, ISA_Orientation, 1, 60, "direction of the blocks">,
    E<"mode", 2, ISA_OperandMode, 1, 61, "what a cell reads">,
    Count<"groups", 8, 2, 25, "row groups", "row groups Ws with their own column sums">,
    Flag<"accumulate", 1, 63, "add to the PSUM entries instead of writing them">,
    U<"psum", 20, 2, 33, "entries", "first PSUM entry; bank = psum div entriesPerBank">,
    Count<"n0", 20, 3, 0, "steps", "count of the outermost dimension">,
    Count<"n1", 20, 3, 20, "steps", "count of dimension 1">,
    Count<"n2", 20, 3, 40, "steps", "count of the innermost dimension">,
    S<"stride0", 32, 4, 0, "bytes", "SB stride of dimension 0">,
    S<"stride1", 32, 4, 32, "bytes", "SB stride of dimension 1">,
    S<"stride2", 32, 5, 0, "bytes", "SB stride of dimension 2">,
    S<"psumStride0", 20, 5, 32, "entries", "PSUM stride of dimension 0">,
    S<"psumStride1", 20, 6, 0, "entries", "PSUM stride of dimension 1">,
    S<"psumStride2", 20, 6, 20, "entries", "PSUM stride of dimension 2">,
    S<"lo0", 20, 6, 40, "index", "first index of dimension 0 that reads memory">,
    S<"hi0", 20, 7, 0, "index", "first index of dimension 0 beyond those that do">,
    S<"lo1", 20, 7, 20, "index", "first index of dimension 1 that reads memory">,
    S<"hi1", 20, 7, 40, "index", "first index of dimension 1 beyond those that do">,
    S<"lo2", 20, 8, 0, "index", "first index of dimension 2 that reads memory">,
    S<"hi2", 20, 8, 20, "index", "first index of dimension 2 beyond those that do">,
    S<"shift", 12, 5, 52, "pixels", "row groups: pixel of result 0">,
    U<"validW", 20, 8, 40, "results", "row groups: results of a row">,
    USince<3, "skip", 4, 3, 60, "pixels", "row groups: pixels left out between those of two results">,
    E<"window", 1, ISA_Window, 2, 53, "what the moving operand promises to be">,
    S<"zero", 9, 2, 54, "element", "mode int: zero point of i8 or u8 elements">,
    FlagSince<3, "pattern", 2, 63, "the active set has N:M weights">,
    FlagSince<4, "narrow", 8, 60, "narrow operands: cells multiply two elements">
  ];
  let isaReserved = [Reserved<6, 60, 4>, Reserved<7, 60, 4>, Reserved<8, 61, 3>];
  let isaOperands = [
    Rows<"", Read, "operand", Loops3, via="moving">,
    ScaledBy,
    Whole<"Active", Read>,
    Psum<Read, ResultLoops, "$accumulate">,
    Psum<Write, ResultLoops>
  ];
}

#endif // ASHLAR_ISA_PE_OPS
