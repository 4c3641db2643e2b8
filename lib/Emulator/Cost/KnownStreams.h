// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that were followed in any program of the process. The compiler times
// many programs of one network, and proves those that it keeps: their streams
// are mostly the same.

#ifndef ASHLAR_LIB_EMULATOR_COST_KNOWNSTREAMS_H
#define ASHLAR_LIB_EMULATOR_COST_KNOWNSTREAMS_H

#include "StreamWalk.h"

namespace ashlar::emulator {

/// What \p bytes give in \p form on \p machine, if they were followed before;
/// otherwise null. What is found has the same bytes, form and machine: nothing
/// is decided by a hash. Thread-safe.
std::shared_ptr<const StreamWalk::Facts>
findKnownStream(const machine::Description &machine,
                const StreamWalk::Form &form, llvm::ArrayRef<uint8_t> bytes);

/// Keeps what following gave, as long as there is room.
void keepKnownStream(const machine::Description &machine,
                     const StreamWalk::Form &form,
                     llvm::ArrayRef<uint8_t> bytes,
                     std::shared_ptr<const StreamWalk::Facts> facts);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_KNOWNSTREAMS_H
