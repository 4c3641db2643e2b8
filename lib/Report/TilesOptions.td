// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of ashlar-tiles.

include "ashlar/Support/Options.td"

def main_group : HelpGroup<1, "options">;
def cut_group : HelpGroup<2, "cut options">;

defm machine : Value<"machine">, MetaVarName<"NAME|FILE.yaml">,
  HelpText<"machine that the cycles are for (a1)">, Group<main_group>, Flags<[Reads]>;
defm constants : Value<"constants">, MetaVarName<"DIR">,
  HelpText<"folder that ashlarc --dump-plan wrote, to count zero "
           "weights">,
  Group<main_group>, Flags<[ReadsDump]>;
defm report : Value<"report">, MetaVarName<"FILE.json">,
  HelpText<"report of the dumped run: show its own tiles and units "
           "instead of a study">,
  Group<main_group>, Flags<[Reads]>;
defm picture : Value<"picture">, MetaVarName<"FILE.svg">,
  HelpText<"draw one layer: non-zeros, tiles, busy units">, Group<main_group>,
  Flags<[Writes]>;
defm node : Value<"node">, MetaVarName<"NAME">,
  HelpText<"the layer to draw (the one with the most non-zeros)">,
  Group<main_group>;

defm units : Value<"units">, MetaVarName<"N">,
  HelpText<"compute units (those of the machine)">, Group<cut_group>;
defm groups : Value<"groups">, MetaVarName<"N">,
  HelpText<"groups of units that split the results, each with all "
           "tiles (1); auto: fewest cycles">,
  Group<cut_group>;
defm partition : Value<"partition">, MetaVarName<"ALGORITHM">,
  HelpText<"uniform, p1, p2 (default) or rows">, Values<"uniform,p1,p2,rows">,
  Group<cut_group>;
defm metric : Value<"metric">, MetaVarName<"METRIC">,
  HelpText<"what tiles balance: nnz (default), density or zeros">,
  Values<"nnz,density,zeros">, Group<cut_group>;
defm threshold : Value<"threshold">, MetaVarName<"X">,
  HelpText<"largest difference between two tiles (0.03)">, Group<cut_group>;
defm halo : Value<"halo">, MetaVarName<"MODE">,
  HelpText<"overlap (default): tiles repeat their halo; none: partial "
           "sums of neighbours are added">,
  Values<"overlap,none">, Group<cut_group>;
defm align : Value<"align">, MetaVarName<"N">,
  HelpText<"cuts at multiples of N results, for pooling (1)">, Group<cut_group>;
defm variant : Value<"variant">, MetaVarName<"V">,
  HelpText<"variant of the scatter unit: A, B, C or D (default)">,
  Values<"A,B,C,D">, Group<cut_group>;
