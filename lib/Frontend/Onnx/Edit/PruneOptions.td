// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-prune.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;

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
