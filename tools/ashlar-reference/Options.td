// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-reference.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;

defm inputs : Value<"inputs">, MetaVarName<"FILE.npz">,
  HelpText<"inputs by ONNX name; n times the model's batch on axis 0 "
           "are n samples">,
  Group<main_group>, Flags<[Reads]>;
defm outputs : Value<"outputs">, MetaVarName<"FILE.npz">,
  HelpText<"write the outputs by ONNX name">, Group<main_group>, Flags<[Writes]>;
defm phase : Value<"phase">, MetaVarName<"PHASE">, HelpText<"compile up to this phase first (fold: for the "
           "machine of the module, a1 where it names none):">,
  Values<"import,simplify,fold">, Group<main_group>;
def fp64 : Switch<"fp64">, HelpText<"compute in binary64, without rounding results to their "
           "types">,
  Group<main_group>;
def check_phase : Switch<"check-phase">,
  HelpText<"compare the network before and after --phase on seeded "
           "inputs, in binary64">,
  Group<main_group>;
defm random_inputs : Value<"random-inputs">, MetaVarName<"SEED">,
  HelpText<"seed of the random inputs (1)">, Group<main_group>;
defm input_shape : Value<"input-shape">, MetaVarName<"NAME=1x3x224x224">,
  HelpText<"static shape of a graph input; repeat for several">, Group<main_group>;
defm constant : Value<"constant">, MetaVarName<"NAME=FILE.npy">,
  HelpText<"turn a graph input into a constant">, Group<main_group>,
  Flags<[ReadsNamed]>;
