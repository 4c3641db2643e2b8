// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of npu operations: what belongs to the meaning of an operation,
// and what planning decided about it.

#ifndef ASHLAR_DIALECTS_NPU_NPUATTRS_TD
#define ASHLAR_DIALECTS_NPU_NPUATTRS_TD

include "dialects/NPU/NPUDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class NPU_Attr<string name, string attrMnemonic>
    : AttrDef<NPU_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NPU_QuantAttr : NPU_Attr<"Quant", "quant"> {
  let summary = "Zero points of a product of integers";
  let description = [{
    `sum (x - x_zero) * (w - w_zero)` is exact; a result of 8 bits is rounded and
    `y_zero` added to it (docs/Numerics.md 12). An absent zero point
    means none: `w_zero` of weights of 16 bits says that they are stored as bytes,
    value + `w_zero`; `y_zero` that the drain rounds to integers of 8 bits.
    Which ones an operation must have, and their ranges, follow from its
    types (npu_pe_conv_c6).

    Example: `#npu.quant<x_zero = 120, w_zero = -3>`
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$x_zero,
                        OptionalParameter<"std::optional<int64_t>">:$w_zero,
                        OptionalParameter<"std::optional<int64_t>">:$y_zero);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NPU_OriginAttr : NPU_Attr<"Origin", "origin"> {
  let summary = "What an operation was made from";
  let description = [{
    `name` is that of the result in the numeric plan, which every phase keeps;
    `op` the operation of the model, for reports. A copy that a pass inserts has
    no name.

    Example: `#npu.origin<name = "conv2", op = "conv">`
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$name,
                        OptionalParameter<"::mlir::StringAttr">:$op);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NPU_SpreadAttr : NPU_Attr<"Spread", "spread"> {
  let summary = "A second axis across partitions";
  let description = [{
    The indices of `axis` are distributed over `count` groups of `pitch` partitions:
    index i lies in group i mod `count`, at index i div `count` of the group. A
    map of few channels then fills all partitions and lanes of the vector unit.
    Groups may follow each other beyond the last partition, in channel tiles.

    Example: `#npu.spread<axis = 2, count = 4, pitch = 32>`
  }];
  let parameters = (ins "int64_t":$axis, "int64_t":$count, "int64_t":$pitch);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_LayoutAttr : NPU_Attr<"Layout", "layout"> {
  let summary = "How the elements of a result are mapped to partitions";
  let description = [{
    * `axis`: the partition dimension of the result; -1: one partition holds
      all of it;
    * `work_axis`: the partition dimension while the operation computes, if
      that is another one: pools, reductions and softmax;
    * `lanes`, `pitch`: that many neighbouring pixels of a row are side by side,
      `pitch` partitions apart (docs/Machine.md, row groups);
    * `spread`: a second axis in the partition dimension;
    * `work_spread`: the same while the operation computes: if it differs from
      `spread`, tiles of the result get the new layout as they are stored.

    Example: `#npu.layout<axis = 1, lanes = 4, pitch = 32>`
  }];
  let parameters = (ins "int64_t":$axis,
      OptionalParameter<"std::optional<int64_t>">:$work_axis,
      DefaultValuedParameter<"int64_t", "1">:$lanes,
      DefaultValuedParameter<"int64_t", "0">:$pitch,
      OptionalParameter<"::ashlar::npu::SpreadAttr">:$spread,
      OptionalParameter<"::ashlar::npu::SpreadAttr">:$work_spread);
  // One axis across partitions, worked on as it is stored.
  let builders = [AttrBuilder<(ins "int64_t":$axis), [{
    return $_get($_ctxt, axis, /*work_axis=*/std::nullopt, /*lanes=*/1,
                 /*pitch=*/0, /*spread=*/SpreadAttr(), /*work_spread=*/SpreadAttr());
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFolded() const { return getLanes() > 1; }
    /// The same with other lanes; one lane is not a fold.
    LayoutAttr withLanes(int64_t lanes, int64_t pitch) const;
    /// The same with a second axis across partitions, in its own buffer and
    /// while the operation works; null is none.
    LayoutAttr withSpread(SpreadAttr home, SpreadAttr work) const;
  }];
}

def NPU_MapFormAttr : NPU_Attr<"MapForm", "map_form"> {
  let summary = "Form of a compressed feature map in DRAM";
  let description = [{
    Cells of one row of `channels` channels each (docs/SparseTiles.md 4): `form`
    is that of the instruction set, `levels` the depth of a tree, `bytes` the
    capacity of a cell, `pitch` the bytes from one cell to the next, `typical` the
    expected bytes of a cell.

    Example: `#npu.map_form<form = 1, levels = 0, channels = 16, bytes = 512,
    pitch = 512, typical = 130>`
  }];
  let parameters = (ins "int64_t":$form, "int64_t":$levels, "int64_t":$channels,
                        "int64_t":$bytes, "int64_t":$pitch, "int64_t":$typical);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_MemoryAttr : NPU_Attr<"Memory", "memory"> {
  let summary = "Memory of a result";
  let description = [{
    One of `sb`, the byte offset in every partition, and `dram`, the reason why
    the result is not resident. `part` says that it is in the memory of the
    concatenation or interleave that is its only reader: its first channel there. `form` is that
    of a feature map that is compressed in DRAM; without it the map is dense.

    Example: `#npu.memory<sb = 4096>`, `#npu.memory<dram = "graph output">`
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$sb,
      OptionalParameter<"::mlir::StringAttr">:$dram,
      OptionalParameter<"std::optional<int64_t>">:$part,
      OptionalParameter<"::ashlar::npu::MapFormAttr">:$form);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool inStateBuffer() const { return getSb().has_value(); }
    /// The same with another form, or dense.
    MemoryAttr withForm(MapFormAttr form) const;
  }];
}

def NPU_TilingAttr : NPU_Attr<"Tiling", "tiling"> {
  let summary = "Tiles of a result and the memory to compute them";
  let description = [{
    * `tile`: extents of one tile of the result;
    * `scratch`, `slot`, `slots`: first byte in every partition of the scratch
      memory, bytes of one slot, slots; two slots overlap loads with work;
    * `ring`: first byte of every partition that weights loaded during the
      operation may use; the ring reaches to the end of the partition;
    * `chunk`: bytes of a partition that a chunk of streamed weights may take:
      columns of more weights are loaded in parts, whose sums wait in PSUM;
      absent where every column is one chunk.

    Example: `#npu.tiling<tile = [1, 32, 14, 14], scratch = 4096, slot = 1024,
    slots = 2, ring = 8192>`
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$tile, "int64_t":$scratch,
                        "int64_t":$slot, "int64_t":$slots, "int64_t":$ring,
                        OptionalParameter<"int64_t">:$chunk);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_Stationary : I32EnumAttr<"Stationary",
    "operand of a product that the array holds", [
      I32EnumAttrCase<"Weights", 0, "weights">,
      I32EnumAttrCase<"Activations", 1, "activations">,
      I32EnumAttrCase<"ActivationsBlocks", 2, "activations_blocks">]> {
  let cppNamespace = "::ashlar::npu";
  let genSpecializedAttr = 0;
}
def NPU_StationaryAttr
    : EnumAttr<NPU_Dialect, NPU_Stationary, "stationary"> {
  let assemblyFormat = "`<` $value `>`";
}

def NPU_PatternAttr : NPU_Attr<"Pattern", "pattern"> {
  let summary = "N:M weights of a product";
  let description = [{
    The array keeps at most `kept` of `group` neighbouring rows of each column of
    those stationary tiles that have no more (`pe.pattern_kept` and
    `pe.pattern_group` of the machine) and streams `group / kept` positions a
    step through them (docs/Machine.md 4). Tiles without the pattern are
    multiplied as always.

    Example: `#npu.pattern<kept = 2, group = 4>`
  }];
  let parameters = (ins "int64_t":$kept, "int64_t":$group);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_PoolingAttr : NPU_Attr<"Pooling", "pooling"> {
  let summary = "Windows that the drain of a convolution reduces";
  let description = [{
    The vector unit drains the sums of the array (`vec.drain`), ACT those of the
    sparse cluster (`act.pool`): what the convolution would have stored, of type
    `map`, is reduced as `npu.vec.pool` would reduce it, and only the result is
    stored. The fields are those of `npu.vec.pool`.

    Example: `#npu.pooling<kind = "max", kernel = [2, 2], strides = [2, 2],
    pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false,
    map = tensor<1x8x4x4xf32>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$kind,
                        "::mlir::DenseI64ArrayAttr":$kernel,
                        "::mlir::DenseI64ArrayAttr":$strides,
                        "::mlir::DenseI64ArrayAttr":$pads,
                        "::mlir::DenseI64ArrayAttr":$dilations,
                        "bool":$include_pad,
                        "::mlir::RankedTensorType":$map);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NPU_Route : I32EnumAttr<"Route", "how a data movement is done", [
      I32EnumAttrCase<"Copy", 0, "copy">,
      I32EnumAttrCase<"View", 1, "view">,
      I32EnumAttrCase<"ThroughDram", 2, "through_dram">,
      I32EnumAttrCase<"SwapBlocks", 3, "swap_blocks">]> {
  let cppNamespace = "::ashlar::npu";
  let genSpecializedAttr = 0;
}
def NPU_RouteAttr : EnumAttr<NPU_Dialect, NPU_Route, "route"> {
  let assemblyFormat = "`<` $value `>`";
}

def NPU_ZerosAttr : NPU_Attr<"Zeros", "zeros"> {
  let summary = "Where the zeros among constant coefficients come from";
  let description = [{
    Of `weights` coefficients as stored, `structural` zeros that a fold inserted,
    `exact` zeros of the model and `encoded` ones that become zero by encoding.

    Example: `#npu.zeros<weights = 64, structural = 0, exact = 3, encoded = 1>`
  }];
  let parameters = (ins "int64_t":$weights, "int64_t":$structural,
                        "int64_t":$exact, "int64_t":$encoded);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NPU_ProfileAttr : NPU_Attr<"Profile", "profile"> {
  let summary = "Density of the data of a feature map";
  let description = [{
    `density` is per 1000 data, by channel or for all; `source` 0 unknown, 1 a
    producer that creates zeros, 2 measured. `places`, rows by columns in
    row-major order, counts the non-zeros of positions, at most `capacity` each.

    Example: `#npu.profile<source = 2, density = [500]>`
  }];
  let parameters = (ins "int64_t":$source, "::mlir::DenseI32ArrayAttr":$density,
      OptionalParameter<"::mlir::DenseI32ArrayAttr">:$places,
      DefaultValuedParameter<"int64_t", "0">:$rows,
      DefaultValuedParameter<"int64_t", "0">:$columns,
      DefaultValuedParameter<"int64_t", "0">:$capacity);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_PredictedAttr : NPU_Attr<"Predicted", "predicted"> {
  let summary = "Cycles of the ways that an operation may take";
  let description = [{
    What a pass predicted of ways that only whole programs decide between. Attribute
    `npu.predicted` of an operation; the comparison of programs reads it.

    * `array`, `cluster`: a convolution on the dense array and on the sparse
      cluster, whose plan may not have been searched;
    * `on_chip`, `dram`: a feature map that fits the state buffer only in groups
      of partitions, there and in DRAM.

    Example: `#npu.predicted<array = 1200, cluster = 1500>`

    - predicted_c1: each is at least 0, and there is one.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$array,
                        OptionalParameter<"std::optional<int64_t>">:$cluster,
                        OptionalParameter<"std::optional<int64_t>">:$on_chip,
                        OptionalParameter<"std::optional<int64_t>">:$dram);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_MeasuredAttr : NPU_Attr<"Measured", "measured"> {
  let summary = "Cycles of a network with and without the sparse cluster";
  let description = [{
    Attribute `npu.measured` of a module, for the decisions that choose-cluster
    records: what the emulator's clock gave for the network without the cluster
    (`dense`) and for the one with it (`written`), and both for each node by its
    name. No pass chooses by it.

    Example: `#npu.measured<dense = 900, written = 700, nodes = {conv1 = array<i64: 300, 100>}>`

    - measured_c1: a node has two numbers of cycles.
    - measured_c2: the cycles of both networks are at least 0.
  }];
  let parameters = (ins "int64_t":$dense, "int64_t":$written,
                        "::mlir::DictionaryAttr":$nodes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_ScatterAttr : NPU_Attr<"Scatter", "scatter"> {
  let summary = "Scatter mode of a sparse convolution";
  let description = [{
    How tiles of equal work are cut and which unit scatters in them, with the names of
    the options of ashlarc (docs/SparseTiles.md 5), the rows and columns of the
    blocks that it scatters (0: the whole tile), what the plan knows of the
    data, and whether the rows of a kernel come in snake order.

    Example: `#npu.scatter<variant = 3, algorithm = "p2", metric = "nnz",
    threshold = 300, time = "auto", halo = "overlap", data = <source = 0,
    density = [1000]>>`
  }];
  let parameters = (ins "int64_t":$variant, "::mlir::StringAttr":$algorithm,
      "::mlir::StringAttr":$metric, "int64_t":$threshold,
      "::mlir::StringAttr":$time, "::mlir::StringAttr":$halo,
      "::ashlar::npu::ProfileAttr":$data,
      DefaultValuedParameter<"int64_t", "0">:$block_rows,
      DefaultValuedParameter<"int64_t", "0">:$block_cols,
      DefaultValuedParameter<"bool", "false">:$snake);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_KeptAttr : NPU_Attr<"Kept", "kept"> {
  let summary = "The operand of a convolution stays in the sparse cluster";
  let description = [{
    The drains of the convolution that makes the operand write it to the
    feature-map units; the state buffer has a copy for other readers only if it
    is `stored`.

    Example: `#npu.kept<stored = false>`
  }];
  let parameters = (ins "bool":$stored);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NPU_RegionAttr : NPU_Attr<"Region", "region"> {
  let summary = "Bytes of every partition of the state buffer";
  let description = [{ Example: `#npu.region<begin = 128, bytes = 640>` }];
  let parameters = (ins "int64_t":$begin, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def NPU_RowPackingMode : I32EnumAttr<"RowPackingMode",
    "packed rows that convolutions may have", [
      I32EnumAttrCase<"Auto", 0, "auto">,
      I32EnumAttrCase<"Apart", 1, "apart">,
      I32EnumAttrCase<"Columns", 2, "columns">,
      I32EnumAttrCase<"Compared", 3, "compared">,
      I32EnumAttrCase<"Off", 4, "off">]> {
  let cppNamespace = "::ashlar::npu";
  let genSpecializedAttr = 0;
}

def NPU_TuningAttr : NPU_Attr<"Tuning", "tuning"> {
  let summary = "Choices for the whole program";
  let description = [{
    Attribute `npu.tuning` of a module: choices that the user made, or that the
    compiler found by comparing the cycles of whole programs. No bit of a
    result depends on them.

    * `pack_rows`: rows of results that a convolution computes in one step of
      the array. `auto`: passes choose by predicted cycles; `apart`: with as
      many rows of the operand side by side wherever possible; `columns`: the
      operand stays as it lies; `compared`: the same, because the whole network
      takes fewer cycles so; `off`: one row;
    * `banks_apart`: where there is room, a result lies in other banks of the
      state buffer than the operands of its operation;
    * `packed_exponents`: exponents of the weights of the dense array take few
      bits in DRAM where that costs no cycles.

    Example: `#npu.tuning<pack_rows = columns, banks_apart = true>`
  }];
  let parameters = (ins
      DefaultValuedParameter<"::ashlar::npu::RowPackingMode",
                             "::ashlar::npu::RowPackingMode::Auto">:$pack_rows,
      DefaultValuedParameter<"bool", "false">:$banks_apart,
      DefaultValuedParameter<"bool", "false">:$packed_exponents);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Passes choose: what a module without the attribute means.
    static TuningAttr getDefault(::mlir::MLIRContext *context);
    bool isDefault() const;
    TuningAttr withPackRows(RowPackingMode mode) const;
    TuningAttr withBanksApart(bool apart) const;
    TuningAttr withPackedExponents(bool packed) const;
  }];
}

/// A decision that a later phase makes: absent until then.
class NPU_Decision<Attr attr> : DefaultValuedOptionalAttr<attr, "nullptr"> {
  let constBuilderCall = "nullptr";
}

/// What every operation of the dialect may carry, in the order of the phases.
defvar NPU_Decisions = (ins NPU_Decision<NPU_OriginAttr>:$origin,
                            NPU_Decision<NPU_LayoutAttr>:$layout,
                            NPU_Decision<NPU_MemoryAttr>:$memory,
                            NPU_Decision<NPU_TilingAttr>:$tiling);

#endif // ASHLAR_DIALECTS_NPU_NPUATTRS_TD
