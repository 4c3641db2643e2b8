// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DMA queues: strided copies, fills, unpacking, gathering, compression and
// copies to places that data decide, between linear memories.

#ifndef ASHLAR_ISA_DMA_OPS
#define ASHLAR_ISA_DMA_OPS

include "dialects/ISA/ISABase.td"

def ISA_DmaQueues {
  list<string> names = ["dma0", "dma1", "dma2", "dma3"];
}

/// The cells of a compressed feature map.
def CellLoops : ISA_Loops<["$n0", "$n1"], ["0", "1"]>;

/// Images, rows and columns of a feature map.
def MapLoops : ISA_Loops<["$inN", "$inH", "$inW"], ["N", "H", "W"]>;

/// The counters of the positions of a feature map.
class PositionCounters<ISA_Effect effect, string merge = "">
    : Cluster<"Counts", effect, "$counts", "1",
              StridedBy<["$inH", "$inW"], ["$pitch", "1"]>, "", merge>;

def ISA_DmaCopyOp
    : ISA_Op<"DmaCopy", "dma.copy", 0x10, ISA_DmaQueues.names> {
  let summary = "Copy a strided pattern from one memory to another.";
  let description = [{
    For every index (i0, .., i4), i4 fastest:
    `dst[dstBase + sum i*dstStride .. +elemBytes] = src[srcBase + sum i*srcStride .. +elemBytes]`.
    A source stride of 0 repeats. Source and destination of one instruction must
    not overlap. Memory `xr` holds scale exponents as elements of 2 bytes at
    address 2 * register, so elemBytes is 2 and addresses and strides are even.

    Example: `isa.dma.copy(queue = dma1, elemBytes = 4, srcMem = dram, dstMem = sb, srcBase = 64, n4 = 16, srcStride4 = 4, dstStride4 = 4)`
  }];
  let isaWords = 14;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4, 8], 1, 0, "bytes", "element size">,
    E<"srcMem", 3, ISA_Memory, 1, 4, "source memory">,
    E<"dstMem", 3, ISA_Memory, 1, 7, "destination memory">,
    U<"srcBase", 40, 1, 10, "bytes", "source address of index 0">,
    U<"dstBase", 40, 2, 0, "bytes", "destination address of index 0">,
    Count<"n0", 20, 2, 40, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 3, 0, "elements", "count of dimension 1">,
    Count<"n2", 20, 3, 20, "elements", "count of dimension 2">,
    Count<"n3", 20, 3, 40, "elements", "count of dimension 3">,
    Count<"n4", 20, 4, 0, "elements", "count of the innermost dimension">,
    S<"srcStride0", 40, 4, 20, "bytes", "source stride of dimension 0">,
    S<"srcStride1", 40, 5, 0, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 40, 6, 0, "bytes", "source stride of dimension 2">,
    S<"srcStride3", 40, 7, 0, "bytes", "source stride of dimension 3">,
    S<"srcStride4", 40, 8, 0, "bytes", "source stride of dimension 4">,
    S<"dstStride0", 40, 9, 0, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 10, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 11, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 12, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 13, 0, "bytes", "destination stride of dimension 4">
  ];
  let isaReserved = [Reserved<1, 50, 14>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 40, 24>, Reserved<6, 40, 24>, Reserved<7, 40, 24>, Reserved<8, 40, 24>, Reserved<9, 40, 24>, Reserved<10, 40, 24>, Reserved<11, 40, 24>, Reserved<12, 40, 24>, Reserved<13, 40, 24>];
  let isaOperands = [
    Linear<"src", Read, "source", Loops5>,
    Linear<"dst", Write, "destination", Loops5>
  ];
}

def ISA_DmaFillOp
    : ISA_Op<"DmaFill", "dma.fill", 0x11, ISA_DmaQueues.names> {
  let summary = "Fill a strided pattern with one value.";
  let description = [{
    For every index (i0, .., i4):
    `dst[dstBase + sum i*dstStride .. +elemBytes]` = the low elemBytes bytes of
    `value`, little endian. Memory `xr` as in dma.copy.

    Example: `isa.dma.fill(queue = dma0, dstMem = xm, n4 = 256, dstStride4 = 1, value = "0x80")`
  }];
  let isaWords = 10;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4, 8], 1, 0, "bytes", "element size">,
    E<"dstMem", 3, ISA_Memory, 1, 4, "destination memory">,
    U<"dstBase", 40, 1, 7, "bytes", "destination address of index 0">,
    Count<"n0", 20, 2, 0, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 2, 20, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 40, "elements", "count of dimension 2">,
    Count<"n3", 20, 3, 0, "elements", "count of dimension 3">,
    Count<"n4", 20, 3, 20, "elements", "count of the innermost dimension">,
    S<"dstStride0", 40, 4, 0, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 5, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 6, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 7, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 8, 0, "bytes", "destination stride of dimension 4">,
    Bits64<"value", 9, "value written, low bytes first">
  ];
  let isaReserved = [Reserved<1, 47, 17>, Reserved<2, 60, 4>, Reserved<3, 40, 24>, Reserved<4, 40, 24>, Reserved<5, 40, 24>, Reserved<6, 40, 24>, Reserved<7, 40, 24>, Reserved<8, 40, 24>];
  let isaOperands = [
    Linear<"dst", Write, "destination", Loops5>
  ];
}

def ISA_DmaUnpackOp
    : ISA_Op<"DmaUnpack", "dma.unpack", 0x12, ISA_DmaQueues.names> {
  let summary = "Unpack a stream of W-bit codes from DRAM into SB or XM.";
  let description = [{
    The source is a stream of two's complement codes of `mantissa` bits, without
    gaps, lowest bit first, from `srcBase` on. For index (i0, .., i4), i4
    fastest, the k-th in that order:
    `dst[dstBase + sum i*dstStride .. +elemBytes]` = code k, sign-extended.
    `mantissa` is 3 to 8*elemBytes bits.

    | form | stored |
    |---|---|
    | dense | code k is bits [k*mantissa, (k+1)*mantissa) |
    | bitmap | a flag for each unit of `unit` neighbouring codes; then the codes of the units whose flag is set. `unit` divides the number of codes |
    | runs | for each stored code, the number of codes that are left out before it, in `unit` bits, then the code. All codes after the last one stored are left out |
    | exponents | every code, without a sign, for a cell of XM: code c is the cell `zero` - c, and the code of `mantissa` ones the cell -128 of a block of zeros |

    The forms bitmap and runs store `stored` codes and leave out codes with the
    value `zero`. Flags that name another number of codes than `stored`, and
    runs that reach beyond the last code, are a run-time fault; nothing is
    written then.

    With the form exponents the destination is XM, `mantissa` is 1 to 5 bits, and
    no cell may be below -127: `zero` - (2^mantissa - 2) is not. If `unit` is 1,
    dimension 3 repeats rows of n4 codes: index (i0, .., i4) has the code of (i0,
    i1, i2, i4), and n4 is at most the columns of the array. If `unit` is 2,
    dimension 4 repeats each code, for columns that share it, and dimension 2
    repeats rows of n3 codes: index (i0, .., i4) has the code of (i0, i1, i3), and
    n3 is at most the columns of the array.

    Example: `isa.dma.unpack(queue = dma0, mantissa = 5, srcBase = 64, n3 = 8, n4 = 64, dstStride3 = 65536, dstStride4 = 1)`
  }];
  let isaWords = 9;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2], 1, 0, "bytes", "size of an unpacked element">,
    Limited<"mantissa", 5, 16, 1, 4, "bits", "width W of a code">,
    U<"dstBase", 40, 1, 9, "bytes", "SB or XM address of index 0">,
    ESince<2, "form", 2, ISA_CodeForm, 1, 49, "which codes are stored">,
    USince<2, "unit", 8, 1, 51, "codes, bits", "bitmap: codes of a flag; runs: bits of a number of codes left out; exponents: 1 if dimension 3 repeats rows, 2 if dimension 2 does and 4 each code; dense: 0">,
    U<"srcBase", 40, 2, 0, "bytes", "DRAM address of the stream">,
    Count<"n0", 20, 2, 40, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 3, 0, "elements", "count of dimension 1">,
    Count<"n2", 20, 3, 20, "elements", "count of dimension 2">,
    Count<"n3", 20, 3, 40, "elements", "count of dimension 3">,
    Count<"n4", 20, 4, 0, "elements", "count of the innermost dimension">,
    S<"dstStride0", 40, 4, 20, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 5, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 6, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 7, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 8, 0, "bytes", "destination stride of dimension 4">,
    SSince<2, "zero", 16, 5, 40, "integer", "code that is left out; exponents: the largest cell">,
    USince<2, "stored", 24, 6, 40, "codes", "codes that are stored; dense and exponents: 0">
  ];
  let isaReserved = [Reserved<1, 59, 5>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 56, 8>, Reserved<7, 40, 24>, Reserved<8, 40, 24>];
  let isaOperands = [
    Codes<"src", "codes", Loops5, "$mantissa">,
    Linear<"dst", Write, "destination", Loops5, "$form == CodeForm::Exponents ? Memory::Xm : Memory::Sb">
  ];
}

def ISA_DmaGatherOp
    : ISA_Op<"DmaGather", "dma.gather", 0x13, ISA_DmaQueues.names> {
  let summary = "Copy rows of DRAM that indices in SB choose.";
  let description = [{
    For every (i0, .., i4), i4 fastest, with k the index at
    `indexBase + sum i*indexStride` in SB: `sb[dstBase + sum i*dstStride ..
    +elemBytes] = dram[srcBase + k*axisStride + sum i*srcStride .. +elemBytes]`.
    The dimensions inside the innermost one with a nonzero index stride share
    one index: they are the row. A negative index counts from `size`. An index
    outside [-size, size) is a run-time fault, as in vec.gather; nothing is
    written then.

    Example: `isa.dma.gather(queue = dma1, elemBytes = 4, indexType = i64, size = 30000, axisStride = 1024, srcBase = 64, indexBase = 128, n3 = 16, n4 = 256, srcStride4 = 4, indexStride3 = 8, dstBase = 4096, dstStride3 = 4, dstStride4 = 65536)`
  }];
  let isaWords = 21;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4, 8], 1, 0, "bytes", "element size">,
    E<"indexType", 5, ISA_ElemType, 1, 4, "stored type of the indices, i32 or i64">,
    Count<"size", 24, 1, 9, "elements", "extent of the axis that indices count along">,
    U<"srcBase", 40, 2, 0, "bytes", "DRAM address of index 0">,
    Count<"n0", 20, 2, 40, "elements", "count of the outermost dimension">,
    U<"indexBase", 40, 3, 0, "bytes", "SB address of the first index">,
    Count<"n1", 20, 3, 40, "elements", "count of dimension 1">,
    U<"dstBase", 40, 4, 0, "bytes", "SB address of the result">,
    Count<"n2", 20, 4, 40, "elements", "count of dimension 2">,
    S<"axisStride", 36, 5, 0, "bytes", "source stride of one index">,
    Count<"n3", 20, 5, 36, "elements", "count of dimension 3">,
    S<"srcStride0", 40, 6, 0, "bytes", "source stride of dimension 0">,
    Count<"n4", 20, 6, 40, "elements", "count of the innermost dimension">,
    S<"srcStride1", 40, 7, 0, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 40, 8, 0, "bytes", "source stride of dimension 2">,
    S<"srcStride3", 40, 9, 0, "bytes", "source stride of dimension 3">,
    S<"srcStride4", 40, 10, 0, "bytes", "source stride of dimension 4">,
    S<"indexStride0", 40, 11, 0, "bytes", "index stride of dimension 0">,
    S<"indexStride1", 40, 12, 0, "bytes", "index stride of dimension 1">,
    S<"indexStride2", 40, 13, 0, "bytes", "index stride of dimension 2">,
    S<"indexStride3", 40, 14, 0, "bytes", "index stride of dimension 3">,
    S<"indexStride4", 40, 15, 0, "bytes", "index stride of dimension 4">,
    S<"dstStride0", 40, 16, 0, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 17, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 18, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 19, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 20, 0, "bytes", "destination stride of dimension 4">
  ];
  let isaReserved = [Reserved<1, 33, 31>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 56, 8>, Reserved<6, 60, 4>, Reserved<7, 40, 24>, Reserved<8, 40, 24>, Reserved<9, 40, 24>, Reserved<10, 40, 24>, Reserved<11, 40, 24>, Reserved<12, 40, 24>, Reserved<13, 40, 24>, Reserved<14, 40, 24>, Reserved<15, 40, 24>, Reserved<16, 40, 24>, Reserved<17, 40, 24>, Reserved<18, 40, 24>, Reserved<19, 40, 24>, Reserved<20, 40, 24>];
  let isaOperands = [
    Linear<"src", Read, "source", Loops5, "Memory::Dram", axisCount="$size", axisStride="$axisStride">,
    Linear<"index", Read, "indices", Loops5, "Memory::Sb", "elementBytes($indexType, 0)">,
    Linear<"dst", Write, "destination", Loops5, "Memory::Sb">
  ];
}

def ISA_DmaCompressOp
    : ISA_Op<"DmaCompress", "dma.compress", 0x14, ISA_DmaQueues.names> {
  let summary = "Store parts of a map of SB in DRAM, compressed.";
  let description = [{
    For every (i0, i1), one *cell* goes to
    `dram[dstBase + i0*dstStride0 + i1*dstStride1 ..]`. A cell is the plane of
    n2*n3 rows and n4 columns whose element (i2*n3 + i3, i4) is
    `sb[srcBase + sum i*srcStride .. +elemBytes]`. Its form is that of
    docs/SparseTiles.md 4: a header with the numbers of non-zeros and of bytes,
    then what `form` says; `levels` is the depth of the quad-tree. Only an
    element with all bits zero counts as zero.

    A cell has at most 2^24 elements. Its capacity is `cellBytes` bytes, enough
    for a plane without any zero; the bytes that it does not use become zero and
    cost nothing. The bytes that it uses decide the time; without execution
    `typicalBytes` does (0: cellBytes).

    Example: `isa.dma.compress(queue = dma1, form = bitmap, dstBase = 4096, n1 = 14, n3 = 64, n4 = 14, srcStride1 = 14, srcStride3 = 65536, srcStride4 = 1, dstStride1 = 1088, cellBytes = 1032)`
  }];
  let isaWords = 12;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4], 1, 0, "bytes", "element size">,
    E<"form", 2, ISA_MapForm, 1, 4, "form of the cells">,
    U<"levels", 4, 1, 6, "levels", "depth of a quad-tree, 0 of other forms">,
    U<"srcBase", 40, 1, 10, "bytes", "SB address of index 0">,
    U<"dstBase", 40, 2, 0, "bytes", "DRAM address of the first cell">,
    Count<"n0", 20, 2, 40, "cells", "count of the outer dimension of cells">,
    Count<"n1", 20, 3, 0, "cells", "count of the inner dimension of cells">,
    Count<"n2", 20, 3, 20, "rows", "count of the outer rows of a cell">,
    Count<"n3", 20, 3, 40, "rows", "count of the inner rows of a cell">,
    Count<"n4", 20, 4, 0, "elements", "columns of a cell">,
    S<"srcStride0", 40, 4, 20, "bytes", "source stride of dimension 0">,
    S<"srcStride1", 40, 5, 0, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 40, 6, 0, "bytes", "source stride of dimension 2">,
    S<"srcStride3", 40, 7, 0, "bytes", "source stride of dimension 3">,
    S<"srcStride4", 40, 8, 0, "bytes", "source stride of dimension 4">,
    S<"dstStride0", 40, 9, 0, "bytes", "step of cells of dimension 0">,
    S<"dstStride1", 40, 10, 0, "bytes", "step of cells of dimension 1">,
    Count<"cellBytes", 32, 11, 0, "bytes", "capacity of a cell in DRAM">,
    U<"typicalBytes", 32, 11, 32, "bytes", "what a cell is expected to take">
  ];
  let isaReserved = [Reserved<1, 50, 14>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 40, 24>, Reserved<6, 40, 24>, Reserved<7, 40, 24>, Reserved<8, 40, 24>, Reserved<9, 40, 24>, Reserved<10, 40, 24>];
  let isaOperands = [
    Linear<"src", Read, "source", Loops5, "Memory::Sb", via="compressed">,
    Linear<"dst", Write, "cells", CellLoops, "Memory::Dram", "$cellBytes">
  ];
}

def ISA_DmaExpandOp
    : ISA_Op<"DmaExpand", "dma.expand", 0x15, ISA_DmaQueues.names> {
  let summary = "Expand compressed parts of a map from DRAM into SB.";
  let description = [{
    The inverse of dma.compress: the plane of cell (i0, i1) at
    `dram[srcBase + i0*srcStride0 + i1*srcStride1 ..]` gives every byte of
    `sb[dstBase + sum i*dstStride .. +elemBytes]`. The header of each cell names
    its form. It is a run-time fault if a cell has bytes that dma.compress never
    writes, or a plane of another size, of other elements or of more than
    `cellBytes` bytes. The time is that of dma.compress.

    Example: `isa.dma.expand(queue = dma1, srcBase = 4096, n1 = 14, n3 = 64, n4 = 14, srcStride1 = 1088, dstStride1 = 14, dstStride3 = 65536, dstStride4 = 1, cellBytes = 1032)`
  }];
  let isaWords = 12;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4], 1, 0, "bytes", "element size">,
    U<"dstBase", 40, 1, 4, "bytes", "SB address of index 0">,
    U<"srcBase", 40, 2, 0, "bytes", "DRAM address of the first cell">,
    Count<"n0", 20, 2, 40, "cells", "count of the outer dimension of cells">,
    Count<"n1", 20, 3, 0, "cells", "count of the inner dimension of cells">,
    Count<"n2", 20, 3, 20, "rows", "count of the outer rows of a cell">,
    Count<"n3", 20, 3, 40, "rows", "count of the inner rows of a cell">,
    Count<"n4", 20, 4, 0, "elements", "columns of a cell">,
    S<"dstStride0", 40, 4, 20, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 5, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 6, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 7, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 8, 0, "bytes", "destination stride of dimension 4">,
    S<"srcStride0", 40, 9, 0, "bytes", "step of cells of dimension 0">,
    S<"srcStride1", 40, 10, 0, "bytes", "step of cells of dimension 1">,
    Count<"cellBytes", 32, 11, 0, "bytes", "capacity of a cell in DRAM">,
    U<"typicalBytes", 32, 11, 32, "bytes", "what a cell is expected to take">
  ];
  let isaReserved = [Reserved<1, 44, 20>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 40, 24>, Reserved<6, 40, 24>, Reserved<7, 40, 24>, Reserved<8, 40, 24>, Reserved<9, 40, 24>, Reserved<10, 40, 24>];
  let isaOperands = [
    Linear<"src", Read, "cells", CellLoops, "Memory::Dram", "$cellBytes">,
    Linear<"dst", Write, "destination", Loops5, "Memory::Sb">
  ];
}

def ISA_DmaPutOp : ISA_Op<"DmaPut", "dma.put", 0x17, ISA_DmaQueues.names> {
  let summary = "Copy a strided pattern to a place in DRAM that a number chooses.";
  let description = [{
    With k the number at `indexBase` in DRAM, for every index (i0, .., i4):
    `dram[dstBase + k*axisStride + sum i*dstStride .. +elemBytes] = src[srcBase
    + sum i*srcStride .. +elemBytes]`. A k outside [0, size) is a run-time
    fault; nothing is written then. Every byte that some k allows belongs to one
    tensor that a run leaves for the next one. The source and all possible
    destinations do not overlap.

    Example: `isa.dma.put(queue = dma1, elemBytes = 4, srcMem = dram, indexType = i64, size = 256, srcBase = 64, indexBase = 0, n3 = 2, n4 = 32, srcStride3 = 128, srcStride4 = 4, dstBase = 4096, axisStride = 128, dstStride3 = 32768, dstStride4 = 4)`
  }];
  let isaWords = 16;
  let isaFields = [
    E<"queue", 4, ISA_Queue, 0, 8, "DMA queue">,
    OneOf<"elemBytes", 4, [1, 2, 4, 8], 1, 0, "bytes", "element size">,
    E<"srcMem", 3, ISA_Memory, 1, 4, "source memory, dram or sb">,
    E<"indexType", 5, ISA_ElemType, 1, 7, "stored type of the number, i32 or i64">,
    Count<"size", 24, 1, 12, "elements", "places that the number may name">,
    U<"srcBase", 40, 2, 0, "bytes", "source address of index 0">,
    Count<"n0", 20, 2, 40, "elements", "count of the outermost dimension">,
    U<"indexBase", 40, 3, 0, "bytes", "DRAM address of the number">,
    Count<"n1", 20, 3, 40, "elements", "count of dimension 1">,
    U<"dstBase", 40, 4, 0, "bytes", "DRAM address of place 0">,
    Count<"n2", 20, 4, 40, "elements", "count of dimension 2">,
    S<"axisStride", 36, 5, 0, "bytes", "destination stride of one place">,
    Count<"n3", 20, 5, 36, "elements", "count of dimension 3">,
    S<"srcStride0", 40, 6, 0, "bytes", "source stride of dimension 0">,
    Count<"n4", 20, 6, 40, "elements", "count of the innermost dimension">,
    S<"srcStride1", 40, 7, 0, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 40, 8, 0, "bytes", "source stride of dimension 2">,
    S<"srcStride3", 40, 9, 0, "bytes", "source stride of dimension 3">,
    S<"srcStride4", 40, 10, 0, "bytes", "source stride of dimension 4">,
    S<"dstStride0", 40, 11, 0, "bytes", "destination stride of dimension 0">,
    S<"dstStride1", 40, 12, 0, "bytes", "destination stride of dimension 1">,
    S<"dstStride2", 40, 13, 0, "bytes", "destination stride of dimension 2">,
    S<"dstStride3", 40, 14, 0, "bytes", "destination stride of dimension 3">,
    S<"dstStride4", 40, 15, 0, "bytes", "destination stride of dimension 4">
  ];
  let isaReserved = [Reserved<1, 36, 28>, Reserved<2, 60, 4>, Reserved<3, 60, 4>, Reserved<4, 60, 4>, Reserved<5, 56, 8>, Reserved<6, 60, 4>, Reserved<7, 40, 24>, Reserved<8, 40, 24>, Reserved<9, 40, 24>, Reserved<10, 40, 24>, Reserved<11, 40, 24>, Reserved<12, 40, 24>, Reserved<13, 40, 24>, Reserved<14, 40, 24>, Reserved<15, 40, 24>];
  let isaOperands = [
    Linear<"index", Read, "number", NoLoops, "Memory::Dram", "elementBytes($indexType, 0)">,
    Linear<"src", Read, "source", Loops5>,
    Linear<"dst", Write, "destination", Loops5, "Memory::Dram", axisCount="$size", axisStride="$axisStride">
  ];
}

#endif // ASHLAR_ISA_DMA_OPS
