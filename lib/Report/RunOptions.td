// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-run.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def check_group : HelpGroup<2, "comparison options">;
def report_group : HelpGroup<3, "report options">;

defm input : Value<"input">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"input array; repeat for several">, Group<main_group>,
  Flags<[ReadsNamed]>;
defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"input arrays by ONNX name">, Group<main_group>, Flags<[Reads]>;
defm random_inputs : Value<"random-inputs">, MetaVarName<"SEED">,
  HelpText<"generate the inputs that are not given, from this seed">, Group<main_group>;
defm outputs : Value<"outputs">, MetaVarName<"FILE.npz">,
  HelpText<"write the outputs by ONNX name">, Group<main_group>,
  Flags<[Writes]>;
defm state_in : Value<"state-in">, MetaVarName<"FILE.npz">,
  HelpText<"state of an earlier run (the initial state)">, Group<main_group>,
  Flags<[Reads]>;
defm state_out : Value<"state-out">, MetaVarName<"FILE.npz">,
  HelpText<"write the state after the last sample">, Group<main_group>,
  Flags<[Writes]>;
defm generate : Value<"generate">, MetaVarName<"N">,
  HelpText<"generate N tokens with a language model">, Group<main_group>;
defm prompt : Value<"prompt">, MetaVarName<"TEXT">,
  HelpText<"text that --generate continues">, Group<main_group>;
defm tokens : Value<"tokens">, MetaVarName<"1,2,3">,
  HelpText<"the prompt as token numbers">, Group<main_group>;
defm tokenizer : Value<"tokenizer">, MetaVarName<"FILE.json">,
  HelpText<"vocabulary: a JSON list of texts, or a tokenizer.json with "
           "byte-level BPE">, Group<main_group>,
  Flags<[Reads]>;
defm also : Value<"also">, MetaVarName<"PROGRAM.ash">,
  HelpText<"another program of the same model, for more or fewer "
           "tokens per run; repeat for several">, Group<main_group>,
  Flags<[Reads]>;
defm temperature : Value<"temperature">, MetaVarName<"T">,
  HelpText<"sample tokens with this temperature (0: take the most "
           "probable one)">, Group<main_group>;
defm top_k : Value<"top-k">, MetaVarName<"K">,
  HelpText<"sample among the K most probable tokens (0: all)">, Group<main_group>;
defm seed : Value<"seed">, MetaVarName<"N">,
  HelpText<"seed of the sampling (0)">, Group<main_group>;
defm machine : Value<"machine">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"run on this machine instead of the program's own">,
  Group<main_group>, Flags<[Reads]>;
def functional : Switch<"functional">,
  HelpText<"execute without counting cycles">, Group<main_group>;

defm expect : Value<"expect">, MetaVarName<"FILE.npz">,
  HelpText<"compare the outputs; exit code 6 on mismatch">,
  Group<check_group>, Flags<[Reads]>;
defm atol : Value<"atol">, MetaVarName<"A">,
  HelpText<"absolute tolerance of --expect (0)">, Group<check_group>;
defm rtol : Value<"rtol">, MetaVarName<"R">,
  HelpText<"relative tolerance of --expect (0)">, Group<check_group>;

defm report : Value<"report">, MetaVarName<"FILE.json">,
  HelpText<"write the report (docs/ReportSchema.md)">, Group<report_group>,
  Flags<[Writes]>;
defm layers : Value<"layers">, MetaVarName<"FILE.csv">,
  HelpText<"write the layers as CSV">, Group<report_group>,
  Flags<[Writes]>;
defm trace : Value<"trace">, MetaVarName<"FILE">,
  HelpText<"write a timeline: .pftrace for Perfetto, else Chrome JSON">,
  Group<report_group>, Flags<[Writes]>;
defm stacks : Value<"stacks">, MetaVarName<"FILE">,
  HelpText<"write cycles as folded stacks, for speedscope">,
  Group<report_group>, Flags<[Writes]>;
defm dram_trace : Value<"dram-trace">, MetaVarName<"FILE">,
  HelpText<"write the DRAM requests, for Ramulator 2">,
  Group<report_group>, Flags<[Writes]>;
defm html : Value<"html">, MetaVarName<"FILE.html">,
  HelpText<"write the report as a self-contained HTML page">, Group<report_group>,
  Flags<[Writes]>;
defm baseline : Value<"baseline">, MetaVarName<"FILE.json">,
  HelpText<"report of another run, with which --html compares">,
  Group<report_group>, Flags<[Reads]>;
defm dump_tensors : Value<"dump-tensors">, MetaVarName<"DIR">,
  HelpText<"write every planned tensor of one sample">, Group<report_group>,
  Flags<[WritesDump]>;
defm energy_table : Value<"energy-table">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"energy and area prices: n7 (default), n45 or a file "
           "(docs/Energy.md)">,
  Group<report_group>, Flags<[Reads]>;

defm max_memory : Value<"max-memory">, MetaVarName<"BYTES">,
  HelpText<"refuse programs that need more memory (suffixes K, M, G)">,
  Group<general_group>;
defm threads : Value<"threads">, MetaVarName<"N">,
  HelpText<"number of threads (all hardware threads); never changes a "
           "result">,
  Group<general_group>;
defm sharing : Value<"sharing">, MetaVarName<"KIND">,
  HelpText<"what threads share: lists of instructions, the loops of each, or "
           "auto; never changes a result">,
  Group<general_group>;
defm kernels : Value<"kernels">, MetaVarName<"NAME">,
  HelpText<"kernel set, or help for a list; never changes a result">,
  Group<general_group>;
def no_cache : Switch<"no-cache">,
  HelpText<"prove the program again, and cache no proof">, Group<general_group>;
def quiet : Switch<"quiet">, HelpText<"print errors and warnings only">,
  Group<general_group>;
