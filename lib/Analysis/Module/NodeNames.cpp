// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects NameLocs in the order of the fused locations that hold them.

#include "ashlar/Analysis/Module/NodeNames.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::analysis {

static void collect(Location location, SmallVector<std::string> &names) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    std::string name = named.getName().str();
    if (!llvm::is_contained(names, name))
      names.push_back(std::move(name));
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, names);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), names);
  }
}

SmallVector<std::string> getNodeNames(Location location) {
  SmallVector<std::string> names;
  collect(location, names);
  return names;
}

std::string getNodeName(Location location) {
  SmallVector<std::string> names = getNodeNames(location);
  return names.empty() ? std::string() : names.front();
}

/// Metadata of the fused location that markAltered() makes.
static constexpr llvm::StringLiteral kAltered = "altered";

void markAltered(Operation *op) {
  MLIRContext *context = op->getContext();
  op->setLoc(FusedLoc::get({op->getLoc()}, StringAttr::get(context, kAltered),
                           context));
}

bool isAltered(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return false;
  auto mark = dyn_cast_or_null<StringAttr>(fused.getMetadata());
  return (mark && mark.getValue() == kAltered) ||
         llvm::any_of(fused.getLocations(), isAltered);
}

} // namespace ashlar::analysis
