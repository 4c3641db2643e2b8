// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-run.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def check_group : HelpGroup<2, "comparison options">;
def report_group : HelpGroup<3, "report options">;

defm input : Value<"input">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"an input array; repeat for several">, Group<main_group>,
  Flags<[ReadsNamed]>;
defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"input arrays by ONNX name">, Group<main_group>, Flags<[Reads]>;
defm random_inputs : Value<"random-inputs">, MetaVarName<"SEED">,
  HelpText<"seeded arrays for the inputs not given">, Group<main_group>;
defm outputs : Value<"outputs">, MetaVarName<"FILE.npz">,
  HelpText<"write the outputs by ONNX name">, Group<main_group>,
  Flags<[Writes]>;
defm state_in : Value<"state-in">, MetaVarName<"FILE.npz">,
  HelpText<"state of an earlier run (as at load)">, Group<main_group>,
  Flags<[Reads]>;
defm state_out : Value<"state-out">, MetaVarName<"FILE.npz">,
  HelpText<"write the state after the last sample">, Group<main_group>,
  Flags<[Writes]>;
defm generate : Value<"generate">, MetaVarName<"N">,
  HelpText<"generate N tokens with a language model">, Group<main_group>;
defm prompt : Value<"prompt">, MetaVarName<"TEXT">,
  HelpText<"what --generate continues from">, Group<main_group>;
defm tokens : Value<"tokens">, MetaVarName<"1,2,3">,
  HelpText<"the prompt as numbers of tokens">, Group<main_group>;
defm tokenizer : Value<"tokenizer">, MetaVarName<"FILE.json">,
  HelpText<"vocabulary: a list of texts, or a tokenizer.json of byte pairs">, Group<main_group>,
  Flags<[Reads]>;
defm also : Value<"also">, MetaVarName<"PROGRAM.ash">,
  HelpText<"another program of the model, for runs of more or fewer tokens">, Group<main_group>,
  Flags<[Reads]>;
defm temperature : Value<"temperature">, MetaVarName<"T">,
  HelpText<"draw tokens (0: the most probable one)">, Group<main_group>;
defm top_k : Value<"top-k">, MetaVarName<"K">,
  HelpText<"draw among the K most probable tokens (0: all)">, Group<main_group>;
defm seed : Value<"seed">, MetaVarName<"N">,
  HelpText<"seed of the draws (0)">, Group<main_group>;
defm machine : Value<"machine">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"run on this machine instead of that of the program">,
  Group<main_group>, Flags<[Reads]>;
def functional : Switch<"functional">,
  HelpText<"execute only, count no cycles">, Group<main_group>;

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
  HelpText<"write the layers as a table">, Group<report_group>,
  Flags<[Writes]>;
defm trace : Value<"trace">, MetaVarName<"FILE">,
  HelpText<"write a time line: .pftrace for Perfetto, else JSON">,
  Group<report_group>, Flags<[Writes]>;
defm stacks : Value<"stacks">, MetaVarName<"FILE">,
  HelpText<"write cycles as folded stacks (speedscope)">,
  Group<report_group>, Flags<[Writes]>;
defm dram_trace : Value<"dram-trace">, MetaVarName<"FILE">,
  HelpText<"write the requests to DRAM for Ramulator 2">,
  Group<report_group>, Flags<[Writes]>;
defm html : Value<"html">, MetaVarName<"FILE.html">,
  HelpText<"write the report as a page to look at">, Group<report_group>,
  Flags<[Writes]>;
defm baseline : Value<"baseline">, MetaVarName<"FILE.json">,
  HelpText<"report of another run, which --html compares">,
  Group<report_group>, Flags<[Reads]>;
defm dump_tensors : Value<"dump-tensors">, MetaVarName<"DIR">,
  HelpText<"write every planned tensor of one sample">, Group<report_group>,
  Flags<[WritesDump]>;
defm energy_table : Value<"energy-table">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"prices of the reports (n7; docs/Energy.md)">,
  Group<report_group>, Flags<[Reads]>;

defm max_memory : Value<"max-memory">, MetaVarName<"BYTES">,
  HelpText<"refuse programs that need more (K, M, G)">,
  Group<general_group>;
defm threads : Value<"threads">, MetaVarName<"N">,
  HelpText<"threads (all hardware threads); results never change">,
  Group<general_group>;
defm kernels : Value<"kernels">, MetaVarName<"NAME">,
  HelpText<"kernel set, or help for a list; results never change">,
  Group<general_group>;
def no_cache : Switch<"no-cache">,
  HelpText<"prove the program again and keep no proof">, Group<general_group>;
def quiet : Switch<"quiet">, HelpText<"print errors and warnings only">,
  Group<general_group>;
