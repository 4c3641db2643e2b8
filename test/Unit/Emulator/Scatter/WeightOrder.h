// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of the weights of a block, for tests of scatter mode. Compiled
// programs state their order record by record (docs/SparseTiles.md).

#ifndef ASHLAR_TEST_UNIT_EMULATOR_SCATTER_WEIGHTORDER_H
#define ASHLAR_TEST_UNIT_EMULATOR_SCATTER_WEIGHTORDER_H

#include "lib/Emulator/Cost/Scatter.h"

#include <algorithm>

namespace ashlar::emulator {

enum class WeightOrder : uint8_t {
  Ascending,  ///< Row-major.
  Descending, ///< Its reverse.
  Snake,      ///< Every other row backwards: the window moves one step.
};

inline void orderWeights(std::vector<ScatterItem> &weights, WeightOrder order) {
  std::sort(weights.begin(), weights.end(),
            [order](const ScatterItem &a, const ScatterItem &b) {
              if (a.row != b.row)
                return order == WeightOrder::Descending ? a.row > b.row
                                                        : a.row < b.row;
              const bool back = order == WeightOrder::Descending ||
                                (order == WeightOrder::Snake && a.row % 2);
              return back ? a.col > b.col : a.col < b.col;
            });
}

} // namespace ashlar::emulator

#endif // ASHLAR_TEST_UNIT_EMULATOR_SCATTER_WEIGHTORDER_H
