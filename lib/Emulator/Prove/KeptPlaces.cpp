// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The destination of dma.put against the kept tensors.

#include "KeptPlaces.h"

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;

/// Whether all that \p access may touch lies in \p kept.
static bool inside(const isa::Access &access,
                   const container::KeptTensor &kept) {
  const auto begin = static_cast<int64_t>(kept.dramOffset);
  const uint64_t bytes =
      *support::countElements(kept.shape) * support::byteSize(kept.type);
  return access.begin >= begin &&
         access.end <= begin + static_cast<int64_t>(bytes);
}

std::optional<Finding>
emulator::checkPlaces(const isa::Instruction &inst,
                      const container::Program &program,
                      const machine::Description &machine) {
  if (!std::holds_alternative<isa::DmaPut>(inst))
    return std::nullopt;
  llvm::SmallVector<isa::Access, 4> accesses;
  isa::footprints(inst, machine, accesses);
  for (const isa::Access &access : accesses)
    if (access.write &&
        llvm::none_of(program.cache.tensors,
                      [&](const auto &kept) { return inside(access, kept); }))
      return Finding{FaultKind::OutOfRange,
                     fmt::format("{}, which is not all in one kept tensor",
                                 isa::describe(access)),
                     isa::spaceName(access.space).str(),
                     static_cast<uint64_t>(access.begin)};
  return std::nullopt;
}
