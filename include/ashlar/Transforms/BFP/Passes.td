// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the quantise phase. They run in the order of this file
// (`buildQuantisePipeline`); each relies on the result of the one before.

#ifndef ASHLAR_TRANSFORMS_BFP_PASSES_TD
#define ASHLAR_TRANSFORMS_BFP_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertProducts : Pass<"ashlar-bfp-convert-products", "::mlir::ModuleOp"> {
  let summary = "Turn float nn.conv and nn.matmul into bfp ops";
  let description = [{
    Replaces `nn.conv` and `nn.matmul` of floats by `bfp.conv` and `bfp.matmul`
    with the same operands, still floats, and an empty epilogue. A bias that is
    not binary32 is cast. Products of integers stay: they have no format to
    choose.
  }];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Products converted">];
}

def FuseEpilogues : Pass<"ashlar-bfp-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Absorb scale, bias, residual add and function into products";
  let description = [{
    Follows chains of single uses after `bfp.conv` and `bfp.matmul` and absorbs,
    in the order of docs/Numerics.md 6:

    1. a multiplication by a constant per output channel;
    2. the addition of a constant per output channel;
    3. the addition of a tensor of the result's shape (a residual connection);
    4. one unary function, or a prelu whose slope is a constant for each output
       channel or for all of them.

    Only binary32 chains fuse, so the fused op gives the bits of the chain. If
    two products meet in an addition, the later one absorbs it: the other result
    is then available earlier, and no cycle can arise. Locations are fused, the
    product's first.
  }];
  let statistics = [
    Statistic<"numFused", "num-fused", "Operations absorbed">];
}

def AssignFormats : Pass<"ashlar-bfp-assign-formats", "::mlir::ModuleOp"> {
  let summary = "Annotate every product with the requested formats";
  let description = [{
    `format` is one format for everything, or a JSON table: `{"activations": F,
    "weights": F, "nodes": {NAME: {"activations": F, "weights": F}}}`. Every key
    is optional; the names are those of ONNX nodes. The pass sets
    `bfp.activations` and `bfp.weights`, each a `#bfp.format`, on every
    `bfp.conv` and `bfp.matmul`, and `bfp.format`, a text for reports, on the
    module. A node that is not a
    product is an error.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"bfp8\"",
           "bfp8, w=8,block=16,range=7, or a table as JSON">];
  let statistics = [
    Statistic<"numOwn", "num-own", "Products with formats of their own">];
}

def ChooseFormats : Pass<"ashlar-bfp-choose-formats", "::mlir::ModuleOp"> {
  let summary = "Decide the storage of every tensor";
  let description = [{
    Makes the element type of every value its storage (docs/Numerics.md 1). A
    tensor is stored encoded if a product reads it directly or through a view, a
    concat, a pooling or a residual add; blocks run along the axis that the
    product contracts. Every other tensor keeps its type:

    - function arguments and results;
    - tensors needed along two axes, which stay floats with two encodings;
    - operands of data movement that would split a block: it works on floats,
      between a `bfp.decode` and a `bfp.encode`;
    - activations with `block=tensor`, which get an explicit encode: the maximum
      of a whole tensor is known only with its last element.

    Constant factors are encoded as weights. A NaN or an infinity in a constant
    that is to be encoded is an error.

    **Formats.** Products request formats by the attributes of assign-formats
    (default: bfp8). An encoding takes the widest mantissa and range and the
    shortest block that its readers request. The operands of a concat, slice or
    reshape share one format with its result; operands of pools and additions
    are at least as wide as the result.

    **Residual connections.** `residual` is the storage of the other operand of
    a residual add. `bfp` reads the encoding that products read. With `f32` or
    `bf16` the tensor is stored in that type, and products read an encoding of
    it. A tensor that data movement reads as well is stored as f32 instead of
    bf16. The attribute `ashlar.decision.residual` of the add has the bytes of
    all three.

    **Block arithmetic.** With `block-arithmetic`, sums, differences, products
    and quotients read blocks too. This needs two tensors that are not
    constants, a result that is stored encoded, and operands that are not
    broadcast along the block axis.

    **Overflow.** Every accumulator is proven not to overflow (docs/Numerics.md
    4). If a product cannot be proven, the ranges of its operands are lowered in
    the steps 15, 7, 3, 1, 0 until it can: the larger range first, and of equal
    ones that of the weights. The module attribute `bfp.range_reason` holds the
    reason. With `strict-range`, or if no range suffices, it is an error.
  }];
  let options = [
    Option<"strictRange", "strict-range", "bool", /*default=*/"false",
           "Refuse a range that is not proven instead of lowering it">,
    Option<"residual", "residual", "std::string", /*default=*/"\"bfp\"",
           "Storage of residual operands: bfp, bf16 or f32">,
    Option<"blockArithmetic", "block-arithmetic", "bool", /*default=*/"false",
           "Sums, differences, products and quotients read blocks">];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
  let statistics = [
    Statistic<"numEncoded", "num-encoded", "Tensors stored encoded">,
    Statistic<"numConversions", "num-conversions",
              "Explicit encodes and decodes">];
}

def FuseEncodes : Pass<"ashlar-bfp-fuse-encodes", "::mlir::ModuleOp"> {
  let summary = "Store moved floats encoded where only an encode reads them";
  let description = [{
    If the only reader of a transpose, pad, broadcast, gather or im2col of
    floats is a `bfp.encode`, the data movement stores its result in the encoded
    type, and the float tensor is never stored. The values that are encoded do
    not change.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "encodes merged into data movement">
  ];
}

def UseBlockArithmetic
    : Pass<"ashlar-bfp-use-block-arithmetic", "::mlir::ModuleOp"> {
  let summary = "Keep epilogues and element-wise arithmetic in integers";
  let description = [{
    A product whose result is stored in blocks adds its bias and an encoded
    residual to the sum as integers of one exponent. It applies copy, relu or
    clip to that integer and encodes the result with a single rounding
    (docs/Numerics.md 6). This requires that the product has no scale, and that
    its bias consists of finite constants. The attribute
    `ashlar.decision.epilogue` of other products says why they compute in
    binary32.

    An `nn.add`, `nn.sub`, `nn.mul` or `nn.div` whose operands and result are
    encoded along one axis becomes `bfp.arithmetic`.

    Runs after formats are chosen and before scale-channels, which leaves the
    weights of such products unchanged.
  }];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
  let statistics = [
    Statistic<"numInteger", "num-integer",
              "Products with an integer epilogue">];
}

def ScaleChannels : Pass<"ashlar-bfp-scale-channels", "::mlir::ModuleOp"> {
  let summary = "Scale weights per output channel to round them better";
  let description = [{
    Every product can multiply its sums by a constant per output channel. The
    weights of a channel may therefore be multiplied by a factor from [1, 2)
    before they are encoded, and that constant by its inverse; only the rounding
    of the weights changes.

    Factors are tried in steps of 1/8, down to 1/128 where there are few
    weights. Each channel takes the factor with the smallest error of its sums.
    The measure is the sum of the squared rounding errors of all weights, plus
    half of the square of their sum, because data after a relu have a nonzero
    mean. Weights that several products share have one factor for all of them.

    Channels that share exponents (rows of the format) are first multiplied by
    powers of two that bring their largest weights into one octave, so that none
    loses bits to another one; then each takes the best of the factors that
    raise no exponent of the blocks that it shares.

    Runs on encodes of weights whose formats are chosen. These weights stay
    unchanged:

    - channels that are encoded exactly or gain less than a sixteenth;
    - channels whose largest weight or constant lies outside 2^-64 to 2^64;
    - weights in blocks of a whole tensor, and weights of binary64.
  }];
  let dependentDialects = ["::ashlar::nn::NNDialect"];
  let statistics = [
    Statistic<"numScaled", "num-scaled", "Channels with a factor">];
}

def NarrowWeights : Pass<"ashlar-bfp-narrow-weights", "::mlir::ModuleOp"> {
  let summary = "Store weights in the fewest bits that hold the same numbers";
  let description = [{
    Some weights were rounded to few bits before, such as those of the MX and
    NVFP4 formats, or of 8-bit integers with powers of two as scales. The low
    bits of their mantissas are zero. They are stored with that many bits fewer:
    the array multiplies the same numbers, reads fewer bytes and, where a second
    digit of the mantissas becomes unnecessary, takes fewer passes.

    No bit of a result changes. Weights stay as they are if the blocks of a
    channel are further apart than the range of the format, so that the array
    rounds, or if they have few elements.

    Runs on encodes of weights whose formats and factors are chosen.
  }];
  let options = [
    Option<"leastElements", "least-elements", "int64_t", "4096",
           "Weights with fewer elements stay as they are">];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "Weights stored in fewer bits">];
}

def FuseRequantise : Pass<"ashlar-bfp-fuse-requantise", "::mlir::ModuleOp"> {
  let summary = "Requantise products of integers to 8 bits in the drain";
  let description = [{
    Matches a convolution of integers whose accumulators go through only these
    steps:

    1. an addition per output channel;
    2. a conversion to binary32;
    3. a factor per output channel;
    4. optionally a relu;
    5. a rounding;
    6. optionally the addition of a zero point;
    7. a saturating conversion to 8 bits.

    They become one `bfp.requantise_conv` with the same bits. The constants must
    prove that no sum exceeds 32 bits.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "products that requantise in the drain">
  ];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def FuseZeroPoints : Pass<"ashlar-bfp-fuse-zero-points", "::mlir::ModuleOp"> {
  let summary = "Let products of two run-time operands read bytes";
  let description = [{
    Matches an integer matrix multiplication whose operands are bytes, at least
    one of them minus a constant zero point of the whole tensor (nn.sub of
    nn.cast to i16). It becomes one `bfp.integer_matmul` of the bytes, and
    transposes and reshapes of the difference move the bytes instead. The array
    subtracts the zero points: one pass instead of up to four.

    Products with a constant operand are excluded: their zero points are handled
    as corrections.
  }];
  let statistics = [Statistic<"numFused", "fused", "products of bytes">];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def FuseQuantisedMaps
    : Pass<"ashlar-bfp-fuse-quantised-maps", "::mlir::ModuleOp"> {
  let summary = "Fuse quantised functions into one vector instruction each";
  let description = [{
    Matches dequantisations of 8-bit integers by constants of the whole tensor,
    a function of one or two operands, optionally limits, and a quantisation to
    8 bits. They become one `bfp.requantise`. A dequantisation or a quantisation
    by itself becomes one as well.

    Values move as bytes where possible: maxima, reshapes and transposes of
    dequantised integers become those of the integers, and the parts of a concat
    are quantised before they are joined. The bits are the same, because the
    formulas are, and because maxima and quantisation are monotone.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "passes that replace formulas">,
    Statistic<"numMoved", "moved", "maxima and moves before dequantisation">
  ];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def FuseAffine : Pass<"ashlar-bfp-fuse-affine", "::mlir::ModuleOp"> {
  let summary = "Fuse a scale, a bias and a function into one vector instruction";
  let description = [{
    A multiplication, an addition and a unary function or a power, in this order, each the
    only reader of the one before, become one `bfp.affine`; two of the three are
    enough. The factors and terms vary along one axis at most, and they are
    constants or vary along fewer axes than the result. All are binary32, so no
    rounding is omitted: the bits are the same, without the tensors in between.
    Runs after products have absorbed their epilogues.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "formulas that became one operation">
  ];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def ChooseScales : Pass<"ashlar-bfp-choose-scales", "::mlir::ModuleOp"> {
  let summary = "Choose the scale-exponent policy of each encode event";
  let description = [{
    `format` is a table as assign-formats reads it. Its key `scale`, and that of
    a product's node, name the policy (docs/Numerics.md 5) of the encode events
    that products read:

    - An event whose readers disagree is `runmax`.
    - An event that no product reads takes the policy of the table.
    - An op whose result is an event of another policy gets it as
      `ashlar.scale`.

    `fixed` and `table` without an exponent take the smallest exponent that
    covers the range that the op guarantees (sigmoid, tanh, softmax, clip,
    pooling of these). Otherwise they take the exponent that `exponents` has for
    the tensor, as they do for a clip whose range has steps that no sample
    reaches, `{"TENSOR": E}` with names of the numeric plan. A tensor with
    neither is an error.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"",
           "Table of formats and policies as JSON">,
    Option<"exponents", "exponents", "std::string", /*default=*/"",
           "Measured exponents by tensor as JSON">];
  let statistics = [
    Statistic<"numChosen", "num-chosen", "Events with a policy of their own">];
}

def VerifyPlan : Pass<"ashlar-bfp-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Check the exit invariants of the quantise phase";
  let description = [{
    Changes nothing. Checks what later phases rely on:

    - there is one function, `main`, with named arguments, and its results are
      not encoded;
    - every product is a bfp op with encoded factors and a proven accumulator;
    - weights are encoded constants that only products read;
    - data movement keeps the storage of its operands and their blocks whole;
    - block axes exist.
  }];
}

def PrintPlan : Pass<"ashlar-bfp-print-plan", "::mlir::ModuleOp"> {
  let summary = "Print or write the numeric plan";
  let description = [{
    For tests and developers; not part of the phase. Changes nothing. Prints the
    plan of docs/NumericPlan.md on standard output or, with `directory`, writes
    plan.json and the constants there.
  }];
  let options = [
    Option<"directory", "directory", "std::string", /*default=*/"",
           "Folder to write to instead">];
}

#endif // ASHLAR_TRANSFORMS_BFP_PASSES_TD
