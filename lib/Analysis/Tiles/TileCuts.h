// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where tiles may be cut along the partition dimension.

#ifndef ASHLAR_LIB_ANALYSIS_TILES_TILECUTS_H
#define ASHLAR_LIB_ANALYSIS_TILES_TILECUTS_H

#include "ashlar/Analysis/Tiles/TilingModel.h"

namespace ashlar::analysis {

/// Lets the partition axis be cut where channel tiles and blocks both end.
void addChannelCut(TilingModel &model, const machine::Description &machine);

/// Lets the outputs of a product be cut where channel tiles and blocks both
/// end, which column tiles do too.
void addOutputCut(TilingModel &model, const machine::Description &machine);

/// Whatever an operation works across, its encoded result is stored across the
/// axis of its blocks: a tile that ended inside a block, or began in the middle
/// of the partitions, would share exponent cells with its neighbour. Holds for
/// the model of every operation.
void keepBlocksWhole(TilingModel &model, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_TILES_TILECUTS_H
