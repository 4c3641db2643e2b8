// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel table for AVX2. Built with -mavx2; reached only after a CPU check.

#include "AlignAvx2.h"
#include "EncodeAvx2.h"
#include "GemmDrain.h"
#include "PairAvx2.h"
#include "SimdAvx2.h"
#include "Stationary/Avx2.h"
#include "TileKernel.h"

namespace ashlar::numerics {

static constexpr KernelTable makeAvx2Table() {
  KernelTable table =
      makeTable<gemmPairs<Simd256>>("avx2", packPairs<Simd256::kColumns>);
  table.packStoredStationary = packStoredMatrix<StationaryLanes256>;
  table.startMoving = startMovingPairs;
  table.packMoving = packMovingPairs;
  table.align8To16 = align8To16Columns;
  table.alignGroup8To16 = alignGroupColumns;
  table.gather8 = gather8Lanes;
  table.gather32 = gather32Lanes;
  table.packStored = packStoredPairs256;
  table.epilogue = epilogueLanes<true>;
  table.decode8 = decode8Lanes;
  table.reduceStep = reduceLanes;
  table.windowMaxima8 = windowMaxima<decode8Lanes, reduceLanes, gather32Lanes>;
  table.encode8 = encodeRowsLanes<int8_t>;
  table.encode16 = encodeRowsLanes<int16_t>;
  table.drain8 = drainRows<epilogueLanes<false>, encodeRowsLanes<int8_t>>;
  table.gemmPacked = gemmPackedPairs<Simd256>;
  table.planSums = planPairs<Simd256>;
  table.drainSums = drainPairs<Simd256, encodeRowsLanes<int8_t>>;
  table.sweepTile = sweepTile<Simd256, Simd256>;
  return table;
}

constinit const KernelTable avx2Table = makeAvx2Table();

} // namespace ashlar::numerics
