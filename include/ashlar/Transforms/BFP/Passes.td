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
    in the order of docs/Numerics.md 6, a multiplication by a constant per
    output channel, the addition of a constant per output channel, the addition
    of a tensor of the result's shape, and one unary function or a prelu with a
    constant slope per output channel or for all. Only binary32 chains fuse, so
    the fused op gives the bits of the chain. Of two products that meet in an
    addition the later absorbs it: the other is then available earlier, and no
    cycle can arise. Locations are fused, the product's first.
  }];
  let statistics = [
    Statistic<"numFused", "num-fused", "Operations absorbed">];
}

def AssignFormats : Pass<"ashlar-bfp-assign-formats", "::mlir::ModuleOp"> {
  let summary = "Annotate every product with the requested formats";
  let description = [{
    `format` is one format for everything, or a table as JSON:
    `{"activations": F, "weights": F, "nodes": {NAME: {"activations": F,
    "weights": F}}}`, every key optional, names being ONNX nodes. Sets
    `bfp.activations` and `bfp.weights` on every `bfp.conv` and `bfp.matmul`,
    and `bfp.format`, the table in one line, on the module. A node that is not a
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
    Makes the element type of every value its storage (docs/Numerics.md 1): a
    tensor is stored encoded if a product reads it directly or through a view, a
    concat, a pooling or a residual add, along the axis that the product
    contracts; everything else keeps its type. Data movement that would split a
    block works on floats, between a `bfp.decode` and a `bfp.encode`. Function
    arguments and results keep their types, tensors needed along two axes stay
    floats with two encodings, constant factors are encoded as weights.

    Products request formats by the attributes of assign-formats (default:
    bfp8). An encoding takes the widest mantissa and range and the shortest
    block that its readers request; the operands of a concat, slice or reshape
    share one format with its result, and operands of pools and additions are at
    least as wide as the result.

    `residual` is the storage of the other operand of a residual add: `bfp`
    reads the encoding that products read; with `f32` or `bf16` the tensor is
    stored so, and products read an encoding of that. Tensors that data movement
    reads as well are stored as f32 instead of bf16. The attribute
    `ashlar.decision.residual` of the add has the bytes of all three.

    With `block-arithmetic` sums, differences, products and quotients of two
    tensors that are no constants, and whose result is stored encoded, read
    blocks too, where the operand has all of the blocks' axis.

    Every accumulator is proven not to overflow (docs/Numerics.md 4). If a
    product cannot be proven, the ranges of its operands are lowered along 15,
    7, 3, 1, 0 until it can, the larger first, of equal ones that of the
    weights. The module records why; with `strict-range`, or if no range
    suffices, it is an error. A NaN or an infinity in a constant that is to be
    encoded is an error. Activations with `block=tensor` stay floats with an
    explicit encode: the maximum of a whole tensor is known when its last
    element is.

    The module attribute `bfp.range_reason` holds the reason for smaller ranges.
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
    A transpose, pad, broadcast, gather or im2col of floats whose only reader is
    a `bfp.encode` takes the encoded type as its own storage, so that the float
    tensor is never stored. The values that are encoded do not change.
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
    residual to the sum as integers of one exponent, applies copy, relu or clip
    to that integer and encodes it with one rounding (docs/Numerics.md 6); it
    needs no scale and a bias of finite constants. The attribute
    `ashlar.decision.epilogue` of other products says why they compute in
    binary32. `nn.add`, `nn.sub`, `nn.mul` and `nn.div` whose operands and
    result are encoded along one axis become `bfp.arithmetic`.

    Runs on chosen formats, before scale-channels, which leaves the weights of
    such products as they are.
  }];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
  let statistics = [
    Statistic<"numInteger", "num-integer",
              "Products with an integer epilogue">];
}

def ScaleChannels : Pass<"ashlar-bfp-scale-channels", "::mlir::ModuleOp"> {
  let summary = "Scale weights per output channel to round them better";
  let description = [{
    Every product can multiply its sums by a constant per output channel, so the
    weights of a channel may be multiplied by a factor from [1, 2) before they
    are encoded and that constant by its inverse; only the rounding of the
    weights changes. Factors are tried in steps of 1/8, down to 1/128 where
    weights are few. Each channel takes the one with the smallest error of its
    sums: from the rounding errors of all its weights, the measure is the sum of
    their squares plus half of the square of their sum, because data after a
    relu have a mean. Channels that are encoded exactly, or gain less than a
    sixteenth, keep their weights. Weights that several products share have one
    factor for all of them.

    Runs on encodes of weights whose formats are chosen. Weights in blocks of a
    whole tensor, of binary64, and channels whose largest weight or constant is
    outside of 2^-64 to 2^64 stay as they are.
  }];
  let dependentDialects = ["::ashlar::nn::NNDialect"];
  let statistics = [
    Statistic<"numScaled", "num-scaled", "Channels with a factor">];
}

def NarrowWeights : Pass<"ashlar-bfp-narrow-weights", "::mlir::ModuleOp"> {
  let summary = "Store weights in the fewest bits that hold the same numbers";
  let description = [{
    Weights that were rounded to few bits before, such as those of the MX and
    NVFP4 formats or of 8-bit integers with powers of two as scales, leave the
    low bits of their mantissas 0. They are stored with as many bits less: the
    array multiplies the same numbers, reads fewer bytes and, where a second
    digit of the mantissas becomes unnecessary, takes fewer passes. No bit of a
    result changes: where blocks of a channel are further apart than the range
    of the format, so that the array rounds, weights stay as they are. So do
    those with few elements.

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
    A convolution of integers whose accumulators only go through an addition per
    output channel, a conversion to binary32, a factor per output channel, maybe
    relu, a rounding, maybe a zero point, and a saturating conversion to 8 bits
    becomes one `bfp.requantise_conv` with the same bits. The constants must
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
    A matrix multiplication of integers whose operands are bytes, at least one
    of them minus a constant zero point of the whole tensor (nn.sub of nn.cast
    to i16), becomes one `bfp.integer_matmul` of the bytes; transposes and
    reshapes of the difference then move the bytes. The array subtracts the zero
    points: one pass instead of up to four. Constant operands are excluded;
    their zero points and those of the other operand are corrections.
  }];
  let statistics = [Statistic<"numFused", "fused", "products of bytes">];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def FuseQuantisedMaps
    : Pass<"ashlar-bfp-fuse-quantised-maps", "::mlir::ModuleOp"> {
  let summary = "Fuse quantised functions into one pass each";
  let description = [{
    Dequantisations of 8-bit integers by constants of the whole tensor, a unary
    function or one of two operands, maybe with limits after it, and a
    quantisation to 8 bits become one `bfp.requantise`; so do dequantisations
    and quantisations on their own. Maxima, reshapes and transposes of
    dequantised integers are those of the integers, and parts of a concat are
    quantised before they are joined: values move as bytes. The bits are equal:
    the formulas are the same, and maxima and quantisation are monotone.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "passes that replace formulas">,
    Statistic<"numMoved", "moved", "maxima and moves before dequantisation">
  ];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def FuseAffine : Pass<"ashlar-bfp-fuse-affine", "::mlir::ModuleOp"> {
  let summary = "Fuse a scale, a bias and a function into one pass";
  let description = [{
    A product with numbers along one axis at most, a sum with such numbers, and
    a unary function or a power, in this order, each the only reader of the one
    before, become one `bfp.affine`; two of the three are enough. The numbers are
    constants or vary along fewer axes than the result. All are of
    binary32, so no rounding is omitted: the bits are equal, without the tensors
    between them. Runs after products have absorbed their
    epilogues.
  }];
  let statistics = [
    Statistic<"numFused", "fused", "formulas that became one operation">
  ];
  let dependentDialects = ["::ashlar::bfp::BFPDialect"];
}

def ChooseScales : Pass<"ashlar-bfp-choose-scales", "::mlir::ModuleOp"> {
  let summary = "Choose the scale-exponent policy of each encode event";
  let description = [{
    `format` is a table as assign-formats reads it; its key `scale`, and that of
    a product's node, name the policy (docs/Numerics.md 5) of the encode events
    that products read. An event whose readers disagree is `runmax`; one that no
    product reads takes the table's. Ops whose result is an event of another
    policy get it as `ashlar.scale`.

    `fixed` and `table` without an exponent take the one that covers what the op
    guarantees (sigmoid, tanh, softmax, clip, pooling of them), else the
    exponent that `exponents` has for the tensor, `{"TENSOR": E}` with names of
    the plan. A tensor with neither is an error.
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
    Changes nothing. Checks what later phases rely on: one function `main` with
    named arguments and results that are not encoded; every product a bfp op
    with encoded factors and a proven accumulator; weights are encoded
    constants that only products read; data movement ops keep their storage and
    their blocks whole; block axes exist.
  }];
}

def PrintPlan : Pass<"ashlar-bfp-print-plan", "::mlir::ModuleOp"> {
  let summary = "Print or write the numeric plan";
  let description = [{
    For tests and developers; not part of the phase, changes nothing. Prints the
    plan of docs/NumericPlan.md on standard output or, with `directory`, writes
    plan.json and the constants there.
  }];
  let options = [
    Option<"directory", "directory", "std::string", /*default=*/"",
           "Folder to write to instead">];
}

#endif // ASHLAR_TRANSFORMS_BFP_PASSES_TD
