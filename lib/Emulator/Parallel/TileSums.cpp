// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From drains back to loads.

#include "TileSums.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

/// Whether an instruction reads or writes what each thread has for itself.
static bool isPrivate(const Access &access) {
  return access.space == Space::Fmu || access.space == Space::Acc ||
         access.space == Space::Tiles;
}

bool TileSums::isPart(const isa::Instruction &inst) {
  if (const auto *drain = std::get_if<isa::ActDrain>(&inst))
    return drain->fromTcu;
  return std::holds_alternative<isa::ActPool>(inst) ||
         std::holds_alternative<isa::TccTile>(inst) ||
         std::holds_alternative<isa::TccInit>(inst) ||
         std::holds_alternative<isa::TccRun>(inst) ||
         std::holds_alternative<isa::DmaTile>(inst);
}

/// Whether memories and tables are all that an instruction leaves behind.
static bool leavesMemoriesAlone(const isa::Instruction &inst) {
  if (const auto *load = std::get_if<isa::DmaTile>(&inst))
    return !load->drained;
  if (const auto *run = std::get_if<isa::TccRun>(&inst))
    return !run->scatter;
  if (const auto *drain = std::get_if<isa::ActDrain>(&inst))
    return !drain->fromTcu ||
           (!drain->kept && !drain->unstored && !drain->counted);
  return !std::holds_alternative<isa::TccPart>(inst) &&
         !std::holds_alternative<isa::TccOperand>(inst) &&
         !std::holds_alternative<isa::TccBind>(inst);
}

bool TileSums::areFollowed(llvm::ArrayRef<isa::Instruction> code) {
  return llvm::any_of(code, isPart) && llvm::all_of(code, leavesMemoriesAlone);
}

TileSums::TileSums(const machine::Description &machine,
                   llvm::ArrayRef<isa::Instruction> code)
    : code(code), dependencies(machine, code.size()),
      seen(code.size(), ~uint32_t(0)) {}

/// Everything that wrote what the drain reads, and what that read.
void TileSums::follow(Drain &drain) {
  llvm::SmallVector<uint32_t, 32> open{drain.index};
  while (!open.empty()) {
    const llvm::ArrayRef<Dependencies::Edge> edges =
        dependencies.of(open.pop_back_val());
    steps += edges.size();
    for (const Dependencies::Edge &edge : edges) {
      if (edge.read == 0 || seen[edge.earlier] == drain.index)
        continue;
      seen[edge.earlier] = drain.index;
      open.push_back(edge.earlier);
      if (std::holds_alternative<isa::DmaTile>(code[edge.earlier]))
        drain.loads.push_back(edge.earlier);
      else if (!std::holds_alternative<isa::TccTile>(code[edge.earlier]))
        drain.sums.push_back(edge.earlier);
    }
  }
  llvm::sort(drain.loads);
  llvm::sort(drain.sums);
}

bool TileSums::step(uint32_t index, llvm::ArrayRef<Access> accesses) {
  constexpr uint64_t stepsPerInstruction = 256;
  const bool part = isPart(code[index]);
  // A copy to the units would have to be where their readers are.
  if (!part && llvm::any_of(accesses, isPrivate))
    return false;
  if (!dependencies.step(index, 0, part ? accesses : llvm::ArrayRef<Access>()))
    return false;
  if (part && (std::holds_alternative<isa::ActDrain>(code[index]) ||
               std::holds_alternative<isa::ActPool>(code[index]))) {
    found.push_back({index, {}, {}});
    follow(found.back());
  }
  return steps <= stepsPerInstruction * code.size();
}

void TileSums::spread(std::vector<ThreadSet> &sets) const {
  for (uint32_t i = static_cast<uint32_t>(code.size()); i-- > 0;) {
    if (!isPart(code[i]))
      continue;
    if (sets[i] == 0)
      sets[i] = 1;
    for (const Dependencies::Edge &edge : dependencies.of(i))
      if (edge.read != 0)
        sets[edge.earlier] |= sets[i];
  }
}
