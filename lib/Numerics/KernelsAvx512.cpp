// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel tables for AVX-512 (F, BW, DQ, VL), without and with VNNI: the file is
// built twice, ASHLAR_VNNI tells which.

#include "AlignAvx512.h"
#if ASHLAR_VNNI
#include "Blocks/Avx512.h"
#endif
#include "GemmDrain.h"
#include "PairAvx512.h"
#include "SimdAvx2.h"
#include "SimdAvx512.h"
#include "Stationary/Avx512.h"
#include "TileKernel.h"

namespace ashlar::numerics {

static constexpr KernelTable makePairTable(llvm::StringRef name) {
  KernelTable table =
      makeTable512<gemmPairs<Simd512>>(name, packPairs<Simd512::kColumns>);
  table.packStoredStationary = packStoredMatrix<StationaryLanes512>;
  table.startMoving = startMovingPairs;
  table.packMoving = packMovingPairs;
  table.packStored = packStoredPairs512;
#if ASHLAR_VNNI
  table.packStoredStationary = packStoredSet;
  table.leaveBlocks = leaveBlocks<Simd512::kColumns>;
  table.startBlocks = startMovingBlocks;
  table.packStored = packStoredEither;
#endif
  table.gemmPacked = gemmPackedPairs<Simd512>;
  table.planSums = planPairs<Simd512>;
  table.drainSums = drainPairs<Simd512, encodeRowsLanes<int8_t>>;
  table.sweepTile = sweepTile<Simd512, Simd256>;
  return table;
}

#if ASHLAR_VNNI
constinit const KernelTable avx512VnniTable = makePairTable("avx512vnni");
#else
constinit const KernelTable avx512Table = makePairTable("avx512");
#endif

} // namespace ashlar::numerics
