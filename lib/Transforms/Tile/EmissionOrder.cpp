// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places the merges of scale exponents. A merge waits for all producers of its
// parts, and what the vector unit does after it waits with it.

#include "EmissionOrder.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::tile {

/// True unless the code of `op` reads the exponents of blocks alone.
static bool needsScale(Operation *op) {
  return !op->hasTrait<npu::VectorEngine>();
}

std::vector<size_t> emissionOrder(llvm::ArrayRef<Operation *> nodes) {
  // Backwards: where the readers stand is known. The order grows from its end.
  std::vector<size_t> reversed;
  for (size_t i = nodes.size(); i-- > 0;) {
    auto at = reversed.end();
    if (npu::isAliased(nodes[i])) {
      auto users = nodes[i]->getResult(0).getUsers();
      auto reads = [&](size_t other) {
        return llvm::is_contained(users, nodes[other]);
      };
      auto needs = [&](size_t other) {
        return reads(other) && needsScale(nodes[other]);
      };
      // The first reader is the last one here.
      auto first = std::find_if(reversed.rbegin(), reversed.rend(), needs);
      if (first != reversed.rend())
        at = first.base();
      else if (auto last = llvm::find_if(reversed, reads);
               last != reversed.end())
        at = last;
    }
    reversed.insert(at, i);
  }
  return {reversed.rbegin(), reversed.rend()};
}

} // namespace ashlar::tile
