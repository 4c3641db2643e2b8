// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse cluster: tiles from the zeros of a feature map. Non-zeros are counted
// where a map lies or while it is drained; cuts are chosen from the counts as
// the program runs; tiles of the operand instead of the result.

#ifndef ASHLAR_ISA_CUT_OPS
#define ASHLAR_ISA_CUT_OPS

include "dialects/ISA/ISABase.td"
include "dialects/ISA/ISADmaOps.td"

def ISA_TccNnzOp : ISA_Op<"TccNnz", "tcc.nnz", 0x58, ["tcc"]> {
  let summary = "Count the non-zeros of a map, position by position.";
  let description = [{
    For every y < inH, x < inW, the counter `counts + y*pitch + x` grows by the
    number of stored mantissas that are not zero (for integers, of values that
    are not zero). Counted are all images n < inN and channels i < channels, at
    `SB[part + i][offset + n*srcStrideN + y*srcStrideH + x*srcStrideW]`. With
    `clear` the counter starts from zero. Counters have 32 bits and saturate.

    Example: `isa.tcc.nnz(channels = 64, type = bfp, mantissa = 8, inH = 14, inW = 14, srcStrideH = 14, srcStrideW = 1, pitch = 14, clear = 1)`
  }];
  let isaWords = 6;
  let isaFields = [
    Count<"channels", 12, 1, 0, "channels", "channels counted">,
    U<"part", 12, 1, 12, "partition", "partition of the first channel">,
    U<"offset", 24, 1, 24, "bytes", "offset of image 0, row 0, column 0">,
    E<"type", 5, ISA_ElemType, 1, 48, "stored type">,
    Limited<"mantissa", 5, 16, 1, 53, "bits", "mantissa width W of a bfp map">,
    Flag<"clear", 1, 58, "the counters start from zero">,
    Count<"inN", 16, 2, 0, "images", "images of the map">,
    Count<"inH", 20, 2, 16, "rows", "rows of the map">,
    Count<"inW", 20, 2, 36, "columns", "columns of the map">,
    S<"srcStrideN", 32, 3, 0, "bytes", "distance of two images">,
    S<"srcStrideH", 32, 3, 32, "bytes", "distance of two rows">,
    S<"srcStrideW", 32, 4, 0, "bytes", "distance of two columns">,
    S<"srcTileStride", 32, 4, 32, "bytes", "distance of two channel tiles">,
    U<"counts", 20, 5, 0, "counters", "counter of position (0, 0)">,
    U<"pitch", 14, 5, 20, "counters", "distance of two rows of counters">
  ];
  let isaReserved = [Reserved<1, 59, 5>, Reserved<2, 56, 8>, Reserved<5, 34, 30>];
  let isaOperands = [
    Tensor<"src", Read, "map", MapLoops, type="$type", mantissa="$mantissa",
           part="$part", offset="$offset", cells="false">,
    PositionCounters<Write, "!$clear">
  ];
}

def ISA_TccPartOp : ISA_Op<"TccPart", "tcc.part", 0x59, ["tcc"]> {
  let summary = "Cut a layer into tiles of equal work and write them to a table.";
  let description = [{
    Cuts the results [y0, endH) x [x0, endW) of a layer into `units` tiles by
    the non-zeros of its operand (docs/SparseTiles.md 1). The operand is an inH
    x inW feature map whose counters start at `counts`, rows `pitch` apart.
    Result (y, x) and tap (ky, kx) meet the operand at (y*sH + ky*dH - pH, x*sW
    + kx*dW - pW).

    Tile t, in row-major order, goes to the units
    `unit + (g*gridN + a)*units + t`, with group g < copies and images [n0 +
    a*images, +images) cut at endN. All other units become idle.

    - Metric cycles is ceil(non-zeros / multipliers).
    - A counter above `capacity` counts as `capacity`.
    - No tile exceeds tileH x tileW results, whatever the counts are.
    - Cuts lie at multiples of alignH and alignW from y0 and x0.
    - Without `refine`, p2 cuts at its running sums and then does at most
      `rounds` rounds of p1.
    - With `disjoint` the operand is cut instead. A unit holds its own part of
      the operand and makes partial sums of all results that need any of it, at
      most tileH x tileW; drains add them (act.drain).

    Example: `isa.tcc.part(units = 16, endN = 1, kH = 3, kW = 3, pH = 1, pW = 1, inH = 14, inW = 14, endH = 14, endW = 14, tileH = 7, tileW = 7, pitch = 14, capacity = 64, threshold = 300)`
  }];
  let isaWords = 8;
  let isaFields = [
    U<"table", 4, 1, 0, "table", "table written">,
    U<"unit", 8, 1, 4, "unit", "first unit">,
    CountTo<"copies", 8, 64, 1, 12, "groups", "groups of units that get the same tiles">,
    Count<"units", 9, 1, 20, "tiles", "tiles of a group and its images">,
    Count<"gridN", 8, 1, 29, "tiles", "tiles along the images">,
    Count<"images", 8, 1, 37, "images", "images of a tile">,
    U<"n0", 16, 1, 45, "image", "first image">,
    Flag<"disjoint", 1, 61, "tiles of the operand, not of the result">,
    Flag<"refine", 1, 62, "p2: also look for the cuts of least maximum">,
    Flag<"moveBands", 1, 63, "p1: whole bands move too">,
    U<"y0", 16, 2, 0, "row", "first result row">,
    U<"x0", 16, 2, 16, "column", "first result column">,
    Count<"endN", 16, 2, 32, "images", "images of the output">,
    E<"algorithm", 2, ISA_Cut, 2, 48, "how to cut">,
    E<"metric", 2, ISA_CutMetric, 2, 50, "what is to be equal">,
    Count<"alignH", 6, 2, 52, "rows", "cuts at multiples">,
    Count<"alignW", 6, 2, 58, "columns", "cuts at multiples">,
    CountTo<"tileH", 14, 16383, 3, 0, "rows", "most rows of a tile">,
    CountTo<"tileW", 14, 16383, 3, 14, "columns", "most columns of a tile">,
    Count<"endH", 16, 3, 28, "rows", "end of the result rows">,
    Count<"endW", 16, 3, 44, "columns", "end of the result columns">,
    Count<"kH", 8, 4, 0, "taps", "kernel rows">,
    Count<"kW", 8, 4, 8, "taps", "kernel columns">,
    Count<"sH", 4, 4, 16, "rows", "stride">,
    Count<"sW", 4, 4, 20, "columns", "stride">,
    Count<"dH", 6, 4, 24, "rows", "dilation">,
    Count<"dW", 6, 4, 30, "columns", "dilation">,
    Limited<"threshold", 14, 10000, 4, 36, "1/10000", "largest difference of two tiles' metric that is met">,
    U<"rounds", 14, 4, 50, "rounds", "most rounds in which lines move">,
    S<"pH", 20, 5, 0, "rows", "padding before; negative starts inside">,
    Count<"inH", 20, 5, 20, "rows", "rows of the operand">,
    Count<"inW", 20, 5, 40, "columns", "columns of the operand">,
    S<"pW", 20, 6, 0, "columns", "padding before; negative starts inside">,
    U<"counts", 20, 6, 20, "counters", "counter of operand position (0, 0)">,
    U<"pitch", 14, 6, 40, "counters", "distance of two rows of counters">,
    Count<"capacity", 32, 7, 0, "values", "values that a counter can count: images times channels">,
    CountTo<"multipliers", 12, 4095, 7, 32, "multipliers", "P of metric cycles">
  ];
  let isaReserved = [Reserved<3, 60, 4>, Reserved<5, 60, 4>, Reserved<6, 54, 10>, Reserved<7, 44, 20>];
  let isaOperands = [
    PositionCounters<Read>,
    TileTable<Write>
  ];
}

def ISA_TccOperandOp : ISA_Op<"TccOperand", "tcc.operand", 0x5a, ["tcc"]> {
  let summary = "Write entries of a tile table whose tiles are of the operand.";
  let description = [{
    Like tcc.tile, but the grid cuts the operand: tile (i, j) is its rows [y0 +
    i*tileH, +tileH) and columns [x0 + j*tileW, +tileW), cut at inH, inW. The
    unit loads nothing else and makes partial sums of all results of [0, outH) x
    [0, outW) that a tap of the tile reaches. A drain adds the partial sums of
    the units of one group. The unit of a tile that reaches no result does
    nothing, but the drain of its group stores all results of its images.

    Example: `isa.tcc.operand(clear = 1, gridH = 2, tileH = 7, tileW = 14, endN = 1, kH = 3, kW = 3, pH = 1, pW = 1, inH = 14, inW = 14, outH = 14, outW = 14)`
  }];
  let isaWords = 7;
  let isaFields = [
    U<"table", 4, 1, 0, "table", "table written">,
    Flag<"clear", 1, 4, "units that are not named become idle">,
    U<"unit", 8, 1, 5, "unit", "first unit">,
    CountTo<"copies", 8, 64, 1, 13, "groups", "groups of units that get the same tiles">,
    Count<"gridN", 8, 1, 21, "tiles", "tiles along the images">,
    Count<"gridH", 8, 1, 29, "tiles", "tiles along the rows">,
    Count<"gridW", 8, 1, 37, "tiles", "tiles along the columns">,
    Count<"images", 8, 1, 45, "images", "images of a tile">,
    U<"n0", 16, 2, 0, "image", "first image">,
    U<"y0", 16, 2, 16, "row", "first operand row">,
    U<"x0", 16, 2, 32, "column", "first operand column">,
    Count<"endN", 16, 2, 48, "images", "images of the output">,
    CountTo<"tileH", 14, 16383, 3, 0, "rows", "operand rows of a tile">,
    CountTo<"tileW", 14, 16383, 3, 14, "columns", "operand columns of a tile">,
    Count<"outH", 16, 3, 28, "rows", "rows of the output">,
    Count<"outW", 16, 3, 44, "columns", "columns of the output">,
    Count<"kH", 8, 4, 0, "taps", "kernel rows">,
    Count<"kW", 8, 4, 8, "taps", "kernel columns">,
    Count<"sH", 4, 4, 16, "rows", "stride">,
    Count<"sW", 4, 4, 20, "columns", "stride">,
    Count<"dH", 6, 4, 24, "rows", "dilation">,
    Count<"dW", 6, 4, 30, "columns", "dilation">,
    S<"pH", 20, 5, 0, "rows", "padding before; negative starts inside">,
    Count<"inH", 20, 5, 20, "rows", "rows of the operand">,
    Count<"inW", 20, 5, 40, "columns", "columns of the operand">,
    S<"pW", 20, 6, 0, "columns", "padding before; negative starts inside">
  ];
  let isaReserved = [Reserved<1, 53, 11>, Reserved<3, 60, 4>, Reserved<4, 36, 28>, Reserved<5, 60, 4>, Reserved<6, 20, 44>];
  let isaOperands = [
    TileTable<Write>
  ];
}

def ISA_TccBindOp : ISA_Op<"TccBind", "tcc.bind", 0x5b, ["tcc"]> {
  let summary = "Give the compute units of a tile table other memory units.";
  let description = [{
    Compute unit `unit + i` takes its tiles from memory unit `memory + i`, for
    i < count: dma.tile with this table writes there, tcc.run reads there. The
    machine's `sparse.binding` must have a route, and two units with tiles
    cannot share a memory unit. A unit whose entry is overwritten has its own
    memory again.

    Example: `isa.tcc.bind(table = 1, unit = 1, memory = 0)`
  }];
  let isaWords = 2;
  let isaFields = [
    U<"table", 4, 1, 0, "table", "table changed">,
    U<"unit", 8, 1, 4, "unit", "first compute unit">,
    U<"memory", 8, 1, 12, "unit", "its memory unit">,
    Count<"count", 9, 1, 20, "units", "compute units">
  ];
  let isaReserved = [Reserved<1, 29, 35>];
  let isaOperands = [
    TileTable<Read>,
    TileTable<Write>
  ];
}

#endif // ASHLAR_ISA_CUT_OPS
