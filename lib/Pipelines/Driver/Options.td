// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlarc.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def model_group : HelpGroup<2, "model options">;
def format_group : HelpGroup<3, "format options">;
def mapping_group : HelpGroup<4, "mapping options">;
def sparse_group : HelpGroup<5, "sparse cluster options">;
def report_group : HelpGroup<6, "report options">;

defm o : Letter<"o">, MetaVarName<"FILE">,
  HelpText<"output file (a program; text with --compile-to)">, Group<main_group>,
  Flags<[Writes, ToolOnly]>;
defm machine : Value<"machine">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"machine to compile for (a1); --list-machines prints the names">,
  Group<main_group>, Flags<[Reads]>;
defm compile_to : Value<"compile-to">, MetaVarName<"PHASE">,
  HelpText<"stop after a phase and print its module">,
  Values<"import,simplify,fold,quantise,assign,plan,tile,emit">, Group<main_group>,
  Flags<[ToolOnly]>;
defm compile_from : Value<"compile-from">, MetaVarName<"PHASE">,
  HelpText<"continue after a phase; the model is a file that "
           "--compile-to=PHASE -o wrote">,
  Values<"import,simplify,fold,quantise,assign,plan,tile,emit">, Group<main_group>,
  Flags<[ToolOnly]>;
def check : Switch<"check">,
  HelpText<"list every node: mapped, rewritten, or unsupported and why">,
  Group<main_group>, Flags<[ToolOnly]>;
def verify : Switch<"verify">,
  HelpText<"compare every layer with the reference and with its error bound">,
  Group<main_group>, Flags<[ToolOnly]>;
defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"samples for --verify, by input name">, Group<main_group>,
  Flags<[Reads, ToolOnly]>;

defm batch : Value<"batch">, MetaVarName<"N">,
  HelpText<"compile for N samples at a time; the model takes one "
           "sample, or any number">,
  Group<model_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x224x224">,
  HelpText<"static shape of a graph input, or sizes of named "
           "dimensions: batch=1,seq=128">,
  Group<model_group>;
defm constant : Value<"constant">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"turn a graph input into a constant">, Group<model_group>,
  Flags<[ReadsNamed]>;
defm elements : Value<"elements">, MetaVarName<"NAME=N">,
  HelpText<"elements of an input that is a sequence, each an input "
           "NAME.K; 0: an optional input is empty">,
  Group<model_group>;
defm bucket : Value<"bucket">, MetaVarName<"NAME:1,16,64">,
  HelpText<"compile a program for each size of a named dimension, all "
           "in one file">,
  Group<model_group>, Flags<[ToolOnly]>;
defm state : Value<"state">, MetaVarName<"OUTPUT:INPUT|auto">,
  HelpText<"keep OUTPUT in DRAM as INPUT of the next run, as the cache "
           "of a decoder; auto: outputs present..., inputs past...">,
  Group<model_group>;
def large_constants : Switch<"large-constants">,
  HelpText<"allow computed constants that are large for the size of "
           "the model file">,
  Group<model_group>;
def no_host : Switch<"no-host">,
  HelpText<"refuse nodes that need the host (docs/UserGuide.md)">,
  Group<model_group>;

defm format : Value<"format">, MetaVarName<"FORMAT|auto">,
  HelpText<"number format: bfp8 (default), bfp16, "
           "w=8,block=16,range=7; auto: search for one; rows=R: R output "
           "channels of weights share their exponents">,
  Group<format_group>;
defm activations : Value<"activations">, MetaVarName<"FORMAT">,
  HelpText<"format of activations, if it differs">, Group<format_group>;
defm weights : Value<"weights">, MetaVarName<"FORMAT">,
  HelpText<"format of weights, if it differs">, Group<format_group>;
defm formats : Value<"formats">, MetaVarName<"FILE.json">,
  HelpText<"formats per node, as --dump-formats writes them">,
  Group<format_group>, Flags<[Reads]>;
defm dump_formats : Value<"dump-formats">, MetaVarName<"FILE.json">,
  HelpText<"write the formats that were used">, Group<format_group>,
  Flags<[Writes, ToolOnly]>;
defm residual : Value<"residual">, MetaVarName<"TYPE">,
  HelpText<"storage of the operands of residual additions:">, Values<"bfp,bf16,f32">,
  Group<format_group>;
defm epilogue : Value<"epilogue">, MetaVarName<"MODE">,
  HelpText<"arithmetic after products and of encoded tensors:">,
  Values<"float,block">, Group<format_group>;
defm weight_scaling : Value<"weight-scaling">, MetaVarName<"MODE">,
  HelpText<"per-channel scaling of weights that reduces their rounding "
           "errors:">,
  Values<"auto,off">, Group<format_group>;
defm scale : Value<"scale">, MetaVarName<"POLICY">,
  HelpText<"scale-exponent policy: runmax (default), fixed, "
           "fixed(e=-7), table, stats, predict or error">,
  Group<format_group>;
defm calibrate : Value<"calibrate">, MetaVarName<"FILE.npz">,
  HelpText<"calibration samples for --format=auto, --scale and scatter "
           "mode, by input name">,
  Group<format_group>, Flags<[Reads]>;
defm min_snr : Value<"min-snr">, MetaVarName<"DB">,
  HelpText<"target of --format=auto: mean SNR of the outputs, in dB">,
  Group<format_group>;
defm min_agreement : Value<"min-agreement">, MetaVarName<"PCT">,
  HelpText<"target of --format=auto: percentage of unchanged top-1 "
           "classes on unseen inputs">,
  Group<format_group>;

defm fold_w : Value<"fold-w">, MetaVarName<"MODE">, HelpText<"width folding of convolutions with few channels:">,
  Values<"auto,off,stride,lane,both">, Group<mapping_group>;
defm pci_policy : Value<"pci-policy">, MetaVarName<"POLICY">,
  HelpText<"array rows per lane of a lane fold: cycles (default: "
           "fewest cycles) or source (the rule of the original design)">,
  Values<"cycles,source">, Group<mapping_group>;
defm schedule : Value<"schedule">, MetaVarName<"MODE">,
  HelpText<"order of instructions in the queues: list (default), "
           "search (more schedules, up to a minute) or off (as "
           "emitted)">,
  Values<"list,search,off">, Group<mapping_group>;
defm transpose : Value<"transpose">, MetaVarName<"MODE">,
  HelpText<"transposes: auto (default: fewest cycles), pe (on the "
           "array), planes (on the array, each byte as an integer), "
           "floats (on the array, floating-point products), dma "
           "(through DRAM) or copy (on chip)">,
  Values<"auto,pe,planes,floats,dma,copy">, Group<mapping_group>;
defm map_compression : Value<"map-compression">, MetaVarName<"FORM">,
  HelpText<"feature maps in DRAM: auto (default: fewest cycles), off, "
           "bitmap, coo or quadtree">,
  Values<"auto,off,bitmap,coo,quadtree">, Group<mapping_group>;
defm weight_compression : Value<"weight-compression">, MetaVarName<"FORM">,
  HelpText<"the array's weights in DRAM: auto (default: zeros left out in "
           "the shortest form, exponents in few bits where the network takes "
           "no more cycles), exponents (in few bits wherever possible), off, "
           "or one form of zeros alone: bitmap or runs">,
  Values<"auto,off,bitmap,runs,exponents">, Group<mapping_group>;
defm nm_weights : Value<"nm-weights">, MetaVarName<"MODE">,
  HelpText<"N:M weights on arrays that have the pattern: auto "
           "(default: fewest cycles), on or off">,
  Values<"auto,on,off">, Group<mapping_group>;

defm pack_rows : Value<"pack-rows">, MetaVarName<"MODE">,
  HelpText<"rows of results of a convolution in one step of the array: "
           "auto (default: fewest cycles), apart (as many rows of the "
           "operand wherever possible), columns (the operand stays as it "
           "lies) or off">,
  Values<"auto,apart,columns,off">, Group<mapping_group>;

defm pool_drain : Value<"pool-drain">, MetaVarName<"MODE">,
  HelpText<"pools after convolutions take the sums from PSUM, or maxima those "
           "of the sparse cluster: auto (default: fewest cycles), on or off">,
  Values<"auto,on,off">, Group<mapping_group>;

defm function_engine : Value<"function-engine">, MetaVarName<"ENGINE">,
  HelpText<"functions of several cycles after products on the array: auto "
           "(default: fewest cycles), drain (ACT), vector (the vector unit) or "
           "shared (both, wherever possible)">,
  Values<"auto,drain,vector,shared">, Group<mapping_group>;

defm sparse : Value<"sparse">, MetaVarName<"MODE">,
  HelpText<"use of the sparse cluster: auto (default: fewest cycles), "
           "off, tile or scatter">,
  Values<"auto,off,tile,scatter">, Group<sparse_group>;
defm zero_skip : Value<"zero-skip">, MetaVarName<"MODE">,
  HelpText<"zero coefficients on the sparse cluster: on (default: "
           "skipped) or off (issued, for comparison)">,
  Values<"on,off">, Group<sparse_group>;
defm sparse_bias : Value<"sparse-bias">, MetaVarName<"PLACE">,
  HelpText<"biases of integer convolutions on the sparse cluster: "
           "drain (default: added to the sums) or sums (where they start)">,
  Values<"drain,sums">, Group<sparse_group>;
defm sparse_bind : Value<"sparse-bind">, MetaVarName<"MODE">,
  HelpText<"groups of units load different channels and hand them on: "
           "auto (default: where that takes fewer predicted cycles), off "
           "or always (wherever possible)">,
  Values<"auto,off,always">, Group<sparse_group>;
defm sparse_keep : Value<"sparse-keep">, MetaVarName<"MODE">,
  HelpText<"results stay in the sparse cluster for the next convolution: "
           "auto (default: where that takes fewer predicted cycles), off "
           "or always (wherever possible)">,
  Values<"auto,off,always">, Group<sparse_group>;
defm sparse_copies : Value<"sparse-copies">, MetaVarName<"WHICH">,
  HelpText<"maps that stay in the sparse cluster and have a copy in the "
           "state buffer: all (default: dumps have them) or needed (by other "
           "readers)">,
  Values<"all,needed">, Group<sparse_group>;
defm dead_channels : Value<"dead-channels">, MetaVarName<"MODE">,
  HelpText<"channels that no result needs: remove (default) or keep">,
  Values<"remove,keep">, Group<sparse_group>;
defm classify : Value<"classify">, MetaVarName<"RULE">,
  HelpText<"rule of --sparse=auto: cost (default), majority (of zeros "
           "in the input) or threshold (of zeros)">,
  Values<"cost,majority,threshold">,
  Group<sparse_group>;
defm scatter_unit : Value<"scatter-unit">, MetaVarName<"A|B|C|D">,
  HelpText<"variant of the scatter unit (D)">, Values<"A,B,C,D">, Group<sparse_group>;
defm scatter_block : Value<"scatter-block">, MetaVarName<"HxW">,
  HelpText<"rows and columns of the blocks that a scatter unit works "
           "on, as in 3x3 (default: whole tiles)">, Group<sparse_group>;
defm scatter_order : Value<"scatter-order">, MetaVarName<"ORDER">,
  HelpText<"coefficients of a kernel in a scatter unit: auto (default: in "
           "snake order where the window then moves for fewer cycles), "
           "ascending or snake">,
  Values<"auto,ascending,snake">, Group<sparse_group>;
defm partition : Value<"partition">, MetaVarName<"ALGORITHM">,
  HelpText<"how scatter mode cuts feature maps into tiles: p2 "
           "(default), p1, rows or uniform">,
  Values<"p2,p1,rows,uniform">, Group<sparse_group>;
defm partition_metric : Value<"partition-metric">, MetaVarName<"METRIC">,
  HelpText<"what the cuts balance:">, Values<"nnz,density,zeros">,
  Group<sparse_group>;
defm partition_threshold : Value<"partition-threshold">, MetaVarName<"X">,
  HelpText<"largest difference between two tiles (0.03)">, Group<sparse_group>;
defm partition_cuts : Value<"partition-cuts">, MetaVarName<"TIME">,
  HelpText<"when cuts are chosen: auto (default), profile (at compile "
           "time), runtime, always or always-profile (both for "
           "studies)">,
  Values<"auto,profile,runtime,always,always-profile">, Group<sparse_group>;
defm partition_halo : Value<"partition-halo">, MetaVarName<"MODE">,
  HelpText<"what scatter mode cuts into tiles: overlap (default: the "
           "results), disjoint (the operand) or auto (fewer cycles)">,
  Values<"overlap,disjoint,auto">, Group<sparse_group>;

def explain : Switch<"explain">, HelpText<"print what each pass decided, and the alternatives">,
  Group<report_group>, Flags<[ToolOnly]>;
defm report : Value<"report">, MetaVarName<"FILE.json">,
  HelpText<"write the compile report (docs/ReportSchema.md)">,
  Group<report_group>, Flags<[Writes, ToolOnly]>;
defm html : Value<"html">, MetaVarName<"FILE.html">,
  HelpText<"write the timed program as a self-contained HTML page">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm layers : Value<"layers">, MetaVarName<"FILE.csv">,
  HelpText<"write the timed layers as CSV">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm annotate : Value<"annotate">, MetaVarName<"FILE.onnx">,
  HelpText<"write a copy of the model with the cost of each node, for "
           "Netron">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm model_explorer : Value<"model-explorer">, MetaVarName<"DIR">,
  HelpText<"write graphs and node data for Model Explorer">, Group<report_group>,
  Flags<[ToolOnly]>;
defm dump_plan : Value<"dump-plan">, MetaVarName<"DIR">,
  HelpText<"write the numeric plan and its constants">, Group<report_group>,
  Flags<[WritesDump, ToolOnly]>;

defm threads : Value<"threads">, MetaVarName<"N">,
  HelpText<"number of threads (all hardware threads); never changes "
           "the program">,
  Group<general_group>;
def list_machines : Switch<"list-machines">,
  HelpText<"list the built-in machines">, Group<general_group>,
  Flags<[ToolOnly]>;
def quiet : Switch<"quiet">, HelpText<"print errors and warnings only">,
  Group<general_group>, Flags<[ToolOnly]>;
defm dump_machine : Value<"dump-machine">, MetaVarName<"NAME">,
  HelpText<"print a machine description as YAML">, Group<general_group>,
  Flags<[ToolOnly]>;
