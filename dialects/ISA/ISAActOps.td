// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ACT: the drain of PSUM with the epilogue of docs/Numerics.md 6.

#ifndef ASHLAR_ISA_ACT_OPS
#define ASHLAR_ISA_ACT_OPS

include "dialects/ISA/ISABase.td"

/// Loops over the results of a lane: with groups of lanes, a step of dimension 1
/// has several.
def DrainedResults : ISA_Loops<
    ["$n0",
     "!$fromTcu && $groupLanes ? uint64_t($validN1) : uint64_t($n1)",
     "$n2"], ["0", "1", "2"]>;

def ISA_ActDrainOp : ISA_Op<"ActDrain", "act.drain", 0x30, ["act"]> {
  let summary = "Drain PSUM to SB through the epilogue.";
  let description = [{
    For every step t over (i0, i1, i2), i2 fastest, and every lane c < cols, a
    drain takes the entry `PSUM[c][psum + sum i*psumStride]`, transforms it as
    `mode` says, and stores it at
    `SB[dstPart + c][dstOffset + sum i*dstStride]`.

    **Mode f32.** The value is `acc * 2^(XR[xrA] + XR[xrS] + EW[c] + shift)`,
    where a cleared register counts as -142. Then follow * scale[c], + bias[c],
    + residual, and the function.

    **Mode block** encodes aligned sums with one rounding: accumulator, aligned
    bias and aligned residual (encoded), then copy, relu or clip. The limits of
    clip are rounded to the exponent of the sum.

    **Mode int.** The bias is an i32 added to the accumulator. With `hasScale`
    the sum is then requantised in these steps:

    1. rounded to binary32;
    2. * scale[c];
    3. the function, copy or relu;
    4. rounded to an integer, ties to even;
    5. + `shift` as a zero point;
    6. limited to the type of the result.

    **Mode raw64** stores the low bytes of the entry. Of an encoded word
    (pe.load in mode select) it stores mantissa and exponent cell, the cell at
    the place that dstOrientation asks for; no register is touched. With `typed`
    the word is a value of type resType instead (of resMantissa bits if
    encoded): it is decoded to binary32, the function is applied, and the result
    is stored as in mode f32.

    **Parameter records.** The record of a lane is 16 bytes at
    `SB[paramPart + c][paramOffset]`: f32 scale, f32 bias, i32 EW, f32 alpha.
    With `paramAlongSteps` the records follow the steps instead: the record of
    step t, the same for all lanes, is at `SB[paramPart][paramOffset + 16*t]`.

    With `biasAligned` the bias of a record is an integer b (low 16 bits) times
    2^e (high 16 bits). It is aligned to the accumulator and added to it as an
    integer before anything else. To align is to bring all terms to one
    exponent: that of the accumulator, or the least one above it at which every
    other term has at most 61 bits. Left shifts are exact; right shifts round to
    nearest even.

    **Encoded results** form blocks of dstBlock lanes from lane 0; the last
    block may be short. In modes f32 and block, dstOrientation f encodes along
    the free axis: dstBlock consecutive steps of a lane form a block (n0 = n1 =
    1, dense steps). With `cellFromXr` the exponent of every block is
    `XR[dstXr]`, which is read and not merged; `repair` and `keepOwn` are as in
    vec.map.

    **Sparse cluster.** With `fromTcu` the entries are the accumulators of the
    units of group `group`. For each such unit with a tile in `table`, (i0, i1,
    i2) are all images, rows and columns of the tile, and lane c reads the
    unit's `acc[psum + c*regionStride + sum i*psumStride]`. Result and residual
    lie at the position of the pixel: their strides count images, rows and
    columns of the whole output. n0, n1 and n2 are the extents of the output
    that contains all tiles of the table.

    - With `groupLanes` L > 0 the lanes are those of several groups side by
      side: lane c reads region c mod L of the unit that has the same tile in
      group `group` + c div L. These groups have equal tiles, in the same order
      of units.
    - With `sideBySide` the lanes take T = lanes of ACT / cols tiles of each
      group at a time, in the order of units: lane t*cols + c has lane c of the
      t-th of them. Results do not depend on it; cycles do. At least two tiles
      fit, and none is a tile of the operand.
    - With `mapped` the record of a lane holds the number of a lane below `cols`
      in place of alpha. The lane takes the accumulators of that lane; record,
      residual and result remain its own.
    - If the units of a group hold tiles of the operand (tcc.operand, or
      tcc.part with disjoint), a result is first of all the sum of all their
      entries for it. All rows and columns of the images that the group's tiles
      name are stored; what no tile reaches starts from zero.

    **Results for the next layer.** With `kept` a drain of the sparse cluster
    writes its results to the feature-map units too: lane c is channel `slot` +
    c of the operand that the last dma.tile with `drained` into buffer set `set`
    describes. Each result goes to every place where that load would have put
    the pixel (i0, i1, i2) of this channel; an encoded one comes with its
    exponent cell. The output is the operand: n0, n1, n2 and the stored type are
    those of the load, and blocks of results are whole planes of its cells. With
    `unstored` SB gets no result, and the fields of its place are 0.

    **Several results per step.** In a drain of PSUM, `groupLanes` L > 0 says
    that the lanes are those of G = cols / L results, which follow each other in
    dimension 1. Let l = c mod L:

    - Lane c has the record of lane l.
    - It stores the result (i0, r = i1*G + c div L, i2) in partition dstPart +
      l, and reads its residual from partition resPart + l.
    - Blocks begin at l = 0.
    - Results with r >= validN1 are neither read nor stored.

    Strides of the result, the residual and the counters count results; those of
    PSUM count steps.

    **Order.** With `order` row or partition, the drain overlaps the stream of
    the matmul whose signal the wait directly before it takes. It reads exactly
    the entries that this matmul addresses: entry t of all columns once its row
    is complete, or column c once the column is. With `order` block everything
    is complete first.

    **Counters.** With `counted`, each step (with `fromTcu`, each pixel of the
    whole output) has the counter `counts + sum i*countStride`. It grows by the
    number of lanes whose stored mantissa or integer is not zero. With
    `countClear` the counters that the drain addresses start from zero.

    Example: `isa.act.drain(cols = 4, n2 = 9, psumStride2 = 1, shift = -14, dstType = f32, dstStride2 = 4)`
  }];
  let isaWords = 13;
  let isaFields = [
    U<"psum", 20, 1, 0, "entries", "first PSUM entry">,
    S<"psumStride0", 20, 1, 20, "entries", "PSUM stride of dimension 0">,
    S<"psumStride1", 20, 1, 40, "entries", "PSUM stride of dimension 1">,
    S<"psumStride2", 20, 2, 0, "entries", "PSUM stride of dimension 2">,
    Count<"n0", 20, 2, 20, "steps", "count of the outermost dimension">,
    Count<"n1", 20, 2, 40, "steps", "count of dimension 1">,
    Count<"n2", 20, 3, 0, "steps", "count of the innermost dimension">,
    Count<"cols", 12, 3, 20, "columns", "columns drained">,
    E<"mode", 2, ISA_DrainMode, 1, 60, "what becomes of an entry">,
    U<"xrA", 10, 3, 32, "register", "scale exponent of the moving operand">,
    U<"xrS", 10, 3, 42, "register", "scale exponent of the stationary operand">,
    S<"shift", 16, 4, 0, "octaves", "-(DA + DS); in mode int the zero point of a requantised result">,
    U<"paramPart", 12, 3, 52, "partition", "parameter record of lane 0">,
    U<"paramOffset", 24, 4, 16, "bytes", "offset of the parameter records">,
    Flag<"hasScale", 1, 62, "multiply by the record's scale">,
    Flag<"hasBias", 1, 63, "add the record's bias">,
    Flag<"hasExp", 2, 60, "add the record's EW to the exponent">,
    E<"function", 6, ISA_Function, 4, 40, "unary function applied last">,
    Flag<"alphaFromParam", 2, 61, "alpha comes from the record">,
    F32<"alpha", 5, 0, "first parameter of the function">,
    F32<"beta", 5, 32, "second parameter of the function">,
    Flag<"resMode", 2, 62, "a residual is added">,
    E<"resType", 5, ISA_ElemType, 4, 46, "stored type of the residual">,
    Limited<"resMantissa", 5, 16, 4, 51, "bits", "mantissa width of a bfp residual">,
    U<"resPart", 12, 6, 0, "partition", "partition of lane 0 of the residual">,
    U<"resOffset", 24, 6, 12, "bytes", "offset of the residual">,
    S<"resStride0", 32, 7, 0, "bytes", "residual stride of dimension 0">,
    S<"resStride1", 32, 7, 32, "bytes", "residual stride of dimension 1">,
    S<"resStride2", 32, 8, 0, "bytes", "residual stride of dimension 2">,
    U<"dstPart", 12, 6, 36, "partition", "partition of lane 0 of the result">,
    U<"dstOffset", 24, 8, 32, "bytes", "offset of the result">,
    S<"dstStride0", 32, 9, 0, "bytes", "result stride of dimension 0">,
    S<"dstStride1", 32, 9, 32, "bytes", "result stride of dimension 1">,
    S<"dstStride2", 32, 10, 0, "bytes", "result stride of dimension 2">,
    E<"dstType", 5, ISA_ElemType, 4, 56, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 6, 48, "bits", "mantissa width of a bfp result">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 6, 53, "lanes", "block length of a bfp result, else 0">,
    U<"dstXr", 10, 10, 32, "register", "scale exponent that a bfp result merges into">,
    Flag<"dstXrClear", 2, 63, "clear the register that is merged into first">,
    Flag<"paramAlongSteps", 8, 56, "parameter records follow the steps, not the lanes">,
    Flag<"biasAligned", 8, 57, "the record's bias is an integer mantissa and its exponent">,
    Flag<"cellFromXr", 8, 58, "a bfp result takes its exponent from dstXr">,
    E<"overflow", 1, ISA_Overflow, 8, 59, "integer results, and bfp results of a given exponent">,
    Flag<"fromTcu", 4, 61, "drains the sparse cluster">,
    U<"table", 4, 8, 60, "table", "tile table, with fromTcu">,
    U<"regionStride", 16, 10, 42, "entries", "distance of the regions of two lanes, with fromTcu">,
    U<"group", 6, 10, 58, "group", "units drained, with fromTcu">,
    E<"order", 2, ISA_DrainOrder, 4, 62, "when the entries of the stream are taken">,
    Flag<"typed", 6, 61, "mode raw64: the word is a value of type resType">,
    E<"dstOrientation", 1, ISA_Orientation, 6, 62, "direction of the blocks of a bfp result">,
    Flag<"counted", 11, 0, "non-zero results are counted">,
    Flag<"countClear", 11, 1, "the counters start from zero">,
    U<"counts", 20, 11, 2, "counters", "counter of step 0">,
    U<"countStride0", 14, 11, 22, "counters", "counter stride of dimension 0">,
    U<"countStride1", 14, 11, 36, "counters", "counter stride of dimension 1">,
    U<"countStride2", 14, 11, 50, "counters", "counter stride of dimension 2">,
    U<"groupLanes", 12, 12, 0, "lanes", "lanes of one group of units or, without fromTcu, of one result; 0: all of them">,
    Flag<"mapped", 12, 12, "with fromTcu: the records say whose accumulators a lane takes">,
    USince<2, "ownXr", 10, 12, 13, "register", "merges the exponents that the blocks have of their own">,
    FlagSince<2, "keepOwn", 12, 23, "those exponents are merged">,
    FlagSince<2, "repair", 12, 24, "a block beyond a given exponent takes its own">,
    USince<2, "validN1", 20, 12, 25, "results", "results along dimension 1, with groupLanes and without fromTcu; else 0">,
    FlagSince<7, "kept", 12, 45, "with fromTcu: the results go to the feature-map units">,
    FlagSince<7, "unstored", 12, 46, "with kept: they are not stored in SB">,
    USince<7, "set", 4, 12, 47, "set", "buffer set written, with kept">,
    USince<7, "slot", 12, 12, 51, "channel", "channel of lane 0, with kept">,
    FlagSince<8, "sideBySide", 12, 63, "with fromTcu: several tiles of a group at a time">
  ];
  let isaReserved = [Reserved<6, 63, 1>];
  let isaOperands = [
    Psum<Read, Loops3, "!$fromTcu">,
    Computed<Read, "accumulators", "accumulators", "$fromTcu">,
    Xr<Read, "$xrA", "$mode == DrainMode::F32 || $mode == DrainMode::Block">,
    Xr<Read, "$xrS", "$mode == DrainMode::F32 || $mode == DrainMode::Block">,
    Rows<"param", Read, "parameters",
         StridedBy<["$paramAlongSteps ? uint64_t($n0) * $n1 * $n2 : 1"], ["16"]>,
         "$hasScale || $hasBias || $hasExp || $alphaFromParam || $mapped",
         "$paramAlongSteps ? 1 : $cols", "16">,
    Tensor<"res", Read, "residual", DrainedResults, "$resMode",
           channels="!$fromTcu && $groupLanes ? $groupLanes : $cols">,
    Tensor<"dst", Write, "result", DrainedResults, "!$unstored",
           channels="!$fromTcu && $groupLanes ? $groupLanes : $cols">,
    Computed<Write, "feature maps", "featureMaps", "$kept">,
    Cluster<"Counts", Write, "$counts", "1", DrainedResults, "$counted", "!$countClear",
            "counts", "count">,
    Scale<"dst", "$mode != DrainMode::Raw64 || $typed", "$cellFromXr",
          "$keepOwn">,
    Xr<Write, "$ownXr", "$keepOwn", "!$dstXrClear">
  ];
}

def ISA_ActPoolOp : ISA_Op<"ActPool", "act.pool", 0x31, ["act"]> {
  let summary = "Drain of the sparse cluster that keeps the maxima of windows.";
  let description = [{
    The entries are those that act.drain with `fromTcu` takes of the units of
    group `group`, with `groupLanes` and `mapped` as there: entry (y, x) of lane
    c is at `acc[psum + c*regionStride + i*psumStride + j]` of the unit whose
    tile has it in row i and column j. The tiles of `table` in each group are of
    one image and cover the inH x inW entries, each of them once; none is a tile
    of the operand, and no tcc.part has cut them.

    The value of an entry is what act.drain would store of it, as a type
    srcType: in mode f32 by the scale exponents, `hasExp`, `hasScale`, `hasBias`
    and function, encoded in blocks of srcBlock lanes if srcType is bfp; in mode
    int as an integer of srcType, with `hasScale` requantised. No other mode is
    legal.

    The result (oh, ow) of a lane is the maximum of the entries (oh*sH - pH + i,
    ow*sW - pW + j), i < kH, j < kW, that exist; each result has at least one. It
    is stored at `SB[dstPart + c][dstOffset + oh*dstStrideH + ow*dstStrideW]`;
    blocks of dstBlock lanes begin at lane 0. Parameter records are those of
    act.drain.

    ACT takes the entries row after row, whichever tile they are of. A lane has
    registers for two windows of a row and a line of `act.pool_columns` maxima:
    kH <= 2*sH, kW <= 2*sW, and ceil((kH - 1) / sH) * outW <=
    `act.pool_columns`.

    Example: `isa.act.pool(cols = 16, regionStride = 64, inH = 8, inW = 8, psumStride = 8, shift = -14, outH = 4, outW = 4, kH = 2, kW = 2, sH = 2, sW = 2, dstType = f32, dstStrideH = 16, dstStrideW = 4)`
  }];
  let isaSince = 9;
  let isaWords = 10;
  let isaFields = [
    U<"psum", 20, 1, 0, "entries", "first accumulator">,
    S<"psumStride", 20, 1, 20, "entries", "accumulator stride of a row of a tile">,
    Count<"cols", 12, 1, 40, "lanes", "lanes drained">,
    E<"mode", 2, ISA_DrainMode, 1, 52, "what becomes of an entry">,
    Flag<"hasScale", 1, 54, "multiply by the record's scale">,
    Flag<"hasBias", 1, 55, "add the record's bias">,
    Flag<"hasExp", 1, 56, "add the record's EW to the exponent">,
    Flag<"alphaFromParam", 1, 57, "alpha comes from the record">,
    Flag<"mapped", 1, 58, "the records say whose accumulators a lane takes">,
    Flag<"dstXrClear", 1, 59, "clear the register that is merged into first">,
    U<"table", 4, 1, 60, "table", "tile table">,
    Count<"inH", 20, 2, 0, "entries", "rows of entries">,
    Count<"inW", 20, 2, 20, "entries", "columns of entries">,
    OneOf<"srcBlock", 8, [0, 8, 16, 32, 64], 2, 40, "lanes", "block length of a bfp value, else 0">,
    E<"srcType", 5, ISA_ElemType, 2, 48, "type of an entry's value">,
    Limited<"srcMantissa", 5, 16, 2, 53, "bits", "mantissa width of a bfp value">,
    U<"group", 6, 2, 58, "group", "units drained">,
    Count<"outH", 20, 3, 0, "elements", "rows of results">,
    Count<"outW", 20, 3, 20, "elements", "columns of results">,
    Count<"kH", 12, 3, 40, "elements", "window extent of h">,
    Count<"kW", 12, 3, 52, "elements", "window extent of w">,
    Count<"sH", 12, 4, 0, "elements", "window step of h">,
    Count<"sW", 12, 4, 12, "elements", "window step of w">,
    U<"groupLanes", 12, 4, 24, "lanes", "lanes of one group of units; 0: all of them">,
    U<"paramPart", 12, 4, 36, "partition", "parameter record of lane 0">,
    E<"dstType", 5, ISA_ElemType, 4, 48, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 4, 53, "bits", "mantissa width of a bfp result">,
    S<"pH", 20, 5, 0, "elements", "padding before h, negative where windows begin later">,
    S<"pW", 20, 5, 20, "elements", "padding before w, negative where windows begin later">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 5, 40, "lanes", "block length of a bfp result, else 0">,
    E<"function", 6, ISA_Function, 5, 48, "unary function of an entry">,
    U<"regionStride", 16, 6, 0, "entries", "distance of the regions of two lanes">,
    S<"shift", 16, 6, 16, "octaves", "-(DA + DS); in mode int the zero point of a requantised value">,
    U<"xrA", 10, 6, 32, "register", "scale exponent of the moving operand">,
    U<"xrS", 10, 6, 42, "register", "scale exponent of the stationary operand">,
    U<"dstPart", 12, 6, 52, "partition", "partition of lane 0 of the result">,
    U<"paramOffset", 24, 7, 0, "bytes", "offset of the parameter records">,
    U<"dstOffset", 24, 7, 24, "bytes", "offset of the result">,
    U<"dstXr", 10, 7, 48, "register", "scale exponent that a bfp result merges into">,
    F32<"alpha", 8, 0, "first parameter of the function">,
    F32<"beta", 8, 32, "second parameter of the function">,
    S<"dstStrideH", 32, 9, 0, "bytes", "result stride of h">,
    S<"dstStrideW", 32, 9, 32, "bytes", "result stride of w">
  ];
  let isaReserved = [Reserved<4, 58, 6>, Reserved<5, 54, 10>, Reserved<7, 58, 6>];
  let isaOperands = [
    Computed<Read, "accumulators", "accumulators">,
    Xr<Read, "$xrA", "$mode == DrainMode::F32">,
    Xr<Read, "$xrS", "$mode == DrainMode::F32">,
    Rows<"param", Read, "parameters", StridedBy<["1"], ["16"]>,
         "$hasScale || $hasBias || $hasExp || $alphaFromParam || $mapped",
         "$cols", "16">,
    Tensor<"dst", Write, "result",
           StridedBy<["$outH", "$outW"], ["$dstStrideH", "$dstStrideW"]>,
           channels="$cols">,
    Scale<"dst">
  ];
}

#endif // ASHLAR_ISA_ACT_OPS
