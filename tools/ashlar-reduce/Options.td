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
  HelpText<"shell command that fails; {model}, {inputs}, {outputs}, "
           "{dir} are replaced by file names">,
  Group<main_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x8x8">,
  HelpText<"static shape of a graph input; repeat for several">, Group<main_group>;

defm reference : Value<"reference">, MetaVarName<"COMMAND">,
  HelpText<"compare with this command: the failure is that the "
           "{outputs} of the two differ">,
  Group<failure_group>;
defm exit : Value<"exit">, MetaVarName<"N">,
  HelpText<"exit code that counts as the failure, 128+n for signal n "
           "(that of MODEL)">,
  Group<failure_group>;
defm message : Value<"message">, MetaVarName<"TEXT">,
  HelpText<"text that standard error must contain">, Group<failure_group>;
defm atol : Value<"atol">, MetaVarName<"A">,
  HelpText<"absolute tolerance of the comparison (0)">, Group<failure_group>;
defm rtol : Value<"rtol">, MetaVarName<"R">,
  HelpText<"relative tolerance of the comparison (0)">, Group<failure_group>;

defm seed : Value<"seed">, MetaVarName<"N">,
  HelpText<"seed of the arrays in {inputs} (1)">, Group<search_group>;
defm timeout : Value<"timeout">, MetaVarName<"SECONDS">,
  HelpText<"seconds after which a command is killed (60)">, Group<search_group>;
defm max_trials : Value<"max-trials">, MetaVarName<"N">,
  HelpText<"stop after N trials (no limit)">, Group<search_group>;
