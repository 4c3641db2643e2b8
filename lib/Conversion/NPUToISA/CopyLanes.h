// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between feature maps that lie in different lane folds.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_COPYLANES_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_COPYLANES_H

#include "Copy.h"
#include "ashlar/Analysis/Lanes.h"

namespace ashlar::codegen {

/// A feature map, or the tile of one, in a memory: `view` has the shape that it
/// has there, in `lanes`; `start` is the first index to copy, in the feature
/// map's own axes.
struct FoldedMap {
  View view;
  analysis::Lanes lanes;
  Shape start;
};

/// Copies `size` elements of `source` to `result`, index by index of the
/// feature map's own axes. A result that is repeated in every lane takes the
/// same elements `lanes.count` times.
void emitRelaid(ProgramBuilder &builder, const FoldedMap &source,
                const FoldedMap &result, llvm::ArrayRef<int64_t> size);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_COPYLANES_H
