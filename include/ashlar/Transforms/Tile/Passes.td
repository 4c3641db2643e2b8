// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the tile phase.

#ifndef ASHLAR_TRANSFORMS_TILE_PASSES_TD
#define ASHLAR_TRANSFORMS_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTiles : Pass<"ashlar-tile-build", "::mlir::ModuleOp"> {
  let summary = "write every planned operation as a sequence of tile operations";
  let description = [{
    Gives every planned `npu` operation a `tile.sequence`, in the order of the
    program: buffers in the slots of the plan, and loads, computations and
    stores of its tiles. Tiles that differ only in their position become loops:
    regions and addresses are affine in the loop indices. Scale exponents that
    concatenations in memory merge are due before their first reader.
  }];
  let dependentDialects = ["::ashlar::tile::TileDialect"];
  let options = [
    Option<"checkPlan", "check-plan", "bool", /*default=*/"true",
           "check the plan first; a pipeline that has done so need not">
  ];
  let statistics = [
    Statistic<"numTiles", "tiles", "tiles of all operations">,
    Statistic<"numOperations", "operations", "tile operations that stand for them">
  ];
}

def VerifyTiles : Pass<"ashlar-tile-verify", "::mlir::ModuleOp"> {
  let summary = "check that sequences make the results that the plan describes";
  let description = [{
    Exit invariant of the tile phase. Unrolls the loops of every sequence and
    checks that

    - every `npu` operation has one sequence, of fewer than 2^28 steps;
    - every buffer lies within a slot of the plan, overlaps no other live
      buffer, holds its type, and is used only while it is live;
    - regions lie inside their tensors, unless the operation reads zeros around
      its operand;
    - every tile finds the parts of its operands that its tiling model asks for,
      in the layout in which the operation reads them, in a buffer that has been
      loaded or where the plan keeps them;
    - every tile of the plan is computed once (and measured once where the
      operation measures) and reaches its place in the result once, so every
      element of the result is written exactly once.
  }];
  let dependentDialects = ["::ashlar::tile::TileDialect"];
  let options = [
    Option<"checkPlan", "check-plan", "bool", /*default=*/"true",
           "check the plan first; a pipeline that has done so need not">
  ];
}

#endif // ASHLAR_TRANSFORMS_TILE_PASSES_TD
