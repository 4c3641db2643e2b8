// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-reduce.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def failure_group : HelpGroup<2, "failure options">;
def search_group : HelpGroup<3, "search options">;

defm o : Letter<"o">, MetaVarName<"FILE.onnx">,
  HelpText<"the smallest model that shows the failure">, Group<main_group>,
  Flags<[Writes]>;
defm test : Value<"test">, MetaVarName<"COMMAND">,
  HelpText<"shell command that fails; {model}, {inputs}, {outputs}, {dir} name"
           " files">,
  Group<main_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x8x8">,
  HelpText<"fixes the shape of a graph input">, Group<main_group>;

defm reference : Value<"reference">, MetaVarName<"COMMAND">,
  HelpText<"the failure is that {outputs} of the two commands differ">,
  Group<failure_group>;
defm exit : Value<"exit">, MetaVarName<"N">,
  HelpText<"exit code that counts, 128+n for signal n (as MODEL's)">,
  Group<failure_group>;
defm message : Value<"message">, MetaVarName<"TEXT">,
  HelpText<"text that standard error must hold">, Group<failure_group>;
defm atol : Value<"atol">, MetaVarName<"A">,
  HelpText<"tolerance of the comparison, absolute (0)">, Group<failure_group>;
defm rtol : Value<"rtol">, MetaVarName<"R">,
  HelpText<"tolerance of the comparison, relative (0)">, Group<failure_group>;

defm seed : Value<"seed">, MetaVarName<"N">,
  HelpText<"seed of the arrays in {inputs} (1)">, Group<search_group>;
defm timeout : Value<"timeout">, MetaVarName<"SECONDS">,
  HelpText<"a command that takes longer is killed (60)">, Group<search_group>;
defm max_trials : Value<"max-trials">, MetaVarName<"N">,
  HelpText<"stop after N trials (no limit)">, Group<search_group>;
