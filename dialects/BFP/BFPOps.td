// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the `bfp` dialect. Constraint labels `<op>_c<n>` are repeated
// at the line of BFPVerify.cpp (or the trait) that enforces them and in the
// tests. Semantics: docs/Numerics.md 2 (encode), 4 (accumulate), 6 (epilogue).

#ifndef ASHLAR_DIALECTS_BFP_BFPOPS_TD
#define ASHLAR_DIALECTS_BFP_BFPOPS_TD

include "dialects/BFP/BFPAttrs.td"
include "dialects/BFP/BFPTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class BFP_Op<string mnemonic, list<Trait> traits = []>
    : Op<BFP_Dialect, mnemonic, !listconcat([Pure], traits)>;

def BFP_EncodeOp : BFP_Op<"encode"> {
  let summary = "Float tensor to blocks";
  let description = [{
    Rounds each element once, to nearest even, to the block format of the
    result type (docs/Numerics.md 2). With `weights` the operand is a constant
    that a multiplying op takes as weights: every output channel then owns a
    scale exponent; without it the result is one encode event with one scale
    exponent (docs/Numerics.md 5).

    * encode_c1: operand and result have the same shape;
    * encode_c2: the result's block axis is a dimension of the tensor;
    * encode_c3: only `weights` have rows that share exponents.

    ```mlir
    %1 = bfp.encode %0 : tensor<1x3x8x8xf32> -> tensor<1x3x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
    ```
  }];
  let arguments = (ins BFP_FloatTensor:$input, UnitAttr:$weights);
  let results = (outs BFP_BlockTensor:$output);
  let assemblyFormat =
      "$input (`weights` $weights^)? attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BFP_DecodeOp : BFP_Op<"decode"> {
  let summary = "Blocks to floats, exactly";
  let description = [{
    `m * 2^e` as binary32, which is exact for every format. `encode` of a
    `decode` of the same type is the value itself; `decode` of an `encode` is
    not: encode rounds.

    * decode_c1: operand and result have the same shape;
    * decode_c2: the operand's block axis is a dimension of the tensor.

    ```mlir
    %1 = bfp.decode %0 : tensor<1x32x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>> -> tensor<1x32xf32>
    ```
  }];
  let arguments = (ins BFP_BlockTensor:$input);
  let results = (outs BFP_TensorOf<[F32]>:$output);
  let assemblyFormat =
      "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def BFP_ConvOp : BFP_Op<"conv", [AttrSizedOperandSegments]> {
  let summary = "Convolution with exact accumulation and a fixed epilogue";
  let description = [{
    `v = f32(sum x * w)`, `v *= scale[o]`, `v += bias[o]`, `v += residual`,
    `v = function(v; alpha, beta)`, conversion to the result's storage: in this
    order, each step rounded to nearest even in binary32
    (docs/Numerics.md 6). With `slope` alpha is slope[o]. Layouts: x
    `[N, C, spatial...]`, w `[O, C / group, kernel...]`, result `[N, O, spatial...]`; pads are all
    begins, then all ends. x and w are both encoded, or, before formats are
    chosen, both floats.

    * conv_c1: x, w and result have one rank, 3 to 5;
    * conv_c2: strides, dilations (one per spatial dimension, positive) and
      pads (two per spatial dimension, not negative);
    * conv_c3: channels of x = group * channels of w; group divides outputs;
    * conv_c4: the result's shape follows from the operands and attributes;
    * conv_c5: x and w are both encoded, along dimension 1, or both floats;
    * conv_c6: bias and scale have one element per output channel;
    * conv_c7: residual has the result's shape;
    * conv_c8: function is a unary function of docs/Numerics.md;
    * conv_c9: with `integer_epilogue` the sum, the bias and the residual are
      added as integers at one exponent and encoded with one rounding
      (docs/Numerics.md 6): the result is encoded in blocks shorter than a row,
      the residual is encoded, there is no scale, and the function is copy,
      relu, or clip between numbers;
    * conv_c10: slope has one element per output channel, and the function is
      leakyRelu.

    ```mlir
    %r = bfp.conv %x, %w bias(%b) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu"}
      : (tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
    ```
  }];
  let arguments = (ins BFP_StorageTensor:$x, BFP_StorageTensor:$w,
      Optional<BFP_ChannelTensor>:$bias, Optional<BFP_ChannelTensor>:$scale,
      Optional<BFP_ChannelTensor>:$slope,
      Optional<BFP_StorageTensor>:$residual,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
      DefaultValuedStrAttr<StrAttr, "copy">:$function,
      DefaultValuedAttr<F32Attr, "0.0f">:$alpha,
      DefaultValuedAttr<F32Attr, "0.0f">:$beta, UnitAttr:$integer_epilogue);
  let results = (outs BFP_StorageTensor:$output);
  let assemblyFormat = [{
    $x `,` $w (`bias` `(` $bias^ `)`)? (`scale` `(` $scale^ `)`)?
    (`slope` `(` $slope^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// K: products summed into one accumulator (docs/Numerics.md 4).
    int64_t getAccumulationLength();
  }];
}

def BFP_RequantiseConvOp : BFP_Op<"requantise_conv"> {
  let summary = "Convolution of integers, rounded once to integers of 8 bits";
  let description = [{
    `v = f32(sum x * w + bias[o])`, `v *= scale[o]`, `v = function(v)`,
    `saturate(rne(v) + zero_point)`: docs/Numerics.md 12 in one operation. The
    sum and the bias are exact; layouts as `bfp.conv`.

    * requantise_conv_c1: x and w are integers of 8 or 16 bits, the result of 8;
    * requantise_conv_c2: the result's shape follows from operands and
      attributes;
    * requantise_conv_c3: scale and bias have one element per output channel;
    * requantise_conv_c4: function is copy or relu;
    * requantise_conv_c5: zero_point is a value of the result's type.

    ```mlir
    %r = bfp.requantise_conv %x, %w, %scale, %bias {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, function = "relu", zero_point = 3 : i64}
      : (tensor<1x16x4x4xui8>, tensor<8x16x1x1xi8>, tensor<8xf32>, tensor<8xi32>) -> tensor<1x8x4x4xui8>
    ```
  }];
  let arguments = (ins BFP_IntegerTensor:$x, BFP_IntegerTensor:$w,
      BFP_ChannelTensor:$scale, Optional<BFP_TensorOf<[I32]>>:$bias,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
      DefaultValuedStrAttr<StrAttr, "copy">:$function, I64Attr:$zero_point);
  let results = (outs BFP_IntegerTensor:$output);
  let assemblyFormat = [{
    $x `,` $w `,` $scale (`,` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def BFP_IntegerMatmulOp : BFP_Op<"integer_matmul"> {
  let summary = "Matrix product of bytes minus their zero points";
  let description = [{
    `y[.., m, n] = sum_k (a[.., m, k] - a_zero) * (b[.., k, n] - b_zero)`, exact;
    leading dimensions broadcast as in `bfp.matmul` (docs/Numerics.md 12).

    * integer_matmul_c1: factors are integers of 8 bits, the result is i32;
    * integer_matmul_c2: the result's shape is that of a matrix product;
    * integer_matmul_c3: zero points are values of the types of their factors.

    ```mlir
    %y = bfp.integer_matmul %a, %b {a_zero = 120 : i64, b_zero = -3 : i64}
      : (tensor<4x6xui8>, tensor<6x5xi8>) -> tensor<4x5xi32>
    ```
  }];
  let arguments = (ins BFP_IntegerTensor:$a, BFP_IntegerTensor:$b,
      I64Attr:$a_zero, I64Attr:$b_zero);
  let results = (outs BFP_TensorOf<[I32]>:$output);
  let assemblyFormat = [{
    $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def BFP_RequantiseOp : BFP_Op<"requantise"> {
  let summary = "Function of quantised tensors in one pass";
  let description = [{
    Operands are dequantised, `(x - zero) * scale`; then comes a unary function,
    or a binary one with numpy broadcasting whose result `limited` limits to
    [alpha, beta]. A result of integers is quantised: `saturate(rne(v / step) +
    zero_point)`. Each step is binary32: docs/Numerics.md 12 in one operation.
    Float operands have zero 0 and scale 1, which leaves them unchanged.

    * requantise_c1: operands are integers of 8 bits or f32, the result integers
      of 8 bits or f32, not all of them f32;
    * requantise_c2: the operands' shapes broadcast to the result's;
    * requantise_c3: function is a unary function of docs/Numerics.md, or add, sub,
      mul, max or min of two operands;
    * requantise_c4: zero points are values of their operand's type, scales and
      step finite and above 0;
    * requantise_c5: only a function of two operands is limited.

    ```mlir
    %r = bfp.requantise "add"(%a, %b) {a_scale = 0.5 : f32, a_zero = 3 : i64, b_scale = 0.25 : f32, b_zero = 0 : i64, limited, beta = 6.0 : f32, step = 0.05 : f32, zero_point = -7 : i64}
      : (tensor<1x16x4x4xui8>, tensor<1x16x4x4xui8>) -> tensor<1x16x4x4xi8>
    ```
  }];
  let arguments = (ins
      Variadic<BFP_TensorOf<[AnyInteger, F32]>>:$inputs,
      StrAttr:$function,
      DefaultValuedAttr<F32Attr, "0.0f">:$alpha,
      DefaultValuedAttr<F32Attr, "0.0f">:$beta, UnitAttr:$limited,
      DefaultValuedAttr<F32Attr, "1.0f">:$a_scale,
      DefaultValuedAttr<I64Attr, "0">:$a_zero,
      DefaultValuedAttr<F32Attr, "1.0f">:$b_scale,
      DefaultValuedAttr<I64Attr, "0">:$b_zero,
      DefaultValuedAttr<F32Attr, "1.0f">:$step,
      DefaultValuedAttr<I64Attr, "0">:$zero_point);
  let results = (outs BFP_TensorOf<[AnyInteger, F32]>:$output);
  let assemblyFormat =
      "$function `(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def BFP_AffineOp : BFP_Op<"affine", [AttrSizedOperandSegments]> {
  let summary = "Function of a scaled and shifted tensor in one pass";
  let description = [{
    `y = function(x * scale + bias)`, each step rounded to binary32: a
    normalisation with constants and the function after it, without their
    tensors. The step of an absent scale or bias is omitted.

    * affine_c1: x has the result's shape;
    * affine_c2: scale and bias are f32, broadcast to the result's shape as numpy
      does, and vary along one axis at most;
    * affine_c3: there is a scale or a bias;
    * affine_c4: function is a unary function of docs/Numerics.md, or `pow` of
      an `exponent`, which broadcasts to the result's shape as numpy does.

    ```mlir
    %r = bfp.affine "relu"(%x scale %s bias %t)
      : (tensor<1x16x4x4xf32>, tensor<16x1x1xf32>, tensor<16x1x1xf32>) -> tensor<1x16x4x4xf32>
    ```
  }];
  let arguments = (ins BFP_StorageTensor:$x,
      Optional<BFP_TensorOf<[F32]>>:$scale, Optional<BFP_TensorOf<[F32]>>:$bias,
      Optional<BFP_TensorOf<[F32]>>:$exponent,
      DefaultValuedStrAttr<StrAttr, "copy">:$function,
      DefaultValuedAttr<F32Attr, "0.0f">:$alpha,
      DefaultValuedAttr<F32Attr, "0.0f">:$beta);
  let results = (outs BFP_StorageTensor:$output);
  let assemblyFormat = [{
    $function `(` $x (`scale` $scale^)? (`bias` $bias^)?
    (`exponent` $exponent^)? `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def BFP_MatmulOp : BFP_Op<"matmul", [AttrSizedOperandSegments]> {
  let summary = "Matrix product with exact accumulation and a fixed epilogue";
  let description = [{
    a `[..., M, K]`, b `[..., K, N]`, leading dimensions broadcast as numpy
    does; ranks at least 2. Epilogue as `bfp.conv`, bias, scale and slope along
    N.

    * matmul_c1: ranks of a and b are at least 2;
    * matmul_c2: last dimension of a = last but one of b;
    * matmul_c3: leading dimensions broadcast; the result's shape follows;
    * matmul_c4: a is encoded along its last dimension and b along its last but
      one, or both are floats;
    * matmul_c5: bias and scale have N elements;
    * matmul_c6: residual has the result's shape;
    * matmul_c7: function is a unary function of docs/Numerics.md;
    * matmul_c8: `integer_epilogue` as conv_c9;
    * matmul_c9: slope as conv_c10.

    ```mlir
    %r = bfp.matmul %a, %b {function = "relu"}
      : (tensor<1x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<64x10x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) -> tensor<1x10xf32>
    ```
  }];
  let arguments = (ins BFP_StorageTensor:$a, BFP_StorageTensor:$b,
      Optional<BFP_ChannelTensor>:$bias, Optional<BFP_ChannelTensor>:$scale,
      Optional<BFP_ChannelTensor>:$slope,
      Optional<BFP_StorageTensor>:$residual,
      DefaultValuedStrAttr<StrAttr, "copy">:$function,
      DefaultValuedAttr<F32Attr, "0.0f">:$alpha,
      DefaultValuedAttr<F32Attr, "0.0f">:$beta, UnitAttr:$integer_epilogue);
  let results = (outs BFP_StorageTensor:$output);
  let assemblyFormat = [{
    $a `,` $b (`bias` `(` $bias^ `)`)? (`scale` `(` $scale^ `)`)?
    (`slope` `(` $slope^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// K: products summed into one accumulator (docs/Numerics.md 4).
    int64_t getAccumulationLength();
  }];
}

def BFP_ArithmeticOp : BFP_Op<"arithmetic"> {
  let summary = "Sum, difference, product or quotient of encoded tensors";
  let description = [{
    The exact result of each pair of elements, encoded with one rounding; no
    float between (docs/Numerics.md 6). x / 0 is limited with the sign of x,
    0 / 0 is 0. Shapes broadcast as in numpy.

    * arithmetic_c1: kind is add, sub, mul or div;
    * arithmetic_c2: the operands' shapes broadcast to the result's;
    * arithmetic_c3: operands have blocks along the dimension that the result's
      blocks run along, and all of its extent; no block is a whole tensor.

    ```mlir
    %r = bfp.arithmetic "add"(%a, %b)
      : (tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
    ```
  }];
  let arguments = (ins BFP_BlockTensor:$a, BFP_BlockTensor:$b, StrAttr:$kind);
  let results = (outs BFP_BlockTensor:$output);
  let assemblyFormat = [{
    $kind `(` $a `,` $b `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_BFP_BFPOPS_TD
