// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element operations of a window reduction: what its cycles and its energy
// follow from.

#ifndef ASHLAR_MACHINE_POOLVISITS_H
#define ASHLAR_MACHINE_POOLVISITS_H

#include "ashlar/Machine/Cycles.h"

namespace ashlar::machine {

struct PoolVisits {
  uint64_t elements = 0; ///< Cheap operations of a channel.
  /// The axis (0 depth, 1 height, 2 width) of the first of several one-axis
  /// passes, or -1 if every window is reduced at once.
  int firstPass = -1;
};

/// A maximum takes the cheaper of the direct and the three-pass way.
PoolVisits vecPoolVisits(PoolKind kind, const PoolShape &shape);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_POOLVISITS_H
