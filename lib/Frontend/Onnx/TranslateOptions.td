// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-translate.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;

defm o : Letter<"o">, MetaVarName<"FILE">, HelpText<"output file (standard output)">,
  Group<main_group>, Flags<[Writes]>;
def import_onnx : Switch<"import-onnx">, HelpText<"print the model as MLIR">,
  Group<main_group>;
def check : Switch<"check">, HelpText<"list how every node is imported, or why not">,
  Group<main_group>;
def supported_ops : Switch<"supported-ops">,
  HelpText<"print the page of supported operators">, Group<main_group>;
def keep_resources : Switch<"keep-resources">,
  HelpText<"print large constants in full">, Group<main_group>;
def locations : Switch<"locations">, HelpText<"print source locations">,
  Group<main_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x224x224">,
  HelpText<"static shape of a graph input; repeat for several">, Group<main_group>;
defm constant : Value<"constant">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"turn a graph input into a constant">, Group<main_group>,
  Flags<[ReadsNamed]>;
defm elements : Value<"elements">, MetaVarName<"NAME=N">,
  HelpText<"elements of an input that is a sequence">, Group<main_group>;
