// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel table for AVX2. Built with -mavx2; reached only after a CPU check.

#include "GemmKernel.h"
#include "SimdAvx2.h"
#include "TileKernel.h"

namespace ashlar::numerics {

static constexpr KernelTable makeAvx2Table() {
  KernelTable table =
      makeTable<gemmPairs<Simd256>>("avx2", packPairs<Simd256::kColumns>);
  table.startMoving = startMovingPairs;
  table.packMoving = packMovingPairs;
  table.packStored = packStoredPairs<alignGroup>;
  table.gemmPacked = gemmPackedPairs<Simd256>;
  table.sweepTile = sweepTile<Simd256, Simd256>;
  return table;
}

constinit const KernelTable avx2Table = makeAvx2Table();

} // namespace ashlar::numerics
