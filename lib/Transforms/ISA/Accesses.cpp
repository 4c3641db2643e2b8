// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Accesses.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::isadialect {

bool fillsBox(const isa::Access &access) {
  uint64_t units = access.runLength;
  for (unsigned i = 0; i < access.numDims; ++i)
    units *= access.dims[i].count;
  return units == static_cast<uint64_t>(access.end - access.begin);
}

void AccessFinder::next(const isa::Instruction &instruction,
                        llvm::SmallVectorImpl<isa::Access> &accesses) {
  accesses.clear();
  isa::footprints(instruction, machine, accesses);
  auto forgetMap = [&] {
    llvm::erase_if(accesses, [](const isa::Access &access) {
      return access.space == isa::Space::Sb || access.space == isa::Space::Xm;
    });
  };
  if (const auto *tile = std::get_if<isa::TccTile>(&instruction)) {
    if (tile->clear)
      tables[tile->table] = isa::MapBox();
    if (auto &results = tables[tile->table])
      results->include(isa::resultsOf(*tile));
  } else if (const auto *part = std::get_if<isa::TccPart>(&instruction)) {
    tables[part->table].reset();
  } else if (const auto *own = std::get_if<isa::TccOperand>(&instruction)) {
    tables[own->table].reset();
  } else if (const auto *drain = std::get_if<isa::ActDrain>(&instruction);
             drain && drain->fromTcu && tables[drain->table] &&
             !tables[drain->table]->empty()) {
    forgetMap();
    isa::drainMemory(isa::narrow(*drain, *tables[drain->table]), machine,
                     accesses);
  } else if (const auto *load = std::get_if<isa::DmaTile>(&instruction);
             load && tables[load->table]) {
    isa::MapBox input = isa::inputOf(*load, *tables[load->table]);
    if (input.empty())
      return;
    forgetMap();
    isa::loadSource(isa::narrow(*load, input), 0, machine, accesses);
  }
}

} // namespace ashlar::isadialect
