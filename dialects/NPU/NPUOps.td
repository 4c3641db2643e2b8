// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Engine-bound tensor operations; see README.md for the stack they belong to.

#ifndef ASHLAR_DIALECTS_NPU_NPUOPS_TD
#define ASHLAR_DIALECTS_NPU_NPUOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NPU/NPUAttrs.td"
include "dialects/NPU/NPUDialect.td"
include "dialects/NPU/NPUHostOps.td"
include "dialects/NPU/NPUInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// What a memory can hold, in whatever storage.
defvar NPU_Tensor = NN_Tensor;

/// Convolutions on either cluster: the same sums and the same epilogue.
class NPU_ConvOp<string mnemonic, list<string> layoutMethods,
                 dag factors = (ins)>
    : NPU_Op<mnemonic,
             [Pure, NPU_Contraction, AttrSizedOperandSegments,
              DeclareOpInterfaceMethods<NPU_LayoutInterface, layoutMethods>]> {
  let arguments = !con((ins
    NPU_Tensor:$x, NPU_Tensor:$w, Optional<NPU_Tensor>:$bias,
    Optional<NPU_Tensor>:$scale, Optional<NPU_Tensor>:$slope,
    Optional<NPU_Tensor>:$residual,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
    DenseI64ArrayAttr:$dilations, I64Attr:$group, StrAttr:$function,
    F32Attr:$alpha, F32Attr:$beta), factors,
    (ins UnitAttr:$integer_epilogue, NPU_Decision<NPU_ZerosAttr>:$zeros),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat = [{
    `(` $x `,` $w (`bias` $bias^)? (`scale` $scale^)?
    (`slope` $slope^)? (`residual` $residual^)? `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NPU_PeConvOp : NPU_ConvOp<"pe.conv", ["refuseOperand", "refuseResult"],
                              (ins NPU_Decision<NPU_QuantAttr>:$quant,
                                   DefaultValuedOptionalAttr<NPU_StationaryAttr,
        "::ashlar::npu::Stationary::Weights">:$stationary,
                                    DefaultValuedOptionalAttr<I64Attr, "1">:$packed_rows,
                                   UnitAttr:$rows_apart,
                                    NPU_Decision<NPU_PatternAttr>:$pattern,
                                    NPU_Decision<NPU_PoolingAttr>:$pooling,
                                    DefaultValuedOptionalAttr<I64Attr, "0">:$vector_share)> {
  let summary = "convolution on the dense array with its drain epilogue";
  let description = [{
    `acc = conv(x, w)` exactly (docs/Numerics.md, accumulate), then per output
    channel `* scale`, `+ bias`, `+ residual`, `function`, and conversion to
    the result's storage. With `slope` alpha is slope[o]. Spatial rank 1 to 3; `pads` lists all begins, then
    all ends. `packed_rows` rows of results are side by side in the columns of
    the array, with `rows_apart` as many rows of `x` in its rows as well
    (docs/Machine.md 4). The vector unit applies the function, and what follows
    it, to `vector_share` sixteenths of the results; ACT does all else.

    Constraints:
    - npu_pe_conv_c1: `x` and `w` have `!bfp.block` element types along axis 1,
      or both integers of 8 or 16 bits.
    - npu_pe_conv_c2: `w` is produced by `bfp.encode` of a constant, or there is
      one group (checked where weights are read: `ashlar-npu-plan-memory`).
    - npu_pe_conv_c3: the result's shape is that of the convolution.
    - npu_pe_conv_c4: bias and scale are f32 or i32 of one element per output
      channel; the residual has the result's shape.
    - npu_pe_conv_c5: `function` is a unary function of docs/Numerics.md.
    - npu_pe_conv_c6: integer factors have `quant`, encoded ones have none; it
      has a zero point for each factor of 8 bits, maybe one for weights of 16
      bits, and one for a result of 8 bits, each a value of its type.
    - npu_pe_conv_c7: `integer_epilogue` as conv_c9 of `bfp.conv`.
    - npu_pe_conv_c8: `packed_rows` is 1, or from 2 to the rows of the result of
      a convolution of spatial rank 2 or 3, a single group and stationary
      weights. With `rows_apart` it is more than 1 and divides the rows of `x`.
    - npu_pe_conv_c9: with `pattern` the weights are stationary and streamed, the
      pattern is the machine's, and `packed_rows` is 1.
    - npu_pe_conv_c10: `slope` is f32 of one element per output channel, the
      function leakyRelu, and the factors are encoded.
    - npu_pe_conv_c11: with `pooling` the spatial rank is 2, the map has the shape
      of npu_pe_conv_c3 and the result that of its windows; there is no residual
      and no integer epilogue, the weights are stationary, and `packed_rows` is 1.
    - npu_pe_conv_c12: `vector_share` is from 0 to 15. Unless it is 0, the factors
      are encoded, the weights stationary and streamed, and there is no slope,
      no integer epilogue, no pooling, and `packed_rows` is 1.

    Example:
    ```mlir
    %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>,
      pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1,
      function = "relu", alpha = 0.0, beta = 0.0} : (...) -> ...
    ```
  }];
  let extraClassDeclaration = [{
    /// True if the windows of stationary activations are gathered tap by tap:
    /// the operand is not read as it lies.
    bool gathersTaps();
    /// What the sums make, whether it is stored or pooled as it is drained.
    ::mlir::RankedTensorType getMapType();
  }];
}

def NPU_TcuConvOp : NPU_ConvOp<"tcu.conv", ["refuseResult"],
                               (ins NPU_Decision<NPU_QuantAttr>:$quant,
                                    NPU_Decision<NPU_ScatterAttr>:$scatter,
                                    DefaultValuedOptionalAttr<I64Attr, "1">:$column_parts,
                                    UnitAttr:$issue_zeros,
                                    NPU_Decision<NPU_KeptAttr>:$kept,
                                    NPU_Decision<NPU_PoolingAttr>:$pooling,
                                    UnitAttr:$bias_in_sums,
                                    DefaultValuedOptionalAttr<StrAttr, "\"auto\"">:$binding)> {
  let summary = "convolution on the sparse cluster, non-zero coefficients only";
  let description = [{
    The values of `npu.pe.conv`, bit for bit: each unit holds an output tile, and
    the non-zero coefficients of `w` are applied one after the other
    (docs/Machine.md, sparse cluster). `column_parts` groups of units share the
    results of a drain; with `scatter` the data decide what a unit works on; with
    `issue_zeros` the coefficients that are zero take their cycles too; with
    `bias_in_sums` sums start from the bias instead of zero, and the drain adds
    none. `binding` says whether groups of units load different channels and hand
    them on: where that takes fewer cycles, never, or wherever it is possible.
    With `kept` the feature-map units have `x` from the drains of its producer.

    Constraints:
    - npu_tcu_conv_c1: `x` and `w` have `!bfp.block` element types, or
      `x` integers of 8 bits and `w` signed ones of 8 or 16; spatial rank 1 or 2.
    - npu_tcu_conv_c2: as npu_pe_conv_c2 to npu_pe_conv_c7 and npu_pe_conv_c10.
    - npu_tcu_conv_c3: not both `scatter` and `issue_zeros`.
    - npu_tcu_conv_c4: the zero points of integer factors are 0, and no `scatter`
      takes integers: the units subtract nothing from what they skip.
    - npu_tcu_conv_c5: `bias_in_sums` only with a bias and integer factors: that of
      encoded ones is added to binary32 values, after a rounding.
    - npu_tcu_conv_c6: `binding` is auto, off or always.
    - npu_tcu_conv_c8: with `kept` the operand `x` is the result of another
      convolution on the cluster, no other reader has it `kept`, and unless it is
      stored there is no other use.
    - npu_tcu_conv_c9: with `pooling` as npu_pe_conv_c11; the windows take
      maxima, no position is in more than two of them along an axis, they have
      no dilation, and there is neither `scatter` nor `kept`.

    Example:
    ```mlir
    %y = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1>,
      pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1,
      function = "relu", alpha = 0.0, beta = 0.0} : (...) -> ...
    ```
  }];
}

def NPU_PeMatmulOp
    : NPU_Op<"pe.matmul",
             [Pure, NPU_Contraction, AttrSizedOperandSegments,
              DeclareOpInterfaceMethods<NPU_LayoutInterface,
                                        ["refuseOperand", "refuseResult"]>]> {
  let summary = "matrix product on the dense array with its drain epilogue";
  let description = [{
    `y[.., m, n] = sum_k a[.., m, k] * b[.., k, n]`, accumulated exactly, then
    the same epilogue as `npu.pe.conv` with n as the output channel. `b` is a
    constant or a second run-time operand.

    Constraints:
    - npu_pe_matmul_c1: both operands have `!bfp.block` element types with the
      block axis along k, or both are integers of 8 or 16 bits.
    - npu_pe_matmul_c2: the result's shape is that of the product.
    - npu_pe_matmul_c3: as npu_pe_conv_c4 to npu_pe_conv_c7, npu_pe_conv_c10 and
      npu_pe_conv_c12.

    Example: `%y = npu.pe.matmul(%a, %b) {...} : (...) -> ...`
  }];
  let arguments = !con((ins
    NPU_Tensor:$x, NPU_Tensor:$w, Optional<NPU_Tensor>:$bias,
    Optional<NPU_Tensor>:$scale, Optional<NPU_Tensor>:$slope,
    Optional<NPU_Tensor>:$residual,
    StrAttr:$function, F32Attr:$alpha, F32Attr:$beta,
    NPU_Decision<NPU_QuantAttr>:$quant,
    DefaultValuedOptionalAttr<NPU_StationaryAttr,
        "::ashlar::npu::Stationary::Weights">:$stationary,
    UnitAttr:$integer_epilogue, NPU_Decision<NPU_ZerosAttr>:$zeros,
    NPU_Decision<NPU_PatternAttr>:$pattern,
    DefaultValuedOptionalAttr<I64Attr, "0">:$vector_share),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat = [{
    `(` $x `,` $w (`bias` $bias^)? (`scale` $scale^)?
    (`slope` $slope^)? (`residual` $residual^)? `)` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// True if both operands have several matrices, which lie in memory: they
    /// are multiplied one by one.
    bool multipliesMatrices();
  }];
  let hasVerifier = 1;
}

def NPU_VecMapOp
    : NPU_Op<"vec.map", [Pure, NPU_VectorEngine, NPU_LayoutInterface,
                         NPU_MapInterface, AttrSizedOperandSegments]> {
  let summary = "element-wise function, conversion or encode on the vector unit";
  let description = [{
    Applies `op` (a name of the unary or binary function list of
    docs/Numerics.md) element by element with numpy broadcasting and converts
    to the result's storage. `copy` changes the storage only. A scale and a bias
    come first, in binary32: the function has `a * scale + bias` for its first
    operand. `blockAdd`, `blockSub`, `blockMul` and `blockDiv` of encoded operands
    are `bfp.arithmetic`.

    Constraints:
    - npu_vec_map_c1: `op` is a function of as many operands as there are.
    - npu_vec_map_c2: the operands' shapes broadcast to the result's.
    - npu_vec_map_c3: scale and bias are f32 and vary along one axis at most.
    - npu_vec_map_c4: functions of blocks have encoded operands and results, and
      neither scale nor bias.

    Examples: `%y = npu.vec.map "add"(%a, %b) {...} : (...) -> ...`,
    `%y = npu.vec.map "relu"(%a scale %s bias %t) {...} : (...) -> ...`
  }];
  let arguments = !con((ins Variadic<NPU_Tensor>:$inputs,
    Optional<NPU_Tensor>:$scale, Optional<NPU_Tensor>:$bias, StrAttr:$op,
    F32Attr:$alpha, F32Attr:$beta),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat = [{
    $op `(` $inputs (`scale` $scale^)? (`bias` $bias^)? `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool hasParametersAlong(int64_t axis);
    bool isConversion() {
      return getOp() == "copy" && getOperation()->getNumOperands() == 1;
    }
  }];
}

def NPU_VecRequantiseOp
    : NPU_Op<"vec.requantise", [Pure, NPU_VectorEngine, NPU_LayoutInterface,
                           NPU_MapInterface]> {
  let summary = "element-wise function of quantised tensors on the vector unit";
  let description = [{
    `bfp.requantise` with every parameter explicit: operands become
    `(x - zero) * scale`, then `op` with numpy broadcasting, whose result
    `limited` limits to [alpha, beta]; a result of integers is
    `saturate(rne(v / step) + zero_point)` (docs/Numerics.md 12).

    Constraints:
    - npu_vec_requantise_c1: requantise_c1 to requantise_c5 of `bfp.requantise`.

    Example:
    ```mlir
    %y = npu.vec.requantise "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32,
      limited = false, a_scale = 0.5 : f32, a_zero = 3 : i64,
      b_scale = 1.0 : f32, b_zero = 0 : i64, step = 0.25 : f32,
      zero_point = 7 : i64} : (tensor<4xui8>) -> tensor<4xui8>
    ```
  }];
  let arguments = !con((ins Variadic<NPU_Tensor>:$inputs, StrAttr:$op,
    F32Attr:$alpha, F32Attr:$beta, BoolAttr:$limited, F32Attr:$a_scale,
    I64Attr:$a_zero, F32Attr:$b_scale, I64Attr:$b_zero, F32Attr:$step,
    I64Attr:$zero_point),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "$op `(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NPU_VecPoolOp : NPU_Op<"vec.pool", [Pure, NPU_VectorEngine,
                                        NPU_OwnWorkAxis, NPU_LayoutInterface]> {
  let summary = "windowed maximum, average or sum on the vector unit";
  let description = [{
    Window reduction over the last 1 to 3 axes; `kind` is `max`, `avg` or `sum`.
    An average divides by the number of window positions inside the input, or
    inside the padded input with `count_include_pad`. Windows that all sum
    the same number of neighbours along one axis alone may have that axis across
    partitions (`worksAcross`): they are sums of the operand and of itself from
    other partitions on.

    Constraints:
    - npu_vec_pool_c1: `kind` is `max`, `avg` or `sum`.
    - npu_vec_pool_c2: kernel, strides, pads and dilations are those of a window
      over the last 1 to 3 axes (max_pool_c1).
    - npu_vec_pool_c3: the result's shape is that of the windows, rounded down
      or up; the other axes are those of the operand.

    Example: `%y = npu.vec.pool "max"(%x) {...} : (...) -> ...`
  }];
  let arguments = !con((ins NPU_Tensor:$x, StrAttr:$kind,
    DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
    BoolAttr:$count_include_pad),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "$kind `(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if windows have one index of `axis` and keep it, or no axis but
    /// this and are sums of as many floats each.
    bool worksAcross(int64_t axis);
    /// True if windows have several indices of `axis`.
    bool reducesAlong(int64_t axis);
  }];
}

def NPU_VecReduceOp
    : NPU_Op<"vec.reduce",
             [Pure, NPU_VectorEngine, NPU_OwnWorkAxis,
              DeclareOpInterfaceMethods<NPU_LayoutInterface,
                                              ["refuseOperand"]>]> {
  let summary = "reduction over axes on the vector unit";
  let description = [{
    Reduces `axes` in index order. `kind` is a reduction name of
    docs/Numerics.md, or `argmax` / `argmin` over one axis. The result keeps
    reduced axes as 1 or drops them, as its shape says. The partition axis may
    be the reduced one if there is no other and it is kept (`worksAcross`): the
    result is then one partition.

    Constraints:
    - npu_vec_reduce_c1: `kind` is a reduction; argmax and argmin have one axis.
    - npu_vec_reduce_c2: `axes` increase and are axes of the operand.
    - npu_vec_reduce_c3: the result has the shape of the reduction.

    Example: `%y = npu.vec.reduce "mean"(%x) {axes = array<i64: 2, 3>, ...}`
  }];
  let arguments = !con((ins NPU_Tensor:$x, StrAttr:$kind,
    DenseI64ArrayAttr:$axes, BoolAttr:$select_last),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "$kind `(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the operand can be reduced with `axis` of it across partitions:
    /// within partitions, or through them along no other axis.
    bool worksAcross(int64_t axis);
    /// True if `axis` of the operand is reduced.
    bool reducesAlong(int64_t axis);
    /// True if its layout has the reduced axis across partitions.
    bool reducesThroughPartitions();
  }];
}

def NPU_VecSoftmaxOp : NPU_Op<"vec.softmax", [Pure, NPU_VectorEngine,
                                              NPU_OwnWorkAxis,
                                              NPU_LayoutInterface]> {
  let summary = "softmax or log-softmax along one axis on the vector unit";
  let description = [{
    `e = exp(x - max(x))`, `y = e / sum(e)`; with `log`,
    `y = (x - max(x)) - log(sum(e))`. Each step is rounded to binary32, sums in
    index order (docs/Numerics.md).

    Constraints:
    - npu_vec_softmax_c1: `axis` is an axis of the operand.
    - npu_vec_softmax_c2: operand and result have one shape.

    Example: `%y = npu.vec.softmax(%x) {axis = 1, log = false} : (...) -> ...`
  }];
  let arguments = !con((ins NPU_Tensor:$x, I64Attr:$axis, BoolAttr:$log),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "`(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NPU_VecGatherOp : NPU_Op<"vec.gather", [Pure, NPU_VectorEngine,
                                            NPU_LayoutInterface]> {
  let summary = "elements at run-time indices on the vector unit";
  let description = [{
    `nn.take`: the operand is whole along `axis` in SB; the partition
    dimension is another one. Operand and result have one plain type.

    Constraints:
    - npu_vec_gather_c1: the operand is not encoded and has more than one axis.
    - npu_vec_gather_c2: the result's shape follows (take_c1, take_c2) and its
      type is the operand's; indices are integers of 32 or 64 bits.

    Example: `%y = npu.vec.gather(%x, %indices) {axis = 0, ...} : (...) -> ...`
  }];
  let arguments = !con((ins NPU_Tensor:$x, NPU_Tensor:$indices,
    I64Attr:$axis),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "`(` $x `,` $indices `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NPU_DmaMoveOp
    : NPU_Op<"dma.move",
             [Pure, DeclareOpInterfaceMethods<NPU_LayoutInterface,
                                              ["refuseOperand", "refuseResult"]>]> {
  let summary = "data movement by strided copies";
  let description = [{
    Fills the result with `fill` when it is present, then executes `patterns`.
    Each of them is a strided copy, a flat list of integers: operand index, number of dims n, source
    rank, then n
    times (extent, source axis or -1, source step, result axis, result step),
    then the start index per source axis, then per result axis. Source indices
    outside the operand read as zero. An empty list without a fill means a
    reshape that has no common refinement of axes: elements keep their row-major
    order. With a fill, the result consists of it alone.

    `kind` names the ONNX operator for reports. When the result's storage
    differs from the operand's, elements are converted after the movement.

    Constraints:
    - npu_dma_move_c1: at least one operand, all of one element type.
    - npu_dma_move_c2: patterns are well formed, name an operand, and their axes
      are axes of operand and result.
    - npu_dma_move_c3: every index that an access pattern writes lies in the
      result, steps of loops of more than one iteration are at least 1 there;
      indices that it reads stay below 2^40.
    - npu_dma_move_c4: without patterns and fill there is one operand, of as
      many elements as the result.
    - npu_dma_move_c5: a fill needs plain elements and at least one axis.

    Example: `%y = npu.dma.move "transpose"(%x) {patterns = [...]} : ...`
  }];
  let arguments = !con((ins Variadic<NPU_Tensor>:$inputs, StrAttr:$kind,
    TypedArrayAttrBase<DenseI64ArrayAttr, "list of access patterns">:$patterns,
    OptionalAttr<F64Attr>:$fill, DefaultValuedOptionalAttr<NPU_RouteAttr,
        "::ashlar::npu::Route::Copy">:$route),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "$kind `(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// True for a reshape of all elements in row-major order. Without patterns
    /// but with a fill nothing of the operand is read.
    bool keepsOrder() { return getPatterns().empty() && !getFill(); }
  }];
  let hasVerifier = 1;
}

def NPU_PeTransposeOp
    : NPU_Op<"pe.transpose",
             [Pure, DeclareOpInterfaceMethods<NPU_LayoutInterface,
                                              ["refuseOperand"]>]> {
  let summary = "transpose by an identity multiplication on the dense array";
  let description = [{
    Does the strided copy `pattern` (see npu.dma.move), which changes the
    partition dimension: that of the operand is `source_axis`, the result has
    another one. The words of the operand are stationary, an identity matrix
    streams, and the drain applies `function`; with `copy` no bit of any element
    changes. With `byte_planes` the array multiplies integers instead of passing
    words: every byte of the elements is a matrix of u8 of its own. With
    `float_products` it multiplies f16, bf16 or f32 in binary32: -0 becomes 0,
    and infinities and NaN spread over their column of the tile.

    Constraints:
    - npu_pe_transpose_c1: neither side is encoded, and both have one type.
    - npu_pe_transpose_c2: `pattern` is well formed (npu_dma_move_c2,
      npu_dma_move_c3) and has no operand but 0.
    - npu_pe_transpose_c3: `source_axis` is an axis of the operand; `function` as
      npu_pe_conv_c5.
    - npu_pe_transpose_c4: every index that `pattern` reads lies in the operand.
    - npu_pe_transpose_c5: with `byte_planes`, `function` is `copy`.
    - npu_pe_transpose_c6: with `float_products`, elements are f16, bf16 or f32,
      and `byte_planes` is absent.

    Example: `%y = npu.pe.transpose(%x) {source_axis = 1, pattern = ...} : ...`
  }];
  let arguments = !con((ins NPU_Tensor:$x, I64Attr:$source_axis,
    DenseI64ArrayAttr:$pattern, StrAttr:$function, F32Attr:$alpha,
    F32Attr:$beta, UnitAttr:$byte_planes, UnitAttr:$float_products),
    NPU_Decisions);
  let results = (outs NPU_Tensor:$y);
  let assemblyFormat =
    "`(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_NPU_NPUOPS_TD
