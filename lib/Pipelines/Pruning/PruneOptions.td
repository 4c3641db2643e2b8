// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-prune.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def study_group : HelpGroup<2, "accuracy on given inputs">;

defm o : Letter<"o">, MetaVarName<"FILE.onnx">, HelpText<"the pruned model">,
  Group<main_group>, Flags<[Writes]>;
defm density : Value<"density">, MetaVarName<"D">,
  HelpText<"share of weights to keep, 0 to 1">, Group<main_group>;
defm pattern : Value<"pattern">, MetaVarName<"PATTERN">,
  HelpText<"unstructured (default), N:M (as 2:4), block or channel">,
  Group<main_group>;
defm scope : Value<"scope">, MetaVarName<"SCOPE">,
  HelpText<"layer (default): D of each tensor; global: D of all together">,
  Values<"layer,global">, Group<main_group>;
defm block : Value<"block">, MetaVarName<"N">,
  HelpText<"input channels of a block (8)">, Group<main_group>;

defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"samples, one array per input of the model">, Group<study_group>,
  Flags<[Reads]>;
def sensitivity : Switch<"sensitivity">,
  HelpText<"print what each tensor alone costs at each density; needs "
           "--inputs">,
  Group<study_group>;
defm target_agreement : Value<"target-agreement">, MetaVarName<"PCT">,
  HelpText<"find the density of each tensor with which PCT percent of the best "
           "classes stay; needs --inputs">,
  Group<study_group>;
