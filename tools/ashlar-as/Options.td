// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-as.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;

defm o : Letter<"o">, MetaVarName<"FILE">, HelpText<"output file">,
  Group<main_group>, Flags<[Writes]>;
def raw : Switch<"raw">, HelpText<"write the code words only">,
  Group<main_group>;
