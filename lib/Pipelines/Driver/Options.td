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
  HelpText<"output (a program; text with --compile-to)">, Group<main_group>,
  Flags<[Writes, ToolOnly]>;
defm machine : Value<"machine">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"machine to compile for (a1); --list-machines prints the names">,
  Group<main_group>, Flags<[Reads]>;
defm compile_to : Value<"compile-to">, MetaVarName<"PHASE">,
  HelpText<"stop after a phase and print its module">,
  Values<"import,simplify,fold,quantise,assign,plan,emit">, Group<main_group>,
  Flags<[ToolOnly]>;
defm compile_from : Value<"compile-from">, MetaVarName<"PHASE">,
  HelpText<"the model is a file that --compile-to=PHASE -o wrote; continue from "
           "there">,
  Values<"import,simplify,fold,quantise,assign,plan,emit">, Group<main_group>,
  Flags<[ToolOnly]>;
def check : Switch<"check">,
  HelpText<"list every node: mapped, rewritten, unsupported, why">,
  Group<main_group>, Flags<[ToolOnly]>;
def verify : Switch<"verify">,
  HelpText<"compare every layer with the reference and with its error bound">,
  Group<main_group>, Flags<[ToolOnly]>;
defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"samples for --verify, by input name">, Group<main_group>,
  Flags<[Reads, ToolOnly]>;

defm batch : Value<"batch">, MetaVarName<"N">,
  HelpText<"samples at a time, for models of one sample or an open batch">,
  Group<model_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x224x224">,
  HelpText<"static shape of a graph input; or batch=1,seq=128: named "
           "dimensions">,
  Group<model_group>;
defm constant : Value<"constant">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"makes a graph input constant">, Group<model_group>,
  Flags<[ReadsNamed]>;
defm bucket : Value<"bucket">, MetaVarName<"NAME:1,16,64">,
  HelpText<"a program for each size of a named dimension, all in one file">,
  Group<model_group>, Flags<[ToolOnly]>;
defm state : Value<"state">, MetaVarName<"OUTPUT:INPUT|auto">,
  HelpText<"the output replaces the input for the next run, as the cache of a "
           "decoder; auto: those that are called present... and past...">,
  Group<model_group>;
def large_constants : Switch<"large-constants">,
  HelpText<"constants that the model makes may be larger than its file's size "
           "allows">,
  Group<model_group>;
def no_host : Switch<"no-host">,
  HelpText<"nodes that need the host (docs/UserGuide.md) are unsupported">,
  Group<model_group>;

defm format : Value<"format">, MetaVarName<"FORMAT|auto">,
  HelpText<"bfp8 (default), bfp16, w=8,block=16,range=7, or a search">,
  Group<format_group>;
defm activations : Value<"activations">, MetaVarName<"FORMAT">,
  HelpText<"format of activations, if another">, Group<format_group>;
defm weights : Value<"weights">, MetaVarName<"FORMAT">,
  HelpText<"format of weights, if another">, Group<format_group>;
defm formats : Value<"formats">, MetaVarName<"FILE.json">,
  HelpText<"formats by node, as --dump-formats writes them">,
  Group<format_group>, Flags<[Reads]>;
defm dump_formats : Value<"dump-formats">, MetaVarName<"FILE.json">,
  HelpText<"write the formats that were compiled">, Group<format_group>,
  Flags<[Writes, ToolOnly]>;
defm residual : Value<"residual">, MetaVarName<"TYPE">,
  HelpText<"storage of what residual adds read:">, Values<"bfp,bf16,f32">,
  Group<format_group>;
defm weight_scaling : Value<"weight-scaling">, MetaVarName<"MODE">,
  HelpText<"factors of output channels that make weights round better:">,
  Values<"auto,off">, Group<format_group>;
defm scale : Value<"scale">, MetaVarName<"POLICY">,
  HelpText<"scale exponents: runmax (default), fixed, fixed(e=-7), table, "
           "stats or predict">,
  Group<format_group>;
defm calibrate : Value<"calibrate">, MetaVarName<"FILE.npz">,
  HelpText<"samples for --format=auto, --scale and scatter mode, by input name">,
  Group<format_group>, Flags<[Reads]>;
defm min_snr : Value<"min-snr">, MetaVarName<"DB">,
  HelpText<"what --format=auto keeps: mean SNR of the outputs">,
  Group<format_group>;
defm min_agreement : Value<"min-agreement">, MetaVarName<"PCT">,
  HelpText<"what --format=auto keeps: equal best classes on unseen inputs">,
  Group<format_group>;

defm fold_w : Value<"fold-w">, MetaVarName<"MODE">, HelpText<"W folding:">,
  Values<"auto,off,stride,lane,both">, Group<mapping_group>;
defm pci_policy : Value<"pci-policy">, MetaVarName<"POLICY">,
  HelpText<"rows of a lane: cycles (default: fewest), or source (its alignment"
           " rule)">,
  Values<"cycles,source">, Group<mapping_group>;
defm schedule : Value<"schedule">, MetaVarName<"MODE">,
  HelpText<"order of instructions in the queues: list (default), search (more "
           "schedules, up to a minute) or off (as emitted)">,
  Values<"list,search,off">, Group<mapping_group>;
defm transpose : Value<"transpose">, MetaVarName<"MODE">,
  HelpText<"transposes: auto (default), pe (the array), dma (through DRAM) or "
           "copy">,
  Values<"auto,pe,dma,copy">, Group<mapping_group>;
defm map_compression : Value<"map-compression">, MetaVarName<"FORM">,
  HelpText<"maps in DRAM: auto (default: fewest cycles), off, bitmap, coo or "
           "quadtree">,
  Values<"auto,off,bitmap,coo,quadtree">, Group<mapping_group>;
defm weight_compression : Value<"weight-compression">, MetaVarName<"FORM">,
  HelpText<"zeros of the array's weights in DRAM: auto (default: left out in "
           "the shortest form), off, bitmap or runs">,
  Values<"auto,off,bitmap,runs">, Group<mapping_group>;

defm sparse : Value<"sparse">, MetaVarName<"MODE">,
  HelpText<"sparse cluster: auto (default: fewest cycles), off, tile or "
           "scatter">,
  Values<"auto,off,tile,scatter">, Group<sparse_group>;
defm zero_skip : Value<"zero-skip">, MetaVarName<"MODE">,
  HelpText<"zero coefficients on the sparse cluster: on (default: skipped) or "
           "off (issued, to compare with)">,
  Values<"on,off">, Group<sparse_group>;
defm classify : Value<"classify">, MetaVarName<"RULE">,
  HelpText<"sparse or dense: by cost (default), majority or threshold of zeros">,
  Values<"cost,majority,threshold">,
  Group<sparse_group>;
defm scatter_unit : Value<"scatter-unit">, MetaVarName<"A|B|C|D">,
  HelpText<"unit that scatters (D)">, Values<"A,B,C,D">, Group<sparse_group>;
defm partition : Value<"partition">, MetaVarName<"ALGORITHM">,
  HelpText<"cuts of scatter mode: p2 (default), p1, rows or uniform">,
  Values<"p2,p1,rows,uniform">, Group<sparse_group>;
defm partition_metric : Value<"partition-metric">, MetaVarName<"METRIC">,
  HelpText<"what tiles have equal:">, Values<"nnz,density,zeros">,
  Group<sparse_group>;
defm partition_threshold : Value<"partition-threshold">, MetaVarName<"X">,
  HelpText<"largest difference of two tiles (0.03)">, Group<sparse_group>;
defm partition_cuts : Value<"partition-cuts">, MetaVarName<"TIME">,
  HelpText<"cuts by profile or by counts at run time: auto (default), profile,"
           " runtime, always or always-profile">,
  Values<"auto,profile,runtime,always,always-profile">, Group<sparse_group>;
defm partition_halo : Value<"partition-halo">, MetaVarName<"MODE">,
  HelpText<"tiles of the results (overlap, default), of the operand "
           "(disjoint), or auto: fewer cycles">,
  Values<"overlap,disjoint,auto">, Group<sparse_group>;

def explain : Switch<"explain">, HelpText<"print the decisions of all passes">,
  Group<report_group>, Flags<[ToolOnly]>;
defm report : Value<"report">, MetaVarName<"FILE.json">,
  HelpText<"write the compile report (docs/ReportSchema.md)">,
  Group<report_group>, Flags<[Writes, ToolOnly]>;
defm html : Value<"html">, MetaVarName<"FILE.html">,
  HelpText<"write the timed program as a page to look at">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm layers : Value<"layers">, MetaVarName<"FILE.csv">,
  HelpText<"write the timed layers as a table">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm annotate : Value<"annotate">, MetaVarName<"FILE.onnx">,
  HelpText<"write the model with the cost of its nodes">, Group<report_group>,
  Flags<[Writes, ToolOnly]>;
defm model_explorer : Value<"model-explorer">, MetaVarName<"DIR">,
  HelpText<"write graphs and numbers for Model Explorer">, Group<report_group>,
  Flags<[ToolOnly]>;
defm dump_plan : Value<"dump-plan">, MetaVarName<"DIR">,
  HelpText<"write the numeric plan and its constants">, Group<report_group>,
  Flags<[WritesDump, ToolOnly]>;

defm threads : Value<"threads">, MetaVarName<"N">,
  HelpText<"threads (all hardware threads); results never change">,
  Group<general_group>;
def list_machines : Switch<"list-machines">,
  HelpText<"print the built-in machines">, Group<general_group>,
  Flags<[ToolOnly]>;
defm dump_machine : Value<"dump-machine">, MetaVarName<"NAME">,
  HelpText<"print a machine description as YAML">, Group<general_group>,
  Flags<[ToolOnly]>;
