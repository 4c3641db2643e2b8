// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse cluster, tile mode: tile tables, loads of feature-map tiles, sums of
// non-zero coefficients. The drain of its accumulators is act.drain.

#ifndef ASHLAR_ISA_TCC_OPS
#define ASHLAR_ISA_TCC_OPS

include "dialects/ISA/ISABase.td"
include "dialects/ISA/ISADmaOps.td"
include "dialects/ISA/ISAPeOps.td"

def ISA_TccTileOp : ISA_Op<"TccTile", "tcc.tile", 0x50, ["tcc"]> {
  let summary = "Write entries of a tile table.";
  let description = [{
    A table has one entry for each unit: images [n, n + images), rows [y, y +
    rows) and columns [x, x + cols) of an output, and the number of the unit's
    group.

    The instruction writes a grid. With (g, a, i, j) over copies, gridN, gridH,
    gridW, j fastest, the next unit from `unit` on gets group g and the tile at
    n0 + a*images, y0 + i*tileH, x0 + j*tileW, cut at endN, endH, endW. A tile
    of which nothing is left makes its unit idle; `clear` makes all other units
    idle.

    Example: `isa.tcc.tile(table = 1, clear = 1, gridH = 2, tileH = 7, tileW = 14, endN = 1, endH = 14, endW = 14)`
  }];
  let isaWords = 4;
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
    U<"y0", 16, 2, 16, "row", "first output row">,
    U<"x0", 16, 2, 32, "column", "first output column">,
    Count<"endN", 16, 2, 48, "images", "images of the output">,
    CountTo<"tileH", 14, 16383, 3, 0, "rows", "rows of a tile">,
    CountTo<"tileW", 14, 16383, 3, 14, "columns", "columns of a tile">,
    Count<"endH", 16, 3, 28, "rows", "rows of the output">,
    Count<"endW", 16, 3, 44, "columns", "columns of the output">
  ];
  let isaReserved = [Reserved<1, 53, 11>, Reserved<3, 60, 4>];
  let isaOperands = [
    TileTable<Write>
  ];
}

def ISA_DmaTileOp
    : ISA_Op<"DmaTile", "dma.tile", 0x51, ISA_DmaQueues.names> {
  let summary = "Load input tiles of many channels into the feature-map units.";
  let description = [{
    Every unit with a tile in `table` gets, for channels i < channels, the input
    pixels that its output tile needs under the kernel. Pixel (y, x) of the
    output and tap (ky, kx) need the input (y*sH + ky*dH - pH, x*sW + kx*dW -
    pW). Outside [0, inH) x [0, inW) the input is zero and is never read. The
    source is
    `SB[part + i][offset + n*srcStrideN + y*srcStrideH + x*srcStrideW]`; group g
    of the units reads `groupStep` channels further on.

    A slot of the set holds a channel. For each image and each phase that the
    kernel uses, ((ky*dH) mod sH, (kx*dW) mod sW), it has a plane of tileH + max
    (ky*dH div sH) rows and tileW + max (kx*dW div sW) columns. Slot i starts at
    `mantissas` + i * slot bytes. An encoded feature map also brings planes of
    exponent cells, of as many elements as a slot: one for every run of `block`
    partitions that the channels touch, from `exponents` on.

    With `drained` nothing is read. The slots are zeros, and the pixels that a
    load would have read are those that drains with `kept` write there: channel
    i + g*groupStep of the operand is channel i of group g. `part` and the
    fields of the source are 0.

    Example: `isa.dma.tile(queue = dma1, channels = 8, type = bfp, mantissa = 8, block = 8, kH = 3, kW = 3, tileH = 7, tileW = 14, pH = 1, pW = 1, inH = 14, inW = 14, srcStrideH = 14, srcStrideW = 1, exponents = 4096)`
  }];
  let isaWords = 8;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    U<"table", 4, 1, 0, "table", "tile table">,
    U<"set", 4, 1, 4, "set", "buffer set written">,
    Count<"channels", 12, 1, 8, "channels", "slots loaded">,
    U<"part", 12, 1, 20, "partition", "partition of the first channel">,
    U<"offset", 24, 1, 32, "bytes", "offset of image 0, row 0, column 0">,
    E<"type", 5, ISA_ElemType, 1, 56, "stored type">,
    Limited<"mantissa", 5, 16, 2, 0, "bits", "mantissa width W of a bfp map">,
    OneOf<"block", 8, [0, 8, 16, 32, 64], 2, 5, "channels", "partitions that share a plane of cells; 0 for integers">,
    Count<"kH", 8, 2, 13, "taps", "kernel rows">,
    Count<"kW", 8, 2, 21, "taps", "kernel columns">,
    Count<"sH", 4, 2, 29, "rows", "stride">,
    Count<"sW", 4, 2, 33, "columns", "stride">,
    Count<"dH", 6, 2, 37, "rows", "dilation">,
    Count<"dW", 6, 2, 43, "columns", "dilation">,
    Count<"images", 8, 2, 49, "images", "most images of a tile">,
    CountTo<"groups", 7, 64, 2, 57, "groups", "groups of units">,
    CountTo<"tileH", 14, 16383, 3, 0, "rows", "most rows of a tile">,
    CountTo<"tileW", 14, 16383, 3, 14, "columns", "most columns of a tile">,
    Count<"inN", 16, 3, 28, "images", "images of the source">,
    S<"pH", 20, 3, 44, "rows", "padding before; negative starts inside">,
    S<"pW", 20, 4, 0, "columns", "padding before; negative starts inside">,
    Count<"inH", 20, 4, 20, "rows", "rows of the source">,
    Count<"inW", 20, 4, 40, "columns", "columns of the source">,
    S<"srcStrideN", 32, 5, 0, "bytes", "distance of two images">,
    S<"srcStrideH", 32, 5, 32, "bytes", "distance of two rows">,
    S<"srcStrideW", 32, 6, 0, "bytes", "distance of two columns">,
    S<"srcTileStride", 32, 6, 32, "bytes", "distance of two channel tiles">,
    U<"mantissas", 24, 7, 0, "bytes", "place of slot 0 in the set">,
    U<"exponents", 24, 7, 24, "bytes", "place of the first plane of cells in the set">,
    U<"groupStep", 12, 7, 48, "channels", "channels between two groups of units">,
    FlagSince<7, "drained", 1, 61, "drains write the pixels, nothing is read">
  ];
  let isaReserved = [Reserved<1, 62, 2>, Reserved<4, 60, 4>, Reserved<7, 60, 4>];
  let isaOperands = [
    TileTable<Read>,
    Tensor<"src", Read, "source", MapLoops, type="$type", mantissa="$mantissa",
           part="$part", offset="$offset",
           channels="$channels + uint64_t($groups - 1) * $groupStep",
           via="tiles", when="!$drained">,
    Computed<Write, "feature maps", "featureMaps">
  ];
}

def ISA_TccInitOp : ISA_Op<"TccInit", "tcc.init", 0x52, ["tcc"]> {
  let summary = "Start the sums of accumulator regions in all units.";
  let description = [{
    `acc[acc + z*regionStride + k] = v` for z < regions, k < count. v is 0 or,
    with fromMemory, the signed 64 bits at `WM[wm + g*wmStep + 8*z]`, where g is
    the group of the unit. Zeros take one cycle: valid bits are cleared, and the
    first sum of an entry writes instead of adding.

    Example: `isa.tcc.init(regions = 16, regionStride = 49, count = 49)`
  }];
  let isaWords = 4;
  let isaFields = [
    U<"acc", 24, 1, 0, "entries", "first accumulator entry">,
    Count<"regions", 16, 1, 24, "regions", "regions started">,
    Count<"regionStride", 20, 1, 40, "entries", "distance of two regions">,
    Count<"count", 20, 2, 0, "entries", "entries of a region">,
    Flag<"fromMemory", 2, 20, "initial values come from weight memory">,
    U<"wm", 28, 2, 21, "bytes", "values of group 0">,
    CountTo<"groups", 7, 64, 2, 49, "groups", "groups of units">,
    U<"table", 4, 2, 56, "table", "tile table that gives the groups, with fromMemory">,
    U<"wmStep", 28, 3, 0, "bytes", "distance of the values of two groups">
  ];
  let isaReserved = [Reserved<1, 60, 4>, Reserved<2, 60, 4>, Reserved<3, 28, 36>];
  let isaOperands = [
    TileTable<Read, "$fromMemory">,
    Cluster<"Wm", Read, "$wm", "8 * uint64_t($regions)",
            StridedBy<["$groups"], ["$wmStep"]>, "$fromMemory">,
    Cluster<"Acc", Write, "$acc", "$count",
            StridedBy<["$regions"], ["$regionStride"]>>
  ];
}

def ISA_TccRunOp : ISA_Op<"TccRun", "tcc.run", 0x53, ["tcc"]> {
  let summary = "Apply a stream of coefficients to the resident tiles.";
  let description = [{
    For each channel i < channels and each of its coefficients (z, ky, kx, w) in
    the stream, in turn: `acc[acc + z*regionStride + (n*tileH + y)*tileW + x] +=
    slot i [n][y*sH + ky*dH][x*sW + kx*dW] * w` for all images, rows and columns
    of each unit's tile. The slot is the one that `dma.tile` of the same
    geometry loaded. Encoded feature maps are aligned to XR[xr] when read.
    Channel i belongs to plane (phase + i) div block of the cells.

    The stream of group g of the units lies at `wm + g*wmStep` of weight memory,
    in at most `bytes` bytes (docs/CoefficientStream.md). Streams of different
    groups lie in different banks. With issueZeros the zeros of a dense stream
    are issued too.

    With scatter the units multiply non-zero data by non-zero coefficients
    (docs/SparseTiles.md 3). The sums are the same, and the time is that of
    `variant`, for the mantissas as stored. A block is blockH x blockW data of a
    phase plane; 0 is the whole plane of the tile. The header of every stream
    has the same `turn`, with which rows of taps come in snake order.

    Example: `isa.tcc.run(channels = 8, type = bfp, mantissa = 8, range = 7, block = 8, kH = 3, kW = 3, tileH = 7, tileW = 14, regions = 16, regionStride = 98, exponents = 4096, bytes = 512)`
  }];
  let isaWords = 7;
  let isaFields = [
    U<"table", 4, 1, 0, "table", "tile table">,
    U<"set", 4, 1, 4, "set", "buffer set read">,
    Count<"channels", 12, 1, 8, "channels", "slots read">,
    E<"type", 5, ISA_ElemType, 1, 20, "stored type">,
    Limited<"mantissa", 5, 16, 1, 25, "bits", "mantissa width W of a bfp map">,
    OneOf<"range", 5, [0, 1, 3, 7, 15], 1, 30, "octaves", "range D of a bfp map">,
    U<"xr", 10, 1, 35, "register", "scale exponent of the map">,
    OneOf<"block", 8, [0, 8, 16, 32, 64], 1, 45, "channels", "channels that share a plane of cells; 0 for integers">,
    E<"mode", 2, ISA_OperandMode, 1, 53, "what a lane reads">,
    Flag<"issueZeros", 1, 55, "zeros of a dense stream are issued">,
    Flag<"scatter", 1, 56, "only non-zero data is issued">,
    U<"variant", 2, 1, 57, "variant", "unit that scatters: A 0, B 1, C 2, D 3">,
    USince<8, "turn", 4, 1, 59, "rows", "with scatter: rows of taps from turn to turn in snake order; 0: ascending order">,
    Count<"kH", 8, 2, 0, "taps", "kernel rows">,
    Count<"kW", 8, 2, 8, "taps", "kernel columns">,
    Count<"sH", 4, 2, 16, "rows", "stride">,
    Count<"sW", 4, 2, 20, "columns", "stride">,
    Count<"dH", 6, 2, 24, "rows", "dilation">,
    Count<"dW", 6, 2, 30, "columns", "dilation">,
    Count<"images", 8, 2, 36, "images", "most images of a tile">,
    Limited<"phase", 6, 63, 2, 44, "channels", "channels of slot 0's block before it">,
    CountTo<"groups", 7, 64, 2, 50, "groups", "groups of units, a stream each">,
    CountTo<"tileH", 14, 16383, 3, 0, "rows", "most rows of a tile">,
    CountTo<"tileW", 14, 16383, 3, 14, "columns", "most columns of a tile, and row pitch of a region">,
    Count<"regions", 16, 3, 28, "regions", "results z are below">,
    Count<"regionStride", 20, 3, 44, "entries", "distance of two regions">,
    U<"mantissas", 24, 4, 0, "bytes", "place of slot 0 in the set">,
    U<"exponents", 24, 4, 24, "bytes", "place of the plane of cells of slot 0 in the set">,
    U<"blockH", 8, 4, 48, "rows", "rows of a block with scatter; 0: all">,
    U<"blockW", 8, 4, 56, "columns", "columns of a block with scatter; 0: all">,
    U<"acc", 24, 5, 0, "entries", "accumulator entry of region 0">,
    U<"bytes", 28, 5, 24, "bytes", "most bytes of a stream">,
    U<"wm", 28, 6, 0, "bytes", "stream of group 0">,
    U<"wmStep", 28, 6, 28, "bytes", "distance of the streams of two groups">
  ];
  let isaReserved = [Reserved<1, 63, 1>, Reserved<2, 57, 7>, Reserved<5, 52, 12>, Reserved<6, 56, 8>];
  let isaOperands = [
    TileTable<Read>,
    Computed<Read, "feature maps", "featureMaps">,
    Cluster<"Wm", Read, "$wm", "std::max(1u, $bytes)",
            StridedBy<["$groups"], ["$wmStep"]>>,
    ScaledBy,
    Cluster<"Acc", Read, "$acc", "geometryOf(x).results()",
            StridedBy<["$regions"], ["$regionStride"]>>,
    Cluster<"Acc", Write, "$acc", "geometryOf(x).results()",
            StridedBy<["$regions"], ["$regionStride"]>>
  ];
}

#endif // ASHLAR_ISA_TCC_OPS
