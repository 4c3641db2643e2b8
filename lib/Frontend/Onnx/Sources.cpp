// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which graph inputs decide a value: a walk back over its operands.

#include "Sources.h"
#include "Model.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

using namespace ashlar;
using namespace ashlar::frontend;

namespace {

/// A message names as many inputs.
constexpr size_t kMostNamed = 3;
/// Values of shapes are computed by few operations; a message is not worth a
/// walk over a whole network.
constexpr size_t kMostVisited = 10000;

llvm::SetVector<mlir::Value> inputsOf(mlir::Value value) {
  llvm::SetVector<mlir::Value> visited, inputs;
  visited.insert(value);
  for (size_t i = 0; i < visited.size() && i < kMostVisited; ++i) {
    mlir::Value next = visited[i];
    if (mlir::Operation *op = next.getDefiningOp())
      visited.insert(op->operand_begin(), op->operand_end());
    else
      inputs.insert(next);
  }
  return inputs;
}

} // namespace

std::string ashlar::frontend::remedyForRunTime(mlir::Value value) {
  if (!value)
    return {};
  std::string names, option;
  const llvm::SetVector<mlir::Value> inputs = inputsOf(value);
  for (auto [i, input] : llvm::enumerate(inputs.getArrayRef())) {
    auto named = mlir::dyn_cast<mlir::NameLoc>(input.getLoc());
    if (!named || i == kMostNamed)
      break;
    const std::string name = printable(named.getName().str());
    names += (i ? ", '" : "'") + name + "'";
    if (i == 0)
      option = name;
  }
  if (names.empty())
    return {};
  if (inputs.size() > kMostNamed)
    names += ", ...";
  return ": it is computed from " + names + "; --constant=" + option +
         "=FILE.npy makes an input a constant";
}
