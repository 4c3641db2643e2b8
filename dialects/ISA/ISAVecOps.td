// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector unit: elementwise, pooling, reductions. Channel c of a tensor is at
// partition (part + c) mod P, tile (part + c) div P, tiles tileStride apart.

#ifndef ASHLAR_ISA_VEC_OPS
#define ASHLAR_ISA_VEC_OPS

include "dialects/ISA/ISABase.td"

/// The extents of a feature map that is pooled.
class DHWLoops<string name>
    : ISA_Loops<["$" # name # "D", "$" # name # "H", "$" # name # "W"],
                ["D", "H", "W"]>;

def ISA_VecMapOp : ISA_Op<"VecMap", "vec.map", 0x40, ["vec"]> {
  let summary = "Elementwise function of one or two tensors.";
  let description = [{
    For every channel and (i0, i1, i2), i2 fastest: `dst = op(A, B)`. Float
    functions compute in binary32; integer operands with an integer result
    compute in 64-bit integers. Encoded operands are decoded exactly.

    **Encoded results** form blocks of dstBlock channels from channel 0 (0 = all
    channels). blockAdd, blockSub, blockMul and blockDiv take encoded A, B and
    result: the exact result of each element is rounded once. Three flags
    concern the exponents of blocks:

    - `cellFromXr`: the exponent of every block is `XR[dstXr]`, which is read
      and not merged. While that register is cleared, every block has its own
      exponent, as without the flag.
    - `repair`: a block whose own exponent is larger keeps it, and its mantissas
      are shifted to it. An instruction with such a block passes its operands
      twice.
    - `keepOwn`: the exponents that the blocks would have of their own merge
      into `XR[ownXr]`, including those of blocks that do not take them.

    **Scale and bias.** With `hasScale` and `hasBias` the function has
    `A * scale + bias` for A, in binary32, each step rounded. The parameters are
    binary32, one per channel.

    **Quantisation.** Each step rounds to binary32. None of these flags applies
    to binary64 or to the functions of blocks.

    - `affine`: the operands are converted to binary32 and dequantised first:
      `(A - aZero) * aScale`, and likewise a tensor B.
    - `limited`: the result of a function of two operands is limited to [alpha,
      beta], as clip does.
    - `rounded`: the result is quantised before it is stored: `/ step`, to the
      nearest integer (ties to even), + zero.

    Example: `isa.vec.map(op = add, channels = 8, n2 = 16, aType = f32, aStride2 = 4, bMode = tensor, bType = f32, bOffset = 64, bStride2 = 4, dstType = f32, dstOffset = 128, dstStride2 = 4)`
  }];
  let isaWords = 18;
  let isaFields = [
    E<"op", 8, ISA_Function, 1, 0, "function">,
    Count<"channels", 20, 1, 8, "channels", "channels computed">,
    Count<"n0", 20, 1, 28, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 2, 0, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 20, "elements", "count of the innermost dimension">,
    E<"aType", 5, ISA_ElemType, 1, 48, "stored type of A">,
    Limited<"aMantissa", 5, 16, 1, 53, "bits", "mantissa width of a bfp A">,
    U<"aPart", 12, 2, 40, "partition", "partition of channel 0 of A">,
    U<"aOffset", 24, 3, 0, "bytes", "offset of A">,
    Flag<"aBroadcastPart", 1, 58, "every channel reads channel 0 of A">,
    S<"aTileStride", 32, 3, 24, "bytes", "distance of two channel tiles of A">,
    S<"aStride0", 32, 4, 0, "bytes", "stride 0 of A">,
    S<"aStride1", 32, 4, 32, "bytes", "stride 1 of A">,
    S<"aStride2", 32, 5, 0, "bytes", "stride 2 of A">,
    E<"bMode", 2, ISA_BMode, 1, 59, "what B is">,
    E<"bType", 5, ISA_ElemType, 2, 52, "stored type of B">,
    Limited<"bMantissa", 5, 16, 2, 57, "bits", "mantissa width of a bfp B">,
    U<"bPart", 12, 5, 32, "partition", "partition of channel 0 of B">,
    U<"bOffset", 24, 6, 0, "bytes", "offset of B">,
    Flag<"bBroadcastPart", 1, 61, "every channel reads channel 0 of B">,
    S<"bTileStride", 32, 6, 24, "bytes", "distance of two channel tiles of B">,
    S<"bStride0", 32, 7, 0, "bytes", "stride 0 of B">,
    S<"bStride1", 32, 7, 32, "bytes", "stride 1 of B">,
    S<"bStride2", 32, 8, 0, "bytes", "stride 2 of B">,
    F32<"alpha", 8, 32, "first parameter of the function">,
    F32<"beta", 9, 0, "second parameter of the function, or the immediate B">,
    E<"dstType", 5, ISA_ElemType, 3, 56, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 5, 44, "bits", "mantissa width of a bfp result">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 5, 49, "channels", "block length of a bfp result, 0 = all channels">,
    U<"dstPart", 12, 9, 32, "partition", "partition of channel 0 of the result">,
    U<"dstOffset", 24, 10, 0, "bytes", "offset of the result">,
    S<"dstTileStride", 32, 10, 24, "bytes", "distance of two channel tiles of the result">,
    S<"dstStride0", 32, 11, 0, "bytes", "stride 0 of the result">,
    S<"dstStride1", 32, 11, 32, "bytes", "stride 1 of the result">,
    S<"dstStride2", 32, 12, 0, "bytes", "stride 2 of the result">,
    U<"dstXr", 10, 9, 44, "register", "scale exponent that a bfp result merges into">,
    Flag<"dstXrClear", 1, 62, "clear the register that is merged into first">,
    Flag<"cellFromXr", 2, 62, "a bfp result takes its exponent from dstXr">,
    E<"overflow", 1, ISA_Overflow, 2, 63, "mantissas beyond a given exponent">,
    Flag<"affine", 6, 56, "operands are dequantised first">,
    Flag<"limited", 6, 57, "a binary function's result is limited to [alpha, beta]">,
    Flag<"rounded", 6, 58, "the result is quantised">,
    F32<"aScale", 12, 32, "scale of A">,
    F32<"bScale", 13, 0, "scale of B">,
    F32<"step", 13, 32, "scale of a quantised result">,
    S<"aZero", 16, 14, 0, "integer", "zero point of A">,
    S<"bZero", 16, 14, 16, "integer", "zero point of B">,
    S<"zero", 16, 14, 32, "integer", "zero point of the result">,
    Flag<"hasScale", 14, 48, "A is multiplied by a scale per channel">,
    Flag<"hasBias", 14, 49, "a bias per channel is added to A">,
    Flag<"scaleBroadcastPart", 14, 50, "every channel has the scale of channel 0">,
    Flag<"biasBroadcastPart", 14, 51, "every channel has the bias of channel 0">,
    U<"scalePart", 12, 14, 52, "partition", "partition of the scale of channel 0">,
    U<"scaleOffset", 24, 15, 0, "bytes", "offset of the scales">,
    S<"scaleTileStride", 32, 15, 24, "bytes", "distance of the scales of two channel tiles">,
    U<"biasOffset", 24, 16, 0, "bytes", "offset of the biases">,
    S<"biasTileStride", 32, 16, 24, "bytes", "distance of the biases of two channel tiles">,
    U<"biasPart", 12, 17, 0, "partition", "partition of the bias of channel 0">,
    USince<2, "ownXr", 10, 17, 12, "register", "merges the exponents that the blocks have of their own">,
    FlagSince<2, "keepOwn", 17, 22, "those exponents are merged">,
    FlagSince<2, "repair", 17, 23, "a block beyond a given exponent takes its own">
  ];
  let isaReserved = [Reserved<1, 63, 1>, Reserved<3, 61, 3>, Reserved<5, 57, 7>, Reserved<6, 59, 5>, Reserved<9, 54, 10>, Reserved<10, 56, 8>, Reserved<15, 56, 8>, Reserved<16, 56, 8>, Reserved<17, 24, 40>];
  let isaOperands = [
    Tensor<"a", Read, "A", Loops3>,
    Tensor<"b", Read, "B", Loops3, "$bMode == BMode::Tensor">,
    Tensor<"scale", Read, "scale", NoLoops, "$hasScale", "ElemType::F32">,
    Tensor<"bias", Read, "bias", NoLoops, "$hasBias", "ElemType::F32">,
    Tensor<"dst", Write, "result", Loops3>,
    Scale<"dst", given="$cellFromXr", keepOwn="$keepOwn">,
    Xr<Write, "$ownXr", "$keepOwn", "!$dstXrClear">
  ];
}

def ISA_VecPoolOp : ISA_Op<"VecPool", "vec.pool", 0x41, ["vec"]> {
  let summary = "Reduction over a window of up to three dimensions.";
  let description = [{
    Output (od, oh, ow) reduces the window positions whose input coordinate
    `od*sD - pD + kd*dD` (likewise H and W) lies inside [0, inD), in ascending
    d, h, w. avg divides by the number of window positions whose coordinates lie
    in [clo, chi), multiplied over the dimensions. Sums are binary32. Given
    exponents (`cellFromXr`) are as those of vec.map.

    Example: `isa.vec.pool(kind = max, channels = 8, srcType = f32, srcStrideH = 32, srcStrideW = 4, inD = 1, inH = 8, inW = 8, outH = 4, outW = 4, kH = 2, kW = 2, sH = 2, sW = 2, dstType = f32, dstOffset = 256, dstStrideH = 16, dstStrideW = 4)`
  }];
  let isaWords = 14;
  let isaFields = [
    E<"kind", 2, ISA_PoolKind, 1, 0, "reduction">,
    Count<"channels", 20, 1, 2, "channels", "channels computed">,
    E<"srcType", 5, ISA_ElemType, 1, 22, "stored type of the source">,
    Limited<"srcMantissa", 5, 16, 1, 27, "bits", "mantissa width of a bfp source">,
    U<"srcPart", 12, 1, 32, "partition", "partition of channel 0 of the source">,
    U<"srcOffset", 24, 2, 0, "bytes", "offset of the source">,
    S<"srcTileStride", 32, 2, 24, "bytes", "distance of two channel tiles of the source">,
    S<"srcStrideD", 32, 3, 0, "bytes", "source stride of d">,
    S<"srcStrideH", 32, 3, 32, "bytes", "source stride of h">,
    S<"srcStrideW", 32, 4, 0, "bytes", "source stride of w">,
    S<"inD", 20, 1, 44, "elements", "source extent of d">,
    S<"inH", 20, 4, 32, "elements", "source extent of h">,
    S<"inW", 20, 5, 0, "elements", "source extent of w">,
    Count<"outD", 20, 5, 20, "elements", "result extent of d">,
    Count<"outH", 20, 5, 40, "elements", "result extent of h">,
    Count<"outW", 20, 6, 0, "elements", "result extent of w">,
    Count<"kD", 12, 4, 52, "elements", "window extent of d">,
    Count<"kH", 12, 6, 20, "elements", "window extent of h">,
    Count<"kW", 12, 6, 32, "elements", "window extent of w">,
    Count<"sD", 12, 6, 44, "elements", "window step of d">,
    Count<"sH", 12, 7, 0, "elements", "window step of h">,
    Count<"sW", 12, 7, 12, "elements", "window step of w">,
    Count<"dD", 12, 7, 24, "elements", "window dilation of d">,
    Count<"dH", 12, 7, 36, "elements", "window dilation of h">,
    Count<"dW", 12, 7, 48, "elements", "window dilation of w">,
    S<"pD", 20, 8, 0, "elements", "padding before d, negative for bands">,
    S<"pH", 20, 8, 20, "elements", "padding before h, negative for bands">,
    S<"pW", 20, 8, 40, "elements", "padding before w, negative for bands">,
    S<"cloD", 20, 9, 0, "coordinate", "first d that avg counts">,
    S<"chiD", 20, 9, 20, "coordinate", "first d beyond those that avg counts">,
    S<"cloH", 20, 9, 40, "coordinate", "first h that avg counts">,
    S<"chiH", 20, 10, 0, "coordinate", "first h beyond those that avg counts">,
    S<"cloW", 20, 10, 20, "coordinate", "first w that avg counts">,
    S<"chiW", 20, 10, 40, "coordinate", "first w beyond those that avg counts">,
    E<"dstType", 5, ISA_ElemType, 2, 56, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 6, 56, "bits", "mantissa width of a bfp result">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 11, 0, "channels", "block length of a bfp result, 0 = all channels">,
    U<"dstPart", 12, 11, 8, "partition", "partition of channel 0 of the result">,
    U<"dstOffset", 24, 11, 20, "bytes", "offset of the result">,
    S<"dstTileStride", 32, 12, 0, "bytes", "distance of two channel tiles of the result">,
    S<"dstStrideD", 32, 12, 32, "bytes", "result stride of d">,
    S<"dstStrideH", 32, 13, 0, "bytes", "result stride of h">,
    S<"dstStrideW", 32, 13, 32, "bytes", "result stride of w">,
    U<"dstXr", 10, 11, 44, "register", "scale exponent that a bfp result merges into">,
    Flag<"dstXrClear", 2, 61, "clear that register first">,
    FlagSince<2, "cellFromXr", 2, 62, "a bfp result takes its exponent from dstXr">,
    ESince<2, "overflow", 1, ISA_Overflow, 2, 63, "mantissas beyond a given exponent">,
    USince<2, "ownXr", 10, 11, 54, "register", "merges the exponents that the blocks have of their own">,
    FlagSince<2, "keepOwn", 5, 60, "those exponents are merged">,
    FlagSince<2, "repair", 5, 61, "a block beyond a given exponent takes its own">
  ];
  let isaReserved = [Reserved<5, 62, 2>, Reserved<6, 61, 3>, Reserved<7, 60, 4>, Reserved<8, 60, 4>, Reserved<9, 60, 4>, Reserved<10, 60, 4>];
  let isaOperands = [
    Tensor<"src", Read, "source", DHWLoops<"in">, via="pooled">,
    Tensor<"dst", Write, "result", DHWLoops<"out">>,
    Scale<"dst", given="$cellFromXr", keepOwn="$keepOwn">,
    Xr<Write, "$ownXr", "$keepOwn", "!$dstXrClear">
  ];
}

def ISA_VecReduceOp : ISA_Op<"VecReduce", "vec.reduce", 0x42, ["vec"]> {
  let summary = "Reduction over up to two free dimensions.";
  let description = [{
    For every channel and (o0, o1): reduces over r0, then r1 fastest, ascending.
    mean is the sum divided by the count. argmax and argmin give r0*R1 + r1 of
    the first extremum, or of the last one with selectLast. Given exponents
    (`cellFromXr`) are as those of vec.map.

    Example: `isa.vec.reduce(kind = mean, channels = 8, r0 = 4, r1 = 4, srcType = f32, srcStrideR0 = 16, srcStrideR1 = 4, dstType = f32, dstOffset = 64)`
  }];
  let isaWords = 9;
  let isaFields = [
    E<"kind", 4, ISA_ReduceKind, 1, 0, "reduction">,
    Flag<"selectLast", 1, 4, "argmax, argmin: the last extremum wins">,
    Count<"channels", 20, 1, 5, "channels", "channels computed">,
    Count<"o0", 20, 1, 25, "elements", "count of the outer result dimension">,
    Count<"o1", 20, 2, 0, "elements", "count of the inner result dimension">,
    Count<"r0", 20, 2, 20, "elements", "count of the outer reduced dimension">,
    Count<"r1", 20, 2, 40, "elements", "count of the inner reduced dimension">,
    E<"srcType", 5, ISA_ElemType, 1, 45, "stored type of the source">,
    Limited<"srcMantissa", 5, 16, 1, 50, "bits", "mantissa width of a bfp source">,
    U<"srcPart", 12, 3, 0, "partition", "partition of channel 0 of the source">,
    U<"srcOffset", 24, 3, 12, "bytes", "offset of the source">,
    S<"srcTileStride", 32, 4, 0, "bytes", "distance of two channel tiles of the source">,
    S<"srcStrideO0", 32, 4, 32, "bytes", "source stride of o0">,
    S<"srcStrideO1", 32, 5, 0, "bytes", "source stride of o1">,
    S<"srcStrideR0", 32, 5, 32, "bytes", "source stride of r0">,
    S<"srcStrideR1", 32, 6, 0, "bytes", "source stride of r1">,
    E<"dstType", 5, ISA_ElemType, 1, 55, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 3, 36, "bits", "mantissa width of a bfp result">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 3, 41, "channels", "block length of a bfp result, 0 = all channels">,
    U<"dstPart", 12, 3, 49, "partition", "partition of channel 0 of the result">,
    U<"dstOffset", 24, 6, 32, "bytes", "offset of the result">,
    S<"dstTileStride", 32, 7, 0, "bytes", "distance of two channel tiles of the result">,
    S<"dstStrideO0", 32, 7, 32, "bytes", "result stride of o0">,
    S<"dstStrideO1", 32, 8, 0, "bytes", "result stride of o1">,
    U<"dstXr", 10, 8, 32, "register", "scale exponent that a bfp result merges into">,
    Flag<"dstXrClear", 1, 60, "clear that register first">,
    FlagSince<2, "cellFromXr", 8, 52, "a bfp result takes its exponent from dstXr">,
    ESince<2, "overflow", 1, ISA_Overflow, 8, 53, "mantissas beyond a given exponent">,
    USince<2, "ownXr", 10, 8, 42, "register", "merges the exponents that the blocks have of their own">,
    FlagSince<2, "keepOwn", 8, 54, "those exponents are merged">,
    FlagSince<2, "repair", 8, 55, "a block beyond a given exponent takes its own">
  ];
  let isaReserved = [Reserved<1, 61, 3>, Reserved<2, 60, 4>, Reserved<3, 61, 3>, Reserved<6, 56, 8>, Reserved<8, 56, 8>];
  let isaOperands = [
    Tensor<"src", Read, "source",
           ISA_Loops<["$o0", "$o1", "$r0", "$r1"], ["O0", "O1", "R0", "R1"]>>,
    Tensor<"dst", Write, "result", ISA_Loops<["$o0", "$o1"], ["O0", "O1"]>>,
    Scale<"dst", given="$cellFromXr", keepOwn="$keepOwn">,
    Xr<Write, "$ownXr", "$keepOwn", "!$dstXrClear">
  ];
}

def ISA_VecReduceChannelsOp
    : ISA_Op<"VecReduceChannels", "vec.reduce_channels", 0x43, ["vec"]> {
  let summary = "Reduction over the channels.";
  let description = [{
    For every (i0, i1, i2): reduces over the channels, ascending; one result
    channel at partition dstPart.

    Example: `isa.vec.reduce_channels(kind = max, channels = 8, n2 = 16, srcType = f32, srcStride2 = 4, dstType = f32, dstOffset = 64, dstStride2 = 4)`
  }];
  let isaWords = 8;
  let isaFields = [
    E<"kind", 4, ISA_ReduceKind, 1, 0, "reduction">,
    Flag<"selectLast", 1, 4, "argmax, argmin: the last extremum wins">,
    Count<"channels", 20, 1, 5, "channels", "channels reduced">,
    Count<"n0", 20, 1, 25, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 2, 0, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 20, "elements", "count of the innermost dimension">,
    E<"srcType", 5, ISA_ElemType, 1, 45, "stored type of the source">,
    Limited<"srcMantissa", 5, 16, 1, 50, "bits", "mantissa width of a bfp source">,
    U<"srcPart", 12, 2, 40, "partition", "partition of channel 0 of the source">,
    U<"srcOffset", 24, 3, 0, "bytes", "offset of the source">,
    S<"srcTileStride", 32, 3, 24, "bytes", "distance of two channel tiles of the source">,
    S<"srcStride0", 32, 4, 0, "bytes", "source stride of dimension 0">,
    S<"srcStride1", 32, 4, 32, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 32, 5, 0, "bytes", "source stride of dimension 2">,
    E<"dstType", 5, ISA_ElemType, 1, 55, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 2, 52, "bits", "mantissa width of a bfp result">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 3, 56, "channels", "block length of a bfp result">,
    U<"dstPart", 12, 5, 32, "partition", "partition of the result">,
    U<"dstOffset", 24, 6, 0, "bytes", "offset of the result">,
    S<"dstStride0", 32, 6, 24, "bytes", "result stride of dimension 0">,
    S<"dstStride1", 32, 7, 0, "bytes", "result stride of dimension 1">,
    S<"dstStride2", 32, 7, 32, "bytes", "result stride of dimension 2">,
    U<"dstXr", 10, 5, 44, "register", "scale exponent that a bfp result merges into">,
    Flag<"dstXrClear", 1, 60, "clear that register first">
  ];
  let isaReserved = [Reserved<1, 61, 3>, Reserved<2, 57, 7>, Reserved<5, 54, 10>, Reserved<6, 56, 8>];
  let isaOperands = [
    Tensor<"src", Read, "source", Loops3>,
    Tensor<"dst", Write, "result", Loops3, channels="1">,
    Scale<"dst">
  ];
}

def ISA_VecGatherOp : ISA_Op<"VecGather", "vec.gather", 0x44, ["vec"]> {
  let summary = "Elements chosen by a tensor of indices.";
  let description = [{
    For every channel and (i0, i1, i2), with k the index at this position:
    `dst[i0, i1, i2] = src[i0, i1, i2]` displaced by `k * axisStride` bytes.
    Moves bits; there are no encoded types. A negative index counts from `size`.
    An index outside [-size, size) is a run-time fault.

    Example: `isa.vec.gather(channels = 8, n2 = 3, type = f32, size = 16, axisStride = 4, indexType = i64, indexBroadcastPart = 1, indexOffset = 64, indexStride2 = 8, dstOffset = 128, dstStride2 = 4)`
  }];
  let isaWords = 12;
  let isaFields = [
    Count<"channels", 20, 1, 0, "channels", "channels computed">,
    Count<"n0", 20, 1, 20, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 1, 40, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 0, "elements", "count of the innermost dimension">,
    Flag<"srcBroadcastPart", 1, 60, "every channel reads channel 0 of the source">,
    Flag<"indexBroadcastPart", 1, 61, "every channel reads channel 0 of the indices">,
    Count<"size", 20, 2, 20, "elements", "extent of the axis that indices count along">,
    E<"type", 5, ISA_ElemType, 2, 52, "stored type of source and result">,
    E<"indexType", 5, ISA_ElemType, 2, 57, "stored type of the indices, i32 or i64">,
    U<"srcPart", 12, 2, 40, "partition", "partition of channel 0 of the source">,
    U<"srcOffset", 24, 3, 0, "bytes", "offset of the source">,
    S<"srcTileStride", 32, 3, 24, "bytes", "distance of two channel tiles of the source">,
    S<"srcStride0", 32, 4, 0, "bytes", "source stride of dimension 0">,
    S<"srcStride1", 32, 4, 32, "bytes", "source stride of dimension 1">,
    S<"srcStride2", 32, 5, 0, "bytes", "source stride of dimension 2">,
    S<"axisStride", 32, 5, 32, "bytes", "source stride of one index">,
    U<"indexPart", 12, 8, 32, "partition", "partition of channel 0 of the indices">,
    U<"indexOffset", 24, 6, 0, "bytes", "offset of the indices">,
    S<"indexTileStride", 32, 6, 24, "bytes", "distance of two channel tiles of the indices">,
    S<"indexStride0", 32, 7, 0, "bytes", "index stride of dimension 0">,
    S<"indexStride1", 32, 7, 32, "bytes", "index stride of dimension 1">,
    S<"indexStride2", 32, 8, 0, "bytes", "index stride of dimension 2">,
    U<"dstPart", 12, 8, 44, "partition", "partition of channel 0 of the result">,
    U<"dstOffset", 24, 9, 0, "bytes", "offset of the result">,
    S<"dstTileStride", 32, 9, 24, "bytes", "distance of two channel tiles of the result">,
    S<"dstStride0", 32, 10, 0, "bytes", "result stride of dimension 0">,
    S<"dstStride1", 32, 10, 32, "bytes", "result stride of dimension 1">,
    S<"dstStride2", 32, 11, 0, "bytes", "result stride of dimension 2">
  ];
  let isaReserved = [Reserved<1, 62, 2>, Reserved<2, 62, 2>, Reserved<3, 56, 8>, Reserved<6, 56, 8>, Reserved<8, 56, 8>, Reserved<9, 56, 8>, Reserved<11, 32, 32>];
  let isaOperands = [
    Tensor<"src", Read, "source", Loops3, type="$type", axisCount="$size",
           axisStride="$axisStride">,
    Tensor<"index", Read, "indices", Loops3>,
    Tensor<"dst", Write, "result", Loops3, type="$type">
  ];
}

def ISA_VecStatOp : ISA_Op<"VecStat", "vec.stat", 0x45, ["vec"]> {
  let summary = "Sample the magnitudes of an encoded tensor.";
  let description = [{
    Adds every element, once, to `SR[sr]`: count, exact sums of |m| and m^2 for
    each step exponent, the largest magnitude.

    Example: `isa.vec.stat(channels = 8, n2 = 16, type = bfp, mantissa = 8, stride2 = 1, sr = 1, clear = 1)`
  }];
  let isaWords = 6;
  let isaFields = [
    Count<"channels", 20, 1, 0, "channels", "channels read">,
    Count<"n0", 20, 1, 20, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 1, 40, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 0, "elements", "count of the innermost dimension">,
    E<"type", 5, ISA_ElemType, 2, 20, "stored type of the source">,
    Limited<"mantissa", 5, 16, 2, 25, "bits", "mantissa width of a bfp source">,
    U<"part", 12, 2, 30, "partition", "partition of channel 0 of the source">,
    U<"offset", 24, 3, 0, "bytes", "offset of the source">,
    S<"tileStride", 32, 3, 24, "bytes", "distance of two channel tiles of the source">,
    S<"stride0", 32, 4, 0, "bytes", "source stride of dimension 0">,
    S<"stride1", 32, 4, 32, "bytes", "source stride of dimension 1">,
    S<"stride2", 32, 5, 0, "bytes", "source stride of dimension 2">,
    U<"sr", 6, 2, 42, "register", "statistics register">,
    Flag<"clear", 2, 48, "forget the samples before">
  ];
  let isaReserved = [Reserved<1, 60, 4>, Reserved<2, 49, 15>, Reserved<3, 56, 8>, Reserved<5, 32, 32>];
  let isaOperands = [
    Tensor<"", Read, "source", Loops3>,
    Sr<Write, "$sr", "!$clear">
  ];
}

def ISA_VecMeasureOp : ISA_Op<"VecMeasure", "vec.measure", 0x46, ["vec"]> {
  let summary = "Merge the range of a float tensor into a scale exponent.";
  let description = [{
    `XR[xr] = max(XR[xr], lead(log2 a) - (mantissa - 2))`, where a is the
    largest finite magnitude, of f64 as binary32, and the logarithm is limited to [-127, 127].
    Nothing changes if a is zero or rounds to zero under that exponent.

    Example: `isa.vec.measure(channels = 8, n2 = 16, type = f32, mantissa = 8, stride2 = 4, xr = 3, clear = 1)`
  }];
  let isaWords = 6;
  let isaFields = [
    Count<"channels", 20, 1, 0, "channels", "channels read">,
    Count<"n0", 20, 1, 20, "elements", "count of the outermost dimension">,
    Count<"n1", 20, 1, 40, "elements", "count of dimension 1">,
    Count<"n2", 20, 2, 0, "elements", "count of the innermost dimension">,
    E<"type", 5, ISA_ElemType, 2, 20, "stored type of the source">,
    Limited<"mantissa", 5, 16, 2, 25, "bits", "mantissa width W that the exponent is for">,
    U<"part", 12, 2, 30, "partition", "partition of channel 0 of the source">,
    U<"offset", 24, 3, 0, "bytes", "offset of the source">,
    S<"tileStride", 32, 3, 24, "bytes", "distance of two channel tiles of the source">,
    S<"stride0", 32, 4, 0, "bytes", "source stride of dimension 0">,
    S<"stride1", 32, 4, 32, "bytes", "source stride of dimension 1">,
    S<"stride2", 32, 5, 0, "bytes", "source stride of dimension 2">,
    U<"xr", 10, 2, 42, "register", "scale exponent merged into">,
    E<"lead", 1, ISA_Lead, 2, 52, "rounding of the logarithm">,
    Flag<"clear", 2, 53, "clear that register first">
  ];
  let isaReserved = [Reserved<1, 60, 4>, Reserved<2, 54, 10>, Reserved<3, 56, 8>, Reserved<5, 32, 32>];
  let isaOperands = [
    Tensor<"", Read, "source", Loops3>,
    Xr<Write, "$xr", merge="!$clear">
  ];
}

def ISA_VecDrainOp : ISA_Op<"VecDrain", "vec.drain", 0x47, ["vec"]> {
  let summary = "Reduction over windows of PSUM entries, through the epilogue.";
  let description = [{
    Entry (h, w) of column c < cols is `PSUM[c][psum + h*psumStride + w]`, h < inH,
    w < inW. Its value is what act.drain would store of it, as a type srcType: in
    mode f32 by the scale exponents, `hasExp`, `hasScale`, `hasBias` and function,
    encoded in blocks of srcBlock columns if srcType is bfp; in mode int
    as an integer of srcType, with `hasScale` requantised. No other mode is legal.
    The result (oh, ow) of a column reduces its window as vec.pool does, with
    coordinates `oh*sH - pH + kh*dH` inside [0, inH), likewise W; avg divides by
    the positions in [clo, chi) along H and W. It is stored at
    `SB[dstPart + c][dstOffset + oh*dstStrideH + ow*dstStrideW]`; blocks of
    dstBlock columns begin at column 0. Parameter records are those of act.drain.

    Example: `isa.vec.drain(kind = max, cols = 8, inH = 4, inW = 8, psumStride = 8, shift = -14, outH = 2, outW = 4, kH = 2, kW = 2, sH = 2, sW = 2, dstType = f32, dstStrideH = 16, dstStrideW = 4)`
  }];
  let isaSince = 5;
  let isaWords = 12;
  let isaFields = [
    U<"psum", 20, 1, 0, "entries", "first PSUM entry">,
    S<"psumStride", 20, 1, 20, "entries", "PSUM stride of a row">,
    Count<"cols", 12, 1, 40, "columns", "columns drained">,
    E<"kind", 2, ISA_PoolKind, 1, 52, "reduction">,
    E<"mode", 2, ISA_DrainMode, 1, 54, "what becomes of an entry">,
    Flag<"hasScale", 1, 56, "multiply by the record's scale">,
    Flag<"hasBias", 1, 57, "add the record's bias">,
    Flag<"hasExp", 1, 58, "add the record's EW to the exponent">,
    Flag<"alphaFromParam", 1, 59, "alpha comes from the record">,
    Flag<"dstXrClear", 1, 60, "clear the register that is merged into first">,
    Count<"inH", 20, 2, 0, "entries", "extent of h of the entries">,
    Count<"inW", 20, 2, 20, "entries", "extent of w of the entries">,
    OneOf<"srcBlock", 8, [0, 8, 16, 32, 64], 2, 40, "columns", "block length of a bfp value, else 0">,
    E<"srcType", 5, ISA_ElemType, 2, 48, "type of an entry's value">,
    Limited<"srcMantissa", 5, 16, 2, 53, "bits", "mantissa width of a bfp value">,
    Count<"outH", 20, 3, 0, "elements", "result extent of h">,
    Count<"outW", 20, 3, 20, "elements", "result extent of w">,
    Count<"kH", 12, 3, 40, "elements", "window extent of h">,
    Count<"kW", 12, 3, 52, "elements", "window extent of w">,
    Count<"sH", 12, 4, 0, "elements", "window step of h">,
    Count<"sW", 12, 4, 12, "elements", "window step of w">,
    Count<"dH", 12, 4, 24, "elements", "window dilation of h">,
    Count<"dW", 12, 4, 36, "elements", "window dilation of w">,
    E<"dstType", 5, ISA_ElemType, 4, 48, "stored type of the result">,
    Limited<"dstMantissa", 5, 16, 4, 53, "bits", "mantissa width of a bfp result">,
    S<"pH", 20, 5, 0, "elements", "padding before h, negative for bands">,
    S<"pW", 20, 5, 20, "elements", "padding before w, negative for bands">,
    OneOf<"dstBlock", 8, [0, 8, 16, 32, 64], 5, 40, "columns", "block length of a bfp result, else 0">,
    E<"function", 6, ISA_Function, 5, 48, "unary function of an entry">,
    S<"cloH", 20, 6, 0, "coordinate", "first h that avg counts">,
    S<"chiH", 20, 6, 20, "coordinate", "first h beyond those that avg counts">,
    U<"xrA", 10, 6, 40, "register", "scale exponent of the moving operand">,
    U<"xrS", 10, 6, 50, "register", "scale exponent of the stationary operand">,
    S<"cloW", 20, 7, 0, "coordinate", "first w that avg counts">,
    S<"chiW", 20, 7, 20, "coordinate", "first w beyond those that avg counts">,
    U<"dstXr", 10, 7, 40, "register", "scale exponent that a bfp result merges into">,
    U<"paramPart", 12, 7, 50, "partition", "parameter record of column 0">,
    U<"paramOffset", 24, 8, 0, "bytes", "offset of the parameter records">,
    S<"shift", 16, 8, 24, "octaves", "-(DA + DS); in mode int the zero point of a requantised value">,
    U<"dstPart", 12, 8, 40, "partition", "partition of column 0 of the result">,
    F32<"alpha", 9, 0, "first parameter of the function">,
    F32<"beta", 9, 32, "second parameter of the function">,
    U<"dstOffset", 24, 10, 0, "bytes", "offset of the result">,
    S<"dstStrideH", 32, 10, 24, "bytes", "result stride of h">,
    S<"dstStrideW", 32, 11, 0, "bytes", "result stride of w">
  ];
  let isaReserved = [Reserved<1, 61, 3>, Reserved<2, 58, 6>, Reserved<4, 58, 6>, Reserved<5, 54, 10>, Reserved<6, 60, 4>, Reserved<7, 62, 2>, Reserved<8, 52, 12>, Reserved<10, 56, 8>, Reserved<11, 32, 32>];
  let isaOperands = [
    Psum<Read, StridedBy<["$inH", "$inW"], ["$psumStride", "1"]>>,
    Xr<Read, "$xrA", "$mode == DrainMode::F32">,
    Xr<Read, "$xrS", "$mode == DrainMode::F32">,
    Rows<"param", Read, "parameters", StridedBy<["1"], ["16"]>,
         "$hasScale || $hasBias || $hasExp || $alphaFromParam", "$cols", "16">,
    Tensor<"dst", Write, "result",
           StridedBy<["$outH", "$outW"], ["$dstStrideH", "$dstStrideW"]>,
           channels="$cols">,
    Scale<"dst">
  ];
}

#endif // ASHLAR_ISA_VEC_OPS
