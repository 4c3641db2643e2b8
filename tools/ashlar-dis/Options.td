// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-dis.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;

defm o : Letter<"o">, MetaVarName<"FILE">, HelpText<"output file (standard output)">,
  Group<main_group>, Flags<[Writes]>;
def raw : Switch<"raw">, HelpText<"the input has code words only">,
  Group<main_group>;
