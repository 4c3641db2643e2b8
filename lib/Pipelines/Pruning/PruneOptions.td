// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-prune.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def study_group : HelpGroup<2, "accuracy options">;

defm o : Letter<"o">, MetaVarName<"FILE.onnx">, HelpText<"the pruned model">,
  Group<main_group>, Flags<[Writes]>;
defm density : Value<"density">, MetaVarName<"D">,
  HelpText<"share of weights to keep, 0 to 1">, Group<main_group>;
defm pattern : Value<"pattern">, MetaVarName<"PATTERN">,
  HelpText<"unstructured (default), N:M (as 2:4), block or channel">,
  Group<main_group>;
defm scope : Value<"scope">, MetaVarName<"SCOPE">,
  HelpText<"layer (default): keep D of each tensor; global: D of all "
           "weights together">,
  Values<"layer,global">, Group<main_group>;
defm block : Value<"block">, MetaVarName<"N">,
  HelpText<"input channels per block, for --pattern=block (8)">, Group<main_group>;

defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"samples, one array per input of the model">, Group<study_group>,
  Flags<[Reads]>;
def sensitivity : Switch<"sensitivity">,
  HelpText<"prune each tensor alone and print the loss at each "
           "density; needs --inputs">,
  Group<study_group>;
defm target_agreement : Value<"target-agreement">, MetaVarName<"PCT">,
  HelpText<"find a density per tensor that keeps PCT percent of the "
           "top-1 classes; needs --inputs">,
  Group<study_group>;
